from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.state import (
    AlertFacts,
    AskModel,
    Budget,
    CallTools,
    Consult,
    Consulted,
    Equip,
    Event,
    Finish,
    Incident,
    Locate,
    State,
    next_step,
)
from connectors.observations import OwnersSeen
from connectors.tool import ToolCall
from tests.unit.agent.scene import (
    CHECKOUT,
    INCIDENT,
    OPENED,
    START,
    answered,
    call,
    consulted,
    consulted_state,
    equipped,
    failed,
    known,
    located,
    model_failed,
    replied,
    state,
)

SOON = OPENED + timedelta(seconds=5)
ONE, TWO = call("one@a", "a"), call("two@b", "b")


def no_plan(_: State) -> tuple[ToolCall, ...]:
    return ()


def two_calls(_: State) -> tuple[ToolCall, ...]:
    return (ONE, TWO)


EVENTS = st.lists(
    st.one_of(
        st.sampled_from(["resolved", "ambiguous", "unresolved"]).map(located),
        st.builds(consulted),
        st.just(consulted(service=None, error="the graph is down")),
        st.just(equipped()),
        st.sampled_from([ONE, TWO]).map(answered),
        st.sampled_from([ONE, TWO]).map(failed),
        st.builds(replied, st.sampled_from([ONE, TWO]), tokens=st.integers(0, 100_000)),
        st.just(replied()),
        st.just(model_failed()),
    ),
    max_size=10,
)


@given(
    EVENTS,
    st.sampled_from(["", "a-model"]),
    st.sampled_from([no_plan, two_calls]),
    st.integers(0, 1000),
    st.builds(Budget, turns=st.integers(0, 3), calls=st.integers(0, 3), seconds=st.floats(0, 100)),
)
def test_nothing_finishes_before_the_graph_was_consulted(events, model, plan, seconds, budget):
    subject = state(*events, model=model, budget=budget)
    step = next_step(subject, OPENED + timedelta(seconds=seconds), plan)
    if not any(isinstance(event, Consulted) for event in events):
        assert isinstance(step, Locate | Consult)


@given(EVENTS, st.integers(0, 10))
def test_folding_events_at_once_or_in_two_parts_gives_the_same_state(events: list[Event], cut: int):
    assert state().after(*events) == state().after(*events[:cut]).after(*events[cut:])


@given(EVENTS)
def test_what_a_state_tells_is_counted_from_its_events(events: list[Event]):
    subject = state(*events)
    assert subject.tokens == sum(event.input_tokens for event in events if event.kind == "model_replied")
    assert len(subject.tool_events) == sum(event.kind in ("tool_answered", "tool_failed") for event in events)
    assert State.model_validate_json(subject.model_dump_json()) == subject


@given(EVENTS, st.sampled_from(["", "a-model"]))
def test_the_same_call_is_never_made_twice(events, model):
    step = next_step(state(*events, model=model), SOON, two_calls)
    if isinstance(step, CallTools):
        made = {event.call.id for event in events if event.kind in ("tool_answered", "tool_failed")}
        assert step.calls
        assert made.isdisjoint(each.id for each in step.calls)


def test_the_service_is_located_first():
    assert next_step(state(), SOON, two_calls) == Locate()


@pytest.mark.parametrize(
    ("certainty", "consults"), [("resolved", "service-checkout-api"), ("ambiguous", None), ("unresolved", None)]
)
def test_only_a_resolved_service_is_consulted_about(certainty, consults):
    assert next_step(state(located(certainty)), SOON, two_calls) == Consult(service_id=consults)


def test_the_servers_are_asked_what_they_offer_once_the_graph_was_consulted():
    assert next_step(consulted_state(), SOON, two_calls) == Equip()


def test_the_plan_comes_before_the_model():
    subject = consulted_state(equipped()).model_copy(update={"model": "a-model"})
    assert next_step(subject, SOON, two_calls) == CallTools(calls=(ONE, TWO))


def test_a_failed_call_is_not_made_again():
    assert next_step(consulted_state(equipped(), failed(ONE)), SOON, two_calls) == CallTools(calls=(TWO,))


def test_calls_stop_at_their_budget():
    subject = consulted_state(equipped(), answered(ONE)).model_copy(update={"budget": Budget(calls=1)})
    assert isinstance(next_step(subject, SOON, two_calls), Finish)


@pytest.mark.parametrize(
    ("model", "events", "expected"),
    [
        ("", (), Finish(reason="the plan is done; no model is configured")),
        ("m", (), AskModel()),
        ("m", (model_failed(),), Finish(reason="the plan is done; the model failed")),
        ("m", (replied(),), Finish(reason="the model has what it needs")),
        ("m", (replied(ONE),), CallTools(calls=(ONE,))),
        ("m", (replied(ONE), answered(ONE)), AskModel()),
    ],
)
def test_after_the_plan_a_model_asks_for_more_until_it_has_what_it_needs(model, events, expected):
    subject = consulted_state(equipped(), *events).model_copy(update={"model": model})
    assert next_step(subject, SOON, no_plan) == expected


@pytest.mark.parametrize(
    ("budget", "seconds", "reason"),
    [
        (Budget(seconds=30), 30, "the time budget of 30 s is spent"),
        (Budget(turns=1), 5, "the budget of 1 model turns is spent"),
        (Budget(tokens=10), 5, "the budget of 10 tokens is spent"),
    ],
)
def test_each_spent_limit_ends_the_investigation_and_is_named(budget, seconds, reason):
    subject = consulted_state(equipped(), replied(ONE)).model_copy(update={"model": "m", "budget": budget})
    assert next_step(subject, OPENED + timedelta(seconds=seconds), no_plan) == Finish(reason=reason)


def test_time_that_a_restart_has_cost_does_not_cost_the_reads_of_the_plan():
    subject = consulted_state(equipped())
    assert isinstance(next_step(subject, OPENED + timedelta(hours=1), two_calls), CallTools)


def test_an_incident_started_with_its_earliest_alert():
    later = AlertFacts(starts_at=START + timedelta(minutes=5))
    assert INCIDENT.model_copy(update={"alerts": (later, *INCIDENT.alerts, AlertFacts())}).started_at == START


def test_a_question_started_when_it_was_asked():
    assert Incident(id="i", tenant="t", opened_at=OPENED, title="why?").started_at == OPENED


def test_an_alert_without_a_name_is_called_so():
    assert AlertFacts().name == "an alert without a name"
    assert INCIDENT.alerts[0].name == "HighErrorRate"


def test_a_known_entity_answers_to_its_aliases():
    assert CHECKOUT.names == ("checkout-api", "checkout")
    assert known("plain").names == ("plain",)
    assert known("odd", properties={"aliases": "text"}).names == ("odd",)


def test_a_property_that_is_a_list_reads_as_no_text():
    assert CHECKOUT.text("aliases") == ""
    assert CHECKOUT.text("absent") == ""
    assert known("numbered", properties={"tier": 1}).text("tier") == "1"


def test_a_state_without_events_knows_nothing():
    subject = state()
    assert (subject.located, subject.consulted, subject.equipped, subject.model_failure) == (None,) * 4
    assert (subject.tools, subject.unreachable, subject.observations) == ((), {}, ())


def test_observations_come_with_the_call_that_made_them():
    seen = OwnersSeen(repo="acme/checkout", owners=("@acme/payments",))
    assert state(failed(TWO), answered(ONE, seen)).observations == ((ONE, seen),)


def test_an_unresolved_location_names_no_service():
    assert located("ambiguous").service is None
    assert located("resolved", names=()).service is None
