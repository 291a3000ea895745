"""What is kept of an investigation; the database is a real SQLite file."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from agent.report import build
from agent.state import Incident
from app.database import incidents, metadata, open_engine
from app.journal import SETTLE, Journal
from app.webhook import facts_to_json
from connectors.observations import ReleaseSeen
from tests.unit.agent.scene import ALERT, INCIDENT, OPENED, START, answered, consulted, equipped, failed, located, state

LATER = datetime(2027, 1, 1, tzinfo=UTC)

EVENTS = (
    located(),
    consulted(),
    equipped(unreachable={"loki": "no answer within 15 s"}),
    answered("latest-release@github", ReleaseSeen(repo="acme/checkout", version="1.4.0", released_at=START)),
    failed("alert-expression-1@prometheus"),
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = open_engine(f"sqlite:///{tmp_path / 'incidents.sqlite'}")
    metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def journal(engine: sa.Engine) -> Journal:
    return Journal(engine)


def keep_incident(engine: sa.Engine, **changes: Any) -> None:
    row: dict[str, Any] = {
        "id": INCIDENT.id,
        "tenant": INCIDENT.tenant,
        "group_id": f"group of {changes.get('id', INCIDENT.id)}",
        "status": "open",
        "title": INCIDENT.title,
        "alerts": facts_to_json([ALERT]),
        "firing": "[]",
        "opened_at": OPENED,
        "updated_at": OPENED,
        "revision": 1,
        "queued_revision": 0,
    }
    with engine.begin() as connection:
        connection.execute(incidents.insert().values({**row, **changes}))


def test_events_come_back_as_they_happened_and_in_order(journal: Journal) -> None:
    journal.append(INCIDENT.id, 0, EVENTS[:2])
    journal.append(INCIDENT.id, 2, EVENTS[2:])
    assert tuple(journal.events(INCIDENT.id)) == EVENTS
    assert tuple(journal.events(INCIDENT.id, after=3)) == EVENTS[3:]
    assert journal.events("inc-2") == []


def test_more_than_ten_events_are_ordered_by_number_and_not_by_text(journal: Journal) -> None:
    many = [failed(f"call-{number}@prometheus") for number in range(12)]
    journal.append(INCIDENT.id, 0, many)
    assert journal.events(INCIDENT.id) == many


def test_a_step_that_runs_again_after_a_crash_replaces_what_it_wrote(journal: Journal) -> None:
    journal.append(INCIDENT.id, 0, EVENTS)
    again = failed("alert-expression-1@prometheus", "refused")
    journal.append(INCIDENT.id, 3, [again])
    assert tuple(journal.events(INCIDENT.id)) == (*EVENTS[:3], again, *EVENTS[4:])


def test_a_step_without_events_takes_nothing_away(journal: Journal) -> None:
    journal.append(INCIDENT.id, 0, EVENTS)
    journal.append(INCIDENT.id, 0, [])
    assert tuple(journal.events(INCIDENT.id)) == EVENTS


def test_an_investigation_is_running_without_a_report_and_then_complete_with_one(journal: Journal) -> None:
    journal.begin(INCIDENT)
    assert journal.investigation(INCIDENT.id) == (INCIDENT, "running", None)
    report = build(state(*EVENTS), status="complete")
    journal.finish(report, "complete", OPENED + timedelta(minutes=1))
    assert journal.investigation(INCIDENT.id) == (INCIDENT, "complete", report)


def test_to_begin_once_more_changes_nothing(journal: Journal) -> None:
    journal.begin(INCIDENT)
    journal.finish(build(state(*EVENTS), status="complete"), "complete", OPENED)
    journal.begin(INCIDENT.model_copy(update={"title": "another"}))
    kept = journal.investigation(INCIDENT.id)
    assert kept is not None
    assert (kept.subject, kept.status) == (INCIDENT, "complete")


def test_another_tenant_sees_no_investigation_of_ours(journal: Journal) -> None:
    journal.begin(INCIDENT)
    assert journal.investigation(INCIDENT.id, INCIDENT.tenant) is not None
    assert journal.investigation(INCIDENT.id, "another") is None
    assert journal.investigation("inc-unknown") is None


def test_an_incident_is_read_as_it_stands(engine: sa.Engine, journal: Journal) -> None:
    keep_incident(engine, revision=3)
    assert journal.incident(INCIDENT.id) == (INCIDENT, 3, None)


def test_times_are_utc_whatever_zone_they_came_in(engine: sa.Engine, journal: Journal) -> None:
    local = OPENED.astimezone(timezone(timedelta(hours=5, minutes=45)))
    keep_incident(engine, opened_at=local, resolved_at=local)
    subject, _, resolved_at = journal.incident(INCIDENT.id)
    assert subject.opened_at == resolved_at == OPENED
    assert subject.opened_at.tzinfo is UTC


def test_hostile_text_in_an_event_and_a_subject_stays_data(journal: Journal) -> None:
    said = '\'; DROP TABLE journal; -- "%s" 🔥\u2028'
    subject = Incident(id="inv-1", tenant="default", opened_at=OPENED, title=said, question=said)
    journal.begin(subject)
    journal.append("inv-1", 0, [failed("a@b", said)])
    kept = journal.investigation("inv-1")
    assert kept is not None
    assert kept.subject == subject
    assert journal.events("inv-1") == [failed("a@b", said)]


@pytest.mark.parametrize(
    ("revision", "queued", "expected"),
    [(1, 0, [1]), (4, 0, [1, 4]), (4, 1, [4]), (4, 3, [4]), (4, 4, [])],
)
def test_the_first_revision_is_never_skipped_and_of_the_later_ones_the_last_says_it_all(
    engine: sa.Engine, journal: Journal, revision: int, queued: int, expected: list[int]
) -> None:
    keep_incident(engine, revision=revision, queued_revision=queued)
    assert journal.unqueued(LATER)[0] == [(INCIDENT.id, each) for each in expected]


def test_a_revision_once_queued_is_not_queued_again_and_never_goes_back(engine: sa.Engine, journal: Journal) -> None:
    keep_incident(engine, revision=5)
    journal.queued(INCIDENT.id, 5)
    journal.queued(INCIDENT.id, 2)
    assert journal.unqueued(LATER)[0] == []


def test_a_new_incident_is_due_at_once_and_a_later_change_when_it_has_settled(
    engine: sa.Engine, journal: Journal
) -> None:
    moment = datetime(2026, 3, 2, 3, tzinfo=UTC)
    keep_incident(engine, id="inc-new", updated_at=moment)
    keep_incident(engine, id="inc-changed", updated_at=moment, revision=3, queued_revision=1)
    assert journal.unqueued(moment) == ([("inc-new", 1)], True)
    assert set(journal.unqueued(moment + SETTLE)[0]) == {("inc-new", 1), ("inc-changed", 3)}


def test_what_has_waited_longest_is_queued_first(engine: sa.Engine, journal: Journal) -> None:
    for number in range(3):
        moment = datetime(2026, 3, 2, 3 - number, tzinfo=UTC)
        keep_incident(engine, id=f"inc-{number}", updated_at=moment)
    assert journal.unqueued(LATER)[0] == [("inc-2", 1), ("inc-1", 1), ("inc-0", 1)]
