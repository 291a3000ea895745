import asyncio
import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from app.database import deliveries, incidents, metadata, open_engine, quarantine
from app.errors import AppError
from app.intake import LATE_COPY, Intake, Receipt, take
from app.metrics import Metrics
from connectors.alertmanager import Notification


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'incidents.sqlite'}"


@pytest.fixture
def engine(url: str) -> Iterator[sa.Engine]:
    engine = open_engine(url)
    metadata.create_all(engine)
    yield engine
    engine.dispose()


def alert(name: str = "Slow", status: str = "firing", start: str = "02:13", **fields: Any) -> dict[str, Any]:
    return {
        "status": status,
        "labels": {"alertname": name},
        "startsAt": f"2026-03-02T{start}:00Z",
        "fingerprint": name,
        **({"endsAt": "2026-03-02T04:00:00Z"} if status == "resolved" else {}),
        **fields,
    }


def news(*alerts: dict[str, Any], group: str = "a", **fields: Any) -> Notification:
    return Notification.model_validate({"alerts": alerts, "groupKey": group, **fields})


def taken(engine: sa.Engine, notification: Notification, tenant: str = "default") -> Receipt:
    with engine.begin() as connection:
        return take(connection, tenant, notification)


def rows(engine: sa.Engine, table: sa.Table) -> list[Any]:
    with engine.connect() as connection:
        return list(connection.execute(sa.select(table)))


# One decision ---------------------------------------------------------------------------------------------------------


def test_a_first_firing_alert_opens_an_incident(engine: sa.Engine):
    receipt = taken(engine, news(alert()))
    (row,) = rows(engine, incidents)
    assert (receipt.decision.action, receipt.decision.incident_id) == ("new", row.id)
    assert (row.status, row.title, row.revision, row.queued_revision) == ("open", "Slow", 1, 0)
    assert json.loads(row.firing) == ["Slow@2026-03-02T02:13:00+00:00"]
    (kept,) = rows(engine, deliveries)
    assert (kept.id, kept.action, kept.incident_id) == (receipt.delivery_id, "new", row.id)


def test_the_same_news_again_changes_nothing(engine: sa.Engine):
    first = taken(engine, news(alert()))
    again = taken(engine, news(alert(annotations={"value": "now 17"})))
    assert again.decision.action == "heartbeat"
    assert again.decision.incident_id == first.decision.incident_id
    assert again.delivery_id == first.delivery_id
    assert [row.revision for row in rows(engine, incidents)] == [1]
    assert len(rows(engine, deliveries)) == 1


def test_news_is_told_apart_by_its_group_and_its_tenant(engine: sa.Engine):
    ids = {
        taken(engine, news(alert())).decision.incident_id,
        taken(engine, news(alert(), group="b")).decision.incident_id,
        taken(engine, news(alert()), "other").decision.incident_id,
    }
    assert len(ids) == 3


def test_one_more_alert_updates_the_incident(engine: sa.Engine):
    first = taken(engine, news(alert()))
    more = taken(engine, news(alert(), alert("Down")))
    (row,) = rows(engine, incidents)
    assert (more.decision.action, more.decision.incident_id) == ("update", first.decision.incident_id)
    assert (row.title, row.revision) == ("Slow, Down (2 alerts)", 2)
    assert len(json.loads(row.firing)) == 2


def test_when_everything_is_resolved_the_incident_is_closed_under_its_own_title(engine: sa.Engine):
    taken(engine, news(alert(), alert("Down")))
    closed = taken(engine, news(alert(status="resolved"), alert("Down", "resolved")))
    (row,) = rows(engine, incidents)
    assert closed.decision.action == "resolved"
    assert (row.status, row.title, row.revision) == ("resolved", "Slow, Down (2 alerts)", 2)
    assert row.resolved_at is not None
    assert json.loads(row.firing) == []


def test_a_group_that_fires_anew_after_it_was_closed_opens_another_incident(engine: sa.Engine):
    first = taken(engine, news(alert()))
    taken(engine, news(alert(status="resolved")))
    second = taken(engine, news(alert(start="03:00")))
    assert second.decision.action == "new"
    assert second.decision.incident_id != first.decision.incident_id
    assert sorted(row.status for row in rows(engine, incidents)) == ["open", "resolved"]


def test_old_news_that_comes_late_never_opens_a_closed_incident_again(engine: sa.Engine):
    first = taken(engine, news(alert()))
    taken(engine, news(alert(status="resolved")))
    late = taken(engine, news(alert()))
    assert (late.decision.action, late.decision.incident_id) == ("heartbeat", first.decision.incident_id)
    assert [row.status for row in rows(engine, incidents)] == ["resolved"]


def test_a_notification_that_hides_alerts_never_closes_an_incident(engine: sa.Engine):
    taken(engine, news(alert()))
    receipt = taken(engine, news(alert(status="resolved"), truncatedAlerts=2))
    assert receipt.decision.action == "heartbeat"
    assert [row.status for row in rows(engine, incidents)] == ["open"]
    assert taken(engine, news(alert(status="resolved"))).decision.action == "resolved"


@pytest.mark.parametrize("alerts", [(), (alert(status="resolved"),)])
def test_news_about_nothing_that_fires_is_ignored_and_kept(engine: sa.Engine, alerts):
    assert taken(engine, news(*alerts)).decision.action == "ignored"
    assert rows(engine, incidents) == []
    assert [row.action for row in rows(engine, deliveries)] == ["ignored"]


# The intake -----------------------------------------------------------------------------------------------------------


async def test_a_receipt_is_given_once_the_decision_is_on_disk_and_somebody_is_told(engine: sa.Engine):
    told: list[None] = []
    async with Intake(engine, Metrics(), lambda: told.append(None)) as intake:
        receipt = await intake.take("default", news(alert()))
        assert [row.id for row in rows(engine, incidents)] == [receipt.decision.incident_id]
        again = await intake.take("default", news(alert()))
    assert again.decision.action == "heartbeat"
    assert len(told) == 1


async def test_a_burst_of_one_news_opens_one_incident(engine: sa.Engine):
    async with Intake(engine, Metrics(), lambda: None) as intake:
        receipts = await asyncio.gather(*(intake.take("default", news(alert())) for _ in range(50)))
    assert [receipt.decision.action for receipt in receipts].count("new") == 1
    assert len({receipt.decision.incident_id for receipt in receipts}) == 1


async def test_two_replicas_that_race_open_one_incident_a_group_and_lose_nothing(engine: sa.Engine, url: str):
    other = open_engine(url)
    try:
        async with Intake(engine, Metrics(), lambda: None) as one, Intake(other, Metrics(), lambda: None) as two:
            receipts = await asyncio.gather(
                *(
                    intake.take("default", news(alert(f"A{number % 5}"), group=f"g{number % 10}"))
                    for number in range(100)
                    for intake in (one, two)
                )
            )
    finally:
        other.dispose()
    opened = [receipt.decision.incident_id for receipt in receipts if receipt.decision.action == "new"]
    assert len(opened) == len(set(opened)) == 10
    assert {receipt.decision.incident_id for receipt in receipts} == set(opened)
    assert sorted(row.id for row in rows(engine, incidents)) == sorted(opened)


async def test_the_groups_of_a_batch_are_locked_in_one_order_whatever_order_they_came_in(engine: sa.Engine):
    async def opened(names: list[str]) -> list[str]:
        """The groups in the order their incidents were opened, each known by its alert's title."""
        async with Intake(engine, Metrics(), lambda: None) as intake:
            receipts = await asyncio.gather(*(intake.take("default", news(alert(name), group=name)) for name in names))
        with engine.begin() as connection:
            in_order = connection.execute(sa.select(incidents.c.title).order_by(sa.text("rowid"))).scalars().all()
            connection.execute(incidents.delete())
            connection.execute(deliveries.delete())
        assert [receipt.decision.action for receipt in receipts] == ["new"] * len(names)
        return list(in_order)

    names = [f"A{number}" for number in range(20)]
    assert await opened(names) == await opened(names[::-1])


async def test_when_another_replica_was_quicker_the_loser_looks_again(engine: sa.Engine):
    refused: list[str] = []

    @sa.event.listens_for(engine, "before_cursor_execute")
    def quicker(_connection: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        """What the unique index says when the other one has committed since we looked."""
        if statement.startswith("INSERT INTO incidents") and len(refused) < 2:
            refused.append(statement)
            raise sa.exc.IntegrityError(statement, parameters, Exception("one open incident a group"))

    async with Intake(engine, Metrics(), lambda: None) as intake:
        receipt = await intake.take("default", news(alert()))
    assert len(refused) == 2
    assert [row.id for row in rows(engine, incidents)] == [receipt.decision.incident_id]


async def test_a_database_that_is_down_is_a_503_and_the_next_delivery_is_taken_again(engine: sa.Engine):
    async with Intake(engine, Metrics(), lambda: None) as intake:
        metadata.drop_all(engine)
        with pytest.raises(AppError) as refused:
            await intake.take("default", news(alert()))
        assert refused.value.status == 503
        with pytest.raises(AppError):
            await intake.quarantine("default", b"{}", "no alerts")
        metadata.create_all(engine)
        assert (await intake.take("default", news(alert()))).decision.action == "new"


async def test_a_body_nobody_understood_is_kept_once_and_cut_to_a_bound(engine: sa.Engine):
    async with Intake(engine, Metrics(), lambda: None) as intake:
        body = b'{"a": "\x00\xff' + b"x" * 100_000
        first = await intake.quarantine("default", body, "no alerts")
        assert await intake.quarantine("default", body, "no alerts") == first
        assert await intake.quarantine("other", body, "no alerts") != first
    kept = rows(engine, quarantine)
    assert len(kept) == 2
    assert len(kept[0].body) <= 65_536
    assert "\0" not in kept[0].body


async def test_deliveries_are_counted_by_what_was_decided(engine: sa.Engine):
    metrics = Metrics()
    async with Intake(engine, metrics, lambda: None) as intake:
        for _ in range(3):
            await intake.take("default", news(alert()))
    counted = {
        sample.labels["action"]: sample.value
        for sample in next(iter(metrics.deliveries.collect())).samples
        if sample.name.endswith("_total")
    }
    assert counted == {"new": 1, "heartbeat": 2}


# What is odd ----------------------------------------------------------------------------------------------------------


def grow_old(engine: sa.Engine, by: timedelta = LATE_COPY + timedelta(seconds=1)) -> None:
    """As if all that was taken so far had been taken that much earlier."""
    with engine.begin() as connection:
        connection.execute(deliveries.update().values(received_at=datetime.now(UTC) - by))


def test_an_alert_that_fires_again_without_a_new_start_is_no_copy_of_the_old_news(engine: sa.Engine):
    first = taken(engine, news(alert()))
    taken(engine, news(alert(status="resolved")))
    assert taken(engine, news(alert())).decision.action == "heartbeat", "a replica's late copy"
    grow_old(engine)
    again = taken(engine, news(alert())).decision
    assert again.action == "new"
    assert again.incident_id != first.decision.incident_id


def test_a_group_that_grew_and_shrank_again_shows_what_fires_now(engine: sa.Engine):
    taken(engine, news(alert("A")))
    taken(engine, news(alert("A"), alert("B")))
    grow_old(engine)
    assert taken(engine, news(alert("A"))).decision.action == "update"
    (row,) = rows(engine, incidents)
    assert [each.partition("@")[0] for each in json.loads(row.firing)] == ["A"]


@pytest.mark.parametrize(
    "odd",
    [
        {"alerts": [{**alert(), "generatorURL": 'http://p/graph#[{"expr":"\\ud800"}]'}]},
        {"alerts": [alert()], "truncatedAlerts": 10**4000},
        {"alerts": [{**alert(), "labels": {"alertname": "\ud800"}}]},
    ],
)
async def test_one_odd_notification_costs_no_other(engine: sa.Engine, odd: dict[str, Any]):
    async with Intake(engine, Metrics(), lambda: None) as intake, asyncio.timeout(20):
        strange = Notification.model_validate({**odd, "groupKey": "odd"})
        receipts = await asyncio.gather(
            intake.take("default", strange), intake.take("default", news(alert())), return_exceptions=True
        )
        assert isinstance(receipts[1], Receipt)
        assert isinstance(receipts[0], Receipt | AppError)
        assert (await intake.take("default", news(alert(), group="later"))).decision.action == "new"
