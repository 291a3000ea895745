"""Traversal against a brute-force reading of the same facts, on a real SQLite store."""

import itertools
from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag.model import Direction, Edge, EdgeFact, EdgeType, Facts, Label, Life, NodeFact, Ref, View, node_id
from graphrag.sqlite_store import SqliteStore
from graphrag.store import Exploration
from graphrag.traverse import Reach, blast_radius, neighbourhood, paths, suppliers

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = "abcdefg"
Pair = tuple[str, str]

names = st.sampled_from(NAMES)
pairs = st.frozensets(st.tuples(names, names), max_size=14)
tenants: Iterator[str] = (f"tenant {number}" for number in itertools.count())


@pytest.fixture(scope="module")
async def store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path_factory.mktemp("graph") / "graph.db", dimensions=2)
    await opened.open()
    yield opened
    await opened.close()


def incident(name: str) -> Ref:
    return Ref(Label.INCIDENT, name)


def service(name: str) -> Ref:
    return Ref(Label.SERVICE, name)


def depend(pairs: Iterable[Pair]) -> tuple[EdgeFact, ...]:
    return tuple(EdgeFact(EdgeType.DEPENDS_ON, service(a), service(b)) for a, b in sorted(pairs))


async def write(store: SqliteStore, now: Collection[Pair], before: Collection[Pair] = ()) -> str:
    """A tenant in which `now` holds and the rest of `before` is closed. Around it is all that must not be walked: edges
    of other types between the same services, every edge there can be in somebody's memory and in another tenant, and
    self-loops, which no store takes."""
    tenant, other = next(tenants), next(tenants)
    nodes = tuple(NodeFact(Label.SERVICE, name) for name in NAMES)
    every = depend(itertools.permutations(NAMES, 2))
    noise = tuple(
        EdgeFact(EdgeType.RELATION, service(a), service(b), verb="resembles")
        for a, b in itertools.permutations("abcd", 2)
    )
    together = tuple(EdgeFact(EdgeType.CO_OCCURS, service(a), service(b)) for a, b in itertools.pairwise(NAMES))
    await store.write(tenant, Facts("graph", NOON, nodes, depend(before), complete=True))
    facts = (*depend(now), *noise, *together)
    await store.write(tenant, Facts("graph", NOON + timedelta(hours=1), nodes, facts, complete=True))
    await store.write(tenant, Facts("agent", NOON, nodes, every, scope="agent one"))
    await store.write(other, Facts("graph", NOON, nodes, every))
    return tenant


def id_of(tenant: str, name: str) -> str:
    return node_id(tenant, Label.SERVICE, name)


def distances(steps: Collection[Pair], start: str, hops: int) -> dict[str, int]:
    """The least number of steps to every name, by trying all walks."""
    found = {start: 0}
    reached = {start}
    for hop in range(1, hops + 1):
        reached = {there for here, there in steps if here in reached}
        for name in reached:
            found.setdefault(name, hop)
    return found


def check(reach: Reach, steps: Collection[Pair], start: str, hops: int) -> None:
    expected = distances(steps, start, hops)
    del expected[start]
    assert {member.name: member.hops for member in reach.members} == expected
    assert [(m.hops, m.name) for m in reach.members] == sorted((m.hops, m.name) for m in reach.members)
    for member in reach.members:
        assert (member.path[0], member.path[-1], len(member.path)) == (start, member.name, member.hops + 1)
        assert set(itertools.pairwise(member.path)) <= set(steps)
    assert not reach.truncated


@given(now=pairs, before=pairs, start=names, hops=st.integers(0, 6))
@settings(max_examples=60, deadline=None)
async def test_a_blast_radius_is_every_service_whose_chain_of_needs_reaches_the_start(
    store: SqliteStore, now: frozenset[Pair], before: frozenset[Pair], start: str, hops: int
) -> None:
    tenant = await write(store, now, before)
    reach = await blast_radius(store, tenant, id_of(tenant, start), hops)
    check(reach, {(b, a) for a, b in now}, start, hops)


@given(now=pairs, before=pairs, start=names, hops=st.integers(0, 6))
@settings(max_examples=60, deadline=None)
async def test_suppliers_are_every_service_that_the_start_needs_in_turn(
    store: SqliteStore, now: frozenset[Pair], before: frozenset[Pair], start: str, hops: int
) -> None:
    tenant = await write(store, now, before)
    check(await suppliers(store, tenant, id_of(tenant, start), hops), now, start, hops)


@given(now=pairs, starts=st.frozensets(names, min_size=1, max_size=3), hops=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
async def test_a_neighbourhood_is_all_that_edges_of_the_asked_types_touch(
    store: SqliteStore, now: frozenset[Pair], starts: frozenset[str], hops: int
) -> None:
    tenant = await write(store, now)
    around = await neighbourhood(store, tenant, [id_of(tenant, name) for name in starts], [EdgeType.DEPENDS_ON], hops)
    steps = now | {(b, a) for a, b in now}
    near = [distances(steps, name, hops) for name in starts]
    expected = {name: min(d[name] for d in near if name in d) for name in NAMES if any(name in d for d in near)}
    assert {around.nodes[id].name: hop for id, hop in around.hops.items()} == expected
    assert around.nodes.keys() == around.hops.keys()
    walked = {(around.nodes[edge.source].name, around.nodes[edge.target].name) for edge in around.edges}
    inner = {name for name, hop in expected.items() if hop < hops}
    assert walked == {(a, b) for a, b in now if a != b and (a in inner or b in inner)}
    assert not around.truncated


@given(links=pairs, unseen=st.frozensets(names, max_size=3), start=names, hops=st.integers(0, 5))
@settings(max_examples=80, deadline=None)
async def test_a_neighbourhood_never_leads_through_what_its_view_does_not_see(
    store: SqliteStore, links: frozenset[Pair], unseen: frozenset[str], start: str, hops: int
) -> None:
    tenant, memory = next(tenants), "agent one"
    world, remembered = (
        tuple(NodeFact(Label.SERVICE, name) for name in sorted(group)) for group in (unseen, set(NAMES) - unseen)
    )
    edges = tuple(EdgeFact(EdgeType.RELATION, service(a), service(b), verb="knows") for a, b in sorted(links))
    await store.write(tenant, Facts("graph", NOON, world))
    await store.write(tenant, Facts("agent", NOON, remembered, edges, scope=memory))
    start_id = id_of(tenant, start) if start in unseen else node_id(tenant, Label.SERVICE, start, memory)
    view = View(scopes=(memory,))
    around = await neighbourhood(store, tenant, [start_id], [EdgeType.RELATION], hops, view=view)
    walkable = {(a, b) for pair in links for a, b in (pair, pair[::-1]) if b not in unseen}
    near = distances(walkable, start, hops)
    seen = {name: hop for name, hop in near.items() if name not in unseen}
    assert {around.nodes[id].name: hop for id, hop in around.hops.items()} == seen
    inner = {name for name, hop in seen.items() if hop < hops}
    walked = {(around.nodes[edge.source].name, around.nodes[edge.target].name) for edge in around.edges}
    assert walked == {(a, b) for a, b in links if a != b and {a, b} <= seen.keys() and (a in inner or b in inner)}


async def test_each_edge_of_a_neighbourhood_comes_once_and_its_nodes_nearest_first(store: SqliteStore) -> None:
    tenant = await write(store, [("c", "a"), ("b", "a"), ("b", "c"), ("d", "b"), ("c", "d")])
    around = await neighbourhood(store, tenant, [id_of(tenant, "a")], [EdgeType.DEPENDS_ON], hops=4)
    assert [(node.name, around.hops[id]) for id, node in around.nodes.items()] == [
        ("a", 0),
        ("b", 1),
        ("c", 1),
        ("d", 2),
    ]
    assert len(around.edges) == len({edge.id for edge in around.edges}) == 5


async def test_what_is_more_confirmed_is_kept_where_edges_are_cut(store: SqliteStore) -> None:
    tenant = await write(store, [("a", name) for name in "bcdef"])
    again = depend([("a", "e"), ("a", "c")])
    await store.write(tenant, Facts("another", NOON + timedelta(hours=2), edges=again))
    a, ids = id_of(tenant, "a"), {name: id_of(tenant, name) for name in NAMES}
    kept = await store.edges(tenant, [a], [EdgeType.DEPENDS_ON], Direction.OUT, 3)
    assert {ids["c"], ids["e"]} == {edge.target for edge in kept[:2]}
    assert len(kept) == 3
    assert kept == (await store.edges(tenant, [a], [EdgeType.DEPENDS_ON], Direction.OUT, 6))[:3]


async def test_what_suffers_and_what_is_needed_are_never_confused(store: SqliteStore) -> None:
    tenant = await write(store, [("a", "b"), ("b", "c")])
    hurt = await blast_radius(store, tenant, id_of(tenant, "b"))
    needed = await suppliers(store, tenant, id_of(tenant, "b"))
    assert [member.path for member in hurt.members] == [("b", "a")]
    assert [member.path for member in needed.members] == [("b", "c")]


async def test_a_cap_cuts_by_name_and_says_so(store: SqliteStore) -> None:
    tenant = await write(store, [(name, "a") for name in "bcdef"] + [("g", "b")])
    cut = await blast_radius(store, tenant, id_of(tenant, "a"), cap=3)
    assert ([member.name for member in cut.members], cut.truncated) == (["b", "c", "d"], True)
    whole = await blast_radius(store, tenant, id_of(tenant, "a"), cap=6)
    assert (len(whole.members), whole.truncated) == (6, False)
    around = await neighbourhood(store, tenant, [id_of(tenant, "a")], [EdgeType.DEPENDS_ON], cap=2)
    assert (len(around.nodes), len(around.edges), around.truncated) == (3, 2, True)


async def test_a_start_that_is_not_there_reaches_nothing(store: SqliteStore) -> None:
    tenant = await write(store, [("a", "b")])
    assert await blast_radius(store, tenant, "service-unknown") == Reach((), False)
    assert await blast_radius(store, next(tenants), id_of(tenant, "b")) == Reach((), False)


async def test_a_walk_that_has_to_read_nothing_ends_at_once(store: SqliteStore) -> None:
    def nothing() -> Exploration[str]:
        yield from ()
        return "found"

    assert await store.explore("tenant", nothing()) == "found"


async def test_related_incidents_are_walked_both_ways(store: SqliteStore) -> None:
    tenant = next(tenants)
    nodes = tuple(NodeFact(Label.INCIDENT, name) for name in ("one", "two", "three"))
    edges = tuple(
        EdgeFact(EdgeType.RELATED_TO, incident(a), incident(b)) for a, b in [("one", "two"), ("three", "two")]
    )
    await store.write(tenant, Facts("graph", NOON, nodes, edges))
    start = node_id(tenant, Label.INCIDENT, "one")
    around = await neighbourhood(store, tenant, [start], [EdgeType.RELATED_TO])
    assert {node.name: around.hops[id] for id, node in around.nodes.items()} == {"one": 0, "two": 1, "three": 2}


class Careless(SqliteStore):
    """A store that answers every question with edges of both directions, a self-loop among them."""

    async def edges(
        self, tenant: str, ids: Collection[str], types: Collection[EdgeType], direction: Direction, limit: int
    ) -> list[Edge]:
        found = await super().edges(tenant, ids, types, Direction.BOTH, limit)
        life = Life(NOON, NOON, NOON)
        return found + [Edge(tenant, EdgeType.DEPENDS_ON, id, id, life) for id in ids]


async def test_no_store_can_turn_a_walk_round(tmp_path: Path) -> None:
    careless = Careless(tmp_path / "graph.db", dimensions=2)
    await careless.open()
    tenant = await write(careless, [("a", "b"), ("b", "c")])
    reach = await blast_radius(careless, tenant, id_of(tenant, "b"))
    await careless.close()
    assert [member.name for member in reach.members] == ["a"]


@given(now=pairs, before=pairs, start=names, hops=st.integers(0, 6))
@settings(max_examples=40, deadline=None)
async def test_a_blast_radius_as_of_a_time_is_the_one_that_was(
    store: SqliteStore, now: frozenset[Pair], before: frozenset[Pair], start: str, hops: int
) -> None:
    tenant = await write(store, now, before)
    then = View(as_of=NOON + timedelta(minutes=30))
    reach = await blast_radius(store, tenant, id_of(tenant, start), hops, view=then)
    check(reach, {(b, a) for a, b in before}, start, hops)


@given(now=pairs, starts=st.frozensets(names, min_size=2, max_size=3))
@settings(max_examples=40, deadline=None)
async def test_a_joint_blast_radius_is_what_suffers_from_any_of_the_services(
    store: SqliteStore, now: frozenset[Pair], starts: frozenset[str]
) -> None:
    tenant = await write(store, now)
    reach = await blast_radius(store, tenant, [id_of(tenant, name) for name in starts], 6)
    steps = {(b, a) for a, b in now}
    expected = set[str]().union(*(distances(steps, name, 6) for name in starts)) - starts
    assert {member.name for member in reach.members} == expected


@given(
    now=pairs, before=pairs, start=names, goal=names, hops=st.integers(0, 6), direction=st.sampled_from(list(Direction))
)
@settings(max_examples=80, deadline=None)
async def test_paths_are_all_the_shortest_ways_from_one_end_to_the_other(
    store: SqliteStore,
    now: frozenset[Pair],
    before: frozenset[Pair],
    start: str,
    goal: str,
    hops: int,
    direction: Direction,
) -> None:
    tenant = await write(store, now, before)
    found = await paths(
        store, tenant, id_of(tenant, start), id_of(tenant, goal), [EdgeType.DEPENDS_ON], direction, hops, cap=100
    )
    forward, backward = set(now), {(b, a) for a, b in now}
    steps = {Direction.OUT: forward, Direction.IN: backward, Direction.BOTH: forward | backward}[direction]
    ways = {tuple(node.name for node in path.nodes) for path in found.paths}
    assert ways == shortest(steps, start, goal, hops)
    assert len(found.paths) == len(ways)
    for path in found.paths:
        for (here, there), edge in zip(itertools.pairwise(path.nodes), path.edges, strict=True):
            assert {edge.source, edge.target} == {here.id, there.id}
    assert not found.truncated


def shortest(steps: Collection[Pair], start: str, goal: str, hops: int) -> set[tuple[str, ...]]:
    """Every shortest way, by trying all of each length in turn."""
    ways = {(start,)}
    for _ in range(hops + 1):
        if there := {way for way in ways if way[-1] == goal}:
            return there if len(next(iter(there))) <= hops + 1 else set()
        ways = {(*way, b) for way in ways for a, b in steps if a == way[-1] and a != b and b not in way}
    return set()


async def test_a_cap_on_paths_cuts_them_and_says_so(store: SqliteStore) -> None:
    tenant = await write(store, [("a", name) for name in "bcdef"] + [(name, "g") for name in "bcdef"])
    ends = id_of(tenant, "a"), id_of(tenant, "g")
    cut = await paths(store, tenant, *ends, [EdgeType.DEPENDS_ON], cap=2)
    assert [[node.name for node in path.nodes] for path in cut.paths] != []
    assert (len(cut.paths), cut.truncated) == (2, True)
    whole = await paths(store, tenant, *ends, [EdgeType.DEPENDS_ON], cap=5)
    assert (len(whole.paths), whole.truncated) == (5, False)


async def test_a_path_from_a_service_to_itself_is_the_service(store: SqliteStore) -> None:
    tenant = await write(store, [("a", "b")])
    a = id_of(tenant, "a")
    found = await paths(store, tenant, a, a, [EdgeType.DEPENDS_ON])
    assert [[node.name for node in path.nodes] for path in found.paths] == [["a"]]
    assert (await paths(store, tenant, "service-unknown", "service-unknown", [EdgeType.DEPENDS_ON])).paths == ()
    assert (await paths(store, tenant, a, "service-unknown", [EdgeType.DEPENDS_ON])).paths == ()


@pytest.mark.parametrize(("hops", "cap"), [(-1, 5), (11, 5), (2, -1), (2, 5_001)])
async def test_limits_out_of_range_are_refused(store: SqliteStore, hops: int, cap: int) -> None:
    with pytest.raises(ValueError, match="must be from 0 to"):
        await blast_radius(store, "tenant", "service-a", hops, cap)
    with pytest.raises(ValueError, match="must be from 0 to"):
        await neighbourhood(store, "tenant", ["service-a"], [EdgeType.DEPENDS_ON], hops, cap)


@pytest.mark.parametrize("cap", [0, 101])
async def test_a_number_of_paths_out_of_range_is_refused(store: SqliteStore, cap: int) -> None:
    with pytest.raises(ValueError, match="must be from 1 to 100"):
        await paths(store, "tenant", "service-a", "service-b", [EdgeType.DEPENDS_ON], cap=cap)
