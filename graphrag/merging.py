"""Two names that turned out to be one thing become one entity: by a person, on purpose, and never for good.

`preview` shows what would happen and gives a token for exactly that; `confirm` needs the token and a reason, and where
the two contradict each other the word that it is meant all the same; `undo` takes it back.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from graphrag.errors import Refused
from graphrag.merge_facts import Conflict, both, conflicts, gained, merged, moved, unmerged
from graphrag.model import Edge, EdgeType, History, Label, Node, Record, Rewrite
from graphrag.portable import history_from, history_json
from graphrag.store import GraphStore
from graphrag.stored import time_text
from graphrag.traverse import Reach, blast_radius

MERGE = "merge"
"""The kind of record that a merge leaves."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What a merge would do. `gained`: the names that the kept entity would answer to besides its own. `moved`: facts
    about the dropped entity alone; `combined`: facts that both have; `ended`: edges between the two. The blast radii
    are those of services and empty for anything else."""

    token: str
    kept: Node
    dropped: Node
    gained: tuple[str, ...]
    moved: tuple[Edge, ...]
    combined: tuple[Edge, ...]
    ended: tuple[Edge, ...]
    conflicts: tuple[Conflict, ...]
    kept_before: Reach
    dropped_before: Reach
    after: Reach


@dataclass(frozen=True, slots=True)
class Merge:
    """A merge that was done, as its record tells. `undone_at` is empty while it stands."""

    id: str
    kept: str
    dropped: str
    names: tuple[str, str]
    reason: str
    by: str
    at: str
    undone_at: str
    undone_by: str


async def preview(store: GraphStore, tenant: str, kept_id: str, dropped_id: str) -> Preview:
    """Raises `Refused` when the two cannot be one."""
    history = await store.history(tenant, [kept_id, dropped_id])
    kept, dropped = both(history, kept_id, dropped_id)
    radii = [await _radius(store, kept.label, tenant, ids) for ids in ([kept.id], [dropped.id], [kept.id, dropped.id])]
    teams = await _names_of_owners(store, tenant, history)
    theirs = [edge for edge in history.edges if edge.life.valid_to is None and dropped.id in (edge.source, edge.target)]
    own = {edge.id for edge in history.edges if edge.life.valid_to is None}
    images = [(edge, moved(edge, kept.id, dropped.id)) for edge in theirs]
    return Preview(
        token=f"{_digest(history_json(history))}{_digest([_reached(reach) for reach in radii])}",
        kept=kept,
        dropped=dropped,
        gained=gained(kept, dropped),
        moved=tuple(edge for edge, image in images if image and image.id not in own),
        combined=tuple(edge for edge, image in images if image and image.id in own),
        ended=tuple(edge for edge, image in images if image is None),
        conflicts=tuple(conflicts(kept, dropped, history, teams)),
        kept_before=radii[0],
        dropped_before=radii[1],
        after=radii[2],
    )


async def confirm(
    store: GraphStore,
    tenant: str,
    kept_id: str,
    dropped_id: str,
    *,
    token: str,
    reason: str,
    by: str,
    now: datetime,
    force: bool = False,
) -> Merge:
    """Do what was previewed. Raises `Refused` without a reason, when the graph has changed since the preview, and
    without `force` when there are conflicts."""
    if not reason.strip():
        raise Refused("reason_missing", "Say why the two are one thing: a merge needs a reason.")
    seen = await preview(store, tenant, kept_id, dropped_id)
    if token != seen.token:
        raise Refused("stale_token", "The graph has changed since this preview; preview the merge again.")
    if seen.conflicts and not force:
        each = "; ".join(f"{one.about} {one.kept} and {one.dropped}" for one in seen.conflicts)
        raise Refused("conflicts", f"The two contradict each other ({each}); say force to merge them anyway.")
    record_id = f"merge-{secrets.token_hex(8)}"
    body: dict[str, Any] = {
        "kept": seen.kept.id,
        "dropped": seen.dropped.id,
        "names": [seen.kept.name, seen.dropped.name],
        "reason": reason.strip(),
        "by": by,
        "at": time_text(now),
        "undone_at": "",
        "undone_by": "",
    }

    def decide(history: History) -> Rewrite:
        if not token.startswith(_digest(history_json(history))):
            raise Refused("stale_token", "The graph has changed since this preview; preview the merge again.")
        record = Record(MERGE, record_id, {**body, "before": history_json(history)})
        return Rewrite(merged(history, kept_id, dropped_id), records=(record,))

    await store.rewrite(tenant, [kept_id, dropped_id], decide)
    return _merge(Record(MERGE, record_id, body))


async def undo(store: GraphStore, tenant: str, merge_id: str, *, by: str, now: datetime) -> Merge:
    """Take a merge back. What other runs have seen since stays with the kept entity, where the merge did not move it
    there. Raises `Refused` for an unknown merge, one that is undone, and one that a later merge builds upon."""
    found = {record.id: record for record in await store.records(tenant, MERGE)}
    record = found.get(merge_id)
    if record is None:
        raise Refused("unknown_merge", f"There is no merge {merge_id!r}; list the merges for their ids.")
    if record.body["undone_at"]:
        raise Refused("already_undone", f"The merge {merge_id} was undone at {record.body['undone_at']}.")
    ids = {record.body["kept"], record.body["dropped"]}
    for other in found.values():
        later = other.body["at"] > record.body["at"] and not other.body["undone_at"]
        if later and not ids.isdisjoint((other.body["kept"], other.body["dropped"])):
            raise Refused("merged_again", f"The merge {other.id} builds on this one; undo that one first.")
    before = history_from(record.body["before"])
    body = {key: value for key, value in record.body.items() if key != "before"}
    body |= {"undone_at": time_text(now), "undone_by": by}

    def decide(history: History) -> Rewrite:
        facts = unmerged(history, before, record.body["kept"], record.body["dropped"])
        return Rewrite(facts, records=(Record(MERGE, merge_id, body),))

    await store.rewrite(tenant, sorted(ids), decide)
    return _merge(Record(MERGE, merge_id, body))


async def merges(store: GraphStore, tenant: str) -> list[Merge]:
    """Every merge, the latest first."""
    found = (_merge(record) for record in await store.records(tenant, MERGE))
    return sorted(found, key=lambda each: (each.at, each.id), reverse=True)


def _merge(record: Record) -> Merge:
    body = record.body
    return Merge(
        id=record.id,
        kept=body["kept"],
        dropped=body["dropped"],
        names=(body["names"][0], body["names"][1]),
        reason=body["reason"],
        by=body["by"],
        at=body["at"],
        undone_at=body["undone_at"],
        undone_by=body["undone_by"],
    )


def _digest(value: Any) -> str:
    return hashlib.blake2b(json.dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def _reached(reach: Reach) -> list[Any]:
    return [[member.id for member in reach.members], reach.truncated]


# Reading --------------------------------------------------------------------------------------------------------------


async def _radius(store: GraphStore, label: Label, tenant: str, ids: Collection[str]) -> Reach:
    if label is not Label.SERVICE:
        return Reach((), truncated=False)
    return await blast_radius(store, tenant, ids)


async def _names_of_owners(store: GraphStore, tenant: str, history: History) -> dict[str, str]:
    ids = {edge.target for edge in history.edges if edge.type is EdgeType.OWNED_BY}
    return {id: node.name for id, node in (await store.nodes(tenant, ids)).items()}
