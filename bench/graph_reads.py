"""How fast the graph is walked as it grows, beside the same graph in arrays in memory, and beside the stock store."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import time
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.graph_data import TENANT, Estate, mesh, shared, sparse
from bench.graph_reference import Around, Arrays, Reached
from bench.graph_stores import LTS, NEO4J, SQLITE, neo4j_store, server, sqlite_store, stock_store
from bench.graph_writes import STOCK
from bench.measure import Measured, note, percentile
from graphrag.model import EdgeType
from graphrag.store import GraphStore
from graphrag.traverse import Neighbourhood, Reach, blast_radius, neighbourhood

SIZES = {"10k": 10_000, "100k": 100_000, "1m": 1_000_000}
SMALLEST, LARGEST = "10k", "1m"
BLAST_HOPS, AROUND_HOPS, CAP = 5, 2, 500
QUERIES, WARM_UPS = 200, 50
REL_MAPS = 60
REL_MAP_LIMIT = 20 * CAP  # as many relations as a neighbourhood of ours looks at
MESH_SERVICES, MESH_OUT_DEGREE = 2_000, 200
MESH_QUERIES, MESH_TRACED = 100, 10
ARRAYS = "numpy breadth-first search in memory"
_REL_MAP = "rel-map-100k"
REL_MAP_SHARED_NAMES = ("rel-map-shared-100k-p50", "rel-map-shared-100k-p95")
_STOCK_REL_MAP = f"{STOCK}.get_rel_map, the same relations"
_GROWING = ("blast-radius", "neighbourhood")
_QUESTIONS = (*_GROWING, "whole-neighbourhood")


def names(store: str, size: str) -> tuple[str, ...]:
    """The measurements that `reads` gives."""
    shares = tuple(f"{question}-{store}-{size}-p{percent}" for question in _QUESTIONS for percent in (50, 95))
    return (*shares, _REL_MAP) if _has_rel_map(store, size) else shares


def growth_names(store: str) -> tuple[str, ...]:
    return tuple(f"growth-{question}-{store}" for question in _GROWING)


def mesh_names(store: str) -> tuple[str, ...]:
    return (f"dense-mesh-{store}-p95", f"dense-mesh-{store}-memory")


@dataclass
class Timed:
    """Milliseconds of each query, ours and the reference's."""

    ours: list[float] = field(default_factory=list)
    reference: list[float] = field(default_factory=list)

    def measured(self, name: str, share: float, reference: str = ARRAYS) -> Measured:
        return Measured(name, percentile(self.ours, share), "ms", reference, percentile(self.reference, share))


@functools.cache
def reads(store: str, size: str) -> tuple[Measured, ...]:
    """Blast radius and neighbourhood of random services in an estate of this size, each answer compared."""
    return asyncio.run(_reads(store, size))


def growth(store: str) -> list[Measured]:
    """How much slower the largest estate is than the smallest: `ratio` is the growth."""
    small, large = ({each.bench: each for each in reads(store, size)} for size in (SMALLEST, LARGEST))
    return [
        Measured(
            f"growth-{question}-{store}",
            large[f"{question}-{store}-{LARGEST}-p50"].value,
            "ms",
            f"the same at {SMALLEST} edges",
            small[f"{question}-{store}-{SMALLEST}-p50"].value,
        )
        for question in _GROWING
    ]


def dense_mesh(store: str) -> list[Measured]:
    """Blast radius where every service hangs together with every other, so that the caps cut each answer."""
    return asyncio.run(_dense_mesh(store))


def rel_map_shared() -> list[Measured]:
    """The neighbourhood against the stock store's relations, where hundreds depend on each of a few services."""
    return asyncio.run(_rel_map_shared())


def _has_rel_map(store: str, size: str) -> bool:
    return (store, f"rel-map-{size}") == (NEO4J, _REL_MAP)


async def _reads(store_name: str, size: str) -> tuple[Measured, ...]:
    estate = sparse(SIZES[size])
    async with _loaded(store_name, estate) as (store, url):
        arrays = Arrays(estate)
        starts = np.random.default_rng(5).choice(estate.services, WARM_UPS + QUERIES, replace=False).tolist()
        blast, around, whole = Timed(), Timed(), Timed()
        await _in_turn(
            blast,
            starts,
            lambda start: blast_radius(store, TENANT, estate.ids[start], BLAST_HOPS, CAP),
            lambda start: arrays.blast_radius(start, BLAST_HOPS, CAP),
            lambda ours, theirs: _reached(ours) == theirs,
        )
        await _in_turn(
            around,
            starts,
            lambda start: neighbourhood(store, TENANT, [estate.ids[start]], tuple(EdgeType), AROUND_HOPS, CAP),
            lambda start: arrays.neighbourhood(start, AROUND_HOPS, CAP),
            lambda ours, theirs: _around(ours) == theirs,
        )
        await _in_turn(
            whole,
            starts,
            lambda start: _whole(neighbourhood(store, TENANT, [estate.ids[start]], tuple(EdgeType), AROUND_HOPS, CAP)),
            lambda start: arrays.neighbourhood(start, AROUND_HOPS, CAP),
            lambda ours, theirs: _around(ours) == theirs,
        )
        measured = [
            each.measured(f"{question}-{store_name}-{size}-p{percent}", percent / 100)
            for question, each in zip(_QUESTIONS, (blast, around, whole), strict=True)
            for percent in (50, 95)
        ]
        if _has_rel_map(store_name, size):
            timed = await _rel_map(store, url, estate, starts[:REL_MAPS])
            measured.append(timed.measured(_REL_MAP, 0.5, _STOCK_REL_MAP))
    return tuple(measured)


async def _rel_map_shared() -> list[Measured]:
    estate = shared(SIZES["100k"])
    async with _loaded(NEO4J, estate) as (store, url):
        starts = np.random.default_rng(5).choice(estate.services, REL_MAPS, replace=False).tolist()
        timed = await _rel_map(store, url, estate, starts)
    return [
        timed.measured(name, share, _STOCK_REL_MAP)
        for name, share in zip(REL_MAP_SHARED_NAMES, (0.5, 0.95), strict=True)
    ]


async def _rel_map(store: GraphStore, url: str, estate: Estate, starts: Sequence[int]) -> Timed:
    """The stock store's relations around a node, in the same database, which are the edges of our neighbourhood."""
    from llama_index.core.graph_stores.types import EntityNode  # takes seconds to import

    def same(ours: Neighbourhood, theirs: Sequence[Any]) -> bool:
        edges, relations = _around(ours).edges, {(relation.source_id, relation.target_id) for _, relation, _ in theirs}
        return edges < relations if ours.truncated else edges == relations

    with stock_store(url) as stock:
        timed = Timed()
        await _in_turn(
            timed,
            starts,
            lambda start: neighbourhood(store, TENANT, [estate.ids[start]], tuple(EdgeType), AROUND_HOPS, CAP),
            lambda start: stock.get_rel_map(
                [EntityNode(name=estate.ids[start], label="Service")], depth=AROUND_HOPS, limit=REL_MAP_LIMIT
            ),
            same,
            warm_ups=len(starts) // 5,
        )
    return timed


async def _dense_mesh(store_name: str) -> list[Measured]:
    estate = mesh(MESH_SERVICES, MESH_OUT_DEGREE)
    async with _loaded(store_name, estate) as (store, _):
        arrays = Arrays(estate)
        starts = np.random.default_rng(5).choice(estate.services, WARM_UPS + MESH_QUERIES, replace=False).tolist()

        async def ours(start: int) -> Reach:
            return await blast_radius(store, TENANT, estate.ids[start], BLAST_HOPS, CAP)

        def reference(start: int) -> list[Reached]:
            return arrays.blast_radius(start, BLAST_HOPS, CAP)

        timed, distances = Timed(), {start: arrays.distances(start) for start in starts}

        def sound(reach: Reach, theirs: list[Reached]) -> bool:
            # Which ones the caps leave is the store's to say; each must be at its true distance.
            true = distances[estate.names.index(theirs[0].path[0])]
            return reach.truncated and all(true[each.id] == each.hops == len(each.path) - 1 for each in _reached(reach))

        await _in_turn(timed, starts, ours, reference, sound)
        held, reference_held = await _megabytes(ours, starts), await _megabytes(_awaitable(reference), starts)
    return [
        timed.measured(f"dense-mesh-{store_name}-p95", 0.95),
        Measured(f"dense-mesh-{store_name}-memory", held, "MB", ARRAYS, reference_held),
    ]


async def _in_turn(
    timed: Timed,
    starts: Sequence[int],
    ours: Callable[[int], Awaitable[Any]],
    reference: Callable[[int], Any],
    same: Callable[[Any, Any], bool],
    warm_ups: int = WARM_UPS,
) -> None:
    """Ask both the same, one after the other. Raises RuntimeError when the answers differ."""
    gc.collect()
    for number, start in enumerate(starts):
        began = time.perf_counter()
        answer = await ours(start)
        between = time.perf_counter()
        expected = reference(start)
        ended = time.perf_counter()
        if not same(answer, expected):
            raise RuntimeError(f"from service {start} ours is {answer!r:.1000}, the reference {expected!r:.1000}")
        if number >= warm_ups:
            timed.ours.append(1000 * (between - began))
            timed.reference.append(1000 * (ended - between))


async def _megabytes(ask: Callable[[int], Awaitable[Any]], starts: Sequence[int]) -> float:
    """The most that Python's memory grew by in a query, in MB."""
    most = 0
    tracemalloc.start()
    try:
        for start in starts[:MESH_TRACED]:
            gc.collect()
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            await ask(start)
            most = max(most, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()
    return most / 1_000_000


def _awaitable(ask: Callable[[int], Any]) -> Callable[[int], Awaitable[Any]]:
    async def asked(start: int) -> Any:
        return ask(start)

    return asked


async def _whole(found: Awaitable[Neighbourhood]) -> Neighbourhood:
    """With every field of every node and edge, which are otherwise taken out of their rows when they are asked for."""
    around = await found
    for fact in (*around.nodes.values(), *around.edges):
        _ = fact.life
    return around


def _reached(reach: Reach) -> list[Reached]:
    return [Reached(each.id, each.name, each.hops, each.path) for each in reach.members]


def _around(found: Neighbourhood) -> Around:
    return Around(found.hops, frozenset((edge.source, edge.target) for edge in found.edges))


@contextlib.asynccontextmanager
async def _loaded(store_name: str, estate: Estate) -> AsyncIterator[tuple[GraphStore, str]]:
    """A store with the estate in it, and the URL of its server if it has one."""
    async with contextlib.AsyncExitStack() as stack:
        url = "" if store_name == SQLITE else stack.enter_context(server(LTS))
        store = await stack.enter_async_context(neo4j_store(url) if url else sqlite_store())
        began = time.perf_counter()
        for written in estate.writes():
            await store.write(TENANT, written)
        note(f"  {store_name}: {len(estate.sources)} edges loaded in {time.perf_counter() - began:.0f} s")
        yield store, url
