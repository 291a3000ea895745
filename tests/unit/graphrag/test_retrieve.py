"""Locating an alert or a question: documents, and entry points that fail, on a real SQLite store and embedding."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.embed import Embed, Embedding, EmbeddingUnavailable, open_embedding
from graphrag.ingest import ingest
from graphrag.model import Hit, Label, Life, Node, node_id
from graphrag.retrieve import Location, fuse, locate
from graphrag.signals import Signals, signals_from_alerts, signals_from_question
from graphrag.sqlite_store import SqliteStore

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LIFE = Life(NOW, NOW, NOW)
ORGANISATION = Path(__file__).parents[3] / "app" / "demo" / "organisation"


def node(name: str, label: Label = Label.SERVICE) -> Node:
    return Node(node_id("t", label, name), "t", label, name, LIFE)


def names(location: Location) -> list[str]:
    return [each.node.name for each in location.candidates]


class Graph:
    """The demonstration's organisation, ingested for real."""

    def __init__(self, store: SqliteStore, embedding: Embedding) -> None:
        self.store = store
        self.embed: Embed = embedding.embed_queries

    async def alert(self, *expressions: str, note: str = "", **labels: str) -> Location:
        signals = signals_from_alerts([labels], [{"summary": note}] if note else [], expressions)
        return await locate(self.store, self.embed, "t", signals)


@pytest.fixture(scope="module")
async def graph(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Graph]:
    store = SqliteStore(tmp_path_factory.mktemp("graph") / "graph.db", dimensions=384)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=384)
    await ingest(store, embedding, "t", [ORGANISATION], now=NOW)
    yield Graph(store, embedding)
    await store.close()


async def test_the_other_entry_points_run_though_a_name_decides(graph: Graph) -> None:
    found = await graph.alert(service="checkout-api", note="too many errors, customers cannot pay")
    assert found.candidates[0].parts.keys() >= {"exact", "semantic", "fused"}
    assert found.candidates[0].parts["semantic"] > 0
    assert all(each.node.label is Label.SERVICE for each in found.candidates)


async def test_an_embedding_that_does_not_answer_costs_its_entry_point_only(graph: Graph) -> None:
    async def dead(texts: Sequence[str]) -> list[list[float]]:
        raise EmbeddingUnavailable(f"no answer to {len(texts)}")

    found = await locate(graph.store, dead, "t", signals_from_question("checkout-api errors"))
    assert (found.certainty, names(found)[0]) == ("resolved", "checkout-api")


async def test_an_empty_signal_is_unresolved(graph: Graph) -> None:
    found = await locate(graph.store, graph.embed, "t", Signals((), " "))
    assert (found.certainty, found.candidates) == ("unresolved", ())


def like(*scores: tuple[str, float]) -> list[Hit]:
    return [Hit(node(name), score) for name, score in scores]


hit_lists = st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(-1, 1)), max_size=6, unique_by=lambda pair: pair[0])


@given(hit_lists, hit_lists)
def test_fusion_puts_what_both_lists_rank_first_first(
    one: list[tuple[str, float]], other: list[tuple[str, float]]
) -> None:
    lists = [like(*one), like(*other)]
    fused = fuse(lists)
    assert fused.keys() == {hit.node.id for hits in lists for hit in hits}
    if one and other and one[0][0] == other[0][0]:
        assert max(fused, key=lambda key: fused[key]) == lists[0][0].node.id
