"""Facts in the Neo4j layout: nodes and relations to and from parameters, and carrying out what `graphrag.writing` and
others decide.

A property of an entity is a property of its Neo4j node, under its own name, so that stock readers see it. A name that
the layout uses itself gets a `_` at its end. The verb of a RELATION is its property `type`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, Generic, LiteralString, TypeVar

from neo4j import AsyncManagedTransaction, AsyncResult

from graphrag.lives import Run
from graphrag.model import (
    WORLD,
    Edge,
    EdgeType,
    Facts,
    History,
    Label,
    Life,
    Node,
    Properties,
    Rewrite,
    Scalar,
    WriteReport,
    interval,
    node_id,
)
from graphrag.queries import filled, named
from graphrag.stored import Row, edge_of, life_columns, node_of, search_words, time_text
from graphrag.unread import UNREAD
from graphrag.writing import (
    DENIAL,
    NameKey,
    NodeDecision,
    decide_edges,
    decide_nodes,
    edge_ids,
    fact_keys,
    node_keys,
    nodes_to_load,
    storable,
    write_report,
)

_BATCH = 10_000
_LABELS = {label.value: label for label in Label}
_TYPES = {type.value: type for type in EdgeType}
_new, _set = object.__new__, object.__setattr__
_Fact = TypeVar("_Fact", Node, Edge)
_OURS = frozenset(
    """id tenant scope name summary aliases identifiers chunks embedding type edge_type past_label source target
    name_keys search_words alias_text search_scope
    valid_from valid_to first_seen last_seen confirmations sources confidence""".split()
)
_RESERVED = _OURS | {"text"}  # stock LlamaIndex takes a node with `text` for a chunk


def read_node(node: Row, labels: Collection[str]) -> Node:
    """All but the id and the name is left unread until it is asked for."""
    read = _new(Node)
    _set(read, "id", node["id"])
    _set(read, "name", node["name"])
    _set(read, UNREAD, (_fill, node, _node_of, labels))
    return read


def read_edge(edge: Row) -> Edge:
    """All but the type and the ends is left unread until it is asked for."""
    read = _new(Edge)
    _set(read, "type", _TYPES[edge["edge_type"]])
    _set(read, "source", edge["source"])
    _set(read, "target", edge["target"])
    _set(read, UNREAD, (_fill, edge, _edge_of))
    return read


def label_of(labels: Iterable[str]) -> Label:
    return next(_LABELS[label] for label in labels if label in _LABELS)


def _fill(fact: Node | Edge, row: Row, whole_of: Callable[..., Node | Edge], *more: Any) -> None:
    whole = whole_of(row, *more)
    for name in fact.__dataclass_fields__:
        _set(fact, name, getattr(whole, name))


def _node_of(node: Row, labels: Collection[str]) -> Node:
    return node_of({"valid_to": None, **node, "label": label_of(labels)}, _unfolded(node))


def _edge_of(edge: Row) -> Edge:
    verb = edge.get("type", "")
    return edge_of({"valid_to": None, **edge, "type": edge["edge_type"], "verb": verb}, _unfolded(edge))


@lru_cache(maxsize=1_024)
def search_scope(tenant: str) -> str:
    """A tenant as one word of the full-text index, whatever its name holds."""
    return "tenant" + hashlib.blake2b(tenant.encode(), digest_size=10).hexdigest()


def name_id(tenant: str, place: NameKey) -> str:
    """The id of the `__Name__` that holds a place in the key space."""
    return node_id(tenant, place.label, place.key, place.scope)


def record_key(tenant: str, kind: str, id: str) -> str:
    return json.dumps([tenant, kind, id])


async def write_facts(tx: AsyncManagedTransaction, tenant: str, parts: Sequence[Facts]) -> WriteReport:
    """Write what one run saw within the caller's transaction."""
    run = Run(parts)
    work = _Work(tx, tenant)
    await work.run("lock_tenant")
    places = {place: name_id(tenant, place) for place in fact_keys(run)}
    owners = await work.owners(places)
    nodes = await work.nodes(run, owners)
    of_nodes = decide_nodes(tenant, run, owners, nodes)
    edges, denied = await work.edges(run, of_nodes, new={node.id for node in of_nodes.put if node.id not in nodes})
    of_edges = decide_edges(tenant, run, of_nodes, edges, denied)
    await work.close_edges(of_edges.closed)
    await work.close_nodes(of_nodes.closed)
    await work.put_nodes(of_nodes.put, nodes)
    await work.claim((places[place], owner) for place, owner in of_nodes.claimed.items())
    await work.put_edges(of_edges.put, edges)
    return write_report(of_nodes, of_edges)


async def confirm_facts(tx: AsyncManagedTransaction, tenant: str, sources: Collection[str], seen_at: datetime) -> int:
    """Within the caller's transaction: see `GraphStore.confirm`."""
    work = _Work(tx, tenant)
    await work.run("lock_tenant")
    values = {"sources": list(sources), "seen_at": time_text(seen_at), "scope": WORLD}
    return sum([*await work.run("confirm_nodes", **values), *await work.run("confirm_edges", **values)])


async def rewrite_facts(
    tx: AsyncManagedTransaction, tenant: str, ids: Collection[str], decide: Callable[[History], Rewrite]
) -> None:
    """Replace what `read_history` gives by what `decide` makes of it, within the caller's transaction."""
    work = _Work(tx, tenant)
    await work.run("lock_tenant")
    asked = sorted(set(map(storable, ids)))
    rewrite = decide(history_of(await work.run("history_nodes", ids=asked), await work.run("history_edges", ids=asked)))
    for statement in ("remove_past_edges", "remove_past_nodes", "remove_nodes", "free_names"):
        await work.run(statement, ids=asked)
    nodes, edges = rewrite.facts.nodes, rewrite.facts.edges
    current = [node for node in nodes if node.life.valid_to is None]
    await work.put_nodes(current, {})
    await work.claim(
        (name_id(tenant, NameKey(node.scope, node.label, key)), node.id) for node in current for key in node_keys(node)
    )
    await work.put_edges([edge for edge in edges if edge.life.valid_to is None], {})
    vectors = rewrite.facts.vectors
    past = (node for node in nodes if node.life.valid_to is not None)
    await work.batches(
        "create_past_nodes", "rows", ({**_past_node(node), "embedding": _floats(vectors, node)} for node in past)
    )
    await work.batches("create_past_edges", "rows", (_past_edge(edge) for edge in edges if edge.life.valid_to))
    embedded = ((node.id, _floats(vectors, node)) for node in current)
    await work.batches("set_vectors", "rows", ({"id": id, "vector": vector} for id, vector in embedded if vector))
    await work.run("forget_records", keys=[record_key(tenant, kind, id) for kind, id in rewrite.forget])
    records = (
        {"key": record_key(tenant, each.kind, each.id), "kind": each.kind, "id": each.id, "body": json.dumps(each.body)}
        for each in rewrite.records
    )
    await work.batches("put_records", "rows", ({"tenant": tenant, **row} for row in records))


def history_of(nodes: Iterable[Row], edges: Iterable[Row]) -> History:
    rows = [(read_node(row["node"], row["labels"]), row["node"].get("embedding")) for row in nodes]
    return History(
        nodes=tuple(node for node, _ in rows),
        edges=tuple(read_edge(row["edge"]) for row in edges),
        vectors={interval(node): tuple(vector) for node, vector in rows if vector is not None},
    )


class _Work:
    def __init__(self, tx: AsyncManagedTransaction, tenant: str) -> None:
        self._tx = tx
        self._tenant = tenant
        self._queries: dict[str, LiteralString] = {**named("read.cypher"), **named("write.cypher")}

    async def run(self, name: str, **values: Any) -> list[Any]:
        return await _rows(await self._tx.run(self._queries[name], {"tenant": self._tenant, **values}))

    async def batches(
        self, name: str, parameter: str, rows: Iterable[Any], shared: Sequence[Row] = (), **fill: str
    ) -> list[Any]:
        """Run a query over rows, a bounded number at a time; nothing is sent for no rows. `shared`: what several rows
        have in common and name by its number."""
        query = filled(self._queries[name], **fill) if fill else self._queries[name]
        everything = list(rows)
        found: list[Any] = []
        for start in range(0, len(everything), _BATCH):
            batch = {"tenant": self._tenant, "shared": shared, parameter: everything[start : start + _BATCH]}
            found += await _rows(await self._tx.run(query, batch))
        return found

    async def owners(self, places: Mapping[NameKey, str]) -> dict[NameKey, str]:
        """Who holds each of these places, which come with their ids."""
        held: dict[str, str] = dict(await self.batches("owners", "ids", places.values()))
        return {place: held[id] for place, id in places.items() if id in held}

    async def nodes(self, run: Run, owners: Mapping[NameKey, str]) -> dict[str, Node]:
        rows = await self.batches("nodes_known", "ids", nodes_to_load(run, owners))
        if run.complete:
            rows += await self.run("nodes_of_sources", sources=list(run.complete))
        return {node.id: node for node in (read_node(row["node"], row["labels"]) for row in rows)}

    async def edges(self, run: Run, nodes: NodeDecision, new: set[str]) -> tuple[dict[str, Edge], set[str]]:
        """What `decide_edges` needs to know. An edge to a node that is new cannot be there yet."""
        wanted = edge_ids(run, nodes).items()
        old = ((type, {"id": id, "source": a, "target": b}) for id, (type, a, b) in wanted if new.isdisjoint((a, b)))
        rows: list[dict[str, Any]] = []
        for type, of_type in _by_name(old).items():
            rows += await self.batches("edges_known", "rows", of_type, __TYPE__=type)
        rows += await self.batches("edges_of_nodes", "ids", (node.id for node in nodes.closed))
        if run.complete:
            rows += await self.run("edges_of_sources", sources=list(run.complete))
        denials = {row["id"] for row in await self.run("records", kind=DENIAL)}
        return {edge.id: edge for edge in (read_edge(row["edge"]) for row in rows)}, denials

    async def close_edges(self, edges: Iterable[Edge]) -> None:
        rows = ((edge.type, {**_ends_of(edge), "past": _past_edge(edge)}) for edge in edges)
        for type, of_type in _by_name(rows).items():
            await self.batches("close_edges", "rows", of_type, __TYPE__=type)

    async def close_nodes(self, nodes: Collection[Node]) -> None:
        await self.batches("close_nodes", "rows", ({"id": node.id, "past": _past_node(node)} for node in nodes))
        await self.batches("free_names", "ids", (node.id for node in nodes))

    async def put_nodes(self, nodes: Collection[Node], known: Collection[str]) -> None:
        shared = _Shared(_shared_by_nodes)
        new = (
            (node.label, {"own": _own_of_node(node), "shared": shared.number(node)})
            for node in nodes
            if node.id not in known
        )
        for label, of_label in _by_name(new).items():
            await self.batches("create_nodes", "rows", of_label, shared.columns, __LABEL__=label)
        old = ({"id": node.id, "properties": _node_columns(node)} for node in nodes if node.id in known)
        await self.batches("update_nodes", "rows", old)

    async def claim(self, names: Iterable[tuple[str, str]]) -> None:
        await self.batches("claim_names", "rows", names)

    async def put_edges(self, edges: Collection[Edge], known: Collection[str]) -> None:
        shared = _Shared(_shared_by_edges)
        new: list[tuple[EdgeType, Row]] = []
        old: list[tuple[EdgeType, Row]] = []
        for edge in edges:
            id = edge.id
            if id in known:
                old.append((edge.type, {**_ends_of(edge), "properties": _edge_columns(edge)}))
            else:
                row = {"source": edge.source, "target": edge.target, "own": _own_of_edge(edge, id)}
                new.append((edge.type, {**row, "shared": shared.number(edge)}))
        for statement, chosen in (("create_edges", new), ("update_edges", old)):
            for type, of_type in _by_name(chosen).items():
                await self.batches(statement, "rows", of_type, shared.columns, __TYPE__=type)


async def _rows(result: AsyncResult) -> list[Any]:
    """What a query collected as `rows`; nothing, of one that only writes."""
    record = await result.single()
    return [] if record is None else record.get("rows", [])


def _by_name(rows: Iterable[tuple[Label | EdgeType, Row]]) -> dict[str, list[Row]]:
    """Rows by the name of their label or type, each of which needs a query text of its own."""
    groups: dict[str, list[Row]] = {}
    for name, row in rows:
        groups.setdefault(name.value, []).append(row)
    return groups


def _ends_of(edge: Edge) -> dict[str, Any]:
    return {"id": edge.id, "source": edge.source, "target": edge.target}


class _Shared(Generic[_Fact]):
    """The columns that many facts of a run have in common, each different set of them once, by number."""

    def __init__(self, columns_of: Callable[[_Fact], Row]) -> None:
        self.columns: list[Row] = []
        self._columns_of = columns_of
        self._numbers: dict[tuple[str, Life], int] = {}

    def number(self, fact: _Fact) -> int:
        found = self._numbers.setdefault((fact.scope, fact.life), len(self.columns))
        if found == len(self.columns):
            self.columns.append(self._columns_of(fact))
        return found


def _node_columns(node: Node) -> dict[str, Any]:
    return {**_own_of_node(node), **_shared_by_nodes(node)}


def _own_of_node(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "name": node.name,
        "summary": node.summary,
        "aliases": list(node.aliases),
        "identifiers": list(node.identifiers),
        "chunks": list(node.chunks),
        "alias_text": " ".join(node.aliases),
        "name_keys": node_keys(node),
        "search_words": search_words(node),
        **folded(node.properties),
    }


def _shared_by_nodes(node: Node) -> dict[str, Any]:
    return {
        "tenant": node.tenant,
        "scope": node.scope,
        "search_scope": search_scope(node.tenant),
        **life_columns(node.life),
    }


def _edge_columns(edge: Edge) -> dict[str, Any]:
    return {**_own_of_edge(edge, edge.id), **_shared_by_edges(edge)}


def _own_of_edge(edge: Edge, id: str) -> dict[str, Any]:
    return {
        "id": id,
        "summary": edge.summary,
        "chunks": list(edge.chunks),
        **({"type": edge.verb} if edge.verb else {}),
        **folded(edge.properties),
    }


def _shared_by_edges(edge: Edge) -> dict[str, Any]:
    return {"tenant": edge.tenant, "scope": edge.scope, **life_columns(edge.life)}


def _past_node(node: Node) -> dict[str, Any]:
    return {**_node_columns(node), "past_label": node.label.value}


def _past_edge(edge: Edge) -> dict[str, Any]:
    ends = {"edge_type": edge.type.value, "source": edge.source, "target": edge.target}
    return {**_edge_columns(edge), **ends}


def _floats(vectors: Mapping[str, tuple[float, ...]], node: Node) -> list[float] | None:
    vector = vectors.get(interval(node))
    return None if vector is None else list(vector)


def folded(properties: Properties) -> dict[str, Scalar | list[str]]:
    """Properties under the names that they have in Neo4j."""
    return {
        f"{key}_" if key.rstrip("_") in _RESERVED else key: list(value) if isinstance(value, tuple) else value
        for key, value in properties.items()
    }


def _unfolded(stored: Row) -> dict[str, Any]:
    return {
        key[:-1] if key.rstrip("_") in _RESERVED else key: value for key, value in stored.items() if key not in _OURS
    }
