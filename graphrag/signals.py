"""What an alert or a question says about which service it is: names with where they came from, and text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import promql_parser as promql

MAX_SIGNALS = 400
MAX_VALUE = 300
MAX_TEXT = 4_000
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
_METRIC_LABEL = "__name__"


@dataclass(frozen=True)
class Signal:
    """A value that may name a service. `origin` is a label's key, `matcher KEY`, `metric`, or `text`."""

    origin: str
    value: str


@dataclass(frozen=True)
class Signals:
    """`names` are looked up as they are; names inside `text` are searched for; `text` also feeds the searches."""

    names: tuple[Signal, ...]
    text: str


def signals_from_question(question: str) -> Signals:
    return Signals(names=(Signal("question", question[:MAX_TEXT]),), text=question[:MAX_TEXT])


def signals_from_alerts(
    labels: Sequence[Mapping[str, str]], annotations: Sequence[Mapping[str, str]], expressions: Sequence[str]
) -> Signals:
    """The signals of a group of alerts: every label's value whatever its key, the matchers of the expressions, and the
    annotations as text. Values are cut at `MAX_VALUE`; what is left of a template is dropped."""
    names = dict.fromkeys(
        [*(Signal(key, value) for each in labels for key, value in _clean(each)), *_from_expressions(expressions)]
    )
    notes = dict.fromkeys(value for each in annotations for _, value in _clean(each, MAX_TEXT))
    alertnames = dict.fromkeys(each["alertname"] for each in labels if each.get("alertname"))
    text = " ".join([*alertnames, *(signal.value for signal in names if signal.origin != "alertname"), *notes])
    return Signals(
        names=(*list(names)[:MAX_SIGNALS], *(Signal("text", note) for note in list(notes)[:20])),
        text=text[:MAX_TEXT],
    )


def _clean(values: Mapping[str, str], limit: int = MAX_VALUE) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        kept = _TEMPLATE.sub(" ", value).strip()[:limit]
        if kept:
            yield key, kept


def _from_expressions(expressions: Iterable[str]) -> Iterator[Signal]:
    for expression in expressions:
        for key, value in matchers(expression):
            yield Signal(f"matcher {key}", value[:MAX_VALUE])


def matchers(expression: str) -> tuple[tuple[str, str], ...]:
    """Label and value of each matcher that asks for a value, and the metrics' names, of an expression. Alternatives
    (`a|b`) come one by one; patterns and what cannot be parsed give nothing."""
    found: dict[tuple[str, str], None] = {}

    def collect(node: promql.Expr) -> None:
        selector = node.vector_selector if isinstance(node, promql.MatrixSelector) else node
        if isinstance(selector, promql.VectorSelector):
            if selector.name:
                found[(_METRIC_LABEL, selector.name)] = None
            for matcher in selector.matchers.matchers:
                found.update(dict.fromkeys(_values(matcher)))

    try:
        promql.walk(promql.parse(expression[:20_000]), collect)
    except (ValueError, RecursionError):
        return ()
    return tuple(found)


def _values(matcher: promql.Matcher) -> Iterator[tuple[str, str]]:
    if matcher.op == promql.MatchOp.Equal and matcher.value:
        yield matcher.name, matcher.value
    elif matcher.op == promql.MatchOp.Re:
        for value in matcher.value.split("|"):
            if re.fullmatch(r"[\w.:/-]+", value):
                yield matcher.name, value
