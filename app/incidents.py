"""The durable way of an incident: investigate, show a first card, report, deliver, learn.

An ordinary function whose I/O edges are durable steps (DBOS). Killed anywhere, it goes on from the last finished step,
here or on another replica; the loop's decisions are pure, so replaying the answers replays the decisions.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Sequence
from datetime import UTC, datetime
from typing import Any

import structlog
from dbos import DBOS, SetEnqueueOptions, SetWorkflowID, StepOptions
from pydantic import TypeAdapter

from agent.learn import learn
from agent.loop import investigate
from agent.planner import plan
from agent.report import Report, build
from agent.state import AlertFacts, Budget, Consulted, Event, Incident, State, Step
from agent.tools import World, perform
from app.delivery import Delivery
from app.journal import IncidentNow, Journal
from app.metrics import Metrics
from app.slack_message import detail_message, parent_message
from app.tracing import Tracer
from connectors.errors import ConnectorError

QUEUE = "incidents"
DELIVERIES = "deliveries"
DELIVERIES_AT_ONCE = 200
"""Deliveries wait for a sink that is down in a queue of their own, so that investigations never wait behind them."""
WORK_VERSION = "1"
"""Workflows run on under a new release as long as this stays; raise it when their steps change order or meaning."""

_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, ConnectorError) and error.recoverable


_UNTIL_TAKEN: StepOptions = {
    "retries_allowed": True,
    "interval_seconds": 1.0,
    "backoff_rate": 2.0,
    "max_attempts": 12,
    "should_retry": _may_pass,
}
"""A sink that is down is tried for over half an hour: after 1 s, 2 s, 4 s and so on."""

log = structlog.get_logger()


class Incidents:
    """Runs investigations durably, on the event loop that DBOS is launched in."""

    def __init__(
        self,
        *,
        world: World,
        journal: Journal,
        delivery: Delivery,
        metrics: Metrics,
        tracer: Tracer,
        budget: Budget,
        public_url: str,
    ) -> None:
        self._world = world
        self._journal = journal
        self._delivery = delivery
        self._metrics = metrics
        self._tracer = tracer
        self._budget = budget
        self._public_url = public_url
        self._handle: Callable[[str], Coroutine[Any, Any, None]] = self._unregistered
        self._deliver: Callable[[str], Coroutine[Any, Any, None]] = self._unregistered
        self._answer: Callable[[str], Coroutine[Any, Any, None]] = self._unregistered

    async def _unregistered(self, _: str) -> None:
        raise RuntimeError("register() comes first")

    def register(self) -> None:
        """Make the workflows known before DBOS is launched, which goes on with what a former process of this id
        left."""

        # Registered under constant names: a workflow in flight finds its function by name after an upgrade.
        @DBOS.workflow(name="handle_incident", max_recovery_attempts=50)
        async def handle_incident(incident_id: str) -> None:
            await self.handle(incident_id)

        @DBOS.workflow(name="deliver_incident", max_recovery_attempts=50)
        async def deliver_incident(incident_id: str) -> None:
            await self.deliver(incident_id)

        @DBOS.workflow(name="answer_question", max_recovery_attempts=50)
        async def answer_question(investigation_id: str) -> None:
            await self.answer(investigation_id)

        self._handle, self._deliver, self._answer = handle_incident, deliver_incident, answer_question

    async def listen(self, concurrency: int) -> None:
        for name, at_once in ((QUEUE, concurrency), (DELIVERIES, DELIVERIES_AT_ONCE)):
            await DBOS.register_queue_async(
                name,
                worker_concurrency=at_once,
                partition_concurrency=1,  # one incident's changes go one after another
                polling_interval_sec=0.1,
                on_conflict="always_update",
            )

    async def queue_changes(self) -> bool:
        """Queue a workflow for each change that is due and has none yet; True when some are not due yet. The
        workflow's id makes doing it twice harmless."""
        changes, more = await asyncio.to_thread(self._journal.unqueued, datetime.now(UTC))
        for incident_id, revision in changes:
            with SetWorkflowID(f"{incident_id}:{revision}"), SetEnqueueOptions(queue_partition_key=incident_id):
                if revision == 1:
                    await DBOS.enqueue_workflow_async(QUEUE, self._handle, incident_id)
                else:
                    await DBOS.enqueue_workflow_async(DELIVERIES, self._deliver, incident_id)
            await asyncio.to_thread(self._journal.queued, incident_id, revision)
        return more

    async def start(self, subject: Incident) -> asyncio.Task[None]:
        """Begin an ad-hoc investigation; the task ends when it does. It survives a crash under its own id."""
        await asyncio.to_thread(self._journal.begin, subject)
        with SetWorkflowID(subject.id):
            handle = await DBOS.start_workflow_async(self._answer, subject.id)
        return asyncio.create_task(handle.get_result(polling_interval_sec=0.1))

    # Workflows --------------------------------------------------------------------------------------------------------

    async def handle(self, incident_id: str) -> None:
        """A new incident: investigate, show a first card on the way, and hand the report to its delivery."""
        subject = Incident.model_validate_json(await _step("open", self._open_incident, incident_id))
        await self._investigate(subject, first_card=True)
        with SetWorkflowID(f"{incident_id}:report"), SetEnqueueOptions(queue_partition_key=incident_id):
            await DBOS.enqueue_workflow_async(DELIVERIES, self._deliver, incident_id)

    async def deliver(self, incident_id: str) -> None:
        """Bring what people see up to date, and what the graph knows: after the report, and after each later change."""
        try:
            await _step("put", self._put, incident_id, options=_UNTIL_TAKEN)
        except Exception as error:
            log.error("delivery_given_up", incident=incident_id, error=str(error))
            await _step("rescue", self._rescue, incident_id)
        await _step("learn", self._learn, incident_id)

    async def answer(self, investigation_id: str) -> None:
        """An ad-hoc question: the same loop, and nothing posted."""
        kept = await asyncio.to_thread(self._journal.investigation, investigation_id)
        if kept:
            await self._investigate(kept.subject, first_card=False)

    async def _investigate(self, subject: Incident, *, first_card: bool) -> None:
        # Recorded, so that a replay decides alike even where the settings have changed meanwhile.
        state = State.model_validate_json(await _step("begin", self._begin, subject))

        async def perform_durably(state: State, step: Step) -> Sequence[Event]:
            events = _EVENTS.validate_json(await _step(step.kind, self._perform, state, step))
            if first_card and any(isinstance(event, Consulted) for event in events):
                card = build(state.after(*events), status="running")
                await _step("first_card", self._first_card, card.model_dump_json())
            return events

        try:
            state, finish = await investigate(state, perform=perform_durably, plan=plan, now=_durable_now)
        except Exception as error:
            # A bug must cost the rest of the investigation, never the report.
            log.exception("investigation_failed", investigation=subject.id)
            await _step("save_failed", self._save, subject.id, state, f"a bug ended it ({type(error).__name__})", True)
        else:
            await _step("save", self._save, subject.id, state, finish.reason, False)

    # Steps ------------------------------------------------------------------------------------------------------------

    def _open_incident(self, incident_id: str) -> str:
        subject = self._journal.incident(incident_id).subject
        self._journal.begin(subject)
        return subject.model_dump_json()

    def _begin(self, subject: Incident) -> str:
        model = self._world.model.name if self._world.model else ""
        return State(incident=subject, budget=self._budget, model=model).model_dump_json()

    async def _perform(self, state: State, step: Step) -> str:
        events = list(await perform(self._world, state, step))
        await asyncio.to_thread(self._journal.append, state.incident.id, len(state.events), events)
        for event in events:
            if event.kind in ("tool_answered", "tool_failed"):
                self._metrics.tool_calls.labels("answered" if event.kind == "tool_answered" else "failed").inc()
        return _EVENTS.dump_json(events).decode()

    async def _first_card(self, card: str) -> None:
        """What the graph alone knows, within seconds. A sink that is down now is tried again with the report."""
        report = Report.model_validate_json(card)
        try:
            await self._delivery.put(
                report.id, report.owner.channel, parent_message(report, link=self._link(report.id))
            )
        except ConnectorError:
            log.info("first_card_late", incident=report.id)

    async def _save(self, investigation_id: str, state: State, reason: str, failed: bool) -> None:
        if failed:  # what was found before the bug is in the journal only
            events = await asyncio.to_thread(self._journal.events, investigation_id)
            state = state.model_copy(update={"events": tuple(events)})
        report = build(state, status="complete", reason=reason)
        if failed:
            report = report.model_copy(
                update={"gaps": (f"The investigation did not end well: {reason}.", *report.gaps)}
            )
        outcome = "failed" if failed else "complete"
        await asyncio.to_thread(self._journal.finish, report, outcome, datetime.now(UTC))
        self._metrics.investigations.labels(outcome).inc()
        self._metrics.seconds.observe(report.spend.seconds)
        self._tracer.record(state, report)

    async def _put(self, incident_id: str) -> None:
        """The parent message as it is to be now, and once, in its thread, the detail."""
        now, report = await self._current(incident_id)
        if report is None:
            return  # the investigation still runs; its report will say what changed meanwhile
        channel = report.owner.channel
        message = parent_message(report, now.resolved_at, self._link(incident_id))
        await self._delivery.put(incident_id, channel, message)
        detail_key = f"{incident_id}:detail"
        if not await self._delivery.is_posted(detail_key):
            await self._delivery.put(detail_key, channel, detail_message(report), under=incident_id)

    async def _rescue(self, incident_id: str) -> None:
        now, report = await self._current(incident_id)
        if report:
            message = parent_message(report, now.resolved_at, self._link(incident_id))
            await self._delivery.rescue(incident_id, report.owner.channel, message)

    async def _learn(self, incident_id: str) -> None:
        """The incident enters the graph. A graph that is down costs the memory, not the incident."""
        now, report = await self._current(incident_id)
        if report:
            error = await learn(self._world.graph, now.subject, report, now.resolved_at)
            if error:
                log.warning("not_learned", incident=incident_id, error=error)

    async def _current(self, incident_id: str) -> tuple[IncidentNow, Report | None]:
        now = await asyncio.to_thread(self._journal.incident, incident_id)
        kept = await asyncio.to_thread(self._journal.investigation, incident_id)
        report = kept.report if kept else None
        if report:
            report = report.model_copy(update={"title": now.subject.title, "alerts": _alert_names(now.subject.alerts)})
        return now, report

    def _link(self, investigation_id: str) -> str:
        return f"{self._public_url}/v1/investigations/{investigation_id}" if self._public_url else ""


def _alert_names(alerts: Sequence[AlertFacts]) -> tuple[str, ...]:
    return tuple(alert.name for alert in alerts if alert.status == "firing")


async def _step(name: str, function: Callable[..., Any], *arguments: Any, options: StepOptions | None = None) -> Any:
    """Run a function as a durable step: its answer is kept, and a replay takes the answer instead of running it."""

    async def run() -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        return await asyncio.to_thread(function, *arguments)

    named: StepOptions = {**(options or {}), "name": name}
    return await DBOS.run_step_async(named, run)


async def _durable_now() -> datetime:
    moment: str = await DBOS.run_step_async({"name": "now"}, _now_text)
    return datetime.fromisoformat(moment)


async def _now_text() -> str:
    return datetime.now(UTC).isoformat()
