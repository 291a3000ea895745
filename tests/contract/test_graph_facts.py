"""What every graph store keeps of a fact: its kinds, its life, its scope and its names, now and as of a time."""

import dataclasses
from datetime import datetime, timedelta

import pytest

from graphrag.identity import identifier_key, name_key
from graphrag.model import (
    Direction,
    EdgeFact,
    EdgeType,
    EntityKind,
    Facts,
    History,
    Label,
    NodeFact,
    Record,
    Ref,
    Rewrite,
    Step,
    View,
    node_id,
)
from graphrag.store import Exploration, GraphStore, StepsFrom
from graphrag.writing import storable
from tests.contract.graphs import NOON, depends, id_of, run, service

HOUR = timedelta(hours=1)
AGENT = View(scopes=("agent one",))
BOTH = View(scopes=("world", "agent one"))


def at(hour: float) -> View:
    return View(as_of=NOON + hour * HOUR)


def person(name: str) -> NodeFact:
    return NodeFact(Label.ENTITY, name, properties={"kind": EntityKind.PERSON})


def said(source: str, verb: str, target: str) -> EdgeFact:
    return EdgeFact(EdgeType.RELATION, Ref(Label.SERVICE, source), Ref(Label.SERVICE, target), verb=verb)


async def names(store: GraphStore, tenant: str, view: View) -> list[str]:
    return sorted(node.name for node in await store.all_nodes(tenant, view=view))


async def steps(store: GraphStore, tenant: str, ask: StepsFrom) -> tuple[list[Step], bool]:
    def one_hop() -> Exploration[tuple[list[Step], bool]]:
        (answer,) = yield [ask]
        return answer

    return await store.explore(tenant, one_hop())


# Kinds ---------------------------------------------------------------------------------------------------------------


async def test_every_kind_of_node_and_edge_comes_back(store: GraphStore, tenant: str) -> None:
    nodes = [NodeFact(label, f"one {label}", properties=_kind(label)) for label in Label]
    ends = {
        EdgeType.DEPENDS_ON: (Label.SERVICE, Label.SERVICE),
        EdgeType.OWNED_BY: (Label.SERVICE, Label.TEAM),
        EdgeType.HAS_RUNBOOK: (Label.ALERT, Label.RUNBOOK),
        EdgeType.DOCUMENTED_IN: (Label.INCIDENT, Label.DOC),
        EdgeType.AFFECTED: (Label.INCIDENT, Label.SERVICE),
        EdgeType.RESPONDED_BY: (Label.INCIDENT, Label.TEAM),
        EdgeType.RELATED_TO: (Label.INCIDENT, Label.INCIDENT),
        EdgeType.INTRODUCED_BY: (Label.SERVICE, Label.RELEASE),
        EdgeType.FIRES_ON: (Label.ALERT, Label.SERVICE),
        EdgeType.MENTIONS: (Label.CHUNK, Label.TOOL),
        EdgeType.IN_COMMUNITY: (Label.ENTITY, Label.COMMUNITY),
        EdgeType.OWNS: (Label.ORG, Label.CLUSTER),
        EdgeType.HAS_MODULE: (Label.CLUSTER, Label.MODULE),
        EdgeType.TOUCHES: (Label.SKILL, Label.MODULE),
        EdgeType.EXPOSES: (Label.TOOL, Label.CAPABILITY),
        EdgeType.RELEVANT_TO: (Label.CAPABILITY, Label.SKILL),
        EdgeType.RELATION: (Label.TEAM, Label.DOC),
        EdgeType.CO_OCCURS: (Label.TEAM, Label.ENTITY),
    }
    assert ends.keys() == set(EdgeType)
    others = [NodeFact(label, f"other {label}", properties=_kind(label)) for label in Label]
    edges = [
        EdgeFact(type, Ref(a, f"one {a}"), Ref(b, f"other {b}"), verb="wrote" if type is EdgeType.RELATION else "")
        for type, (a, b) in ends.items()
    ]
    report = await store.write(tenant, run(*nodes, *others, *edges))
    assert (report.added, report.dangling) == (2 * len(Label) + len(EdgeType), ())
    found = {node.id: node for node in await store.all_nodes(tenant)}
    assert sorted(node.label for node in found.values()) == sorted([*Label, *Label])
    kept = await store.edges(tenant, list(found), list(EdgeType), Direction.OUT, 100)
    assert {edge.type: {found[edge.source].label, found[edge.target].label} for edge in kept} == {
        type: {a, b} for type, (a, b) in ends.items()
    }
    assert [edge.verb for edge in kept if edge.verb] == ["wrote"]


def _kind(label: Label) -> dict[str, str]:
    return {"kind": EntityKind.SYSTEM} if label is Label.ENTITY else {}


async def test_an_edge_between_kinds_that_its_type_does_not_join_is_refused_whole(
    store: GraphStore, tenant: str
) -> None:
    backwards = EdgeFact(EdgeType.OWNED_BY, Ref(Label.TEAM, "shop"), Ref(Label.SERVICE, "a"))
    with pytest.raises(ValueError, match="OWNED_BY goes from Service to Team, not from Team to Service"):
        await store.write(tenant, run(service("a"), NodeFact(Label.TEAM, "shop"), backwards))
    assert await store.all_nodes(tenant) == []


async def test_relations_of_one_pair_differ_by_their_verbs(store: GraphStore, tenant: str) -> None:
    await store.write(
        tenant, run(service("a"), service("b"), said("a", "mirrors", "b"), said("a", "replaces", "b"), hour=0)
    )
    await store.write(tenant, run(said("a", "mirrors", "b"), hour=1))
    edges = await store.edges(tenant, [id_of(tenant, "a")], [EdgeType.RELATION], Direction.OUT, 10)
    assert [(edge.verb, edge.life.confirmations) for edge in edges] == [("mirrors", 2), ("replaces", 1)]
    with pytest.raises(ValueError, match="needs a verb"):
        await store.write(tenant, run(said("a", " ", "b")))
    with pytest.raises(ValueError, match="no other type has one"):
        await store.write(tenant, run(dataclasses.replace(depends("a", "b"), verb="needs")))


async def test_only_named_things_co_occur(store: GraphStore, tenant: str) -> None:
    concept = NodeFact(Label.ENTITY, "backpressure", properties={"kind": EntityKind.CONCEPT})
    ends = Ref(Label.ENTITY, "backpressure"), Ref(Label.ENTITY, "Ada")
    together = EdgeFact(EdgeType.CO_OCCURS, *ends)
    with pytest.raises(ValueError, match="Only named things co-occur"):
        await store.write(tenant, run(person("Ada"), concept, together))
    await store.write(tenant, run(person("Ada"), concept))
    with pytest.raises(ValueError, match="Only named things co-occur"):
        await store.write(tenant, run(together))


async def test_an_entity_needs_a_kind(store: GraphStore, tenant: str) -> None:
    with pytest.raises(ValueError, match="needs a kind: person, place"):
        await store.write(tenant, run(NodeFact(Label.ENTITY, "Ada")))


async def test_a_fact_tells_the_chunks_it_was_read_in(store: GraphStore, tenant: str) -> None:
    node, edge = (dataclasses.replace(fact, chunks=("chunk-1",)) for fact in (service("a"), depends("a", "b")))
    await store.write(tenant, run(node, service("b"), edge))
    await store.write(tenant, run(dataclasses.replace(node, chunks=("chunk-2", "chunk-1")), edge, hour=1))
    id = id_of(tenant, "a")
    assert (await store.nodes(tenant, [id]))[id].chunks == ("chunk-1", "chunk-2")
    (kept,) = await store.edges(tenant, [id], [EdgeType.DEPENDS_ON], Direction.OUT, 10)
    assert kept.chunks == ("chunk-1",)


# Names ---------------------------------------------------------------------------------------------------------------


async def test_spellings_of_one_name_meet_and_longer_names_never_do(store: GraphStore, tenant: str) -> None:
    for spelling in ("payments-api", "PaymentsAPI", "payments_api"):
        await store.write(tenant, run(service(spelling)))
    await store.write(tenant, run(service("redis-cache"), service("redis-cluster-cache")))
    assert await names(store, tenant, View()) == ["payments-api", "redis-cache", "redis-cluster-cache"]


async def test_names_that_read_alike_stay_apart(store: GraphStore, tenant: str) -> None:
    alike = ["kafka-consumer-1", "kafka-consumer-2", "auth-service", "oauth-service"]
    await store.write(tenant, run(*map(service, alike)))
    assert await names(store, tenant, View()) == sorted(alike)


def repository(name: str, *urls: str) -> NodeFact:
    return dataclasses.replace(service(name), identifiers=urls)


async def test_a_shared_strong_identifier_joins_two_names(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(repository("payments-api", "https://git.example/pay")))
    await store.write(tenant, run(repository("pay-workload", "https://git.example/pay"), source="cluster", hour=1))
    (node,) = await store.all_nodes(tenant)
    assert (node.name, node.aliases) == ("payments-api", ("pay-workload",))
    assert node.identifiers == ("https://git.example/pay",)
    key = identifier_key("https://git.example/pay")
    assert [each.id for each in (await store.resolve(tenant, [key], [Label.SERVICE]))[key]] == [node.id]


async def test_a_repository_of_many_services_joins_none_of_them(store: GraphStore, tenant: str) -> None:
    url = "https://git.example/monorepo"
    for hour in (0, 1):
        await store.write(tenant, run(repository("cart", url), repository("search", url), hour=hour))
    await store.write(tenant, run(repository("billing", url), source="cluster", hour=2))
    assert await names(store, tenant, View()) == ["billing", "cart", "search"]


# Time ----------------------------------------------------------------------------------------------------------------


async def three_hours(store: GraphStore, tenant: str) -> None:
    """`a` needs `b` from hour 0 to 1 and again from hour 2; `b` itself is away in between; `c` comes at hour 2."""
    both = (service("a", summary="needle"), service("b", "beta", summary="needle"), depends("a", "b"))
    await store.write(tenant, run(*both, complete=True))
    await store.set_vectors(tenant, {id_of(tenant, "a"): [1, 0, 0, 0], id_of(tenant, "b"): [1, 0, 0, 0]})
    await store.write(tenant, run(service("a", summary="needle"), complete=True, hour=1))
    await store.write(tenant, run(*both, service("c", summary="needle"), complete=True, hour=2))


@pytest.mark.parametrize(
    ("hour", "expected"),
    [(-1, []), (0, ["a", "b"]), (0.9, ["a", "b"]), (1, ["a"]), (1.9, ["a"]), (2, ["a", "b", "c"])],
)
async def test_every_read_as_of_a_time_sees_what_held_then(
    store: GraphStore, tenant: str, hour: float, expected: list[str]
) -> None:
    await three_hours(store, tenant)
    view = at(hour)
    a, b = id_of(tenant, "a"), id_of(tenant, "b")
    assert await names(store, tenant, view) == expected
    listed = (await store.list_nodes(tenant, view=view)).nodes
    assert sorted(node.name for node in listed) == expected
    found = await store.nodes(tenant, [a, b, id_of(tenant, "c")], view)
    assert sorted(node.name for node in found.values()) == expected
    assert sorted(hit.node.name for hit in await store.search_text(tenant, "needle", 10, view=view)) == expected
    near = [hit.node.name for hit in await store.search_vectors(tenant, [1, 0, 0, 0], 10, view=view)]
    embedded = {"a", "b"} if hour < 2 else {"a"}  # b's vector ended with its first interval
    assert set(near) == embedded.intersection(expected)
    there = "b" in expected
    assert ("beta" in await store.resolve(tenant, ["beta"], [Label.SERVICE], view)) is there
    assert len(await store.edges(tenant, [a], [EdgeType.DEPENDS_ON], Direction.OUT, 10, view)) == there
    found, _ = await steps(store, tenant, StepsFrom([b], [EdgeType.DEPENDS_ON], Direction.IN, 10, view))
    assert [step.name for step in found] == (["a"] if there else [])
    page = await store.neighbours(tenant, a, [EdgeType.DEPENDS_ON], Direction.BOTH, view=view)
    assert [each.node.name for each in page.neighbours] == (["b"] if there else [])


async def test_the_history_of_a_fact_holds_all_its_intervals(store: GraphStore, tenant: str) -> None:
    await three_hours(store, tenant)
    history = await store.history(tenant, [id_of(tenant, "b")])
    intervals = [(node.life.valid_from, node.life.valid_to) for node in history.nodes]
    edges = [(edge.life.valid_from, edge.life.valid_to) for edge in history.edges]
    expected: list[tuple[datetime, datetime | None]] = [(NOON, NOON + HOUR), (NOON + 2 * HOUR, None)]
    assert sorted(intervals, key=str) == sorted(edges, key=str) == expected
    everything = await store.history(tenant, None)
    assert len(everything.nodes) == 4
    assert len(everything.edges) == 2
    assert await store.history(tenant + " other", [id_of(tenant, "b")]) == History()


async def test_a_time_without_a_zone_is_refused(store: GraphStore, tenant: str) -> None:
    with pytest.raises(ValueError, match="time zone"):
        await store.all_nodes(tenant, view=View(as_of=datetime(2026, 3, 1)))


# Scope ---------------------------------------------------------------------------------------------------------------


async def test_what_somebody_remembered_is_seen_only_by_who_asks_for_it(store: GraphStore, tenant: str) -> None:
    world = run(service("a", summary="needle"), service("b", summary="needle"), depends("a", "b"))
    await store.write(tenant, world)
    memory = run(service("vault", "safe", summary="needle"), depends("b", "a"), depends("b", "vault"), source="agent")
    await store.write(tenant, dataclasses.replace(memory, scope="agent one"))
    vault = node_id(tenant, Label.SERVICE, "vault", "agent one")
    await store.set_vectors(tenant, {vault: [1, 0, 0, 0], id_of(tenant, "a"): [1, 0, 0, 0]})
    b = id_of(tenant, "b")
    for view, seen in ((View(), {"a", "b"}), (AGENT, {"vault"}), (BOTH, {"a", "b", "vault"})):
        assert set(await names(store, tenant, view)) == seen
        assert {hit.node.name for hit in await store.search_text(tenant, "needle", 10, view=view)} == seen
        near = await store.search_vectors(tenant, [1, 0, 0, 0], 10, view=view)
        assert {hit.node.name for hit in near} == seen - {"b"}
        assert {node.name for node in (await store.list_nodes(tenant, view=view)).nodes} == seen
        assert bool(await store.resolve(tenant, ["safe"], [Label.SERVICE], view)) is ("vault" in seen)
        assert (vault in await store.nodes(tenant, [vault], view)) is ("vault" in seen)
    assert await store.edges(tenant, [b], [EdgeType.DEPENDS_ON], Direction.OUT, 10) == []
    assert len(await store.edges(tenant, [b], [EdgeType.DEPENDS_ON], Direction.OUT, 10, BOTH)) == 2
    found, _ = await steps(store, tenant, StepsFrom([b], [EdgeType.DEPENDS_ON], Direction.OUT, 10))
    assert found == []
    found, _ = await steps(store, tenant, StepsFrom([b], [EdgeType.DEPENDS_ON], Direction.OUT, 10, BOTH))
    assert sorted(step.name for step in found) == ["a", "vault"]
    assert (await store.neighbours(tenant, b, [EdgeType.DEPENDS_ON], Direction.OUT)).neighbours == ()
    assert await store.pairs(tenant, EdgeType.DEPENDS_ON) == [(id_of(tenant, "a"), b)]


async def test_a_complete_run_of_a_memory_leaves_the_world_alone(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a"), service("b"), depends("a", "b")))
    remembered = dataclasses.replace(run(depends("b", "a")), scope="agent one")
    await store.write(tenant, remembered)
    emptied = dataclasses.replace(run(complete=True, hour=1), scope="agent one")
    assert (await store.write(tenant, emptied)).closed == 1
    assert await names(store, tenant, View()) == ["a", "b"]
    assert len(await store.pairs(tenant, EdgeType.DEPENDS_ON)) == 1


# Rewriting -----------------------------------------------------------------------------------------------------------


async def test_a_denied_edge_stays_out_whoever_asserts_it(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a"), service("b"), depends("a", "b"), depends("b", "a")))
    (edge,) = await store.edges(tenant, [id_of(tenant, "a")], [EdgeType.DEPENDS_ON], Direction.OUT, 10)

    def without(history: History) -> Rewrite:
        kept = tuple(each for each in history.edges if each.id != edge.id)
        return Rewrite(dataclasses.replace(history, edges=kept), records=(Record("denial", edge.id, {}),))

    await store.rewrite(tenant, [edge.source], without)
    report = await store.write(tenant, run(depends("a", "b"), depends("b", "a"), source="traffic", hour=1))
    assert (report.added, report.confirmed, report.denied) == (0, 1, ("DEPENDS_ON a -> b",))
    assert await store.pairs(tenant, EdgeType.DEPENDS_ON) == [(edge.target, edge.source)]
    await store.rewrite(tenant, [], lambda _: Rewrite(History(), forget=(("denial", edge.id),)))
    assert (await store.write(tenant, run(depends("a", "b"), hour=2))).added == 1


async def test_a_rewrite_that_changes_nothing_leaves_everything_as_it_was(store: GraphStore, tenant: str) -> None:
    await three_hours(store, tenant)
    remembered = dataclasses.replace(run(depends("b", "a"), source="agent"), scope="agent one")
    await store.write(tenant, remembered)
    before = await store.history(tenant, None)
    ids = [id_of(tenant, "a"), id_of(tenant, "b")]
    vectors = (await store.history(tenant, ids)).vectors
    await store.rewrite(tenant, ids, Rewrite)
    assert await store.history(tenant, None) == before
    assert (await store.history(tenant, ids)).vectors == vectors
    assert [hit.node.name for hit in await store.search_vectors(tenant, [1, 0, 0, 0], 5)] == ["a"]
    assert (await store.search_text(tenant, "beta", 5))[0].node.name == "b"
    assert (await store.resolve(tenant, [name_key("beta")], [Label.SERVICE])).keys() == {"beta"}
    assert (await store.write(tenant, run(hour=3, complete=True))).closed >= 4


async def test_a_rewrite_that_is_refused_changes_nothing(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a")))

    def refuse(_: History) -> Rewrite:
        raise LookupError("no")

    with pytest.raises(LookupError):
        await store.rewrite(tenant, [id_of(tenant, "a")], refuse)
    assert await names(store, tenant, View()) == ["a"]


async def test_another_tenant_rewrites_and_walks_nothing_though_it_knows_the_ids(
    store: GraphStore, tenant: str
) -> None:
    await three_hours(store, tenant)
    before = await store.history(tenant, None)
    other = tenant + " other"
    ids = [node.id for node in before.nodes]
    seen: list[History] = []

    def nothing(history: History) -> Rewrite:
        seen.append(history)
        return Rewrite(History())

    await store.rewrite(other, ids, nothing)
    assert set(map(len, (seen[-1].nodes, seen[-1].edges))) == {0}
    assert await store.history(tenant, None) == before
    assert (await store.resolve(tenant, ["beta"], [Label.SERVICE])).keys() == {"beta"}
    assert (await store.neighbours(other, ids[0], list(EdgeType), Direction.BOTH)).neighbours == ()
    assert await store.pairs(other, EdgeType.DEPENDS_ON) == []
    for view in (View(), at(0)):
        assert await store.all_nodes(other, view=view) == []
        assert await store.nodes(other, ids, view) == {}
        assert await store.resolve(other, ["a", "beta"], [], view) == {}
        assert await store.edges(other, ids, list(EdgeType), Direction.BOTH, 10, view) == []
        assert await store.search_text(other, "needle", 10, view=view) == []
        assert await store.search_vectors(other, [1, 0, 0, 0], 10, view=view) == []
        assert (await steps(store, other, StepsFrom(ids, list(EdgeType), Direction.BOTH, 10, view)))[0] == []


async def test_records_are_kept_by_kind_and_tenant(store: GraphStore, tenant: str) -> None:
    records = (Record("proposal", "two", {"x": [1, "é"]}), Record("proposal", "one", {}), Record("merge", "one", {}))
    await store.rewrite(tenant, [], lambda _: Rewrite(History(), records))
    assert await store.records(tenant, "proposal") == [records[1], records[0]]
    assert await store.records(tenant + " other", "proposal") == []
    again = Record("proposal", "two", {"y": None})
    await store.rewrite(tenant, [], lambda _: Rewrite(History(), (again,), (("proposal", "one"),)))
    assert await store.records(tenant, "proposal") == [again]
    assert await store.records(tenant, "merge") == [records[2]]


async def test_computed_properties_are_set_without_confirming_anything(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a", tier="1")))
    id = id_of(tenant, "a")
    await store.annotate(tenant, {id: {"criticality": 0.25}, "service-unknown": {"criticality": 1.0}})
    await store.annotate(tenant + " other", {id: {"criticality": 0.5}})
    node = (await store.nodes(tenant, [id]))[id]
    assert (node.properties, node.life.confirmations) == ({"tier": "1", "criticality": 0.25}, 1)
    await store.write(tenant, run(service("a", tier="2"), hour=1))
    assert (await store.nodes(tenant, [id]))[id].properties == {"tier": "2", "criticality": 0.25}


# Lists ---------------------------------------------------------------------------------------------------------------


async def test_neighbours_come_page_by_page_though_others_are_written_between(store: GraphStore, tenant: str) -> None:
    names = [f"s{number:02}" for number in range(7)]
    await store.write(tenant, run(service("hub"), *map(service, names), *(depends(name, "hub") for name in names)))
    await store.write(tenant, run(depends("s05", "hub"), source="traffic", hour=1))
    hub = id_of(tenant, "hub")
    seen: list[str] = []
    cursor: str | None = None
    for number in range(4):
        page = await store.neighbours(tenant, hub, [EdgeType.DEPENDS_ON], Direction.IN, limit=3, cursor=cursor)
        seen += [each.node.name for each in page.neighbours]
        cursor = page.cursor
        await store.write(tenant, run(service(f"new{number}"), depends(f"new{number}", "hub"), hour=2))
        if not page.more:
            break
    assert [name for name in seen if not name.startswith("new")] == ["s05", *(n for n in names if n != "s05")]
    assert len(set(seen)) == len(seen)


async def test_a_cursor_of_other_neighbours_is_refused(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("hub"), service("a"), service("b"), depends("a", "hub"), depends("b", "hub")))
    hub = id_of(tenant, "hub")
    page = await store.neighbours(tenant, hub, [EdgeType.DEPENDS_ON], Direction.IN, limit=1)
    assert page.more
    for cursor in (page.cursor, "nonsense", "é"):
        with pytest.raises(ValueError, match="belongs to another list"):
            await store.neighbours(tenant, hub, [EdgeType.DEPENDS_ON], Direction.OUT, cursor=cursor)
    with pytest.raises(ValueError, match="belongs to another list"):
        await store.list_nodes(tenant, cursor=page.cursor)


async def test_a_hop_names_each_node_once_and_says_when_it_was_cut(store: GraphStore, tenant: str) -> None:
    pairs = [("a", "x"), ("b", "x"), ("b", "y"), ("a", "b")]
    await store.write(tenant, run(*map(service, "abxy"), *(depends(*pair) for pair in pairs)))
    a, b = id_of(tenant, "a"), id_of(tenant, "b")
    found, cut = await steps(store, tenant, StepsFrom([b, a], [EdgeType.DEPENDS_ON], Direction.OUT, 10))
    assert sorted((step.name, step.here) for step in found) == [("b", a), ("x", b), ("y", b)]
    assert {step.label for step in found} == {Label.SERVICE}
    assert not cut
    assert (await steps(store, tenant, StepsFrom([b, a], [EdgeType.DEPENDS_ON], Direction.OUT, 3)))[1]
    assert await steps(store, tenant, StepsFrom([b, a], [], Direction.BOTH, 10)) == ([], False)
    assert await steps(store, tenant + " other", StepsFrom([b, a], list(EdgeType), Direction.BOTH, 10)) == ([], False)


async def test_facts_of_any_unicode_and_length_are_kept(store: GraphStore, tenant: str) -> None:
    odd = ["платежи", "支付", "🔥" * 300, "a" * 10_000, "\u202eapi", "x\ud800y", "null\x00byte", "ﬁ-ligature"]
    facts = Facts("catalogue", NOON, tuple(NodeFact(Label.SERVICE, name) for name in odd))
    assert (await store.write(tenant, facts)).added == len(odd)
    assert (await store.write(tenant, dataclasses.replace(facts, seen_at=NOON + HOUR))).confirmed == len(odd)
    for name in odd:
        key = name_key(storable(name))
        assert len((await store.resolve(tenant, [key], [Label.SERVICE]))[key]) == 1
