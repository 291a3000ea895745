"""LlamaIndex over any of our stores: one tenant of it behind a face that stock indexes and retrievers take."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
from llama_index.core import PropertyGraphIndex
from llama_index.core.graph_stores.types import ChunkNode, EntityNode, LabelledNode, Relation, Triplet
from llama_index.core.indices.property_graph import ImplicitPathExtractor, VectorContextRetriever
from llama_index.core.vector_stores.types import (
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)

from graphrag.embed import HashedNgrams
from graphrag.llama_embedding import HashedEmbedding
from graphrag.llama_store import GraphStoreFace, open_face
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Properties, Ref, node_id
from graphrag.open_store import open_store

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIMENSIONS = 64
EMBEDDING = HashedEmbedding(HashedNgrams(DIMENSIONS))

Result = TypeVar("Result")


@pytest.fixture(scope="module", params=["sqlite", "neo4j_current_url"])
def graph_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path_factory.mktemp('face')}/graph.db"
    return request.getfixturevalue(request.param)


@pytest.fixture
def tenant(graph_url: str) -> str:
    """A tenant where `checkout` needs `payments`, which needs `ledger` and is owned by a team of its name, and where
    `checkout` once needed `legacy`."""
    name = f"tenant {uuid.uuid4().hex}"
    asyncio.run(_ingest(graph_url, name))
    return name


async def _ingest(url: str, tenant: str) -> None:
    checkout, payments, ledger, legacy = (
        Ref(Label.SERVICE, each) for each in ("checkout", "payments", "ledger", "legacy")
    )
    nodes = (
        NodeFact(Label.SERVICE, "checkout", "Takes orders.", ("shop",), {"tier": "1"}),
        NodeFact(Label.SERVICE, "payments", "Takes money."),
        NodeFact(Label.SERVICE, "ledger", "Keeps the books."),
        NodeFact(Label.TEAM, "payments"),
    )
    edges = (
        EdgeFact(EdgeType.DEPENDS_ON, checkout, payments),
        EdgeFact(EdgeType.DEPENDS_ON, payments, ledger),
        EdgeFact(EdgeType.OWNED_BY, payments, Ref(Label.TEAM, "payments")),
    )
    gone = EdgeFact(EdgeType.DEPENDS_ON, checkout, legacy)
    store = open_store(url, dimensions=DIMENSIONS, refit=True)
    await store.open()
    try:
        past = (*nodes, NodeFact(Label.SERVICE, "legacy", "Took orders."))
        await store.write(tenant, Facts("graph", NOON, past, (*edges, gone)))
        await store.set_vectors(
            tenant,
            {
                node_id(tenant, fact.label, fact.name): EMBEDDING.get_text_embedding(f"{fact.name} {fact.summary}")
                for fact in past
            },
        )
        await store.write(tenant, Facts("graph", NOON + timedelta(hours=1), nodes, edges, complete=True))
    finally:
        await store.close()


async def _stored_properties(url: str, tenant: str, id: str) -> Properties:
    store = open_store(url, dimensions=DIMENSIONS)
    await store.open()
    try:
        return (await store.nodes(tenant, [id]))[id].properties
    finally:
        await store.close()


@pytest.fixture
def face(graph_url: str, tenant: str) -> Iterator[GraphStoreFace]:
    with open_face(graph_url, tenant, dimensions=DIMENSIONS) as opened:
        yield opened


def _names(nodes: list[LabelledNode]) -> list[str]:
    return sorted(f"{node.label} {node.id}" for node in nodes)


def _sentences(triplets: list[Triplet]) -> list[str]:
    return sorted(f"{source.id} {relation.label} {target.id}" for source, relation, target in triplets)


def _vector(text: str, **asked: Any) -> VectorStoreQuery:
    return VectorStoreQuery(query_embedding=EMBEDDING.get_query_embedding(text), **asked)


async def _turns_meanwhile(work: Callable[[], Awaitable[Result]]) -> tuple[Result, int]:
    """What the work gives, and how often another coroutine had its turn on this loop before it was done."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    try:
        return await work(), turns
    finally:
        counting.cancel()


def test_a_stock_index_answers_from_our_current_facts(face: GraphStoreFace) -> None:
    extractors = [ImplicitPathExtractor()]
    index = PropertyGraphIndex.from_existing(face, embed_model=EMBEDDING, kg_extractors=extractors)
    stock = VectorContextRetriever(face, embed_model=EMBEDDING, similarity_top_k=1, path_depth=2)
    found = index.as_retriever(sub_retrievers=[stock]).retrieve("checkout takes orders")
    assert found[0].get_content() == "checkout -> DEPENDS_ON -> payments"
    assert {each.get_content() for each in found} == {
        "checkout -> DEPENDS_ON -> payments",
        "payments -> DEPENDS_ON -> ledger",
        "payments -> OWNED_BY -> payments",
    }
    assert found[0].score == pytest.approx(1, abs=0.2)


async def test_a_stock_index_answers_inside_a_running_loop(face: GraphStoreFace) -> None:
    stock = VectorContextRetriever(face, embed_model=EMBEDDING, similarity_top_k=1)
    blocking = stock.retrieve("checkout takes orders")
    found, turns = await _turns_meanwhile(lambda: stock.aretrieve("checkout takes orders"))
    assert [each.get_content() for each in found] == ["checkout -> DEPENDS_ON -> payments"]
    assert [each.get_content() for each in blocking] == ["checkout -> DEPENDS_ON -> payments"]
    assert turns > 0


def test_a_node_is_found_by_its_id_its_name_or_another_name_of_it(face: GraphStoreFace, tenant: str) -> None:
    id = node_id(tenant, Label.SERVICE, "checkout")
    by_id, by_name, by_alias = (face.get(ids=[asked]) for asked in (id, "Checkout", "shop"))
    assert by_id == by_name == by_alias
    (node,) = by_id
    assert isinstance(node, EntityNode)
    assert (node.name, node.label) == ("checkout", "Service")
    shown = {key: node.properties[key] for key in ("id", "summary", "aliases", "tier", "confirmations", "sources")}
    assert shown == {
        "id": id,
        "summary": "Takes orders.",
        "aliases": ["shop"],
        "tier": "1",
        "confirmations": 2,
        "sources": ["graph"],
    }
    assert "valid_to" not in node.properties


def test_nodes_are_found_by_all_their_properties(face: GraphStoreFace) -> None:
    assert _names(face.get(properties={"name": "payments"})) == ["Service payments", "Team payments"]
    assert _names(face.get(properties={"name": "payments", "summary": "Takes money."})) == ["Service payments"]
    assert face.get(properties={"tier": "1"}, ids=["ledger"]) == []


def test_closed_facts_and_other_tenants_are_never_seen(graph_url: str, face: GraphStoreFace, tenant: str) -> None:
    everything = ["Service checkout", "Service ledger", "Service payments", "Team payments"]
    nearest, scores = face.vector_query(_vector("legacy took orders", similarity_top_k=50))
    assert _names(face.get()) == _names(nearest) == everything
    assert scores == sorted(scores, reverse=True)
    assert face.get(ids=["legacy", node_id(tenant, Label.SERVICE, "legacy")]) == []
    assert _sentences(face.get_triplets(entity_names=["checkout"])) == ["checkout DEPENDS_ON payments"]
    with open_face(graph_url, f"{tenant} besides", dimensions=DIMENSIONS) as elsewhere:
        assert elsewhere.get() == elsewhere.get(ids=["checkout"]) == []
        assert elsewhere.get(ids=[node_id(tenant, Label.SERVICE, "checkout")]) == []


def test_triplets_are_found_by_end_type_and_property(face: GraphStoreFace, tenant: str) -> None:
    service = node_id(tenant, Label.SERVICE, "payments")
    needs = ["checkout DEPENDS_ON payments", "payments DEPENDS_ON ledger"]
    assert _sentences(face.get_triplets(relation_names=["DEPENDS_ON"])) == needs
    assert _sentences(face.get_triplets(ids=[service])) == [*needs, "payments OWNED_BY payments"]
    assert _sentences(face.get_triplets(properties={"tier": "1"})) == needs[:1]
    assert _sentences(face.get_triplets(["payments"], ["OWNED_BY"], {"summary": "Takes money."}, [service])) == [
        "payments OWNED_BY payments"
    ]
    assert face.get_triplets() == face.get_triplets(ids=[]) == face.get_triplets(relation_names=["LIKES"]) == []


def test_a_map_ends_at_its_depth_and_its_limit_keeps_what_is_nearest(face: GraphStoreFace) -> None:
    checkout = face.get(ids=["checkout"])
    near, far = ["checkout DEPENDS_ON payments"], ["payments DEPENDS_ON ledger"]
    assert _sentences(face.get_rel_map(checkout, depth=1)) == near
    assert _sentences(face.get_rel_map(checkout, depth=2, ignore_rels=["OWNED_BY"])) == near + far
    assert _sentences(face.get_rel_map(checkout, depth=2, limit=1)) == near
    assert face.get_rel_map([], depth=2) == []
    face.upsert_relations([Relation(label="DEPENDS_ON", source_id="checkout", target_id="ledger")])
    assert _sentences(face.get_rel_map(checkout, depth=2, limit=2)) == ["checkout DEPENDS_ON ledger", *near]


def test_filters_leave_as_many_nodes_as_were_asked_for_if_there_are(face: GraphStoreFace) -> None:
    ledger = MetadataFilters(filters=[MetadataFilter(key="summary", value="Keeps the books.")])
    nodes, scores = face.vector_query(_vector("checkout takes orders", similarity_top_k=1, filters=ledger))
    assert (_names(nodes), len(scores)) == (["Service ledger"], 1)
    nodes, _ = face.vector_query(_vector("checkout takes orders", similarity_top_k=1, node_ids=["payments"]))
    assert [node.id for node in nodes] == ["payments"]


def test_what_is_written_is_read_back(face: GraphStoreFace) -> None:
    vector = EMBEDDING.get_text_embedding("search")
    told = {"summary": "Finds things.", "aliases": ["finder"], "tier": 2, "langs": ["go"], "odd": None}
    face.upsert_nodes(
        [
            EntityNode(name="search", label="Service", properties=told, embedding=vector),
            EntityNode(name="Vienna", label="Entity", properties={"kind": "place"}),
        ]
    )
    face.upsert_relations(
        [
            Relation(label="DEPENDS_ON", source_id="search", target_id="checkout", properties={"summary": "Prices."}),
            Relation(label="RELATION", source_id="search", target_id="Vienna", properties={"verb": "runs in"}),
        ]
    )
    (node,) = face.get(ids=["finder"])
    shown = {key: node.properties.get(key) for key in ("summary", "aliases", "tier", "langs", "odd", "sources")}
    assert shown == {
        "summary": "Finds things.",
        "aliases": ["finder"],
        "tier": 2,
        "langs": ["go"],
        "odd": None,
        "sources": ["llama-index"],
    }
    (needs, runs) = sorted(face.get_triplets(ids=["search"]), key=lambda triplet: triplet[1].label)
    assert (needs[2].id, needs[1].properties["summary"]) == ("checkout", "Prices.")
    assert (runs[2].label, runs[1].properties["verb"]) == ("Entity", "runs in")
    nearest, scores = face.vector_query(_vector("search", similarity_top_k=1))
    assert (nearest, scores) == ([node], [pytest.approx(1)])


def test_writing_back_what_was_read_only_confirms_it(graph_url: str, face: GraphStoreFace, tenant: str) -> None:
    before = face.get()
    relations = [relation for _, relation, _ in face.get_triplets(relation_names=["DEPENDS_ON"])]
    face.upsert_nodes(before)
    after = {node.properties["id"]: node.properties for node in face.get()}
    confirmed = {"confirmations", "last_seen", "sources"}
    for node in before:
        now = after[node.properties["id"]]
        assert now["sources"] == ["graph", "llama-index"]
        assert {k: v for k, v in now.items() if k not in confirmed} == {
            k: v for k, v in node.properties.items() if k not in confirmed
        }
    assert asyncio.run(_stored_properties(graph_url, tenant, node_id(tenant, Label.SERVICE, "checkout"))) == {
        "tier": "1"
    }
    face.upsert_relations(relations)
    assert [each.properties["confirmations"] for _, each, _ in face.get_triplets(relation_names=["DEPENDS_ON"])] == [
        3,
        3,
    ]


@pytest.mark.parametrize(
    ("node", "sentence"),
    [
        (EntityNode(name="x"), "'x' has the label 'entity'; there are Service, Team"),
        (EntityNode(name="x", label="Entity"), "needs a kind: person"),
        (ChunkNode(text="x"), "Only an EntityNode can be written"),
        (EntityNode(name="x", label="Team", properties={"size": {"a": 1}}), "'size' must be text, a number"),
    ],
)
def test_a_node_that_is_not_of_our_kinds_is_refused_and_nothing_is_written(
    face: GraphStoreFace, node: LabelledNode, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        face.upsert_nodes([EntityNode(name="good", label="Team"), node])
    assert face.get(ids=["good"]) == []


@pytest.mark.parametrize(
    ("relation", "sentence"),
    [
        (("LIKES", "checkout", "ledger"), "no relation 'LIKES'. There are DEPENDS_ON, OWNED_BY"),
        (("DEPENDS_ON", "checkout", "nowhere"), "No node 'nowhere' can be an end of DEPENDS_ON, which takes Service"),
        (("RELATION", "checkout", "payments"), "Several nodes are named 'payments'; .*Service service-.*Team team-"),
        (("DEPENDS_ON", "checkout", "shop"), "left out DEPENDS_ON checkout -> checkout"),
    ],
)
def test_a_relation_that_does_not_fit_is_refused(
    face: GraphStoreFace, relation: tuple[str, str, str], sentence: str
) -> None:
    label, source, target = relation
    with pytest.raises(ValueError, match=sentence):
        face.upsert_relations([Relation(label=label, source_id=source, target_id=target)])
    assert _sentences(face.get_triplets(ids=["checkout"])) == ["checkout DEPENDS_ON payments"]


def test_nothing_is_deleted_and_no_query_text_is_run(face: GraphStoreFace) -> None:
    with pytest.raises(NotImplementedError, match="never deleted"):
        face.delete(ids=["checkout"])
    with pytest.raises(NotImplementedError, match="never deleted"):
        face.delete_llama_nodes(node_ids=["checkout"])
    with pytest.raises(NotImplementedError, match="no query text"):
        face.structured_query("MATCH (n) DETACH DELETE n")
    with pytest.raises(NotImplementedError, match="by cosine"):
        face.vector_query(_vector("checkout", mode=VectorStoreQueryMode.MMR))
    assert len(face.get(ids=["checkout"])) == 1


async def test_every_asynchronous_form_leaves_the_loop_free(face: GraphStoreFace) -> None:
    checkout = await face.aget(ids=["checkout"])
    team, owned = (
        EntityNode(name="shop", label="Team"),
        Relation(label="OWNED_BY", source_id="checkout", target_id="shop"),
    )
    forms: list[tuple[str, Callable[[], Awaitable[object]]]] = [
        ("get", lambda: face.aget(ids=["checkout"])),
        ("get_triplets", lambda: face.aget_triplets(ids=["checkout"])),
        ("get_rel_map", lambda: face.aget_rel_map(checkout)),
        ("vector_query", lambda: face.avector_query(_vector("checkout", similarity_top_k=1))),
        ("upsert_nodes", lambda: face.aupsert_nodes([team])),
        ("upsert_relations", lambda: face.aupsert_relations([owned])),
    ]
    turns = {name: (await _turns_meanwhile(work))[1] for name, work in forms}
    assert {name for name, taken in turns.items() if taken > 0} == {name for name, _ in forms}
    assert _sentences(await face.aget_triplets(ids=["checkout"])) == [
        "checkout DEPENDS_ON payments",
        "checkout OWNED_BY shop",
    ]


def test_the_schema_is_our_closed_lists(tmp_path: Path) -> None:
    with open_face(f"sqlite:///{tmp_path}/graph.db", "nobody", dimensions=DIMENSIONS) as face:
        assert face.get_schema()["labels"] == list(Label)
        assert face.get_schema()["relations"]["OWNED_BY"] == {"from": ["Service"], "to": ["Team"]}
        assert face.get_schema()["relations"].keys() == set(EdgeType)
        assert "HAS_RUNBOOK: Alert or Service -> Runbook" in face.get_schema_str().splitlines()
