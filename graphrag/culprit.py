"""Which of several alerting services is the likeliest to be at fault, by who depends on whom. Pure.

Failure climbs from suppliers to those that need them: the service on which all other failing ones depend explains them
all. Alerts that something gets no traffic say less, for it starves where a caller fails.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
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
    """The ids of the services that one needs, at first hand and all the way down."""

    direct: frozenset[str] = field(default_factory=frozenset[str])
    all: frozenset[str] = field(default_factory=frozenset[str])


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


def _blame(
    id: str, symptoms: Mapping[str, Collection[Symptom]], failing: Sequence[str], needs: Mapping[str, Needs]
) -> Blame:
    if id not in failing or len(failing) < 2:
        return Blame(0.0, 0.0)
    mine = needs.get(id, Needs())
    # In a cycle nobody can tell who came first.
    fallen = [each for each in failing if id in needs.get(each, Needs()).all and each not in mine.all and each != id]
    explains = len(fallen) / (len(failing) - 1)
    silent = len(mine.direct - symptoms.keys())
    confidence = explains if Symptom.ITSELF in symptoms[id] else explains / (1 + _HIDDEN * silent)
    fails = not {Symptom.FAILING, Symptom.ITSELF}.isdisjoint(symptoms[id])
    return Blame(explains, confidence, silent, sure=fails and explains == 1 and confidence >= SURE)
