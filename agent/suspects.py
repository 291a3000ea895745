"""What may be the cause, ranked, each point of score with the evidence it stands on. Pure.

The score adds up independent hints and is not a probability. A change shortly before the start weighs most: in
published incident reviews a change to the failing system is the commonest trigger (Google's SRE book, chapter 1, puts
it at about 70 % of outages).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from agent import reconcile
from agent.state import Frozen, State
from connectors.observations import ChangeSeen, ReleaseSeen
from connectors.reading import time_of

RECENT = timedelta(hours=24)
_AFTER_THE_START = timedelta(minutes=2)


class Suspect(Frozen):
    """A possible cause. `score` is in [0, 1]; `reasons` say each point of it; `evidence` holds ids."""

    name: str
    kind: str
    score: float
    reasons: tuple[str, ...]
    evidence: tuple[str, ...]


def rank(state: State) -> tuple[Suspect, ...]:
    """The suspects, most suspicious first; empty when nothing points anywhere."""
    best: dict[tuple[str, str], Suspect] = {}
    for suspect in (*_changes(state), *_unknown_suppliers(state), *_troubled_suppliers(state)):
        key = (suspect.kind, suspect.name)
        if key not in best or suspect.score > best[key].score:
            best[key] = suspect
    return tuple(sorted(best.values(), key=lambda each: (-each.score, each.name)))


def _changes(state: State) -> Iterator[Suspect]:
    """Releases and merges of the service shortly before the start, live ones and those the graph knows."""
    start = state.incident.started_at
    service = state.consulted.service if state.consulted else None
    for call, seen in state.observations:
        if not isinstance(seen, ReleaseSeen | ChangeSeen) or not service:
            continue
        if not reconcile.same_repository(service, seen.repo):
            continue
        if isinstance(seen, ReleaseSeen):
            yield from _change(f"release {seen.version}", "release", seen.released_at, start, call.id)
        else:
            yield from _change(f"{seen.reference} {seen.title}".strip(), "change", seen.merged_at, start, call.id)
    for known in state.consulted.releases if state.consulted else ():
        released = time_of(known.text("released_at"))
        yield from _change(f"release {known.text('version') or known.name}", "release", released, start, known.id)


def _change(name: str, kind: str, when: datetime | None, start: datetime, evidence: str) -> Iterator[Suspect]:
    if when is None or when > start + _AFTER_THE_START:
        return
    before = max(timedelta(0), start - when)
    if before > RECENT:
        return
    recency = 1 - before / RECENT
    # A merge is on its way; a release is live. So a merge alone scores less.
    score = round((0.4 + 0.5 * recency) * (1.0 if kind == "release" else 0.8), 2)
    yield Suspect(
        name=name, kind=kind, score=score, reasons=(f"{span(before)} before the start",), evidence=(evidence,)
    )


def _unknown_suppliers(state: State) -> Iterator[Suspect]:
    for server, evidence in reconcile.live_dependencies(state):
        yield Suspect(
            name=server,
            kind="service",
            score=0.35,
            reasons=("called by live traffic, unknown to the graph: a dependency nobody planned for",),
            evidence=(evidence,),
        )


def _troubled_suppliers(state: State) -> Iterator[Suspect]:
    """Suppliers that have an open incident of their own."""
    consulted = state.consulted
    if consulted is None:
        return
    suppliers = {each.name: each for each in consulted.dependencies}
    for incident in consulted.supplier_incidents:
        supplier = suppliers.get(incident.text("affected"))
        if supplier:
            yield Suspect(
                name=supplier.name,
                kind="service",
                score=0.6,
                reasons=(f"a supplier with an open incident of its own, {incident.text('title') or incident.name}",),
                evidence=(incident.id, supplier.id),
            )


def span(duration: timedelta) -> str:
    """A duration as a person says it: `40 s`, `12 min`, `3 h`, `2 d`."""
    seconds = duration.total_seconds()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"
