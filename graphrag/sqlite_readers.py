"""Threads that read a SQLite file, each over a connection of its own.

A walk takes less than a millisecond, of which the general way into a thread and back (`asyncio.to_thread`, two kinds of
future and their locks) would be a tenth. Here it is one queue there and one call of the event loop back.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from graphrag.errors import GraphUnavailable

_MOST = 8
Result = TypeVar("Result")
Reader = TypeVar("Reader", bound=sqlite3.Connection)
_Job = tuple[asyncio.AbstractEventLoop, asyncio.Future[Any], Callable[[Reader], Any]]


class Readers(Generic[Reader]):
    """Threads are started as reads come that no thread is free for. `connect` is called in them, and what it raises is
    raised by the read."""

    def __init__(self, connect: Callable[[], Reader]) -> None:
        self._connect = connect
        self._jobs: queue.SimpleQueue[_Job[Reader] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._unfinished = 0
        self._counting = threading.Lock()
        self._closed = False

    async def run(self, work: Callable[[Reader], Result]) -> Result:
        """What `work` makes of a connection. A caller that no longer waits leaves the read to end by itself. Raises
        `GraphUnavailable` after `close`."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[Result] = loop.create_future()
        with self._counting:
            if self._closed:
                raise GraphUnavailable("The graph's store is not open.")
            self._unfinished += 1
            if self._unfinished > len(self._threads) < _MOST:
                thread = threading.Thread(target=self._serve, name="graph-reader", daemon=True)
                self._threads.append(thread)
                thread.start()
            self._jobs.put((loop, told, work))
        return await told

    def close(self) -> None:
        """Returns when the reads that were asked for are done and every connection is closed."""
        with self._counting:
            self._closed = True
            for _ in self._threads:
                self._jobs.put(None)
        for thread in self._threads:
            thread.join()

    def _serve(self) -> None:
        db: Reader | None = None
        try:
            while (job := self._jobs.get()) is not None:
                loop, told, work = job
                result, error = None, None
                try:
                    db = db or self._connect()
                    result = work(db)
                except BaseException as raised:  # whatever it is, it is the caller's
                    error = raised
                with self._counting:
                    self._unfinished -= 1
                with suppress(RuntimeError):  # the loop was closed, so nobody waits
                    loop.call_soon_threadsafe(_tell, told, result, error)
                del job, loop, told, work, result, error  # or what was read last would be kept until the next read
        finally:
            if db is not None:
                db.close()


def _tell(told: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if told.cancelled():
        return
    if error is None:
        told.set_result(result)
    else:
        told.set_exception(error)
