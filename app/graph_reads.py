"""What is read from the graph for people, composed of the store's operations: profiles, pages, histories, ways."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from app.errors import AppError
from app.graph_names import Graph, ever, find, find_service
from app.graph_views import (
    Entity,
    EntityPage,
    HistoryPage,
    Interval,
    Listed,
    Named,
    Owner,
    Profile,
    Radius,
    Related,
    RelatedPage,
    Ways,
    criticality,
    edge_interval,
    entity,
    lived,
    named,
    node_interval,
    own_properties,
    owner,
    radius_in_short,
    reached,
    related,
    way,
)
from graphrag.identity import name_key
from graphrag.model import NOW, Direction, Edge, EdgeType, Label, Neighbour, Node, View, interval, node_id
from graphrag.stored import Listing, Place
from graphrag.traverse import blast_radius, paths
from graphrag.writing import storable

T = TypeVar("T")

HOPS = 5
"""How far a blast radius goes unless told: as far as that of a report."""
CAP = 500
PATH_HOPS = 6
PATHS = 10
PAGE = 20
"""How many of each kind a profile shows."""
_RECENT_OF = 200
"""Among how many incidents or releases the latest are looked for."""
WORTH_A_WAY = tuple(
    type for type in EdgeType if type not in (EdgeType.MENTIONS, EdgeType.IN_COMMUNITY, EdgeType.CO_OCCURS)
)
"""What a path follows unless told. To be in one text or one community is nothing to go along."""


async def profile(graph: Graph, name: str, view: View = NOW) -> Profile:
    """All that is known about a service. Raises `AppError` for a name that is none."""
    service = await find_service(graph, name, view)
    (runbooks, documents, needs, needed, relations), (owners, reach, incidents, releases) = await asyncio.gather(
        asyncio.gather(
            _page(graph, service, [EdgeType.HAS_RUNBOOK], Direction.OUT, PAGE, None, view),
            _page(graph, service, [EdgeType.DOCUMENTED_IN], Direction.OUT, PAGE, None, view),
            _page(graph, service, [EdgeType.DEPENDS_ON], Direction.OUT, PAGE, None, view),
            _page(graph, service, [EdgeType.DEPENDS_ON], Direction.IN, PAGE, None, view),
            _page(graph, service, [EdgeType.RELATION], Direction.OUT, PAGE, None, view),
        ),
        asyncio.gather(
            graph.store.neighbours(graph.tenant, service.id, [EdgeType.OWNED_BY], Direction.OUT, PAGE, None, view),
            blast_radius(graph.store, graph.tenant, service.id, HOPS, CAP, view),
            _latest(graph, service, EdgeType.AFFECTED, Direction.IN, "started_at", view),
            _latest(graph, service, EdgeType.INTRODUCED_BY, Direction.OUT, "released_at", view),
        ),
    )
    first, *further = [owner(each, service) for each in owners.neighbours] or [_nobody(service)]
    return Profile(
        id=service.id,
        name=service.name,
        aliases=service.aliases,
        summary=service.summary,
        properties=own_properties(service),
        criticality=criticality(service),
        owner=first,
        further_owners=tuple(further),
        runbooks=runbooks,
        documents=documents,
        dependencies=needs,
        dependents=needed,
        blast_radius=radius_in_short(reach),
        incidents=incidents,
        releases=releases,
        relations=relations,
        life=lived(service.life),
        as_of=view.as_of,
    )


async def beside(
    graph: Graph, name: str, direction: Direction, limit: int, cursor: str | None, view: View = NOW
) -> RelatedPage:
    """A page of what a service needs (`OUT`) or of what needs it (`IN`), most confirmed first."""
    service = await find_service(graph, name, view)
    page = await _page(graph, service, [EdgeType.DEPENDS_ON], direction, limit, cursor, view)
    return RelatedPage(**dict(page), service=service.name, as_of=view.as_of)


async def radius(graph: Graph, name: str, hops: int = HOPS, cap: int = CAP, view: View = NOW) -> Radius:
    """Who hurts when a service fails. Raises ValueError for a limit out of range."""
    service = await find_service(graph, name, view)
    reach = await blast_radius(graph.store, graph.tenant, service.id, hops, cap, view)
    return Radius(
        service=service.name,
        hops=hops,
        services=tuple(map(reached, reach.members)),
        count=len(reach.members),
        truncated=reach.truncated,
        as_of=view.as_of,
    )


async def ways(
    graph: Graph,
    start: str,
    end: str,
    types: Collection[EdgeType] = (),
    direction: Direction = Direction.BOTH,
    hops: int = PATH_HOPS,
    limit: int = PATHS,
    view: View = NOW,
) -> Ways:
    """The shortest paths between two entities. Raises ValueError for a limit out of range."""
    first, last = await asyncio.gather(find(graph, start, (), view), find(graph, end, (), view))
    followed = types or WORTH_A_WAY
    found = await paths(graph.store, graph.tenant, first.id, last.id, followed, direction, hops, limit, view)
    # A chain of needs says more than a document that both are in.
    ranked = sorted(found.paths, key=lambda path: sum(edge.type is not EdgeType.DEPENDS_ON for edge in path.edges))
    return Ways(
        start=named(first),
        end=named(last),
        hops=hops,
        length=len(found.paths[0].edges) if found.paths else None,
        paths=tuple(map(way, ranked)),
        truncated=found.truncated,
        as_of=view.as_of,
    )


async def listing(
    graph: Graph, query: str, labels: Collection[Label], limit: int, cursor: str | None, view: View = NOW
) -> Listed[Entity]:
    """A page of the entities whose name or alias contains `query`, most confirmed first."""
    with _bad_cursor():
        page = await graph.store.list_nodes(graph.tenant, labels, storable(query), limit, cursor, view)
    return Listed(items=tuple(map(entity, page.nodes)), more=page.more, cursor=page.cursor)


async def whole(
    graph: Graph, text: str, types: Collection[EdgeType], limit: int, cursor: str | None, view: View = NOW
) -> EntityPage:
    """An entity, and a page of everything that its edges lead to, whichever way they point."""
    node = await find(graph, text, (), view)
    page = await _page(graph, node, types or list(EdgeType), Direction.BOTH, limit, cursor, view)
    return EntityPage(**dict(entity(node)), related=page, as_of=view.as_of)


async def _page(
    graph: Graph,
    node: Node,
    types: Collection[EdgeType],
    direction: Direction,
    limit: int,
    cursor: str | None,
    view: View,
) -> Listed[Related]:
    with _bad_cursor():
        page = await graph.store.neighbours(graph.tenant, node.id, types, direction, limit, cursor, view)
    items = tuple(related(each, node.id) for each in page.neighbours)
    return Listed(items=items, more=page.more, cursor=page.cursor)


async def _latest(
    graph: Graph, node: Node, type: EdgeType, direction: Direction, when: str, view: View
) -> Listed[Related]:
    page = await graph.store.neighbours(graph.tenant, node.id, [type], direction, _RECENT_OF, None, view)

    def latest(found: Neighbour) -> tuple[str, str]:
        return str(found.node.properties.get(when, "")), found.node.name

    found = sorted(page.neighbours, key=latest, reverse=True)
    items = tuple(related(each, node.id) for each in found[:PAGE])
    return Listed(items=items, more=page.more or len(found) > PAGE)


def _nobody(service: Node) -> Owner:
    """A service may say where it is to be asked about and not say whose it is."""
    channel = service.properties.get("oncall_channel")
    return Owner(channel=str(channel) if channel else None)


@contextmanager
def _bad_cursor() -> Generator[None]:
    try:
        yield
    except (ValueError, OverflowError) as error:  # a forged cursor may hold a number that no database can
        raise AppError(400, "bad_cursor", _CURSOR) from error


_CURSOR = "This cursor belongs to another list. Ask again without a cursor, or with what the cursor was given for."


class Slice(NamedTuple, Generic[T]):
    items: list[T]
    more: bool
    cursor: str | None


def paged(asked: Listing, found: Iterable[T], place: Callable[[T], Place], limit: int, cursor: str | None) -> Slice[T]:
    """A page of what is in memory, in the order of the places. Raises `AppError` for a cursor from elsewhere."""
    with _bad_cursor():
        after = asked.place(cursor)
    left = sorted((each for each in found if after is None or place(each) > after), key=place)
    items, more = left[:limit], len(left) > limit
    return Slice(items, more, asked.cursor(place(items[-1])) if more else None)


def latest_first(moment: datetime, id: str) -> Place:
    """A place in a list of what happened."""
    return Place(int(moment.timestamp() * 1_000_000), "", id)


# History --------------------------------------------------------------------------------------------------------------


async def history(
    graph: Graph, name: str, types: Collection[EdgeType], other: str, limit: int, cursor: str | None, view: View = NOW
) -> HistoryPage:
    """Every interval of a service and of its edges, what changed last first; of `types` only, or with `other` only.

    A service that is closed has a history too. As of a time, what had begun by then.
    """
    service = await _now_or_once(graph, name, view)
    known = await graph.store.history(graph.tenant, [service.id])
    edges = [edge for edge in known.edges if not types or edge.type in types]
    if other:
        wanted = await _ids_of(graph, other, view)
        edges = [edge for edge in edges if edge.other_end(service.id) in wanted]
    nodes = [node for node in known.nodes if node.id == service.id and not types and not other]
    facts = [each for each in (*nodes, *edges) if _shown(each, view)]
    asked = Listing("history", graph.tenant, service.id, sorted(types), other, str(view.as_of))
    page = paged(asked, facts, _change, limit, cursor)
    names = await _other_ends(graph, service, [fact for fact in page.items if isinstance(fact, Edge)])
    return HistoryPage(
        service=service.name,
        items=tuple(_interval(fact, service, names) for fact in page.items),
        more=page.more,
        cursor=page.cursor,
        as_of=view.as_of,
    )


async def _now_or_once(graph: Graph, name: str, view: View) -> Node:
    try:
        return await find_service(graph, name, view)
    except AppError as unknown:
        if unknown.status != 404:
            raise
        once = [node for node in await ever(graph, name, [Label.SERVICE]) if _shown(node, view)]
        if not once:
            raise
        return max(once, key=lambda node: node.life.valid_from)


async def _ids_of(graph: Graph, text: str, view: View) -> set[str]:
    """All that a name may mean, now or once."""
    key = name_key(storable(text))
    found = await graph.store.resolve(graph.tenant, [key] if key else [], [], view)
    by_name = {node.id for nodes in found.values() for node in nodes}
    return {storable(text), *by_name, *(node_id(graph.tenant, label, key) for label in Label)}


def _shown(fact: Node | Edge, view: View) -> bool:
    return fact.scope in view.scopes and (view.as_of is None or fact.life.valid_from <= view.as_of)


def _change(fact: Node | Edge) -> Place:
    """A fact is where it last changed."""
    return latest_first(fact.life.valid_to or fact.life.valid_from, interval(fact))


def _interval(fact: Node | Edge, service: Node, names: dict[str, Named]) -> Interval:
    if isinstance(fact, Node):
        return node_interval(fact)
    end = fact.other_end(service.id)
    # An entity is never deleted, but one that was merged away since has no name of its own any more.
    return edge_interval(fact, service, names.get(end) or Named(id=end, label="", name=end))


async def _other_ends(graph: Graph, service: Node, edges: Sequence[Edge]) -> dict[str, Named]:
    """The names of what the edges lead to: as they are now, else as they were when the edge began."""
    names = {id: named(node) for id, node in (await _nodes(graph, service, edges, NOW)).items()}
    missing: dict[datetime, list[Edge]] = {}
    for edge in edges:
        if edge.other_end(service.id) not in names:
            missing.setdefault(edge.life.valid_from, []).append(edge)
    for began, then in missing.items():
        found = await _nodes(graph, service, then, View(as_of=began))
        names |= {id: named(node) for id, node in found.items()}
    return names


async def _nodes(graph: Graph, service: Node, edges: Sequence[Edge], view: View) -> dict[str, Node]:
    return await graph.store.nodes(graph.tenant, {edge.other_end(service.id) for edge in edges}, view)
