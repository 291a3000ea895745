"""One suite for every graph store: what `GraphStore` promises, on SQLite and on two releases of Neo4j."""

import asyncio
import dataclasses
from datetime import timedelta

import pytest

from graphrag.errors import GraphMisconfigured
from graphrag.model import Direction, EdgeFact, EdgeType, Label, Node, NodeFact, Ref
from graphrag.open_store import open_store
from graphrag.store import GraphStore
from tests.contract.graphs import DIMENSIONS, NOON, depends, id_of, run, service


async def by_name(store: GraphStore, tenant: str) -> dict[str, Node]:
    return {node.name: node for node in await store.all_nodes(tenant)}


async def edges_out(store: GraphStore, tenant: str, name: str) -> list[str]:
    nodes = {node.id: node.name for node in await store.all_nodes(tenant)}
    found = await store.edges(tenant, [id_of(tenant, name)], list(EdgeType), Direction.OUT, 100)
    return [nodes[edge.target] for edge in found]


async def test_a_written_node_comes_back_whole(store: GraphStore, tenant: str) -> None:
    fact = NodeFact(
        Label.SERVICE,
        "Payments-API",
        "Takes money.",
        ("pay", "PaymentsAPI"),
        {
            "tier": 1,
            "load": 0.5,
            "critical": True,
            "tags": ("a", "b"),
            "none": (),
            "id": "x",
            "id_": "y",
            "text": "t",
            "name": "n",
            "type": "svc",
            "label": "l",
            "a.b/c `d`": "odd",
        },
        confidence=0.75,
    )
    report = await store.write(tenant, run(fact))
    assert (report.added, report.confirmed, report.closed, report.dangling) == (1, 0, 0, ())
    id = id_of(tenant, "payments_api")
    node = (await store.nodes(tenant, [id, "nothing"]))[id]
    assert (node.id, node.tenant, node.label, node.name) == (id, tenant, Label.SERVICE, "Payments-API")
    assert (node.summary, node.aliases, node.properties) == ("Takes money.", ("pay",), fact.properties)
    assert (node.life.valid_from, node.life.first_seen, node.life.last_seen) == (NOON, NOON, NOON)
    assert (node.life.valid_to, node.life.confirmations, node.life.sources) == (None, 1, ("catalogue",))
    assert node.life.confidence == 0.75


async def test_a_written_edge_comes_back_whole(store: GraphStore, tenant: str) -> None:
    fact = dataclasses.replace(depends("a", "b"), summary="calls", properties={"type": "grpc", "source": "s"})
    await store.write(tenant, run(service("a"), service("b"), fact))
    (edge,) = await store.edges(tenant, [id_of(tenant, "a")], [EdgeType.DEPENDS_ON], Direction.OUT, 10)
    assert (edge.source, edge.target, edge.type) == (id_of(tenant, "a"), id_of(tenant, "b"), EdgeType.DEPENDS_ON)
    assert (edge.summary, edge.properties, edge.tenant) == ("calls", {"type": "grpc", "source": "s"}, tenant)
    assert (edge.life.valid_from, edge.life.confirmations, edge.life.sources) == (NOON, 1, ("catalogue",))


async def test_seeing_a_fact_again_confirms_and_updates_it(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a", summary="old", x="1", y="1"), service("b"), depends("a", "b")))
    again = run(service("A", "other", x="2"), depends("a", "b"), source="traffic", hour=2)
    report = await store.write(tenant, again)
    assert (report.added, report.confirmed, report.closed) == (0, 2, 0)
    node = (await by_name(store, tenant))["a"]
    assert (node.summary, node.properties, node.aliases) == ("old", {"x": "2", "y": "1"}, ("other",))
    assert (node.life.confirmations, node.life.sources) == (2, ("catalogue", "traffic"))
    assert (node.life.first_seen, node.life.last_seen) == (NOON, NOON + timedelta(hours=2))
    (edge,) = await store.edges(tenant, [node.id], list(EdgeType), Direction.OUT, 10)
    assert (edge.life.confirmations, edge.life.sources) == (2, ("catalogue", "traffic"))


async def test_naming_a_fact_twice_in_one_run_counts_once(store: GraphStore, tenant: str) -> None:
    report = await store.write(
        tenant, run(service("a"), service("A"), service("b"), depends("a", "b"), depends("a", "b"))
    )
    assert (report.added, report.confirmed) == (3, 0)
    assert (await by_name(store, tenant))["a"].life.confirmations == 1


async def test_a_new_name_of_a_known_entity_becomes_an_alias(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("payments-api", "pay")))
    await store.write(tenant, run(service("Payment Service", "PAY", "billing"), depends("billing", "nobody")))
    (node,) = await store.all_nodes(tenant)
    assert (node.name, node.aliases) == ("payments-api", ("pay", "Payment Service", "billing"))
    found = await store.resolve(tenant, ["pay", "paymentservice", "billing", "none"], [Label.SERVICE])
    assert {key: [n.id for n in nodes] for key, nodes in found.items()} == {
        "pay": [node.id],
        "paymentservice": [node.id],
        "billing": [node.id],
    }
    assert await store.resolve(tenant, ["pay"], [Label.TEAM]) == {}


async def test_an_alias_never_merges_two_nodes(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a"), service("b")))
    await store.write(tenant, run(service("a", "b", "c")))
    await store.write(tenant, run(service("new", "a", "b")))
    nodes = await by_name(store, tenant)
    assert {name: node.aliases for name, node in nodes.items()} == {"a": ("c",), "b": (), "new": ()}


async def test_the_same_name_under_two_labels_is_two_things(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("payments"), NodeFact(Label.TEAM, "payments")))
    found = await store.resolve(tenant, ["payments"], [])
    assert sorted(node.label for node in found["payments"]) == [Label.SERVICE, Label.TEAM]


async def test_an_edge_to_nobody_is_reported_and_not_made(store: GraphStore, tenant: str) -> None:
    report = await store.write(tenant, run(service("a"), depends("a", "ghost"), depends("a", "A")))
    assert report.dangling == ("DEPENDS_ON a -> ghost", "DEPENDS_ON a -> A (itself)")
    assert len(await store.all_nodes(tenant)) == 1
    assert await edges_out(store, tenant, "a") == []


async def test_a_complete_run_closes_what_its_source_alone_no_longer_asserts(store: GraphStore, tenant: str) -> None:
    first = run(
        service("a", "alpha"), service("b"), service("c"), depends("a", "b"), depends("a", "c"), depends("b", "c")
    )
    await store.write(tenant, first)
    await store.write(tenant, run(service("b"), depends("a", "c"), source="traffic", hour=1))
    report = await store.write(tenant, run(service("a"), service("c"), hour=2, complete=True))
    # b and a->c stand on traffic too; a->b and b->c stood on the catalogue alone.
    assert (report.added, report.confirmed, report.closed) == (0, 2, 2)
    assert sorted(await by_name(store, tenant)) == ["a", "b", "c"]
    assert (await by_name(store, tenant))["b"].life.sources == ("traffic",)
    assert await edges_out(store, tenant, "a") == ["c"]
    assert await edges_out(store, tenant, "b") == []


async def test_a_closed_node_takes_its_edges_names_and_vector_with_it(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a", "alpha"), source="other"))
    await store.write(tenant, run(service("b", "beta")))
    await store.write(tenant, run(depends("a", "b"), source="other"))
    await store.set_vectors(tenant, {id_of(tenant, "b"): [1, 0, 0, 0]})
    report = await store.write(tenant, run(depends("a", "b"), complete=True, hour=1))
    assert (report.closed, report.dangling) == (2, ("DEPENDS_ON a -> b",))
    assert list(await by_name(store, tenant)) == ["a"]
    assert await store.resolve(tenant, ["b", "beta"], [Label.SERVICE]) == {}
    assert await store.edges(tenant, [id_of(tenant, "a")], list(EdgeType), Direction.BOTH, 10) == []
    assert await store.search_vectors(tenant, [1, 0, 0, 0], 5) == []
    assert await store.search_text(tenant, "b beta", 5) == []
    assert (await store.list_nodes(tenant, query="b")).nodes == ()


async def test_a_fact_seen_after_it_was_closed_begins_a_new_interval(store: GraphStore, tenant: str) -> None:
    facts = (service("a"), service("b"), depends("a", "b"))
    await store.write(tenant, run(*facts))
    assert (await store.write(tenant, run(hour=1, complete=True))).closed == 3
    assert await store.all_nodes(tenant) == []
    assert (await store.write(tenant, run(*facts, hour=2))).added == 3
    (edge,) = await store.edges(tenant, [id_of(tenant, "a")], list(EdgeType), Direction.OUT, 10)
    for life in (edge.life, (await by_name(store, tenant))["a"].life):
        assert (life.valid_from, life.confirmations) == (NOON + timedelta(hours=2), 1)
    assert (await store.write(tenant, run(hour=3, complete=True))).closed == 3


async def test_a_run_that_is_not_complete_closes_nothing(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a")))
    assert (await store.write(tenant, run(hour=1))).closed == 0
    assert list(await by_name(store, tenant)) == ["a"]


async def test_a_write_that_fails_leaves_nothing(store: GraphStore, tenant: str) -> None:
    bad = dataclasses.replace(depends("a", "b"), properties={"": "no name"})
    with pytest.raises(ValueError, match="name"):
        await store.write(tenant, run(service("a"), service("b"), bad))
    assert await store.all_nodes(tenant) == []


async def test_concurrent_writers_of_one_new_node_end_with_one_node(graph_url: str, tenant: str) -> None:
    stores = [open_store(graph_url, dimensions=DIMENSIONS, refit=True) for _ in range(3)]
    await stores[0].open()
    await asyncio.gather(*(each.open() for each in stores[1:]))
    reports = await asyncio.gather(
        *(stores[n % 3].write(tenant, run(service("x", f"alias{n}"), source=f"s{n}")) for n in range(12))
    )
    assert sorted(report.added for report in reports) == [0] * 11 + [1]
    (node,) = await stores[0].all_nodes(tenant)
    assert len(node.life.sources) == len(node.aliases) == 12
    await asyncio.gather(*(each.close() for each in stores))


async def test_a_tenant_sees_and_changes_nothing_of_another(store: GraphStore, tenant: str) -> None:
    other = tenant + " other"
    await store.write(tenant, run(service("a", summary="needle"), service("b"), depends("a", "b")))
    await store.write(other, run(service("z")))
    id = id_of(tenant, "a")
    await store.set_vectors(tenant, {id: [1, 0, 0, 0]})
    await store.set_vectors(other, {id: [0, 1, 0, 0]})
    assert await store.nodes(other, [id]) == {}
    assert await store.resolve(other, ["a"], [Label.SERVICE]) == {}
    assert await store.edges(other, [id], list(EdgeType), Direction.BOTH, 10) == []
    assert await store.search_text(other, "needle", 10) == []
    assert await store.search_vectors(other, [1, 0, 0, 0], 10) == []
    assert [node.name for node in (await store.list_nodes(other)).nodes] == ["z"]
    assert (await store.write(other, run(hour=1, complete=True))).closed == 1
    (hit,) = await store.search_vectors(tenant, [1, 0, 0, 0], 10)
    assert hit.score == pytest.approx(1)
    assert len(await store.all_nodes(tenant)) == 2


async def test_vectors_rank_by_cosine(store: GraphStore, tenant: str) -> None:
    team = NodeFact(Label.TEAM, "near-team")
    await store.write(tenant, run(service("near"), service("far"), service("opposite"), service("zero"), team))
    await store.set_vectors(
        tenant,
        {
            id_of(tenant, "near"): [2, 0.1, 0, 0],
            id_of(tenant, "far"): [0, 3, 0, 0],
            id_of(tenant, "opposite"): [-1, 0, 0, 0],
            id_of(tenant, "zero"): [0, 0, 0, 0],
            id_of(tenant, "near-team", Label.TEAM): [1, 0, 0, 0],
            "service-unknown": [1, 0, 0, 0],
        },
    )
    hits = await store.search_vectors(tenant, [1, 0, 0, 0], 10, [Label.SERVICE])
    assert [hit.node.name for hit in hits] == ["near", "far", "opposite"]
    assert [hit.score for hit in hits] == pytest.approx([0.99875, 0, -1], abs=0.01)
    assert [hit.node.name for hit in await store.search_vectors(tenant, [1, 0, 0, 0], 1)] == ["near-team"]
    assert await store.search_vectors(tenant, [0, 0, 0, 0], 10) == []


async def test_a_small_tenant_is_found_among_many_vectors_of_another(store: GraphStore, tenant: str) -> None:
    crowd = tenant + " crowd"
    names = [f"s{n}" for n in range(200)]
    await store.write(crowd, run(*map(service, names)))
    await store.set_vectors(crowd, {id_of(crowd, name): [1, 0, 0, 0] for name in names})
    await store.write(tenant, run(service("lonely")))
    await store.set_vectors(tenant, {id_of(tenant, "lonely"): [0, 0, 0, 1]})
    assert [hit.node.name for hit in await store.search_vectors(tenant, [1, 0, 0, 0], 3)] == ["lonely"]


async def test_another_tenants_many_texts_do_not_crowd_out_ones_own(store: GraphStore, tenant: str) -> None:
    crowd = tenant + " crowd"
    await store.write(crowd, run(*(service(f"queue-{number}", summary="the queue grows") for number in range(300))))
    await store.write(tenant, run(service("mine", summary="the queue grows, or shrinks now and then")))
    assert [hit.node.name for hit in await store.search_text(tenant, "queue grows", 5)] == ["mine"]


async def test_many_passages_do_not_crowd_out_the_one_service_of_a_name(store: GraphStore, tenant: str) -> None:
    parts = [NodeFact(Label.CHUNK, f"part {number}", "the tarpit grows") for number in range(300)]
    await store.write(tenant, run(*parts, service("tarpit", summary="takes what is slow")))
    found = await store.search_text(tenant, "the tarpit grows", 1, [Label.SERVICE])
    assert [hit.node.name for hit in found] == ["tarpit"]


async def test_a_vector_of_another_dimension_is_refused_with_the_remedy(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("a")))
    with pytest.raises(GraphMisconfigured, match="incident-graph ingest --refit"):
        await store.set_vectors(tenant, {id_of(tenant, "a"): [1, 0]})
    with pytest.raises(GraphMisconfigured, match="incident-graph ingest --refit"):
        await store.search_vectors(tenant, [1, 0, 0, 0, 0], 3)


async def test_a_store_of_another_dimension_opens_only_to_refit(store: GraphStore, graph_url: str, tenant: str) -> None:
    await store.write(tenant, run(service("a")))
    await store.set_vectors(tenant, {id_of(tenant, "a"): [1, 0, 0, 0]})
    with pytest.raises(GraphMisconfigured, match="incident-graph ingest --refit"):
        await open_store(graph_url, dimensions=3).open()
    refitted = open_store(graph_url, dimensions=3, refit=True)
    await refitted.open()
    assert await refitted.search_vectors(tenant, [1, 0, 0], 3) == []
    await refitted.set_vectors(tenant, {id_of(tenant, "a"): [1, 0, 0]})
    assert len(await refitted.search_vectors(tenant, [1, 0, 0], 3)) == 1
    await refitted.close()
    again = open_store(graph_url, dimensions=DIMENSIONS, refit=True)
    await again.open()
    await again.close()


async def test_another_process_sees_new_vectors(store: GraphStore, graph_url: str, tenant: str) -> None:
    await store.write(tenant, run(service("a"), service("b")))
    await store.set_vectors(tenant, {id_of(tenant, "a"): [1, 0, 0, 0]})
    second = open_store(graph_url, dimensions=DIMENSIONS)
    await second.open()
    assert len(await second.search_vectors(tenant, [1, 0, 0, 0], 3)) == 1
    await store.set_vectors(tenant, {id_of(tenant, "b"): [1, 0, 0, 0]})
    assert len(await second.search_vectors(tenant, [1, 0, 0, 0], 3)) == 2
    await second.close()


@pytest.mark.parametrize(
    "text", ["payments", "PaymentsAPI", "payments-api!", "the payments_api is (down", "zahlung", "paymentsapi"]
)
async def test_text_finds_names_aliases_and_summaries(store: GraphStore, tenant: str, text: str) -> None:
    await store.write(
        tenant, run(service("payments-api", "Zahlung"), service("ledger", summary="Books what was sold."))
    )
    hits = await store.search_text(tenant, text, 5)
    assert [hit.node.name for hit in hits] == ["payments-api"]
    assert hits[0].score > 0
    assert [hit.node.name for hit in await store.search_text(tenant, "sold", 5)] == ["ledger"]
    assert await store.search_text(tenant, text, 5, [Label.TEAM]) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        '"',
        "AND OR NOT",
        "a:b^2~ [x TO *] {y}",
        "NEAR(a, b) -c +d",
        "\\",
        "\x00\ud800",
        "x" * 50_000,
        "' OR 1=1",
    ],
)
async def test_no_text_is_a_query_language(store: GraphStore, tenant: str, text: str) -> None:
    await store.write(tenant, run(service("zebra")))
    assert await store.search_text(tenant, text, 5) == []
    assert (await store.list_nodes(tenant, query=text or "nothing")).nodes == () or not text.strip()
    assert await store.resolve(tenant, [text], []) == {}
    assert await store.nodes(tenant, [text]) == {}


@pytest.mark.parametrize("name", ["a'b\"c`d", "x" * 20_000, "名前", "a\x00b", "e\ud800", "-", "🔥 fire"])
async def test_any_name_can_be_kept_and_found(store: GraphStore, tenant: str, name: str) -> None:
    await store.write(tenant, run(service(name), service("plain"), depends("plain", name)))
    assert len(await edges_out(store, tenant, "plain")) == 1
    assert (await store.write(tenant, run(service(name), hour=1))).confirmed == 1


async def test_edges_follow_the_direction_asked(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(*map(service, "abc"), depends("a", "b"), depends("b", "c")))
    b, a = id_of(tenant, "b"), id_of(tenant, "a")

    async def ends(direction: Direction, *ids: str) -> list[tuple[str, str]]:
        names = {node.id: node.name for node in await store.all_nodes(tenant)}
        found = await store.edges(tenant, ids, [EdgeType.DEPENDS_ON], direction, 10)
        return sorted((names[edge.source], names[edge.target]) for edge in found)

    assert await ends(Direction.OUT, b) == [("b", "c")]
    assert await ends(Direction.IN, b) == [("a", "b")]
    assert await ends(Direction.BOTH, b) == await ends(Direction.BOTH, a, b) == [("a", "b"), ("b", "c")]
    assert await ends(Direction.OUT) == []
    assert await store.edges(tenant, [b], [EdgeType.OWNED_BY], Direction.BOTH, 10) == []
    assert await store.edges(tenant, [b], [], Direction.BOTH, 10) == []


async def test_edges_are_capped_with_the_most_confirmed_first(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(*map(service, "abc"), depends("a", "b"), depends("a", "c")))
    await store.write(tenant, run(depends("a", "c"), hour=1))
    (edge,) = await store.edges(tenant, [id_of(tenant, "a")], [EdgeType.DEPENDS_ON], Direction.OUT, 1)
    assert edge.target == id_of(tenant, "c")


async def test_related_incidents_are_stored_once_and_read_both_ways(store: GraphStore, tenant: str) -> None:
    one, two = (Ref(Label.INCIDENT, name) for name in ("one", "two"))
    nodes = [NodeFact(Label.INCIDENT, "one"), NodeFact(Label.INCIDENT, "two")]
    related = [EdgeFact(EdgeType.RELATED_TO, one, two), EdgeFact(EdgeType.RELATED_TO, two, one)]
    assert (await store.write(tenant, run(*nodes, related[0]))).added == 3
    assert (await store.write(tenant, run(related[1], hour=1))).confirmed == 1
    for name in ("one", "two"):
        for direction in Direction:
            ids = [id_of(tenant, name, Label.INCIDENT)]
            assert len(await store.edges(tenant, ids, [EdgeType.RELATED_TO], direction, 10)) == 1


async def test_pages_list_the_most_confirmed_first_and_lose_nothing(store: GraphStore, tenant: str) -> None:
    names = [f"svc {n:02} \N{SNOWMAN}" for n in range(11)]
    await store.write(tenant, run(*map(service, names), NodeFact(Label.TEAM, "svc team")))
    await store.write(tenant, run(service(names[7]), hour=1))
    seen: list[str] = []
    cursor = None
    while True:
        page = await store.list_nodes(tenant, [Label.SERVICE], "SVC", limit=3, cursor=cursor)
        seen += [node.name for node in page.nodes]
        cursor = page.cursor
        if cursor is None:
            break
    assert seen == [names[7], *names[:7], *names[8:]]
    assert (await store.list_nodes(tenant, limit=12)).more is False
    assert [node.name for node in (await store.list_nodes(tenant, query="svc-team")).nodes] == ["svc team"]


@pytest.mark.parametrize("cursor", ["x", "!!", "bnVsbA==", "é"])
async def test_a_cursor_from_elsewhere_is_refused(store: GraphStore, tenant: str, cursor: str) -> None:
    await store.write(tenant, run(service("a"), service("b")))
    with pytest.raises(ValueError, match="cursor"):
        await store.list_nodes(tenant, cursor=cursor)
    mine = (await store.list_nodes(tenant, limit=1)).cursor
    with pytest.raises(ValueError, match="cursor"):
        await store.list_nodes(tenant, query="a", cursor=mine)


async def test_blobs_are_kept_beside_the_graph(store: GraphStore, tenant: str) -> None:
    key = f"weights {tenant}"
    assert await store.get_meta(key) is None
    await store.put_meta(key, b"\x00one")
    await store.put_meta(key, b"\x00two")
    assert await store.get_meta(key) == b"\x00two"


async def test_opening_and_closing_twice_is_harmless(graph_url: str, tenant: str) -> None:
    twice = open_store(graph_url, dimensions=DIMENSIONS, refit=True)
    await twice.open()
    await twice.open()
    await twice.close()
    await twice.close()
    await twice.open()
    assert await twice.all_nodes(tenant) == []
    await twice.close()
