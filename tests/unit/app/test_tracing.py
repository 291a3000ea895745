"""An investigation as a trace: its spans are read off the journal, and sending them is never on anybody's way."""

import threading
from datetime import timedelta
from typing import Any

from pydantic import SecretStr

from agent.report import build
from agent.state import ModelClaim
from app.settings import Settings
from app.tracing import Tracer, send, spans
from tests.unit.agent.scene import (
    INCIDENT,
    OPENED,
    answered,
    call,
    consulted,
    equipped,
    failed,
    located,
    minutes,
    model_failed,
    replied,
    state,
)

READ = call("alert-expression-1@prometheus")


def test_each_event_is_one_span_in_order_and_of_its_kind() -> None:
    events = (located(), consulted(), equipped(), answered(READ), failed("a@loki"), replied(), model_failed())
    assert [(each.name, each.kind) for each in spans(state(*events, model="small-model"))] == [
        ("locate", "general"),
        ("consult graph", "general"),
        ("equip", "general"),
        ("execute_range_query", "tool"),
        ("execute_range_query", "tool"),
        ("small-model", "llm"),
        ("small-model", "llm"),
    ]


def test_a_state_without_events_has_no_spans() -> None:
    assert list(spans(state())) == []


def test_a_span_ends_when_its_event_happened_and_began_its_seconds_before() -> None:
    event = answered(READ, at=OPENED + minutes(1)).model_copy(update={"seconds": 2.5})
    (span,) = spans(state(event))
    assert span.end == OPENED + minutes(1)
    assert span.end - span.start == timedelta(seconds=2.5)


def test_retrieval_shows_what_was_found_with_its_scores() -> None:
    (span,) = spans(state(located("ambiguous", ("checkout-api", "checkout-web"))))
    assert span.output == {
        "certainty": "ambiguous",
        "found": [{"name": "checkout-api", "score": 1.0}, {"name": "checkout-web", "score": 0.9}],
    }


def test_a_tool_shows_its_arguments_and_its_answer() -> None:
    made = READ.model_copy(update={"arguments": {"query": "up"}})
    (span,) = spans(state(answered(made, text="1")))
    assert (span.input, span.output, span.error) == ({"query": "up"}, {"text": "1"}, "")


def test_a_model_shows_its_prompt_its_claims_and_what_they_cost() -> None:
    reply = replied(verdict="It panics.", claims=[ModelClaim(text="A panic.", evidence=("a",))], tokens=120)
    (span,) = spans(state(reply.model_copy(update={"prompt": "What broke?", "output_tokens": 30}), model="m"))
    assert span.input == {"prompt": "What broke?"}
    assert span.output == {"verdict": "It panics.", "claims": ["A panic."]}
    assert span.usage == {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}


def test_what_failed_says_why() -> None:
    events = (consulted(service=None, error="the graph is away"), failed(READ, "refused"), model_failed("no key"))
    assert [each.error for each in spans(state(*events))] == ["the graph is away", "refused", "no key"]


def test_long_answers_and_prompts_are_cut() -> None:
    long = "x" * 100_000
    answer, reply = spans(state(answered(READ, text=long), replied().model_copy(update={"prompt": long})))
    assert len(answer.output["text"]) == len(reply.input["prompt"]) == 20_000


class Trace:
    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.spans: list[dict[str, Any]] = []

    def span(self, **fields: Any) -> None:
        self.spans.append(fields)


class Client:
    """Takes traces as Opik's client does."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []

    def trace(self, **fields: Any) -> Trace:
        self.traces.append(Trace(**fields))
        return self.traces[-1]


def test_one_trace_spans_the_whole_investigation_and_names_it() -> None:
    final = state(located(), consulted(), failed(READ, "refused"))
    client = Client()
    send(client, "my-project", final, build(final, status="complete"))
    (trace,) = client.traces
    assert trace.fields["project_name"] == "my-project"
    assert trace.fields["metadata"]["investigation"] == INCIDENT.id
    assert (trace.fields["start_time"], trace.fields["end_time"]) == (OPENED, OPENED + timedelta(seconds=3))
    assert [each["name"] for each in trace.spans] == ["locate", "consult graph", "execute_range_query"]
    assert [each["error_info"] for each in trace.spans][:2] == [None, None]
    assert trace.spans[2]["error_info"]["traceback"] == "refused"


def test_a_question_is_sent_without_the_secret_in_it() -> None:
    asked = INCIDENT.model_copy(update={"question": "why does password=hunter2 not work?"})
    final = state(incident=asked)
    client = Client()
    send(client, "p", final, build(final, status="complete"))
    assert "hunter2" not in repr(client.traces[0].fields)


def test_an_investigation_without_events_is_a_trace_without_length() -> None:
    client = Client()
    send(client, "p", state(), build(state(), status="complete"))
    fields = client.traces[0].fields
    assert fields["start_time"] == fields["end_time"] == OPENED
    assert client.traces[0].spans == []


class TracerOf(Tracer):
    """A tracer whose client is made by the test instead of by Opik, which takes seconds to import."""

    def __init__(self, client: Any) -> None:
        super().__init__(Settings(opik_url="http://opik.example/api", opik_api_key=SecretStr("secret-key")))
        self._given = client

    def _client(self) -> Any:
        if isinstance(self._given, Exception):
            raise self._given
        return self._given


class Flushed(Client):
    flushed = 0

    def flush(self, timeout: float) -> None:
        self.flushed += 1


def test_what_was_recorded_is_sent_before_close_returns() -> None:
    client = Flushed()
    tracer = TracerOf(client)
    final = state(located())
    for _ in range(3):
        tracer.record(final, build(final, status="complete"))
    tracer.close()
    assert (len(client.traces), client.flushed) == (3, 1)


def test_an_unreachable_opik_costs_nothing() -> None:
    tracer = TracerOf(OSError("nobody there"))
    final = state(located())
    tracer.record(final, build(final, status="complete"))
    tracer.close()


def test_without_an_address_nothing_is_started() -> None:
    tracer = Tracer(Settings(opik_url=""))
    tracer.record(state(), build(state(), status="complete"))
    assert "opik" not in {thread.name for thread in threading.enumerate()}
    tracer.close()
