"""Forgets what nothing speaks of any more: weak co-occurrences, and entities and passages that hang on nothing.

Nothing is deleted: what is pruned is closed, and opens again when a source sees it again. Whatever says what is so (who
needs whom, who owns what, what happened) is never pruned, however old.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from graphrag.corrections import CORRECTION
from graphrag.lives import ended
from graphrag.model import WORLD, Direction, Edge, EdgeType, History, Label, Node, Rewrite, interval
from graphrag.store import GraphStore

STARTING_WEIGHT = 1.0
"""Of a CO_OCCURS edge that has no `weight` of its own yet."""
PRUNED_UNDER = 0.5
HALF_LIFE = timedelta(days=90)
"""In which a weight halves, counted from when the edge was last seen. A new edge that nothing sees again thus lasts a
quarter, which is how often most plans, rotations and pages come round; each use that adds 0.1 lengthens that by about
twelve days at first. What a source goes on seeing does not decay."""
_PRUNABLE = frozenset({Label.ENTITY, Label.CHUNK})
_BATCH, _PAGE = 100, 256


@dataclass(frozen=True, slots=True)
class PruneReport:
    """How many facts were closed. `closed_edges` counts the memberships in communities that end with a node, too."""

    closed_edges: int
    closed_nodes: int


def weight(edge: Edge, now: datetime) -> float:
    """What is left of the edge's weight. A weight that is no finite number is the starting one."""
    told = edge.properties.get("weight", STARTING_WEIGHT)
    if isinstance(told, bool) or not isinstance(told, int | float) or not math.isfinite(told):
        told = STARTING_WEIGHT
    age = max(now - edge.life.last_seen, timedelta())
    return told * 0.5 ** (age / HALF_LIFE)


def weak(edges: Iterable[Edge], now: datetime) -> list[Edge]:
    """The current co-occurrences in the world whose weight has fallen too low. One that an administrator asserted
    stays, and so does what an agent remembers."""
    return [
        edge
        for edge in edges
        if edge.type is EdgeType.CO_OCCURS
        and edge.scope == WORLD
        and edge.life.valid_to is None
        and CORRECTION not in edge.life.sources
        and weight(edge, now) < PRUNED_UNDER
    ]


def orphans(nodes: Iterable[Node], edges: Iterable[Edge]) -> list[Node]:
    """The current entities and passages in the world that no current edge of any scope touches, and of the passages
    those that no current fact was read in. That something was put into a community says nothing about it."""
    facts: list[Node | Edge] = [fact for fact in (*nodes, *edges) if fact.life.valid_to is None]
    held = {chunk for fact in facts for chunk in fact.chunks}
    held |= {id for fact in facts for id in _ends(fact)}
    return [
        fact
        for fact in facts
        if isinstance(fact, Node) and fact.label in _PRUNABLE and fact.scope == WORLD and fact.id not in held
    ]


async def prune(store: GraphStore, tenant: str, now: datetime) -> PruneReport:
    """Close what `weak` and `orphans` name, some at a time; what was seen again meanwhile stays. Holds the ids of the
    tenant's current nodes in memory, and of the facts themselves only some at a time. Raises `GraphError` when the
    graph fails."""
    faint = await _faint(store, tenant, now)
    alone = await _alone(store, tenant, faint)
    closed_edges = closed_nodes = 0
    ids = sorted({source for source, _ in faint} | alone)
    for start in range(0, len(ids), _BATCH):
        batch = ids[start : start + _BATCH]
        edges, nodes = await _close(store, tenant, batch, alone, now)
        closed_edges += edges
        closed_nodes += nodes
    return PruneReport(closed_edges, closed_nodes)


async def _faint(store: GraphStore, tenant: str, now: datetime) -> set[tuple[str, str]]:
    """The ends of the co-occurrences that are weak."""
    pairs = await store.pairs(tenant, EdgeType.CO_OCCURS)
    sources = sorted({source for source, _ in pairs})
    faint: set[tuple[str, str]] = set()
    for start in range(0, len(sources), _BATCH):
        batch = sources[start : start + _BATCH]
        edges = await store.edges(tenant, batch, [EdgeType.CO_OCCURS], Direction.OUT, len(pairs))
        faint |= {(edge.source, edge.target) for edge in weak(edges, now)}
    return faint


async def _alone(store: GraphStore, tenant: str, faint: Collection[tuple[str, str]]) -> set[str]:
    """The entities and passages that may be orphans once the faint co-occurrences are gone: `_close` sees what else
    touches them, such as a memory of an agent, but not what was read in them."""
    touched: set[str] = set()
    for type in EdgeType:
        if type is not EdgeType.IN_COMMUNITY:
            pairs = await store.pairs(tenant, type)
            left = pairs if type is not EdgeType.CO_OCCURS else (pair for pair in pairs if pair not in faint)
            touched.update(id for pair in left for id in pair)
    alone: dict[str, Label] = {}
    cursor: str | None = None
    while True:
        page = await store.list_nodes(tenant, _PRUNABLE, limit=_PAGE, cursor=cursor)
        alone |= {node.id: node.label for node in page.nodes if node.id not in touched}
        cursor = page.cursor
        if cursor is None:
            break
    if Label.CHUNK not in alone.values():
        return set(alone)
    # A passage that no edge touches is rare, and only a look at the whole tells whether a fact was read in it.
    everything = await store.history(tenant, None)
    read_in = {
        chunk for fact in (*everything.nodes, *everything.edges) if _counts(fact, faint) for chunk in fact.chunks
    }
    return alone.keys() - read_in


def _counts(fact: Node | Edge, faint: Collection[tuple[str, str]]) -> bool:
    """Whether a fact is current and stays so when the faint co-occurrences are closed."""
    if isinstance(fact, Edge) and fact.type is EdgeType.CO_OCCURS and fact.scope == WORLD:
        return fact.life.valid_to is None and (fact.source, fact.target) not in faint
    return fact.life.valid_to is None


async def _close(
    store: GraphStore, tenant: str, ids: Sequence[str], alone: Collection[str], now: datetime
) -> tuple[int, int]:
    """How many edges and nodes were closed."""
    closed = (0, 0)

    def decide(history: History) -> Rewrite:
        nonlocal closed
        facts, closed = pruned(history, alone, now)
        return Rewrite(facts)

    await store.rewrite(tenant, ids, decide)
    return closed


def pruned(history: History, alone: Collection[str], now: datetime) -> tuple[History, tuple[int, int]]:
    """The facts with the weak edges closed, and those of the nodes in `alone` that nothing has come to touch; and how
    many edges and nodes that is."""
    faint = {edge.id for edge in weak(history.edges, now)}
    left = [edge for edge in history.edges if edge.life.valid_to is not None or edge.id not in faint]
    gone = {node.id for node in orphans(history.nodes, left) if node.id in alone}
    ends_now = [
        edge.life.valid_to is None and (edge.id in faint or edge.source in gone or edge.target in gone)
        for edge in history.edges
    ]
    edges = tuple(
        replace(edge, life=ended(edge.life, now)) if ends else edge
        for edge, ends in zip(history.edges, ends_now, strict=True)
    )
    nodes: list[Node] = []
    vectors = dict(history.vectors)
    for node in history.nodes:
        if node.id not in gone or node.life.valid_to is not None:
            nodes.append(node)
            continue
        past = replace(node, life=ended(node.life, now))
        nodes.append(past)
        if node.id in vectors:
            vectors[interval(past)] = vectors.pop(node.id)
    return History(tuple(nodes), edges, vectors), (sum(ends_now), len(gone))


def _ends(fact: Node | Edge) -> tuple[str, ...]:
    """What an edge touches, apart from memberships in communities."""
    return (fact.source, fact.target) if isinstance(fact, Edge) and fact.type is not EdgeType.IN_COMMUNITY else ()
