"""The default embedding and how its weights are kept; the store is a real SQLite file."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.embed import (
    Embedding,
    EmbeddingUnavailable,
    HashedNgrams,
    fit_weights,
    open_embedding,
    pack_weights,
    unpack_weights,
)
from graphrag.errors import GraphMisconfigured
from graphrag.sqlite_store import SqliteStore

DIMENSIONS = 384
CORPUS = ["the till service is down", "the books service is slow", "the vault service is full"]
PLAIN = HashedNgrams(DIMENSIONS)


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return float(np.dot(one, other))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "graph.db", dimensions=DIMENSIONS)
    await opened.open()
    yield opened
    await opened.close()


@given(st.text(max_size=200))
def test_every_text_has_a_vector_of_length_one_or_without_words_none(text: str) -> None:
    vector = PLAIN.vector(text)
    assert len(vector) == DIMENSIONS
    length = float(np.linalg.norm(vector))
    assert length == pytest.approx(1) or length == 0


def test_a_text_without_a_word_has_no_direction() -> None:
    assert not any(PLAIN.vector(" -- {} ."))


def test_spellings_and_forms_of_a_word_are_near_and_other_words_are_far() -> None:
    payments = PLAIN.vector("payments gateway")
    assert cosine(payments, PLAIN.vector("PaymentsGateway")) == pytest.approx(1)
    assert cosine(payments, PLAIN.vector("payment gateways")) > 0.6
    assert abs(cosine(payments, PLAIN.vector("kubelet disk"))) < 0.2


def test_vectors_do_not_change_with_the_process_or_the_release() -> None:
    """The first numbers are fixed here: vectors that a graph holds must stay comparable."""
    code = (
        "from graphrag.embed import HashedNgrams as H; v = H(384).vector('payments gateway');"
        "import sys; assert not any(m.startswith('llama_index') for m in sys.modules);"
        "print([(i, round(x, 6)) for i, x in enumerate(v) if x][:4])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = [(at, round(x, 6)) for at, x in enumerate(PLAIN.vector("payments gateway")) if x][:4]
    assert done.stdout.strip() == repr(here) == FIRST_NUMBERS


FIRST_NUMBERS = "[(1, -0.073324), (2, 0.073324), (7, 0.146647), (12, 0.073324)]"


def test_a_word_that_is_everywhere_counts_less_than_a_rare_one() -> None:
    weighted = HashedNgrams(DIMENSIONS, fit_weights(CORPUS))

    def pull(model: HashedNgrams) -> float:
        text = model.vector("till service")
        return cosine(text, model.vector("till")) - cosine(text, model.vector("service"))

    assert pull(weighted) > pull(PLAIN)


def test_weights_survive_being_packed() -> None:
    weights = fit_weights(CORPUS)
    assert np.allclose(unpack_weights(pack_weights(weights)), weights, rtol=1e-3)
    assert len(pack_weights(weights)) < 10_000


def test_weights_of_another_form_are_refused_with_the_remedy() -> None:
    with pytest.raises(GraphMisconfigured, match="--refit"):
        unpack_weights(b'{"form": 0, "buckets": 3}\n')


async def test_before_any_ingest_texts_are_embedded_without_weights(store: SqliteStore) -> None:
    embedding = await open_embedding("hashed", store, dimensions=DIMENSIONS)
    assert (await embedding.embed(["till"])) == [PLAIN.vector("till")]
    assert await embedding.embed_queries(["till"]) == [PLAIN.vector("till")]


async def test_weights_are_fitted_once_and_again_only_by_command(store: SqliteStore) -> None:
    embedding = await open_embedding("hashed", store, dimensions=DIMENSIONS)
    assert await embedding.fit(CORPUS) is True
    first = await embedding.embed(CORPUS)
    assert await embedding.fit([*CORPUS, "one more page about the till"]) is False
    assert await embedding.embed(CORPUS) == first
    assert await embedding.fit([*CORPUS, "one more page about the till"], refit=True) is True
    assert await embedding.embed(CORPUS) != first


async def test_a_second_process_takes_new_weights_up_by_itself(store: SqliteStore) -> None:
    one, other = [await open_embedding("hashed", store, dimensions=DIMENSIONS) for _ in range(2)]
    await other.warm()
    await one.fit(CORPUS)
    assert await one.embed(["the till"]) == await other.embed_queries(["the till"])


async def test_many_first_callers_make_one_model(store: SqliteStore) -> None:
    embedding = await open_embedding("hashed", store, dimensions=DIMENSIONS)
    vectors = await asyncio.gather(*(embedding.embed(["till"]) for _ in range(8)))
    assert all(vector == vectors[0] for vector in vectors)


async def test_any_llama_index_embedding_can_be_named(store: SqliteStore) -> None:
    named = await open_embedding("tests.unit.graphrag.absent:Class", store, dimensions=DIMENSIONS)
    with pytest.raises(GraphMisconfigured, match=r"tests\.unit\.graphrag\.absent:Class"):
        await named.embed(["x"])


@pytest.mark.parametrize("setting", ["", "hash", "openai", "openai:", "openai:m", "../x:Y", "os:sys tem"])
async def test_a_setting_that_cannot_work_is_refused_with_what_it_must_be(store: SqliteStore, setting: str) -> None:
    with pytest.raises(GraphMisconfigured, match="must be `hashed`"):
        await open_embedding(setting, store, dimensions=DIMENSIONS)


async def test_a_server_that_does_not_answer_is_told_in_our_words(store: SqliteStore) -> None:
    class Dead:
        def get_query_embedding(self, text: str) -> list[float]:
            raise OSError("key-123 refused")

    embedding = Embedding(store, lambda _: Dead(), fitted=False)  # pyright: ignore[reportArgumentType]
    with pytest.raises(EmbeddingUnavailable, match="OSError") as caught:
        await embedding.embed_queries(["x"])
    assert "key-123" not in str(caught.value)
