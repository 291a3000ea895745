"""Which nodes hang together: hierarchical Leiden over weighted edges, and which communities outlive a change. Pure.

The coarsest communities are level 0. One of more than `LARGEST` members is split again by the edges inside it, a level
down, until it is small enough or does not fall apart. So at every level a node is in one community: that of the level,
or the one above it that needed no further splitting (`at_level`).
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import graspologic_native  # pyright: ignore[reportMissingTypeStubs]

LARGEST = 50
"""A community of more members than this is split."""
ALIKE = 0.5
"""The part of all members of two communities that both must have for them to be one community, then and now."""
SEED = 7

_WHOLE = 4
"""So few nodes that hang together are one community."""
_ROUNDS = 5
"""Leiden's iterations. After one, communities are so unsettled that a single new edge moves most of them; after five,
few."""
_LEAST = 1e-9
_MOST = 1e9

WeightedEdge = tuple[str, str, float]


class _Leiden(Protocol):
    """The part of the library that is used; it comes without types."""

    def leiden(
        self, edges: Sequence[WeightedEdge], starting_communities: dict[str, int], *, iterations: int, seed: int
    ) -> tuple[float, dict[str, int]]: ...


@dataclass(frozen=True, slots=True)
class Cluster:
    """`members` are node ids in order; `parent` is the place of the cluster one level up in the list that both are
    in, None at level 0."""

    level: int
    members: tuple[str, ...]
    parent: int | None = None


def cluster(
    nodes: Iterable[str], weighted_edges: Iterable[WeightedEdge], seed: int = SEED, start: Iterable[Cluster] = ()
) -> list[Cluster]:
    """The communities of a graph, those of each level after those of the level above. Direction does not count and
    edges between the same two nodes add up; those with an end elsewhere, of a node with itself or without a positive
    weight do not count. What does not hang together is never in one community of level 0, whatever the rest.

    The same graph, seed and start give the same answer. `start` is an earlier answer: it is improved upon, so that
    little moves where little has changed.
    """
    ids = sorted(set(nodes))
    width = len(str(len(ids)))
    known = {id: str(place).zfill(width) for place, id in enumerate(ids)}  # short names, in the same order
    earlier = _earlier(known, start)
    clusters: list[Cluster] = []
    pending: list[_Piece] = [_Piece(None, list(known.values()), _summed(known, weighted_edges))]
    level = 0
    while pending:
        before = len(clusters)
        for piece in pending:
            parts = _parts(piece, earlier[level], seed)
            if piece.parent is None or len(parts) > 1:
                clusters += (Cluster(level, tuple(part), piece.parent) for part in parts)
        large = {place: each for place, each in enumerate(clusters[before:], before) if len(each.members) > LARGEST}
        pending = _inside(large, pending)
        level += 1
    return [Cluster(each.level, tuple(ids[int(name)] for name in each.members), each.parent) for each in clusters]


def at_level(clusters: Sequence[Cluster], level: int) -> list[Cluster]:
    """The communities that a level divides all nodes into: its own, and those above it that were not split."""
    split = {each.parent for each in clusters}
    return [
        each
        for place, each in enumerate(clusters)
        if each.level == level or (each.level < level and place not in split)
    ]


def stable_ids(previous: Mapping[str, Cluster], now: Sequence[Cluster]) -> list[str]:
    """An id for each cluster: that of the earlier one on its level that it shares the most members with, if that is at
    least `ALIKE` of all members of the two; else a new one, from what it holds."""
    was: dict[tuple[int, str], str] = {}
    for id, each in previous.items():
        was.update(dict.fromkeys(((each.level, member) for member in each.members), id))
    pairs: list[tuple[float, str, int]] = []
    for place, each in enumerate(now):
        shared = Counter(was[key] for member in each.members if (key := (each.level, member)) in was)
        for id, count in shared.items():
            alike = count / (len(each.members) + len(previous[id].members) - count)
            if alike >= ALIKE:
                pairs.append((-alike, id, place))
    ids: dict[int, str] = {}
    taken: set[str] = set()
    # On one level clusters share no member, so only at exactly a half can one have two partners: the best come first.
    for _, id, place in sorted(pairs):
        if id not in taken and place not in ids:
            taken.add(id)
            ids[place] = id
    for place, each in enumerate(now):
        if place not in ids:
            ids[place] = _new_id(each, taken)
            taken.add(ids[place])
    return [ids[place] for place in range(len(now))]


def changed(previous: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The ids that are new or whose hash, of all that a summary is made from, is another; in order."""
    return sorted(id for id, told in now.items() if previous.get(id) != told)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Nodes in order, by short names, and the edges among them, the smaller end first and in order."""

    parent: int | None
    members: list[str]
    edges: list[WeightedEdge]


def _summed(known: Mapping[str, str], weighted_edges: Iterable[WeightedEdge]) -> list[WeightedEdge]:
    weights: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    for source, target, weight in weighted_edges:
        a, b = known.get(source), known.get(target)
        if a is not None and b is not None and a != b and weight > 0:
            weights[(a, b) if a < b else (b, a)].append(weight)
    # The library gives up on a graph whose weights add up to nothing, and a sum differs with its order.
    return [
        (a, b, min(max(each[0] if len(each) == 1 else sum(sorted(each)), _LEAST), _MOST))
        for (a, b), each in sorted(weights.items())
    ]


def _earlier(known: Mapping[str, str], start: Iterable[Cluster]) -> defaultdict[int, dict[str, int]]:
    """For each level, the number of the cluster that each node was in."""
    earlier: defaultdict[int, dict[str, int]] = defaultdict(dict)
    for number, each in enumerate(start):
        earlier[each.level].update((known[member], number) for member in each.members if member in known)
    return earlier


def _parts(piece: _Piece, earlier: Mapping[str, int], seed: int) -> list[list[str]]:
    """The communities of a piece, those with the smallest id first. Each part that hangs together is looked at by
    itself, so that what happens in one changes nothing in another."""
    root = _roots(piece.members, piece.edges)
    edges: defaultdict[str, list[WeightedEdge]] = defaultdict(list)
    for edge in piece.edges:
        edges[root[edge[0]]].append(edge)
    whole: defaultdict[str, list[str]] = defaultdict(list)
    for id in piece.members:
        whole[root[id]].append(id)
    parts: list[list[str]] = []
    for first, members in whole.items():
        parts += [members] if len(members) <= _WHOLE else _leiden(members, edges[first], earlier, seed)
    return sorted(parts)


def _leiden(
    members: list[str], edges: Sequence[WeightedEdge], earlier: Mapping[str, int], seed: int
) -> list[list[str]]:
    # The library breaks down over a start community that does not hang together, so each part of one is its own.
    root = _roots(members, (edge for edge in edges if earlier.get(edge[0], -1) == earlier.get(edge[1], -2)))
    numbers: dict[str, int] = {}
    start = {id: numbers.setdefault(root[id], len(numbers)) for id in members}
    library = cast(_Leiden, graspologic_native)
    _, found = library.leiden(edges, start, iterations=_ROUNDS, seed=seed)
    parts: defaultdict[int, list[str]] = defaultdict(list)
    for id in members:
        parts[found[id]].append(id)
    return list(parts.values())


def _roots(members: Iterable[str], edges: Iterable[WeightedEdge]) -> dict[str, str]:
    """For each node, one node of those it hangs together with, the same for all of them."""
    above = {id: id for id in members}
    for a, b, _ in edges:
        top, other = _top(above, a), _top(above, b)
        if top != other:
            above[max(top, other)] = min(top, other)
    return {id: _top(above, id) for id in above}


def _top(above: dict[str, str], id: str) -> str:
    while above[id] != id:
        above[id] = id = above[above[id]]
    return id


def _inside(large: Mapping[int, Cluster], pieces: Iterable[_Piece]) -> list[_Piece]:
    """What is to be split next: each large cluster with the edges between its own members."""
    home = {member: place for place, each in large.items() for member in each.members}
    edges: dict[int, list[WeightedEdge]] = {place: [] for place in large}
    for piece in pieces:
        for edge in piece.edges:
            place = home.get(edge[0])
            if place is not None and home.get(edge[1]) == place:
                edges[place].append(edge)
    return [_Piece(place, list(each.members), edges[place]) for place, each in large.items()]


def _new_id(cluster: Cluster, taken: Collection[str]) -> str:
    """From the level and the members. Another may still bear the id that it got when it held just these."""
    content = "\x1f".join((str(cluster.level), *cluster.members)).encode("utf-8", "replace")
    for salt in range(len(taken) + 1):
        id = "community-" + hashlib.blake2b(content, digest_size=8, salt=salt.to_bytes(8)).hexdigest()
        if id not in taken:
            return id
    raise AssertionError("one of so many ids is free")
