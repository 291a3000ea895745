"""Live observations meet graph facts: live wins where it has the authority, and the difference is kept.

Pure. Which connector may overrule which fact is the table below; chat and wiki pages are evidence and never win.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.state import Consulted, Frozen, Known, State
from connectors import github
from connectors.observations import DependencySeen, OwnersSeen, ReleaseSeen
from graphrag.identity import name_key

AUTHORITY: dict[str, str] = {
    "dependency": "Prometheus' service graph sees the traffic itself",
    "latest release": "GitHub holds the releases",
    "owner": "CODEOWNERS is what the organisation enforces on every change",
}
"""Facts a live source may overrule, and why. A fact that is not here keeps the graph's word."""


class Conflict(Frozen):
    """A graph fact and a live observation, or what an alert says of itself, that contradict each other. `winner` is
    `live` or `graph`; `evidence` holds the ids of both sides."""

    subject: str
    fact: str
    graph: str
    live: str
    winner: str = "live"
    evidence: tuple[str, ...] = ()


def conflicts(state: State) -> tuple[Conflict, ...]:
    """Every contradiction between what the graph said and what the alerts say or live systems answered, in the order
    they were seen."""
    consulted = state.consulted
    if consulted is None or consulted.service is None:
        return ()
    found = {(conflict.fact, conflict.live): conflict for conflict in _claimed(state, consulted, consulted.service)}
    for call, seen in state.observations:
        match seen:
            case DependencySeen():
                conflict = _dependency(consulted, consulted.service, seen, call.id)
            case ReleaseSeen():
                conflict = _release(consulted, consulted.service, seen, call.id)
            case OwnersSeen():
                conflict = _owner(consulted, consulted.service, seen, call.id)
            case _:
                conflict = None
        if conflict:
            found.setdefault((conflict.fact, conflict.live), conflict)
    return tuple(found.values())


def _claimed(state: State, consulted: Consulted, service: Known) -> Iterator[Conflict]:
    """The teams that the alerts name in place of the owner of a service that is sure. The catalogue says who answers
    for it; a label may name who watches it, or who did."""
    team = consulted.team
    if team is None or state.located is None:
        return
    seen = {team.id}
    for claim in state.located.claims:
        # CODEOWNERS say who reviews a rule, which contradicts nobody who answers for the service.
        if claim.by != "codeowners" and claim.team.id not in seen:
            seen.add(claim.team.id)
            yield Conflict(
                subject=service.name,
                fact="owner",
                graph=team.name,
                live=f"{claim.team.name} by {claim.says}",
                winner="graph",
                evidence=(claim.team.id, team.id),
            )


def live_dependencies(state: State) -> tuple[tuple[str, str], ...]:
    """Suppliers of the service that only live traffic shows, each with the evidence id that shows it."""
    consulted = state.consulted
    if consulted is None or consulted.service is None:
        return ()
    known = {name_key(name) for each in consulted.dependencies if each.hops == 1 for name in each.names}
    return tuple(
        {
            seen.server: call.id
            for call, seen in state.observations
            if isinstance(seen, DependencySeen)
            and _is(consulted.service, seen.client)
            and name_key(seen.server) not in known
        }.items()
    )


def live_owner(state: State) -> tuple[str, Known | None, str] | None:
    """Who CODEOWNERS names where that differs from the graph: as written, the graph's team of that name if there is
    one, and the evidence id."""
    consulted = state.consulted
    if consulted is None or consulted.service is None:
        return None
    for call, seen in state.observations:
        if isinstance(seen, OwnersSeen) and _owner(consulted, consulted.service, seen, call.id):
            name = _team_name(seen.owners[0])
            team = next((each for each in consulted.teams if name_key(name) in map(name_key, each.names)), None)
            return seen.owners[0], team, call.id
    return None


def _dependency(consulted: Consulted, service: Known, seen: DependencySeen, call_id: str) -> Conflict | None:
    if not _is(service, seen.client):
        return None
    known = {name_key(name) for each in consulted.dependencies if each.hops == 1 for name in each.names}
    if name_key(seen.server) in known:
        return None
    return Conflict(
        subject=service.name,
        fact="dependency",
        graph=f"no dependency on {seen.server}",
        live=f"calls {seen.server}",
        evidence=(call_id, service.id),
    )


def _release(consulted: Consulted, service: Known, seen: ReleaseSeen, call_id: str) -> Conflict | None:
    if not same_repository(service, seen.repo):
        return None
    known = consulted.releases[0] if consulted.releases else None
    version = known.text("version") if known else ""
    if _same_version(version, seen.version):
        return None
    return Conflict(
        subject=service.name,
        fact="latest release",
        graph=version or "no release known",
        live=seen.version,
        evidence=(call_id, known.id if known else service.id),
    )


def _owner(consulted: Consulted, service: Known, seen: OwnersSeen, call_id: str) -> Conflict | None:
    if not seen.owners or _owned_as_known(consulted, seen) or not same_repository(service, seen.repo):
        return None
    return Conflict(
        subject=service.name,
        fact="owner",
        graph=consulted.team.name if consulted.team else "no owner known",
        live=", ".join(seen.owners),
        evidence=(call_id, consulted.team.id if consulted.team else service.id),
    )


def _owned_as_known(consulted: Consulted, seen: OwnersSeen) -> bool:
    if consulted.team is None:
        return False
    known = {name_key(name) for name in consulted.team.names}
    return any(name_key(_team_name(owner)) in known for owner in seen.owners)


def _team_name(owner: str) -> str:
    """`@org/payments` names the team `payments`; a person (`@someone`) stays as written without the sign."""
    return owner.rpartition("/")[2].lstrip("@")


def same_repository(service: Known, repo: str) -> bool:
    """Whether an observation is about the service's own repository: a model may look at others too."""
    own, other = github.repository(service.text("repo")), github.repository(repo)
    return own is not None and other is not None and tuple(map(str.lower, own)) == tuple(map(str.lower, other))


def _same_version(one: str, other: str) -> bool:
    return one.casefold().removeprefix("v") == other.casefold().removeprefix("v")


def _is(service: Known, name: str) -> bool:
    return name_key(name) in {name_key(each) for each in service.names}
