"""The reference for walks: the whole graph in arrays in memory, searched breadth first with numpy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.graph_data import Estate

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Reached:
    """One service of an answer. `path` names every service from the start to this one."""

    id: str
    name: str
    hops: int
    path: tuple[str, ...]


@dataclass(frozen=True)
class Around:
    """Hops by id, the start at 0, and the edges (source, target) that were walked between these."""

    hops: dict[str, int]
    edges: frozenset[tuple[str, str]]


class Arrays:
    """The edges of an estate by the service they start from, in one of three directions (CSR)."""

    def __init__(self, estate: Estate) -> None:
        self._names, self._ids = estate.names, estate.ids
        self._sources, self._targets = estate.sources, estate.targets
        edges = np.arange(len(estate.sources))
        self._reaching = _Csr(estate.targets, estate.sources, edges, estate.services)
        self._touching = _Csr(
            np.concatenate([estate.sources, estate.targets]),
            np.concatenate([estate.targets, estate.sources]),
            np.concatenate([edges, edges]),
            estate.services,
        )
        self._seen = np.zeros(estate.services, dtype=bool)

    def blast_radius(self, start: int, hops: int, cap: int) -> list[Reached]:
        """As `graphrag.traverse.blast_radius` answers where only `cap` cuts."""
        walk = self._walk(self._reaching, start, hops, cap)
        paths = {start: (self._names[start],)}
        answer: list[Reached] = []
        for hop, (level, came_from) in enumerate(zip(walk.levels[1:], walk.came_from, strict=True), start=1):
            for here, before in zip(level.tolist(), came_from.tolist(), strict=True):
                name = self._names[here]
                paths[here] = path = (*paths[before], name)
                answer.append(Reached(self._ids[here], name, hop, path))
        return answer

    def neighbourhood(self, start: int, hops: int, cap: int) -> Around:
        """As `graphrag.traverse.neighbourhood` answers where only `cap` cuts."""
        walk = self._walk(self._touching, start, hops, cap)
        inside = np.sort(np.concatenate(walk.levels))
        walked = np.unique(np.concatenate(walk.edges))
        sources, targets = self._sources[walked], self._targets[walked]
        both = _among(sources, inside) & _among(targets, inside)
        ids = self._ids
        return Around(
            {ids[number]: hop for hop, level in enumerate(walk.levels) for number in level.tolist()},
            frozenset(
                (ids[source], ids[target])
                for source, target in zip(sources[both].tolist(), targets[both].tolist(), strict=True)
            ),
        )

    def distances(self, start: int) -> dict[str, int]:
        """How many hops each service is from the start, against the edges; those out of reach are left out."""
        walk = self._walk(self._reaching, start, len(self._ids), len(self._ids))
        return {self._ids[number]: hop for hop, level in enumerate(walk.levels) for number in level.tolist()}

    def _walk(self, csr: _Csr, start: int, hops: int, cap: int) -> _Walk:
        walk = _Walk([np.array([start])], [], [])
        self._seen[start] = True
        room = cap
        for _ in range(hops):
            frontier = walk.levels[-1]
            if not frontier.size:
                break
            origin, there, edges = csr.leaving(frontier)
            walk.edges.append(edges)
            new = ~self._seen[there]
            # `unique` sorts by number, so by name, and keeps the first edge: from the first of the frontier.
            level, first = np.unique(there[new], return_index=True)
            level, first = level[:room], first[:room]
            self._seen[level] = True
            room -= level.size
            walk.levels.append(level)
            walk.came_from.append(frontier[origin[new][first]])
        for level in walk.levels:
            self._seen[level] = False
        return walk


@dataclass(frozen=True)
class _Walk:
    """`levels` by hop, the start first; `came_from` goes with the levels after it; `edges` are all looked at."""

    levels: list[Numbers]
    came_from: list[Numbers]
    edges: list[Numbers]


class _Csr:
    def __init__(self, here: Numbers, there: Numbers, edges: Numbers, services: int) -> None:
        order = np.argsort(here, kind="stable")
        self._there, self._edges = there[order], edges[order]
        self._begins = np.concatenate([[0], np.cumsum(np.bincount(here, minlength=services))])

    def leaving(self, frontier: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """For each edge that starts in the frontier: the place of its start there, its end and its number."""
        begins = self._begins[frontier]
        counts = self._begins[frontier + 1] - begins
        origin = np.repeat(np.arange(frontier.size), counts)
        slots = np.arange(origin.size) + np.repeat(begins - np.cumsum(counts) + counts, counts)
        return origin, self._there[slots], self._edges[slots]


def _among(values: Numbers, ordered: Numbers) -> NDArray[np.bool_]:
    places = np.minimum(np.searchsorted(ordered, values), ordered.size - 1)
    return ordered[places] == values
