"""Resolves an alert, a group of alerts or a question to the service it is about, or says that it cannot.

What is named is weighed (`graphrag.evidence`); where nothing is named, what reads clearly alike stands in. Each alert
of a group is judged by itself and then they vote; where they name several services, who depends on whom decides
(`graphrag.culprit`). A close call is `ambiguous` and nothing convincing is `unresolved`: a wrong service is worse than
none.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from graphrag.culprit import Blame, Needs, Symptom, blame, symptom_of
from graphrag.evidence import PARTS, Exact, Named, beliefs, contradicting, evidence_of, is_blank, support
from graphrag.identity import name_key
from graphrag.label_keys import NOTHING_LEARNT, NOTHING_TOLD, ToldKeys
from graphrag.label_rules import PERSON, heed, standing_rules
from graphrag.label_uses import known_uses
from graphrag.model import Direction, EdgeType, Hit, Label, Node
from graphrag.ownership import NOBODY, Claim, Owner, claims_of, decide, values_naming_teams
from graphrag.readings import MAX_KEYS, TEXT, readings_of
from graphrag.signals import AlertSignals, Signals
from graphrag.store import EdgesOf, Exploration, GraphStore, NodesOf
from graphrag.traverse import suppliers

Certainty = Literal["resolved", "ambiguous", "unresolved"]

CANDIDATES = 30
_UNNAMED = 0.3
"""The most that likeness alone can score, and never more than a name does."""
_MAX_RULES = 20
_MAX_EDGES = 1_000
_MAX_SUSPECTS = 30
_HOPS = 5
_CAP = 500


@dataclass(frozen=True)
class Thresholds:
    """When a candidate is good enough. `named` is the least that one must be believed, `lead` how many times as likely
    as the second it must be. The others are cosines in [-1, 1], for what no name was found in: from `alike` on the
    first is convincing, with a lead of `margin` it is the one; below `worth_a_look` a service is not offered for
    choice. They suit the default embedding; another may need others."""

    named: float = 0.5
    lead: float = 1.5
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
class Resolution:
    """`candidates` are services, best first; with `resolved` the first is the one. `claims` are the teams that it
    names itself, `owner` whose it is where no service is sure. `undecided`: no alert surely names one or contradicts
    itself, and none misses the label that its text asks for, so that what else is found may still settle it."""

    certainty: Certainty
    candidates: tuple[Candidate, ...]
    explanation: str
    claims: tuple[Claim, ...] = ()
    owner: Owner = NOBODY
    undecided: bool = False


@dataclass(frozen=True)
class Said:
    """What one alert, or a question, says of services. `blank`: its text says that a label names its service, and the
    label is not there."""

    named: Sequence[Named]
    symptom: Symptom = Symptom.UNKNOWN
    blank: bool = False


@dataclass(frozen=True)
class Alike:
    """What reads like it: hits of any kind, with the cosine of those that the vectors found and the fused rank of all,
    both by node id."""

    hits: Sequence[Hit] = ()
    cosines: Mapping[str, float] = field(default_factory=dict[str, float])
    fused: Mapping[str, float] = field(default_factory=dict[str, float])


async def resolve(
    store: GraphStore,
    tenant: str,
    signals: Signals,
    alike: Alike,
    thresholds: Thresholds | None = None,
    told: ToldKeys = NOTHING_TOLD,
) -> Resolution:
    """Look up every name and judge what speaks for whom. `told`: the keys of labels that the organisation itself says
    hold services or teams. Raises `GraphError` when the graph does not answer."""
    bounds = thresholds or Thresholds()
    said, claims = await _said(store, tenant, signals, told)
    suspects = winners(said, bounds)
    needs = await _needs(store, tenant, suspects) if len(suspects) > 1 else {}
    found = judge(said, alike, bounds, needs)
    if found.certainty == "resolved":  # whoever owns it owns the alert; the claims are for one that nobody owns
        return replace(found, claims=claims, owner=decide({}, {}, claims))
    shares = shares_of(found.candidates, suspects)
    owners = await _owners(store, tenant, shares) if shares else {}
    return replace(found, claims=claims, owner=decide(shares, owners, claims, alone=len(suspects) > 1))


async def _said(
    store: GraphStore, tenant: str, signals: Signals, told: ToldKeys
) -> tuple[list[Said], tuple[Claim, ...]]:
    alerts = signals.alerts or (AlertSignals(signals.names),)
    known = told.over(NOTHING_LEARNT)
    places = {signal: readings_of(signal, known) for signal in signals.names}
    keys = dict.fromkeys(reading.key for here in places.values() for place in here for reading in place)
    # Words are many and only services are looked for in them: a rule has the whole name, a team the whole value.
    whole = dict.fromkeys(name_key(signal.value) for signal in signals.names if signal.origin not in TEXT)
    services, others, uses, rules = await asyncio.gather(
        store.resolve(tenant, list(keys)[:MAX_KEYS], [Label.SERVICE]),
        store.resolve(tenant, [key for key in whole if key], [Label.TEAM, Label.ALERT]),
        known_uses(store, tenant),
        standing_rules(store, tenant),
    )
    exact = {key: [*services.get(key, ()), *others.get(key, ())] for key in (*services, *others)}
    uses = told.over(uses)
    fired = [node for nodes in exact.values() for node in nodes if node.label is Label.ALERT][:_MAX_RULES]
    fires_on, teams = await asyncio.gather(
        _fires_on(store, tenant, fired), _teams(store, tenant, values_naming_teams(alerts, fired, uses), exact)
    )
    found = [evidence_of(alert, places, exact, uses, fires_on) for alert in alerts]
    named = await heed(store, tenant, alerts, found, rules)
    said = [Said(each, _symptom(alert), is_blank(alert, each)) for alert, each in zip(alerts, named, strict=True)]
    return said, claims_of(alerts, _by_key(fired), teams, uses)


def _by_key(rules: Iterable[Node]) -> dict[str, list[Node]]:
    by_key: dict[str, list[Node]] = defaultdict(list)
    for rule in rules:
        for key in {name_key(name) for name in (rule.name, *rule.aliases)}:
            by_key[key].append(rule)
    return by_key


async def _teams(store: GraphStore, tenant: str, keys: set[str], known: Exact) -> Exact:
    """The teams of these names. Those that the alert's own labels name were looked up already; only what its rule alone
    says is asked for."""
    further = sorted(keys - known.keys())[:_MAX_RULES]
    return {**known, **(await store.resolve(tenant, further, [Label.TEAM]) if further else {})}


async def _owners(store: GraphStore, tenant: str, services: Iterable[str]) -> dict[str, Node]:
    """The team that owns each of these services, of several the most confirmed one, by the service's id."""

    def owners() -> Exploration[dict[str, Node]]:
        (edges,) = yield [EdgesOf(list(services), [EdgeType.OWNED_BY], Direction.OUT, _MAX_EDGES)]
        first: dict[str, str] = {}
        for edge in edges:
            first.setdefault(edge.source, edge.target)
        (teams,) = yield [NodesOf(set(first.values()))]
        return {service: teams[team] for service, team in first.items() if team in teams}

    return await store.explore(tenant, owners())


async def _fires_on(store: GraphStore, tenant: str, rules: Iterable[Node]) -> dict[str, list[tuple[Node, float]]]:
    """The services that each of the rules fires on, with the confidence of that."""
    ids = sorted({rule.id for rule in rules})
    if not ids:
        return {}
    edges = await store.edges(tenant, ids, [EdgeType.FIRES_ON], Direction.OUT, _MAX_EDGES)
    nodes = await store.nodes(tenant, {edge.target for edge in edges})
    found: dict[str, list[tuple[Node, float]]] = defaultdict(list)
    for edge in edges:
        if edge.target in nodes:
            found[edge.source].append((nodes[edge.target], edge.life.confidence))
    return found


async def _needs(store: GraphStore, tenant: str, suspects: Iterable[str]) -> dict[str, Needs]:
    ids = list(suspects)[:_MAX_SUSPECTS]
    reached = await asyncio.gather(*(suppliers(store, tenant, id, hops=_HOPS, cap=_CAP) for id in ids))
    return {id: Needs({each.id: each.hops for each in reach.members}) for id, reach in zip(ids, reached, strict=True)}


def _symptom(alert: AlertSignals) -> Symptom:
    return symptom_of(next((each.value for each in alert.names if each.origin == "alertname"), ""))


# Judging (pure) -------------------------------------------------------------------------------------------------------


def winners(said: Sequence[Said], thresholds: Thresholds) -> dict[str, list[Symptom]]:
    """The services that single alerts surely name, by id, with what those alerts say of them."""
    found: dict[str, list[Symptom]] = defaultdict(list)
    for each in said:
        if (id := _winner(each.named, thresholds)) is not None:
            found[id].append(each.symptom)
    return found


def _winner(named: Sequence[Named], thresholds: Thresholds) -> str | None:
    if contradicting(named):
        return None
    believed = sorted(beliefs(support(named)).items(), key=lambda item: -item[1])
    return believed[0][0] if believed and convincing([value for _, value in believed], thresholds) else None


def convincing(believed: Sequence[float], thresholds: Thresholds) -> bool:
    """Whether the first is sure: `believed` has the most first."""
    if not believed or believed[0] < thresholds.named - 1e-9:
        return False
    return len(believed) < 2 or believed[0] >= thresholds.lead * believed[1]


def shares_of(candidates: Iterable[Candidate], suspects: Collection[str]) -> dict[str, float]:
    """How likely each service that something names is the one, by id. Of several that alerts surely name any may be."""
    if len(suspects) > 1:
        return dict.fromkeys(suspects, 1 / len(suspects))
    return {each.node.id: each.score for each in candidates if each.parts["exact"]}


def judge(said: Sequence[Said], alike: Alike, thresholds: Thresholds, needs: Mapping[str, Needs]) -> Resolution:
    """Combine what all alerts say into ranked candidates and say how sure the first one is. `needs`: of each service
    that an alert surely names."""
    named = [each for one in said for each in one.named]
    won = winners(said, thresholds)
    blamed = blame(won, needs) if len(won) > 1 else {}
    candidates = _ranked(named, alike, won, blamed)
    certainty, explanation = _certainty(said, candidates, won, blamed, thresholds)
    if certainty != "resolved":  # a person will choose from these
        candidates = [
            each for each in candidates if each.parts["exact"] or each.parts["semantic"] >= thresholds.worth_a_look
        ]
    undecided = (
        certainty != "resolved" and not won and not any(each.blank or contradicting(each.named) for each in said)
    )
    return Resolution(certainty, tuple(candidates[:CANDIDATES]), explanation, undecided=undecided)


def _ranked(
    named: Sequence[Named], alike: Alike, won: Mapping[str, Sequence[Symptom]], blamed: Mapping[str, Blame]
) -> list[Candidate]:
    """Best first: by what is believed, or, where several alerts name one each, by who is to blame."""
    nodes = {hit.node.id: hit.node for hit in alike.hits if hit.node.label is Label.SERVICE}
    nodes |= {each.node.id: each.node for each in named}
    parts = _parts(nodes, named, alike)
    believed = beliefs(support(named))
    most = min([_UNNAMED, *believed.values()])
    scores = {id: believed.get(id, most * parts[id]["fused"]) for id in nodes}
    for id, each in blamed.items():
        parts[id]["graph"] = each.confidence
        scores[id] += (1 - scores[id]) * each.confidence
    reasons = _reasons(named, won, blamed)
    ranked = [
        Candidate(
            node,
            round(scores[id], 4),
            {part: round(value, 4) for part, value in parts[id].items()},
            (*reasons[id], *([f"reads alike ({parts[id]['semantic']:.2f})"] if parts[id]["semantic"] else [])),
        )
        for id, node in nodes.items()
    ]
    return sorted(ranked, key=_place)


def _place(candidate: Candidate) -> tuple[float, bool, float, str, str]:
    parts = candidate.parts
    return -candidate.score, not parts["exact"], -parts["fused"], candidate.node.name, candidate.node.id


def _parts(nodes: Iterable[str], named: Sequence[Named], alike: Alike) -> dict[str, dict[str, float]]:
    """`exact` is what all that names it adds up to, then each kind of that; `semantic` and `fused` are likeness."""
    of_kind = {"exact": support(named), **{part: support(named, part) for part in PARTS}}
    most = max(alike.fused.values(), default=1.0)
    return {
        id: {
            "exact": of_kind["exact"].get(id, 0.0),
            "semantic": max(0.0, alike.cosines.get(id, 0.0)),
            "fused": alike.fused.get(id, 0.0) / most,
            **{part: of_kind[part][id] for part in PARTS if id in of_kind[part]},
        }
        for id in nodes
    }


def _reasons(
    named: Sequence[Named], won: Mapping[str, Sequence[Symptom]], blamed: Mapping[str, Blame]
) -> dict[str, list[str]]:
    reasons: dict[str, list[str]] = defaultdict(list)
    for each in sorted(named, key=lambda each: -each.weight):
        if each.reason not in reasons[each.node.id]:
            reasons[each.node.id].append(each.reason)
    for id, each in blamed.items():
        reasons[id].append(f"alerts that surely name it: {len(won[id])}")
        if each.explains:
            reasons[id].append(f"of the other failing services {each.explains:.0%} depend on it")
    return reasons


def _certainty(
    said: Sequence[Said],
    candidates: Sequence[Candidate],
    won: Collection[str],
    blamed: Mapping[str, Blame],
    thresholds: Thresholds,
) -> tuple[Certainty, str]:
    for each in said:
        if names := contradicting(each.named):
            what = "what people said of it and its" if any(one.part == PERSON for one in each.named) else "its"
            return "ambiguous", f"{what} labels contradict each other: {', '.join(names)}"
    by_name = [each for each in candidates if each.parts["exact"]]
    if len(won) > 1:
        return _among(by_name, won, blamed)
    first = by_name[0] if by_name else None
    if first and (set(won) == {first.node.id} or convincing([each.score for each in by_name], thresholds)):
        return "resolved", f"{first.node.name}: {'; '.join(first.reasons[:3])}"
    if len(by_name) > 1 and by_name[0].parts["exact"] >= thresholds.named:
        return "ambiguous", f"both {by_name[0].node.name} and {by_name[1].node.name} are named"
    certainty, explanation = _by_likeness(candidates, by_name, thresholds)
    if certainty == "resolved" and any(each.blank for each in said):
        return "ambiguous", f"the label that its text asks for is not there; {explanation}"
    return certainty, explanation


def _among(by_name: Sequence[Candidate], won: Collection[str], blamed: Mapping[str, Blame]) -> tuple[Certainty, str]:
    """Several services are surely named, each by an alert of its own."""
    names = ", ".join(each.node.name for each in by_name if each.node.id in won)
    first = by_name[0]
    found = blamed.get(first.node.id)
    if found is None or found.explains < 1:
        return "ambiguous", f"its alerts name several services, and none that all others depend on: {names}"
    if found.sure:
        return "resolved", f"{first.node.name}: of {names} it is the one that the others depend on"
    return "ambiguous", (
        f"of {names} the others depend on {first.node.name}, but what is at fault may be one of its suppliers that"
        f" raise no alert ({found.silent})"
    )


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
    # It reads like what a label says, and the label was found to say too little.
    echoed = not first.parts.keys().isdisjoint(("labels", "expression"))
    if likeness - behind >= thresholds.margin and first is services[0] and not rivalled and not echoed:
        return "resolved", f"no sure name, but it reads clearly like {first.node.name} ({likeness:.2f}){hint}"
    return "ambiguous", f"no sure name; it reads like {first.node.name} ({likeness:.2f}), but not clearly{hint}"
