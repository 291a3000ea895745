"""Walking the graph from where one stands: one frontier search for every store, one query for edges a hop.

The visited set and the caps bound the work, not only the answer, so cycles and dense graphs are harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from graphrag.model import Direction, Edge, EdgeType, Node
from graphrag.store import GraphStore
from graphrag.writing import SYMMETRIC, EdgeKey, edge_key

_EDGES_A_NODE = 20


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes within some hops of the start, the start among them at hop 0, and the edges walked between them."""

    nodes: dict[str, Node]
    edges: tuple[Edge, ...]
    hops: dict[str, int]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Member:
    """A service reached from the start. `path` names every service from the start to this one."""

    node: Node
    hops: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """The services reached, nearest first, then by name. `truncated`: a cap cut the answer, there are more."""

    members: tuple[Member, ...]
    truncated: bool


async def neighbourhood(
    store: GraphStore,
    tenant: str,
    start_ids: Collection[str],
    types: Collection[EdgeType],
    hops: int = 2,
    cap: int = 500,
) -> Neighbourhood:
    """What surrounds the start over edges of `types`, either way along them; at most `cap` nodes beside the start."""
    walk = await _walk(store, tenant, start_ids, types, Direction.BOTH, hops, cap)
    edges = (edge for edge in walk.edges.values() if edge.source in walk.hops and edge.target in walk.hops)
    return Neighbourhood(
        nodes=walk.nodes,
        edges=tuple(sorted(edges, key=lambda edge: (edge.type, edge.source, edge.target))),
        hops=walk.hops,
        truncated=walk.truncated,
    )


async def blast_radius(store: GraphStore, tenant: str, service_id: str, hops: int = 5, cap: int = 500) -> Reach:
    """Who hurts when the service fails: the services whose DEPENDS_ON chains reach it. Incoming edges only."""
    return _reach(await _walk(store, tenant, [service_id], [EdgeType.DEPENDS_ON], Direction.IN, hops, cap))


async def suppliers(store: GraphStore, tenant: str, service_id: str, hops: int = 5, cap: int = 500) -> Reach:
    """What the service needs, and so where the cause may lie: outgoing DEPENDS_ON only."""
    return _reach(await _walk(store, tenant, [service_id], [EdgeType.DEPENDS_ON], Direction.OUT, hops, cap))


@dataclass(slots=True)
class _Walk:
    """Everything reached so far, in the order reached. `came_from` holds the node one hop nearer to the start."""

    nodes: dict[str, Node]
    hops: dict[str, int]
    came_from: dict[str, str] = field(default_factory=dict[str, str])
    edges: dict[EdgeKey, Edge] = field(default_factory=dict[EdgeKey, Edge])
    truncated: bool = False


async def _walk(
    store: GraphStore,
    tenant: str,
    start_ids: Collection[str],
    types: Collection[EdgeType],
    direction: Direction,
    hops: int,
    cap: int,
) -> _Walk:
    found = await store.nodes(tenant, start_ids)
    start = {node.id: node for node in _by_name(found.values())}
    walk = _Walk(nodes=dict(start), hops=dict.fromkeys(start, 0))
    frontier = list(start)
    most_edges = _EDGES_A_NODE * max(cap, 1)
    room = cap
    for hop in range(1, hops + 1):
        if not frontier or not types:
            break
        edges = await store.edges(tenant, frontier, types, direction, most_edges + 1)
        walk.truncated |= len(edges) > most_edges
        kept = edges[:most_edges]
        walk.edges |= {edge_key(edge): edge for edge in kept}
        came_from = _steps(kept, frontier, direction, walk.hops)
        reached = _by_name((await store.nodes(tenant, came_from)).values()) if came_from else []
        walk.truncated |= len(reached) > room
        frontier = [node.id for node in reached[:room]]
        room -= len(frontier)
        walk.nodes |= {node.id: node for node in reached[: len(frontier)]}
        walk.hops |= dict.fromkeys(frontier, hop)
        walk.came_from |= {id: came_from[id] for id in frontier}
    return walk


def _steps(
    edges: Iterable[Edge], frontier: Collection[str], direction: Direction, visited: Collection[str]
) -> dict[str, str]:
    """Each node not visited yet that one edge leads to, with the node it is reached from: of several, the first of the
    frontier. An edge is walked only the way that `direction` says, whatever a store returns."""
    rank = {id: at for at, id in enumerate(frontier)}
    came_from: dict[str, str] = {}
    for edge in edges:
        for here, there in _ways(edge, direction):
            if here in rank and there not in visited:
                best = came_from.get(there)
                if best is None or rank[here] < rank[best]:
                    came_from[there] = here
    return came_from


def _ways(edge: Edge, direction: Direction) -> list[tuple[str, str]]:
    forward, backward = (edge.source, edge.target), (edge.target, edge.source)
    if direction is Direction.BOTH or edge.type in SYMMETRIC:
        return [forward, backward]
    return [forward] if direction is Direction.OUT else [backward]


def _reach(walk: _Walk) -> Reach:
    members = [
        Member(node=node, hops=walk.hops[id], path=_path(walk, id)) for id, node in walk.nodes.items() if walk.hops[id]
    ]
    return Reach(members=tuple(members), truncated=walk.truncated)


def _path(walk: _Walk, id: str) -> tuple[str, ...]:
    ids = [id]
    while ids[-1] in walk.came_from:
        ids.append(walk.came_from[ids[-1]])
    return tuple(walk.nodes[step].name for step in reversed(ids))


def _by_name(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (node.name, node.id))
