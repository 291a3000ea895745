"""What an investigation is, and what it should do next.

State is a fold: the incident, the budget and a tuple of events. Turns, spend and evidence are computed from the events,
never counted on the side, so the journal of events is at once the audit trail, the recovery point and the test fixture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import Field

from agent.known import CandidateService, Certainty, Frozen, Known, Part, Route, TeamClaim, Way
from connectors.observations import Observation
from connectors.tool import ToolCall, ToolSpec

# What there is to investigate -----------------------------------------------------------------------------------------


class AlertFacts(Frozen):
    """One alert as the investigation needs it. `expression` is the rule's PromQL, empty when the alert carries none."""

    status: Literal["firing", "resolved"] = "firing"
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    starts_at: datetime | None = None
    expression: str = ""
    link: str = ""

    @property
    def name(self) -> str:
        return self.labels.get("alertname", "") or "an alert without a name"


class Incident(Frozen):
    """The subject of an investigation: alerts that fired, or a question or a service somebody asked about."""

    id: str
    tenant: str
    opened_at: datetime
    title: str
    alerts: tuple[AlertFacts, ...] = ()
    question: str = ""
    service: str = ""

    @property
    def started_at(self) -> datetime:
        """When it began to hurt: the earliest start among the alerts, else the time it was opened."""
        return min((alert.starts_at for alert in self.alerts if alert.starts_at), default=self.opened_at)


class Budget(Frozen):
    """Limits of one investigation. `seconds` is wall time; what is reached ends the asking, never the report."""

    turns: int = 4
    calls: int = 24
    tokens: int = 60_000
    seconds: float = 90.0


# What happened --------------------------------------------------------------------------------------------------------


class _Event(Frozen):
    at: datetime
    seconds: float = 0.0


class Located(_Event):
    """The entry points were asked which service this is about. `error` tells why they could not be. A question that is
    not about one service has another `route` than `point`, the `ends` of its paths, and resolves to none. `claims` are
    the teams that it names itself; `owner` is whose it is where no service is sure, and `owner_known_by` says by what,
    or why there is none."""

    kind: Literal["located"] = "located"
    certainty: Certainty
    candidates: tuple[CandidateService, ...] = ()
    documents: tuple[Known, ...] = ()
    explanation: str = ""
    route: Route = "point"
    ends: tuple[Known, ...] = ()
    claims: tuple[TeamClaim, ...] = ()
    owner: Known | None = None
    owner_known_by: str = ""
    error: str = ""

    @property
    def service(self) -> CandidateService | None:
        return self.candidates[0] if self.certainty == "resolved" and self.candidates else None


class Consulted(_Event):
    """The graph was read around the service, or for a question about more than one. `incidents` hit it before;
    `supplier_incidents` are open now on what it depends on. `more_parts` communities fit too and were not read;
    `more_ways`: there are more paths. `error` tells why the graph could not be read."""

    kind: Literal["consulted"] = "consulted"
    service: Known | None = None
    team: Known | None = None
    teams: tuple[Known, ...] = ()
    dependencies: tuple[Known, ...] = ()
    dependents: tuple[Known, ...] = ()
    truncated: bool = False
    suppliers_truncated: bool = False
    runbooks: tuple[Known, ...] = ()
    documents: tuple[Known, ...] = ()
    releases: tuple[Known, ...] = ()
    incidents: tuple[Known, ...] = ()
    supplier_incidents: tuple[Known, ...] = ()
    parts: tuple[Part, ...] = ()
    more_parts: int = 0
    ways: tuple[Way, ...] = ()
    more_ways: bool = False
    error: str = ""

    @property
    def found(self) -> bool:
        """Whether the graph knows anything of what it was asked about."""
        return bool(self.service or self.parts or self.ways)


class Equipped(_Event):
    """The live servers were asked what they offer. `unreachable` says of each server that cannot be asked, why."""

    kind: Literal["equipped"] = "equipped"
    tools: tuple[ToolSpec, ...] = ()
    unreachable: Mapping[str, str] = {}


class ToolAnswered(_Event):
    """A tool call ended well. `text` is its answer, bounded and redacted; `observations` are what we could type."""

    kind: Literal["tool_answered"] = "tool_answered"
    call: ToolCall
    text: str
    truncated: bool = False
    observations: tuple[Observation, ...] = ()


class ToolFailed(_Event):
    kind: Literal["tool_failed"] = "tool_failed"
    call: ToolCall
    error: str


class ModelClaim(Frozen):
    """A sentence the model wants in the report, with the evidence ids it leans on."""

    text: str
    evidence: tuple[str, ...] = ()


class ModelReplied(_Event):
    kind: Literal["model_replied"] = "model_replied"
    calls: tuple[ToolCall, ...] = ()
    verdict: str = ""
    claims: tuple[ModelClaim, ...] = ()
    prompt: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


class ModelFailed(_Event):
    kind: Literal["model_failed"] = "model_failed"
    error: str


class PartAnswered(_Event):
    """The model told what one community has to say, or, says `error`, did not: then the part's own text stands."""

    kind: Literal["part_answered"] = "part_answered"
    community: str
    text: str = ""
    claims: tuple[ModelClaim, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""


Event = Annotated[
    Located | Consulted | Equipped | ToolAnswered | ToolFailed | ModelReplied | ModelFailed | PartAnswered,
    Field(discriminator="kind"),
]


# What to do next ------------------------------------------------------------------------------------------------------


class Locate(Frozen):
    kind: Literal["locate"] = "locate"


class Consult(Frozen):
    kind: Literal["consult"] = "consult"
    service_id: str | None


class Equip(Frozen):
    kind: Literal["equip"] = "equip"


class CallTools(Frozen):
    kind: Literal["call_tools"] = "call_tools"
    calls: tuple[ToolCall, ...]


class AskModel(Frozen):
    kind: Literal["ask_model"] = "ask_model"


class AskParts(Frozen):
    """Ask the model for each of these communities' parts, side by side."""

    kind: Literal["ask_parts"] = "ask_parts"
    communities: tuple[str, ...]


class Finish(Frozen):
    kind: Literal["finish"] = "finish"
    reason: str


Step = Locate | Consult | Equip | CallTools | AskModel | AskParts | Finish


class State(Frozen):
    """Everything an investigation knows. `model` is empty when none is configured."""

    incident: Incident
    budget: Budget = Budget()
    model: str = ""
    events: tuple[Event, ...] = ()

    def after(self, *events: Event) -> State:
        return self.model_copy(update={"events": self.events + events})

    @property
    def located(self) -> Located | None:
        return next((event for event in self.events if isinstance(event, Located)), None)

    @property
    def consulted(self) -> Consulted | None:
        return next((event for event in self.events if isinstance(event, Consulted)), None)

    @property
    def equipped(self) -> Equipped | None:
        return next((event for event in self.events if isinstance(event, Equipped)), None)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        return self.equipped.tools if self.equipped else ()

    @property
    def unreachable(self) -> Mapping[str, str]:
        return self.equipped.unreachable if self.equipped else {}

    @property
    def tool_events(self) -> tuple[ToolAnswered | ToolFailed, ...]:
        return tuple(event for event in self.events if isinstance(event, ToolAnswered | ToolFailed))

    @property
    def observations(self) -> tuple[tuple[ToolCall, Observation], ...]:
        """Each typed observation with the call that made it, in order."""
        return tuple(
            (event.call, seen)
            for event in self.events
            if isinstance(event, ToolAnswered)
            for seen in event.observations
        )

    @property
    def replies(self) -> tuple[ModelReplied, ...]:
        return tuple(event for event in self.events if isinstance(event, ModelReplied))

    @property
    def model_failure(self) -> ModelFailed | None:
        return next((event for event in self.events if isinstance(event, ModelFailed)), None)

    @property
    def part_answers(self) -> tuple[PartAnswered, ...]:
        return tuple(event for event in self.events if isinstance(event, PartAnswered))

    @property
    def tokens(self) -> int:
        return sum(each.input_tokens + each.output_tokens for each in (*self.replies, *self.part_answers))


Plan = Callable[[State], tuple[ToolCall, ...]]


def next_step(state: State, now: datetime, plan: Plan) -> Step:
    """Decide the next step; act on nothing.

    The graph is always consulted before anything can finish. The plan's reads come first, with or without a model and
    whatever time a restart has cost: they take little and they are what the report stands on. A model, when there is
    one, then reads and may ask for more; when it fails, what the plan gathered finishes the job.
    """
    located = state.located
    if located is None:
        return Locate()
    if state.consulted is None:
        return Consult(service_id=located.service.id if located.service else None)
    if state.equipped is None:
        return Equip()
    planned = _unmade(state, plan(state))
    if planned:
        return CallTools(calls=planned)
    return _with_the_model(state, now)


def _with_the_model(state: State, now: datetime) -> Step:
    """The plan is done: what the model, if there is one, is for, as far as the budget reaches."""
    if not state.model:
        return Finish(reason="the plan is done; no model is configured")
    if state.model_failure:
        return Finish(reason="the plan is done; the model failed")
    reply = state.replies[-1] if state.replies else None
    if reply and not reply.calls:
        return Finish(reason="the model has what it needs")
    spent = _spent(state, now)
    if spent:
        return Finish(reason=spent)
    parts = _untold(state)
    if parts:
        return AskParts(communities=parts)
    wanted = _unmade(state, reply.calls) if reply else ()
    return CallTools(calls=wanted) if wanted else AskModel()


def _untold(state: State) -> tuple[str, ...]:
    """The communities that the model has not been asked about, as far as the budget of calls reaches: the most relevant
    come first."""
    told = {answer.community for answer in state.part_answers}
    parts = state.consulted.parts if state.consulted else ()
    return tuple(part.community.id for part in parts[: state.budget.calls] if part.community.id not in told)


def _unmade(state: State, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """The calls not made yet, as far as the budget of calls reaches."""
    made = {event.call.id for event in state.tool_events}
    left = max(0, state.budget.calls - len(made))
    return tuple(call for call in calls if call.id not in made)[:left]


def _spent(state: State, now: datetime) -> str:
    """Which limit is reached, as a phrase for the report; empty while there is budget."""
    first = state.events[0].at if state.events else now
    if now - first >= timedelta(seconds=state.budget.seconds):
        return f"the time budget of {state.budget.seconds:g} s is spent"
    if len(state.replies) >= state.budget.turns:
        return f"the budget of {state.budget.turns} model turns is spent"
    if state.tokens >= state.budget.tokens:
        return f"the budget of {state.budget.tokens} tokens is spent"
    return ""
