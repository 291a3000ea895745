"""The graph in one SQLite file: for one machine, any number of processes.

Blocking work runs in threads. Each process has one writer connection behind a lock and as many readers as are in use
at once; between processes SQLite's own write lock decides, with a busy timeout.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from graphrag.errors import GraphError, GraphMisconfigured, GraphUnavailable
from graphrag.identity import name_key
from graphrag.model import Direction, Edge, EdgeType, Facts, Hit, Label, Node, Page, WriteReport
from graphrag.queries import statements
from graphrag.sqlite_facts import as_json, read_edge, read_node, read_nodes, write_facts
from graphrag.sqlite_vectors import VectorCache
from graphrag.store import Vector
from graphrag.stored import Listing, query_words
from graphrag.writing import SYMMETRIC, storable

LAYOUT_VERSION = 1
_BUSY_SECONDS = 30.0

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
        self._pooling = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._readers: list[sqlite3.Connection] = []
        self._vectors = VectorCache(dimensions)

    async def open(self) -> None:
        await asyncio.to_thread(self._open)

    async def close(self) -> None:
        await asyncio.to_thread(self._close)

    async def write(self, tenant: str, facts: Facts) -> WriteReport:
        return await self._write(lambda db: write_facts(db, tenant, facts))

    async def set_vectors(self, tenant: str, vectors: Mapping[str, Vector]) -> None:
        await self._write(lambda db: self._vectors.put(db, tenant, vectors))

    async def nodes(self, tenant: str, ids: Collection[str]) -> dict[str, Node]:
        return await self._read(lambda db: read_nodes(db, tenant, ids))

    async def resolve(self, tenant: str, keys: Collection[str], labels: Collection[Label]) -> dict[str, list[Node]]:
        rows = await self._all(
            """SELECT name_key.key AS found, node.* FROM name_key JOIN node ON node.id = name_key.node
            WHERE name_key.tenant = :tenant AND name_key.key IN (SELECT value FROM json_each(:keys))
            AND name_key.label IN (SELECT value FROM json_each(:labels))
            ORDER BY node.confirmations DESC, node.name, node.id""",
            tenant=tenant,
            keys=as_json(map(storable, keys)),
            labels=as_json(labels or Label),
        )
        found: dict[str, list[Node]] = {}
        for row in rows:
            found.setdefault(row["found"], []).append(read_node(row))
        return found

    async def search_vectors(
        self, tenant: str, vector: Vector, limit: int, labels: Collection[Label] = ()
    ) -> list[Hit]:
        def search(db: sqlite3.Connection) -> list[Hit]:
            scores = self._vectors.nearest(db, tenant, vector, limit, labels)
            nodes = read_nodes(db, tenant, scores)
            return [Hit(nodes[id], score) for id, score in scores.items() if id in nodes]

        return await self._read(search)

    async def search_text(self, tenant: str, text: str, limit: int, labels: Collection[Label] = ()) -> list[Hit]:
        words = query_words(text)
        if not words:
            return []
        rows = await self._all(
            """SELECT -bm25(node_text, 4.0, 4.0, 4.0, 1.0) AS score, node.*
            FROM node_text JOIN node ON node.row = node_text.rowid
            WHERE node_text MATCH :terms AND node.tenant = :tenant
            AND node.label IN (SELECT value FROM json_each(:labels))
            ORDER BY score DESC, node.name, node.id LIMIT :limit""",
            terms=_any_of(words),
            tenant=tenant,
            labels=as_json(labels or Label),
            limit=limit,
        )
        return [Hit(read_node(row), row["score"]) for row in rows]

    async def edges(
        self, tenant: str, ids: Collection[str], types: Collection[EdgeType], direction: Direction, limit: int
    ) -> list[Edge]:
        rows = await self._all(
            """WITH start AS (SELECT value FROM json_each(:ids)),
            leaving AS (SELECT value FROM json_each(:leaving)),
            reaching AS (SELECT value FROM json_each(:reaching))
            SELECT * FROM edge WHERE tenant = :tenant AND source IN start AND type IN leaving
            UNION
            SELECT * FROM edge WHERE tenant = :tenant AND target IN start AND type IN reaching
            ORDER BY confirmations DESC, type, source, target LIMIT :limit""",
            tenant=tenant,
            ids=as_json(map(storable, ids)),
            leaving=as_json(type for type in types if direction is not Direction.IN or type in SYMMETRIC),
            reaching=as_json(type for type in types if direction is not Direction.OUT or type in SYMMETRIC),
            limit=limit,
        )
        return [read_edge(row) for row in rows]

    async def list_nodes(
        self, tenant: str, labels: Collection[Label] = (), query: str = "", limit: int = 50, cursor: str | None = None
    ) -> Page:
        listing = Listing(tenant, labels, query)
        after = listing.place(cursor) if cursor else None
        rows = await self._all(
            """SELECT * FROM node WHERE tenant = :tenant AND label IN (SELECT value FROM json_each(:labels))
            AND (:key = '' OR EXISTS (SELECT 1 FROM name_key WHERE node = node.id AND instr(key, :key)))
            AND (:confirmations IS NULL OR (-confirmations, name, id) > (-:confirmations, :name, :id))
            ORDER BY confirmations DESC, name, id LIMIT :limit""",
            tenant=tenant,
            labels=as_json(labels or Label),
            key=name_key(storable(query)),
            confirmations=after and after.confirmations,
            name=after and after.name,
            id=after and after.id,
            limit=limit + 1,
        )
        nodes = tuple(map(read_node, rows[:limit]))
        return Page(nodes, listing.cursor(nodes[-1]) if nodes and len(rows) > limit else None)

    async def all_nodes(self, tenant: str) -> list[Node]:
        return [read_node(row) for row in await self._all("SELECT * FROM node WHERE tenant = :tenant", tenant=tenant)]

    async def put_meta(self, key: str, value: bytes) -> None:
        await self._write(lambda db: db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value)))

    async def get_meta(self, key: str) -> bytes | None:
        rows = await self._all("SELECT value FROM meta WHERE key = :key", key=key)
        return rows[0]["value"] if rows else None

    async def _all(self, sql: str, **values: object) -> list[sqlite3.Row]:
        return await self._read(lambda db: db.execute(sql, values).fetchall())

    async def _read(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await asyncio.to_thread(self._in_reader, work)

    async def _write(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        return await asyncio.to_thread(self._in_writer, work)

    def _in_reader(self, work: Callable[[sqlite3.Connection], Result]) -> Result:
        with _errors_of(self._path):
            db = self._take_reader()
            try:
                db.execute("BEGIN")
                try:
                    return work(db)
                finally:
                    db.execute("ROLLBACK")
            finally:
                self._give_back(db)

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
                writer.execute("PRAGMA journal_mode = WAL")
                _transaction(writer, self._lay_out)
            except BaseException:
                writer.close()
                raise
            self._writer = writer

    def _lay_out(self, db: sqlite3.Connection) -> None:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            if db.execute("SELECT 1 FROM sqlite_schema").fetchone():
                raise GraphMisconfigured(
                    f"{self._path} is a database of another program. Name another file in INCIDENT_GRAPH_GRAPH_URL."
                )
            for statement in statements("layout.sql"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {LAYOUT_VERSION}")
        elif version != LAYOUT_VERSION:
            raise GraphMisconfigured(
                f"The graph file {self._path} has layout {version}, and this program knows layout {LAYOUT_VERSION}. "
                "Use the version that wrote it, or name a new file in INCIDENT_GRAPH_GRAPH_URL and ingest again."
            )
        self._vectors.check(db, refit=self._refit)

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(self._path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        db.row_factory = sqlite3.Row
        db.execute("PRAGMA synchronous = FULL")
        return db

    def _take_reader(self) -> sqlite3.Connection:
        with self._pooling:
            if self._writer is None:
                raise GraphUnavailable("The graph's store is not open.")
            if self._readers:
                return self._readers.pop()
        db = self._connect()
        db.execute("PRAGMA query_only = ON")
        return db

    def _give_back(self, db: sqlite3.Connection) -> None:
        with self._pooling:
            if self._writer is not None:
                self._readers.append(db)
                return
        db.close()

    def _close(self) -> None:
        with self._writing, self._pooling:
            writer, self._writer = self._writer, None
            readers, self._readers = self._readers, []
        for db in (*readers, *([writer] if writer else [])):
            db.close()


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


def _any_of(words: Collection[str]) -> str:
    """FTS5 for any of the words, each quoted, so that nothing in them is syntax."""
    return " OR ".join(f'"{word}"' for word in words)
