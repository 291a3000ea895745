"""The stores that the graph benches measure: ours in SQLite and in Neo4j, and LlamaIndex's stock store for Neo4j."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from graphrag.neo4j_store import Address, Neo4jStore
from graphrag.sqlite_store import SqliteStore
from graphrag.store import GraphStore
from tests.servers.neo4j_server import FOR_MEASUREMENTS, neo4j_server
from tests.servers.process import ROOT, temporary_home

if TYPE_CHECKING:
    from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore

DIMENSIONS = 384
SQLITE, NEO4J = "sqlite", "neo4j"
LTS, APOC = "neo4j-lts", "neo4j-apoc"


@contextlib.asynccontextmanager
async def sqlite_store() -> AsyncIterator[GraphStore]:
    """Ours in a file of its own."""
    with temporary_home("bench-graph") as home:
        store = SqliteStore(home / "graph.sqlite", dimensions=DIMENSIONS)
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@contextlib.asynccontextmanager
async def neo4j_store(url: str) -> AsyncIterator[GraphStore]:
    """Ours on a running server."""
    parts = urlsplit(url)
    address = Address(f"bolt://{parts.netloc}", parts.netloc, parts.path.strip("/"))
    store = Neo4jStore(address, dimensions=DIMENSIONS)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@contextlib.contextmanager
def stock_store(url: str) -> Iterator[Neo4jPropertyGraphStore]:
    """LlamaIndex's on a running server, without its scan of the schema."""
    from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore  # takes seconds to import

    parts = urlsplit(url)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own code: a pydantic deprecation, a driver left open
        stock = Neo4jPropertyGraphStore(
            "neo4j", "neo4j", f"bolt://{parts.netloc}", parts.path.strip("/"), refresh_schema=False
        )
        try:
            yield stock
        finally:
            stock.close()


@contextlib.contextmanager
def server(name: str) -> Iterator[str]:
    """A Neo4j server with room for the graphs measured, fetched if it is not there yet; yields its URL."""
    subprocess.run([ROOT / "tests" / "servers" / "install", name], stdout=sys.stderr, check=True)
    with neo4j_server(name, FOR_MEASUREMENTS) as url:
        yield url
