"""What a person said that alerts of a label are about: `component=worker` is checkout-api, until the rule is lifted.

A rule holds for the alerts whose own label has exactly that value, or whose name it is. It speaks louder than any name
that is found by itself; only a label that plainly says whose the alert is may contradict it, and then nobody is named.
"""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from graphrag.errors import Refused
from graphrag.evidence import Named
from graphrag.identity import name_key
from graphrag.label_keys import plain_key
from graphrag.model import History, Label, Node, Record, Rewrite
from graphrag.readings import TEXT
from graphrag.signals import MAX_VALUE, AlertSignals, Signal
from graphrag.store import GraphStore
from graphrag.stored import time_text
from graphrag.writing import storable

LABEL_RULE = "label_rule"
"""The kind of record of a rule that stands: all of them are read whenever something is located."""
LIFTED_RULE = "lifted_label_rule"
MAX_STANDING = 500
ALERTNAME = "alertname"
PERSON = "person"
"""The voice of a rule, and what its share in a score is called."""
_BESIDE = 0.4
_LONGEST_WHY = 200


@dataclass(frozen=True, slots=True)
class Condition:
    """A label and its value; with `alertname` only for alerts of that name. The label may be `alertname` itself."""

    label: str
    value: str
    alertname: str = ""

    def __str__(self) -> str:
        return f"{self.label}={self.value}" + (f" of the alert {self.alertname}" if self.alertname else "")

    @property
    def likeness(self) -> tuple[str, str, str]:
        """Equal for conditions that hold for the same alerts."""
        return plain_key(self.label), self.value, self.alertname

    @property
    def narrowness(self) -> int:
        """Of the rules that hold for an alert the narrowest count: a label of one alert, a label, an alert's name."""
        return (plain_key(self.label) != ALERTNAME) + bool(self.alertname)

    @property
    def labels(self) -> frozenset[tuple[str, str]]:
        """What an alert must carry, as `labels_of` spells it."""
        of_name = {(ALERTNAME, self.alertname)} if self.alertname else set[tuple[str, str]]()
        return frozenset({(plain_key(self.label), self.value), *of_name})


@dataclass(frozen=True, slots=True)
class LabelRule:
    """`service` is an id and `name` what it was called then; `investigation` is the one that the rule was learnt from,
    if it was; `lifted_at` is empty while it stands."""

    id: str
    label: str
    value: str
    alertname: str
    service: str
    name: str
    reason: str
    by: str
    at: str
    investigation: str = ""
    lifted_at: str = ""
    lifted_by: str = ""

    @property
    def condition(self) -> Condition:
        return Condition(self.label, self.value, self.alertname)


async def add_rule(
    store: GraphStore,
    tenant: str,
    condition: Condition,
    service: Node,
    *,
    reason: str,
    by: str,
    now: datetime,
    investigation: str = "",
) -> LabelRule:
    """Let alerts of this condition be about the service. The same rule again is the one that stands. Raises `Refused`
    when it means another service already, by its name or by a rule."""
    condition = _storable(condition)
    if not reason.strip():
        raise Refused("reason_missing", "Say why: a rule needs a reason.")
    if (same := await rule_that_says_so(store, tenant, condition, service)) is not None:
        return same
    if len(await standing_rules(store, tenant)) >= MAX_STANDING:
        raise Refused("too_many_rules", f"{MAX_STANDING} rules stand, which is the most; lift one first.")
    rule = LabelRule(
        id=f"rule-{secrets.token_hex(8)}",
        label=condition.label,
        value=condition.value,
        alertname=condition.alertname,
        service=service.id,
        name=service.name,
        reason=reason.strip(),
        by=by,
        at=time_text(now),
        investigation=investigation,
    )
    await _keep(store, tenant, _record(LABEL_RULE, rule))
    return rule


async def lift_rule(store: GraphStore, tenant: str, rule_id: str, *, by: str, now: datetime) -> LabelRule:
    """Take a rule back: from now on alerts are located as if it had never been. Raises `Refused`."""
    standing = {rule.id: rule for rule in await standing_rules(store, tenant)}
    if rule_id not in standing:
        lifted = {record.id: record for record in await store.records(tenant, LIFTED_RULE)}
        if rule_id in lifted:
            raise Refused("already_lifted", f"The rule {rule_id} was lifted at {lifted[rule_id].body['lifted_at']}.")
        raise Refused("unknown_rule", f"There is no rule {rule_id!r}; list them for their ids.")
    rule = replace(standing[rule_id], lifted_at=time_text(now), lifted_by=by)
    await _keep(store, tenant, _record(LIFTED_RULE, rule), forget=((LABEL_RULE, rule_id),))
    return rule


async def standing_rules(store: GraphStore, tenant: str) -> list[LabelRule]:
    """The rules that stand, at most about `MAX_STANDING`, by id. Raises `GraphError`."""
    return [_rule(record) for record in await store.records(tenant, LABEL_RULE)]


async def all_rules(store: GraphStore, tenant: str) -> list[LabelRule]:
    """Those that were lifted too, the latest first."""
    lifted = [_rule(record) for record in await store.records(tenant, LIFTED_RULE)]
    found = [*await standing_rules(store, tenant), *lifted]
    return sorted(found, key=lambda rule: (rule.at, rule.id), reverse=True)


async def rule_that_says_so(store: GraphStore, tenant: str, condition: Condition, service: Node) -> LabelRule | None:
    """The rule by which the condition means the service already. Raises `Refused` when it means another one, by that
    one's name or by a rule."""
    key = name_key(condition.value)
    holders = (await store.resolve(tenant, [key], [Label.SERVICE])).get(key, []) if key else []
    if holders and all(node.id != service.id for node in holders):
        raise Refused(
            "value_taken",
            f"{condition.value!r} is a name of {holders[0].name}, so it cannot mean {service.name}; if the two are one"
            f" thing, merge them.",
        )
    for rule in await standing_rules(store, tenant):
        if rule.condition.likeness == condition.likeness:
            return _the_same(rule, service)
    return None


# Locating -------------------------------------------------------------------------------------------------------------


async def heed(
    store: GraphStore,
    tenant: str,
    alerts: Sequence[AlertSignals],
    named: Sequence[list[Named]],
    rules: Collection[LabelRule],
) -> list[list[Named]]:
    """What the alerts name, together with what the rules that hold for them say. Raises `GraphError`."""
    of_label: dict[tuple[str, str], list[LabelRule]] = defaultdict(list)
    for rule in rules:
        of_label[plain_key(rule.label), rule.value].append(rule)
    held = [labels_of(alert) for alert in alerts] if rules else [frozenset[tuple[str, str]]()] * len(alerts)
    applying = [narrowest(labels, [rule for label in labels for rule in of_label.get(label, ())]) for labels in held]
    meant = await _services(store, tenant, [rule for some in applying for rule in some])
    return [heeded(found, some, meant) for found, some in zip(named, applying, strict=True)]


def narrowest(labels: frozenset[tuple[str, str]], rules: Collection[LabelRule]) -> list[LabelRule]:
    """Of the rules that hold for an alert of these labels the narrowest, by id."""
    holding = [rule for rule in rules if rule.condition.labels <= labels]
    most = max((rule.condition.narrowness for rule in holding), default=0)
    return sorted((rule for rule in holding if rule.condition.narrowness == most), key=lambda rule: rule.id)


def heeded(found: list[Named], rules: Sequence[LabelRule], services: Mapping[str, Node]) -> list[Named]:
    """`found` with what the rules say above it. `services`: by a rule's id; a rule whose service is gone says nothing.

    What else names another service keeps little of its weight, and only labels can still contradict."""
    said = [_voice(rule, services[rule.id]) for rule in rules if rule.id in services]
    if not said:
        return found
    meant = {each.node.id for each in said}
    return [*said, *(each if each.node.id in meant or _contradicts(each, rules) else _beside(each) for each in found)]


def _contradicts(named: Named, rules: Sequence[LabelRule]) -> bool:
    """A service that is only read out of a part of the rule's own value (a host's, a pod's) is what the rule mends."""
    if not named.claims or named.part != "labels":
        return False
    values = [name_key(rule.value) for rule in rules if plain_key(rule.label) == named.voice]
    return not values or not {name_key(name) for name in (named.node.name, *named.node.aliases)}.isdisjoint(values)


def _beside(named: Named) -> Named:
    return replace(named, weight=named.weight * _BESIDE, claims=False)


def _voice(rule: LabelRule, service: Node) -> Named:
    why = rule.reason if len(rule.reason) <= _LONGEST_WHY else f"{rule.reason[:_LONGEST_WHY]}…"
    reason = f"a person said so on {rule.at[:10]} of {rule.condition} ({rule.id}: {why})"
    return Named(service, 1.0, reason, PERSON, claims=True, part=PERSON)


async def _services(store: GraphStore, tenant: str, rules: Collection[LabelRule]) -> dict[str, Node]:
    """By a rule's id the service it means; of one that was merged into another that other, which has its names."""
    if not rules:
        return {}
    by_id = await store.nodes(tenant, {rule.service for rule in rules})
    keys = {rule.id: name_key(rule.name) for rule in rules if rule.service not in by_id}
    by_key = await store.resolve(tenant, sorted(set(keys.values())), [Label.SERVICE]) if keys else {}
    found = {rule.id: by_id[rule.service] for rule in rules if rule.service in by_id}
    return found | {id: by_key[key][0] for id, key in keys.items() if by_key.get(key)}


def labels_of(alert: AlertSignals) -> frozenset[tuple[str, str]]:
    """The labels that the alert itself carries, each key without what exporters put before it."""
    return frozenset((plain_key(signal.origin), signal.value) for signal in alert.names if is_label(signal))


def is_label(signal: Signal) -> bool:
    return signal.origin not in TEXT and not signal.origin.startswith("matcher ")


# Records --------------------------------------------------------------------------------------------------------------


def _storable(condition: Condition) -> Condition:
    """As locating reads labels: without spaces around, and no longer than they are read. Raises `Refused`."""
    label, value, alertname = (
        storable(each).strip()[:MAX_VALUE] for each in (condition.label, condition.value, condition.alertname)
    )
    if not plain_key(label) or not value:
        raise Refused("label_missing", "Say which label and which value of it: KEY=VALUE.")
    return Condition(label, value, "" if plain_key(label) == ALERTNAME else alertname)


def _the_same(rule: LabelRule, service: Node) -> LabelRule:
    if rule.service != service.id:
        raise Refused(
            "value_taken",
            f"{rule.condition} means {rule.name} since {rule.at[:10]} ({rule.id}), so it cannot mean {service.name};"
            f" lift that rule first.",
        )
    return rule


async def _keep(store: GraphStore, tenant: str, record: Record, forget: tuple[tuple[str, str], ...] = ()) -> None:
    await store.rewrite(tenant, [], lambda _: Rewrite(History(), records=(record,), forget=forget))


def _record(kind: str, rule: LabelRule) -> Record:
    return Record(kind, rule.id, {key: value for key, value in asdict(rule).items() if key != "id"})


def _rule(record: Record) -> LabelRule:
    return LabelRule(id=record.id, **record.body)
