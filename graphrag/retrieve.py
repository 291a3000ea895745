"""Finds an alert's or a question's place in the graph: which service, and which documents speak of it.

Three entry points always all run: exact names and aliases, vectors, full text. Exact dominates for the service; the
other two also find runbooks, documents and past incidents, and stand in where nothing is named. A close call is
`ambiguous` and nothing convincing is `unresolved`: a wrong service is worse than none.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from graphrag.embed import Embed, EmbeddingUnavailable
from graphrag.identity import name_key, name_words
from graphrag.model import Hit, Label, Node
from graphrag.signals import Signal, Signals, signals_from_alerts, signals_from_question
from graphrag.store import GraphStore

__all__ = [
    "Candidate",
    "Embed",
    "Location",
    "Signal",
    "Signals",
    "locate",
    "signals_from_alerts",
    "signals_from_question",
]

Certainty = Literal["resolved", "ambiguous", "unresolved"]

SEARCH_LIMIT = 30
RRF_K = 60
"""The constant of reciprocal rank fusion; 60 is what Cormack, Clarke and Büttcher (SIGIR 2009) found good."""
MAX_KEYS = 2_000
_SEARCHED = tuple(label for label in Label if label is not Label.CHUNK)
"""Passages are many, and what they say of a service is said by their pages."""
_UNNAMED = 0.3
"""The most that likeness alone can score: less than any name does, so that what is named stands first."""


@dataclass(frozen=True)
class Thresholds:
    """When a candidate is good enough. `named` is the least that names must add up to, `rival` the share of the
    first's at which a second makes it ambiguous. The others are cosines in [-1, 1], for what no name was found in:
    from `alike` on the first is convincing, with a lead of `margin` it is the one; below `worth_a_look` a service is
    not offered for choice. They suit the default embedding; another may need others."""

    named: float = 0.5
    rival: float = 0.75
    alike: float = 0.45
    margin: float = 0.12
    worth_a_look: float = 0.2


@dataclass(frozen=True)
class Candidate:
    """A node with the parts that made its score and, in words, the reason for each."""

    node: Node
    score: float
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Location:
    """`candidates` are services, best first; with `resolved` the first is the one. `documents` are all else."""

    certainty: Certainty
    candidates: tuple[Candidate, ...]
    documents: tuple[Candidate, ...]
    explanation: str


@dataclass(frozen=True)
class Named:
    """A service that a signal names: `weight` in [0, 1] says how much such a signal counts. What shares a `voice`
    repeats one thing and counts once. `claims`: it is a label that says whose alert this is, so that two of them that
    name two services contradict each other."""

    node: Node
    weight: float
    reason: str
    voice: str
    claims: bool = False


# How much a name counts by where it stands. Keys are those the ecosystem itself uses (OpenTelemetry's service.name,
# Kubernetes' recommended labels, Prometheus' job); any other label may name a service too and counts less.
_SERVICE_KEYS = frozenset({"service", "servicename", "app", "application", "k8sapp", "appname", "appkubernetesioname"})
_WORKLOAD_KEYS = frozenset(
    {
        *("job", "deployment", "statefulset", "daemonset", "container", "containername", "workload"),
        *("component", "appkubernetesiocomponent", "appkubernetesioinstance"),
    }
)
_RUNNING_KEYS = frozenset({"pod", "podname", "kubernetespodname", "replicaset", "instance", "host", "hostname"})
_PLACE_KEYS = frozenset({"namespace", "kubernetesnamespace", "node", "cluster", "environment", "env"})
_NOT_NAMES = frozenset({"severity", "prometheus", "monitor", "alertstate", "le", "quantile"})
_CLAIMING_KEYS = _SERVICE_KEYS | _WORKLOAD_KEYS | _RUNNING_KEYS
_TEXT = frozenset({"text", "question"})
_PHRASES = frozenset({"alertname", "__name__"})
_PLAIN_WORD = 0.8
"""What is left of the weight in running text when the name is one ordinary word, as `search` and `web` are: such a
word alone names nothing in an alert."""


def signal_weight(origin: str) -> float:
    """How much a name from this origin counts, in [0, 1]."""
    key = _label_key(origin)
    if key in _NOT_NAMES:
        return 0.0
    if key in _SERVICE_KEYS:
        weight = 1.0
    elif key == "question":
        weight = 0.9
    elif key in _WORKLOAD_KEYS:
        weight = 0.8
    elif key in _RUNNING_KEYS or key in _PLACE_KEYS:
        weight = 0.6
    elif key in _TEXT or key in _PHRASES:
        weight = 0.5
    else:
        weight = 0.65
    return weight * 0.95 if origin.startswith("matcher ") else weight


def _label_key(origin: str) -> str:
    """A label's key as the sets above hold it. `exported_` is what Prometheus puts before a label that the scrape
    had already, `label_` what kube-state-metrics puts before one of Kubernetes."""
    label = origin.removeprefix("matcher ")
    if label in _PHRASES:
        return label
    return name_key(label).removeprefix("exported").removeprefix("label")


async def locate(
    store: GraphStore, embed: Embed, tenant: str, signals: Signals, thresholds: Thresholds | None = None
) -> Location:
    """Run the three entry points and judge what they found. Raises `GraphError` when the graph does not answer."""
    readings = {signal: readings_of(signal) for signal in signals.names}
    keys = dict.fromkeys(
        reading.key for places in readings.values() for readings_here in places for reading in readings_here
    )
    exact, by_vector, by_text = await asyncio.gather(
        store.resolve(tenant, list(keys)[:MAX_KEYS], [Label.SERVICE]),
        _by_vector(store, embed, tenant, signals.text),
        store.search_text(tenant, signals.text, SEARCH_LIMIT, _SEARCHED) if signals.text.strip() else _nothing(),
    )
    named = [each for signal, places in readings.items() for each in names_in(signal, places, exact)]
    return judge(named, by_vector, by_text, thresholds or Thresholds())


async def _by_vector(store: GraphStore, embed: Embed, tenant: str, text: str) -> list[Hit]:
    """Nothing when the embedding does not answer: the two other entry points still do."""
    if not text.strip():
        return []
    try:
        vector = (await embed([text]))[0]
    except EmbeddingUnavailable:
        return []
    return await store.search_vectors(tenant, vector, SEARCH_LIMIT, _SEARCHED) if any(vector) else []


async def _nothing() -> list[Hit]:
    return []


# Reading names out of values (pure) -----------------------------------------------------------------------------------

_TOKEN = re.compile(r"[^\W_][\w]*(?:[-./:][^\W_][\w]*)*")
_PARTS = re.compile(r"[/:]+")
# Kubernetes makes suffixes of letters and digits that spell no words; a stricter pattern than "five characters" keeps
# `checkout-redis` from being read as a pod of `checkout`.
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]{5}"
_HASH = r"(?:[4-9bcdf]{6,10}|\d{8,10})"
_GENERATED = (
    re.compile(rf"-{_HASH}-{_RANDOM}$"),  # a Deployment's pod
    re.compile(rf"-{_RANDOM}$"),  # a DaemonSet's or a Job's pod
    re.compile(r"-\d+$"),  # a StatefulSet's pod
    re.compile(rf"-{_HASH}$"),  # a ReplicaSet
)
_MAX_WORDS_A_NAME = 4


class Reading(NamedTuple):
    """A key a place may be looked up under, how many words of the text it takes, and whether it is one ordinary
    word."""

    key: str
    words: int = 1
    plain: bool = False


Place = tuple[Reading, ...]


def readings_of(signal: Signal) -> list[Place]:
    """What a value may be looked up under: its places in order, at each the longest reading first.

    A label is one place: the whole value, then, of what runs, with generated suffixes taken off, then a host's first
    label. Text has one place a word, and so have the words of an alert's or a metric's name.
    """
    key = _label_key(signal.origin)
    if key in _TEXT:
        return _text_places(_TOKEN.findall(signal.value))
    if key in _PHRASES:
        return _text_places(list(name_words(signal.value)))
    value = signal.value
    host = re.sub(r"^[a-z][a-z0-9+.-]*://", "", value).partition("/")[0].partition(":")[0]
    first = host.partition(".")[0]
    forms = [value, host, first]
    if key in _RUNNING_KEYS:
        forms += (*_without_suffixes(value), *_without_suffixes(first))
    return [tuple(Reading(key) for key in dict.fromkeys(name_key(form) for form in forms if form))]


def _without_suffixes(value: str) -> Iterator[str]:
    for pattern in _GENERATED:
        stripped = pattern.sub("", value)
        if stripped != value:
            yield stripped


def _text_places(tokens: Sequence[str]) -> list[Place]:
    tokens = tokens[: MAX_KEYS // _MAX_WORDS_A_NAME]
    return [(*_phrases(tokens[at : at + _MAX_WORDS_A_NAME]), *_inside(tokens[at])) for at in range(len(tokens))]


def _phrases(tokens: Sequence[str]) -> Iterator[Reading]:
    for size in range(len(tokens), 0, -1):
        yield Reading(name_key(" ".join(tokens[:size])), size, size == 1 and len(name_words(tokens[0])) == 1)


def _inside(token: str) -> Iterator[Reading]:
    """Of `namespace/name`, `host:port` and a pod's name the part that may be a service. Hyphens are not taken apart:
    `checkout-api-canary` is not `checkout-api`."""
    parts = _PARTS.split(token)
    for part in parts if len(parts) > 1 else ():
        yield Reading(name_key(part), plain=len(name_words(part)) == 1)
    for part in parts:
        first = part.partition(".")[0]
        if first != part:
            yield Reading(name_key(first), plain=len(name_words(first)) == 1)
        pod = _GENERATED[0].sub("", part)
        if pod != part:
            yield Reading(name_key(pod))


def names_in(signal: Signal, places: Sequence[Place], exact: Mapping[str, Sequence[Node]]) -> Iterator[Named]:
    """The services a signal names. In text the longest reading at a place wins and covers the words it is made of."""
    weight = signal_weight(signal.origin)
    if not weight:
        return
    key = _label_key(signal.origin)
    running_text = key in _TEXT or key in _PHRASES
    where = "the text" if key in _TEXT else f"{signal.origin}={signal.value}"
    covered = 0
    for at, readings in enumerate(places):
        found = next((reading for reading in readings if exact.get(reading.key)), None)
        if at < covered or found is None:
            continue
        covered = at + found.words
        for node in exact[found.key]:
            how = "its name" if name_key(node.name) == found.key else "an alias of it"
            reason = f"{where} {'holds' if running_text else 'gives'} {how}"
            # An alert's name, text and metrics are of one hand: an ordinary word in all three is still one word.
            voice = "an ordinary word" if found.plain else key if running_text else reason
            counts = weight * _PLAIN_WORD if found.plain else weight
            yield Named(node, counts, reason, voice, key in _CLAIMING_KEYS)


# Judging (pure) -------------------------------------------------------------------------------------------------------


def judge(named: Sequence[Named], by_vector: Sequence[Hit], by_text: Sequence[Hit], thresholds: Thresholds) -> Location:
    """Combine the entry points into ranked candidates and say how sure the first one is."""
    fused = fuse([by_vector, by_text])
    nodes = {hit.node.id: hit.node for hit in (*by_vector, *by_text)} | {each.node.id: each.node for each in named}
    cosines = {hit.node.id: hit.score for hit in by_vector}
    best_fused = max(fused.values(), default=1.0)
    exact = _exact_scores(named)
    ranked = sorted(
        (
            _candidate(node, exact.get(node.id, 0.0), fused.get(node.id, 0.0) / best_fused, cosines, named)
            for node in nodes.values()
        ),
        key=lambda each: (-each.score, -each.parts["fused"], each.node.name, each.node.id),
    )
    services = tuple(each for each in ranked if each.node.label is Label.SERVICE)
    documents = tuple(each for each in ranked if each.node.label not in (Label.SERVICE, Label.TEAM))
    claimed = {each.node.id for each in named if each.claims}
    certainty, explanation = _certainty(services, claimed, thresholds)
    if certainty != "resolved":  # a person will choose from these
        services = tuple(
            each for each in services if each.parts["exact"] or each.parts["semantic"] >= thresholds.worth_a_look
        )
    return Location(certainty, services[:SEARCH_LIMIT], documents[:SEARCH_LIMIT], explanation)


def fuse(lists: Sequence[Sequence[Hit]]) -> dict[str, float]:
    """Reciprocal rank fusion: a node's score is the sum over lists of 1 / (k + rank)."""
    scores: dict[str, float] = defaultdict(float)
    for hits in lists:
        for rank, hit in enumerate(hits, start=1):
            scores[hit.node.id] += 1 / (RRF_K + rank)
    return dict(scores)


def _exact_scores(named: Collection[Named]) -> dict[str, float]:
    """Independent voices add up as chances do (noisy or): 1 - (1 - a)(1 - b)… Each counts once, at its most."""
    weights: dict[str, dict[str, float]] = defaultdict(dict)
    for each in named:
        voices = weights[each.node.id]
        voices[each.voice] = max(each.weight, voices.get(each.voice, 0.0))
    return {key: 1 - math.prod(1 - weight for weight in voices.values()) for key, voices in weights.items()}


def _candidate(
    node: Node, exact: float, fused: float, cosines: Mapping[str, float], named: Sequence[Named]
) -> Candidate:
    semantic = max(0.0, cosines.get(node.id, 0.0))
    reasons = list(dict.fromkeys(each.reason for each in named if each.node.id == node.id))
    if semantic:
        reasons.append(f"reads alike ({semantic:.2f})")
    parts = {"exact": round(exact, 4), "semantic": round(semantic, 4), "fused": round(fused, 4)}
    return Candidate(node, round(max(exact, _UNNAMED * fused), 4), parts, tuple(reasons))


def _certainty(
    services: Sequence[Candidate], claimed: Collection[str], thresholds: Thresholds
) -> tuple[Certainty, str]:
    by_name = [each for each in services if each.parts["exact"]]
    if by_name and by_name[0].parts["exact"] >= thresholds.named:
        return _by_name(by_name, claimed, thresholds)
    return _by_likeness(services, by_name, thresholds)


def _by_name(by_name: Sequence[Candidate], claimed: Collection[str], thresholds: Thresholds) -> tuple[Certainty, str]:
    first = by_name[0]
    if len(claimed) > 1:
        names = ", ".join(each.node.name for each in by_name if each.node.id in claimed)
        return "ambiguous", f"its labels contradict each other: {names}"
    second = by_name[1] if len(by_name) > 1 else None
    if second and second.parts["exact"] >= thresholds.rival * first.parts["exact"]:
        return "ambiguous", f"both {first.node.name} and {second.node.name} are named"
    return "resolved", f"{first.node.name}: {'; '.join(first.reasons[:3])}"


def _by_likeness(
    services: Sequence[Candidate], by_name: Sequence[Candidate], thresholds: Thresholds
) -> tuple[Certainty, str]:
    """A name that counts too little may back the service that reads most alike, and forbids any other."""
    hint = f"; {by_name[0].node.name} may be meant ({by_name[0].reasons[0]})" if by_name else ""
    alike = sorted(services, key=lambda each: -each.parts["semantic"])
    if not alike or alike[0].parts["semantic"] < thresholds.alike:
        return ("ambiguous" if hint else "unresolved"), f"nothing in it surely names a service or reads like one{hint}"
    first = alike[0]
    likeness = first.parts["semantic"]
    behind = alike[1].parts["semantic"] if len(alike) > 1 else 0.0
    rivalled = any(each is not first for each in by_name)
    if likeness - behind >= thresholds.margin and first is services[0] and not rivalled:
        return "resolved", f"no sure name, but it reads clearly like {first.node.name} ({likeness:.2f}){hint}"
    return "ambiguous", f"no sure name; it reads like {first.node.name} ({likeness:.2f}), but not clearly{hint}"
