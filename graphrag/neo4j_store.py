"""The graph in Neo4j 5.26 or later, laid out so that a stock LlamaIndex `Neo4jPropertyGraphStore` reads it.

Entities are nodes `:__Node__:__Entity__:<Label>`, current edges are relations. Names (`__Name__`), closed intervals
(`__Past__`), locks (`__Tenant__`) and blobs (`__Meta__`) are unconnected nodes that stock readers do not ask for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import neo4j
from neo4j.exceptions import ConstraintError

from graphrag.errors import GraphMisconfigured, GraphUnavailable
from graphrag.identity import name_key
from graphrag.model import Direction, Edge, EdgeType, Facts, Hit, Label, Node, Page, WriteReport
from graphrag.neo4j_errors import neo4j_errors
from graphrag.neo4j_facts import name_rows, read_edge, read_node, search_scope, write_facts
from graphrag.neo4j_layout import lay_out
from graphrag.queries import named
from graphrag.store import Vector
from graphrag.stored import Listing, query_words
from graphrag.vectors import checked
from graphrag.writing import SYMMETRIC, storable

_OLDEST = (5, 26)
_CONNECT_SECONDS = 5.0
_RETRY_SECONDS = 10.0
_ATTEMPTS = 3
_BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Address:
    """Where a database is: `uri` without credentials, `host` (with port) as sentences name it."""

    uri: str
    host: str
    database: str
    user: str = ""
    password: str = ""

    def __repr__(self) -> str:
        return f"Address({self.uri!r}, database={self.database!r})"


class Neo4jStore:
    """A `GraphStore` at `address`. Nothing is connected before `open`.

    With `refit`, opening drops vectors of another dimension instead of refusing them.
    """

    def __init__(self, address: Address, *, dimensions: int, refit: bool = False) -> None:
        self._address = address
        self._dimensions = dimensions
        self._refit = refit
        self._driver: neo4j.AsyncDriver | None = None

    async def open(self) -> None:
        if self._driver is not None:
            return
        with neo4j_errors(self._address.host):
            driver = self._connect()
            try:
                self._check_version((await driver.get_server_info()).agent)
                await lay_out(
                    driver,
                    database=self._address.database,
                    host=self._address.host,
                    dimensions=self._dimensions,
                    refit=self._refit,
                )
            except BaseException:
                await driver.close()
                raise
            self._driver = driver

    async def close(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            await driver.close()

    async def write(self, tenant: str, facts: Facts) -> WriteReport:
        with neo4j_errors(self._address.host):
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    async with self._session() as session:
                        return await session.execute_write(write_facts, tenant, facts)
                except ConstraintError:
                    # Another writer made the same thing first; on the next attempt it is found.
                    if attempt == _ATTEMPTS:
                        raise
        raise AssertionError("unreachable")

    async def set_vectors(self, tenant: str, vectors: Mapping[str, Vector]) -> None:
        arrays = {id: checked(vector, self._dimensions) for id, vector in vectors.items()}
        # The cosine index takes no vector of length zero.
        rows = [{"id": id, "vector": array.tolist()} for id, array in arrays.items() if array.any()]
        zero = [id for id, array in arrays.items() if not array.any()]

        async def work(tx: neo4j.AsyncManagedTransaction) -> None:
            for start in range(0, len(rows), _BATCH):
                batch = rows[start : start + _BATCH]
                await (await tx.run(named("write.cypher")["set_vectors"], {"tenant": tenant, "rows": batch})).consume()
            await (await tx.run(named("write.cypher")["clear_vectors"], {"tenant": tenant, "ids": zero})).consume()

        with neo4j_errors(self._address.host):
            async with self._session() as session:
                await session.execute_write(work)

    async def nodes(self, tenant: str, ids: Collection[str]) -> dict[str, Node]:
        rows = await self._read("nodes", tenant=tenant, ids=sorted(set(map(storable, ids))))
        return {node.id: node for node in map(_node, rows)}

    async def resolve(self, tenant: str, keys: Collection[str], labels: Collection[Label]) -> dict[str, list[Node]]:
        names = name_rows(tenant, ((label, storable(key)) for key in set(keys) for label in set(labels or Label)))
        found: dict[str, list[Node]] = {}
        for row in await self._read("resolve", tenant=tenant, names=names):
            found.setdefault(row["key"], []).append(_node(row))
        return found

    async def search_vectors(
        self, tenant: str, vector: Vector, limit: int, labels: Collection[Label] = ()
    ) -> list[Hit]:
        query = checked(vector, self._dimensions)
        if limit <= 0 or not query.any():
            return []
        asked: dict[str, Any] = {
            "tenant": tenant,
            "vector": query.tolist(),
            "limit": limit,
            "labels": _values(labels or Label),
        }
        # The index knows no tenant: ask it for more than needed; when other tenants crowd it, compare with every
        # vector of this one.
        fetch = 10 * limit + 100
        found = await self._read("search_vectors", fetch=fetch, **asked)
        rows = [row for row in found if row["node"] is not None][:limit]
        if len(rows) < limit and len(found) >= fetch:
            rows = await self._read("scan_vectors", **asked)
        return _hits(rows)

    async def search_text(self, tenant: str, text: str, limit: int, labels: Collection[Label] = ()) -> list[Hit]:
        words = query_words(text)
        if not words:
            return []
        return _hits(
            await self._read(
                "search_text",
                tenant=tenant,
                lucene=_lucene(tenant, words),
                limit=limit,
                labels=_values(labels or Label),
            )
        )

    async def edges(
        self, tenant: str, ids: Collection[str], types: Collection[EdgeType], direction: Direction, limit: int
    ) -> list[Edge]:
        rows = await self._read(
            "edges",
            tenant=tenant,
            ids=sorted(set(map(storable, ids))),
            leaving=_values(type for type in types if direction is not Direction.IN or type in SYMMETRIC),
            reaching=_values(type for type in types if direction is not Direction.OUT or type in SYMMETRIC),
            limit=limit,
        )
        return [read_edge(row["edge"]) for row in rows]

    async def list_nodes(
        self, tenant: str, labels: Collection[Label] = (), query: str = "", limit: int = 50, cursor: str | None = None
    ) -> Page:
        listing = Listing(tenant, labels, query)
        after = listing.place(cursor) if cursor else None
        rows = await self._read(
            "list_nodes",
            tenant=tenant,
            labels=_values(labels or Label),
            key=name_key(storable(query)),
            after=after and {"confirmations": after.confirmations, "name": after.name, "id": after.id},
            limit=limit + 1,
        )
        nodes = tuple(map(_node, rows[:limit]))
        return Page(nodes, listing.cursor(nodes[-1]) if nodes and len(rows) > limit else None)

    async def all_nodes(self, tenant: str) -> list[Node]:
        return list(map(_node, await self._read("all_nodes", tenant=tenant)))

    async def put_meta(self, key: str, value: bytes) -> None:
        with neo4j_errors(self._address.host):
            await self._opened().execute_query(
                named("write.cypher")["put_meta"], {"key": key, "value": value}, database_=self._address.database
            )

    async def get_meta(self, key: str) -> bytes | None:
        rows = await self._read("get_meta", key=key)
        return bytes(rows[0]["value"]) if rows else None

    async def _read(self, name: str, **values: Any) -> list[dict[str, Any]]:
        with neo4j_errors(self._address.host):
            result = await self._opened().execute_query(
                named("read.cypher")[name],
                values,
                database_=self._address.database,
                routing_=neo4j.RoutingControl.READ,
            )
        return [record.data() for record in result.records]

    def _session(self) -> neo4j.AsyncSession:
        """A session whose writes the reads of `execute_query` are sure to see, on a cluster too."""
        driver = self._opened()
        return driver.session(database=self._address.database, bookmark_manager=driver.execute_query_bookmark_manager)

    def _opened(self) -> neo4j.AsyncDriver:
        if self._driver is None:
            raise GraphUnavailable("The graph's store is not open.")
        return self._driver

    def _connect(self) -> neo4j.AsyncDriver:
        try:
            return neo4j.AsyncGraphDatabase.driver(
                self._address.uri,
                auth=(self._address.user, self._address.password) if self._address.user else None,
                connection_timeout=_CONNECT_SECONDS,
                connection_acquisition_timeout=_RETRY_SECONDS,
                max_transaction_retry_time=_RETRY_SECONDS,
                notifications_min_severity="OFF",
            )
        except ValueError as error:
            raise GraphMisconfigured(f"{self._address.uri} is not an address the Neo4j driver understands.") from error

    def _check_version(self, agent: str) -> None:
        numbers = re.search(r"(\d+)\.(\d+)", agent)
        if numbers and (int(numbers[1]), int(numbers[2])) < _OLDEST:
            raise GraphMisconfigured(f"{self._address.host} runs {agent}; the graph needs Neo4j 5.26 or later.")


def _node(row: Mapping[str, Any]) -> Node:
    return read_node(row["node"], row["labels"])


def _hits(rows: Collection[Mapping[str, Any]]) -> list[Hit]:
    return [Hit(_node(row), row["score"]) for row in rows]


def _values(names: Iterable[Label | EdgeType]) -> list[str]:
    return [name.value for name in names]


def _lucene(tenant: str, words: Collection[str]) -> str:
    """Any of the words, each quoted, within the tenant, which adds nothing to the score."""
    quoted = " ".join(f'"{word}"' for word in words)
    return f"+(search_scope:{search_scope(tenant)})^0 +({quoted})"
