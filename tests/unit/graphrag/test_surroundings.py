"""A walk answered from what was read at once, against the same walk answered hop by hop."""

import itertools
from collections.abc import AsyncIterator, Collection
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag.model import NOW, Direction, Edge, EdgeFact, EdgeType, Facts, Label, Node, NodeFact, Ref, View, node_id
from graphrag.sqlite_store import SqliteStore
from graphrag.store import Ask, EdgesOf, Exploration, Forecast, NodesOf, StepsFrom
from graphrag.surroundings import Steps, Surroundings

NAMES = "abcdef"
MEMORY = View(scopes=("agent one",))
BOTH = View(scopes=("world", "agent one"))
TYPES = (EdgeType.DEPENDS_ON, EdgeType.CO_OCCURS)
tenants = (f"tenant {number}" for number in itertools.count())

names = st.sampled_from(NAMES)
edges = st.lists(
    st.tuples(names, names, st.sampled_from([*TYPES, EdgeType.RELATION]), st.sampled_from(["world", "agent one"])),
    max_size=16,
)
directions = st.sampled_from(Direction)
views = st.sampled_from([NOW, MEMORY, BOTH])


@pytest.fixture(scope="module")
async def store(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path_factory.mktemp("graph") / "graph.db", dimensions=2)
    await opened.open()
    yield opened
    await opened.close()


def fact(source: str, target: str, type: EdgeType) -> EdgeFact:
    ends = Ref(Label.SERVICE, source), Ref(Label.SERVICE, target)
    return EdgeFact(type, *ends, verb="resembles" if type is EdgeType.RELATION else "")


async def write(store: SqliteStore, drawn: Collection[tuple[str, str, EdgeType, str]]) -> str:
    tenant, noon = next(tenants), datetime(2026, 3, 1, 12, tzinfo=UTC)
    await store.write(tenant, Facts("graph", noon, tuple(NodeFact(Label.SERVICE, name) for name in NAMES[:-1])))
    remembered = (NodeFact(Label.SERVICE, NAMES[-1]),)
    await store.write(tenant, Facts("agent", noon, remembered, scope="agent one"))
    for source, target, type, scope in drawn:
        await store.write(tenant, Facts("graph", noon, edges=(fact(source, target, type),), scope=scope))
    return tenant


def id_of(tenant: str, name: str) -> str:
    return node_id(tenant, Label.SERVICE, name, "agent one" if name == NAMES[-1] else "world")


async def answer(store: SqliteStore, tenant: str, ask: Ask) -> Any:
    def one() -> Exploration[Any]:
        (found,) = yield [ask]
        return found

    return await store.explore(tenant, one())


async def around(store: SqliteStore, tenant: str, start: str, view: View) -> Surroundings:
    """What lies within two hops, read hop by hop."""
    nodes: dict[str, Node]
    found: list[Edge]
    inner = {start}
    for hops in (1, 2):
        found = await answer(store, tenant, EdgesOf(inner, TYPES, Direction.BOTH, 1_000, view))
        ends = {end for edge in found for end in (edge.source, edge.target)}
        nodes = await answer(store, tenant, NodesOf({start, *ends}, view))
        if hops == 1:
            inner |= nodes.keys()
    return Surroundings(Forecast([start], TYPES, Direction.BOTH, 2, 500, 1_000, view), inner, nodes.values(), found)


@given(drawn=edges, start=names, direction=directions, view=views, limit=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
async def test_what_was_read_at_once_answers_as_the_store_does(
    store: SqliteStore,
    drawn: list[tuple[str, str, EdgeType, str]],
    start: str,
    direction: Direction,
    view: View,
    limit: int,
) -> None:
    tenant = await write(store, drawn)
    held = await around(store, tenant, id_of(tenant, start), view)
    near = EdgesOf([id_of(tenant, start)], TYPES, direction, limit, view)
    assert held.holds(near)
    assert held.answer(near) == await answer(store, tenant, near)
    known = NodesOf([id_of(tenant, start)], view)
    assert held.holds(known)
    assert held.answer(known) == await answer(store, tenant, known)
    steps, cut = held.answer(StepsFrom([id_of(tenant, start)], TYPES, direction, 1_000, view))
    expected, _ = await answer(store, tenant, StepsFrom([id_of(tenant, start)], TYPES, direction, 1_000, view))
    assert sorted(steps, key=str) == sorted(expected, key=str)
    assert not cut


@given(
    drawn=edges,
    start=names,
    direction=st.sampled_from([Direction.IN, Direction.OUT]),
    view=st.sampled_from([NOW, MEMORY]),
)
@settings(max_examples=60, deadline=None)
async def test_steps_that_were_read_at_once_are_those_of_the_store(
    store: SqliteStore, drawn: list[tuple[str, str, EdgeType, str]], start: str, direction: Direction, view: View
) -> None:
    tenant, types = await write(store, drawn), (EdgeType.DEPENDS_ON,)
    ids = [id_of(tenant, name) for name in NAMES]
    found: list[Edge] = await answer(store, tenant, EdgesOf(ids, types, direction, 1_000, view))
    nodes: dict[str, Node] = await answer(store, tenant, NodesOf(ids, view))
    pairs = [(e.source, e.target) if direction is Direction.OUT else (e.target, e.source) for e in found]
    ends = {id: (node.label, node.name) for id, node in nodes.items()}
    first = id_of(tenant, start)
    forecast = Forecast([first], types, direction, 5, 500, 1_000, view)
    held = Steps(forecast, [node for node in nodes.values() if node.id == first], ids, pairs, ends)
    for frontier in ([first], ids):
        ask = StepsFrom(frontier, types, direction, 1_000, view)
        assert held.holds(ask)
        (steps, cut), (expected, _) = held.answer(ask), await answer(store, tenant, ask)
        assert (sorted(steps), cut) == (sorted(expected), False)
    assert held.answer(NodesOf([first], view)) == await answer(store, tenant, NodesOf([first], view))
    assert held.answer(StepsFrom(ids, types, direction, max(len(pairs) - 1, 0), view))[1] is bool(pairs)


async def test_steps_that_were_not_read_are_left_to_the_store() -> None:
    types = (EdgeType.DEPENDS_ON,)
    held = Steps(Forecast(["a"], types, Direction.IN, 2, 10, 10), [], ["a", "b"], [("a", "b"), ("b", "c")], {})
    assert held.holds(StepsFrom(["a", "b"], types, Direction.IN, 10))
    assert not held.holds(StepsFrom(["c"], types, Direction.IN, 10))
    assert not held.holds(StepsFrom(["a"], types, Direction.OUT, 10))
    assert not held.holds(StepsFrom(["a"], TYPES, Direction.IN, 10))
    assert not held.holds(StepsFrom(["a"], types, Direction.IN, 10, MEMORY))
    assert not held.holds(NodesOf(["b"]))
    assert not held.holds(EdgesOf(["a"], types, Direction.IN, 10))


async def test_what_was_not_read_is_left_to_the_store(store: SqliteStore) -> None:
    tenant = await write(store, [("a", "b", TYPES[0], "world"), ("b", "c", TYPES[0], "world")])
    a, b, c, d = (id_of(tenant, name) for name in "abcd")
    near: list[Edge] = await answer(store, tenant, EdgesOf([a], TYPES, Direction.BOTH, 10))
    held = Surroundings(Forecast([a], TYPES, Direction.BOTH, 1, 10, 10), [a], [], near)
    assert held.holds(NodesOf([a, b]))
    assert not held.holds(NodesOf([a, c]))
    assert not held.holds(NodesOf([a], BOTH))
    assert held.holds(EdgesOf([a], TYPES, Direction.OUT, 10))
    assert not held.holds(EdgesOf([a, b], TYPES, Direction.OUT, 10))
    assert not held.holds(EdgesOf([a], TYPES[:1], Direction.OUT, 10))
    assert held.holds(StepsFrom([a], TYPES, Direction.OUT, 10))
    assert not held.holds(StepsFrom([d], TYPES, Direction.OUT, 10))
    assert not held.holds(Forecast([a], TYPES, Direction.BOTH, 1, 10, 10))
