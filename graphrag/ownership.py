"""Whose an alert is where its service does not say: the team of all services it may be about, the team that its labels
or its rule name, or the one that CODEOWNERS gives the rule to. Pure.

What the graph says of services goes before what an alert says of itself. A value is a team only where the graph knows
that team, and what is contradicted names nobody: the wrong people woken is worse than the default channel.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag.identity import name_key
from graphrag.label_keys import Uses, names_team, plain_key
from graphrag.model import Label, Node
from graphrag.readings import WORDS, origin_of
from graphrag.signals import AlertSignals, Signal

ClaimedBy = Literal["label", "expression", "rule", "codeowners"]
"""What names a team, the one that speaks loudest first: the alert's own label, what its expression asks for, the
labels of the rule of its name, and the CODEOWNERS of that rule's file."""
_LOUDNESS: tuple[ClaimedBy, ...] = ("label", "expression", "rule", "codeowners")
CODEOWNERS = "owners"
"""The property of an alert's node that holds the teams which CODEOWNERS gives its rules to."""
_SHARE = 0.5
_LEAD = 1.5


@dataclass(frozen=True, slots=True)
class Claim:
    """Something says that the alert is this team's; `says` ends the sentence "the owner is known by …"."""

    team: Node
    by: ClaimedBy
    says: str


@dataclass(frozen=True, slots=True)
class Owner:
    """The team, and in words by what it is known. Without a team `says` tells why there is none, if there is a why."""

    team: Node | None = None
    says: str = ""


NOBODY = Owner()


def values_naming_teams(alerts: Iterable[AlertSignals], rules: Iterable[Node], uses: Uses) -> set[str]:
    """The keys of names under which teams have to be looked up for `claims_of`."""
    said = {value for alert in alerts for _, value, _ in _said(alert, uses)}
    said |= {value for rule in rules for _, value in _labels_of(rule, uses)}
    said |= {value for rule in rules for value in _codeowners_of(rule)}
    return {key for value in said if (key := name_key(value))}


def claims_of(
    alerts: Iterable[AlertSignals], rules: Mapping[str, Sequence[Node]], teams: Mapping[str, Sequence[Node]], uses: Uses
) -> tuple[Claim, ...]:
    """Every team that an alert or its rule names, once for each way. `rules`: key of an alert's name -> the rules of
    that name; `teams`: key of a name -> the teams of that name."""
    found: dict[tuple[str, str], Claim] = {}
    for alert in alerts:
        for claim in _claims(alert, rules, teams, uses):
            found.setdefault((claim.team.id, claim.by), claim)
    return tuple(sorted(found.values(), key=lambda claim: _LOUDNESS.index(claim.by)))


def _claims(
    alert: AlertSignals, rules: Mapping[str, Sequence[Node]], teams: Mapping[str, Sequence[Node]], uses: Uses
) -> Iterator[Claim]:
    def called(value: str) -> Iterator[Node]:
        return (node for node in teams.get(name_key(value), ()) if node.label is Label.TEAM)

    for signal, value, is_label in _said(alert, uses):
        by: ClaimedBy = "label" if is_label else "expression"
        says = f"its label {signal}={value}" if is_label else f"its expression, which asks for {signal}={value}"
        yield from (Claim(team, by, says) for team in called(value))
    for name in (signal.value for signal in alert.names if signal.origin == "alertname"):
        for rule in rules.get(name_key(name), ()):
            for key, value in _labels_of(rule, uses):
                yield from (Claim(team, "rule", f"the label {key}={value} of its rule") for team in called(value))
            for value in _codeowners_of(rule):
                yield from (Claim(team, "codeowners", "the CODEOWNERS of its rule's file") for team in called(value))


def _said(alert: AlertSignals, uses: Uses) -> Iterator[tuple[str, str, bool]]:
    """Key, value, and whether it is the alert's own label, of all that may name its team. What a label holds has
    replaced what the expression asks for."""
    held = {plain_key(signal.origin) for signal in alert.names if _is_label(signal)}
    for signal in alert.names:
        key = origin_of(signal)
        if key in WORDS or not names_team(key, uses):
            continue
        if _is_label(signal) or plain_key(key) not in held:
            yield key, signal.value, _is_label(signal)


def _is_label(signal: Signal) -> bool:
    return signal.origin == origin_of(signal) and signal.origin not in WORDS


def _labels_of(rule: Node, uses: Uses) -> Iterator[tuple[str, str]]:
    for label in _texts(rule, "labels"):
        key, _, value = label.partition("=")
        if value and names_team(key, uses):
            yield key, value


def _codeowners_of(rule: Node) -> tuple[str, ...]:
    return _texts(rule, CODEOWNERS)


def _texts(node: Node, key: str) -> tuple[str, ...]:
    value = node.properties.get(key, ())
    return value if isinstance(value, tuple) else (value,) if isinstance(value, str) else ()


# Deciding -------------------------------------------------------------------------------------------------------------


def decide(
    shares: Mapping[str, float], owners: Mapping[str, Node], claims: Sequence[Claim], *, alone: bool = False
) -> Owner:
    """The owner where no service is sure. `shares`: of each service that it may be about, by id, how likely it is the
    one; `owners`: their teams by the service's id; with `alone` the one at fault may be any of them, so that only a
    team that owns them all counts."""
    common = _common_owner(shares, owners, alone)
    if common is not None:
        many = len(shares) > 1
        return Owner(common, f"the graph: it owns {'every service' if many else 'the service'} that this may be about")
    for by in _LOUDNESS:
        said = {claim.team.id: claim for claim in claims if claim.by == by}
        if len(said) == 1:
            (claim,) = said.values()
            return Owner(claim.team, claim.says)
        if said:
            names = " and ".join(sorted(claim.team.name for claim in said.values()))
            return Owner(None, f"{next(iter(said.values())).says.partition('=')[0]} names more than one: {names}")
    return NOBODY


def _common_owner(shares: Mapping[str, float], owners: Mapping[str, Node], alone: bool) -> Node | None:
    """The team that owns what it is about, whichever of its services that is. What has no owner speaks against it."""
    of_team: dict[str, float] = defaultdict(float)
    for service, share in shares.items():
        of_team[owners[service].id if service in owners else ""] += share
    ranked = sorted(of_team.items(), key=lambda item: (-item[1], item[0]))
    if not ranked or not ranked[0][0] or ranked[0][1] < _SHARE - 1e-9:
        return None
    if len(ranked) > 1 and (alone or ranked[0][1] < _LEAD * ranked[1][1]):
        return None
    return next(team for team in owners.values() if team.id == ranked[0][0])
