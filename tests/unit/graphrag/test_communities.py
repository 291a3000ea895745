"""Communities: what clustering promises on any graph, and what a refresh keeps of it in a real store."""

import random
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.clustering import ALIKE, LARGEST, Cluster, at_level, changed, cluster, stable_ids
from graphrag.communities import MAX_SUMMARY, WEIGHTS, Outline, refresh, template
from graphrag.model import EdgeFact, EdgeType, Facts, Label, Life, Node, NodeFact, Properties, Ref
from graphrag.sqlite_store import SqliteStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TENANT = "acme"
Weighted = tuple[str, str, float]


def clique(names: Collection[str], weight: float = 1.0) -> list[Weighted]:
    return [(a, b, weight) for a, b in combinations(names, 2)]


def towards(names: Collection[str], weight: float) -> list[Weighted]:
    return [("between", name, weight) for name in names]


def named(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number:03}" for number in range(count)]


def members(clusters: Iterable[Cluster]) -> set[frozenset[str]]:
    return {frozenset(each.members) for each in clusters}


def groups_of_groups(seed: int = 3) -> tuple[list[str], list[Weighted]]:
    """Four groups of five rings of sixteen, each ring close, each group loosely held together."""
    draw = random.Random(seed)
    names = named("n", 4 * 5 * 16)
    edges: list[Weighted] = []
    for ring in range(0, len(names), 16):
        edges += clique(names[ring : ring + 16])
    for group in range(0, len(names), 80):
        edges += [(*draw.sample(names[group : group + 80], 2), 1.0) for _ in range(600)]
    edges += [(names[group], names[group - 80], 1.0) for group in range(0, len(names), 80)]
    return names, edges


GRAPHS = st.integers(1, 90).flatmap(
    lambda count: st.tuples(
        st.just(named("", count)),
        st.lists(
            st.tuples(
                st.sampled_from(named("", count)),
                st.sampled_from([*named("", count), "elsewhere"]),
                st.sampled_from([-1.0, 0.0, 1e-300, 0.25, 1.0, 4.0, 1e300, float("inf"), float("nan")]),
            ),
            max_size=250,
        ),
    )
)


@given(GRAPHS, st.integers(0, 2**32))
def test_every_node_is_in_exactly_one_community_at_every_level(
    graph: tuple[list[str], list[Weighted]], seed: int
) -> None:
    nodes, edges = graph
    clusters = cluster(nodes, edges, seed)
    for level in range(max(each.level for each in clusters) + 1):
        assert Counter(id for each in at_level(clusters, level) for id in each.members) == Counter(nodes)


@given(GRAPHS)
def test_the_parts_of_a_community_divide_it_a_level_down(graph: tuple[list[str], list[Weighted]]) -> None:
    clusters = cluster(*graph)
    assert_consistent(clusters)


def assert_consistent(clusters: Sequence[Cluster]) -> None:
    parts: dict[int, list[Cluster]] = {}
    for each in clusters:
        assert (each.parent is None) == (each.level == 0)
        if each.parent is not None:
            assert clusters[each.parent].level == each.level - 1
            parts.setdefault(each.parent, []).append(each)
    for place, inside in parts.items():
        assert len(inside) > 1
        assert sorted(id for each in inside for id in each.members) == list(clusters[place].members)


@given(GRAPHS, st.randoms(use_true_random=False))
def test_the_same_graph_gives_the_same_communities_however_it_is_written_down(
    graph: tuple[list[str], list[Weighted]], draw: random.Random
) -> None:
    nodes, edges = graph
    shuffled = [(b, a, weight) if draw.random() < 0.5 else (a, b, weight) for a, b, weight in edges]
    draw.shuffle(shuffled)
    assert cluster(draw.sample(nodes, len(nodes)), shuffled) == cluster(nodes, edges)


@given(GRAPHS, GRAPHS)
def test_an_earlier_answer_of_any_graph_is_a_start_for_any_other(
    before: tuple[list[str], list[Weighted]], now: tuple[list[str], list[Weighted]]
) -> None:
    found = cluster(*now, start=cluster(*before))
    assert sorted(id for each in at_level(found, 0) for id in each.members) == now[0]
    assert_consistent(found)


def test_two_cliques_with_one_edge_between_them_are_two_communities() -> None:
    left, right = named("left", 8), named("right", 8)
    found = cluster([*left, *right], [*clique(left), *clique(right), (left[0], right[0], 1.0)])
    assert members(found) == {frozenset(left), frozenset(right)}


def test_a_heavier_edge_decides_where_a_node_belongs() -> None:
    left, right = named("left", 6), named("right", 6)
    edges = [*clique(left), *clique(right), *towards(left, 1.0), *towards(right, 0.25)]
    found = cluster([*left, *right, "between"], edges)
    assert frozenset([*left, "between"]) in members(found)


def test_nodes_without_edges_are_communities_of_their_own() -> None:
    found = cluster([*named("a", 6), "x", "y"], [*clique(named("a", 6)), ("x", "x", 1.0), ("y", "elsewhere", 1.0)])
    assert members(found) == {frozenset(named("a", 6)), frozenset("x"), frozenset("y")}
    assert cluster([], [("a", "b", 1.0)]) == []


def test_what_hangs_apart_is_clustered_as_if_it_were_alone() -> None:
    names, edges = groups_of_groups()
    others = [f"other {name}" for name in names]
    elsewhere = [(f"other {a}", f"other {b}", weight) for a, b, weight in groups_of_groups(4)[1]]
    together = cluster([*names, *others], edges + elsewhere)
    assert members(cluster(names, edges)) == {each for each in members(together) if each <= set(names)}


def test_a_large_community_is_split_until_each_part_is_small_enough() -> None:
    names, edges = groups_of_groups()
    found = cluster(names, edges)
    assert members(at_level(found, 0)) == {frozenset(names[at : at + 80]) for at in range(0, 320, 80)}
    assert members(at_level(found, 9)) == {frozenset(names[at : at + 16]) for at in range(0, 320, 16)}
    assert_consistent(found)


def test_what_does_not_fall_apart_stays_one_community_however_large() -> None:
    names = named("n", LARGEST + 10)
    assert cluster(names, clique(names)) == [Cluster(0, tuple(names))]


def test_a_community_keeps_its_id_when_one_member_moves() -> None:
    before = [Cluster(0, tuple("abcd")), Cluster(0, tuple("efgh"))]
    ids = stable_ids({}, before)
    now = [Cluster(0, tuple("defgh")), Cluster(0, tuple("abc"))]
    assert stable_ids(dict(zip(ids, before, strict=True)), now) == ids[::-1]
    assert len(set(ids)) == 2


def test_a_community_of_which_less_than_half_is_left_gets_a_new_id() -> None:
    before = {"old": Cluster(0, tuple("abcd"))}
    assert stable_ids(before, [Cluster(0, tuple("ab"))]) == ["old"]
    assert stable_ids(before, [Cluster(0, tuple("abcdefgh"))]) == ["old"]
    assert "old" not in stable_ids(before, [Cluster(0, tuple("abcdefghi"))])
    assert "old" not in stable_ids(before, [Cluster(1, tuple("abcd"))])


def test_of_two_equal_halves_one_keeps_the_id() -> None:
    ids = stable_ids({"old": Cluster(0, tuple("abcd"))}, [Cluster(0, tuple("ab")), Cluster(0, tuple("cd"))])
    assert ids[0] == "old"
    assert ids[1] not in {"old", *stable_ids({}, [Cluster(0, tuple("ab"))])}


def test_a_new_id_is_not_one_that_another_still_bears() -> None:
    [first] = stable_ids({}, [Cluster(0, tuple("abcd"))])
    drifted = {first: Cluster(0, tuple("cdefgh"))}
    again, new = stable_ids(drifted, [Cluster(0, tuple("cdefgh")), Cluster(0, tuple("abcd"))])
    assert again == first != new


@given(st.lists(st.integers(0, 4), min_size=1, max_size=30), st.lists(st.integers(0, 4), min_size=1, max_size=30))
def test_ids_are_unique_and_kept_by_whoever_shares_enough(before: list[int], now: list[int]) -> None:
    was = dict(enumerate_ids(before))
    found = [each for _, each in enumerate_ids(now)]
    ids = stable_ids(was, found)
    assert len(set(ids)) == len(found)
    for id, each in zip(ids, found, strict=True):
        alike = {
            other: len({*each.members} & {*known.members}) / len({*each.members} | {*known.members})
            for other, known in was.items()
        }
        if id in was:
            assert alike[id] == max(alike.values()) >= ALIKE
        else:
            assert all(share < ALIKE or other in ids for other, share in alike.items())


def enumerate_ids(homes: Sequence[int]) -> list[tuple[str, Cluster]]:
    inside: dict[int, list[str]] = {}
    for node, home in enumerate(homes):
        inside.setdefault(home, []).append(f"{node:02}")
    return [(f"id {home}", Cluster(0, tuple(each))) for home, each in sorted(inside.items())]


def test_from_an_earlier_answer_one_new_edge_moves_little_even_where_nothing_is_clear_cut() -> None:
    draw = random.Random(11)
    names = named("n", 600)
    edges = [(*draw.sample(names, 2), 1.0) for _ in range(1_500)]
    more = [*edges, (names[0], names[300], 1.0)]
    before = cluster(names, edges)
    was = dict(zip(stable_ids({}, before), before, strict=True))
    kept = was.keys() & stable_ids(was, cluster(names, more, start=before))
    assert len(kept) >= 0.9 * len(was)
    assert len(kept) > len(was.keys() & stable_ids(was, cluster(names, more)))


@given(st.lists(st.integers(0, 5), min_size=60, max_size=60))
def test_a_start_that_no_longer_hangs_together_is_no_hindrance(homes: list[int]) -> None:
    names = named("", len(homes))
    ring = [(a, b, 1.0) for a, b in zip(names, [*names[1:], names[0]], strict=True)]
    start = [Cluster(0, tuple(name for name, at in zip(names, homes, strict=True) if at == home)) for home in {*homes}]
    found = cluster(names, ring, start=start)
    assert sorted(id for each in at_level(found, 0) for id in each.members) == names
    assert all(len(each.members) > 1 for each in found)


def test_only_what_is_new_or_told_otherwise_has_changed() -> None:
    assert changed({"a": "1", "b": "2", "gone": "3"}, {"c": "4", "b": "5", "a": "1"}) == ["b", "c"]


def node(name: str, label: Label = Label.SERVICE, **properties: str | float) -> Node:
    return Node(f"{label}-{name}", TENANT, label, name, Life(NOON, NOON, NOON), properties=properties)


def test_a_template_names_members_owners_suppliers_and_incidents() -> None:
    outline = Outline((node("pay"), node("cart")), ("shop",), ("postgres",), ("Checkout was down",))
    assert template(outline) == (
        "2 members, the most critical first: pay, cart. Owned by: shop. Suppliers they share: postgres. "
        "Past incidents: Checkout was down."
    )
    assert template(Outline((node("pay"),))) == "Only member: pay."


def test_a_template_is_bounded_and_says_how_much_more_there_is() -> None:
    assert template(Outline(tuple(map(node, named("n", 1_500))))).endswith("n011 and 1,488 more.")
    long = named("x" * 5_000, 50)
    assert len(template(Outline(tuple(map(node, long)), tuple(long), tuple(long), tuple(long)))) <= MAX_SUMMARY


def test_every_type_of_edge_but_the_outcome_holds_together_and_dependencies_most() -> None:
    assert WEIGHTS.keys() == set(EdgeType) - {EdgeType.IN_COMMUNITY, EdgeType.MENTIONS}
    assert max(WEIGHTS, key=lambda type: WEIGHTS[type]) == EdgeType.DEPENDS_ON
    assert min(WEIGHTS, key=lambda type: WEIGHTS[type]) == EdgeType.CO_OCCURS


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await opened.open()
    yield opened
    await opened.close()


def service(name: str) -> Ref:
    return Ref(Label.SERVICE, name)


def estate(hour: int = 0, summaries: Mapping[str, str] | None = None, more: Iterable[tuple[str, str]] = ()) -> Facts:
    """Two teams with six services each, all of a team's in need of each other, and a service that nobody knows."""
    facts: list[NodeFact] = [NodeFact(Label.SERVICE, "lonely")]
    edges: list[EdgeFact] = [EdgeFact(EdgeType.DEPENDS_ON, service(a), service(b)) for a, b in more]
    for team in ("shop", "bank"):
        names = named(f"{team}-", 6)
        facts.append(NodeFact(Label.TEAM, team))
        facts += (NodeFact(Label.SERVICE, name, (summaries or {}).get(name, "It serves.")) for name in names)
        edges += (EdgeFact(EdgeType.DEPENDS_ON, service(a), service(b)) for a, b in combinations(names, 2))
        edges += (EdgeFact(EdgeType.OWNED_BY, service(name), Ref(Label.TEAM, team)) for name in names)
    return Facts("catalogue", NOON + timedelta(hours=hour), tuple(facts), tuple(edges), complete=True)


async def kept(store: SqliteStore) -> dict[str, set[str]]:
    """The names in each community, by its name."""
    nodes = {each.id: each for each in await store.all_nodes(TENANT)}
    inside = {each.name: set[str]() for each in nodes.values() if each.label is Label.COMMUNITY}
    for source, target in await store.pairs(TENANT, EdgeType.IN_COMMUNITY):
        inside[nodes[target].name].add(nodes[source].name)
    return inside


async def communities(store: SqliteStore) -> dict[str, Node]:
    return {each.name: each for each in await store.all_nodes(TENANT, [Label.COMMUNITY])}


async def home(store: SqliteStore, name: str) -> str:
    [found] = [community for community, names in (await kept(store)).items() if name in names]
    return found


async def test_a_refresh_keeps_communities_with_their_members_level_rank_and_summary(store: SqliteStore) -> None:
    await store.write(TENANT, estate())
    await store.annotate(
        TENANT, {(await store.resolve(TENANT, ["bank003"], []))["bank003"][0].id: {"criticality": 0.5}}
    )
    report = await refresh(store, TENANT, NOON)
    assert (report.communities, report.levels) == (3, 1)
    inside = await kept(store)
    assert sorted(map(sorted, inside.values())) == [
        ["bank", *named("bank-", 6)],
        ["lonely"],
        ["shop", *named("shop-", 6)],
    ]
    assert set(report.changed) == inside.keys()
    bank = (await communities(store))[await home(store, "bank")]
    assert bank.summary.startswith("7 members, the most critical first: bank-003, bank, bank-000")
    assert "Owned by: bank." in bank.summary
    assert "Suppliers they share: bank-005, bank-004, bank-003, bank-002." in bank.summary
    assert {key: value for key, value in bank.properties.items() if key != "member_hash"} == {
        "level": 0,
        "rank": round((7 / 15 + 1) / 2, 6),
        "size": 7,
        "title": "bank-003 and 6 more",
    }


async def test_a_refresh_of_an_unchanged_world_writes_nothing(store: SqliteStore) -> None:
    await store.write(TENANT, estate())
    await refresh(store, TENANT, NOON)
    before = await store.history(TENANT, None)
    report = await refresh(store, TENANT, NOON + timedelta(hours=1))
    assert (report.communities, report.changed, report.levels) == (3, (), 1)
    assert await store.history(TENANT, None) == before


async def test_where_only_ranks_move_they_are_set_and_no_fact_is_confirmed(store: SqliteStore) -> None:
    await store.write(TENANT, estate())
    await refresh(store, TENANT, NOON)
    before = await communities(store)
    bank, shop = await home(store, "bank-000"), await home(store, "shop-000")
    [node_id] = [each.id for each in await store.all_nodes(TENANT) if each.name == "bank-000"]
    await store.annotate(TENANT, {node_id: {"criticality": 0.5}})
    assert (await refresh(store, TENANT, NOON + timedelta(hours=1))).changed == ()
    now = await communities(store)
    assert now[bank].properties == {**before[bank].properties, "rank": round((7 / 15 + 1) / 2, 6)}
    assert now[shop].properties == {**before[shop].properties, "rank": round(7 / 15 / 2, 6)}
    assert {name: each.life for name, each in now.items()} == {name: each.life for name, each in before.items()}


async def test_only_the_community_that_a_change_touches_is_summarised_again(store: SqliteStore) -> None:
    await store.write(TENANT, estate())
    await refresh(store, TENANT, NOON)
    asked: list[set[str]] = []

    def summarise(outline: Outline) -> str:
        asked.append({each.name for each in outline.members})
        return "Told anew."

    before = await communities(store)
    shop = await home(store, "shop-000")
    await store.write(TENANT, estate(1, {"shop-002": "It sells."}))
    report = await refresh(store, TENANT, NOON + timedelta(hours=1), summarise)
    assert (report.changed, asked) == ((shop,), [{"shop", *named("shop-", 6)}])
    now = await communities(store)
    assert {name: each.summary for name, each in now.items()} == {
        name: "Told anew." if name == shop else each.summary for name, each in before.items()
    }


async def test_a_new_dependency_across_communities_changes_the_one_that_gains_a_member(store: SqliteStore) -> None:
    await store.write(TENANT, estate())
    await refresh(store, TENANT, NOON)
    before = await kept(store)
    shop, alone = await home(store, "shop-000"), await home(store, "lonely")
    await store.write(TENANT, estate(1, more=[("lonely", name) for name in named("shop-", 3)]))
    report = await refresh(store, TENANT, NOON + timedelta(hours=1))
    assert report.changed == (shop,)
    assert await kept(store) == {
        name: names | {"lonely"} if name == shop else names for name, names in before.items() if name != alone
    }


async def test_an_incident_is_told_in_the_summary_the_latest_first(store: SqliteStore) -> None:
    await store.write(TENANT, estate())
    await refresh(store, TENANT, NOON)
    incidents = tuple(
        NodeFact(Label.INCIDENT, name, properties={"started_at": at})
        for name, at in (("A till stood still", "2026-01-01"), ("Carts were lost", "2026-02-01"))
    )
    affected = tuple(
        EdgeFact(EdgeType.AFFECTED, Ref(Label.INCIDENT, each.name), service("shop-001")) for each in incidents
    )
    await store.write(TENANT, Facts("incidents", NOON, incidents, affected))
    assert (await refresh(store, TENANT, NOON)).changed == (await home(store, "shop-001"),)
    shop = (await communities(store))[await home(store, "shop-001")]
    assert "Past incidents: Carts were lost, A till stood still." in shop.summary


async def test_levels_hang_together_as_communities_of_communities(store: SqliteStore) -> None:
    names, edges = groups_of_groups()
    needs = tuple(EdgeFact(EdgeType.DEPENDS_ON, service(a), service(b)) for a, b, _ in edges)
    await store.write(TENANT, Facts("catalogue", NOON, tuple(NodeFact(Label.SERVICE, name) for name in names), needs))
    report = await refresh(store, TENANT, NOON)
    assert (report.communities, report.levels) == (24, 2)
    inside, found = await kept(store), await communities(store)
    for name, each in found.items():
        below = inside[name]
        if each.properties["level"] == 0:
            assert {found[part].properties["level"] for part in below} == {1}
            assert sum(int(str(found[part].properties["size"])) for part in below) == each.properties["size"] == 80
        else:
            assert below <= set(names)
    assert await refresh(store, TENANT, NOON + timedelta(hours=1)) == type(report)(24, (), 2)
    # Of one service's new summary, both its community and the one around that hear.
    more = NodeFact(Label.SERVICE, names[0], "It serves.")
    await store.write(TENANT, Facts("pages", NOON + timedelta(hours=1), (more,)))
    again = await refresh(store, TENANT, NOON + timedelta(hours=2))
    assert [found[name].properties["level"] for name in again.changed] in ([0, 1], [1, 0])


async def test_a_remembered_or_closed_edge_takes_no_part_and_a_page_belongs_to_what_its_chunks_mention(
    store: SqliteStore,
) -> None:
    await store.write(TENANT, estate(more=[("lonely", name) for name in named("shop-", 3)]))
    await store.write(TENANT, estate(1))
    memory = EdgeFact(EdgeType.DEPENDS_ON, service("lonely"), service("bank-000"))
    await store.write(TENANT, Facts("agent", NOON, (), (memory,), scope="agent:1"))
    told = (NodeFact(Label.DOC, "page"), NodeFact(Label.CHUNK, "page#0"), NodeFact(Label.CHUNK, "page#1"))
    chunk = Ref(Label.CHUNK, "page#0")
    mentions = (
        EdgeFact(EdgeType.MENTIONS, chunk, Ref(Label.DOC, "page")),
        EdgeFact(EdgeType.MENTIONS, chunk, service("bank-000")),
    )
    await store.write(TENANT, Facts("pages", NOON, told, mentions))
    await refresh(store, TENANT, NOON)
    inside = await kept(store)
    assert {"lonely"} in inside.values()
    assert {"page", "bank", *named("bank-", 6)} in inside.values()
    assert all("page#1" not in names for names in inside.values())


@pytest.mark.parametrize(("strong", "weak"), [("a", "b"), ("b", "a")])
async def test_what_co_occurs_belongs_where_its_weight_is(store: SqliteStore, strong: str, weak: str) -> None:
    system: Properties = {"kind": "system"}
    names = [*named("a", 6), *named("b", 6), "between"]
    nodes = tuple(NodeFact(Label.ENTITY, name, properties=system) for name in names)
    edges = [
        *clique(named("a", 6)),
        *clique(named("b", 6)),
        *towards(named(strong, 6), 1.0),
        *towards(named(weak, 6), 0.2),
    ]
    seen = tuple(
        EdgeFact(EdgeType.CO_OCCURS, Ref(Label.ENTITY, a), Ref(Label.ENTITY, b), properties={"weight": weight})
        for a, b, weight in edges
    )
    await store.write(TENANT, Facts("pages", NOON, nodes, seen))
    await refresh(store, TENANT, NOON)
    assert {"between", *named(strong, 6)} in (await kept(store)).values()


async def test_a_model_may_summarise_and_its_silence_leaves_the_template(store: SqliteStore) -> None:
    async def model(outline: Outline) -> str:
        return "" if len(outline.members) == 1 else "By a model."

    await store.write(TENANT, estate())
    await refresh(store, TENANT, NOON, model)
    assert sorted(each.summary for each in (await communities(store)).values()) == [
        "By a model.",
        "By a model.",
        "Only member: lonely.",
    ]


async def test_a_summary_that_fails_leaves_the_graph_as_it_was(store: SqliteStore) -> None:
    def fail(outline: Outline) -> str:
        raise RuntimeError("no model")

    await store.write(TENANT, estate())
    before = await store.history(TENANT, None)
    with pytest.raises(RuntimeError, match="no model"):
        await refresh(store, TENANT, NOON, fail)
    assert await store.history(TENANT, None) == before
    assert len((await refresh(store, TENANT, NOON)).changed) == 3


async def test_a_tenant_without_a_node_has_no_communities_and_another_has_its_own(store: SqliteStore) -> None:
    await store.write(TENANT, estate())
    assert (await refresh(store, "another", NOON)).communities == 0
    await store.write("another", estate())
    assert {(await refresh(store, tenant, NOON)).communities for tenant in (TENANT, "another")} == {3}
