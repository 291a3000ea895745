"""A graph that an earlier release wrote is opened by this one and is all there."""

import dataclasses
import gzip
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import neo4j
import pytest

from graphrag.model import Direction, EdgeFact, EdgeType, Facts, Label, NodeFact, Ref, View, node_id
from graphrag.open_store import open_store
from graphrag.store import GraphStore
from graphrag.traverse import blast_radius
from tests.contract.graphs import DIMENSIONS, NEO4J, NEO4J_IDS, NOON, id_of

RELEASES = Path(__file__).parent / "releases"
TENANT = "default"
MEMORY = View(scopes=("agent one",))


def _layout(name: str) -> str:
    return f"sqlite-{name.removesuffix('.db.gz')}"


SQLITE = ["layout-1.db.gz", "layout-2.db.gz", "layout-3.db.gz"]


@pytest.fixture(scope="module", params=[*SQLITE, *NEO4J], ids=[*map(_layout, SQLITE), *NEO4J_IDS])
async def older(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """The URL of a graph of an older layout, in a database that holds nothing else."""
    if request.param in SQLITE:
        yield f"sqlite:///{_unpacked(request.param, tmp_path_factory.mktemp('release'))}"
        return
    url = request.getfixturevalue(request.param)
    _empty(url)
    _load(url, json.loads((RELEASES / "layout-1.neo4j.json").read_text(encoding="utf-8")))
    yield url


def _unpacked(name: str, folder: Path) -> Path:
    path = folder / "graph.db"
    path.write_bytes(gzip.decompress((RELEASES / name).read_bytes()))
    return path


def _empty(url: str) -> None:
    """Takes away all that was ever written, the constraints and indexes too."""
    with neo4j.GraphDatabase.driver(url.removesuffix("/neo4j")) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n")
        for record in driver.execute_query("SHOW CONSTRAINTS YIELD name").records:
            driver.execute_query(f"DROP CONSTRAINT `{record['name']}`")
        for record in driver.execute_query("SHOW INDEXES YIELD name, type WHERE type <> 'LOOKUP'").records:
            driver.execute_query(f"DROP INDEX `{record['name']}`")


def _load(url: str, graph: dict[str, Any]) -> None:
    with neo4j.GraphDatabase.driver(url.removesuffix("/neo4j")) as driver:
        ids: list[str] = []
        for node in graph["nodes"]:
            properties = {key: _value(value) for key, value in node["properties"].items()}
            query = "CREATE (n:$($labels)) SET n = $properties RETURN elementId(n) AS id"
            records = driver.execute_query(query, labels=node["labels"], properties=properties).records
            ids.append(records[0]["id"])
        for edge in graph["relations"]:
            driver.execute_query(
                """MATCH (a) WHERE elementId(a) = $a MATCH (b) WHERE elementId(b) = $b
                CREATE (a)-[r:$($type)]->(b) SET r = $properties""",
                a=ids[edge["source"]],
                b=ids[edge["target"]],
                type=edge["type"],
                properties=edge["properties"],
            )


def _value(value: Any) -> Any:
    return bytes.fromhex(value["bytes"]) if isinstance(value, dict) else value


@pytest.fixture
async def store(older: str) -> AsyncIterator[GraphStore]:
    opened = open_store(older, dimensions=DIMENSIONS)
    await opened.open()
    yield opened
    await opened.close()


def depends(source: str, target: str) -> EdgeFact:
    return EdgeFact(EdgeType.DEPENDS_ON, Ref(Label.SERVICE, source), Ref(Label.SERVICE, target))


async def test_its_facts_are_all_there(store: GraphStore) -> None:
    nodes = {node.name: node for node in await store.all_nodes(TENANT)}
    assert sorted(nodes) == [
        "Checkout is slow",
        "Ledger was down",
        "checkout-api",
        "ledger",
        "payments-api",
        "shop",
    ]
    checkout = nodes["checkout-api"]
    assert checkout.aliases == ("checkout", "shop checkout")
    assert checkout.properties["tags"] == ("go", "public")
    assert (checkout.scope, checkout.life.confirmations, checkout.life.valid_from) == ("world", 4, NOON)
    assert [node.name for node in await store.all_nodes("other")] == ["checkout-api"]
    edges = await store.edges(TENANT, [checkout.id], list(EdgeType), Direction.OUT, 10)
    assert {edge.type: edge.life.confirmations for edge in edges} == {
        EdgeType.DEPENDS_ON: 5,
        EdgeType.OWNED_BY: 4,
        EdgeType.HAS_RUNBOOK: 4,
    }
    (needs,) = [edge for edge in edges if edge.type is EdgeType.DEPENDS_ON]
    assert (needs.properties, needs.summary) == ({"protocol": "grpc"}, "checkout-api calls payments-api")
    assert needs.life.sources == ("catalogue", "traffic")
    reach = await blast_radius(store, TENANT, id_of(TENANT, "ledger"))
    assert [member.path for member in reach.members] == [
        ("ledger", "payments-api"),
        ("ledger", "payments-api", "checkout-api"),
    ]


async def test_it_is_searched_by_name_text_and_vector(store: GraphStore) -> None:
    found = await store.resolve(TENANT, ["shopcheckout", "payments"], [Label.SERVICE])
    assert {key: [node.name for node in nodes] for key, nodes in found.items()} == {
        "shopcheckout": ["checkout-api"],
        "payments": ["payments-api"],
    }
    assert (await store.search_text(TENANT, "keeps accounts", 1))[0].node.name == "ledger"
    assert (await store.search_vectors(TENANT, [0, 1, 0, 0], 1))[0].node.name == "payments-api"


async def test_its_past_is_read_as_of_a_time(store: GraphStore) -> None:
    then = View(as_of=NOON + timedelta(hours=1))
    assert [node.name for node in (await store.list_nodes(TENANT, query="cart", view=then)).nodes] == ["legacy-cart"]
    assert (await store.list_nodes(TENANT, query="cart")).nodes == ()
    assert (await store.search_text(TENANT, "gone by now", 1, view=then))[0].node.name == "legacy-cart"
    assert [node.name for node in (await store.resolve(TENANT, ["cart"], [Label.SERVICE], then))["cart"]] == [
        "legacy-cart"
    ]
    reach = await blast_radius(store, TENANT, id_of(TENANT, "ledger"), view=then)
    assert [member.name for member in reach.members] == ["legacy-cart", "payments-api", "checkout-api"]
    gap = View(as_of=NOON + timedelta(hours=3.5))
    assert (await blast_radius(store, TENANT, id_of(TENANT, "ledger"), view=gap)).members == ()
    history = await store.history(TENANT, [id_of(TENANT, "ledger")])
    closed = [edge for edge in history.edges if edge.life.valid_to is not None]
    assert sorted(edge.life.valid_to for edge in closed if edge.life.valid_to) == [
        NOON + timedelta(hours=hour) for hour in (2, 3, 3)
    ]


@pytest.fixture(params=SQLITE[1:], ids=_layout)
async def remembering(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[GraphStore]:
    opened = open_store(f"sqlite:///{_unpacked(request.param, tmp_path)}", dimensions=DIMENSIONS)
    await opened.open()
    yield opened
    await opened.close()


async def test_what_was_remembered_is_as_it_was(remembering: GraphStore) -> None:
    store, vault = remembering, node_id(TENANT, Label.ENTITY, "vault", "agent one")
    node = (await store.nodes(TENANT, [vault], MEMORY))[vault]
    assert (node.aliases, node.chunks) == (("the vault",), ("chunk-1",))
    assert node.identifiers == ("https://git.example/vault",)
    assert node.properties == {"kind": "system", "ports": ("80", "443")}
    assert (node.life.confirmations, node.life.confidence, node.life.sources) == (2, 0.5, ("agent",))
    (knows,) = await store.edges(TENANT, [vault], [EdgeType.RELATION], Direction.IN, 10, MEMORY)
    assert (knows.verb, knows.summary, knows.properties) == ("asks", "asks it at the start", {"often": True})
    assert (knows.chunks, knows.life.confidence, knows.scope) == (("chunk-1", "chunk-2"), 0.25, "agent one")
    then = dataclasses.replace(MEMORY, as_of=NOON + timedelta(hours=1))
    assert {each.name for each in await store.all_nodes(TENANT, view=then)} == {"vault", "attic"}
    (within,) = await store.edges(TENANT, [vault], [EdgeType.RELATION], Direction.OUT, 10, then)
    assert (within.verb, within.life.valid_to) == ("is in", NOON + timedelta(hours=2))


async def test_its_sources_go_on_where_they_were(store: GraphStore) -> None:
    facts = Facts("traffic", NOON + timedelta(hours=9), edges=(depends("checkout", "payments"),), complete=True)
    report = await store.write(TENANT, facts)
    assert (report.added, report.confirmed, report.closed) == (0, 1, 0)
    nodes = tuple(NodeFact(Label.SERVICE, name) for name in ("checkout-api", "payments-api", "ledger"))
    again = Facts("catalogue", NOON + timedelta(hours=9), nodes, (depends("payments", "ledger"),), complete=True)
    report = await store.write(TENANT, again)
    # The team, the runbook and the incident go, and with them OWNED_BY, HAS_RUNBOOK and AFFECTED.
    assert (report.added, report.confirmed, report.closed) == (0, 4, 6)
    (node,) = (await store.resolve(TENANT, ["checkout"], [Label.SERVICE]))["checkout"]
    assert node.life.valid_from == NOON
