"""One run at a time: two that write the same folder's facts would each close what the other just saw."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta

from graphrag.errors import GraphError
from graphrag.leases import holder_of
from graphrag.model import utc_now
from graphrag.store import GraphStore

_TIME = timedelta(seconds=60)
_RENEW_SECONDS = 15.0


class AlreadyRunning(GraphError):
    """Another process ingests into the same graph."""


@asynccontextmanager
async def exclusive(store: GraphStore, tenant: str) -> AsyncGenerator[None]:
    """Hold the tenant's graph for one run, until the block is left or this process dies. Raises `AlreadyRunning`."""
    name, holder = _name(tenant), _holder(os.getpid())
    by = await _take(store, name, holder)
    if by != holder and _is_dead(by):
        moment = utc_now()
        await store.lease(name, by, moment, moment)
        by = await _take(store, name, holder)
    if by != holder:
        raise AlreadyRunning(
            f"Another run writes this graph already ({by}). Wait until it has ended; if it died on another machine, "
            f"its hold ends within {_TIME.seconds} seconds."
        )
    keeping = asyncio.create_task(_keep(store, name, holder))
    try:
        yield
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
        moment = utc_now()
        await store.lease(name, holder, moment, moment)


async def is_running(store: GraphStore, tenant: str) -> bool:
    """Whether a run holds the tenant's graph now."""
    by = holder_of(await store.get_meta(_name(tenant)), utc_now())
    return bool(by) and not _is_dead(by)


def _name(tenant: str) -> str:
    return f"ingest:{tenant}"


async def _take(store: GraphStore, name: str, holder: str) -> str:
    moment = utc_now()
    return await store.lease(name, holder, moment, moment + _TIME)


async def _keep(store: GraphStore, name: str, holder: str) -> None:
    while True:
        await asyncio.sleep(_RENEW_SECONDS)
        await _take(store, name, holder)


def _holder(process: int) -> str:
    """Two runs in one process are told apart too."""
    return f"process {process} on {socket.gethostname()}, run {os.urandom(4).hex()}"


def _is_dead(holder: str) -> bool:
    """Whether the holder was a process of this machine that is no more."""
    number = holder.removeprefix("process ").partition(" ")[0]
    if not number.isdigit() or not holder.partition(", run ")[0].endswith(f" on {socket.gethostname()}"):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False
