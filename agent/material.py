"""What the model is shown: the state as fenced, escaped, redacted and bounded text. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape

from agent import reconcile
from agent.evidence import collect
from agent.parts import parts_told
from agent.redact import redact, redact_values
from agent.state import State

MAX_CHARACTERS = 48_000
_MAX_DESCRIPTION = 200
_MAX_ANSWER = 4_000


def material(state: State) -> str:
    """Everything the model may know of a state, at most `MAX_CHARACTERS` long."""
    shown: list[str] = []
    left = MAX_CHARACTERS
    # What matters most comes first: of a lot of evidence some may be left out, but never the tools to ask with.
    for part in (*_tools(state), *_incident(state), *_conflicts(state), *_evidence(state)):
        if len(part) < left:
            shown.append(part)
            left -= len(part) + 1
    return "\n".join(shown)


def part_material(state: State, community: str) -> str:
    """What the model may know to write one community's part, at most `MAX_CHARACTERS` long."""
    parts = state.consulted.parts if state.consulted else ()
    lines = [fenced("question", state.incident.question)]
    for part in parts:
        if part.community.id == community:
            lines.append(fenced(community, f"{part.title}: {part.text}"))
            lines += (
                fenced(each.id, f"{each.name}: {each.summary}"[:_MAX_ANSWER])
                for each in (*part.services, *part.suppliers, *part.incidents)
            )
    return "\n".join(lines)[:MAX_CHARACTERS]


def fenced(identity: str, text: str) -> str:
    """Untrusted text as a data element that nothing in it can close."""
    return f'<data id="{escape(identity)}">{escape(redact(text), quote=False)}</data>'


def _incident(state: State) -> Iterator[str]:
    incident = state.incident
    yield f"Incident opened at {incident.opened_at:%Y-%m-%dT%H:%M:%SZ}."
    if incident.question:
        yield fenced("question", incident.question)
    for number, alert in enumerate(incident.alerts[:10], start=1):
        facts = {
            "labels": redact_values(alert.labels),
            "annotations": redact_values(alert.annotations),
            "status": alert.status,
            "expression": alert.expression,
        }
        yield fenced(f"alert-{number}", json.dumps(facts, ensure_ascii=False)[:_MAX_ANSWER])
    located = state.located
    if located:
        yield fenced("located", f"{located.certainty}: {located.explanation}")
    for told in parts_told(state):
        yield fenced(told.community, f"{told.title}: {told.text}")
    consulted = state.consulted
    if consulted and consulted.service:
        yield fenced("depends-on", "; ".join(" -> ".join(each.path) for each in consulted.dependencies[:40]))
        yield fenced("needed-by", "; ".join(" -> ".join(each.path) for each in consulted.dependents[:40]))


def _evidence(state: State) -> Iterator[str]:
    answers = {event.call.id: event.text for event in state.tool_events if event.kind == "tool_answered"}
    for evidence in collect(state):
        text = answers.get(evidence.id, "")[:_MAX_ANSWER] or evidence.text
        yield fenced(evidence.id, f"{evidence.source}, {evidence.entity}: {text}")
    for event in state.tool_events:
        if event.kind == "tool_failed":
            yield fenced(event.call.id, f"could not be checked: {event.error}")


def _conflicts(state: State) -> Iterator[str]:
    for conflict in reconcile.conflicts(state):
        said = f"graph {conflict.graph}; {'live' if conflict.winner == 'live' else 'the alert'} {conflict.live}"
        yield fenced("conflict", f"{conflict.subject}, {conflict.fact}: {said}; {conflict.winner} wins")


def _tools(state: State) -> Iterator[str]:
    if len(state.replies) + 1 >= state.budget.turns:
        yield "This is your last turn: ask for no tool, give your verdict and claims."
        return
    yield "Tools:"
    for spec in state.tools[:40]:
        properties = ", ".join(str(name) for name in spec.input_schema.get("properties", {}))
        yield fenced(f"{spec.server}/{spec.name}", f"({properties}) {spec.description[:_MAX_DESCRIPTION]}")
