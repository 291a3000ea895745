"""Finds an alert's or a question's place in the graph: which service, and which documents speak of it.

Three entry points always all run: exact names and aliases, vectors, full text. Exact dominates for the service; the
other two also find runbooks, documents and past incidents, and stand in where nothing is named. A close call is
`ambiguous` and nothing convincing is `unresolved`: a wrong service is worse than none.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from graphrag.embed import Embed, EmbeddingUnavailable
from graphrag.model import Hit, Label, Node
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
RRF_K = 60
"""The constant of reciprocal rank fusion; 60 is what Cormack, Clarke and Büttcher (SIGIR 2009) found good."""


@dataclass(frozen=True)
class Location:
    """`candidates` are services, best first; with `resolved` the first is the one. `documents` are all else."""

    certainty: Certainty
    candidates: tuple[Candidate, ...]
    documents: tuple[Candidate, ...]
    explanation: str


async def locate(
    store: GraphStore, embed: Embed, tenant: str, signals: Signals, thresholds: Thresholds | None = None
) -> Location:
    """Run the three entry points and judge what they found. Raises `GraphError` when the graph does not answer."""
    by_vector, by_text = await asyncio.gather(
        _by_vector(store, embed, tenant, signals.text),
        store.search_text(tenant, signals.text, SEARCH_LIMIT) if signals.text.strip() else _nothing(),
    )
    cosines = {hit.node.id: hit.score for hit in by_vector}
    fused = fuse([by_vector, by_text])
    alike = Alike((*by_vector, *by_text), cosines, fused)
    resolution = await resolve(store, tenant, signals, alike, thresholds)
    documents = ranked_documents(alike)
    return Location(resolution.certainty, resolution.candidates, documents, resolution.explanation)


async def _by_vector(store: GraphStore, embed: Embed, tenant: str, text: str) -> list[Hit]:
    """Nothing when the embedding does not answer: the two other entry points still do."""
    if not text.strip():
        return []
    try:
        vector = (await embed([text]))[0]
    except EmbeddingUnavailable:
        return []
    return await store.search_vectors(tenant, vector, SEARCH_LIMIT) if any(vector) else []


async def _nothing() -> list[Hit]:
    return []


# Judging (pure) -------------------------------------------------------------------------------------------------------


def ranked_documents(alike: Alike) -> tuple[Candidate, ...]:
    """All that reads like it but services and teams, best first."""
    most = max(alike.fused.values(), default=1.0)
    nodes = {hit.node.id: hit.node for hit in alike.hits if hit.node.label not in (Label.SERVICE, Label.TEAM)}
    found = [
        _document(node, max(0.0, alike.cosines.get(id, 0.0)), alike.fused.get(id, 0.0) / most)
        for id, node in nodes.items()
    ]
    return tuple(sorted(found, key=lambda each: (-each.score, each.node.name, each.node.id))[:SEARCH_LIMIT])


def _document(node: Node, semantic: float, fused: float) -> Candidate:
    parts = {"semantic": round(semantic, 4), "fused": round(fused, 4)}
    reasons = (f"reads alike ({semantic:.2f})",) if semantic else ()
    return Candidate(node, round(fused, 4), parts, reasons)


def fuse(lists: Sequence[Sequence[Hit]]) -> dict[str, float]:
    """Reciprocal rank fusion: a node's score is the sum over lists of 1 / (k + rank)."""
    scores: dict[str, float] = defaultdict(float)
    for hits in lists:
        for rank, hit in enumerate(hits, start=1):
            scores[hit.node.id] += 1 / (RRF_K + rank)
    return dict(scores)
