"""Spreading activation: what was matched wakes what it hangs together with. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

HOPS = 2
DECAY = 0.5
FLOOR = 0.02


class Link(NamedTuple):
    """A way from one thing to another and back, with a weight in [0, 1]."""

    here: str
    there: str
    weight: float = 1.0


def spread(
    start: Mapping[str, float], links: Iterable[Link], hops: int = HOPS, decay: float = DECAY, floor: float = FLOOR
) -> dict[str, float]:
    """The activation that reaches each id from `start` within `hops`, what it had at the start not counted.

    Each hop carries the activation times the link's weight times `decay`, and what comes in over several links adds
    up. An id with less than `floor` passes nothing on, so that a faint trace does not wake the whole graph.
    """
    ways: dict[str, dict[str, float]] = defaultdict(dict)
    for here, there, weight in links:
        ways[here][there] = max(weight, ways[here].get(there, 0.0))
        ways[there][here] = max(weight, ways[there].get(here, 0.0))
    reached: dict[str, float] = defaultdict(float)
    wave = {id: activation for id, activation in start.items() if activation >= floor}
    for _ in range(hops):
        following: dict[str, float] = defaultdict(float)
        for id in sorted(wave):
            for there, weight in ways.get(id, {}).items():
                following[there] += wave[id] * weight * decay
        for id, activation in following.items():
            reached[id] += activation
        wave = {id: activation for id, activation in following.items() if activation >= floor}
    return dict(reached)
