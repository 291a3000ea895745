"""What a label's key says about its value: whether the value is likely to be a service, and how surely.

A few keys mean the same everywhere: OpenTelemetry's `service.name`, Kubernetes' recommended labels, Prometheus' `job`.
What any other key of an organisation holds is learnt from the rules in its graph (`graphrag.label_uses`): a key whose
values are mostly names of services says whose an alert is, and one whose values are mostly names of teams does not. An
organisation may also say it (`ToldKeys`), which goes before all else. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from graphrag.identity import name_key

LIKELY = 0.9
"""What a value counts under a key that is known, of this organisation, to hold services."""
_FEW = 3
_MOSTLY = 0.6


class Kind(StrEnum):
    """What a key's values are."""

    SERVICE = "service"
    WORKLOAD = "workload"
    RUNNING = "running"  # a pod, a host
    PART = "part"  # of a service
    PLACE = "place"
    SETTING = "setting"  # where or how important, never what
    OWNER = "owner"
    NEVER = "never"
    OTHER = "other"


_KEYS = {
    Kind.SERVICE: "service servicename app application k8sapp appname appkubernetesioname svc",
    Kind.WORKLOAD: "job deployment statefulset daemonset container containername workload appkubernetesioinstance",
    Kind.RUNNING: "pod podname kubernetespodname replicaset instance host hostname",
    Kind.PART: "component appkubernetesiocomponent appkubernetesiopartof",
    Kind.PLACE: "namespace kubernetesnamespace node cluster",
    Kind.SETTING: "environment env region zone datacenter stage tier",
    Kind.OWNER: "team squad owner receiver channel slackchannel slack pager notify route",
    Kind.NEVER: "severity priority prometheus monitor alertstate le quantile",
}
_KIND_OF = {key: kind for kind, keys in _KEYS.items() for key in keys.split()}
_WEIGHTS = {
    Kind.SERVICE: 0.98,
    Kind.WORKLOAD: 0.8,
    Kind.RUNNING: 0.6,
    Kind.PART: 0.3,
    Kind.PLACE: 0.6,
    Kind.SETTING: 0.2,
    Kind.OWNER: 0.1,
    Kind.NEVER: 0.0,
    Kind.OTHER: 0.65,
}
CLAIMING = frozenset({Kind.SERVICE, Kind.WORKLOAD, Kind.RUNNING})
"""Kinds of key that say whose an alert is: two of them that name two services contradict each other."""


@dataclass(frozen=True, slots=True)
class Use:
    """How many distinct values of a key name a service, how many a team, and how many there are. `told` is what the
    organisation itself says that the key holds."""

    services: int
    teams: int
    values: int
    told: Kind | None = None

    @property
    def holds_services(self) -> bool:
        return self.services >= _FEW and self.services >= _MOSTLY * self.values and self.services > self.teams

    @property
    def holds_teams(self) -> bool:
        return self.teams >= _FEW and self.teams >= _MOSTLY * self.values and self.teams > self.services

    @property
    def holds_others(self) -> bool:
        """Enough values were seen to say that services are not what it is for."""
        return self.values >= _FEW and (self.teams >= max(1, self.services) or self.services < self.values / 4)


Uses = Mapping[str, Use]
"""By the key as `plain_key` spells it."""
NOTHING_LEARNT: Uses = {}


@dataclass(frozen=True, slots=True)
class ToldKeys:
    """The keys of labels in which an organisation says that its services, and its teams, stand; as it spells them."""

    services: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()

    def over(self, uses: Uses) -> Uses:
        """What is learnt, with what is told above it."""
        told = {**_told(self.teams, Kind.OWNER), **_told(self.services, Kind.SERVICE)}
        return {**uses, **told} if told else uses


NOTHING_TOLD = ToldKeys()


def _told(keys: Iterable[str], kind: Kind) -> dict[str, Use]:
    return {plain: Use(0, 0, 0, kind) for key in keys if (plain := plain_key(key))}


def plain_key(label: str) -> str:
    """A label's key without what exporters put before it: `exported_` where the scrape had the label already, `label_`
    for one of Kubernetes."""
    return name_key(label).removeprefix("exported").removeprefix("label")


def kind_of(label: str, uses: Uses = NOTHING_LEARNT) -> Kind:
    """What the key's values are by what is told of it, else by what it means everywhere."""
    plain = plain_key(label)
    use = uses.get(plain)
    return (use.told if use else None) or _KIND_OF.get(plain, Kind.OTHER)


def weight_of(label: str, uses: Uses = NOTHING_LEARNT) -> float:
    """How much a service's name counts as the value of this label, in [0, 1]."""
    kind = kind_of(label, uses)
    use = uses.get(plain_key(label))
    if use is None or kind not in (Kind.OTHER, Kind.PLACE, Kind.PART):
        return _WEIGHTS[kind]
    if use.holds_services:
        return LIKELY
    return 0.2 if use.holds_others else _WEIGHTS[kind]


def claims(label: str, uses: Uses = NOTHING_LEARNT) -> bool:
    """Whether the label says whose an alert is."""
    kind, use = kind_of(label, uses), uses.get(plain_key(label))
    return kind in CLAIMING or (use is not None and use.holds_services and kind is Kind.OTHER)


def names_team(label: str, uses: Uses = NOTHING_LEARNT) -> bool:
    """Whether a team's name, as the value of this label, is the team's that the alert is for."""
    kind, use = kind_of(label, uses), uses.get(plain_key(label))
    return kind is Kind.OWNER or (use is not None and use.holds_teams and kind is Kind.OTHER)
