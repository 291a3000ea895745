"""Which of several alerting services is the likeliest to be at fault, by who depends on whom. Pure.

Failure climbs from suppliers to those that need them: the service on which all other failing ones depend explains them
all. Alerts that something gets no traffic say less, for it starves where a caller fails.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from graphrag.identity import name_words

SURE = 0.6
_HIDDEN = 0.15
"""How likely a supplier that raises no alert is to be at fault, against the one that does."""
_NOTHING = frozenset("no zero absent absence missing cessation ceased without lost".split())
_FLOW = frozenset("traffic request requests operations queries events messages calls data samples received".split())
_ITSELF = frozenset(
    "down crash crashed crashing crashloop crashlooping looping restart restarts restarting oom killed evicted pod pods"
    " container containers process node unhealthy notready sealed cpu memory disk throttling".split()
)
_FAILING = frozenset(
    "error errors latency slow slowness failure failures failed failing fails apdex slo burn timeout timeouts"
    " saturation saturated unavailable degraded 5xx exception exceptions rejected rejections backlog lag".split()
)


class Symptom(StrEnum):
    """What an alert's name says of its service."""

    ITSELF = "itself"  # its own process or machine is in trouble
    FAILING = "failing"  # it answers late, wrongly or not at all
    STARVED = "starved"  # it gets nothing to do
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Needs:
    """The services that one needs, all the way down: id -> hops of the shortest way to it."""

    hops: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def direct(self) -> frozenset[str]:
        return frozenset(id for id, hops in self.hops.items() if hops == 1)


@dataclass(frozen=True, slots=True)
class Blame:
    """`explains` is the share of the other failing services that depend on this one, `confidence` what is left of it
    after the chance that one of its `silent` suppliers, which raise no alert, is at fault. Both in [0, 1]."""

    explains: float
    confidence: float
    silent: int = 0
    sure: bool = False


def symptom_of(alertname: str) -> Symptom:
    words = set(name_words(alertname))
    if words & _NOTHING and words & _FLOW:
        return Symptom.STARVED
    if words & _ITSELF:
        return Symptom.ITSELF
    return Symptom.FAILING if words & _FAILING else Symptom.UNKNOWN


def blame(symptoms: Mapping[str, Collection[Symptom]], needs: Mapping[str, Needs]) -> dict[str, Blame]:
    """What speaks for each alerting service to be the one at fault, by its id; sure of one at most. `symptoms`: those
    of each service's alerts; `needs`: what each of them needs."""
    failing = [id for id, shown in symptoms.items() if any(each is not Symptom.STARVED for each in shown)]
    blamed = {id: _blame(id, symptoms, failing, needs) for id in symptoms}
    culprits = [id for id, each in blamed.items() if each.sure]
    return blamed if len(culprits) < 2 else {id: replace(each, sure=False) for id, each in blamed.items()}


def _falls_with(one: str, other: str, needs: Mapping[str, Needs], alerting: Container[str]) -> bool:
    """Whether `one` may fail because of `other`. Failure passes through services that fail too, so where each needs
    the other a way over alerting ones counts before one over others: what everything reports to needs much in its turn,
    and is well. Then the shorter way counts; on equal ways nobody can tell."""
    there, back = _reaches(one, other, needs, alerting), _reaches(other, one, needs, alerting)
    if there or back:
        return there and not back
    way, way_back = (needs.get(a, Needs()).hops.get(b) for a, b in ((one, other), (other, one)))
    return way is not None and (way_back is None or way < way_back)


def _reaches(start: str, end: str, needs: Mapping[str, Needs], alerting: Container[str]) -> bool:
    """Whether `start` needs `end` over nothing but alerting services."""
    seen, waiting = {start}, [start]
    while waiting:
        found = {id for id in needs.get(waiting.pop(), Needs()).direct if id in alerting} - seen
        if end in found:
            return True
        seen |= found
        waiting += found
    return False


def _blame(
    id: str, symptoms: Mapping[str, Collection[Symptom]], failing: Sequence[str], needs: Mapping[str, Needs]
) -> Blame:
    if id not in failing or len(failing) < 2:
        return Blame(0.0, 0.0)
    mine = needs.get(id, Needs())
    fallen = [each for each in failing if each != id and _falls_with(each, id, needs, symptoms)]
    explains = len(fallen) / (len(failing) - 1)
    silent = len(mine.direct - symptoms.keys())
    confidence = explains if Symptom.ITSELF in symptoms[id] else explains / (1 + _HIDDEN * silent)
    fails = not {Symptom.FAILING, Symptom.ITSELF}.isdisjoint(symptoms[id])
    return Blame(explains, confidence, silent, sure=fails and explains == 1 and confidence >= SURE)
