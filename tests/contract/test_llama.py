"""LlamaIndex on our graph: its stock Neo4j store reads it, and our retriever answers as one of its own."""

import asyncio
import gc
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit

import pytest
from llama_index.core.graph_stores.types import EntityNode
from llama_index.core.indices.property_graph import VectorContextRetriever
from llama_index.core.schema import QueryBundle
from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery
from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore

from graphrag.embed import HashedNgrams
from graphrag.llama import GraphRetriever
from graphrag.llama_embedding import HashedEmbedding
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Ref, node_id
from graphrag.open_store import open_store
from graphrag.store import GraphStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
DIMENSIONS = 64
EMBEDDING = HashedEmbedding(HashedNgrams(DIMENSIONS))


@pytest.fixture
def graph_url(neo4j_lts_url: str) -> str:
    return neo4j_lts_url


@pytest.fixture
async def store(graph_url: str) -> AsyncIterator[GraphStore]:
    opened = open_store(graph_url, dimensions=DIMENSIONS, refit=True)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
async def tenant(store: GraphStore) -> str:
    """A tenant where `checkout` needs `payments`, and once needed `legacy`."""
    name = f"tenant {uuid.uuid4().hex}"
    checkout, payments, legacy = (Ref(Label.SERVICE, each) for each in ("checkout", "payments", "legacy"))
    nodes = (
        NodeFact(Label.SERVICE, "checkout", "Takes orders.", ("shop",), {"tier": "1", "text": "odd"}),
        NodeFact(Label.SERVICE, "payments", "Takes money."),
    )
    gone = (NodeFact(Label.SERVICE, "legacy"),)
    needs = EdgeFact(EdgeType.DEPENDS_ON, checkout, payments)
    needed = EdgeFact(EdgeType.DEPENDS_ON, checkout, legacy)
    await store.write(name, Facts("graph", NOON, nodes + gone, (needs, needed)))
    await store.set_vectors(
        name,
        {node_id(name, Label.SERVICE, each): EMBEDDING.get_text_embedding(each) for each in ("checkout", "legacy")},
    )
    await store.write(name, Facts("graph", NOON, nodes, (needs,), complete=True))
    return name


@contextmanager
def stock_store(url: str) -> Iterator[Neo4jPropertyGraphStore]:
    parts = urlsplit(url)
    stock = Neo4jPropertyGraphStore(
        username="neo4j",
        password="",
        url=f"{parts.scheme}://{parts.hostname}:{parts.port}",
        database=parts.path.strip("/"),
        refresh_schema=False,
    )
    try:
        yield stock
    finally:
        stock.close()
        with warnings.catch_warnings():
            # It never closes its second, asynchronous driver.
            warnings.filterwarnings("ignore", "unclosed  AsyncBoltDriver", ResourceWarning)
            del stock
            gc.collect()


def _nearest(text: str) -> VectorStoreQuery:
    return VectorStoreQuery(query_embedding=EMBEDDING.get_query_embedding(text), similarity_top_k=50)


async def test_a_stock_store_reads_the_current_graph_and_nothing_else(graph_url: str, tenant: str) -> None:
    id = node_id(tenant, Label.SERVICE, "checkout")
    with stock_store(graph_url) as stock:
        (node,) = stock.get(ids=[id])
        triplets = stock.get_triplets(ids=[id])
        everything = stock.get(properties={"tenant": tenant})
        around = stock.get_rel_map([node], depth=2)
        nearest, scores = stock.vector_query(_nearest("checkout"))
        del stock
    assert (node.properties["name"], node.properties["summary"], node.properties["tier"]) == (
        "checkout",
        "Takes orders.",
        "1",
    )
    assert node.properties["aliases"] == ["shop"]
    assert [(a.id, relation.label, b.id) for a, relation, b in triplets] == [("checkout", "DEPENDS_ON", "payments")]
    assert sorted(found.properties["name"] for found in everything) == ["checkout", "payments"]
    assert [relation.label for _, relation, _ in around] == ["DEPENDS_ON"]
    assert len(nearest) == len(scores) > 0


async def test_a_stock_store_never_finds_a_closed_fact(graph_url: str, tenant: str) -> None:
    legacy = node_id(tenant, Label.SERVICE, "legacy")
    with stock_store(graph_url) as stock:
        nearest, _ = stock.vector_query(_nearest("legacy"))
        assert legacy not in {node.id for node in nearest}
        assert stock.get(ids=[legacy]) == stock.get_triplets(ids=[legacy]) == []
        assert stock.get(properties={"name": "legacy", "tenant": tenant}) == []
        assert stock.get_rel_map([EntityNode(name=legacy)]) == []
        del stock


async def test_a_stock_retriever_answers_with_current_facts_of_one_tenant(graph_url: str, tenant: str) -> None:
    ours = MetadataFilters(filters=[MetadataFilter(key="tenant", value=tenant)])
    checkout, payments = (node_id(tenant, Label.SERVICE, each) for each in ("checkout", "payments"))
    with stock_store(graph_url) as stock:
        retriever = VectorContextRetriever(
            stock, include_text=False, embed_model=EMBEDDING, similarity_top_k=50, path_depth=2, filters=ours
        )
        found = await retriever.aretrieve("legacy")
        del retriever, stock
    assert [each.get_content() for each in found] == [f"{checkout} -> DEPENDS_ON -> {payments}"]


async def test_our_retriever_answers_with_entities_and_their_relations(store: GraphStore, tenant: str) -> None:
    retriever = GraphRetriever(store, EMBEDDING.aget_query_embedding, tenant=tenant, limit=1)
    (found,) = await retriever.aretrieve(QueryBundle("checkout"))
    assert found.score == pytest.approx(1)
    assert found.node.get_content().splitlines() == [
        "checkout (Service)",
        "Takes orders.",
        "checkout DEPENDS_ON payments",
    ]
    assert found.node.metadata == {"label": "Service", "name": "checkout"}


async def test_our_retriever_leaves_the_loop_to_others_while_the_database_works(store: GraphStore, tenant: str) -> None:
    turns = 0
    turns_when_embedded: list[int] = []

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def embed(text: str) -> list[float]:
        turns_when_embedded.append(turns)
        return EMBEDDING.get_query_embedding(text)

    counting = asyncio.create_task(count())
    try:
        await GraphRetriever(store, embed, tenant=tenant).aretrieve("checkout")
        (before,) = turns_when_embedded
        assert turns > before
    finally:
        counting.cancel()
