"""Reruns an investigation from its journal: the same decisions, the report of today's code, nothing outside touched."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter

from agent.loop import investigate
from agent.planner import plan
from agent.report import Report, Spend, build
from agent.state import AskParts, CallTools, Event, Incident, State, Step

_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])


def replay(bundle: dict[str, Any]) -> Report:
    """The report of a journal. Raises ValueError when the bundle is not one."""
    if not isinstance(bundle.get("events"), list) or "subject" not in bundle:
        raise ValueError("it needs `subject` and `events`")
    subject = Incident.model_validate(bundle["subject"])
    events = _EVENTS.validate_python(bundle["events"])
    report = Report.model_validate(bundle["report"]) if bundle.get("report") else None
    spend = report.spend if report else Spend()
    return asyncio.run(_replay(State(incident=subject, model=spend.model, budget=spend.budget), events))


async def _replay(state: State, events: list[Event]) -> Report:
    moment = events[0].at if events else state.incident.opened_at

    async def recorded(state: State, step: Step) -> Sequence[Event]:
        nonlocal moment
        start = len(state.events)
        match step:
            case CallTools():
                count = len(step.calls)
            case AskParts():
                count = len(step.communities)
            case _:
                count = 1
        taken = events[start : start + count]
        if len(taken) < count:
            raise ValueError(f"the journal ends before the step {step.kind}")
        moment = taken[-1].at
        return taken

    async def then() -> datetime:
        return moment

    final, finish = await investigate(state, perform=recorded, plan=plan, now=then)
    return build(final, status="complete", reason=finish.reason)
