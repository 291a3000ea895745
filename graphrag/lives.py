"""What one run of discovery does to the lives of facts: begins them, goes on with them, ends them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar

from graphrag.model import Edge, Facts, Life, Node


class Run:
    """The facts of several sources that are written together. They were seen in one run of discovery, so they have one
    time and one scope; a fact that several of them tell is confirmed once."""

    def __init__(self, parts: Sequence[Facts]) -> None:
        """Raises ValueError for parts of different times or scopes."""
        if len({(part.scope, part.seen_at) for part in parts}) > 1:
            raise ValueError("What is written together was seen at one time and in one scope.")
        self.scope = parts[0].scope
        self.seen_at = utc(parts[0].seen_at)
        self.nodes = [(part.source, fact) for part in parts for fact in part.nodes]
        self.edges = [(part.source, fact) for part in parts for fact in part.edges]
        self.complete = frozenset(part.source for part in parts if part.complete)
        """The sources that said all they have to say."""


_Known = TypeVar("_Known", Node, Edge)


def unseen(run: Run, facts: Mapping[str, _Known], seen: Mapping[str, set[str]]) -> tuple[list[_Known], list[_Known]]:
    """What complete sources no longer see: the facts that nobody else stands for, and those that others do, without
    them."""
    alone: list[_Known] = []
    shared: list[_Known] = []
    for id, fact in facts.items():
        sources = fact.life.sources
        left = tuple(each for each in sources if each not in run.complete or each in seen.get(id, ()))
        if len(left) == len(sources) or fact.scope != run.scope:
            continue
        if left:
            shared.append(replace(fact, life=replace(fact.life, sources=left)))
        else:
            alone.append(fact)
    return alone, shared


def confirmed(run: Run, seen: Iterable[str], known: Mapping[str, Node] | Mapping[str, Edge]) -> int:
    """How many of those seen were there before this run."""
    return sum(id in known and known[id].life.last_seen < run.seen_at for id in seen)


@lru_cache(maxsize=1_024)
def begun(moment: datetime, source: str, confidence: float) -> Life:
    return Life(valid_from=moment, first_seen=moment, last_seen=moment, sources=(source,), confidence=float(confidence))


def seen_again(life: Life, run: Run, source: str, confidence: float) -> Life:
    """Confirmations count runs, which are told by their time: a fact told twice in one run counts once. The surest
    source sets the confidence."""
    return replace(
        life,
        last_seen=max(life.last_seen, run.seen_at),
        confirmations=life.confirmations + (life.last_seen < run.seen_at),
        sources=tuple(dict.fromkeys((*life.sources, source))),
        confidence=max(life.confidence, float(confidence)),
    )


def ended(life: Life, seen_at: datetime) -> Life:
    """The life of a fact that is closed."""
    return replace(life, valid_to=max(life.valid_from, utc(seen_at)))


def utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("Facts need an aware `seen_at`, for instance datetime.now(UTC).")
    return moment.astimezone(UTC)
