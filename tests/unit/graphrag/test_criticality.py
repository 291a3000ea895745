"""Criticality against a brute-force reading of the same dependencies, and what is kept of it in a real store."""

import math
from collections.abc import AsyncIterator, Collection, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.criticality import CONNECTIVITY, DEPENDENTS, HALF, HOPS, Criticality, refresh, scores
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Properties, Ref, node_id
from graphrag.sqlite_store import SqliteStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMES = "abcdefgh"
TENANT = "acme"
Pair = tuple[str, str]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await opened.open()
    yield opened
    await opened.close()


def brute(names: Collection[str], pairs: Collection[Pair], name: str) -> float:
    """The score of one service by trying all walks towards it."""
    x, seen, front = 0.0, {name}, {name}
    for hop in range(HOPS):
        front = {a for a, b in pairs if b in front and a in names} - seen
        seen |= front
        x += len(front) * 0.5**hop
    return x / (x + HALF)


def score(x: float) -> float:
    return x / (x + HALF)


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), min_size=1, max_size=30))
def test_a_score_counts_each_service_that_comes_to_depend_once_and_less_with_each_hop(pairs: list[Pair]) -> None:
    found = scores(NAMES, pairs, {})
    if found["a"].basis == DEPENDENTS:
        expected = {name: brute(NAMES, pairs, name) for name in NAMES}
        assert {name: each.score for name, each in found.items()} == pytest.approx(expected)
    else:
        assert len({(a, b) for a, b in pairs if a != b}) < len(NAMES) / 4


@given(st.integers(2, 400), st.integers(1, 5), st.integers(0, 2**32), st.booleans())
def test_the_score_is_the_same_however_many_walk_at_once(count: int, needs: int, seed: int, hub: bool) -> None:
    numbers = [(seed * (a + 1) * (k + 7) >> 3) % count for a in range(count) for k in range(needs)]
    pairs = [(str(at // needs), str(need)) for at, need in enumerate(numbers)]
    if hub:
        pairs += [(str(a), "0") for a in range(count)] + [("0", str(a)) for a in range(0, count, 2)]
    names = [str(number) for number in range(count)]
    found = scores(names, pairs, {})
    if found["0"].basis == DEPENDENTS:
        for name in names[:: max(1, count // 5)]:
            assert found[name].score == pytest.approx(brute(set(names), set(pairs) - {(a, a) for a in names}, name))


def test_ten_direct_dependents_score_a_half_and_indirect_ones_half_as_much() -> None:
    direct = [(f"direct {number}", "database") for number in range(10)]
    indirect = [(f"indirect {number}", "direct 0") for number in range(4)]
    names = sorted({name for pair in direct + indirect for name in pair})
    assert scores(names, direct, {})["database"] == Criticality(0.5, DEPENDENTS)
    assert scores(names, direct + indirect, {})["database"].score == pytest.approx(score(10 + 4 / 2))


def test_what_a_service_needs_adds_nothing_to_its_score() -> None:
    found = scores("abc", [("a", "b"), ("a", "c")], {})
    assert (found["a"].score, found["b"].score > 0) == (0, True)


def test_a_chain_counts_five_hops_and_no_more() -> None:
    names = [str(number) for number in range(200)]
    found = scores(names, [(a, str(int(a) - 1)) for a in names[1:]], {})
    assert found["0"].score == pytest.approx(score(1 + 1 / 2 + 1 / 4 + 1 / 8 + 1 / 16))
    assert found["197"].score == pytest.approx(score(1 + 1 / 2))


def test_in_a_cycle_a_service_is_no_dependent_of_its_own() -> None:
    found = scores("abc", [("a", "b"), ("b", "c"), ("c", "a"), ("a", "a")], {})
    assert {each.score for each in found.values()} == {score(1 + 1 / 2)}


def test_a_hub_that_thousands_need_stays_under_one() -> None:
    names = [str(number) for number in range(5_000)]
    found = scores(names, [(a, "0") for a in names[1:]] + [("0", "1")], {})
    assert found["0"].score == pytest.approx(score(4_999))
    assert found["1"].score == pytest.approx(score(1 + 4_998 / 2))


def test_a_score_needs_no_other_services_number() -> None:
    pairs = [("a", "b"), ("c", "b"), ("b", "d")]
    elsewhere = [(f"x{number}", f"x{number + 1}") for number in range(50)]
    names = {name for pair in elsewhere for name in pair}
    alone, among = scores("abcd", pairs, {}), scores([*"abcd", *names], pairs + elsewhere, {})
    assert {name: among[name] for name in "abcd"} == alone


def test_dependencies_of_unknown_services_do_not_count() -> None:
    found = scores("ab", [("a", "b"), ("gone", "b"), ("gone", "a"), ("a", "b")], {})
    assert found["b"].score == score(1)


def test_with_too_few_dependencies_connectivity_makes_every_score_and_says_so() -> None:
    names = "abcdefghi"
    few = scores(names, [("a", "b"), ("c", "b"), ("c", "c")], {"a": 10, "b": 30})
    assert few == {name: Criticality(score({"a": 10, "b": 30}.get(name, 0)), CONNECTIVITY) for name in names}
    enough = scores(names, [("a", "b"), ("c", "b"), ("d", "b")], {"a": 10, "b": 30})
    assert (enough["b"], enough["a"]) == (Criticality(score(3), DEPENDENTS), Criticality(0, DEPENDENTS))


def test_one_service_alone_and_no_service_at_all_have_no_dependents_to_go_by() -> None:
    assert scores("a", [], {}) == {"a": Criticality(0, CONNECTIVITY)}
    assert scores("", [("a", "b")], {}) == {}


def service(name: str) -> Ref:
    return Ref(Label.SERVICE, name)


def seen(names: Iterable[str], pairs: Iterable[Pair], hour: int = 0, scope: str = "world") -> Facts:
    """What a run sees: services, the dependencies between them, and one team that owns each."""
    nodes = (NodeFact(Label.TEAM, "platform"), *(NodeFact(Label.SERVICE, name) for name in names))
    needs = tuple(EdgeFact(EdgeType.DEPENDS_ON, service(a), service(b)) for a, b in pairs)
    owned = tuple(EdgeFact(EdgeType.OWNED_BY, service(name), Ref(Label.TEAM, "platform")) for name in names)
    return Facts("graph", NOON + timedelta(hours=hour), nodes, needs + owned, complete=True, scope=scope)


async def kept(store: SqliteStore) -> dict[str, Properties]:
    return {node.name: node.properties for node in await store.all_nodes(TENANT, [Label.SERVICE])}


async def test_a_refresh_keeps_the_score_and_its_basis_on_every_service(store: SqliteStore) -> None:
    await store.write(TENANT, seen("abc", [("a", "b"), ("b", "c")]))
    assert await refresh(store, TENANT) == 3
    assert await kept(store) == {
        "a": {"criticality": 0.0, "criticality_basis": DEPENDENTS},
        "b": {"criticality": round(score(1), 4), "criticality_basis": DEPENDENTS},
        "c": {"criticality": round(score(1.5), 4), "criticality_basis": DEPENDENTS},
    }


async def test_a_refresh_touches_only_what_changed_and_confirms_no_fact(store: SqliteStore) -> None:
    await store.write(TENANT, seen("abc", [("a", "b")]))
    assert await refresh(store, TENANT) == 3
    before = await store.all_nodes(TENANT)
    assert await refresh(store, TENANT) == 0
    assert await store.all_nodes(TENANT) == before
    await store.write(TENANT, seen("abc", [("a", "b"), ("c", "b")], hour=1))
    assert await refresh(store, TENANT) == 1
    assert math.isclose(float(str((await kept(store))["b"]["criticality"])), round(score(2), 4))


async def test_a_dependency_that_was_closed_or_only_remembered_does_not_count(store: SqliteStore) -> None:
    await store.write(TENANT, seen("abcd", [("a", "b"), ("c", "b")]))
    await store.write(TENANT, seen("abcd", [("a", "b")], hour=1))
    await store.write(TENANT, seen("abcd", [("c", "b"), ("d", "b")], scope="agent:1"))
    await refresh(store, TENANT)
    assert (await kept(store))["b"] == {"criticality": round(score(1), 4), "criticality_basis": DEPENDENTS}


async def test_without_dependencies_a_refresh_goes_by_every_edge_that_touches_a_service(store: SqliteStore) -> None:
    await store.write(TENANT, seen("ab", []))
    alert = NodeFact(Label.ALERT, "Slow")
    fires = EdgeFact(EdgeType.FIRES_ON, Ref(Label.ALERT, "Slow"), service("a"))
    asked = EdgeFact(EdgeType.RELATION, Ref(Label.TEAM, "platform"), service("a"), verb="asked about")
    await store.write(TENANT, Facts("rules", NOON, (alert,), (fires, asked)))
    await store.write("another", seen("ab", [("a", "b")]))
    assert await refresh(store, TENANT) == 2
    assert await kept(store) == {
        "a": {"criticality": round(score(3), 4), "criticality_basis": CONNECTIVITY},
        "b": {"criticality": round(score(1), 4), "criticality_basis": CONNECTIVITY},
    }
    assert all("criticality" not in node.properties for node in await store.all_nodes("another"))
    assert not (await store.nodes(TENANT, [node_id(TENANT, Label.TEAM, "platform")])).popitem()[1].properties
