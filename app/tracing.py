"""Traces of prompts, tool calls and retrieval, sent to Opik when it is configured.

A trace is made from the finished journal, on a thread of its own, so it is never on the way of a report: Opik off or
unreachable costs nothing. Opik takes seconds and much memory to import, so only that thread imports it.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog

from agent.redact import redact
from agent.report import Report
from agent.state import (
    Consulted,
    Equipped,
    Located,
    ModelFailed,
    ModelReplied,
    PartAnswered,
    State,
    ToolAnswered,
    ToolFailed,
)
from app.settings import Settings

_MOST_WAITING = 100
_FLUSH_SECONDS = 2
_MOST_TEXT = 20_000

log = structlog.get_logger()


@dataclass(frozen=True)
class Span:
    """One step of an investigation as Opik shows it. `kind` is `llm`, `tool` or `general`."""

    name: str
    kind: str
    start: datetime
    end: datetime
    input: dict[str, Any]
    output: dict[str, Any]
    usage: dict[str, int] | None = None
    error: str = ""


class Tracer:
    """`record` never blocks and never raises; what does not fit the queue is dropped and counted in the log."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._waiting: queue.Queue[tuple[State, Report] | None] = queue.Queue(_MOST_WAITING)
        self._thread: threading.Thread | None = None

    def record(self, state: State, report: Report) -> None:
        if not self._settings.opik_url:
            return
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="opik", daemon=True)
            self._thread.start()
        try:
            self._waiting.put_nowait((state, report))
        except queue.Full:
            log.warning("trace_dropped", investigation=report.id)

    def close(self) -> None:
        """Let the thread send what waits, for at most the flush's time; it is a daemon and holds up no exit."""
        if self._thread:
            try:
                self._waiting.put_nowait(None)
            except queue.Full:
                return
            self._thread.join(_FLUSH_SECONDS)

    def _run(self) -> None:
        client: Any = None
        while (item := self._waiting.get()) is not None:
            try:
                client = client or self._client()
                send(client, self._settings.opik_project, *item)
            except Exception as error:
                log.warning("trace_failed", error=type(error).__name__)
        if client is not None:
            client.flush(timeout=_FLUSH_SECONDS)

    def _client(self) -> Any:
        os.environ.setdefault("OPIK_SENTRY_ENABLE", "false")
        import opik  # 6 s and 190 MB: never at start, never on the event loop's thread

        return opik.Opik(
            project_name=self._settings.opik_project,
            workspace=self._settings.opik_workspace,
            host=self._settings.opik_url,
            api_key=self._settings.opik_api_key.get_secret_value() or None,
            _show_misconfiguration_message=False,
        )


def send(client: Any, project: str, state: State, report: Report) -> None:
    """One trace with its spans; everything in it is redacted already or here."""
    steps = list(spans(state))
    start = steps[0].start if steps else state.incident.opened_at
    end = steps[-1].end if steps else start
    trace = client.trace(
        name="investigation",
        project_name=project,
        start_time=start,
        end_time=end,
        input={"title": state.incident.title, "question": redact(state.incident.question)},
        output={"verdict": report.verdict, "service": report.service.name},
        metadata={"investigation": report.id, "certainty": report.service.certainty},
    )
    for step in steps:
        trace.span(
            name=step.name,
            type=step.kind,
            start_time=step.start,
            end_time=step.end,
            input=step.input,
            output=step.output,
            usage=step.usage,
            error_info={"exception_type": "failure", "traceback": step.error} if step.error else None,
        )


def spans(state: State) -> Iterator[Span]:
    """The events of a state as spans: retrieval, tools, prompts, each with when it ran and for how long. Pure."""
    for event in state.events:
        start = event.at - timedelta(seconds=event.seconds)
        match event:
            case Located():
                found = [{"name": each.name, "score": each.score} for each in event.candidates]
                yield Span("locate", "general", start, event.at, {}, {"certainty": event.certainty, "found": found})
            case Consulted():
                output = {"service": event.service.name if event.service else None}
                yield Span("consult graph", "general", start, event.at, {}, output, error=event.error)
            case Equipped():
                output = {"tools": len(event.tools), "unreachable": dict(event.unreachable)}
                yield Span("equip", "general", start, event.at, {}, output)
            case ToolAnswered():
                output = {"text": event.text[:_MOST_TEXT]}
                yield Span(event.call.tool, "tool", start, event.at, dict(event.call.arguments), output)
            case ToolFailed():
                yield Span(event.call.tool, "tool", start, event.at, dict(event.call.arguments), {}, error=event.error)
            case ModelReplied():
                usage = {
                    "prompt_tokens": event.input_tokens,
                    "completion_tokens": event.output_tokens,
                    "total_tokens": event.input_tokens + event.output_tokens,
                }
                output = {"verdict": event.verdict, "claims": [claim.text for claim in event.claims]}
                yield Span(state.model, "llm", start, event.at, {"prompt": event.prompt[:_MOST_TEXT]}, output, usage)
            case PartAnswered():
                usage = {"prompt_tokens": event.input_tokens, "completion_tokens": event.output_tokens}
                usage["total_tokens"] = event.input_tokens + event.output_tokens
                output, told = {"text": event.text}, {"part": event.community}
                yield Span(state.model, "llm", start, event.at, told, output, usage, event.error)
            case ModelFailed():
                yield Span(state.model, "llm", start, event.at, {}, {}, error=event.error)
