"""What "it was service X", said of an incident, teaches: a further name of the service, or a rule over a label. Pure.

A value under a label that holds services is itself a name, when it reads like one and is nobody else's. Any other label
that tells such alerts apart becomes a rule. Where several could be meant nothing is guessed: a rule that is too wide
would name a wrong service with confidence.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag.errors import Refused
from graphrag.identity import name_key, name_words
from graphrag.label_keys import Kind, Uses, kind_of, plain_key
from graphrag.label_rules import ALERTNAME, Condition, is_label
from graphrag.model import Node
from graphrag.signals import AlertSignals

_NEVER_ALIKE = frozenset({Kind.SETTING, Kind.OWNER, Kind.NEVER, Kind.RUNNING, Kind.PLACE})
"""Kinds of key whose values say how or where, or differ with the next such alert."""
_LETTERS = re.compile(r"[^\W\d_]{2,}")
_NO_NAME = re.compile(r"://|@|\d+(?:\.\d+){3}")
_WORDS_OF_A_NAME = 3
_SHOWN = 12
_TRUTH = frozenset({"true", "false", "yes", "no", "none", "null", "unknown", "default", "all", "other"})

Known = Mapping[str, Sequence[Node]]
"""Key of a name -> the services and teams of that name."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """`alias` is a further name of the service; `rule` is learnt where the value is no name for it."""

    kind: Literal["alias", "rule"]
    condition: Condition


def lesson_of(alerts: Sequence[AlertSignals], chosen: str, known: Known, uses: Uses) -> Lesson:
    """What to learn from an incident's alerts. `chosen`: the label that the person named, or nothing.

    Raises `Refused`: no alert or label to learn from, or several and none chosen.
    """
    if not alerts:
        raise Refused("alerts_missing", "It had no alerts, so no label can be learnt from; give the service an alias.")
    shared = shared_labels(alerts)
    label, value = _chosen(alerts, chosen, shared) if chosen else _telling(shared, known, uses)
    is_name = _holds_services(label, uses) and _reads_like_a_new_name(value, known)
    return Lesson("alias" if is_name else "rule", Condition(label, value))


def shared_labels(alerts: Sequence[AlertSignals]) -> dict[str, str]:
    """The labels, by their keys as the first alert spells them, whose one value all the alerts share."""
    each = [
        {plain_key(signal.origin): signal for signal in reversed(alert.names) if is_label(signal)} for alert in alerts
    ]
    first, *rest = each
    return {
        signal.origin: signal.value
        for key, signal in first.items()
        if key and all(key in other and other[key].value == signal.value for other in rest)
    }


def _chosen(alerts: Sequence[AlertSignals], chosen: str, shared: Mapping[str, str]) -> tuple[str, str]:
    for label, value in shared.items():
        if plain_key(label) == plain_key(chosen):
            return label, value
    carried = {plain_key(signal.origin) for alert in alerts for signal in alert.names if is_label(signal)}
    if plain_key(chosen) in carried:
        raise Refused("labels_differ", f"Its alerts do not share one value of {chosen!r}; {_offer(shared)}.")
    raise Refused("label_missing", f"No alert of it has a label {chosen!r}; {_offer(shared)}.")


def _telling(shared: Mapping[str, str], known: Known, uses: Uses) -> tuple[str, str]:
    """The one label that tells such alerts apart: one that holds services, else any; the alert's name if none does."""
    telling = {key: value for key, value in shared.items() if _tells(key, value, known, uses)}
    best = {key: value for key, value in telling.items() if _holds_services(key, uses)} or telling
    if len(set(best.values())) > 1:
        raise Refused("which_label", f"Several labels may be what tells; {_offer(best)}.")
    if best:
        return sorted(best.items())[0]
    name = next((value for key, value in shared.items() if plain_key(key) == ALERTNAME), "")
    if not name:
        raise Refused("label_missing", f"No label tells such alerts apart by itself; {_offer(shared)}.")
    return ALERTNAME, name


def _tells(key: str, value: str, known: Known, uses: Uses) -> bool:
    if plain_key(key) == ALERTNAME or kind_of(key, uses) in _NEVER_ALIKE or known.get(name_key(value)):
        return False
    return looks_like_a_name(value)


def looks_like_a_name(value: str) -> bool:
    """Whether it may be what something is called: no number, address, sentence or yes and no."""
    if len(value.split()) > _WORDS_OF_A_NAME or value.casefold() in _TRUTH:
        return False
    return bool(_LETTERS.search(value)) and not _NO_NAME.search(value)


def _holds_services(key: str, uses: Uses) -> bool:
    use = uses.get(plain_key(key))
    kind = kind_of(key, uses)
    return kind is Kind.SERVICE or (kind is Kind.OTHER and use is not None and use.holds_services)


def _reads_like_a_new_name(value: str, known: Known) -> bool:
    """One ordinary word as an alias would be found in many a text, and a name of another thing means that there."""
    return looks_like_a_name(value) and len(name_words(value)) > 1 and not known.get(name_key(value))


def _offer(labels: Mapping[str, str]) -> str:
    if not labels:
        return "they share none, so give the service an alias or add a rule by itself"
    return f"choose one of {', '.join(f'{key} ({value})' for key, value in sorted(labels.items())[:_SHOWN])}"


def names_in(alerts: Collection[AlertSignals]) -> list[str]:
    """The keys of names that `lesson_of` has to know."""
    values = {signal.value for alert in alerts for signal in alert.names if is_label(signal)}
    return sorted({key for value in values if (key := name_key(value))})
