"""Keeps the graph true while the service runs: every night, and when an administrator says so.

A run is a durable workflow: killed anywhere, it is started again here or on another replica, and goes on from what the
ledger in the graph says. Two runs exclude each other by the graph's own lease, whoever started them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

import structlog
from dbos import DBOS, SetWorkflowID
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from agent.tools import Fleet
from app.auth import Caller
from app.errors import AppError
from app.live_sources import LiveSources, owned_in
from app.reading import open_reading
from app.settings import Settings
from graphrag.embed import Embedding
from graphrag.errors import GraphError
from graphrag.ingest import AlreadyRunning, IngestReport, ingest, known_places, last_run
from graphrag.store import GraphStore

NIGHTLY = "nightly-sync"
TRIES = 5
PAUSE_SECONDS = 20.0
"""A run that died with its container holds the graph for another minute; who goes on with it has to outwait that."""
Result = TypeVar("Result")

log = structlog.get_logger()


class Syncing:
    """Brings tenants' graphs up to date, each with the folders that were ingested before and the live systems."""

    def __init__(self, graph: GraphStore, embedding: Embedding, fleet: Fleet, settings: Settings) -> None:
        self._graph = graph
        self._embedding = embedding
        self._fleet = fleet
        self._settings = settings
        self._tenants = sorted({token.tenant for token in settings.tokens} or {"default"})
        self._nightly: Any = None
        self._once: Any = None

    def register(self) -> None:
        """Make the workflows known before DBOS is launched."""

        @DBOS.workflow(name="sync_nightly", max_recovery_attempts=50)
        async def sync_nightly(_: datetime, __: Any) -> None:
            for tenant in self._tenants:
                await DBOS.run_step_async({"name": f"sync {tenant}"}, self._run, tenant)

        @DBOS.workflow(name="sync_once", max_recovery_attempts=50)
        async def sync_once(tenant: str) -> None:
            await DBOS.run_step_async({"name": "sync"}, self._run, tenant)

        self._nightly, self._once = sync_nightly, sync_once

    async def schedule(self, cron: str) -> None:
        """Run every night, or never where `cron` is empty. Replicas share the schedule: each time runs once."""
        if cron:
            await DBOS.apply_schedules_async(
                [{"schedule_name": NIGHTLY, "workflow_fn": self._nightly, "schedule": cron}]
            )
        else:
            await DBOS.delete_schedule_async(NIGHTLY)

    async def start(self, tenant: str) -> str:
        """Begin a run now; its id. Raises `AppError` while another runs."""
        if (run := await last_run(self._graph, tenant)) and run["state"] == "running":
            raise AppError(409, "already_running", "A run is under way; GET /v1/sync tells how far it is.")
        id = f"sync-{tenant}-{datetime.now(UTC):%Y%m%dT%H%M%S%f}"
        with SetWorkflowID(id):
            await DBOS.start_workflow_async(self._once, tenant)
        return id

    async def last(self, tenant: str) -> dict[str, Any] | None:
        return await last_run(self._graph, tenant)

    async def _run(self, tenant: str) -> None:
        """What fails is told in the log and kept with the run; the next night tries again."""
        try:
            folders = await known_places(self._graph, tenant)
            live = LiveSources(self._fleet, self._settings.tool_seconds, owned_in(self._graph, tenant))
            async with open_reading(self._settings) as reading:

                async def run() -> IngestReport:
                    now = datetime.now(UTC)
                    return await ingest(
                        self._graph, self._embedding, tenant, folders, now=now, live=live, reading=reading
                    )

                report = await patiently(run, TRIES, PAUSE_SECONDS)
        except AlreadyRunning:
            log.info("sync_left_to_another", tenant=tenant)
        except GraphError as error:
            log.error("sync_failed", tenant=tenant, error=str(error))
        else:
            log.info("sync_done", tenant=tenant, added=report.added, closed=report.closed, read=report.read)


async def patiently(run: Callable[[], Awaitable[Result]], tries: int, pause: float) -> Result:
    """What `run` gives. While another has the graph it is tried again, `tries` times in all and `pause` seconds apart;
    then `AlreadyRunning` passes through."""
    for _ in range(tries - 1):
        try:
            return await run()
        except AlreadyRunning:
            await asyncio.sleep(pause)
    return await run()


router = APIRouter(tags=["sync"])


class SyncRun(BaseModel):
    """The last run. `state` is `never`, `running`, `complete`, `failed`, or `interrupted` when its process died."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "state": "complete",
                    "started_at": "2026-03-01T03:00:00+00:00",
                    "ended_at": "2026-03-01T03:00:09+00:00",
                    "report": {"read": 2, "unchanged": 652, "gone": 0, "added": 3, "confirmed": 13180, "closed": 1},
                }
            ]
        }
    )
    state: str
    started_at: datetime | None = None
    ended_at: datetime | None = None
    progress: dict[str, Any] | None = Field(None, description="Stage, done and total, while it runs.")
    report: dict[str, Any] | None = Field(None, description="What it did, once it is complete.")
    error: str | None = Field(None, description="Why it failed, and what to do.")


class SyncBegun(BaseModel):
    """A run that has begun. `GET /v1/sync` tells how far it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "sync-default-20260301T030000000000"}]})
    id: str


@router.get("/v1/sync")
async def sync_state(request: Request) -> SyncRun:
    """How the last run that brought the graph up to date went, or how far it is."""
    run = await request.app.state.resources.syncing.last(_tenant(request))
    return SyncRun.model_validate(run or {"state": "never"})


@router.post("/v1/sync", status_code=202)
async def sync_now(request: Request) -> SyncBegun:
    """Bring the graph up to date now: the folders that were ingested before, and what the live systems say."""
    return SyncBegun(id=await request.app.state.resources.syncing.start(_tenant(request)))


def _tenant(request: Request) -> str:
    return cast("Caller", request.state.caller).tenant
