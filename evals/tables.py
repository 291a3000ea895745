"""Prints scores: as a table in a terminal, with the misses, and as the page of results. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evals.metrics import Judged, Offered, Scores

_SHOWN = 5
_NAMED = ("service", "team", "root")
_DECIDED = ("route", "path")
_COLUMNS = (
    *("organisation", "cases", "asked for", "n", "coverage", "confidently wrong", "correct", "abstained"),
    *("hit@1", "hit@3"),
)


@dataclass(frozen=True)
class Scored:
    """The scores of one file of cases about one organisation."""

    organisation: str
    cases: str
    scores: Scores


def table(scores: Scores) -> str:
    """A line for each kind of expectation that some case has."""
    lines: list[str] = []
    for name, figures in scores.figures.items():
        if figures.get("n") == 0:
            continue
        lines.append(f"{name:<12}" + "  ".join(f"{key} {_figure(value)}" for key, value in figures.items()))
    return "\n".join(lines)


def failures(misses: Iterable[Judged]) -> str:
    """What was missed, each with what was offered instead and why."""
    return "\n".join(line for miss in misses for line in _miss(miss))


def failures_json(misses: Iterable[Judged]) -> list[dict[str, Any]]:
    return [
        {
            "case": miss.case,
            "of": miss.of,
            "expected": list(miss.expected),
            "verdict": miss.verdict,
            "rank": miss.rank,
            "explanation": miss.answer.explanation,
            "candidates": [
                {
                    "name": name,
                    "score": offered.score if offered else None,
                    "reasons": list(offered.reasons if offered else ()),
                }
                for name, offered in _offered(miss)
            ],
        }
        for miss in misses
    ]


def _miss(miss: Judged) -> Iterator[str]:
    expected = ("no single one" if miss.abstaining else "") or " or ".join(miss.expected)
    place = f"first right at {miss.rank}" if miss.rank else "nothing right offered"
    yield f"{miss.case}: {miss.of} {miss.verdict or 'missed'}, expected {expected}; {place}"
    yield f"    {miss.answer.explanation}"
    for name, offered in _offered(miss):
        yield f"    - {name}" + (f" {offered.score:.2f}: {'; '.join(offered.reasons)}" if offered else "")


def _offered(miss: Judged) -> list[tuple[str, Offered | None]]:
    if miss.of in ("route", "path"):
        told = [" > ".join(way) for way in miss.answer.ways[:_SHOWN]] if miss.of == "path" else []
        return [(text, None) for text in (told or [miss.answer.route])]
    if miss.of == "runbook":
        return [(path, None) for path in miss.answer.runbooks[:_SHOWN]]
    if miss.of == "team":
        return [(team, None) for team in miss.answer.teams[:_SHOWN]]
    return [(each.name, each) for each in miss.answer.services[:_SHOWN]]


def results(scored: Sequence[Scored], absent: Sequence[str], store: str) -> str:
    """The page of results: how often it answers, beside how often it is sure and wrong. Nothing in it depends on the
    time or the machine."""
    named = [
        [each.organisation, each.cases, kind, *_named_row(figures, each.scores.resolved[kind])]
        for each in scored
        for kind in _NAMED
        if (figures := each.scores.figures[kind])["n"]
    ]
    runbooks = [
        [each.organisation, each.cases, *map(_figure, figures.values())]
        for each in scored
        if (figures := each.scores.figures["runbook"])["n"]
    ]
    questions = [
        [each.organisation, each.cases, kind, *map(_figure, figures.values())]
        for each in scored
        for kind in _DECIDED
        if (figures := each.scores.figures[kind])["n"]
    ]
    parts = [
        f"# Results\n\nWritten by `make evals`, with the graph in {store}.",
        "What each number means: [docs/evals.md](../../docs/evals.md).\n",
        _markdown(_COLUMNS, named),
        _markdown(["organisation", "cases", "n", "hit@1", "hit@5", "mrr", "page_macro_hit@5"], runbooks),
        _markdown(["organisation", "cases", "asked for", "n", "correct", "wrong", "abstained"], questions),
        *(f"{sentence}\n" for sentence in absent),
    ]
    return "\n".join(part for part in parts if part)


def _named_row(figures: Mapping[str, Any], resolved: int) -> list[str]:
    """Coverage is the share of cases in which one was named at all, where none should be named too."""
    count = figures["n"]
    shares = [f"{resolved / count:.1%}", f"{figures['wrong'] / count:.1%} ({figures['wrong']})"]
    counts = [str(figures["correct"]), str(figures["abstained"])]
    return [str(count), *shares, *counts, _figure(figures["hit@1"]), _figure(figures["hit@3"])]


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _figure(value: float | int | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3f}"
