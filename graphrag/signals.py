"""What an alert or a question says about which service it is: names with where they came from, and text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import promql_parser as promql

MAX_SIGNALS = 400
MAX_VALUE = 300
MAX_TEXT = 4_000
MAX_EXPRESSION = 8_000
_TEMPLATE = re.compile(r"\{\{.*?(?:\}\}|\Z)|\{%.*?(?:%\}|\Z)", re.DOTALL)
_PLAIN = re.compile(r"[\w:/-]+")
_METRIC_LABEL = "__name__"


@dataclass(frozen=True)
class Signal:
    """A value that may name a service. `origin` is a label's key, `matcher KEY` (a metric's is `__name__`), `text` or
    `question`."""

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
        kept = _TEMPLATE.sub(" ", value[: 4 * limit]).strip()[:limit]
        if kept:
            yield key, kept


def _from_expressions(expressions: Iterable[str]) -> Iterator[Signal]:
    for expression in expressions:
        for key, value in matchers(expression):
            yield Signal(f"matcher {key}", value[:MAX_VALUE])


_STRING = r""""(?:\\.|[^"\\])*+"|'(?:\\.|[^'\\])*+'|`[^`]*+`"""
_PROMQL = re.compile(
    rf"""(?P<string>{_STRING})
    |(?<![\w:])(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*+\)
    |(?<![\w:])(?:(?P<metric>[a-zA-Z_:][\w:]*+)\s*)?\{{(?:[^{{}}"'`]|{_STRING}){{0,2000}}+\}}
    |(?<![\w:])[a-zA-Z_:][\w:]*+\s*\(
    |(?<![\w:])(?P<bare>[a-zA-Z_:][\w:]*+)(?!\s+(?:by|without)\b)""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_KEYWORDS = frozenset(
    {"and", "or", "unless", "bool", "offset", "by", "without", "on", "ignoring", "inf", "nan", "start"}
)


def matchers(expression: str) -> tuple[tuple[str, str], ...]:
    """Label and value of each matcher that asks for a value, and the metrics' names, of an expression. Alternatives
    (`a|b`) come one by one; patterns give nothing.

    The selectors are cut out first and parsed one by one: an error elsewhere costs none of them, and walking a whole
    parsed expression takes time that grows with the cube of its length.
    """
    found: dict[tuple[str, str], None] = {}
    for match in _PROMQL.finditer(expression[:MAX_EXPRESSION]):
        bare = match["bare"]
        if bare and bare.lower() not in _KEYWORDS:
            found[(_METRIC_LABEL, bare)] = None
        elif match.group().endswith("}"):
            found.update(dict.fromkeys(_of_selector(match.group())))
    return tuple(found)


def _of_selector(selector: str) -> Iterator[tuple[str, str]]:
    try:
        parsed = promql.parse(selector)
    except ValueError:
        return
    if isinstance(parsed, promql.VectorSelector):
        if parsed.name:
            yield _METRIC_LABEL, parsed.name
        for matcher in parsed.matchers.matchers:
            yield from _values(matcher)


def _values(matcher: promql.Matcher) -> Iterator[tuple[str, str]]:
    if matcher.op == promql.MatchOp.Equal and matcher.value:
        yield matcher.name, matcher.value
    elif matcher.op == promql.MatchOp.Re:
        for value in matcher.value.split("|"):
            if _PLAIN.fullmatch(value):
                yield matcher.name, value
