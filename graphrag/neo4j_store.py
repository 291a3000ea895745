"""The graph in Neo4j 5.26 or later, laid out so that a stock LlamaIndex `Neo4jPropertyGraphStore` reads it.

Entities are nodes `:__Node__:__Entity__:<Label>`, current edges are relations. Names (`__Name__`), closed intervals
(`__PastNode__`, `__PastEdge__`), decisions (`__Record__`), locks (`__Tenant__`) and blobs (`__Meta__`) are unconnected
nodes that stock readers do not ask for.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

import neo4j

from graphrag.identity import name_key
from graphrag.leases import leased
from graphrag.model import (
    NOW,
    WORLD,
    Direction,
    Edge,
    EdgeType,
    Facts,
    History,
    Hit,
    Label,
    Neighbour,
    NeighbourPage,
    Node,
    Page,
    Properties,
    Record,
    Rewrite,
    Step,
    View,
    WriteReport,
)
from graphrag.neo4j_database import Address, Database
from graphrag.neo4j_facts import (
    confirm_facts,
    folded,
    history_of,
    name_id,
    read_edge,
    read_node,
    rewrite_facts,
    write_facts,
)
from graphrag.neo4j_search import nearest, with_any_word
from graphrag.neo4j_walk import foreseen, steps_now
from graphrag.queries import named
from graphrag.store import Ask, EdgesOf, Exploration, Forecast, Found, NodesOf, StepsFrom, Vector
from graphrag.stored import (
    Place,
    leaving,
    moment_of,
    neighbour_listing,
    neighbour_page,
    node_listing,
    node_page,
    place_of,
    query_words,
    reaching,
    steps_over,
)
from graphrag.surroundings import Steps, Surroundings
from graphrag.vectors import checked
from graphrag.writing import NameKey, node_keys, storable

_MOST_NEIGHBOURS = 100_000
_BATCH = 1_000


class Neo4jStore:
    """A `GraphStore` at `address`. Nothing is connected before `open`.

    With `refit`, opening drops vectors of another dimension instead of refusing them.
    """

    def __init__(self, address: Address, *, dimensions: int, refit: bool = False) -> None:
        self._database = Database(address)
        self._dimensions = dimensions
        self._refit = refit
        self._read = self._database.read
        self._change = self._database.change

    async def open(self) -> None:
        await self._database.open(dimensions=self._dimensions, refit=self._refit)

    async def close(self) -> None:
        await self._database.close()

    async def write(self, tenant: str, *parts: Facts) -> WriteReport:
        return await self._change(lambda tx: write_facts(tx, tenant, parts))

    async def confirm(self, tenant: str, sources: Collection[str], seen_at: datetime) -> int:
        return await self._change(lambda tx: confirm_facts(tx, tenant, sources, seen_at))

    async def lease(self, name: str, holder: str, now: datetime, until: datetime) -> str:
        async def work(tx: neo4j.AsyncManagedTransaction) -> str:
            queries = named("write.cypher")
            # Writing before reading locks the node, so that of two who ask the second sees what the first was given.
            found = await (await tx.run(queries["lease"], {"key": name, "holder": holder})).single(strict=True)
            kept = found["value"]
            lease = leased(None if kept is None else bytes(kept), holder, now, until)
            await (await tx.run(queries["put_meta"], {"key": name, "value": lease.packed()})).consume()
            return lease.holder

        return await self._change(work)

    async def rewrite(self, tenant: str, ids: Collection[str], decide: Callable[[History], Rewrite]) -> None:
        await self._change(lambda tx: rewrite_facts(tx, tenant, ids, decide))

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

        await self._change(work)

    async def annotate(self, tenant: str, properties: Mapping[str, Properties]) -> None:
        rows = [{"id": id, "properties": folded(each)} for id, each in properties.items()]

        async def work(tx: neo4j.AsyncManagedTransaction) -> None:
            for start in range(0, len(rows), _BATCH):
                batch = rows[start : start + _BATCH]
                await (await tx.run(named("write.cypher")["annotate"], {"tenant": tenant, "rows": batch})).consume()

        await self._change(work)

    async def nodes(self, tenant: str, ids: Collection[str], view: View = NOW) -> dict[str, Node]:
        asked = sorted(set(map(storable, ids)))
        if view.as_of is None:
            rows = await self._read("nodes", tenant=tenant, ids=asked, scopes=list(view.scopes))
        else:
            rows = await self._held(tenant, view, ids=asked)
        return {node.id: node for node in map(_node, rows)}

    async def resolve(
        self, tenant: str, keys: Collection[str], labels: Collection[Label], view: View = NOW
    ) -> dict[str, list[Node]]:
        asked = {storable(key) for key in keys}
        found: dict[str, list[Node]] = {}
        if view.as_of is None:
            places = itertools.product(view.scopes, set(labels or Label), asked)
            names = [{"id": name_id(tenant, NameKey(*place)), "key": place[2]} for place in places]
            for row in await self._read("resolve", tenant=tenant, names=names):
                found.setdefault(row["key"], []).append(_node(row))
        else:
            for node in map(_node, await self._held(tenant, view, labels, keys=sorted(asked))):
                for key in asked.intersection(node_keys(node)):
                    found.setdefault(key, []).append(node)
        return found

    async def search_vectors(
        self, tenant: str, vector: Vector, limit: int, labels: Collection[Label] = (), view: View = NOW
    ) -> list[Hit]:
        query = checked(vector, self._dimensions)
        if limit <= 0 or not query.any():
            return []
        rows = await nearest(self._read, tenant, query.tolist(), limit, set(labels or Label), view)
        return [Hit(_node(row), row["score"]) for row in rows]

    async def search_text(
        self, tenant: str, text: str, limit: int, labels: Collection[Label] = (), view: View = NOW
    ) -> list[Hit]:
        words = query_words(text)
        rows = await with_any_word(self._read, tenant, words, limit, set(labels or Label), view) if words else []
        return [Hit(_node(row), row["score"]) for row in rows]

    async def edges(
        self,
        tenant: str,
        ids: Collection[str],
        types: Collection[EdgeType],
        direction: Direction,
        limit: int,
        view: View = NOW,
    ) -> list[Edge]:
        rows = await self._read(
            "edges" if view.as_of is None else "edges_at",
            tenant=tenant,
            scopes=list(view.scopes),
            types=(leaving(types, direction), reaching(types, direction)),
            ids=sorted(set(map(storable, ids))),
            limit=limit,
            at=moment_of(view),
        )
        return [read_edge(row["edge"]) for row in rows]

    async def explore(self, tenant: str, exploration: Exploration[Found]) -> Found:
        answers: list[Any] | None = None
        around: Surroundings | Steps | None = None
        while True:
            try:
                asks = exploration.send(answers)
            except StopIteration as end:
                return end.value
            for ask in asks:
                if isinstance(ask, Forecast):
                    around = await foreseen(self._read, tenant, ask)
            answers = await asyncio.gather(*(self._answer(tenant, ask, around) for ask in asks))

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
        listing = neighbour_listing(tenant, id, types, direction, view)
        after = listing.place(cursor)
        if view.as_of is not None:
            return neighbour_page(listing, await self._neighbours_at(tenant, id, types, direction, after, view), limit)
        rows = await self._read(
            "neighbours",
            tenant=tenant,
            scopes=list(view.scopes),
            types=(leaving(types, direction), reaching(types, direction)),
            id=storable(id),
            after=after and asdict(after),
            limit=limit + 1,
        )
        return neighbour_page(listing, [Neighbour(read_edge(row["edge"]), _node(row)) for row in rows], limit)

    async def list_nodes(
        self,
        tenant: str,
        labels: Collection[Label] = (),
        query: str = "",
        limit: int = 50,
        cursor: str | None = None,
        view: View = NOW,
    ) -> Page:
        listing = node_listing(tenant, labels, query, view)
        after = listing.place(cursor)
        key = name_key(storable(query))
        if view.as_of is not None:
            held = map(_node, await self._held(tenant, view, labels, part=key))
            return node_page(listing, [node for node in held if after is None or place_of(node) > after], limit)
        rows = await self._read(
            "list_nodes",
            tenant=tenant,
            scopes=list(view.scopes),
            labels=_values(labels or Label),
            key=key,
            after=after and asdict(after),
            limit=limit + 1,
        )
        return node_page(listing, list(map(_node, rows)), limit)

    async def all_nodes(self, tenant: str, labels: Collection[Label] = (), view: View = NOW) -> list[Node]:
        if view.as_of is not None:
            return list(map(_node, await self._held(tenant, view, labels)))
        asked: dict[str, Any] = {"tenant": tenant, "scopes": list(view.scopes), "labels": _values(labels or Label)}
        return list(map(_node, await self._read("all_nodes", **asked)))

    async def pairs(self, tenant: str, type: EdgeType) -> list[tuple[str, str]]:
        rows = await self._read("pairs", tenant=tenant, types=([type.value], []), scope=WORLD)
        return [(row["source"], row["target"]) for row in rows]

    async def history(self, tenant: str, ids: Collection[str] | None) -> History:
        if ids is None:
            nodes, edges = await self._read("every_node", tenant=tenant), await self._read("every_edge", tenant=tenant)
        else:
            asked = sorted(set(map(storable, ids)))
            nodes = await self._read("history_nodes", tenant=tenant, ids=asked)
            edges = await self._read("history_edges", tenant=tenant, ids=asked)
        return history_of(nodes, edges)

    async def records(self, tenant: str, kind: str) -> list[Record]:
        rows = await self._read("records", tenant=tenant, kind=kind)
        return [Record(kind, row["id"], json.loads(row["body"])) for row in rows]

    async def put_meta(self, key: str, value: bytes) -> None:
        async def work(tx: neo4j.AsyncManagedTransaction) -> None:
            await (await tx.run(named("write.cypher")["put_meta"], {"key": key, "value": value})).consume()

        await self._change(work)

    async def get_meta(self, key: str) -> bytes | None:
        rows = await self._read("get_meta", key=key)
        return bytes(rows[0]["value"]) if rows else None

    async def _held(
        self,
        tenant: str,
        view: View,
        labels: Collection[Label] = (),
        *,
        ids: Collection[str] | None = None,
        keys: Collection[str] | None = None,
        part: str = "",
    ) -> list[dict[str, Any]]:
        """The nodes that held at the view's moment, most confirmed first."""
        return await self._read(
            "nodes_at",
            tenant=tenant,
            at=moment_of(view),
            scopes=list(view.scopes),
            labels=_values(labels or Label),
            ids=ids,
            keys=keys,
            part=part,
        )

    async def _answer(self, tenant: str, ask: Ask, around: Surroundings | Steps | None) -> Any:
        if around is not None and around.holds(ask):
            return around.answer(ask)
        match ask:
            case NodesOf():
                return await self.nodes(tenant, ask.ids, ask.view)
            case EdgesOf():
                return await self.edges(tenant, ask.ids, ask.types, ask.direction, ask.limit, ask.view)
            case StepsFrom():
                return await self._steps(tenant, ask)
            case Forecast():
                return None

    async def _steps(self, tenant: str, ask: StepsFrom) -> tuple[list[Step], bool]:
        if ask.view.as_of is not None:
            edges = await self.edges(tenant, ask.frontier, ask.types, ask.direction, ask.limit + 1, ask.view)
            ends = {end for edge in edges for end in (edge.source, edge.target)}
            nodes = await self.nodes(tenant, ends, ask.view)
            return steps_over(edges[: ask.limit], nodes, ask), len(edges) > ask.limit
        return await steps_now(self._read, tenant, ask)

    async def _neighbours_at(
        self,
        tenant: str,
        id: str,
        types: Collection[EdgeType],
        direction: Direction,
        after: Place | None,
        view: View,
    ) -> list[Neighbour]:
        edges = await self.edges(tenant, [id], types, direction, _MOST_NEIGHBOURS, view)
        nodes = await self.nodes(tenant, {edge.other_end(id) for edge in edges}, view)
        found = [Neighbour(edge, nodes[edge.other_end(id)]) for edge in edges if edge.other_end(id) in nodes]
        found.sort(key=place_of)
        return [each for each in found if after is None or place_of(each) > after]


def _node(row: Mapping[str, Any]) -> Node:
    return read_node(row["node"], row["labels"])


def _values(names: Iterable[Label]) -> list[str]:
    return [name.value for name in names]
