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
from typing import Literal

from graphrag.embed import Embed
from graphrag.identity import name_key
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


@dataclass(frozen=True)
class Thresholds:
    """When a candidate is good enough. `rival` is the share of the first's score at which a second makes it
    ambiguous; the others are cosines in [-1, 1] for what no name was found in."""

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
    """A service that a signal names: `weight` in [0, 1] says how much such a signal counts."""

    node: Node
    weight: float
    reason: str


# How much a name counts by where it stands. Keys are those the ecosystem itself uses (OpenTelemetry's service.name,
# Kubernetes' recommended labels, Prometheus' job); any other label may name a service too and counts less.
_SERVICE_KEYS = frozenset({"service", "servicename", "app", "application", "k8sapp", "appname", "appkubernetesioname"})
_WORKLOAD_KEYS = frozenset(
    {"job", "deployment", "statefulset", "daemonset", "container", "workload", "component", "appkubernetesiocomponent"}
)
_PLACE_KEYS = frozenset({"namespace", "pod", "instance", "host", "hostname", "node", "cluster", "environment", "env"})
_NOT_NAMES = frozenset({"severity", "prometheus", "monitor", "alertstate", "le", "quantile"})


def signal_weight(origin: str) -> float:
    """How much a name from this origin counts, in [0, 1]."""
    matcher = origin.startswith("matcher ")
    key = name_key(origin.removeprefix("matcher "))
    if key in _NOT_NAMES:
        return 0.0
    if key in _SERVICE_KEYS:
        weight = 1.0
    elif key in _WORKLOAD_KEYS:
        weight = 0.8
    elif key == "question":
        weight = 0.9
    elif key in _PLACE_KEYS:
        weight = 0.6
    elif key in ("text", "alertname", "__name__"):
        weight = 0.5
    else:
        weight = 0.65
    return weight * 0.95 if matcher else weight


async def locate(
    store: GraphStore, embed: Embed, tenant: str, signals: Signals, thresholds: Thresholds | None = None
) -> Location:
    """Run the three entry points and judge what they found. Raises `GraphError` when the graph does not answer."""
    readings = {signal: readings_of(signal) for signal in signals.names}
    keys = {key for options in readings.values() for option in options for key in option}
    exact, by_vector, by_text = await asyncio.gather(
        store.resolve(tenant, list(keys)[:MAX_KEYS], [Label.SERVICE]),
        _by_vector(store, embed, tenant, signals.text),
        store.search_text(tenant, signals.text, SEARCH_LIMIT) if signals.text.strip() else _nothing(),
    )
    named = [each for signal, options in readings.items() for each in names_in(signal, options, exact)]
    return judge(named, by_vector, by_text, thresholds or Thresholds())


async def _by_vector(store: GraphStore, embed: Embed, tenant: str, text: str) -> list[Hit]:
    if not text.strip():
        return []
    vector = (await embed([text]))[0]
    return await store.search_vectors(tenant, vector, SEARCH_LIMIT) if any(vector) else []


async def _nothing() -> list[Hit]:
    return []


# Reading names out of values (pure) -----------------------------------------------------------------------------------

_TOKEN = re.compile(r"[^\W_][\w]*(?:[-./:][^\W_][\w]*)*")
_GENERATED = (
    re.compile(r"-[0-9a-f]{6,10}-[a-z0-9]{5}$"),  # ReplicaSet and pod
    re.compile(r"-[a-z0-9]{5}$"),  # DaemonSet
    re.compile(r"-\d+$"),  # StatefulSet
    re.compile(r"-[0-9a-f]{6,10}$"),  # ReplicaSet
)
_MAX_WORDS_A_NAME = 4


def readings_of(signal: Signal) -> list[tuple[str, ...]]:
    """The keys a value may be looked up under: places in the text in order, at each the longest reading first.

    A label is one place: the whole value, then with generated suffixes taken off, then a host's first label. Text has
    one place a word.
    """
    if signal.origin in ("text", "question"):
        return _text_readings(signal.value)
    value = signal.value
    host = re.sub(r"^[a-z][a-z0-9+.-]*://", "", value).partition("/")[0].partition(":")[0]
    forms = [value, *_without_suffixes(value), host, host.partition(".")[0], *_without_suffixes(host.partition(".")[0])]
    return [tuple(dict.fromkeys(name_key(form) for form in forms if form))]


def _without_suffixes(value: str) -> Iterator[str]:
    for pattern in _GENERATED:
        stripped = pattern.sub("", value)
        if stripped != value:
            yield stripped


def _text_readings(text: str) -> list[tuple[str, ...]]:
    words = _TOKEN.findall(text)[: MAX_KEYS // _MAX_WORDS_A_NAME]
    return [
        tuple(
            name_key(" ".join(words[at : at + size])) for size in range(min(_MAX_WORDS_A_NAME, len(words) - at), 0, -1)
        )
        for at in range(len(words))
    ]


def names_in(signal: Signal, options: Sequence[Sequence[str]], exact: Mapping[str, Sequence[Node]]) -> Iterator[Named]:
    """The services a signal names. In text the longest reading at a place wins and covers the words it is made of."""
    weight = signal_weight(signal.origin)
    if not weight:
        return
    text = signal.origin in ("text", "question")
    covered = 0
    for place, keys in enumerate(options):
        if place < covered:
            continue
        found = next((key for key in keys if exact.get(key)), None)
        if found is None:
            continue
        if text:
            covered = place + len(keys) - list(keys).index(found)
        for node in exact[found]:
            how = "its name" if name_key(node.name) == found else "an alias of it"
            where = "the text" if text else f"{signal.origin}={signal.value}"
            yield Named(node, weight, f"{where} holds {how}" if text else f"{where} is {how}")


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
        key=lambda each: (-each.score, each.node.name),
    )
    services = tuple(each for each in ranked if each.node.label is Label.SERVICE)
    documents = tuple(each for each in ranked if each.node.label not in (Label.SERVICE, Label.TEAM))
    certainty, explanation = _certainty(services, thresholds)
    if certainty == "unresolved":
        services = tuple(each for each in services if each.parts["semantic"] >= thresholds.worth_a_look)
    return Location(certainty, services[:SEARCH_LIMIT], documents[:SEARCH_LIMIT], explanation)


def fuse(lists: Sequence[Sequence[Hit]]) -> dict[str, float]:
    """Reciprocal rank fusion: a node's score is the sum over lists of 1 / (k + rank)."""
    scores: dict[str, float] = defaultdict(float)
    for hits in lists:
        for rank, hit in enumerate(hits, start=1):
            scores[hit.node.id] += 1 / (RRF_K + rank)
    return dict(scores)


def _exact_scores(named: Collection[Named]) -> dict[str, float]:
    """Independent signals add up as chances do (noisy or): 1 - (1 - a)(1 - b)… A reason counts once."""
    weights: dict[str, dict[str, float]] = defaultdict(dict)
    for each in named:
        weights[each.node.id][each.reason] = each.weight
    return {key: 1 - math.prod(1 - weight for weight in reasons.values()) for key, reasons in weights.items()}


def _candidate(
    node: Node, exact: float, fused: float, cosines: Mapping[str, float], named: Sequence[Named]
) -> Candidate:
    semantic = max(0.0, cosines.get(node.id, 0.0))
    reasons = list(dict.fromkeys(each.reason for each in named if each.node.id == node.id))
    if semantic:
        reasons.append(f"reads alike ({semantic:.2f})")
    parts = {"exact": round(exact, 4), "semantic": round(semantic, 4), "fused": round(fused, 4)}
    return Candidate(node, round(0.8 * exact + 0.2 * fused, 4), parts, tuple(reasons))


def _certainty(services: Sequence[Candidate], thresholds: Thresholds) -> tuple[Certainty, str]:
    by_name = sorted(services, key=lambda each: -each.parts["exact"])
    if by_name and by_name[0].parts["exact"] >= thresholds.named:
        first, second = by_name[0], by_name[1] if len(by_name) > 1 else None
        if second and second.parts["exact"] >= thresholds.rival * first.parts["exact"]:
            return "ambiguous", f"both {first.node.name} and {second.node.name} are named"
        return "resolved", f"{first.node.name}: {'; '.join(first.reasons[:3])}"
    alike = sorted(services, key=lambda each: -each.parts["semantic"])
    if not alike or alike[0].parts["semantic"] < thresholds.worth_a_look:
        return "unresolved", "nothing in it names a service or reads like one"
    first = alike[0]
    behind = alike[1].parts["semantic"] if len(alike) > 1 else 0.0
    clear = first.parts["semantic"] - behind >= thresholds.margin
    if first.parts["semantic"] >= thresholds.alike and clear and first is services[0]:
        return "resolved", f"no name, but it reads clearly like {first.node.name} ({first.parts['semantic']:.2f})"
    return "ambiguous", f"no name; it reads a little like {first.node.name} ({first.parts['semantic']:.2f})"
