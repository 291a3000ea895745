"""Judges answers by what was expected and adds the judgements up. Pure; the words are those of docs/evals.md."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

from evals.case import Case
from graphrag.identity import name_key

Verdict = Literal["correct", "wrong", "abstained"]
RUNBOOKS_SHOWN = 5


@dataclass(frozen=True)
class Offered:
    """A candidate service with its score and, in words, the reasons for it."""

    name: str
    score: float = 0.0
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What the service found for a case. Every list is ranked, best first, whatever the state.

    With `resolved` the first of `services` is the one. `team` is the owner reported, empty when none is; `entities`
    are the names of all that is offered, of whatever kind; `route` is what a question was taken to be about, and `ways`
    are the paths told, each by the names on it.
    """

    resolved: bool
    explanation: str = ""
    services: tuple[Offered, ...] = ()
    team: str = ""
    teams: tuple[str, ...] = ()
    runbooks: tuple[str, ...] = ()
    entities: frozenset[str] = frozenset()
    milliseconds: float = 0.0
    route: str = ""
    ways: tuple[tuple[str, ...], ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.services)


@dataclass(frozen=True)
class Judged:
    """One expectation of one case. `rank` counts from 1; None when nothing offered was right. `verdict` is None for
    what is only ranked."""

    case: str
    of: str
    expected: tuple[str, ...]
    answer: Answer
    verdict: Verdict | None = None
    rank: int | None = None
    abstaining: bool = False
    recall: float = 0.0

    @property
    def named(self) -> bool:
        return bool(self.answer.team) if self.of == "team" else self.answer.resolved

    @property
    def missed(self) -> bool:
        if self.of == "coverage":
            return self.recall < 1
        return self.verdict != "correct" if self.verdict else not _within(self.rank, RUNBOOKS_SHOWN)


@dataclass(frozen=True)
class Scores:
    """`figures` are what the command prints: counts, and shares in [0, 1], None where no case asks for it.
    `resolved` counts, for what is named, the cases in which something was."""

    figures: Mapping[str, Mapping[str, Any]]
    resolved: Mapping[str, int]
    misses: tuple[Judged, ...] = field(default=())


def judge(case: Case, answer: Answer) -> list[Judged]:
    """The judgement of each expectation the case has."""
    expect = case.expect
    judged: list[Judged] = []
    if expect.service or expect.abstain:
        verdict = _verdict(answer.names, expect.service, answer.resolved)
        if expect.abstain:
            verdict = "wrong" if answer.resolved else "correct"
        rank = _rank(answer.names, expect.service, name_key)
        judged.append(Judged(case.id, "service", expect.service, answer, verdict, rank, expect.abstain))
    if expect.team:
        named = (answer.team,) if answer.team else ()
        verdict = _verdict(named, expect.team, bool(named))
        judged.append(Judged(case.id, "team", expect.team, answer, verdict, _rank(answer.teams, expect.team, name_key)))
    if expect.root:
        verdict = _verdict(answer.names, expect.root, answer.resolved)
        judged.append(Judged(case.id, "root", expect.root, answer, verdict, _rank(answer.names, expect.root, name_key)))
    if expect.runbook:
        rank = _rank(answer.runbooks, expect.runbook, str)
        judged.append(Judged(case.id, "runbook", expect.runbook, answer, rank=rank))
    if expect.route:
        verdict = "correct" if answer.route == expect.route else "wrong"
        judged.append(Judged(case.id, "route", (expect.route,), answer, verdict))
    if expect.path:
        told = [" > ".join(way) for way in answer.ways]
        right = tuple(" > ".join(path) for path in expect.path)
        place = _rank(told, right, _way_key)
        verdict = "abstained" if not told else "correct" if place else "wrong"
        judged.append(Judged(case.id, "path", right, answer, verdict, place))
    if expect.community:
        offered = {name_key(name) for name in answer.entities}
        recall = fmean(name_key(name) in offered for name in expect.community)
        judged.append(Judged(case.id, "coverage", expect.community, answer, recall=recall))
    return judged


def _verdict(named: Sequence[str], expected: Sequence[str], resolved: bool) -> Verdict:
    if not resolved:
        return "abstained"
    return "correct" if _rank(named[:1], expected, name_key) else "wrong"


def _rank(offered: Sequence[str], expected: Collection[str], key: Callable[[str], str]) -> int | None:
    right = {key(name) for name in expected}
    return next((rank for rank, name in enumerate(offered, start=1) if key(name) in right), None)


def _way_key(way: str) -> str:
    """The same whichever end it is told from."""
    names = [name_key(name) for name in way.split(" > ")]
    return ">".join(min(names, names[::-1]))


def scores(cases: Sequence[Case], answers: Sequence[Answer]) -> Scores:
    """The figures of all cases together; `answers` are in the order of `cases`."""
    judged = [each for case, answer in zip(cases, answers, strict=True) for each in judge(case, answer)]
    of: dict[str, list[Judged]] = defaultdict(list)
    for each in judged:
        of[each.of].append(each)
    times = sorted(answer.milliseconds for answer in answers)
    figures = {
        "service": _named(of["service"]),
        "team": _named(of["team"]),
        "root": _named(of["root"]),
        "route": _decided(of["route"]),
        "path": _decided(of["path"]),
        "runbook": _ranked(of["runbook"]),
        "coverage": {"n": len(of["coverage"]), "recall": _mean([each.recall for each in of["coverage"]])},
        "latency_ms": {"p50": _percentile(times, 0.5), "p95": _percentile(times, 0.95)},
    }
    resolved = {kind: sum(each.named for each in of[kind]) for kind in ("service", "team", "root")}
    return Scores(figures, resolved, tuple(each for each in judged if each.missed))


def _named(judged: Sequence[Judged]) -> dict[str, Any]:
    """hit@k counts only cases that say what would be right."""
    listed = [each for each in judged if each.expected]
    return {
        "n": len(judged),
        **{verdict: sum(each.verdict == verdict for each in judged) for verdict in ("correct", "wrong", "abstained")},
        **{f"hit@{k}": _mean([_within(each.rank, k) for each in listed]) for k in (1, 3)},
    }


def _decided(judged: Sequence[Judged]) -> dict[str, Any]:
    return {
        "n": len(judged),
        **{verdict: sum(each.verdict == verdict for each in judged) for verdict in ("correct", "wrong", "abstained")},
    }


def _ranked(judged: Sequence[Judged]) -> dict[str, Any]:
    """`page_macro_hit@5` weighs every page alike, however many alerts lead to it."""
    pages: dict[str, list[bool]] = defaultdict(list)
    for each in judged:
        for page in each.expected:
            pages[page].append(_within(each.rank, 5))
    return {
        "n": len(judged),
        **{f"hit@{k}": _mean([_within(each.rank, k) for each in judged]) for k in (1, 5)},
        "mrr": _mean([1 / each.rank if each.rank else 0.0 for each in judged]),
        "page_macro_hit@5": _mean([fmean(hits) for hits in pages.values()]),
    }


def _within(rank: int | None, k: int) -> bool:
    return rank is not None and rank <= k


def _mean(values: Sequence[float]) -> float | None:
    return round(fmean(values), 4) if values else None


def _percentile(ordered: Sequence[float], share: float) -> float | None:
    """The least value that this share of all does not exceed."""
    return round(ordered[max(0, math.ceil(share * len(ordered)) - 1)], 2) if ordered else None
