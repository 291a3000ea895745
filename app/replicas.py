"""Replicas that share one database: each has an id and a heartbeat; the work of one that stopped goes on elsewhere."""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
import structlog
from dbos import DBOS
from sqlalchemy.exc import SQLAlchemyError

from app.database import replicas

HEARTBEAT_SECONDS = 2.0
DEAD_AFTER = timedelta(seconds=15)
"""Seven missed heartbeats: longer than a pause of the process, shorter than an engineer's patience."""

log = structlog.get_logger()


def new_replica_id() -> str:
    return f"replica-{secrets.token_hex(6)}"


class Replicas:
    """Beats for this replica and takes over from dead ones. `alone` says that no other process can share the
    database (SQLite), so that whoever stands in the table at the start is dead already."""

    def __init__(self, engine: sa.Engine, replica_id: str, *, alone: bool) -> None:
        self._engine = engine
        self._id = replica_id
        self._alone = alone

    async def run(self) -> None:
        """Beat and look after the others until cancelled."""
        dead_after = timedelta(0) if self._alone else DEAD_AFTER
        while True:
            try:
                now = datetime.now(UTC)
                for replica_id in await asyncio.to_thread(self._beat, now, now - dead_after):
                    await self._take_over(replica_id)
                    await asyncio.to_thread(self._forget, replica_id)
            except SQLAlchemyError as error:
                log.warning("heartbeat_failed", error=type(error).__name__)
            dead_after = DEAD_AFTER
            await asyncio.sleep(HEARTBEAT_SECONDS)

    def leave(self) -> None:
        """A clean end: the others need not wait for the heartbeat to grow old."""
        with self._engine.begin() as connection:
            stale = datetime.now(UTC) - DEAD_AFTER
            connection.execute(replicas.update().where(replicas.c.id == self._id).values(heartbeat_at=stale))

    def _beat(self, now: datetime, dead_before: datetime) -> list[str]:
        with self._engine.begin() as connection:
            mine = connection.execute(
                replicas.update().where(replicas.c.id == self._id).values(heartbeat_at=now)
            ).rowcount
            if not mine:
                connection.execute(replicas.insert().values(id=self._id, heartbeat_at=now))
            rows = connection.execute(
                sa.select(replicas.c.id).where(replicas.c.id != self._id, replicas.c.heartbeat_at <= dead_before)
            )
            return [row.id for row in rows]

    async def _take_over(self, replica_id: str) -> None:
        """Put a dead replica's workflows back into the queue. Twice is harmless: a finished one stays finished."""
        pending = await DBOS.list_workflows_async(status="PENDING", executor_id=replica_id)
        for workflow in pending:
            await DBOS.resume_workflow_async(workflow.workflow_id)
        log.info("replica_taken_over", replica=replica_id, workflows=len(pending))

    def _forget(self, replica_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(replicas.delete().where(replicas.c.id == replica_id))
