"""Turns text into vectors: by default with no download and no network.

The default is hashed character n-grams (3 to 5) and words, weighted by how rare they are in the organisation's own
corpus and projected to a dense vector. All embeddings, this one too, stand behind LlamaIndex's `BaseEmbedding`.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from graphrag.errors import GraphMisconfigured, GraphUnavailable
from graphrag.identity import name_words
from graphrag.store import GraphStore

if TYPE_CHECKING:
    from llama_index.core.base.embeddings.base import BaseEmbedding

Embed = Callable[[Sequence[str]], Awaitable[list[list[float]]]]


class EmbeddingUnavailable(GraphUnavailable):
    """The embedding's own server did not answer. The graph itself may still do."""


BUCKETS = 1 << 17
_SPREAD = 4
"""How many dimensions each feature touches. More spreads collisions thinner; four keeps a vector under 10 ms."""
_SEED = 20_231
_MAX_WORDS = 4_000
_MAX_CHARACTERS = 40_000
_META = "embedding"
_META_VERSION = "embedding-version"
_VERSION_LENGTH = 12

Weights = NDArray[np.float32]


class HashedNgrams:
    """The default embedding. Deterministic over processes, machines and NumPy's versions: only fixed hashes and the
    raw stream of a bit generator, the one kind of random numbers that NumPy promises to keep.

    `weights` holds one inverse document frequency a bucket, `log((1 + N) / (1 + df)) + 1` (the smoothed form of Spärck
    Jones' idf); without any, every feature weighs the same.
    """

    def __init__(self, dimensions: int, weights: Weights | None = None) -> None:
        raw = np.random.PCG64(_SEED).random_raw(BUCKETS * _SPREAD).reshape(BUCKETS, _SPREAD)
        self._places = (raw % np.uint64(dimensions)).astype(np.int64)
        self._signs = np.where(raw >> np.uint64(63), 1.0, -1.0)
        self._dimensions = dimensions
        self._weights = weights

    def vector(self, text: str) -> list[float]:
        """A unit vector; all zeros for a text without a word."""
        counts = Counter(features(text))
        result = np.zeros(self._dimensions)
        if counts:
            buckets = np.fromiter(counts.keys(), np.int64, len(counts))
            weight = 1 + np.log(np.fromiter(counts.values(), np.float64, len(counts)))
            if self._weights is not None:
                weight = weight * self._weights[buckets]
            np.add.at(result, self._places[buckets], self._signs[buckets] * weight[:, None])
            length = float(np.linalg.norm(result))
            result = result / length if length else result
        return result.tolist()


def fit_weights(texts: Iterable[str]) -> Weights:
    """The corpus weights of these texts, one a bucket."""
    seen = np.zeros(BUCKETS)
    total = 0
    for text in texts:
        buckets = list(set(features(text)))
        seen[buckets] += 1
        total += 1
    return (np.log((1 + total) / (1 + seen)) + 1).astype(np.float32)


def features(text: str) -> list[int]:
    """The bucket of each word and of each character n-gram inside it, its borders marked."""
    return [bucket for word in name_words(text[:_MAX_CHARACTERS])[:_MAX_WORDS] for bucket in _features_of(word)]


@lru_cache(maxsize=20_000)
def _features_of(word: str) -> tuple[int, ...]:
    """Of the words of a corpus most come again and again."""
    bordered = f"<{word}>"
    grams = (bordered[at : at + size] for size in (3, 4, 5) for at in range(len(bordered) - size + 1))
    return (_bucket(f"w:{word}"), *map(_bucket, grams))


def _bucket(feature: str) -> int:
    return zlib.crc32(feature.encode("utf-8", "surrogatepass")) % BUCKETS


class Embedding:
    """The embedding the graph's vectors are made with.

    The corpus weights live in the graph with a version, so that every process that reads the graph embeds alike; a
    changed version is noticed before the next text. They are fitted at the first ingest and again only by command:
    else one changed page would change every vector.
    """

    def __init__(self, store: GraphStore, make: Callable[[bytes | None], BaseEmbedding], *, fitted: bool) -> None:
        self._store = store
        self._make = make
        self._fitted = fitted
        self._model: BaseEmbedding | None = None
        self._version: bytes | None = None
        self._lock = asyncio.Lock()

    async def warm(self) -> None:
        """Import LlamaIndex and make the model, in a thread: it takes seconds."""
        await self._current()

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, for keeping. Raises `EmbeddingUnavailable`, and `GraphError` for the weights."""
        model = await self._current()
        return await _asked(lambda: model.get_text_embedding_batch(list(texts)))

    async def embed_queries(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text, for searching; some models tell the two apart. Raises as `embed` does."""
        model = await self._current()
        return await _asked(lambda: [model.get_query_embedding(text) for text in texts])

    async def is_fitted(self) -> bool:
        """Whether the corpus weights are there, or none are needed."""
        return not self._fitted or await self._store.get_meta(_META_VERSION) is not None

    async def fit(self, texts: Sequence[str], *, refit: bool = False) -> bool:
        """Fit the corpus weights if there are none, or again when told. True when every vector must be made anew."""
        known = await self._store.get_meta(_META_VERSION)
        if not self._fitted or (known is not None and not refit):
            return refit
        packed = pack_weights(await asyncio.to_thread(fit_weights, texts))
        await self._store.put_meta(_META, packed)
        await self._store.put_meta(_META_VERSION, _version_of(packed))
        return True

    async def _current(self) -> BaseEmbedding:
        version = await self._store.get_meta(_META_VERSION) if self._fitted else None
        async with self._lock:
            if self._model is None or version != self._version:
                packed = await self._store.get_meta(_META) if self._fitted else None
                self._model = await asyncio.to_thread(self._make, packed)
                self._version = version
            return self._model


async def _asked(work: Callable[[], list[list[float]]]) -> list[list[float]]:
    """Any LlamaIndex embedding may stand behind this, each with errors of its own: what fails there is one thing
    here. The message leaves their text out, which may repeat a key or an address."""
    try:
        return await asyncio.to_thread(work)
    except Exception as error:
        raise EmbeddingUnavailable(
            f"The embedding did not answer ({type(error).__name__}); check INCIDENT_GRAPH_EMBEDDING and its server."
        ) from error


async def open_embedding(
    setting: str, store: GraphStore, *, dimensions: int, base_url: str = "", api_key: str = ""
) -> Embedding:
    """The embedding of a setting: `hashed`, `openai:MODEL` at a base URL, or `module:Class` of any LlamaIndex
    embedding that needs no arguments. Raises `GraphMisconfigured` for anything else."""
    kind, _, name = setting.partition(":")
    if setting == "hashed":
        return Embedding(store, lambda packed: _hashed(dimensions, packed), fitted=True)
    if kind == "openai" and name and base_url:
        return Embedding(store, lambda _: _openai_like(name, base_url, api_key), fitted=False)
    if kind != "openai" and re.fullmatch(r"[\w.]+", kind) and name.isidentifier():
        return Embedding(store, lambda _: _by_name(kind, name), fitted=False)
    raise GraphMisconfigured(
        f"INCIDENT_GRAPH_EMBEDDING is {setting!r}; it must be `hashed`, `openai:MODEL` together with "
        "INCIDENT_GRAPH_EMBEDDING_BASE_URL, or `module:Class`."
    )


def _hashed(dimensions: int, packed: bytes | None) -> BaseEmbedding:
    from graphrag.llama_embedding import HashedEmbedding

    return HashedEmbedding(HashedNgrams(dimensions, unpack_weights(packed) if packed else None))


def _openai_like(name: str, base_url: str, api_key: str) -> BaseEmbedding:
    module: Any = importlib.import_module("llama_index.embeddings.openai_like")
    return module.OpenAILikeEmbedding(model_name=name, api_base=base_url, api_key=api_key or "none")


def _by_name(module: str, name: str) -> BaseEmbedding:
    try:
        made: Any = getattr(importlib.import_module(module), name)()
    except (ImportError, AttributeError, TypeError) as error:
        raise GraphMisconfigured(
            f"INCIDENT_GRAPH_EMBEDDING names {module}:{name}, which cannot be made ({error}); install its package or "
            "correct the name."
        ) from error
    return made


def pack_weights(weights: Weights) -> bytes:
    """The weights with what they belong to, small enough to keep beside the graph."""
    header = json.dumps({"form": 1, "buckets": BUCKETS}).encode()
    return header + b"\n" + zlib.compress(weights.astype("<f2").tobytes())


def unpack_weights(packed: bytes) -> Weights:
    """Raises `GraphMisconfigured` for weights of another form."""
    header, _, body = packed.partition(b"\n")
    if json.loads(header) != {"form": 1, "buckets": BUCKETS}:
        raise GraphMisconfigured(
            "The graph's embedding weights are of another version; run incident-graph ingest --refit DIR."
        )
    return np.frombuffer(zlib.decompress(body), dtype="<f2").astype(np.float32)


def _version_of(packed: bytes) -> bytes:
    return f"{zlib.crc32(packed):08x}".encode()[:_VERSION_LENGTH]
