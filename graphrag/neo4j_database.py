"""One Neo4j database: connecting to it, and running fixed queries and changes there.

Third-party errors become the graph's own here.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, TypeVar

import neo4j
from neo4j.exceptions import ConstraintError, DriverError, Neo4jError

from graphrag.errors import GraphMisconfigured, GraphUnavailable
from graphrag.model import Label
from graphrag.neo4j_errors import neo4j_errors
from graphrag.neo4j_layout import lay_out
from graphrag.queries import filled, named

_OLDEST = (5, 26)
_CONNECT_SECONDS = 5.0
_RETRY_SECONDS = 10.0
_ATTEMPTS = 3
_ROWS_AT_ONCE = 10_000
"""Our answers are bounded already; the driver's thousand would cost a round trip for each thousand."""

Result = TypeVar("Result")


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


class Database:
    """Nothing is connected before `open`."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._driver: neo4j.AsyncDriver | None = None

    async def open(self, *, dimensions: int, refit: bool) -> None:
        """Connect and lay out. Raises `GraphUnavailable` and `GraphMisconfigured`."""
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
                    dimensions=dimensions,
                    refit=refit,
                )
            except BaseException:
                await driver.close()
                raise
            self._driver = driver

    async def close(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            await driver.close()

    async def read(
        self,
        name: str,
        *,
        types: tuple[Sequence[str], Sequence[str]] = ((), ()),
        far: int = 0,
        of: Iterable[Label] = (),
        **values: Any,
    ) -> list[dict[str, Any]]:
        """The rows of a query of read.cypher. `types`: the edge types of our own that it follows from source to
        target, and those it follows back; the query also has them as `$leaving` and `$reaching`. `far`: how many of
        them one after the other, where its text says so, as that cannot be a parameter. `of`: the labels that it goes
        through all nodes of."""
        leaving, reaching = types
        query = filled(
            named("read.cypher")[name],
            __LEAVING__=_any_of(leaving),
            __REACHING__=_any_of(reaching),
            __FAR__=str(int(far)),
            __LABELS__=_any_of(sorted(of)),
        )
        asked: dict[str, Any] = {"leaving": list(leaving), "reaching": list(reaching), **values}
        with neo4j_errors(self._address.host):
            try:
                records = await self._at_once(query, asked)
            except (Neo4jError, DriverError) as error:
                if not error.is_retryable():
                    raise
                result = await self._opened().execute_query(
                    query, asked, database_=self._address.database, routing_=neo4j.RoutingControl.READ
                )
                records = result.records
        if records and records[0].keys() == ["rows"]:
            return records[0]["rows"]
        return [dict(record) for record in records]  # maps already: nothing of the driver's own to translate

    async def _at_once(self, query: LiteralString, values: dict[str, Any]) -> list[neo4j.Record]:
        """Without a transaction of our own, which costs a round trip more and only helps to try again."""
        async with self._session(neo4j.READ_ACCESS) as session:
            return [record async for record in await session.run(query, values)]

    async def change(self, work: Callable[[neo4j.AsyncManagedTransaction], Awaitable[Result]]) -> Result:
        """Run `work` in one transaction; it may be run again, after a fault or when another writer was first."""
        with neo4j_errors(self._address.host):
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    async with self._session() as session:
                        return await session.execute_write(work)
                except ConstraintError:
                    # Another writer made the same thing first; on the next attempt it is found.
                    if attempt == _ATTEMPTS:
                        raise
        raise AssertionError("unreachable")

    def _session(self, access: str = neo4j.WRITE_ACCESS) -> neo4j.AsyncSession:
        """A session that is sure to see what any of ours, and of `execute_query`, wrote before, on a cluster too."""
        driver = self._opened()
        return driver.session(
            database=self._address.database,
            default_access_mode=access,
            bookmark_manager=driver.execute_query_bookmark_manager,
        )

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
                fetch_size=_ROWS_AT_ONCE,
                notifications_min_severity="OFF",
            )
        except ValueError as error:
            raise GraphMisconfigured(f"{self._address.uri} is not an address the Neo4j driver understands.") from error

    def _check_version(self, agent: str) -> None:
        numbers = re.search(r"(\d+)\.(\d+)", agent)
        if numbers and (int(numbers[1]), int(numbers[2])) < _OLDEST:
            raise GraphMisconfigured(f"{self._address.host} runs {agent}; the graph needs Neo4j 5.26 or later.")


def _any_of(types: Sequence[str]) -> str:
    """A pattern of these types; without any, one that no relation has, as an empty one would match all."""
    return "|".join(types) or "__NONE__"
