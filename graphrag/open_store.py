"""Which store a URL names."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from graphrag.errors import GraphMisconfigured
from graphrag.sqlite_store import SqliteStore
from graphrag.store import GraphStore

_NEO4J_SCHEMES = frozenset({"neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"})
_SQLITE_PREFIX = "sqlite:///"
_DEFAULT_PORT = 7687
_EXPECTED = "Write sqlite:///path/to/graph.db or neo4j://user:password@host:7687/database (bolt:// and +s for TLS too)."


def open_store(url: str, *, dimensions: int, refit: bool = False) -> GraphStore:
    """The store at `url`, for embeddings of `dimensions` numbers; nothing is touched before `await store.open()`.

    `refit` lets opening drop the vectors of another dimension. Raises `GraphMisconfigured` for an unusable URL; the
    sentence never repeats the URL, which may hold a password.
    """
    if url.startswith(_SQLITE_PREFIX):
        return SqliteStore(_sqlite_path(url), dimensions=dimensions, refit=refit)
    try:
        parts = urlsplit(url)
        port = parts.port or _DEFAULT_PORT
    except ValueError:
        raise GraphMisconfigured(f"The graph's URL cannot be read. {_EXPECTED}") from None
    if parts.scheme not in _NEO4J_SCHEMES or not parts.hostname:
        raise GraphMisconfigured(f"The graph's URL names no database this program knows. {_EXPECTED}")
    return _neo4j(parts, parts.hostname, port, dimensions=dimensions, refit=refit)


def _sqlite_path(url: str) -> Path:
    path = url.removeprefix(_SQLITE_PREFIX)
    if not path or path == ":memory:" or path.endswith("/") or "\x00" in path or "?" in path:
        raise GraphMisconfigured(f"The graph's URL names no file. {_EXPECTED}")
    return Path(path)


def _neo4j(parts: SplitResult, hostname: str, port: int, *, dimensions: int, refit: bool) -> GraphStore:
    from graphrag.neo4j_store import Address, Neo4jStore  # its driver takes 0.3 s to import: only where it is used

    host = f"[{hostname}]:{port}" if ":" in hostname else f"{hostname}:{port}"
    database = unquote(parts.path.strip("/"))
    if "/" in database:
        raise GraphMisconfigured(f"The graph's URL names more than one database. {_EXPECTED}")
    routing = f"?{parts.query}" if parts.query else ""
    address = Address(
        uri=f"{parts.scheme}://{host}{routing}",
        host=host,
        database=database or "neo4j",
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
    )
    return Neo4jStore(address, dimensions=dimensions, refit=refit)
