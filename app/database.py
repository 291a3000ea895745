"""The app's own tables: incidents, what was delivered, journals, and what was posted where.

SQLAlchemy Core on SQLite or PostgreSQL, the same statements on both. Functions are synchronous and short; callers run
them in a thread.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event


class UtcDateTime(sa.TypeDecorator[datetime]):
    """An aware UTC time on every database; SQLite itself keeps none of the zone."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value.astimezone(UTC) if value else None

    def process_result_value(self, value: datetime | None, dialect: sa.Dialect) -> datetime | None:
        return value.replace(tzinfo=UTC) if value and value.tzinfo is None else value


metadata = sa.MetaData()

incidents = sa.Table(
    "incidents",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("tenant", sa.String(64), nullable=False),
    sa.Column("group_id", sa.String(64), nullable=False),
    sa.Column("status", sa.String(10), nullable=False),  # open, resolved
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("alerts", sa.Text, nullable=False),  # JSON list of AlertFacts
    sa.Column("firing", sa.Text, nullable=False),  # JSON list of fingerprint@start
    sa.Column("opened_at", UtcDateTime, nullable=False),
    sa.Column("updated_at", UtcDateTime, nullable=False),
    sa.Column("resolved_at", UtcDateTime),
    # Each accepted change raises `revision`; `queued_revision` is the last one handed to the durable queue. A crash in
    # between leaves them apart, and whoever looks next queues again: the workflow's id makes that harmless.
    sa.Column("revision", sa.Integer, nullable=False),
    sa.Column("queued_revision", sa.Integer, nullable=False),
)
sa.Index(
    "one_open_incident_a_group",
    incidents.c.tenant,
    incidents.c.group_id,
    unique=True,
    sqlite_where=incidents.c.status == "open",
    postgresql_where=incidents.c.status == "open",
)

deliveries = sa.Table(
    "deliveries",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("tenant", sa.String(64), nullable=False),
    sa.Column("received_at", UtcDateTime, nullable=False),
    sa.Column("incident_id", sa.String(40)),
    sa.Column("action", sa.String(20), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
)

quarantine = sa.Table(
    "quarantine",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("tenant", sa.String(64), nullable=False),
    sa.Column("received_at", UtcDateTime, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)

investigations = sa.Table(
    "investigations",
    metadata,
    sa.Column("id", sa.String(40), primary_key=True),
    sa.Column("tenant", sa.String(64), nullable=False),
    sa.Column("subject", sa.Text, nullable=False),  # JSON of agent.state.Incident
    sa.Column("status", sa.String(10), nullable=False),  # running, complete, failed
    sa.Column("report", sa.Text),
    sa.Column("created_at", UtcDateTime, nullable=False),
    sa.Column("finished_at", UtcDateTime),
)

journal = sa.Table(
    "journal",
    metadata,
    sa.Column("investigation_id", sa.String(40), primary_key=True),
    sa.Column("ordinal", sa.Integer, primary_key=True),
    sa.Column("event", sa.Text, nullable=False),  # JSON of agent.state.Event
)

posts = sa.Table(
    "posts",
    metadata,
    sa.Column("key", sa.String(80), primary_key=True),
    # `channel` and `ts` are empty from the moment we decide to send until the sink answered: whoever finds them so
    # after a crash looks in the channel before sending again.
    sa.Column("wanted_channel", sa.String(200), nullable=False),
    sa.Column("channel", sa.String(200)),
    sa.Column("ts", sa.String(40)),
)

replicas = sa.Table(
    "replicas",
    metadata,
    sa.Column("id", sa.String(64), primary_key=True),
    sa.Column("heartbeat_at", UtcDateTime, nullable=False),
)


def open_engine(url: str) -> sa.Engine:
    """An engine for the app's tables. SQLite runs in WAL with every commit on the disk before it returns."""
    if not url.startswith("sqlite"):
        return sa.create_engine(url, pool_pre_ping=True)
    make_sqlite_folder(url)
    engine = sa.create_engine(url, connect_args={"timeout": 30})

    @event.listens_for(engine, "connect")
    def _durable(connection: Any, _: Any) -> None:  # pyright: ignore[reportUnusedFunction]
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    return engine


def make_sqlite_folder(url: str) -> None:
    database = sa.make_url(url).database
    if database and database != ":memory:":
        Path(database).parent.mkdir(parents=True, exist_ok=True)


def work_url(url: str) -> str:
    """Where the durable queue keeps its state: beside the app's tables, in a file of its own on SQLite so that its
    polling and our writes do not wait for each other."""
    parsed = sa.make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return url
    database = Path(parsed.database or "incidents.sqlite")
    return parsed.set(database=str(database.with_name(f"{database.stem}-work{database.suffix}"))).render_as_string(
        hide_password=False
    )


def prepare_work_file(url: str) -> None:
    """Put the durable queue's SQLite file in WAL, which the file itself remembers; SQLite's own default syncs fully."""
    if url.startswith("sqlite"):
        make_sqlite_folder(url)
        engine = sa.create_engine(url)
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
        engine.dispose()
