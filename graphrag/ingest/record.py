"""The last run of each tenant as kept in the graph, so that any process can tell how it went or how far it is."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import Any, cast

from graphrag.ingest.exclusive import is_running
from graphrag.ingest.report import IngestReport, Progress
from graphrag.store import GraphStore


async def keep_begun(store: GraphStore, tenant: str, now: datetime) -> None:
    await _keep(store, tenant, {"state": "running", "started_at": now.isoformat()})


async def keep_progress(store: GraphStore, tenant: str, now: datetime, progress: Progress) -> None:
    await _keep(store, tenant, {"state": "running", "started_at": now.isoformat(), "progress": asdict(progress)})


async def keep_ended(store: GraphStore, tenant: str, now: datetime, ended: datetime, report: IngestReport) -> None:
    times = {"started_at": now.isoformat(), "ended_at": ended.isoformat()}
    await _keep(store, tenant, {"state": "complete", **times, "report": asdict(report)})


async def keep_failed(store: GraphStore, tenant: str, now: datetime, ended: datetime, error: str) -> None:
    times = {"started_at": now.isoformat(), "ended_at": ended.isoformat()}
    await _keep(store, tenant, {"state": "failed", **times, "error": error})


async def last_run(store: GraphStore, tenant: str) -> dict[str, Any] | None:
    """What is known of the tenant's last run: `state` (running, complete, failed, or interrupted when its process died
    on the way), its times, and its progress, report or error. None before the first."""
    packed = await store.get_meta(_key(tenant))
    if packed is None:
        return None
    run = cast("dict[str, Any]", json.loads(packed))
    if run["state"] == "running" and not await is_running(store, tenant):
        run["state"] = "interrupted"
    return run


async def _keep(store: GraphStore, tenant: str, run: dict[str, Any]) -> None:
    await store.put_meta(_key(tenant), json.dumps(run).encode())


def _key(tenant: str) -> str:
    return f"ingest-run:{tenant}"
