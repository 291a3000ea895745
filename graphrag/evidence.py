"""What an alert says of each service it may be about, as voices that are weighed. Pure.

Each voice has a weight in [0, 1]: how likely a name that stands there is the name of the service that the alert is
about. Independent voices add up as chances do; against each other they are weighed as odds.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from graphrag.identity import name_key, name_words
from graphrag.label_keys import LIKELY, Kind, Uses, claims, kind_of, plain_key, weight_of
from graphrag.model import Label, Node
from graphrag.readings import PHRASES, WORDS, Place, Reading, origin_of
from graphrag.signals import AlertSignals, Signal

PARTS = ("person", "labels", "expression", "rule", "name", "text")
"""What the evidence for a service is made of: what a person said of such alerts, the alert's labels, its expression,
the rule that fired, the alert's and its metrics' names, and the words of its annotations or of a question."""
_MOST = 0.98
_MATCHER = 0.95
_ALSO_A_TEAM = 0.3
_NICKNAME = 0.7
_PLAIN_ALIAS = 0.6
_INFLECTED = 0.8
_LINKED = 0.5
"""What is left of a name's weight in the host of a link: most links lead to where more is told."""
_AGREED = 0.3
_FIELDS = ("alertname", "text", "description")
_RULE = 0.65
_MISSING = 0.5
"""What is left of the words' weight when the text says that the service is in a label, and the label is not there."""
_TOLD = 0.5
_BESIDE = 0.4
_STRUCTURE = ("labels", "expression")
PROSE = ("name", "text")
"""The parts that are words: read in passing, and found in pages too."""
_ORDINARY = "an ordinary word"
_WORD = re.compile(r"[^\W_]+")

Exact = Mapping[str, Sequence[Node]]
"""Key of a name -> the services, teams and rules of that name."""


@dataclass(frozen=True)
class Named:
    """A service that something names. What shares a `voice` repeats one thing and counts once, at its most. `claims`:
    it is a label that says whose alert this is, so that two of them that name two services contradict each other.
    `part` is one of `PARTS`; `standing` says of a name in words where it stands: `called`, `first` or `later`."""

    node: Node
    weight: float
    reason: str
    voice: str
    claims: bool = False
    part: str = "labels"
    standing: str = ""


@dataclass(frozen=True)
class _Standing:
    """Weights by where in a text a name stands: called a service, first, or later; for several words and for one."""

    called: float
    first: tuple[float, float]
    later: tuple[float, float]


_WEIGHTS = {
    "alertname": _Standing(0.85, (0.75, 0.6), (0.45, 0.25)),
    "text": _Standing(0.7, (0.5, 0.35), (0.5, 0.25)),
    "description": _Standing(0.45, (0.4, 0.3), (0.4, 0.15)),
    "__name__": _Standing(0.4, (0.4, 0.3), (0.3, 0.15)),
    "aside": _Standing(0.25, (0.25, 0.1), (0.25, 0.1)),
    "question": _Standing(0.95, (0.9, 0.72), (0.9, 0.72)),
}


def evidence_of(
    alert: AlertSignals,
    places: Mapping[Signal, Sequence[Place]],
    exact: Exact,
    uses: Uses,
    fires_on: Mapping[str, Sequence[tuple[Node, float]]],
) -> list[Named]:
    """Every service that the alert names. `places`: each signal's readings; `fires_on`: id of a rule -> the services
    it fires on, each with the confidence of that."""
    held = {plain_key(signal.origin) for signal in alert.names if _is_label(signal)}
    spelt = frozenset(word for signal in alert.names if signal.origin != "alertname" for word in _spelt(signal.value))
    found: list[Named] = []
    told: dict[str, list[Named]] = {field: [] for field in _FIELDS}
    for signal in alert.names:
        key = origin_of(signal)
        if key in WORDS:
            named = list(_in_words(signal, places[signal], exact, spelt))
            found += named
            told.setdefault(key, []).extend(named)
        elif _is_label(signal) or plain_key(key) not in held:
            # What the alert's own label holds has replaced what its expression asks for.
            found += _in_label(signal, places[signal], exact, uses, key in alert.asked)
        if key == "alertname":
            found += _by_rule(signal, exact, fires_on)
    found += _agreed(told)
    return _without_outvoted_claims(_without_words_beside(_without_words_for_a_blank(found, alert), alert.asked))


def _is_label(signal: Signal) -> bool:
    return signal.origin not in WORDS and not signal.origin.startswith("matcher ")


def _spelt(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def is_blank(alert: AlertSignals, found: Iterable[Named]) -> bool:
    """Whether the alert's text says that a label holds the service, and no label does."""
    keys = {plain_key(key) for key in alert.asked}
    return bool(keys) and not any(each.voice in keys and each.part in _STRUCTURE for each in found)


def _without_words_for_a_blank(found: Sequence[Named], alert: AlertSignals) -> list[Named]:
    """The other words of such a text speak of something else: of what is scarce, or of a part."""
    if not is_blank(alert, found):
        return list(found)
    return [replace(each, weight=each.weight * _MISSING) if each.part in PROSE else each for each in found]


def _without_words_beside(found: Sequence[Named], asked: Collection[str]) -> list[Named]:
    """Where labels name one service, the words that name others speak of its parts and suppliers. Under a key that
    nobody knows the label may be such a part itself: then a name that begins the alert's keeps its weight."""
    structure = support(each for each in found if each.part in _STRUCTURE)
    told = {id for id, value in structure.items() if value >= _TOLD}
    if len(told) != 1:
        return list(found)
    sure = bool(asked) or max(structure.values()) >= LIKELY * _MATCHER
    spared = {"called"} if sure else {"called", "first"}
    return [
        replace(each, weight=each.weight * _BESIDE)
        if each.part in PROSE and each.node.id not in told and each.standing not in spared
        else each
        for each in found
    ]


def _without_outvoted_claims(found: Sequence[Named]) -> list[Named]:
    """An expression claims the alert only where no label does: it may compare services with each other."""
    if not any(each.claims and each.part == "labels" for each in found):
        return list(found)
    return [replace(each, claims=each.claims and each.part != "expression") for each in found]


def _in_label(signal: Signal, places: Iterable[Place], exact: Exact, uses: Uses, asked: bool) -> Iterator[Named]:
    key = origin_of(signal)
    weight = max(weight_of(key, uses), LIKELY if asked else 0.0)
    if not weight:
        return
    part = "labels" if _is_label(signal) else "expression"
    for readings in places:
        reading = _first_known(readings, exact)
        if reading is None:
            continue
        for node in _services(exact, reading.key):
            counts = weight * _doubt(node, reading.key, exact) if _is_unknown(key, weight, uses) else weight
            yield Named(
                node,
                counts if part == "labels" else counts * _MATCHER,
                f"{signal.origin}={signal.value} gives {_how(node, reading.key)}",
                plain_key(key),
                asked or claims(key, uses),
                part,
            )


def _is_unknown(key: str, weight: float, uses: Uses) -> bool:
    return kind_of(key, uses) is Kind.OTHER and weight < LIKELY


def _doubt(node: Node, key: str, exact: Exact) -> float:
    """Under a key that nobody knows, what is a team's name too may be the team, and a nickname may be anything."""
    if any(other.label is Label.TEAM for other in exact[key]):
        return _ALSO_A_TEAM
    return 1.0 if name_key(node.name) == key else _NICKNAME


def _first_known(readings: Place, exact: Exact) -> Reading | None:
    return next((each for each in readings if _services(exact, each.key)), None)


def _services(exact: Exact, key: str) -> list[Node]:
    return [node for node in exact.get(key, ()) if node.label is Label.SERVICE]


def _how(node: Node, key: str) -> str:
    return "its name" if name_key(node.name) == key else "an alias of it"


def _in_words(signal: Signal, places: Sequence[Place], exact: Exact, spelt: Collection[str]) -> Iterator[Named]:
    """In text the longest reading at a place wins and covers the words it is made of."""
    words = name_words(signal.value) if signal.origin == "alertname" else ()
    covered = 0
    for at, readings in enumerate(places):
        reading = _first_known(readings, exact)
        if at < covered or reading is None or _is_cut_out(words, at, reading, spelt):
            continue
        covered = at + reading.words
        for node in _services(exact, reading.key):
            yield _worded(signal, node, reading, first=at == 0)


def _agreed(told: Mapping[str, Sequence[Named]]) -> Iterator[Named]:
    """What the alert's name, its summary and its description all name, while no word names anything else. Each may say
    a word by chance; three sentences that have one word in common are about it."""
    everywhere = {each.node.id: each.node for named in told.values() for each in named}
    if len(everywhere) == 1 and all(told[field] for field in _FIELDS):
        (node,) = everywhere.values()
        yield Named(node, _AGREED, "name, summary and description all name it, and nothing else", "all", part="text")


def _is_cut_out(words: Sequence[str], at: int, reading: Reading, spelt: Collection[str]) -> bool:
    """Whether the name is but a piece of a word that the alert spells in one elsewhere: `Hub` in `GitHub`."""
    end = at + reading.words
    if reading.called or not words:
        return False
    name = "".join(words[at:end])
    before, after = "".join(words[max(0, at - 1) : at]), "".join(words[end : end + 1])
    return (bool(before) and before + name in spelt) or (bool(after) and name + after in spelt)


def _worded(signal: Signal, node: Node, reading: Reading, *, first: bool) -> Named:
    origin = origin_of(signal)
    weights = _WEIGHTS[origin]
    weight = (weights.first if first else weights.later)[reading.plain]
    where = f"{signal.origin}={signal.value}" if origin in PHRASES else "the text"
    does = "calls a service by" if reading.called else "begins with" if first else "holds"
    # An alert's name, text and metrics are of one hand: a nickname that is an ordinary word, in all three, is one word.
    nickname = reading.plain and not reading.called and origin != "question" and name_key(node.name) != reading.key
    weight *= (_INFLECTED if reading.inflected else 1.0) * (_LINKED if reading.linked else 1.0)
    return Named(
        node,
        max(weight, weights.called) if reading.called else weight * _PLAIN_ALIAS if nickname else weight,
        f"{where} {does} {_how(node, reading.key)}",
        _ORDINARY if nickname else origin if origin in PHRASES else "text",
        part="name" if origin in PHRASES else "text",
        standing="called" if reading.called else "first" if first else "later",
    )


def _by_rule(signal: Signal, exact: Exact, fires_on: Mapping[str, Sequence[tuple[Node, float]]]) -> Iterator[Named]:
    """A rule that fires on several services says no more of each than that it is one of them."""
    for rule in exact.get(name_key(signal.value), ()):
        services = fires_on.get(rule.id, ()) if rule.label is Label.ALERT else ()
        for node, confidence in services:
            others = f", one of {len(services)}" if len(services) > 1 else ""
            reason = f"the rule {rule.name} fires on it{others}"
            yield Named(node, _RULE * confidence / len(services), reason, "rule", part="rule")


# Weighing -------------------------------------------------------------------------------------------------------------


def support(named: Iterable[Named], part: str = "") -> dict[str, float]:
    """By node id, what the voices for it add up to, in [0, 1): 1 - (1 - a)(1 - b)… (noisy or)."""
    voices: dict[str, dict[str, float]] = defaultdict(dict)
    for each in named:
        if part in ("", each.part):
            of_node = voices[each.node.id]
            of_node[each.voice] = max(min(each.weight, _MOST), of_node.get(each.voice, 0.0))
    return {id: 1 - math.prod(1 - weight for weight in of_node.values()) for id, of_node in voices.items()}


def beliefs(supports: Mapping[str, float]) -> dict[str, float]:
    """By node id, how likely it is the one, given what speaks for the others: its odds as a share of all odds, where
    `none of them` has odds of 1. One that stands alone is as likely as its support."""
    odds = {id: value / (1 - value) for id, value in supports.items()}
    whole = 1 + sum(odds.values())
    return {id: value / whole for id, value in odds.items()}


def contradicting(named: Collection[Named]) -> list[str]:
    """The names of the services that labels claim the alert for, when they are several."""
    claimed = {each.node.id: each.node.name for each in named if each.claims}
    return sorted(claimed.values()) if len(claimed) > 1 else []
