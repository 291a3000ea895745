"""Finds an alert's or a question's place in the graph: which service is meant.

Three entry points always all run: exact names and aliases, vectors, full text. Exact dominates; the other two stand in
where nothing is named. A close call is `ambiguous` and nothing convincing is `unresolved`: a wrong service is worse
than none. Which pages speak of it, `graphrag.pages` finds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphrag.embed import Embed, EmbeddingUnavailable
from graphrag.label_keys import NOTHING_TOLD, ToldKeys
from graphrag.model import Hit, Label
from graphrag.ownership import NOBODY, Claim, Owner
from graphrag.rank import fuse as fuse_ids
from graphrag.resolve import Alike, Candidate, Certainty, Thresholds, resolve
from graphrag.signals import Signal, Signals, signals_from_alerts, signals_from_question
from graphrag.store import GraphStore

__all__ = [
    "Candidate",
    "Certainty",
    "Embed",
    "Location",
    "Signal",
    "Signals",
    "Thresholds",
    "locate",
    "signals_from_alerts",
    "signals_from_question",
]

SEARCH_LIMIT = 30
_SEARCHED = (Label.SERVICE,)


@dataclass(frozen=True)
class Location:
    """`candidates` are services, best first; with `resolved` the first is the one. `claims` are the teams that it
    names itself, `owner` whose it is where no service is sure. `undecided`: what else is found may settle it."""

    certainty: Certainty
    candidates: tuple[Candidate, ...]
    explanation: str
    claims: tuple[Claim, ...] = ()
    owner: Owner = NOBODY
    undecided: bool = False


async def locate(
    store: GraphStore,
    embed: Embed,
    tenant: str,
    signals: Signals,
    thresholds: Thresholds | None = None,
    told: ToldKeys = NOTHING_TOLD,
) -> Location:
    """Run the three entry points and judge what they found. `told`: the keys of labels that the organisation itself
    says hold services or teams. Raises `GraphError` when the graph does not answer."""
    by_vector, by_text = await asyncio.gather(
        _by_vector(store, embed, tenant, signals.text),
        store.search_text(tenant, signals.text, SEARCH_LIMIT, _SEARCHED) if signals.text.strip() else _nothing(),
    )
    cosines = {hit.node.id: hit.score for hit in by_vector}
    fused = fuse([by_vector, by_text])
    alike = Alike((*by_vector, *by_text), cosines, fused)
    found = await resolve(store, tenant, signals, alike, thresholds, told)
    return Location(found.certainty, found.candidates, found.explanation, found.claims, found.owner, found.undecided)


async def _by_vector(store: GraphStore, embed: Embed, tenant: str, text: str) -> list[Hit]:
    """Nothing when the embedding does not answer: the two other entry points still do."""
    if not text.strip():
        return []
    try:
        vector = (await embed([text]))[0]
    except EmbeddingUnavailable:
        return []
    return await store.search_vectors(tenant, vector, SEARCH_LIMIT, _SEARCHED) if any(vector) else []


async def _nothing() -> list[Hit]:
    return []


def fuse(lists: Iterable[Sequence[Hit]]) -> dict[str, float]:
    """Reciprocal rank fusion of what searches found, by node id."""
    return fuse_ids([[hit.node.id for hit in hits] for hits in lists])
