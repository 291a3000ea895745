"""Ranks what was found: lists are fused by reciprocal rank, then every result is scored by six terms. Pure, untrained.

Each term lies in [0, 1] and counts with a weight from the settings. A result carries its breakdown: what each term adds
to its score.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime

from graphrag.model import Properties

RRF_K = 60
"""The constant of reciprocal rank fusion; 60 is what Cormack, Clarke and Büttcher (SIGIR 2009) found good."""
HALF_LIFE_DAYS = 90.0
_CONFIRMED_HALF = 3
_PRIOR_STRENGTH = 5.0


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each term of a result's score counts, each at least 0."""

    semantic: float = 0.1
    text: float = 0.5
    graph: float = 0.25
    recent: float = 0.02
    usage: float = 0.15
    confirm: float = 0.02


@dataclass(frozen=True, slots=True)
class Terms:
    """Why a result is good, each in [0, 1]: likeness of meaning (`semantic`), shared words (`text`), nearness to what
    the alert is about (`graph`), how lately it was seen (`recent`), how often such a thing helped (`usage`), and how
    many runs of discovery saw it (`confirm`)."""

    semantic: float = 0.0
    text: float = 0.0
    graph: float = 0.0
    recent: float = 0.0
    usage: float = 0.0
    confirm: float = 0.0


TERMS = tuple(each.name for each in fields(Terms))


def breakdown(terms: Terms, weights: Weights) -> dict[str, float]:
    """What each term adds to the score; their sum is the score."""
    return {name: getattr(weights, name) * getattr(terms, name) for name in TERMS}


def fuse(lists: Sequence[Sequence[str]], k: int = RRF_K) -> dict[str, float]:
    """Reciprocal rank fusion: the score of an id is the sum over lists of 1 / (k + rank)."""
    parts: dict[str, list[float]] = defaultdict(list)
    for ids in lists:
        for rank, id in enumerate(dict.fromkeys(ids), start=1):
            parts[id].append(1 / (k + rank))
    return {id: math.fsum(each) for id, each in parts.items()}


def scaled(scores: Mapping[str, float]) -> dict[str, float]:
    """The scores as shares of the highest, in [0, 1]; what is not above zero is 0."""
    highest = max(scores.values(), default=0.0)
    if highest <= 0:
        return dict.fromkeys(scores, 0.0)
    return {id: min(1.0, max(0.0, score) / highest) for id, score in scores.items()}


def recency(last_seen: datetime, now: datetime) -> float:
    """1 now, a half after `HALF_LIFE_DAYS`. Both times are aware."""
    days = max(0.0, (now - last_seen).total_seconds() / 86_400)
    return 0.5 ** (days / HALF_LIFE_DAYS)


def confirmed(confirmations: int) -> float:
    """0 for what was never seen, a half for what three runs saw, towards 1."""
    return max(0, confirmations) / (max(0, confirmations) + _CONFIRMED_HALF)


def prior(properties: Properties, expected: float) -> float:
    """The share of the times it was `offered` in which it `helped`, drawn towards what is `expected` of its kind, in
    [0, 1], while it was offered a few times only."""
    offered = max(0.0, _number(properties, "offered"))
    helped = min(offered, max(0.0, _number(properties, "helped")))
    return (helped + _PRIOR_STRENGTH * expected) / (offered + _PRIOR_STRENGTH)


def _number(properties: Properties, key: str) -> float:
    value = properties.get(key, 0)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else 0.0
