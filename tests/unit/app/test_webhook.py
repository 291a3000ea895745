from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.webhook import (
    MAX_KEPT_ALERTS,
    OpenIncident,
    alert_facts,
    decide,
    facts_from_json,
    facts_to_json,
    firing_set,
    title_of,
)
from connectors.alertmanager import Notification

NEW = "inc-new"


def alert(
    name: str = "Slow", status: str = "firing", start: str = "2026-03-02T02:13:00Z", **fields: Any
) -> dict[str, Any]:
    return {"status": status, "labels": {"alertname": name}, "startsAt": start, "fingerprint": name, **fields}


def news(*alerts: dict[str, Any], **fields: Any) -> Notification:
    return Notification.model_validate({"alerts": alerts, "groupKey": "{}:{}", **fields})


def opened(*alerts: dict[str, Any]) -> OpenIncident:
    return OpenIncident("inc-1", firing_set(news(*alerts).alerts))


@pytest.mark.parametrize(
    ("notification", "known", "before", "action", "incident", "reason"),
    [
        (news(), None, False, "ignored", None, "lists no alert"),
        (news(), opened(alert()), False, "ignored", "inc-1", "lists no alert"),
        (news(alert()), None, True, "heartbeat", None, "taken before"),
        (news(alert()), opened(alert()), True, "heartbeat", "inc-1", "taken before"),
        (news(alert()), None, False, "new", NEW, "1 alert fires and no incident"),
        (news(alert(), alert("Down")), None, False, "new", NEW, "2 alerts fire and no incident"),
        (news(alert(status="resolved")), None, False, "ignored", None, "everything is resolved"),
        (news(alert()), opened(alert()), False, "heartbeat", "inc-1", "still 1 alert fires"),
        (news(alert(), alert("Down")), opened(alert()), False, "update", "inc-1", "1 more and 0 fewer"),
        (news(alert("Down")), opened(alert()), False, "update", "inc-1", "1 more and 1 fewer"),
        (news(alert(status="resolved")), opened(alert()), False, "resolved", "inc-1", "every alert"),
        (
            news(alert(status="resolved"), truncatedAlerts=3),
            opened(alert()),
            False,
            "heartbeat",
            "inc-1",
            "3 alerts are hidden",
        ),
    ],
)
def test_a_notification_is_decided_with_its_reason(notification, known, before, action, incident, reason):
    decision = decide(notification, known, before, NEW)
    assert (decision.action, decision.incident_id) == (action, incident)
    assert reason in decision.reason


def test_an_alert_that_stopped_and_started_again_is_an_update():
    again = news(alert(start="2026-03-02T03:00:00Z"))
    assert decide(again, opened(alert()), False, NEW).action == "update"


ALERTS = st.lists(
    st.builds(alert, st.sampled_from(["a", "b", "c"]), st.sampled_from(["firing", "resolved"])), max_size=4
)


@given(ALERTS, ALERTS, st.booleans(), st.integers(1, 5))
def test_a_notification_that_hides_alerts_never_closes_an_incident(alerts, before, taken, hidden):
    decision = decide(news(*alerts, truncatedAlerts=hidden), opened(*before), taken, NEW)
    assert decision.action != "resolved"


@given(ALERTS, ALERTS, st.booleans(), st.integers(0, 2))
def test_an_incident_is_closed_only_when_nothing_fires_and_opened_only_when_something_does(
    alerts, before, taken, hidden
):
    notification = news(*alerts, truncatedAlerts=hidden)
    for known in (None, opened(*before)):
        decision = decide(notification, known, taken, NEW)
        assert decision.reason
        if decision.action == "resolved":
            assert known is not None
            assert not firing_set(notification.alerts)
        if decision.action == "new":
            assert known is None
            assert firing_set(notification.alerts)
        if known is not None:
            assert decision.incident_id == known.id


def test_facts_put_what_fires_first_and_merge_the_groups_annotations():
    url = "http://prometheus:9090/graph?g0.expr=errors%20%3E%201&g0.tab=1"
    notification = news(
        alert("Past", "resolved"),
        alert("Slow", annotations={"summary": "own"}, generatorURL=url),
        commonAnnotations={"summary": "common", "runbook_url": "https://wiki/slow"},
    )
    first, second = alert_facts(notification)
    assert (first.name, second.name, second.status) == ("Slow", "Past", "resolved")
    assert first.annotations == {"summary": "own", "runbook_url": "https://wiki/slow"}
    assert first.expression == "errors > 1"
    assert first.link == url
    assert first.starts_at == datetime(2026, 3, 2, 2, 13, tzinfo=UTC)


def test_a_link_no_browser_should_open_and_secrets_are_not_kept():
    (facts,) = alert_facts(news(alert(generatorURL="javascript:alert(1)", annotations={"note": "password=hunter2"})))
    assert facts.link == ""
    assert facts.expression == ""
    assert "hunter2" not in facts.annotations["note"]


def test_a_storm_is_kept_to_a_bound_and_counted_in_the_title():
    notification = news(*(alert(f"A{number}") for number in range(MAX_KEPT_ALERTS + 50)), truncatedAlerts=10)
    assert len(alert_facts(notification)) == MAX_KEPT_ALERTS
    assert title_of(notification) == "A0, A1, A2 (260 alerts)"


@pytest.mark.parametrize(
    ("notification", "title"),
    [
        (news(alert("Slow")), "Slow"),
        (news(alert("Slow"), alert("Past", "resolved")), "Slow (2 alerts)"),
        (news(alert("Past", "resolved")), "Past"),
        (news({"labels": {}}), "An alert without a name"),
        (news(alert("x" * 500)), "x" * 300),
        (news(alert("token=abc123")), "token=[redacted]"),
    ],
)
def test_a_title_names_what_fires(notification, title):
    assert title_of(notification) == title


@given(ALERTS)
def test_facts_survive_being_stored(alerts):
    facts = alert_facts(news(*alerts))
    assert facts_from_json(facts_to_json(facts)) == facts
