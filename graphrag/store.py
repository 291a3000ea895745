"""The seam between the graph's logic and the database that keeps it.

A store offers operations, never query strings. Traversal, ranking and locating are written once above it. Two stores
implement it, SQLite for one machine and Neo4j for production, and one contract suite runs on both. Every operation
takes the tenant first; no operation reads or writes across tenants. Reads return current facts only.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from graphrag.model import Direction, Edge, EdgeType, Facts, Hit, Label, Node, Page, WriteReport

Vector = Sequence[float]


class GraphStore(Protocol):
    """Every method raises `GraphUnavailable` when the database does not answer."""

    async def open(self) -> None:
        """Create or check the layout; wait until indexes answer. Raises `GraphMisconfigured` with the remedy."""
        ...

    async def close(self) -> None: ...

    async def write(self, tenant: str, facts: Facts) -> WriteReport:
        """Write one run of one source, whole or not at all. Seeing a current fact again raises its confirmations."""
        ...

    async def set_vectors(self, tenant: str, vectors: Mapping[str, Vector]) -> None:
        """Set the embedding of each node id. A wrong dimension raises `GraphMisconfigured` with the remedy."""
        ...

    async def nodes(self, tenant: str, ids: Collection[str]) -> dict[str, Node]:
        """The current nodes among `ids`, by id."""
        ...

    async def resolve(self, tenant: str, keys: Collection[str], labels: Collection[Label]) -> dict[str, list[Node]]:
        """Exact entry point: the nodes whose name or alias normalises to each key (`graphrag.identity.name_key`)."""
        ...

    async def search_vectors(
        self, tenant: str, vector: Vector, limit: int, labels: Collection[Label] = ()
    ) -> list[Hit]:
        """Vector entry point: nearest nodes by cosine in [-1, 1], best first; no labels means all."""
        ...

    async def search_text(self, tenant: str, text: str, limit: int, labels: Collection[Label] = ()) -> list[Hit]:
        """Full-text entry point over names, aliases and summaries (BM25 or the like), best first. `text` is free text,
        any punctuation in it is harmless."""
        ...

    async def edges(
        self,
        tenant: str,
        ids: Collection[str],
        types: Collection[EdgeType],
        direction: Direction,
        limit: int,
    ) -> list[Edge]:
        """The current edges that leave, reach or touch any of `ids`; at most `limit`, most confirmed first."""
        ...

    async def list_nodes(
        self, tenant: str, labels: Collection[Label] = (), query: str = "", limit: int = 50, cursor: str | None = None
    ) -> Page:
        """Nodes whose name or alias contains `query`, most confirmed first. A cursor of elsewhere raises ValueError."""
        ...

    async def all_nodes(self, tenant: str) -> list[Node]:
        """Every current node of a tenant: for fitting embeddings and for exports, not for answering."""
        ...

    async def put_meta(self, key: str, value: bytes) -> None:
        """Keep a small named blob beside the graph (embedding weights, layout version)."""
        ...

    async def get_meta(self, key: str) -> bytes | None: ...
