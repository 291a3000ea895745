"""Replicas that share one database: each has an id and a heartbeat; the work of one that stopped goes on elsewhere."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import TypeVar

import sqlalchemy as sa
import structlog
from dbos import DBOS

from app.database import replicas

HEARTBEAT_SECONDS = 2.0
DEAD_AFTER = timedelta(seconds=15)
"""Seven missed heartbeats: longer than a pause of the process, shorter than an engineer's patience."""

_T = TypeVar("_T")

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
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="heartbeat")

    async def run(self) -> None:
        """Beat and look after the others until cancelled."""
        dead_after = timedelta(0) if self._alone else DEAD_AFTER
        while True:
            try:
                for replica_id in await self._in_thread(self._beat, dead_after):
                    await self._take_over(replica_id)
                    await self._in_thread(self._forget, replica_id)
            except Exception as error:
                # Whatever it was: a replica whose heart stops is taken over while it lives.
                log.warning("heartbeat_failed", error=type(error).__name__)
            dead_after = DEAD_AFTER
            await asyncio.sleep(HEARTBEAT_SECONDS)

    def leave(self) -> None:
        """A clean end: the others need not wait for the heartbeat to grow old."""
        with self._engine.begin() as connection:
            stale = _now(connection) - DEAD_AFTER
            connection.execute(replicas.update().where(replicas.c.id == self._id).values(heartbeat_at=stale))

    async def _in_thread(self, function: Callable[..., _T], *arguments: object) -> _T:
        """In a thread of our own: the heart must not wait behind others' calls."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, function, *arguments)

    def _beat(self, dead_after: timedelta) -> list[str]:
        """Beat, and claim the replicas that are dead. A claim is a heartbeat in the dead one's name: only one replica
        gets it, and if that one dies too, it grows old like any other."""
        with self._engine.begin() as connection:
            now = _now(connection)
            mine = connection.execute(
                replicas.update().where(replicas.c.id == self._id).values(heartbeat_at=now)
            ).rowcount
            if not mine:
                connection.execute(replicas.insert().values(id=self._id, heartbeat_at=now))
            dead = sa.and_(replicas.c.id != self._id, replicas.c.heartbeat_at <= now - dead_after)
            found = connection.execute(sa.select(replicas.c.id).where(dead)).scalars().all()
            claim = replicas.update().values(heartbeat_at=now)
            return [
                each for each in found if connection.execute(claim.where(dead, replicas.c.id == each)).rowcount == 1
            ]

    async def _take_over(self, replica_id: str) -> None:
        """Put a dead replica's workflows back into the queue. Twice is harmless: a finished one stays finished."""
        pending = await DBOS.list_workflows_async(status="PENDING", executor_id=replica_id)
        for workflow in pending:
            # Back into the queue it came from, where its incident's other changes wait for it.
            await DBOS.resume_workflow_async(workflow.workflow_id, queue_name=workflow.queue_name)
        log.info("replica_taken_over", replica=replica_id, workflows=len(pending))

    def _forget(self, replica_id: str) -> None:
        with self._engine.begin() as connection:
            connection.execute(replicas.delete().where(replicas.c.id == replica_id))


def _now(connection: sa.Connection) -> datetime:
    """The database's own time where replicas share one, so that hosts whose clocks differ agree on who is dead."""
    if connection.dialect.name == "sqlite":
        return datetime.now(UTC)
    return connection.execute(sa.select(sa.func.now())).scalar_one()
