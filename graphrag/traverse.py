"""Walking the graph from where one stands: one frontier search for every store, one query for edges a hop.

The visited set and the caps bound the work, not only the answer, so cycles and dense graphs are harmless.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from graphrag.model import NOW, SYMMETRIC, Direction, Edge, EdgeType, Label, Node, Step, View
from graphrag.store import EdgesOf, Exploration, Forecast, GraphStore, NodesOf, StepsFrom

MAX_HOPS = 10
MAX_CAP = 5_000
MAX_PATHS = 100
_EDGES_A_NODE = 20
_BY_NAME = attrgetter("name", "id")
_STEPS_BY_NAME = attrgetter("name", "there")
_BY_ENDS = attrgetter("type", "source", "target")


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """The nodes within some hops of the start, the start among them at hop 0, and the edges walked between them."""

    nodes: dict[str, Node]
    edges: tuple[Edge, ...]
    hops: dict[str, int]
    truncated: bool


class Member(NamedTuple):
    """A service reached from the start. `path` names every service from the start to this one: a shortest chain of
    needs, and so the reason why it is here. A tuple, for the same reason as a `Step`."""

    id: str
    name: str
    hops: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reach:
    """The services reached, nearest first, then by name. `truncated`: a cap cut the answer, there are more."""

    members: tuple[Member, ...]
    truncated: bool


@dataclass(frozen=True, slots=True)
class Path:
    """Nodes in order from one end to the other, and the edge between each two, which may point either way."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Paths:
    """Shortest paths only, all of one length; none when the ends are further apart than the hop limit.

    `truncated`: there are more of this length, or a cap on the search cut it, so that absence proves nothing.
    """

    paths: tuple[Path, ...]
    truncated: bool


async def neighbourhood(
    store: GraphStore,
    tenant: str,
    start_ids: Collection[str],
    types: Collection[EdgeType],
    hops: int = 2,
    cap: int = 500,
    view: View = NOW,
) -> Neighbourhood:
    """What surrounds the start over edges of `types`, either way along them; at most `cap` nodes beside the start.
    Raises ValueError for a limit out of range."""
    return await store.explore(tenant, _surroundings(start_ids, types, _Limits(hops, cap), view))


async def blast_radius(
    store: GraphStore,
    tenant: str,
    service: str | Collection[str],
    hops: int = 5,
    cap: int = 500,
    view: View = NOW,
) -> Reach:
    """Who hurts when the service fails, or when these do: the services whose DEPENDS_ON chains reach it. Incoming edges
    only. Raises ValueError for a limit out of range."""
    start = [service] if isinstance(service, str) else service
    return await store.explore(tenant, _reach(start, Direction.IN, _Limits(hops, cap), view))


async def suppliers(
    store: GraphStore, tenant: str, service_id: str, hops: int = 5, cap: int = 500, view: View = NOW
) -> Reach:
    """What the service needs, and so where the cause may lie: outgoing DEPENDS_ON only. Raises ValueError for a limit
    out of range."""
    return await store.explore(tenant, _reach([service_id], Direction.OUT, _Limits(hops, cap), view))


async def paths(
    store: GraphStore,
    tenant: str,
    from_id: str,
    to_id: str,
    types: Collection[EdgeType],
    direction: Direction = Direction.BOTH,
    hops: int = 6,
    cap: int = 10,
    view: View = NOW,
) -> Paths:
    """How two nodes hang together: at most `cap` shortest paths over edges of `types`, walked as `direction` says.
    Raises ValueError for a limit out of range."""
    if not 1 <= cap <= MAX_PATHS:
        raise ValueError(f"The number of paths must be from 1 to {MAX_PATHS}.")
    ways = _Ways(types, direction, view)
    return await store.explore(tenant, _paths(from_id, to_id, ways, _Limits(hops, MAX_CAP), cap))


@dataclass(frozen=True, slots=True)
class _Limits:
    hops: int
    cap: int

    def __post_init__(self) -> None:
        if not 0 <= self.hops <= MAX_HOPS:
            raise ValueError(f"The number of hops must be from 0 to {MAX_HOPS}.")
        if not 0 <= self.cap <= MAX_CAP:
            raise ValueError(f"The cap must be from 0 to {MAX_CAP}.")


@dataclass(frozen=True, slots=True)
class _Ways:
    """Which edges are walked, and which way."""

    types: Collection[EdgeType]
    direction: Direction
    view: View


def _forecast(start: Collection[str], ways: _Ways, limits: _Limits) -> Forecast:
    edges = _EDGES_A_NODE * max(limits.cap, 1)
    return Forecast(list(start), ways.types, ways.direction, limits.hops, limits.cap, edges, ways.view)


@dataclass(slots=True)
class _Walk:
    """Everything reached so far, in the order reached. `came_from` holds the node one hop nearer to the start."""

    names: dict[str, str]
    hops: dict[str, int]
    came_from: dict[str, str] = field(default_factory=dict[str, str])
    truncated: bool = False


def _walk(
    start: Mapping[str, str], ways: _Ways, limits: _Limits, *, goal: str = "", only: Label | None = None
) -> Exploration[_Walk]:
    """Reach out hop by hop until the limits, or the goal, are reached; through nodes of one label `only`, if given.
    `start`: names by id."""
    walk = _Walk(dict(start), dict.fromkeys(start, 0))
    frontier = list(start)
    most_edges = _EDGES_A_NODE * max(limits.cap, 1)
    room = limits.cap
    for hop in range(1, limits.hops + 1):
        full = walk.truncated and not room  # another hop could only say again that there is more
        if not frontier or not ways.types or goal in walk.hops or full:
            break
        steps: list[Step]
        ((steps, cut),) = yield [StepsFrom(frontier, ways.types, ways.direction, most_edges, ways.view)]
        reached = [step for step in steps if step.there not in walk.hops and (only is None or step.label is only)]
        reached.sort(key=_STEPS_BY_NAME)
        walk.truncated |= cut or len(reached) > room
        frontier = _take(walk, reached[:room], hop)
        room -= len(frontier)
    return walk


def _take(walk: _Walk, reached: Collection[Step], hop: int) -> list[str]:
    for step in reached:
        walk.names[step.there] = step.name
        walk.hops[step.there] = hop
        walk.came_from[step.there] = step.here
    return [step.there for step in reached]


@dataclass(slots=True)
class _Around:
    """What a neighbourhood has read so far, each edge once."""

    hops: dict[str, int]
    edges: list[Edge] = field(default_factory=list[Edge])
    truncated: bool = False


def _surroundings(
    start_ids: Collection[str], types: Collection[EdgeType], limits: _Limits, view: View
) -> Exploration[Neighbourhood]:
    """Edges are read whole hop by hop, and nodes at the end, when it is known which: nothing is read twice."""
    start = dict.fromkeys(start_ids, 0)
    if types:
        yield [_forecast(start, _Ways(types, Direction.BOTH, view), limits)]
    around = _Around(dict(start))
    yield from _spread(around, _Ways(types, Direction.BOTH, view), limits)
    nodes: dict[str, Node]
    (nodes,) = yield [NodesOf(around.hops, view)]
    if any(id not in nodes for id in around.hops if id not in start):
        around = _through(nodes, around, start, limits.hops)
    hops = around.hops
    order = [node.id for node in sorted(nodes.values(), key=_BY_NAME) if node.id in hops]
    order.sort(key=hops.__getitem__)
    edges = [edge for edge in around.edges if edge.source in nodes and edge.target in nodes]
    edges.sort(key=_BY_ENDS)
    return Neighbourhood(
        nodes={id: nodes[id] for id in order},
        edges=tuple(edges),
        hops={id: hops[id] for id in order},
        truncated=around.truncated,
    )


def _spread(around: _Around, ways: _Ways, limits: _Limits) -> Exploration[None]:
    """Hop by hop to all that edges lead to; where the cap cuts, to what the view sees and comes first by name."""
    frontier, room, most_edges = list(around.hops), limits.cap, _EDGES_A_NODE * max(limits.cap, 1)
    for hop in range(1, limits.hops + 1):
        if not frontier or not ways.types:
            break
        most = most_edges - len(around.edges)
        edges: list[Edge]
        (edges,) = yield [EdgesOf(frontier, ways.types, ways.direction, most + 1, ways.view)]
        around.truncated |= len(edges) > most
        reached = _take_edges(around, edges[:most], hop)
        if around.truncated and not room:
            reached = []
        if len(reached) > room:
            steps: list[Step]
            ((steps, cut),) = yield [StepsFrom(frontier, ways.types, ways.direction, most_edges, ways.view)]
            named = sorted((step.name, step.there) for step in steps if step.there not in around.hops)
            around.truncated |= cut or len(named) > room
            reached = [id for _, id in named[:room]]
        around.hops.update(dict.fromkeys(reached, hop))
        frontier = reached
        room -= len(frontier)


def _take_edges(around: _Around, edges: Iterable[Edge], hop: int) -> list[str]:
    """What the edges that this hop looks at lead to. Those back to the level before were read with it."""
    level = around.hops.get
    reached: dict[str, None] = {}
    for edge in edges:
        here, there = edge.source, edge.target
        source, target = level(here, hop), level(there, hop)
        if source >= hop - 1 and target >= hop - 1:
            around.edges.append(edge)
            if source != target:
                reached[here if source == hop else there] = None
    return list(reached)


def _through(nodes: Collection[str], around: _Around, start: Mapping[str, int], hops: int) -> _Around:
    """The same without what only leads through nodes that the view does not see. A walk may start at such a node."""
    seen = _Around(dict(start), truncated=around.truncated)
    beside: dict[str, list[str]] = {}
    for edge in around.edges:
        beside.setdefault(edge.source, []).append(edge.target)
        beside.setdefault(edge.target, []).append(edge.source)
    frontier = list(start)
    for hop in range(1, hops + 1):
        ends = (there for here in frontier for there in beside.get(here, ()))
        frontier = [id for id in dict.fromkeys(ends) if id in nodes and id not in seen.hops]
        seen.hops.update(dict.fromkeys(frontier, hop))
    inner = {id for id, hop in seen.hops.items() if hop < hops}
    seen.edges += (edge for edge in around.edges if edge.source in inner or edge.target in inner)
    return seen


def _reach(start: Collection[str], direction: Direction, limits: _Limits, view: View) -> Exploration[Reach]:
    ways = _Ways([EdgeType.DEPENDS_ON], direction, view)
    yield [_forecast(start, ways, limits)]
    names = yield from _names(start, view)
    walk = yield from _walk(names, ways, limits, only=Label.SERVICE)
    paths: dict[str, tuple[str, ...]] = {id: (name,) for id, name in names.items()}
    members: list[Member] = []
    for id, before in walk.came_from.items():  # in the order reached, so whoever one came from is there already
        name = walk.names[id]
        paths[id] = path = (*paths[before], name)
        members.append(Member(id, name, walk.hops[id], path))
    return Reach(tuple(members), walk.truncated)


def _names(ids: Collection[str], view: View) -> Exploration[dict[str, str]]:
    """The names of those of the ids that there are, by id, in the order of the names."""
    found: dict[str, Node]
    (found,) = yield [NodesOf(ids, view)]
    return {node.id: node.name for node in sorted(found.values(), key=_BY_NAME)}


def _paths(from_id: str, to_id: str, ways: _Ways, limits: _Limits, cap: int) -> Exploration[Paths]:
    if from_id == to_id:
        found: dict[str, Node]
        (found,) = yield [NodesOf([from_id], ways.view)]
        return Paths(tuple(Path((node,), ()) for node in found.values()), truncated=False)
    # Backwards from the goal first: then every step forward can keep to nodes that are one hop nearer to it.
    against = _Ways(ways.types, _against(ways.direction), ways.view)
    names = yield from _names([to_id], ways.view)
    back = yield from _walk(names, against, limits, goal=from_id)
    if from_id not in back.hops:
        return Paths((), back.truncated)
    walks, more = yield from _forward(from_id, back.hops, ways, cap)
    nodes: dict[str, Node]
    (nodes,) = yield [NodesOf({id for ids, _ in walks for id in ids}, ways.view)]
    kept = (Path(tuple(nodes[id] for id in ids), edges) for ids, edges in walks if nodes.keys() >= set(ids))
    return Paths(tuple(kept), more or back.truncated)


_Trail = tuple[tuple[str, ...], tuple[Edge, ...]]


def _forward(start: str, nearness: Mapping[str, int], ways: _Ways, cap: int) -> Exploration[tuple[list[_Trail], bool]]:
    """Every trail from the start that gets nearer to the goal with each step, and whether there are more of them.
    `nearness` is the number of hops from each node to the goal."""
    trails: list[_Trail] = [((start,), ())]
    truncated = False
    for goal_in in range(nearness[start] - 1, -1, -1):
        ends = {ids[-1] for ids, _ in trails}
        most = _EDGES_A_NODE * MAX_CAP
        edges: list[Edge]
        (edges,) = yield [EdgesOf(ends, ways.types, ways.direction, most, ways.view)]
        nearer = {id for id, hops in nearness.items() if hops == goal_in}
        onward = _onward(edges, ends, nearer, ways.direction)
        longer = [((*ids, there), (*path, edge)) for ids, path in trails for there, edge in onward.get(ids[-1], ())]
        truncated |= len(edges) >= most or len(longer) > cap
        trails = longer[:cap]
    return trails, truncated


def _onward(
    edges: Iterable[Edge], ends: Collection[str], nearer: Collection[str], direction: Direction
) -> dict[str, list[tuple[str, Edge]]]:
    """From each end, the nearer nodes with the edge to each, the most confirmed, which comes first; by id."""
    best: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        for here, there in _ways(edge, direction):
            if here in ends and there in nearer:
                best.setdefault((here, there), edge)
    onward: dict[str, list[tuple[str, Edge]]] = {}
    for (here, there), edge in sorted(best.items(), key=lambda item: item[0]):
        onward.setdefault(here, []).append((there, edge))
    return onward


def _ways(edge: Edge, direction: Direction) -> list[tuple[str, str]]:
    """An edge is walked only the way that `direction` says, whatever a store returns."""
    forward, backward = (edge.source, edge.target), (edge.target, edge.source)
    if direction is Direction.BOTH or edge.type in SYMMETRIC:
        return [forward, backward]
    return [forward] if direction is Direction.OUT else [backward]


def _against(direction: Direction) -> Direction:
    return {Direction.OUT: Direction.IN, Direction.IN: Direction.OUT}.get(direction, direction)
