"""Reads in threads of their own: what comes back to whom, and what becomes of them at the end."""

import asyncio
import sqlite3
import threading

import pytest

from graphrag.errors import GraphUnavailable
from graphrag.sqlite_readers import Readers


def connect() -> sqlite3.Connection:
    return sqlite3.connect(":memory:")


def one(db: sqlite3.Connection) -> int:
    return db.execute("SELECT 1").fetchone()[0]


def broken(db: sqlite3.Connection) -> int:
    return db.execute("SELECT nothing").fetchone()[0]


async def test_a_read_gives_its_own_caller_what_it_found_or_raised() -> None:
    readers = Readers(connect)
    told = await asyncio.gather(readers.run(one), readers.run(broken), readers.run(one), return_exceptions=True)
    assert told[::2] == [1, 1]
    assert isinstance(told[1], sqlite3.OperationalError)
    assert await readers.run(one) == 1
    readers.close()


async def test_reads_that_come_at_once_do_not_wait_for_each_other() -> None:
    readers, both = Readers(connect), threading.Barrier(2)
    await asyncio.gather(*(readers.run(lambda _: both.wait(5)) for _ in range(2)))
    readers.close()


async def test_a_connection_that_cannot_be_made_fails_the_read_and_is_tried_again_by_the_next() -> None:
    made = iter([sqlite3.OperationalError("disk is gone")])

    def connect_later() -> sqlite3.Connection:
        for error in made:
            raise error
        return connect()

    readers = Readers(connect_later)
    with pytest.raises(sqlite3.OperationalError, match="disk is gone"):
        await readers.run(one)
    assert await readers.run(one) == 1
    readers.close()


async def test_a_caller_that_gives_up_disturbs_no_other() -> None:
    readers, go_on = Readers(connect), threading.Event()
    waiting = asyncio.create_task(readers.run(lambda _: go_on.wait(5)))
    await asyncio.sleep(0)
    waiting.cancel()
    go_on.set()
    assert await readers.run(one) == 1
    with pytest.raises(asyncio.CancelledError):
        await waiting
    readers.close()


async def test_the_end_waits_for_what_was_asked_and_takes_no_more() -> None:
    readers, go_on = Readers(connect), threading.Event()
    waiting = asyncio.create_task(readers.run(lambda _: go_on.wait(5)))
    await asyncio.sleep(0)
    closing = asyncio.create_task(asyncio.to_thread(readers.close))
    go_on.set()
    assert await waiting
    await closing
    with pytest.raises(GraphUnavailable, match="not open"):
        await readers.run(one)
