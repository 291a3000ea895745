"""The constraints and indexes that the graph needs in Neo4j: made when missing, checked when there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, LiteralString

import neo4j
from neo4j.exceptions import ClientError, TransientError

from graphrag.errors import GraphMisconfigured
from graphrag.model import Label
from graphrag.neo4j_migration import bring_forward
from graphrag.queries import filled, named, statements
from graphrag.stored import TEXT_INDEXES
from graphrag.vectors import other_dimensions

_VERSION_KEY = "layout.version"
_VERSION = b"2"
"""Raise it with each change of the layout, and say in `neo4j_migration` how the data of the one before follows."""
ALL_VECTORS = "entity"
VECTORS_OF = {label: f"{label.lower()}_vectors" for label in (Label.SERVICE, Label.RUNBOOK, Label.DOC, Label.INCIDENT)}
"""The vector indexes of those kinds of node that are searched for by themselves and are few beside others."""
_VECTOR_INDEXES = {ALL_VECTORS: "__Entity__", **{index: label.value for label, index in VECTORS_OF.items()}}
_INDEXES = (
    *((index, "VECTOR", [label]) for index, label in _VECTOR_INDEXES.items()),
    *((index, "FULLTEXT", [label.value for label in labels]) for index, labels in TEXT_INDEXES.items()),
    ("past_text", "FULLTEXT", ["__PastNode__"]),
)
_ONLINE_SECONDS = 120
_ATTEMPTS = 5


async def lay_out(driver: neo4j.AsyncDriver, *, database: str, host: str, dimensions: int, refit: bool) -> None:
    """Returns once every index answers. Raises `GraphMisconfigured` when what is there cannot work."""
    layout = _Layout(driver, database)
    older = await layout.older_version(host)
    for statement in statements("layout.cypher"):
        await layout.create(statement)
    if refit and _stored_dimensions(await layout.indexes()) not in (None, dimensions):
        for index in _VECTOR_INDEXES:
            await layout.run(filled(named("indexes.cypher")["drop_vectors"], __INDEX__=index))
        await layout.run(named("indexes.cypher")["forget_vectors"])
    for index, label in _VECTOR_INDEXES.items():
        create = filled(named("indexes.cypher")["create_vectors"], __INDEX__=index, __LABEL__=label)
        await layout.create(create, dimensions=dimensions)
    for index, labels in TEXT_INDEXES.items():
        of = "|".join(label.value for label in labels)
        await layout.create(filled(named("indexes.cypher")["create_text"], __INDEX__=index, __LABELS__=of))
    await layout.run(named("indexes.cypher")["await_online"], seconds=_ONLINE_SECONDS)
    _check_indexes(await layout.indexes(), dimensions, host)
    if older:
        await bring_forward(layout.run)
    await layout.run(named("write.cypher")["put_meta"], key=_VERSION_KEY, value=_VERSION)


class _Layout:
    def __init__(self, driver: neo4j.AsyncDriver, database: str) -> None:
        self._session: Callable[[], neo4j.AsyncSession] = lambda: driver.session(database=database)

    async def run(self, text: LiteralString, **values: Any) -> list[dict[str, Any]]:
        async with self._session() as session:
            return await (await session.run(text, values)).data()

    async def create(self, text: LiteralString, **values: Any) -> None:
        """`IF NOT EXISTS` still fails when another replica creates the same thing at the same moment."""
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self.run(text, **values)
                return
            except (ClientError, TransientError) as error:
                raced = isinstance(error, TransientError) or str(error.code).endswith("AlreadyExists")
                if not raced or attempt == _ATTEMPTS:
                    raise

    async def indexes(self) -> dict[str, Mapping[str, Any]]:
        names = [name for name, _, _ in _INDEXES]
        return {row["name"]: row for row in await self.run(named("indexes.cypher")["show"], names=names)}

    async def older_version(self, host: str) -> bool:
        """Whether the data is of an older layout. Raises `GraphMisconfigured` when it is of a newer one."""
        rows = await self.run(named("read.cypher")["get_meta"], key=_VERSION_KEY)
        found = bytes(rows[0]["value"]) if rows else _VERSION
        if int(found) > int(_VERSION):
            raise GraphMisconfigured(
                f"The graph in Neo4j at {host} was laid out by a newer version of this program. Use that version, or "
                "name another database in INCIDENT_GRAPH_GRAPH_URL and ingest again."
            )
        return found != _VERSION


def _stored_dimensions(indexes: Mapping[str, Mapping[str, Any]]) -> int | None:
    return indexes["entity"]["dimensions"] if "entity" in indexes else None


def _check_indexes(indexes: Mapping[str, Mapping[str, Any]], dimensions: int, host: str) -> None:
    for name, kind, labels in _INDEXES:
        index = indexes.get(name)
        if index is None or index["type"] != kind or sorted(index["labelsOrTypes"]) != sorted(labels):
            raise GraphMisconfigured(
                f"Neo4j at {host} has another index named `{name}`. Drop it (`DROP INDEX {name}`) or name another "
                "database in INCIDENT_GRAPH_GRAPH_URL."
            )
        if index["state"] != "ONLINE":
            raise GraphMisconfigured(
                f"The index `{name}` in Neo4j at {host} is {index['state']}. Drop it (`DROP INDEX {name}`) and start "
                "again; it is made anew."
            )
    stored = _stored_dimensions(indexes)
    if stored not in (None, dimensions):
        raise other_dimensions(stored, dimensions)
