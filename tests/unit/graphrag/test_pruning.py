"""What is forgotten: weak co-occurrences and what hangs on nothing, and never what says what is so."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.corrections import assert_edge
from graphrag.model import (
    ENDS,
    Direction,
    Edge,
    EdgeFact,
    EdgeType,
    Facts,
    History,
    Label,
    Life,
    Node,
    NodeFact,
    PropertyValue,
    Ref,
    View,
    node_id,
)
from graphrag.pruning import HALF_LIFE, PRUNED_UNDER, PruneReport, orphans, prune, pruned, weak, weight
from graphrag.sqlite_store import SqliteStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATE = NOON + 4 * HALF_LIFE
TENANT = "acme"


def edge(
    type: EdgeType = EdgeType.CO_OCCURS,
    source: str = "a",
    target: str = "b",
    *,
    seen: datetime = NOON,
    scope: str = "world",
    chunks: tuple[str, ...] = (),
    **properties: PropertyValue,
) -> Edge:
    verb = "knows" if type is EdgeType.RELATION else ""
    life = Life(NOON, NOON, seen, sources=("pages",))
    return Edge(TENANT, type, source, target, life, properties=properties, verb=verb, scope=scope, chunks=chunks)


def node(id: str, label: Label = Label.ENTITY, *, scope: str = "world") -> Node:
    return Node(id, TENANT, label, id, Life(NOON, NOON, NOON), scope=scope)


def test_a_weight_halves_in_a_half_life_and_an_edge_just_seen_keeps_all_of_it() -> None:
    assert weight(edge(), NOON) == 1.0
    assert weight(edge(), NOON + HALF_LIFE) == 0.5
    assert weight(edge(weight=1.2), NOON + 2 * HALF_LIFE) == pytest.approx(0.3)
    assert weight(edge(seen=LATE), LATE) == 1.0
    assert weight(edge(seen=LATE), NOON) == 1.0


def test_an_edge_is_weak_only_below_the_bound_and_a_use_makes_it_last_longer() -> None:
    at = NOON + HALF_LIFE
    assert weak([edge()], at) == []
    assert weak([edge()], at + timedelta(seconds=1)) == [edge()]
    assert weak([edge(weight=1.1)], at + timedelta(days=12)) == []
    assert weak([edge(weight=0.4)], NOON) == [edge(weight=0.4)]


@pytest.mark.parametrize("told", ["heavy", float("nan"), float("inf"), True])
def test_a_weight_that_is_no_number_counts_as_the_starting_one(told: PropertyValue) -> None:
    assert weight(edge(weight=told), NOON + HALF_LIFE) == 0.5


@given(st.sampled_from(EdgeType), st.sampled_from(["world", "agent one"]), st.floats(0, 2), st.integers(0, 2_000))
def test_only_co_occurrences_in_the_world_are_ever_weak(type: EdgeType, scope: str, told: float, days: int) -> None:
    found = edge(type, scope=scope, weight=told)
    now = NOON + timedelta(days=days)
    faint = told * 2 ** -(days / HALF_LIFE.days) < PRUNED_UNDER
    assert bool(weak([found], now)) == (type is EdgeType.CO_OCCURS and scope == "world" and faint)


def test_what_has_no_edge_is_an_orphan_when_it_is_an_entity_or_a_passage() -> None:
    nodes = [node(label.value, label) for label in Label]
    assert {each.label for each in orphans(nodes, [])} == {Label.ENTITY, Label.CHUNK}


def test_an_edge_of_any_scope_holds_both_its_ends_and_a_membership_or_a_past_edge_holds_none() -> None:
    nodes = [node(name) for name in "abcdef"]
    past = edge(EdgeType.RELATION, "e", "e2")
    edges = [
        edge(EdgeType.RELATION, "a", "b", scope="agent one"),
        edge(EdgeType.MENTIONS, "passage", "c"),
        edge(EdgeType.IN_COMMUNITY, "d", "community"),
        replace(past, life=replace(past.life, valid_to=LATE)),
    ]
    assert [each.id for each in orphans(nodes, edges)] == ["d", "e", "f"]


def test_what_an_agent_remembers_is_no_orphan_of_the_world() -> None:
    assert orphans([node("a", scope="agent one")], []) == []


def test_a_passage_that_a_current_fact_was_read_in_is_no_orphan() -> None:
    passages = [node(name, Label.CHUNK) for name in ("cited", "by-an-edge", "idle")]
    reader = replace(node("till", Label.SERVICE), chunks=("cited",))
    needs = edge(EdgeType.DEPENDS_ON, "till", "vault", chunks=("by-an-edge",))
    assert [each.id for each in orphans([*passages, reader], [needs])] == ["idle"]


def test_what_something_has_come_to_touch_in_the_meantime_stays() -> None:
    history = History((node("a"), node("b")), (edge(EdgeType.RELATION, "b", "c"),), {"a": (1.0,), "b": (2.0,)})
    facts, closed = pruned(history, {"a", "b"}, LATE)
    assert closed == (0, 1)
    assert [(each.id, each.life.valid_to) for each in facts.nodes] == [("a", LATE), ("b", None)]
    assert facts.vectors["b"] == (2.0,)
    assert sorted(facts.vectors.values()) == [(1.0,), (2.0,)]
    assert "a" not in facts.vectors


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await opened.open()
    yield opened
    await opened.close()


def entity(name: str) -> NodeFact:
    return NodeFact(Label.ENTITY, name, properties={"kind": "system"})


def together(one: str, other: str, **properties: PropertyValue) -> EdgeFact:
    return EdgeFact(EdgeType.CO_OCCURS, Ref(Label.ENTITY, one), Ref(Label.ENTITY, other), properties=properties)


async def names(store: SqliteStore, view: View) -> list[str]:
    return sorted(each.name for each in await store.all_nodes(TENANT, view=view))


async def test_pruning_closes_what_is_weak_and_then_hangs_on_nothing_and_keeps_its_past(store: SqliteStore) -> None:
    needs = EdgeFact(EdgeType.RELATION, Ref(Label.ENTITY, "queue"), Ref(Label.SERVICE, "till"), verb="feeds")
    nodes = (
        *map(entity, ("queue", "mail", "fax", "pager")),
        NodeFact(Label.SERVICE, "till"),
        NodeFact(Label.TEAM, "crew"),
    )
    edges = (together("queue", "mail"), together("mail", "fax"), together("queue", "pager", weight=20.0), needs)
    await store.write(TENANT, Facts("pages", NOON, nodes, edges))
    await store.set_vectors(TENANT, {node_id(TENANT, Label.ENTITY, "fax"): [0.0, 1.0]})
    assert await prune(store, TENANT, NOON) == PruneReport(0, 0)
    assert await prune(store, TENANT, LATE) == PruneReport(closed_edges=2, closed_nodes=2)
    assert await names(store, View()) == ["crew", "pager", "queue", "till"]
    assert await names(store, View(as_of=NOON)) == ["crew", "fax", "mail", "pager", "queue", "till"]
    assert await prune(store, TENANT, LATE) == PruneReport(0, 0)


async def test_a_passage_without_an_edge_stays_while_a_current_fact_was_read_in_it(store: SqliteStore) -> None:
    cited, idle, weak = (node_id(TENANT, Label.CHUNK, name) for name in ("cited", "idle", "weak"))
    passages = (NodeFact(Label.CHUNK, name) for name in ("cited", "idle", "weak"))
    reader = NodeFact(Label.SERVICE, "till", chunks=(cited,))
    faint = replace(together("mail", "fax"), chunks=(weak,))
    await store.write(TENANT, Facts("pages", NOON, (*passages, reader, entity("mail"), entity("fax")), (faint,)))
    assert await prune(store, TENANT, LATE) == PruneReport(closed_edges=1, closed_nodes=4)
    assert await names(store, View()) == ["cited", "till"]
    assert (await store.nodes(TENANT, [idle])) == {}


async def test_an_entity_that_only_an_agent_remembers_something_of_is_not_pruned(store: SqliteStore) -> None:
    await store.write(TENANT, Facts("pages", NOON, (entity("mail"), entity("fax"))))
    remembered = EdgeFact(EdgeType.RELATION, Ref(Label.ENTITY, "mail"), Ref(Label.ENTITY, "letters"), verb="brings")
    memory = Facts("agent", NOON, (entity("letters"),), (remembered,), scope="agent one")
    await store.write(TENANT, memory)
    mail, view = node_id(TENANT, Label.ENTITY, "mail"), View(scopes=("agent one",))
    assert len(await store.edges(TENANT, [mail], [EdgeType.RELATION], Direction.OUT, 9, view)) == 1
    assert await prune(store, TENANT, LATE) == PruneReport(closed_edges=0, closed_nodes=1)
    assert await names(store, View()) == ["mail"]


async def test_what_was_pruned_opens_again_when_it_is_seen_again(store: SqliteStore) -> None:
    facts = Facts("pages", NOON, (entity("mail"), entity("fax")), (together("mail", "fax"),))
    await store.write(TENANT, facts)
    await prune(store, TENANT, LATE)
    report = await store.write(TENANT, replace(facts, seen_at=LATE + timedelta(hours=1)))
    assert report.added == 3
    (mail,) = (await store.resolve(TENANT, ["mail"], [Label.ENTITY]))["mail"]
    assert mail.life.valid_from == LATE + timedelta(hours=1)


async def test_what_an_administrator_asserted_is_not_pruned(store: SqliteStore) -> None:
    await store.write(TENANT, Facts("pages", NOON, (entity("mail"), entity("fax"))))
    ends = [(await store.resolve(TENANT, [name], [Label.ENTITY]))[name][0] for name in ("mail", "fax")]
    await assert_edge(store, TENANT, EdgeType.CO_OCCURS, *ends, reason="they do", by="admin", now=NOON)
    assert await prune(store, TENANT, LATE) == PruneReport(0, 0)


async def test_old_facts_that_say_what_is_so_are_never_pruned(store: SqliteStore) -> None:
    nodes = tuple(
        NodeFact(label, f"{label} {number}", properties={"kind": "event"}) for label in Label for number in (1, 2)
    )
    edges = tuple(
        EdgeFact(
            type,
            Ref(min(sources), f"{min(sources)} 1"),
            Ref(max(targets), f"{max(targets)} 2"),
            verb="knows" if type is EdgeType.RELATION else "",
        )
        for type, (sources, targets) in ENDS.items()
        if type is not EdgeType.CO_OCCURS
    )
    await store.write(TENANT, Facts("pages", NOON, nodes, edges))
    before = [each.id for each in (await store.history(TENANT, None)).edges if each.life.valid_to is None]
    assert len(before) == len(edges)
    await prune(store, TENANT, NOON + timedelta(days=10_000))
    history = await store.history(TENANT, None)
    assert [each.id for each in history.edges if each.life.valid_to is None] == before
    assert {each.label for each in history.nodes if each.life.valid_to is not None} <= {Label.ENTITY, Label.CHUNK}
