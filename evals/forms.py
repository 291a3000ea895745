"""The forms in which one rule's alert may reach the service, from the one that tells most to the one that tells least.

Live: with every label. Expression: the label that names the service is gone, the expression is whole. Text: what in
labels and matchers bears the answer is gone too; the names of alert and metrics and the words are left. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from evals.case import alert, webhook
from graphrag.identity import name_words

_STRING = r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`"""
# Comments and strings are read too, so that what looks like a matcher inside them is left alone.
_MATCHER = re.compile(
    rf"""\#[^\n]*|(?P<matcher>(?P<key>[a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)\s*(?P<value>{_STRING})\s*,?\s*)|(?:{_STRING})""",
    re.VERBOSE | re.DOTALL,
)
_LABEL_TEMPLATE = re.compile(r"\{\{-?\s*\$labels\.(\w+)\s*-?\}\}")


@dataclass(frozen=True)
class Rule:
    """An alerting rule as written: templates in its annotations are not filled in."""

    name: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    expression: str


def as_written(rule: Rule) -> dict[str, Any]:
    """The alert with the rule's own labels and nothing filled in."""
    return _body(rule, rule.labels, rule.annotations, rule.expression)


def live(rule: Rule, label: str, service: str) -> dict[str, Any]:
    """The alert with the label that says whose it is, and the templates of known labels filled in."""
    labels = {**rule.labels, label: service}
    notes = {key: _LABEL_TEMPLATE.sub(lambda m: labels.get(m[1], m[0]), text) for key, text in rule.annotations.items()}
    return _body(rule, labels, notes, rule.expression)


def expression_only(rule: Rule, label: str) -> dict[str, Any]:
    """The alert without that label; the expression tells it still."""
    return _body(rule, _without(rule.labels, label), rule.annotations, rule.expression)


def text_only(rule: Rule, label: str, names: Collection[str]) -> dict[str, Any]:
    """The alert without that label, and without any label or matcher that bears one of these names."""
    labels = {key: value for key, value in _without(rule.labels, label).items() if not bears(value, names)}
    return _body(rule, labels, rule.annotations, without_matchers(rule.expression, label, names))


def without_matchers(expression: str, label: str, names: Collection[str]) -> str:
    """The expression without its matchers of this label, and without those whose value bears one of the names."""

    def kept(match: re.Match[str]) -> str:
        if not match["matcher"] or not (match["key"] == label or bears(match["value"], names)):
            return match[0]
        return ""

    return _MATCHER.sub(kept, expression)


def bears(text: str, names: Iterable[str]) -> bool:
    """Whether one of the names stands in the text, word by word: `prometheus-agent-gitaly` bears `gitaly`."""
    words = f" {' '.join(name_words(text))} "
    return any(f" {spelt} " in words for name in names if (spelt := " ".join(name_words(name))))


def _without(labels: Mapping[str, str], label: str) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key != label}


def _body(rule: Rule, labels: Mapping[str, str], annotations: Mapping[str, str], expression: str) -> dict[str, Any]:
    named = {"alertname": rule.name, **labels}
    return webhook([alert(named, annotations, expression)], {"alertname": rule.name})
