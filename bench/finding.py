"""How fast an alert's service and pages are found as the graph grows, beside LlamaIndex's vector retriever."""

from __future__ import annotations

import asyncio
import functools
import gc
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.consult import locate_incident
from agent.state import Incident
from bench.finding_data import Organisation
from bench.graph_data import TENANT
from bench.graph_stores import DIMENSIONS, LTS, SQLITE, neo4j_store, server, sqlite_store, stock_store
from bench.measure import Measured, note, percentile
from evals.answer import TENANT as EVALUATED
from evals.answer import incident_of
from evals.case import NoData, read_cases
from evals.gitlab import convert
from graphrag.embed import Embed, Embedding, HashedNgrams, open_embedding
from graphrag.ingest import ingest
from graphrag.store import GraphStore
from tests.servers.process import temporary_home

SIZES = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
SMALLEST, LARGEST = "10k", "1m"
REAL = "gitlab"
STOCK = "LlamaIndex's VectorContextRetriever over the same graph in Neo4j"
WARM_UPS, ALERTS = 20, 120
_DATA = "BENCH_DATA"


def names(store: str, subject: str) -> tuple[str, ...]:
    """The measurements that `finding` gives. `subject` is one of `SIZES` or `REAL`."""
    return tuple(f"finding-{store}-{subject}-p{percent}" for percent in (50, 95))


def growth_names(store: str) -> tuple[str, ...]:
    return (f"growth-finding-{store}",)


def finding(store: str, subject: str) -> list[Measured]:
    """The locate and retrieve stages for one alert after another."""
    try:
        ours = _in_sqlite(subject) if store == SQLITE else _in_neo4j(subject)[0]
        stock = _in_neo4j(subject)[1]
    except NoData as error:
        note(f"  left out: {error} {_DATA} names another folder.")
        return []
    return [
        Measured(name, percentile(ours, share), "ms", STOCK, percentile(stock, share))
        for name, share in zip(names(store, subject), (0.5, 0.95), strict=True)
    ]


def growth(store: str) -> list[Measured]:
    """How much longer it takes in the largest organisation than in the smallest: `ratio` is the growth."""
    large, small = (
        percentile(_in_sqlite(size) if store == SQLITE else _in_neo4j(size)[0], 0.5) for size in (LARGEST, SMALLEST)
    )
    return [Measured(growth_names(store)[0], large, "ms", f"the same among {SMALLEST} entities", small)]


@dataclass(frozen=True)
class _Loaded:
    """Milliseconds of each alert are measured on this: a graph and alerts about it."""

    store: GraphStore
    embed: Embed
    alerts: Sequence[Incident]


@functools.cache
def _in_sqlite(subject: str) -> list[float]:
    async def measure() -> list[float]:
        async with sqlite_store() as store:
            return await _ours(await _load(store, subject))

    return asyncio.run(measure())


@functools.cache
def _in_neo4j(subject: str) -> tuple[list[float], list[float]]:
    """Ours and the stock retriever's."""

    async def measure(url: str) -> tuple[list[float], list[float]]:
        async with neo4j_store(url) as store:
            loaded = await _load(store, subject)
            return await _ours(loaded), await _stock(url, loaded)

    with server(LTS) as url:
        return asyncio.run(measure(url))


async def _load(store: GraphStore, subject: str) -> _Loaded:
    began = time.perf_counter()
    loaded = await (_load_real(store) if subject == REAL else _load_made_up(store, Organisation(SIZES[subject])))
    note(f"  {subject} loaded into {type(store).__name__} in {time.perf_counter() - began:.0f} s")
    return loaded


async def _load_made_up(store: GraphStore, organisation: Organisation) -> _Loaded:
    embedding = HashedNgrams(DIMENSIONS)
    for portion in organisation.writes(DIMENSIONS):
        await store.write(TENANT, portion.facts)
        if portion.vectors:
            await store.set_vectors(TENANT, portion.vectors)

    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return [embedding.vector(text) for text in texts]

    return _Loaded(store, embed, organisation.incidents(WARM_UPS + ALERTS))


async def _load_real(store: GraphStore) -> _Loaded:
    """GitLab's runbooks as `make evals` converts and ingests them. Raises `NoData`."""
    embedding: Embedding = await open_embedding("hashed", store, dimensions=DIMENSIONS)
    with temporary_home("bench-organisation") as home:
        convert(Path(os.environ.get(_DATA, "../shared/data")) / "gitlab-runbooks", home / "made")
        await ingest(store, embedding, EVALUATED, [home / "made" / "org"], now=datetime.now(UTC))
        cases = read_cases(home / "made" / "service-text.jsonl")[: WARM_UPS + ALERTS]
    incidents = [incident for incident in map(incident_of, cases) if isinstance(incident, Incident)]
    return _Loaded(store, embedding.embed_queries, incidents)


async def _ours(loaded: _Loaded) -> list[float]:
    return await _timed(loaded.alerts, lambda alert: locate_incident(loaded.store, loaded.embed, alert, lambda: 0.0))


async def _stock(url: str, loaded: _Loaded) -> list[float]:
    """The nearest nodes and what is around them, by the stock retriever with its own settings."""
    from llama_index.core.indices.property_graph import VectorContextRetriever  # takes seconds to import
    from llama_index.core.schema import QueryBundle

    from graphrag.llama_embedding import HashedEmbedding

    with stock_store(url) as stock:
        # Without one it looks for OpenAI's; questions come with their vectors.
        unused = HashedEmbedding(HashedNgrams(DIMENSIONS))
        retriever = VectorContextRetriever(stock, embed_model=unused, include_text=False)

        async def ask(alert: Incident) -> Any:
            text = " ".join((alert.title, *alert.alerts[0].annotations.values()))
            (vector,) = await loaded.embed([text])
            return retriever.retrieve(QueryBundle(text, embedding=vector))

        return await _timed(loaded.alerts, ask)


async def _timed(alerts: Sequence[Incident], ask: Callable[[Incident], Awaitable[Any]]) -> list[float]:
    gc.collect()
    milliseconds: list[float] = []
    for alert in alerts:
        began = time.perf_counter()
        await ask(alert)
        milliseconds.append(1_000 * (time.perf_counter() - began))
    return milliseconds[WARM_UPS:]
