"""What an administrator knows better than the sources: facts that are wrong or missing, and further names.

A fact that was retired stays away although its source goes on asserting it, until the correction is lifted. A fact
that was asserted stands on the correction as on any other source.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from graphrag.errors import Refused
from graphrag.identity import name_key
from graphrag.lives import ended
from graphrag.model import SYMMETRIC, Edge, EdgeFact, EdgeType, Facts, History, Node, Record, Ref, Rewrite, edge_id
from graphrag.store import GraphStore
from graphrag.stored import time_text
from graphrag.writing import DENIAL, check_edge

CORRECTION = "correction"
"""The kind of record that a correction leaves, and the source that an asserted fact stands on."""


@dataclass(frozen=True, slots=True)
class Correction:
    """`action` is `retire` or `assert`; `lifted_at` is empty while it stands."""

    id: str
    action: str
    type: str
    source: str
    target: str
    verb: str
    names: tuple[str, str]
    reason: str
    by: str
    at: str
    lifted_at: str = ""
    lifted_by: str = ""


async def retire(
    store: GraphStore,
    tenant: str,
    type: EdgeType,
    source: Node,
    target: Node,
    *,
    verb: str = "",
    reason: str,
    by: str,
    now: datetime,
) -> Correction:
    """Close an edge and keep it closed. Raises `Refused` when it does not hold."""
    source, target = _as_stored(type, source, target)
    record = _record("retire", type, source, target, verb, reason, by, now)
    id = edge_id(type, source.id, target.id, verb)

    def decide(history: History) -> Rewrite:
        current = [edge for edge in history.edges if edge.id == id and edge.life.valid_to is None]
        if not current:
            raise Refused(
                "unknown_edge",
                f"{source.name} {verb or type} {target.name} does not hold now, so nothing is to retire.",
            )
        edges = tuple(replace(edge, life=ended(edge.life, now)) if edge in current else edge for edge in history.edges)
        return Rewrite(replace(history, edges=edges), records=(record, Record(DENIAL, id, {"correction": record.id})))

    await store.rewrite(tenant, [source.id], decide)
    return _correction(record)


async def assert_edge(
    store: GraphStore,
    tenant: str,
    type: EdgeType,
    source: Node,
    target: Node,
    *,
    verb: str = "",
    reason: str,
    by: str,
    now: datetime,
) -> Correction:
    """State an edge, against an earlier correction too. Raises ValueError for ends that its type cannot have."""
    source, target = _as_stored(type, source, target)
    record = _record("assert", type, source, target, verb, reason, by, now)
    id = edge_id(type, source.id, target.id, verb)
    fact = EdgeFact(type, Ref(source.label, source.name), Ref(target.label, target.name), summary=reason, verb=verb)
    check_edge(fact)
    if source.id == target.id:
        raise Refused("same_entity", f"{source.name} cannot be related to itself.")
    denials = [each.id for each in await store.records(tenant, DENIAL) if each.id == id]
    await store.rewrite(tenant, [], lambda _: Rewrite(History(), forget=tuple((DENIAL, each) for each in denials)))
    await store.write(tenant, Facts(CORRECTION, now, edges=(fact,)))
    await store.rewrite(tenant, [], lambda _: Rewrite(History(), records=(record,)))
    return _correction(record)


async def lift(store: GraphStore, tenant: str, correction_id: str, *, by: str, now: datetime) -> Correction:
    """Take a correction back: what it closed opens again, what stood on it alone closes. Raises `Refused`."""
    found = {record.id: record for record in await store.records(tenant, CORRECTION)}
    record = found.get(correction_id)
    if record is None:
        raise Refused("unknown_correction", f"There is no correction {correction_id!r}; list them for their ids.")
    if record.body["lifted_at"]:
        raise Refused("already_lifted", f"The correction {correction_id} was lifted at {record.body['lifted_at']}.")
    body = record.body
    id = edge_id(EdgeType(body["type"]), body["source"], body["target"], body["verb"])
    lifted = Record(CORRECTION, correction_id, {**body, "lifted_at": time_text(now), "lifted_by": by})

    def decide(history: History) -> Rewrite:
        if body["action"] == "retire":
            edges = _reopened(history, id, body["at"])
            return Rewrite(replace(history, edges=edges), records=(lifted,), forget=((DENIAL, id),))
        return Rewrite(replace(history, edges=_unasserted(history, id, now)), records=(lifted,))

    await store.rewrite(tenant, [body["source"]], decide)
    return _correction(lifted)


async def corrections(store: GraphStore, tenant: str) -> list[Correction]:
    """Every correction, the latest first."""
    found = map(_correction, await store.records(tenant, CORRECTION))
    return sorted(found, key=lambda each: (each.at, each.id), reverse=True)


async def add_alias(store: GraphStore, tenant: str, node: Node, alias: str) -> Node:
    """Let a node answer to a further name. Raises `Refused` when the name is another's of its kind, or none."""
    key = name_key(alias)
    if not key:
        raise Refused("alias_missing", "An alias needs at least one character.")
    holders = (await store.resolve(tenant, [key], [node.label])).get(key, [])
    if holders and holders[0].id != node.id:
        raise Refused(
            "alias_taken",
            f"{alias!r} is a name of {holders[0].name}; if the two are one thing, merge them.",
        )
    if holders:
        return node
    return await _with_aliases(store, tenant, node, (*node.aliases, alias.strip()))


async def remove_alias(store: GraphStore, tenant: str, node: Node, alias: str) -> Node:
    """Take a name from a node. A source that still gives it will bring it back. Raises `Refused` for a name that is
    none of its aliases."""
    kept = tuple(each for each in node.aliases if name_key(each) != name_key(alias))
    if kept == node.aliases:
        raise Refused(
            "unknown_alias", f"{alias!r} is no alias of {node.name}; it has {', '.join(node.aliases) or 'none'}."
        )
    return await _with_aliases(store, tenant, node, kept)


async def _with_aliases(store: GraphStore, tenant: str, node: Node, aliases: tuple[str, ...]) -> Node:
    def decide(history: History) -> Rewrite:
        nodes = tuple(
            replace(each, aliases=aliases) if each.id == node.id and each.life.valid_to is None else each
            for each in history.nodes
        )
        return Rewrite(replace(history, nodes=nodes))

    await store.rewrite(tenant, [node.id], decide)
    return replace(node, aliases=aliases)


def _reopened(history: History, id: str, closed_at: str) -> tuple[Edge, ...]:
    if any(edge.id == id and edge.life.valid_to is None for edge in history.edges):
        return history.edges
    return tuple(
        replace(edge, life=replace(edge.life, valid_to=None))
        if edge.id == id and edge.life.valid_to is not None and time_text(edge.life.valid_to) == closed_at
        else edge
        for edge in history.edges
    )


def _unasserted(history: History, id: str, now: datetime) -> tuple[Edge, ...]:
    def without(edge: Edge) -> Edge:
        if edge.id != id or edge.life.valid_to is not None or CORRECTION not in edge.life.sources:
            return edge
        others = tuple(source for source in edge.life.sources if source != CORRECTION)
        return replace(edge, life=replace(edge.life, sources=others) if others else ended(edge.life, now))

    return tuple(map(without, history.edges))


def _as_stored(type: EdgeType, source: Node, target: Node) -> tuple[Node, Node]:
    return (target, source) if type in SYMMETRIC and target.id < source.id else (source, target)


def _record(
    action: str, type: EdgeType, source: Node, target: Node, verb: str, reason: str, by: str, now: datetime
) -> Record:
    if not reason.strip():
        raise Refused("reason_missing", "Say why: a correction needs a reason.")
    body: dict[str, Any] = {
        "action": action,
        "type": type.value,
        "source": source.id,
        "target": target.id,
        "verb": verb,
        "names": [source.name, target.name],
        "reason": reason.strip(),
        "by": by,
        "at": time_text(now),
        "lifted_at": "",
        "lifted_by": "",
    }
    return Record(CORRECTION, f"correction-{secrets.token_hex(8)}", body)


def _correction(record: Record) -> Correction:
    fields: dict[str, Any] = {**record.body, "names": tuple(record.body["names"])}
    return Correction(id=record.id, **fields)
