"""How much hangs on each service.

A service is as critical as the services whose DEPENDS_ON chains reach it are many and near. With
`n(h)` the distinct services whose shortest chain to it has h edges:

    x = n(1) + n(2)/2 + n(3)/4 + n(4)/8 + n(5)/16        score = x / (x + HALF)

The score is in [0, 1) and no other service's number is in it, so it compares between services and over time. While too
few dependencies are known, x is instead the number of edges of any type that touch the service.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphrag.model import EdgeType, Label
from graphrag.store import GraphStore

HALF = 10.0
"""The x that scores a half: ten direct dependents, or ten edges."""
HOPS = 5
FEWEST = 0.25
"""DEPENDS_ON edges for each service under which they say too little."""
DEPENDENTS = "dependents"
CONNECTIVITY = "connectivity"

_BLOCK = 64
_BATCH = 5_000

_Numbers = NDArray[np.int64]
_Bits = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Criticality:
    """`score` is in [0, 1); `basis` says what it counts, `dependents` or `connectivity`, the same for a whole graph."""

    score: float
    basis: str


def scores(
    services: Sequence[str], depends_on: Sequence[tuple[str, str]], degrees: Mapping[str, int]
) -> dict[str, Criticality]:
    """The criticality of every service. Pairs are (service, service it needs); those with an end elsewhere, and of a
    service with itself, do not count. `degrees` are read only when the basis is connectivity."""
    estate = _estate(services, depends_on)
    if _too_few(estate):
        return {id: Criticality(_saturated(degrees.get(id, 0)), CONNECTIVITY) for id in estate.ids}
    weighed = _weighed_dependents(estate).tolist()
    return {id: Criticality(_saturated(x), DEPENDENTS) for id, x in zip(estate.ids, weighed, strict=True)}


async def refresh(store: GraphStore, tenant: str) -> int:
    """Score the tenant's services and set their `criticality` and `criticality_basis` where these changed. Returns how
    many changed."""
    services = await store.all_nodes(tenant, [Label.SERVICE])
    ids = [node.id for node in services]
    depends_on = await store.pairs(tenant, EdgeType.DEPENDS_ON)
    few = await asyncio.to_thread(lambda: _too_few(_estate(ids, depends_on)))
    degrees = await _degrees(store, tenant) if few else {}
    found = await asyncio.to_thread(scores, ids, depends_on, degrees)
    fresh = {
        id: {"criticality": round(each.score, 4), "criticality_basis": each.basis} for id, each in found.items()
    }
    changed = {
        node.id: fresh[node.id]
        for node in services
        if any(node.properties.get(key) != value for key, value in fresh[node.id].items())
    }
    # In batches, so that no other write waits for all of them.
    for batch in itertools.batched(changed.items(), _BATCH) if hasattr(itertools, "batched") else ():
        await store.annotate(tenant, dict(batch))
    return len(changed)


async def _degrees(store: GraphStore, tenant: str) -> Counter[str]:
    degrees: Counter[str] = Counter()
    for type in EdgeType:
        for source, target in await store.pairs(tenant, type):
            degrees.update({source, target})
    return degrees


@dataclass(frozen=True, slots=True)
class _Estate:
    """Services by number, and the distinct dependencies between them: service n needs `needs[starts[n]:starts[n + 1]]`."""

    ids: list[str]
    starts: _Numbers
    needs: _Numbers


def _estate(services: Sequence[str], depends_on: Sequence[tuple[str, str]]) -> _Estate:
    number = {id: place for place, id in enumerate(dict.fromkeys(services))}
    count = len(number)
    known = (number[a] * count + number[b] for a, b in depends_on if a != b and a in number and b in number)
    edges = np.unique(np.fromiter(known, np.int64))
    starts = np.searchsorted(edges, np.arange(count + 1) * count)
    return _Estate(list(number), starts, edges % max(count, 1))


def _too_few(estate: _Estate) -> bool:
    return len(estate.needs) == 0 or len(estate.needs) < FEWEST * len(estate.ids)


def _saturated(x: float) -> float:
    return x / (x + HALF)


def _weighed_dependents(estate: _Estate) -> NDArray[np.float64]:
    """x of every service. Sixty-four dependents at a time walk towards what they need, a bit each in one word a
    service: what many of them reach, as all reach a hub, costs as much as what one of them reaches. Time is at most the
    services / 64 times the edges, memory some dozens of bytes an edge."""
    total = np.zeros(len(estate.ids), np.int64)
    seen = np.zeros(len(estate.ids), np.uint64)
    dependents = np.flatnonzero(np.diff(estate.starts))
    for start in range(0, len(dependents), _BLOCK):
        rows = dependents[start : start + _BLOCK]
        bits = np.uint64(1) << np.arange(len(rows), dtype=np.uint64)
        seen.fill(0)
        seen[rows] = bits
        for hop in range(HOPS):
            rows, bits = _step(estate, rows, bits, seen)
            if not len(rows):
                break
            total[rows] += np.bitwise_count(bits).astype(np.int64) << (HOPS - 1 - hop)
    return total / (1 << (HOPS - 1))


def _step(estate: _Estate, rows: _Numbers, bits: _Bits, seen: _Bits) -> tuple[_Numbers, _Bits]:
    """One hop from `rows`: the services that walkers reach for the first time, and which walkers. Marks them seen."""
    counts = estate.starts[rows + 1] - estate.starts[rows]
    before = np.cumsum(counts) - counts
    places = np.arange(counts.sum()) + np.repeat(estate.starts[rows] - before, counts)
    needs, walkers = estate.needs[places], np.repeat(bits, counts)
    new = (walkers & ~seen[needs]) != 0
    needs, walkers = needs[new], walkers[new]
    reached = _distinct(needs, len(estate.ids))
    had = seen[reached]
    while len(needs):
        # Of several writes to one service only the last stays, so those that were lost are made again.
        seen[needs] |= walkers
        lost = (walkers & ~seen[needs]) != 0
        needs, walkers = needs[lost], walkers[lost]
    return reached, seen[reached] & ~had


def _distinct(numbers: _Numbers, below: int) -> _Numbers:
    """In linear time, without sorting."""
    if len(numbers) > below // 8:
        present = np.zeros(below, np.bool_)
        present[numbers] = True
        return np.flatnonzero(present)
    return np.unique(numbers)
