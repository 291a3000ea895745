"""The evidence of a state: one entry a graph entity or tool call, with the id that claims cite. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from agent.parts import evidence_of
from agent.state import Consulted, Frozen, Known, State, ToolAnswered
from connectors.observations import (
    ChangeSeen,
    DependencySeen,
    MessageSeen,
    MetricSeen,
    Observation,
    OwnersSeen,
    PageSeen,
    ReleaseSeen,
)

MAX_TEXT = 600


class Evidence(Frozen):
    """What proves a claim. `source` is `graph` or the MCP server; `entity` is what it is about; `time` when it held or
    was read; `text` is bounded and is data, never instruction."""

    id: str
    source: str
    entity: str
    time: datetime | None
    link: str = ""
    text: str = ""


def collect(state: State) -> tuple[Evidence, ...]:
    """Every piece of evidence, graph first, each id once."""
    found: dict[str, Evidence] = {}
    for evidence in (*_from_graph(state), *_from_tools(state)):
        found.setdefault(evidence.id, evidence)
    return tuple(found.values())


def _from_graph(state: State) -> Iterator[Evidence]:
    consulted = state.consulted
    located = state.located
    claimed = [claim.team for claim in located.claims] if located else []
    owner = [located.owner] if located and located.owner else []
    for known in (*(_known(consulted) if consulted else ()), *owner, *claimed):
        times = "once" if known.confirmations == 1 else f"{known.confirmations} times"
        told = f"seen {times} by {', '.join(known.sources)}" if known.sources else ""
        text = ". ".join(part.rstrip(".") for part in (known.summary, told) if part)
        yield Evidence(
            id=known.id,
            source="graph",
            entity=known.name,
            time=known.last_seen,
            link=known.text("url"),
            text=text[:MAX_TEXT],
        )


def _known(consulted: Consulted) -> Iterator[Known]:
    if consulted.service:
        yield consulted.service
    if consulted.team:
        yield consulted.team
    for group in (
        consulted.dependencies,
        consulted.dependents,
        consulted.runbooks,
        consulted.documents,
        consulted.releases,
        consulted.incidents,
        consulted.supplier_incidents,
    ):
        yield from group
    yield from evidence_of(consulted)


def _from_tools(state: State) -> Iterator[Evidence]:
    service = state.consulted.service.name if state.consulted and state.consulted.service else ""
    for event in state.events:
        if isinstance(event, ToolAnswered):
            seen = event.observations
            text = "; ".join(describe(each) for each in seen[:5]) if seen else event.text
            yield Evidence(
                id=event.call.id,
                source=event.call.server,
                entity=service or state.incident.title,
                time=event.at,
                link=next((each.link for each in seen if each.link), ""),
                text=text[:MAX_TEXT],
            )


def describe(seen: Observation) -> str:
    """An observation in a phrase."""
    match seen:
        case MetricSeen():
            return f"{seen.expression} = {seen.last:.4g}"
        case DependencySeen():
            return f"{seen.client} calls {seen.server}"
        case ReleaseSeen():
            when = f" of {seen.released_at:%Y-%m-%d %H:%M} UTC" if seen.released_at else ""
            return f"{seen.repo}: release {seen.version}{when}{f' by {seen.author}' if seen.author else ''}"
        case ChangeSeen():
            return f"{seen.repo} {seen.reference} {seen.title}, merged {seen.merged_at:%Y-%m-%d %H:%M} UTC"
        case OwnersSeen():
            return f"CODEOWNERS of {seen.repo}: {', '.join(seen.owners)}"
        case MessageSeen():
            return f"{seen.author} in {seen.channel}: {seen.text[:200]}"
        case PageSeen():
            return f"{seen.title}: {seen.excerpt[:200]}"
