import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from agent.material import material
from agent.model import Answer, Completion, DraftClaim, ModelError, WantedCall
from agent.redact import MASK
from agent.state import AskModel, CallTools, Consult, Equip, Finish, Locate, ModelClaim, State
from agent.tools import MAX_KEPT_TEXT, World, instructions, perform, read, wanted_calls
from connectors.tool import ToolCall, ToolOutcome, ToolSpec
from graphrag.errors import GraphError, GraphMisconfigured, GraphUnavailable
from graphrag.model import Facts, Label, NodeFact
from graphrag.sqlite_store import SqliteStore
from tests.unit.agent.scene import (
    OPENED,
    PROMETHEUS,
    RELEASES,
    START,
    answered,
    call,
    consulted_state,
    equipped,
    located,
    replied,
    state,
)

SECRET = "password=hunter2"
ENDED = OPENED + timedelta(seconds=1.5)


class ServerState(NamedTuple):
    name: str
    state: str
    error: str = ""


class ScriptedFleet:
    """Live servers that answer what the test says, by the id of the call."""

    def __init__(self, outcomes: dict[str, ToolOutcome] | None = None, *status: ServerState) -> None:
        self.outcomes = outcomes or {}
        self.servers = status
        self.waits: list[float] = []

    async def wait_ready(self, timeout: float) -> bool:  # noqa: ASYNC109
        self.waits.append(timeout)
        return True

    def tools(self) -> tuple[ToolSpec, ...]:
        return (PROMETHEUS,)

    def status(self) -> Sequence[ServerState]:
        return self.servers

    async def call(self, call: ToolCall, timeout: float) -> ToolOutcome:  # noqa: ASYNC109
        self.waits.append(timeout)
        return self.outcomes[call.id]


class ScriptedModel:
    """A model that completes as the test says, and keeps what it was shown."""

    name = "scripted"

    def __init__(self, reply: Completion | ModelError | float) -> None:
        self.reply = reply
        self.shown: list[tuple[str, str]] = []

    async def complete(self, instructions: str, material: str, seconds: float) -> Completion:
        self.shown.append((instructions, material))
        if isinstance(self.reply, ModelError):
            raise self.reply
        if isinstance(self.reply, float):
            await asyncio.sleep(self.reply)
            raise AssertionError("nobody stopped waiting")
        return self.reply


async def embed(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, 0.0] for _ in texts]


class FailingStore(SqliteStore):
    """A graph whose first reads fail."""

    def __init__(self, path: Path, error: GraphError, times: int) -> None:
        super().__init__(path, dimensions=2)
        self.error = error
        self.times = times

    def _maybe_fail(self) -> None:
        self.times -= 1
        if self.times >= 0:
            raise self.error

    async def resolve(self, *arguments: Any, **options: Any) -> Any:
        self._maybe_fail()
        return await super().resolve(*arguments, **options)

    async def edges(self, *arguments: Any, **options: Any) -> Any:
        self._maybe_fail()
        return await super().edges(*arguments, **options)


MakeWorld = Callable[..., World]


@pytest.fixture
async def make_world(tmp_path: Path) -> AsyncIterator[MakeWorld]:
    """A world on a graph that knows checkout-api; `error` is what the graph fails with, `times` how often."""
    store = FailingStore(tmp_path / "graph.db", GraphError(""), 0)
    await store.open()
    await store.write("default", Facts("catalog", START, (NodeFact(Label.SERVICE, "checkout-api"),)))

    def make(*, error: GraphError | None = None, times: int = 1_000, **options: Any) -> World:
        store.error, store.times = (error, times) if error else (GraphError(""), 0)
        return World(**{"graph": store, "embed": embed, "fleet": ScriptedFleet(), **options})

    yield make
    await store.close()


def ok(data: Any = None, text: str | None = None, **changes: Any) -> ToolOutcome:
    text = json.dumps(data) if text is None else text
    return ToolOutcome(**{"ok": True, "text": text, "data": data, "started_at": OPENED, "ended_at": ENDED, **changes})


def broken(error: str) -> ToolOutcome:
    return ToolOutcome(ok=False, error=error, started_at=OPENED, ended_at=ENDED)


def made(identity: str, tool: str, **arguments: Any) -> ToolCall:
    return ToolCall(id=identity, server="s", tool=tool, arguments=arguments, purpose="p")


async def one(world: World, subject: State, step: Any) -> Any:
    (event,) = await perform(world, subject, step)
    return event


# The graph ------------------------------------------------------------------------------------------------------------


async def test_the_incidents_service_is_located_and_consulted_in_the_graph(make_world: MakeWorld) -> None:
    world = make_world()
    found = await one(world, state(), Locate())
    assert (found.certainty, found.service.name, found.error) == ("resolved", "checkout-api", "")
    consulted = await one(world, state(found), Consult(service_id=found.service.id))
    assert (consulted.service.name, consulted.error) == ("checkout-api", "")


async def test_a_graph_that_is_away_for_a_moment_is_waited_for(make_world: MakeWorld) -> None:
    found = await one(make_world(error=GraphUnavailable("no route"), times=1), state(), Locate())
    assert found.service.name == "checkout-api"


async def test_a_graph_that_stays_away_is_an_event(make_world: MakeWorld) -> None:
    found = await one(make_world(error=GraphUnavailable("no route"), graph_seconds=0.0), state(), Locate())
    assert (found.certainty, found.error) == ("unresolved", "no route")


async def test_a_graph_that_is_set_up_wrongly_is_not_waited_for(make_world: MakeWorld) -> None:
    found = await one(make_world(error=GraphMisconfigured("migrate it")), state(), Locate())
    assert (found.certainty, found.error) == ("unresolved", "migrate it")


async def test_a_graph_that_fails_while_it_is_consulted_is_an_event(make_world: MakeWorld) -> None:
    world = make_world(error=GraphUnavailable("no route"))
    assert (await one(world, state(located()), Consult(service_id="service-x"))).error == "no route"


async def test_a_graph_that_could_not_locate_is_not_asked_again(make_world: MakeWorld) -> None:
    away = located("unresolved", names=(), error="no route")
    assert (await one(make_world(), state(away), Consult(service_id=None))).error == "no route"


# Live servers ---------------------------------------------------------------------------------------------------------


async def test_servers_that_are_not_ready_are_named_with_the_reason(make_world: MakeWorld) -> None:
    servers = (
        ServerState("prometheus", "ready"),
        ServerState("wiki", "connecting"),
        ServerState("chat", "down", f"refused with {SECRET}"),
    )
    fleet = ScriptedFleet({}, *servers)
    event = await one(make_world(fleet=fleet, tool_seconds=3), state(), Equip())
    assert event.tools == (PROMETHEUS,)
    assert event.unreachable == {"wiki": "it is still connecting", "chat": f"refused with password={MASK}"}
    assert fleet.waits == [3]


async def test_each_call_ends_in_an_event_of_its_own_in_the_order_asked(make_world: MakeWorld) -> None:
    good, bad, odd = call("good@p"), call("bad@p"), call("alert-expression-1@p")
    outcomes = {good.id: ok({"result": []}), bad.id: broken(f"refused with {SECRET}"), odd.id: ok(text="no JSON")}
    events = await perform(
        make_world(fleet=ScriptedFleet(outcomes)), consulted_state(), CallTools(calls=(good, bad, odd))
    )
    assert [(event.call.id, event.kind) for event in events if hasattr(event, "call")] == [
        ("good@p", "tool_answered"),
        ("bad@p", "tool_failed"),
        ("alert-expression-1@p", "tool_failed"),
    ]
    assert [event.seconds for event in events] == [1.5] * 3
    assert all(event.at == ENDED for event in events)
    assert getattr(events[1], "error", "") == f"refused with password={MASK}"
    assert "cannot read" in getattr(events[2], "error", "")


@pytest.mark.parametrize(
    ("outcome", "kept", "truncated"),
    [
        (ok(text="x" * MAX_KEPT_TEXT), MAX_KEPT_TEXT, False),
        (ok(text="x" * (MAX_KEPT_TEXT + 1)), MAX_KEPT_TEXT, True),
        (ok(text="x", truncated=True), 1, True),
    ],
)
async def test_an_answer_is_kept_bounded(make_world: MakeWorld, outcome, kept, truncated) -> None:
    asked = made("model-1-1@s", "anything")
    event = await one(
        make_world(fleet=ScriptedFleet({asked.id: outcome})), consulted_state(), CallTools(calls=(asked,))
    )
    assert (len(event.text), event.truncated, event.observations) == (kept, truncated, ())


async def test_secrets_are_out_of_the_text_and_of_the_observations(make_world: MakeWorld) -> None:
    asked = made("chat@s", "conversations_history")
    outcome = ok([{"channel": "#ops", "realname": "ann", "text": SECRET, "time": START.isoformat()}])
    event = await one(
        make_world(fleet=ScriptedFleet({asked.id: outcome})), consulted_state(), CallTools(calls=(asked,))
    )
    assert event.observations[0].text == f"password={MASK}"
    assert "hunter2" not in event.model_dump_json()


async def test_a_metric_label_that_holds_a_secret_is_masked(make_world: MakeWorld) -> None:
    asked = made("alert-expression-1@s", "execute_query", query="up")
    series = {"metric": {"dsn": "postgres://me:hunter2@db/x", "job": "shop"}, "value": [START.timestamp(), "1"]}
    event = await one(
        make_world(fleet=ScriptedFleet({asked.id: ok({"resultType": "vector", "result": [series]})})),
        consulted_state(),
        CallTools(calls=(asked,)),
    )
    assert event.observations[0].labels["job"] == "shop"
    assert "hunter2" not in event.model_dump_json()


SERIES = {"metric": {"client": "shop", "server": "ledger"}, "value": [START.timestamp(), "2"]}
RELEASE = {"tag_name": "v1", "published_at": START.isoformat()}
PULL = {"number": 7, "title": "t", "merged_at": START.isoformat()}
CSV = "channel,realname,text,time\n#ops,ann,hello,2026-03-02T02:00:00Z\n"


@pytest.mark.parametrize(
    ("asked", "outcome", "kinds"),
    [
        (made("service-graph@s", "execute_query"), ok({"result": [SERIES]}), ["dependency"]),
        (made("alert-expression-1@s", "execute_query", query="up"), ok({"result": [SERIES]}), ["metric"]),
        (made("alert-expression-1@s", "execute_range_query"), ok({"result": [SERIES]}), ["metric"]),
        (made("latest-release@s", "get_latest_release", owner="a", repo="b"), ok(RELEASE), ["release"]),
        (made("model-1-1@s", "list_releases"), ok([RELEASE]), ["release"]),
        (made("changes@s", "list_pull_requests"), ok([PULL]), ["change"]),
        (made("chat@s", "conversations_history"), ok(text=CSV), ["message"]),
        (made("model-1-2@s", "conversations_search_messages"), ok(text=CSV), ["message"]),
        (made("pages@s", "confluence_search"), ok([{"title": "Design"}]), ["page"]),
        (made("owners@s", "get_file_contents"), ok(text="* @acme/payments"), ["owners"]),
        (made("model-1-3@s", "get_file_contents"), ok(text="* @acme/payments"), []),
        (made("model-1-4@s", "something_else"), ok({"any": "thing"}), []),
    ],
)
def test_an_answer_is_typed_by_the_tool_that_gave_it(asked, outcome, kinds) -> None:
    assert [each.kind for each in read(asked, outcome)] == kinds


def test_what_is_typed_remembers_which_repository_was_asked() -> None:
    (seen,) = read(made("latest-release@s", "get_latest_release", owner="acme", repo="shop"), ok(RELEASE))
    assert seen.kind == "release"
    assert seen.repo == "acme/shop"


# The model ------------------------------------------------------------------------------------------------------------


async def test_the_model_sees_instructions_and_material_and_its_reply_is_an_event(make_world: MakeWorld) -> None:
    answer = Answer(
        calls=(WantedCall(server="prometheus", tool="execute_range_query"),),
        verdict=f"It is {SECRET} " + "x" * 2000,
        claims=tuple(DraftClaim(text=f"{SECRET} {'y' * 900}", evidence=("e",) * 30) for _ in range(30)),
    )
    model = ScriptedModel(Completion(answer=answer, input_tokens=7, output_tokens=3))
    subject = consulted_state(equipped(PROMETHEUS))
    event = await one(make_world(model=model), subject, AskModel())
    assert model.shown == [(instructions(), material(subject))]
    assert event.prompt == material(subject)
    assert [each.id for each in event.calls] == ["model-1-1@prometheus"]
    assert event.verdict.startswith(f"It is password={MASK} x")
    assert len(event.verdict) == 1000
    assert (event.input_tokens, event.output_tokens) == (7, 3)
    assert len(event.claims) == 20
    assert event.claims[0] == ModelClaim(text=f"password={MASK} {'y' * 900}"[:500], evidence=("e",) * 10)


@pytest.mark.parametrize(
    ("model", "error"),
    [
        (None, "no model is configured any more"),
        (ScriptedModel(ModelError(f"it said {SECRET}")), f"it said password={MASK}"),
        (ScriptedModel(600.0), "no answer within -5 s"),
    ],
    ids=["gone", "failed", "silent"],
)
async def test_a_model_that_does_not_answer_is_an_event(make_world: MakeWorld, model, error) -> None:
    # The adapter has its own timeout; the loop's, five seconds later, stops an adapter that hangs.
    event = await one(make_world(model=model, model_seconds=-5), consulted_state(equipped()), AskModel())
    assert (event.kind, event.error) == ("model_failed", error)


def test_the_model_gets_only_tools_it_was_offered_with_arguments_that_are_an_object() -> None:
    subject = consulted_state(equipped(PROMETHEUS, RELEASES), replied())
    wanted = (
        WantedCall(server="prometheus", tool="execute_range_query", arguments='{"query": "up"}', purpose=SECRET),
        WantedCall(server="github", tool="execute_range_query"),
        WantedCall(server="prometheus", tool="execute_range_query", arguments="[1]"),
        WantedCall(server="github", tool="get_latest_release", arguments=""),
    )
    found = wanted_calls(subject, Answer(calls=wanted))
    assert [(each.id, each.arguments, each.purpose) for each in found] == [
        ("model-2-1@prometheus", {"query": "up"}, f"password={MASK}"),
        ("model-2-4@github", {}, "what get_latest_release tells"),
    ]


@pytest.mark.parametrize("arguments", ["not JSON", "null", '"text"', "[" * 100_000])
def test_arguments_that_are_no_object_make_no_call(arguments) -> None:
    wanted = WantedCall(server="prometheus", tool="execute_range_query", arguments=arguments)
    assert wanted_calls(consulted_state(equipped(PROMETHEUS)), Answer(calls=(wanted,))) == ()


def test_the_model_gets_a_handful_of_calls_at_once() -> None:
    wanted = WantedCall(server="prometheus", tool="execute_range_query", purpose="x" * 900)
    found = wanted_calls(consulted_state(equipped(PROMETHEUS)), Answer(calls=(wanted,) * 9))
    assert len(found) == len({each.id for each in found}) == 4
    assert len(found[0].purpose) == 200


async def test_to_finish_nothing_is_done(make_world: MakeWorld) -> None:
    assert await perform(make_world(), state(answered("a@a")), Finish(reason="done")) == []


async def test_owners_are_kept_as_written(make_world: MakeWorld) -> None:
    asked = made("owners@s", "get_file_contents", owner="acme", repo="shop")
    fleet = ScriptedFleet({asked.id: ok(text="* @acme/payments @ann")})
    event = await one(make_world(fleet=fleet), consulted_state(), CallTools(calls=(asked,)))
    assert event.observations[0].owners == ("@acme/payments", "@ann")
