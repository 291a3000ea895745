"""How much hangs on each service.

A service is as critical as the services whose DEPENDS_ON chains reach it are many and near. With
`n(h)` the distinct services whose shortest chain to it has h edges:

    x = n(1) + n(2)/2 + n(3)/4 + n(4)/8 + n(5)/16        score = x / (x + HALF)

The score is in [0, 1) and no other service's number is in it, so it compares between services and over time. While too
few dependencies are known, x is instead the number of edges that touch the service.
"""

from __future__ import annotations

import asyncio
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

_CONNECTING = frozenset(EdgeType) - {EdgeType.MENTIONS, EdgeType.IN_COMMUNITY}
"""What makes a service well connected. To be written about, or to have neighbours, does not."""
_BLOCK = 64
_SPARSE = 24
"""A hop over less than this part of all edges is walked from where the walkers are, another is read off all edges."""
_RANKS = 16
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
    degrees = await _degrees(store, tenant) if few else Counter[str]()
    found = await asyncio.to_thread(scores, ids, depends_on, degrees)
    fresh = {id: {"criticality": round(each.score, 4), "criticality_basis": each.basis} for id, each in found.items()}
    changed = {
        node.id: fresh[node.id]
        for node in services
        if any(node.properties.get(key) != value for key, value in fresh[node.id].items())
    }
    ordered = sorted(changed)
    for start in range(0, len(ordered), _BATCH):  # so that no other write waits for all of them
        await store.annotate(tenant, {id: changed[id] for id in ordered[start : start + _BATCH]})
    return len(changed)


async def _degrees(store: GraphStore, tenant: str) -> Counter[str]:
    degrees: Counter[str] = Counter()
    for type in _CONNECTING:
        for source, target in await store.pairs(tenant, type):
            degrees.update({source, target})
    return degrees


@dataclass(frozen=True, slots=True)
class _Estate:
    """Services by number, the most depended on first, and the distinct dependencies between them both ways: service n
    needs `needs[needs_from[n]:needs_from[n + 1]]`, and `needed_by[needed_from[n]:needed_from[n + 1]]` need it."""

    ids: list[str]
    needs: _Numbers
    needs_from: _Numbers
    needed_by: _Numbers
    needed_from: _Numbers


def _estate(services: Sequence[str], depends_on: Sequence[tuple[str, str]]) -> _Estate:
    given = {id: place for place, id in enumerate(dict.fromkeys(services))}
    count = len(given)
    known = (given[a] * count + given[b] for a, b in depends_on if a != b and a in given and b in given)
    edges = np.unique(np.fromiter(known, np.int64))
    sources, targets = np.divmod(edges, max(count, 1))
    order = np.argsort(-np.bincount(targets, minlength=count), kind="stable")
    number = np.argsort(order)
    sources, targets = number[sources], number[targets]
    ids = list(given)
    return _Estate(
        [ids[place] for place in order.tolist()], *_grouped(sources, targets, count), *_grouped(targets, sources, count)
    )


def _grouped(keys: _Numbers, values: _Numbers, count: int) -> tuple[_Numbers, _Numbers]:
    """The values in order of their keys and among themselves, and where those of each key begin."""
    order = np.lexsort((values, keys))
    return values[order], np.searchsorted(keys[order], np.arange(count + 1))


def _too_few(estate: _Estate) -> bool:
    return len(estate.needs) == 0 or len(estate.needs) < FEWEST * len(estate.ids)


def _saturated(x: float) -> float:
    return x / (x + HALF)


def _weighed_dependents(estate: _Estate) -> NDArray[np.float64]:
    """x of every service. Sixty-four dependents at a time walk towards what they need, a bit each in one word a
    service, so that all of them together cross an edge once a hop. Time is at most in proportion to edges times
    services / 64, memory to edges and services."""
    count = len(estate.ids)
    walk = _Walk(
        estate, np.zeros(count, np.uint64), np.zeros(count, np.int64), np.zeros(count, np.int64), _ranks(estate)
    )
    dependents = np.flatnonzero(np.diff(estate.needs_from))
    # Side by side, services that share their most needed supplier share most of their way.
    dependents = dependents[np.argsort(estate.needs[estate.needs_from[dependents]], kind="stable")]
    for start in range(0, len(dependents), _BLOCK):
        walk.from_services(dependents[start : start + _BLOCK])
    return walk.total / (1 << (HOPS - 1))


def _ranks(estate: _Estate) -> tuple[int, list[_Numbers]]:
    """How many services have more than `_RANKS` dependents, and of those after them the first dependent of each, the
    second of each that has two, and so on."""
    counts = np.diff(estate.needed_from)
    stops = [int(np.count_nonzero(counts > rank)) for rank in range(_RANKS + 1)]
    heavy = stops.pop()
    starts = estate.needed_from
    return heavy, [estate.needed_by[starts[heavy:stop] + rank] for rank, stop in enumerate(stops) if stop > heavy]


@dataclass(slots=True)
class _Walk:
    """`seen` holds the walkers that have been at each service, `total` sixteen times what all walkers so far add to its
    x. `last` is room to work in."""

    estate: _Estate
    seen: _Bits
    total: _Numbers
    last: _Numbers
    ranks: tuple[int, list[_Numbers]]

    def from_services(self, rows: _Numbers) -> None:
        bits = np.uint64(1) << np.arange(len(rows), dtype=np.uint64)
        self.seen.fill(0)
        self.seen[rows] = bits
        for hop in range(HOPS):
            if not len(rows):
                return
            starts = self.estate.needs_from[rows]
            counts = self.estate.needs_from[rows + 1] - starts
            if counts.sum() * _SPARSE > len(self.estate.needs):
                self._on_all_edges(rows, bits, hop)
                return
            rows, bits = self._on_edges_from(starts, counts, bits)
            self.total[rows] += _weight(bits, hop)

    def _on_edges_from(self, starts: _Numbers, counts: _Numbers, bits: _Bits) -> tuple[_Numbers, _Bits]:
        """One hop: the services that walkers reach for the first time, and which walkers."""
        ends = np.cumsum(counts)
        places = np.arange(int(counts.sum())) + np.repeat(starts - ends + counts, counts)
        needs, walkers = self.estate.needs[places], np.repeat(bits, counts)
        new = (walkers & ~self.seen[needs]) != 0
        needs, walkers = needs[new], walkers[new]
        order = np.arange(len(needs))
        self.last[needs] = order
        reached = needs[self.last[needs] == order]
        had = self.seen[reached]
        while len(needs):
            # Of several writes to one service only the last stays, so those that were lost are made again.
            self.seen[needs] |= walkers
            lost = (walkers & ~self.seen[needs]) != 0
            needs, walkers = needs[lost], walkers[lost]
        return reached, self.seen[reached] & ~had

    def _on_all_edges(self, rows: _Numbers, bits: _Bits, hop: int) -> None:
        """The hops from `hop` on."""
        front = np.zeros_like(self.seen)
        front[rows] = bits
        for later in range(hop, HOPS):
            front = self._arrivals(front) & ~self.seen
            if not front.any():
                return
            self.seen |= front
            self.total += _weight(front, later)

    def _arrivals(self, front: _Bits) -> _Bits:
        estate, (heavy, ranks) = self.estate, self.ranks
        arrivals = np.zeros_like(front)
        if heavy:
            walkers = front[estate.needed_by[: estate.needed_from[heavy]]]
            arrivals[:heavy] = np.bitwise_or.reduceat(walkers, estate.needed_from[:heavy])
        for dependents in ranks:
            arrivals[heavy : heavy + len(dependents)] |= front[dependents]
        return arrivals


def _weight(bits: _Bits, hop: int) -> _Numbers:
    return np.bitwise_count(bits).astype(np.int64) << (HOPS - 1 - hop)
