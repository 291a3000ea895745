"""The seam between the graph's logic and the database that keeps it.

A store offers operations, never query strings. Traversal, ranking, locating and merging are written once above it.
Two stores implement it, SQLite for one machine and Neo4j for production, and one contract suite runs on both. Every
operation takes the tenant first; no operation reads or writes across tenants. Reads see what their `view` says:
unless told otherwise, the facts of the world that hold now.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol, TypeVar

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

Vector = Sequence[float]
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class NodesOf:
    """Asks for what `GraphStore.nodes` answers."""

    ids: Collection[str]
    view: View = NOW


@dataclass(frozen=True, slots=True)
class EdgesOf:
    """Asks for what `GraphStore.edges` answers."""

    ids: Collection[str]
    types: Collection[EdgeType]
    direction: Direction
    limit: int
    view: View = NOW


@dataclass(frozen=True, slots=True)
class StepsFrom:
    """One hop of a walk: asks for each node that edges lead to from the frontier, once, as a list of `Step`, and for
    whether more than `limit` edges were there to look at."""

    frontier: Sequence[str]
    types: Collection[EdgeType]
    direction: Direction
    limit: int
    view: View = NOW


@dataclass(frozen=True, slots=True)
class Forecast:
    """Asks for nothing, and the answer is None: it says that the walk goes up to `hops` from these nodes along edges of
    `types`, and ends where it has reached `cap` nodes or looked at `limit` edges. A store may read all that at once and
    answer from it: whole nodes and edges for a walk in both directions, and otherwise what `StepsFrom` asks for."""

    ids: Sequence[str]
    types: Collection[EdgeType]
    direction: Direction
    hops: int
    cap: int
    limit: int
    view: View = NOW


Ask = NodesOf | EdgesOf | StepsFrom | Forecast
Exploration = Generator[Sequence[Ask], Any, Found]
"""A walk that says what it has to read next, is sent the answers and returns what it found. It does no I/O of its own,
so that a store may run all of it where its data is, in one go and in one state of the graph, or ask side by side what
it asks for at once."""


class GraphStore(Protocol):
    """Every method raises `GraphUnavailable` when the database does not answer."""

    async def open(self) -> None:
        """Create the layout or bring an older one forward; wait until indexes answer. Raises `GraphMisconfigured`
        with the remedy."""
        ...

    async def close(self) -> None: ...

    async def write(self, tenant: str, *parts: Facts) -> WriteReport:
        """Write what one run saw of one source or of several, whole or not at all. Seeing a current fact again raises
        its confirmations. Raises ValueError for parts of different times or scopes."""
        ...

    async def confirm(self, tenant: str, sources: Collection[str], seen_at: datetime) -> int:
        """See again, in the world, every current fact that one of the sources asserts: what `write` would do with
        what these sources said last. A fact seen at `seen_at` already is not counted again. Returns how many were."""
        ...

    async def lease(self, name: str, holder: str, now: datetime, until: datetime) -> str:
        """Take the lease of this name, or keep it for longer; with `until` not after `now`, give it up. Returns who
        has it: `holder`, or another whose time is not over. Of two who ask at once only one gets it."""
        ...

    async def rewrite(self, tenant: str, ids: Collection[str], decide: Callable[[History], Rewrite]) -> None:
        """Replace every fact, current and closed, of these nodes by what `decide` makes of them, in one transaction
        that no write comes between. `decide` is pure, as it may be asked again; what it raises undoes everything."""
        ...

    async def set_vectors(self, tenant: str, vectors: Mapping[str, Vector]) -> None:
        """Set the embedding of each node id. A wrong dimension raises `GraphMisconfigured` with the remedy."""
        ...

    async def annotate(self, tenant: str, properties: Mapping[str, Properties]) -> None:
        """Set properties that are computed from the graph itself, by node id: no fact is seen, none is confirmed."""
        ...

    async def nodes(self, tenant: str, ids: Collection[str], view: View = NOW) -> dict[str, Node]:
        """The nodes among `ids`, by id."""
        ...

    async def resolve(
        self, tenant: str, keys: Collection[str], labels: Collection[Label], view: View = NOW
    ) -> dict[str, list[Node]]:
        """Exact entry point: the nodes whose name or alias normalises to each key (`graphrag.identity.name_key`), or
        that have the strong identifier whose key (`identifier_key`) it is."""
        ...

    async def search_vectors(
        self, tenant: str, vector: Vector, limit: int, labels: Collection[Label] = (), view: View = NOW
    ) -> list[Hit]:
        """Vector entry point: nearest nodes by cosine in [-1, 1], best first; no labels means all."""
        ...

    async def search_text(
        self, tenant: str, text: str, limit: int, labels: Collection[Label] = (), view: View = NOW
    ) -> list[Hit]:
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
        view: View = NOW,
    ) -> list[Edge]:
        """The edges that leave, reach or touch any of `ids`; at most `limit`, most confirmed first."""
        ...

    async def explore(self, tenant: str, exploration: Exploration[Found]) -> Found:
        """Run an exploration and return what it found."""
        ...

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
        """The edges of one node with the node at the other end, most confirmed first. A cursor of elsewhere raises
        ValueError."""
        ...

    async def list_nodes(
        self,
        tenant: str,
        labels: Collection[Label] = (),
        query: str = "",
        limit: int = 50,
        cursor: str | None = None,
        view: View = NOW,
    ) -> Page:
        """Nodes whose name or alias contains `query`, most confirmed first. A cursor of elsewhere raises ValueError."""
        ...

    async def all_nodes(self, tenant: str, labels: Collection[Label] = (), view: View = NOW) -> list[Node]:
        """Every node of a tenant: for fitting embeddings and the like, not for answering."""
        ...

    async def pairs(self, tenant: str, type: EdgeType) -> list[tuple[str, str]]:
        """Source and target of every current edge of one type in the world: for what is computed over all of them."""
        ...

    async def history(self, tenant: str, ids: Collection[str] | None) -> History:
        """Every fact of these nodes in any scope, closed ones too; None means the whole tenant's, without vectors."""
        ...

    async def records(self, tenant: str, kind: str) -> list[Record]:
        """What was decided about the graph, by id."""
        ...

    async def put_meta(self, key: str, value: bytes) -> None:
        """Keep a small named blob beside the graph (embedding weights, layout version)."""
        ...

    async def get_meta(self, key: str) -> bytes | None: ...
