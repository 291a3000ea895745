"""A journal is enough to make its report again, with nothing outside touched."""

import json
import random
from datetime import timedelta
from typing import Any

import pytest

from agent.report import Report, build
from agent.state import Budget, Event, ModelClaim, Part, PartAnswered, State
from app.journal import Kept, bundle
from app.replay import replay
from connectors.tool import ToolCall
from tests.unit.agent.scene import (
    INCIDENT,
    OPENED,
    answered,
    consulted,
    equipped,
    known,
    located,
    model_failed,
    replied,
    state,
)

EXTRA = ToolCall(id="ask-1", server="loki", tool="query", arguments={"q": "error"}, purpose="the log")
PLAN_ALONE = (located(), consulted(), equipped(unreachable={"prometheus": "no answer within 15 s"}))
UNRESOLVED = (located("unresolved", ()), consulted(service=None, team=None, dependencies=(), dependents=()), equipped())
WITH_A_MODEL = (
    *PLAN_ALONE,
    replied(EXTRA),
    answered(EXTRA, text="panic in charge()"),
    replied(verdict="A panic.", claims=[ModelClaim(text="It panics.", evidence=("ask-1",))]),
)
PARTS = tuple(Part(community=known(name, "Community"), title=name, text=f"{name}.") for name in ("one", "two"))
BY_PARTS = (
    located("unresolved", (), route="whole"),
    consulted(service=None, team=None, dependencies=(), dependents=(), parts=PARTS),
    equipped(),
    PartAnswered(at=OPENED, community="community-one", text="The first.", input_tokens=5),
    PartAnswered(at=OPENED, community="community-two", error="no answer within 40 s"),
    replied(verdict="Both."),
)


def finished(*events: Event, reason: str = "", **changes: Any) -> tuple[State, Report]:
    final = state(*events, **changes)
    return final, build(final, status="complete", reason=reason)


def as_a_file(final: State, report: Report | None) -> dict[str, Any]:
    """The bundle as somebody downloads it: JSON text, read again."""
    return json.loads(json.dumps(bundle(Kept(final.incident, "complete", report), final.events)))


@pytest.mark.parametrize(
    ("events", "model", "reason"),
    [
        (PLAN_ALONE, "", "the plan is done; no model is configured"),
        (UNRESOLVED, "", "the plan is done; no model is configured"),
        (WITH_A_MODEL, "small-model", "the model has what it needs"),
        (BY_PARTS, "small-model", "the model has what it needs"),
        ((*PLAN_ALONE, model_failed()), "small-model", "the plan is done; the model failed"),
    ],
    ids=["plan alone", "unresolved", "with a model", "by parts", "model failed"],
)
def test_a_journal_gives_the_same_report_again(events: tuple[Event, ...], model: str, reason: str) -> None:
    final, report = finished(*events, model=model, reason=reason)
    assert replay(as_a_file(final, report)) == report


def test_an_investigation_that_ran_out_of_time_is_replayed_too() -> None:
    late = equipped().model_copy(update={"at": OPENED + timedelta(seconds=95)})
    final, report = finished(
        located(), consulted(), late, model="small-model", reason="the time budget of 90 s is spent"
    )
    assert replay(as_a_file(final, report)) == report


def test_an_investigation_with_more_turns_than_the_default_is_replayed_whole() -> None:
    asked = [ToolCall(id=f"ask-{n}", server="loki", tool="query", arguments={}, purpose="the log") for n in range(5)]
    turns = [event for each in asked for event in (replied(each), answered(each))]
    events = (*PLAN_ALONE, *turns, replied(verdict="Found in the sixth turn."))
    budget = Budget(turns=10)
    final, report = finished(*events, model="small-model", budget=budget, reason="the model has what it needs")
    assert replay(as_a_file(final, report)) == report


def test_a_journal_without_a_report_is_replayed_by_the_plan_alone() -> None:
    final, report = finished(*PLAN_ALONE, reason="the plan is done; no model is configured")
    assert replay(as_a_file(final, None)) == report


def test_the_order_of_keys_in_the_file_does_not_matter() -> None:
    final, report = finished(*WITH_A_MODEL, model="small-model", reason="the model has what it needs")

    def shuffled(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shuffled(value[key]) for key in random.Random(7).sample(sorted(value), len(value))}
        return [shuffled(each) for each in value] if isinstance(value, list) else value

    assert replay(shuffled(as_a_file(final, report))) == report


@pytest.mark.parametrize("cut", [0, 1, 2, 4])
def test_a_journal_that_ends_too_early_says_before_which_step(cut: int) -> None:
    final, report = finished(*WITH_A_MODEL, model="small-model")
    broken = as_a_file(final, report)
    broken["events"] = broken["events"][:cut]
    with pytest.raises(ValueError, match="the journal ends before the step"):
        replay(broken)


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"events": []},
        {"subject": INCIDENT.model_dump(mode="json")},
        {"subject": INCIDENT.model_dump(mode="json"), "events": {}},
        {"subject": 7, "events": []},
        {"subject": {}, "events": []},
        {"subject": INCIDENT.model_dump(mode="json"), "events": [{"kind": "danced", "at": OPENED.isoformat()}]},
        {"subject": INCIDENT.model_dump(mode="json"), "events": ["located"]},
        {"subject": INCIDENT.model_dump(mode="json"), "events": [], "report": {"id": "inc-1"}},
    ],
)
def test_what_is_no_journal_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        replay(broken)
