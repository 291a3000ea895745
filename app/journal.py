"""Investigations as kept: what they were about, each event as it happened, the report. Synchronous and short."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import sqlalchemy as sa
from pydantic import TypeAdapter

from agent.report import Report
from agent.state import Event, Incident
from app.database import incidents, investigations, journal
from app.webhook import facts_from_json

EVENT: TypeAdapter[Event] = TypeAdapter(Event)
SETTLE = timedelta(seconds=1)
_UNQUEUED = (
    sa.select(incidents.c.id, incidents.c.revision, incidents.c.queued_revision, incidents.c.updated_at)
    .where(incidents.c.queued_revision < incidents.c.revision)
    .order_by(incidents.c.updated_at)
    .limit(500)
)


class Kept(NamedTuple):
    """An investigation as kept. `report` is None until it ends."""

    subject: Incident
    status: str
    report: Report | None


class IncidentNow(NamedTuple):
    """An incident as it stands: what it is about now, and when it was resolved, if it was."""

    subject: Incident
    revision: int
    resolved_at: datetime | None


class Journal:
    """Reads and writes of one database. Every read is bounded by the tenant where a caller names one."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine

    def begin(self, subject: Incident) -> None:
        """Note that an investigation begins; once more is harmless."""
        with self._engine.begin() as connection:
            known = connection.execute(sa.select(investigations.c.id).where(investigations.c.id == subject.id)).first()
            if known is None:
                connection.execute(
                    investigations.insert().values(
                        id=subject.id,
                        tenant=subject.tenant,
                        subject=subject.model_dump_json(),
                        status="running",
                        created_at=subject.opened_at,
                    )
                )

    def append(self, investigation_id: str, first: int, events: Sequence[Event]) -> None:
        """Keep events under their ordinals; a step that runs again after a crash replaces what it wrote."""
        if not events:
            return
        rows = [
            {
                "investigation_id": investigation_id,
                "ordinal": first + number,
                "event": EVENT.dump_json(event).decode(),
            }
            for number, event in enumerate(events)
        ]
        with self._engine.begin() as connection:
            connection.execute(
                journal.delete().where(
                    journal.c.investigation_id == investigation_id,
                    journal.c.ordinal.between(first, first + len(rows) - 1),
                )
            )
            connection.execute(journal.insert(), rows)

    def events(self, investigation_id: str, after: int = 0) -> list[Event]:
        """The events from an ordinal on, in order."""
        with self._engine.connect() as connection:
            rows = connection.execute(
                sa.select(journal.c.event)
                .where(journal.c.investigation_id == investigation_id, journal.c.ordinal >= after)
                .order_by(journal.c.ordinal)
            )
            return [EVENT.validate_json(row.event) for row in rows]

    def finish(self, report: Report, status: str, now: datetime) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                investigations.update()
                .where(investigations.c.id == report.id)
                .values(status=status, report=report.model_dump_json(), finished_at=now)
            )

    def investigation(self, investigation_id: str, tenant: str | None = None) -> Kept | None:
        query = sa.select(investigations).where(investigations.c.id == investigation_id)
        if tenant is not None:
            query = query.where(investigations.c.tenant == tenant)
        with self._engine.connect() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        report = Report.model_validate_json(row.report) if row.report else None
        return Kept(Incident.model_validate_json(row.subject), row.status, report)

    def incident(self, incident_id: str) -> IncidentNow:
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(incidents).where(incidents.c.id == incident_id)).one()
        subject = Incident(
            id=row.id,
            tenant=row.tenant,
            opened_at=row.opened_at,
            title=row.title,
            alerts=facts_from_json(row.alerts),
        )
        return IncidentNow(subject, row.revision, row.resolved_at)

    def unqueued(self, now: datetime) -> tuple[list[tuple[str, int]], bool]:
        """Changes that no workflow was queued for yet, as incident id and revision, and whether some are not due.

        A new incident is due at once. A later change waits `SETTLE` for its next one: Slack takes one edit a second
        anyway, and of many changes the last says it all.
        """
        with self._engine.connect() as connection:
            rows = connection.execute(_UNQUEUED).all()
        due = [row for row in rows if row.queued_revision == 0 or row.updated_at <= now - SETTLE]
        found = [(row.id, revision) for row in due for revision in _missing(row.queued_revision, row.revision)]
        return found, len(due) < len(rows)

    def queued(self, incident_id: str, revision: int) -> None:
        with self._engine.begin() as connection:
            connection.execute(
                incidents.update()
                .where(incidents.c.id == incident_id, incidents.c.queued_revision < revision)
                .values(queued_revision=revision)
            )


def _missing(queued: int, revision: int) -> list[int]:
    """The first revision opens the investigation and is never skipped; of the later ones the last says it all."""
    return [1, revision] if queued == 0 and revision > 1 else [revision]


def bundle(kept: Kept, events: Sequence[Event]) -> dict[str, Any]:
    """An investigation as one file that replays it offline: subject, events and report."""
    return {
        "subject": kept.subject.model_dump(mode="json"),
        "events": json.loads(TypeAdapter(list[Event]).dump_json(list(events))),
        "report": kept.report.model_dump(mode="json") if kept.report else None,
    }
