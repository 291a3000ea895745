"""Performs the loop's steps in the world: graph reads, tool calls, the model. Failures come back as events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any, Protocol, cast

from agent import consult
from agent.material import material, part_material
from agent.model import Answer, Completion, Model, ModelError, WantedCall
from agent.redact import redact, redact_values
from agent.state import (
    AskModel,
    AskParts,
    CallTools,
    Consult,
    Consulted,
    Equip,
    Equipped,
    Event,
    Finish,
    Locate,
    Located,
    ModelClaim,
    ModelFailed,
    ModelReplied,
    PartAnswered,
    State,
    Step,
    ToolAnswered,
    ToolFailed,
)
from connectors import confluence, github, prometheus, slack_history
from connectors.errors import ConnectorError
from connectors.observations import Observation
from connectors.tool import ToolCall, ToolOutcome, ToolSpec
from graphrag.errors import GraphError, GraphUnavailable
from graphrag.label_keys import NOTHING_TOLD, ToldKeys
from graphrag.rank import Weights
from graphrag.retrieve import Embed
from graphrag.store import GraphStore

TOOL_SECONDS = 15.0
MODEL_SECONDS = 40.0
GRAPH_SECONDS = 20.0
"""How long a graph that does not answer is waited for; its restart takes about half of it."""
MAX_KEPT_TEXT = 16_000
_MAX_MODEL_CALLS = 4


class Status(Protocol):
    """How a server is. `error` is a sentence, empty while nothing is known to be wrong."""

    @property
    def name(self) -> str: ...
    @property
    def state(self) -> str: ...
    @property
    def error(self) -> str: ...


class Fleet(Protocol):
    """What the loop needs of the live servers."""

    async def wait_ready(self, timeout: float) -> bool: ...  # noqa: ASYNC109

    def tools(self) -> tuple[ToolSpec, ...]: ...

    def status(self) -> Sequence[Status]: ...

    async def call(self, call: ToolCall, timeout: float) -> ToolOutcome: ...  # noqa: ASYNC109


class NoServers:
    """The fleet of an installation that names no server: nothing is offered, so nothing is ever called."""

    async def wait_ready(self, timeout: float) -> bool:  # noqa: ASYNC109
        return True

    def tools(self) -> tuple[ToolSpec, ...]:
        return ()

    def status(self) -> Sequence[Status]:
        return ()

    async def call(self, call: ToolCall, timeout: float) -> ToolOutcome:  # noqa: ASYNC109
        now = _now()
        return ToolOutcome(ok=False, error=f"There is no server {call.server}.", started_at=now, ended_at=now)


@dataclass(frozen=True)
class World:
    """Everything outside that an investigation may touch, for how long, in seconds, it waits for each, how pages are
    ranked, and which keys of labels the organisation says hold services and teams."""

    graph: GraphStore
    embed: Embed
    fleet: Fleet
    model: Model | None = None
    tool_seconds: float = TOOL_SECONDS
    model_seconds: float = MODEL_SECONDS
    graph_seconds: float = GRAPH_SECONDS
    weights: Weights | None = None
    told: ToldKeys = NOTHING_TOLD


async def perform(world: World, state: State, step: Step) -> Sequence[Event]:
    """Do one step and tell what happened."""
    match step:
        case Locate():
            return [await _locate(world, state)]
        case Consult(service_id=service_id):
            return [await _consult(world, state, service_id)]
        case Equip():
            return [await _equip(world)]
        case CallTools(calls=calls):
            return await asyncio.gather(*(_call(world, call) for call in calls))
        case AskModel():
            return [await _ask(world, state)]
        case AskParts(communities=communities):
            return await _ask_parts(world, state, communities)
        case Finish():
            return []


async def _locate(world: World, state: State) -> Located:
    """Find the incident's place. A graph that is away for a moment is waited for: everything else stands on it."""
    seconds = _stopwatch()
    while True:
        try:
            return await consult.locate_incident(
                world.graph, world.embed, state.incident, seconds, world.weights, world.told
            )
        except GraphUnavailable as error:
            if seconds() >= world.graph_seconds:
                return Located(at=_now(), seconds=seconds(), certainty="unresolved", error=str(error))
            await asyncio.sleep(1)
        except GraphError as error:
            return Located(at=_now(), seconds=seconds(), certainty="unresolved", error=str(error))


async def _consult(world: World, state: State, service_id: str | None) -> Consulted:
    seconds = _stopwatch()
    if state.located and state.located.error:
        return Consulted(at=_now(), seconds=seconds(), error=state.located.error)
    try:
        if state.located and state.located.route != "point":
            return await consult.consult_incident(world.graph, world.embed, state.incident, state.located, seconds)
        return await consult.consult_graph(world.graph, state.incident.tenant, service_id, seconds)
    except GraphError as error:
        return Consulted(at=_now(), seconds=seconds(), error=str(error))


async def _equip(world: World) -> Equipped:
    """What the servers offer. One that still connects, as after a start, is waited for as long as for a call."""
    seconds = _stopwatch()
    await world.fleet.wait_ready(world.tool_seconds)
    return Equipped(
        at=_now(),
        seconds=seconds(),
        tools=world.fleet.tools(),
        unreachable={
            each.name: redact(each.error or "it is still connecting")
            for each in world.fleet.status()
            if each.state != "ready"
        },
    )


async def _call(world: World, call: ToolCall) -> ToolAnswered | ToolFailed:
    outcome = await world.fleet.call(call, world.tool_seconds)
    took = (outcome.ended_at - outcome.started_at).total_seconds()
    if not outcome.ok:
        return ToolFailed(at=outcome.ended_at, seconds=took, call=call, error=redact(outcome.error))
    try:
        observations = read(call, outcome)
    except ConnectorError as error:
        return ToolFailed(at=outcome.ended_at, seconds=took, call=call, error=redact(str(error)))
    return ToolAnswered(
        at=outcome.ended_at,
        seconds=took,
        call=call,
        text=redact(outcome.text)[:MAX_KEPT_TEXT],
        truncated=outcome.truncated or len(outcome.text) > MAX_KEPT_TEXT,
        observations=tuple(_redacted(each) for each in observations),
    )


def read(call: ToolCall, outcome: ToolOutcome) -> tuple[Observation, ...]:
    """Type an answer by the tool that gave it; an unknown tool's answer stays text. Raises `ConnectorError`."""
    if call.id.startswith("service-graph"):
        return prometheus.read_service_graph(outcome)
    arguments = call.arguments
    repo = f"{arguments.get('owner', '')}/{arguments.get('repo', '')}"
    readers: dict[str, Callable[[], tuple[Observation, ...]]] = {
        "execute_query": lambda: prometheus.read_metrics(outcome, str(arguments.get("query", ""))),
        "execute_range_query": lambda: prometheus.read_metrics(outcome, str(arguments.get("query", ""))),
        "get_latest_release": lambda: github.read_latest_release(outcome, repo),
        "list_releases": lambda: github.read_latest_release(outcome, repo),
        "list_pull_requests": lambda: github.read_changes(outcome, repo),
        "conversations_history": lambda: slack_history.read_messages(outcome),
        "conversations_search_messages": lambda: slack_history.read_messages(outcome),
        "confluence_search": lambda: confluence.read_pages(outcome),
    }
    if call.tool == "get_file_contents" and call.id.startswith("owners"):
        return github.read_owners(outcome, repo)
    reader = readers.get(call.tool)
    return reader() if reader else ()


def _redacted(seen: Observation) -> Observation:
    """An observation without secrets, in its labels too. Its kind and its link stay: a link was checked already."""
    clean: dict[str, Any] = {}
    for key, value in seen:
        if key in ("kind", "link"):
            continue
        if isinstance(value, str):
            clean[key] = redact(value)
        elif isinstance(value, dict):
            clean[key] = redact_values(cast("dict[str, str]", value))
        elif isinstance(value, tuple):
            clean[key] = tuple(redact(each) for each in cast("tuple[str, ...]", value))
    return seen.model_copy(update=clean)


async def _ask(world: World, state: State) -> ModelReplied | ModelFailed:
    seconds = _stopwatch()
    if world.model is None:
        return ModelFailed(at=_now(), seconds=seconds(), error="no model is configured any more")
    prompt = material(state)
    try:
        completion = await _complete(world.model, world.model_seconds, "investigate", prompt)
    except ModelError as error:
        return ModelFailed(at=_now(), seconds=seconds(), error=redact(str(error)))
    answer = completion.answer
    return ModelReplied(
        at=_now(),
        seconds=seconds(),
        calls=wanted_calls(state, answer),
        verdict=redact(answer.verdict)[:1000],
        claims=_claims(answer),
        prompt=prompt,
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
    )


async def _ask_parts(world: World, state: State, communities: Sequence[str]) -> Sequence[PartAnswered]:
    """One answer a community, in order; a few are asked for at a time, as gateways limit how many may be."""
    turn = asyncio.Semaphore(_MAX_MODEL_CALLS)

    async def ask(community: str) -> PartAnswered:
        async with turn:
            return await _ask_part(world, state, community)

    return await asyncio.gather(*(ask(community) for community in communities))


async def _ask_part(world: World, state: State, community: str) -> PartAnswered:
    seconds = _stopwatch()
    if world.model is None:
        return PartAnswered(at=_now(), community=community, error="no model is configured any more")
    try:
        prompt = part_material(state, community)
        completion = await _complete(world.model, world.model_seconds, "part", prompt)
    except ModelError as error:
        return PartAnswered(at=_now(), seconds=seconds(), community=community, error=redact(str(error)))
    return PartAnswered(
        at=_now(),
        seconds=seconds(),
        community=community,
        text=redact(completion.answer.verdict)[:1000],
        claims=_claims(completion.answer),
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
    )


async def _complete(model: Model, seconds: float, prompt: str, shown: str) -> Completion:
    """One call of the model, which is not waited for longer than it was given. Raises `ModelError`."""
    try:
        async with asyncio.timeout(seconds + 5):
            return await model.complete(instructions(prompt), shown, seconds)
    except TimeoutError as error:
        raise ModelError(f"no answer within {seconds:g} s") from error


def _claims(answer: Answer) -> tuple[ModelClaim, ...]:
    return tuple(
        ModelClaim(text=redact(claim.text)[:500], evidence=claim.evidence[:10]) for claim in answer.claims[:20]
    )


def wanted_calls(state: State, answer: Answer) -> tuple[ToolCall, ...]:
    """The model's wishes as calls: only tools it was offered, arguments that are an object, a handful at once."""
    offered = {(spec.server, spec.name) for spec in state.tools}
    turn = len(state.replies) + 1
    calls: list[ToolCall] = []
    for number, wanted in enumerate(answer.calls[:_MAX_MODEL_CALLS], start=1):
        arguments = _arguments(wanted)
        if (wanted.server, wanted.tool) in offered and arguments is not None:
            calls.append(
                ToolCall(
                    id=f"model-{turn}-{number}@{wanted.server}",
                    server=wanted.server,
                    tool=wanted.tool,
                    arguments=arguments,
                    purpose=redact(wanted.purpose)[:200] or f"what {wanted.tool} tells",
                )
            )
    return tuple(calls)


def _arguments(wanted: WantedCall) -> dict[str, Any] | None:
    try:
        arguments: object = json.loads(wanted.arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else None


def instructions(name: str = "investigate") -> str:
    return files("agent").joinpath(f"prompts/{name}.txt").read_text(encoding="utf-8")


def _now() -> datetime:
    return datetime.now(UTC)


def _stopwatch() -> Callable[[], float]:
    start = time.perf_counter()
    return lambda: round(time.perf_counter() - start, 6)
