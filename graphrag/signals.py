"""What an alert or a question says about which service it is: names with where they came from, and text. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import promql_parser as promql

from graphrag.label_keys import NOTHING_LEARNT, NOTHING_TOLD, Kind, ToldKeys, Uses, kind_of

MAX_SIGNALS = 400
MAX_ALERTS = 50
MAX_LABELS = 300
MAX_VALUE = 300
MAX_TEXT = 4_000
MAX_NOTES = 20
MAX_EXPRESSION = 8_000
_TEMPLATE = re.compile(r"\{\{.*?(?:\}\}|\Z)|\{%.*?(?:%\}|\Z)", re.DOTALL)
_ASKED = re.compile(
    r"""\{\{-?\s*(?:\$labels|\.Labels)\.(?P<before>\w+)[^{}]{0,80}\}\}[`'"*]?\s+service\b
    |\bservice:?\s+[`'"*]?\{\{-?\s*(?:\$labels|\.Labels)\.(?P<after>\w+)""",
    re.VERBOSE | re.IGNORECASE,
)
_LABEL = re.compile(r"\{\{[^{}]{0,200}?(?:\$labels|\.Labels)\.(\w+)")
_PLAIN = re.compile(r"[\w:/-]+")
_METRIC_LABEL = "__name__"
_ASIDES = ("runbook", "playbook", "dashboard", "url", "link", "doc")


@dataclass(frozen=True)
class Signal:
    """A value that may name a service. `origin` is a label's key, `matcher KEY` (a metric's is `__name__`), or what
    kind of text it is: `text` (a summary, or whatever an alert says of itself), `description` (longer text, where
    others are mentioned too), `aside` (what points elsewhere, as a runbook's address does) or `question`."""

    origin: str
    value: str


@dataclass(frozen=True)
class AlertSignals:
    """What one alert says. `templated` are keys of labels whose template stands, unfilled, in its text; `asked` those
    of them that stand where it says which service it is."""

    names: tuple[Signal, ...]
    asked: frozenset[str] = frozenset()
    templated: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Signals:
    """`names` are looked up as they are; names inside `text` are searched for; `text` also feeds the searches. Of a
    group, `alerts` says which alert said what; equal ones are one."""

    names: tuple[Signal, ...]
    text: str
    alerts: tuple[AlertSignals, ...] = ()


def signals_from_question(question: str) -> Signals:
    return Signals(names=(Signal("question", question[:MAX_TEXT]),), text=question[:MAX_TEXT])


def signals_from_alerts(
    labels: Sequence[Mapping[str, str]],
    annotations: Sequence[Mapping[str, str]],
    expressions: Sequence[str],
    told: ToldKeys = NOTHING_TOLD,
) -> Signals:
    """The signals of a group of alerts: every label's value whatever its key, the matchers of the expressions, and the
    annotations as text. The n-th of each is of the n-th alert. Values are cut at `MAX_VALUE`; what is left of a
    template is dropped. Of more than `MAX_LABELS` labels those are kept whose keys mean something, or are `told` to."""
    known = told.over(NOTHING_LEARNT)
    alerts = dict.fromkeys(
        _of_alert(*each, known) for each in zip_longest(labels, annotations, expressions, fillvalue=None) if any(each)
    )
    said = dict.fromkeys(signal for alert in alerts for signal in alert.names if signal.origin not in _NOTES)
    notes = dict.fromkeys(signal for alert in alerts for signal in alert.names if signal.origin in _NOTES)
    names = (*list(said)[:MAX_SIGNALS], *list(notes)[:MAX_NOTES])
    alertnames = dict.fromkeys(each["alertname"] for each in labels if each.get("alertname"))
    values = (signal.value for signal in names if signal.origin != "alertname" and signal.origin not in _NOTES)
    text = " ".join([*alertnames, *values, *(note.value for note in notes)])
    kept = frozenset(names)
    bounded = dict.fromkeys(
        replace(alert, names=tuple(signal for signal in alert.names if signal in kept)) for alert in alerts
    )
    return Signals(names, text[:MAX_TEXT], tuple(bounded)[:MAX_ALERTS])


_NOTES = frozenset({"text", "description", "aside"})


def _of_alert(
    labels: Mapping[str, str] | None,
    annotations: Mapping[str, str] | None,
    expression: str | None,
    known: Uses,
) -> AlertSignals:
    notes = sorted((annotations or {}).items(), key=lambda note: _kind_of_note(note[0]) != "text")
    asked = {match["before"] or match["after"] for _, text in notes for match in _ASKED.finditer(text[:MAX_TEXT])}
    templated = {key for _, text in notes for key in _LABEL.findall(text[:MAX_TEXT])}
    kept = sorted(_clean(labels or {}), key=lambda label: _is_unknown(label[0], known))[:MAX_LABELS]
    names = dict.fromkeys(
        [
            *(Signal(key, value) for key, value in kept),
            *(Signal(f"matcher {key}", value[:MAX_VALUE]) for key, value in matchers(expression or "")),
            *(Signal(_kind_of_note(key), value) for key, value in _clean(dict(notes), MAX_TEXT)),
        ]
    )
    return AlertSignals(tuple(names), frozenset(asked), frozenset(templated))


def _is_unknown(key: str, known: Uses) -> bool:
    """Of too many labels those whose keys mean something are the ones to keep."""
    return key != "alertname" and kind_of(key, known) is Kind.OTHER


def _kind_of_note(key: str) -> str:
    spelled = key.lower()
    if any(word in spelled for word in _ASIDES):
        return "aside"
    return "description" if "descri" in spelled else "text"


def _clean(values: Mapping[str, str], limit: int = MAX_VALUE) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        kept = _TEMPLATE.sub(" ", value[: 4 * limit]).strip()[:limit]
        if kept:
            yield key, kept


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
