"""The graph in one SQLite file: for one machine, any number of processes.

Blocking work runs in threads. Each process has one writer connection behind a lock and as many readers as are in use
at once; between processes SQLite's own write lock decides, with a busy timeout.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from graphrag import sqlite_reads as reads
from graphrag.errors import GraphError, GraphMisconfigured, GraphUnavailable
from graphrag.leases import leased
from graphrag.model import (
    NOW,
    Direction,
    Edge,
    EdgeType,
    Facts,
    History,
    Hit,
    Label,
    NeighbourPage,
    Node,
    Page,
    Properties,
    Record,
    Rewrite,
    View,
    WriteReport,
)
from graphrag.sqlite_facts import confirm_facts, read_history, rewrite_facts, write_facts
from graphrag.sqlite_layout import lay_out
from graphrag.sqlite_readers import Readers
from graphrag.sqlite_text import Reader, WordCounts
from graphrag.sqlite_vectors import VectorSearch
from graphrag.store import Exploration, Found, Vector

_BUSY_SECONDS = 30.0
_RETRY_SECONDS = 0.01
_MAPPED_BYTES = 2**31
"""As much of the file as SQLite maps at most. A walk reads all over it: in a mapping each page that the system has in
memory is there, for every reader and also after a write, where a cache of the connection would begin anew."""

Result = TypeVar("Result")


class SqliteStore:
    """A `GraphStore` in the file at `path`. Nothing is touched before `open`.

    With `refit`, opening drops vectors of another dimension instead of refusing them.
    """

    def __init__(self, path: Path, *, dimensions: int, refit: bool = False) -> None:
        self._path = path
        self._dimensions = dimensions
        self._refit = refit
        self._writing = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._readers: Readers[Reader] | None = None
        self._vectors = VectorSearch(dimensions)
        self._counts = WordCounts()

    async def open(self) -> None:
        await asyncio.to_thread(self._open)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    async def write(self, tenant: str, *parts: Facts) -> WriteReport:
        return await self._write(lambda db: write_facts(db, tenant, parts))

    async def confirm(self, tenant: str, sources: Collection[str], seen_at: datetime) -> int:
        return await self._write(lambda db: confirm_facts(db, tenant, sources, seen_at))

    async def lease(self, name: str, holder: str, now: datetime, until: datetime) -> str:
        def work(db: sqlite3.Connection) -> str:
            row = db.execute("SELECT value FROM meta WHERE key = ?", (name,)).fetchone()
            lease = leased(row and row["value"], holder, now, until)
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, lease.packed()))
            return lease.holder

        return await self._write(work)

    async def rewrite(self, tenant: str, ids: Collection[str], decide: Callable[[History], Rewrite]) -> None:
        await self._write(lambda db: rewrite_facts(db, tenant, ids, decide))

    async def set_vectors(self, tenant: str, vectors: Mapping[str, Vector]) -> None:
        await self._write(lambda db: self._vectors.put(db, tenant, vectors))

    async def annotate(self, tenant: str, properties: Mapping[str, Properties]) -> None:
        rows = [(json.dumps(dict(each)), id, tenant) for id, each in properties.items()]
        sql = "UPDATE node SET told = json_set(told, '$[1]', json_patch(told -> 1, ?)) WHERE id = ? AND tenant = ?"
        await self._write(lambda db: db.executemany(sql, rows))

    async def nodes(self, tenant: str, ids: Collection[str], view: View = NOW) -> dict[str, Node]:
        return await self._read(lambda db: reads.nodes(db, tenant, ids, view))

    async def resolve(
        self, tenant: str, keys: Collection[str], labels: Collection[Label], view: View = NOW
    ) -> dict[str, list[Node]]:
        return await self._read(lambda db: reads.resolve(db, tenant, keys, labels, view))

    async def search_vectors(
        self, tenant: str, vector: Vector, limit: int, labels: Collection[Label] = (), view: View = NOW
    ) -> list[Hit]:
        def search(db: Reader) -> list[Hit]:
            scores = self._vectors.nearest(db, tenant, vector, limit, labels, view)
            nodes = reads.nodes(db, tenant, scores, view)
            return [Hit(nodes[id], score) for id, score in scores.items() if id in nodes]

        return await self._read(search)

    async def search_text(
        self, tenant: str, text: str, limit: int, labels: Collection[Label] = (), view: View = NOW
    ) -> list[Hit]:
        return await self._read(lambda db: reads.search_text(db, tenant, text, limit, labels, view))

    async def edges(
        self,
        tenant: str,
        ids: Collection[str],
        types: Collection[EdgeType],
        direction: Direction,
        limit: int,
        view: View = NOW,
    ) -> list[Edge]:
        return await self._read(lambda db: reads.edges(db, tenant, ids, types, direction, limit, view))

    async def explore(self, tenant: str, exploration: Exploration[Found]) -> Found:
        def run(db: Reader) -> Found:
            answers: list[Any] | None = None
            while True:
                try:
                    asks = exploration.send(answers)
                except StopIteration as end:
                    return end.value
                answers = [reads.answer(db, tenant, ask) for ask in asks]

        return await self._read(run)

    async def neighbours(
        self,
        tenant: str,
        id: str,
        types: Collection[EdgeType],
        direction: Direction,
        limit: int = 50,
        cursor: str | None = None,
        view: View = NOW,
    ) -> NeighbourPage:
        return await self._read(lambda db: reads.neighbours(db, tenant, id, types, direction, limit, cursor, view))

    async def list_nodes(
        self,
        tenant: str,
        labels: Collection[Label] = (),
        query: str = "",
        limit: int = 50,
        cursor: str | None = None,
        view: View = NOW,
    ) -> Page:
        return await self._read(lambda db: reads.list_nodes(db, tenant, labels, query, limit, cursor, view))

    async def all_nodes(self, tenant: str, labels: Collection[Label] = (), view: View = NOW) -> list[Node]:
        return await self._read(lambda db: reads.all_nodes(db, tenant, labels, view))

    async def pairs(self, tenant: str, type: EdgeType) -> list[tuple[str, str]]:
        return await self._read(lambda db: reads.pairs(db, tenant, type))

    async def history(self, tenant: str, ids: Collection[str] | None) -> History:
        return await self._read(lambda db: read_history(db, tenant, ids))

    async def records(self, tenant: str, kind: str) -> list[Record]:
        sql = "SELECT id, body FROM record WHERE tenant = ? AND kind = ? ORDER BY id"
        rows = await self._read(lambda db: db.execute(sql, (tenant, kind)).fetchall())
        return [Record(kind, row["id"], json.loads(row["body"])) for row in rows]

    async def put_meta(self, key: str, value: bytes) -> None:
        await self._write(lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value)))

    async def get_meta(self, key: str) -> bytes | None:
        sql = "SELECT value FROM meta WHERE key = ?"
        row = await self._read(lambda db: db.execute(sql, (key,)).fetchone())
        return None if row is None else row["value"]

    async def _read(self, work: Callable[[Reader], Result]) -> Result:
        if self._readers is None:
            raise GraphUnavailable("The graph's store is not open.")
        return await self._readers.run(lambda db: self._in_reader(db, work))

    async def _write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await asyncio.to_thread(self._in_writer, work)

    def _in_reader(self, db: Reader, work: Callable[[Reader], Result]) -> Result:
        with _errors_of(self._path):
            db.execute("BEGIN")
            try:
                return work(db)
            finally:
                db.execute("ROLLBACK")

    def _in_writer(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        with _errors_of(self._path), self._writing:
            if self._writer is None:
                raise GraphUnavailable("The graph's store is not open.")
            return _transaction(self._writer, work)

    def _open(self) -> None:
        if self._writer is not None:
            return
        with _errors_of(self._path):
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise GraphMisconfigured(
                    f"The folder of the graph file {self._path} cannot be made: {error.strerror}."
                ) from error
            writer = self._connect()
            try:
                _write_ahead(writer)
                _transaction(writer, self._lay_out)
            except BaseException:
                writer.close()
                raise
            self._writer, self._readers = writer, Readers(self._connect_reader)

    def _lay_out(self, db: sqlite3.Connection) -> None:
        lay_out(db, self._path)
        self._vectors.check(db, refit=self._refit)

    def _connect(self) -> Reader:
        db = Reader(self._counts, self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA synchronous = FULL")
        return db

    def _connect_reader(self) -> Reader:
        with _errors_of(self._path):
            db = self._connect()
            db.execute("PRAGMA query_only = ON")
            db.execute(f"PRAGMA mmap_size = {_MAPPED_BYTES}")
            return db

    def _close(self) -> None:
        with self._writing:
            writer, self._writer = self._writer, None
            readers, self._readers = self._readers, None
        if readers is not None:
            readers.close()
        if writer is not None:
            writer.close()


def _write_ahead(db: sqlite3.Connection) -> None:
    """Changing the journal takes a lock that SQLite does not wait for when another process opens the new file too."""
    deadline = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_SECONDS)


def _transaction(db: sqlite3.Connection, work: Callable[[sqlite3.Connection], Result]) -> Result:
    db.execute("BEGIN IMMEDIATE")
    try:
        result = work(db)
        db.execute("COMMIT")
        return result
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


@contextmanager
def _errors_of(path: Path) -> Generator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        raise GraphUnavailable(
            f"The graph file {path} cannot be used now: {error}. "
            "Check the path, its permissions and the free disk space."
        ) from error
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname in {"SQLITE_NOTADB", "SQLITE_CORRUPT"}:
            raise GraphMisconfigured(
                f"{path} is not a usable graph file: {error}. Restore it from a backup, or name another file."
            ) from error
        raise GraphError(f"The graph file {path} refused an operation: {error}.") from error
