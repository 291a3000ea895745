"""Facts in the Neo4j layout: nodes and relations to and from parameters, and carrying out a write's decisions.

A property of an entity is a property of its Neo4j node, under its own name, so that stock readers see it. A name that
the layout uses itself gets a `_` at its end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any, LiteralString

from neo4j import AsyncManagedTransaction

from graphrag.identity import name_key
from graphrag.model import Edge, Facts, Label, Node, Properties, Scalar, WriteReport, node_id
from graphrag.queries import named
from graphrag.stored import Row, edge_of, life_columns, node_of, search_words
from graphrag.writing import (
    EdgeDecision,
    EdgeKey,
    NameKey,
    NodeDecision,
    decide_edges,
    decide_nodes,
    edge_key,
    edge_keys,
    fact_keys,
)

_BATCH = 2_000
_LABELS = frozenset(Label)
_OURS = frozenset(
    """id tenant name summary aliases embedding type source target name_keys search_words alias_text search_scope
    valid_from valid_to first_seen last_seen confirmations sources confidence""".split()
)
_RESERVED = _OURS | {"text"}  # stock LlamaIndex takes a node with `text` for a chunk


def read_node(node: Row, labels: Collection[str]) -> Node:
    label = next(label for label in labels if label in _LABELS)
    return node_of({**node, "label": label}, _unfolded(node), node["aliases"], node["sources"])


def read_edge(edge: Row) -> Edge:
    return edge_of(edge, _unfolded(edge), edge["sources"])


def search_scope(tenant: str) -> str:
    """A tenant as one word of the full-text index, whatever its name holds."""
    return "tenant" + hashlib.blake2b(tenant.encode(), digest_size=10).hexdigest()


def name_rows(tenant: str, names: Iterable[NameKey]) -> list[dict[str, str]]:
    return [{"id": node_id(tenant, label, key), "label": label.value, "key": key} for label, key in names]


async def write_facts(tx: AsyncManagedTransaction, tenant: str, facts: Facts) -> WriteReport:
    """Write one run of one source within the caller's transaction."""
    work = _Work(tx, tenant)
    await work.run("lock_tenant")
    owners = await work.owners(facts)
    nodes = await work.nodes(facts, owners)
    of_nodes = decide_nodes(tenant, facts, owners, nodes)
    of_edges = decide_edges(tenant, facts, of_nodes, await work.edges(facts, of_nodes))
    await work.close(of_nodes, of_edges)
    await work.put(of_nodes, of_edges)
    return WriteReport(
        added=of_nodes.added + of_edges.added,
        confirmed=of_nodes.confirmed + of_edges.confirmed,
        closed=len(of_nodes.closed) + len(of_edges.closed),
        dangling=of_edges.dangling,
    )


class _Work:
    def __init__(self, tx: AsyncManagedTransaction, tenant: str) -> None:
        self._tx = tx
        self._tenant = tenant
        self._queries: dict[str, LiteralString] = {**named("read.cypher"), **named("write.cypher")}

    async def run(self, name: str, **values: Any) -> list[dict[str, Any]]:
        result = await self._tx.run(self._queries[name], {"tenant": self._tenant, **values})
        return await result.data()

    async def batches(self, name: str, parameter: str, rows: Iterable[Any]) -> list[dict[str, Any]]:
        """Run a query over rows, a bounded number at a time; nothing is sent for no rows."""
        everything = list(rows)
        found: list[dict[str, Any]] = []
        for start in range(0, len(everything), _BATCH):
            found += await self.run(name, **{parameter: everything[start : start + _BATCH]})
        return found

    async def owners(self, facts: Facts) -> dict[NameKey, str]:
        rows = await self.batches("owners", "names", name_rows(self._tenant, sorted(fact_keys(facts))))
        return {(Label(row["label"]), row["key"]): row["owner"] for row in rows}

    async def nodes(self, facts: Facts, owners: Mapping[NameKey, str]) -> dict[str, Node]:
        rows = await self.batches("nodes", "ids", set(owners.values()))
        if facts.complete:
            rows += await self.run("nodes_of_source", source=facts.source)
        return {node.id: node for node in (read_node(row["node"], row["labels"]) for row in rows)}

    async def edges(self, facts: Facts, nodes: NodeDecision) -> dict[EdgeKey, Edge]:
        rows = await self.batches("edges_by_key", "rows", map(_key_row, edge_keys(facts, nodes)))
        rows += await self.batches("edges_of_nodes", "ids", (node.id for node in nodes.closed))
        if facts.complete:
            rows += await self.run("edges_of_source", source=facts.source)
        return {edge_key(edge): edge for edge in (read_edge(row["edge"]) for row in rows)}

    async def close(self, nodes: NodeDecision, edges: EdgeDecision) -> None:
        await self.batches(
            "close_edges",
            "rows",
            ({**_key_row(edge_key(edge)), "past": _past(edge, " ".join(edge_key(edge)))} for edge in edges.closed),
        )
        await self.batches(
            "close_nodes", "rows", ({"id": node.id, "past": _past(node, node.id)} for node in nodes.closed)
        )
        await self.batches("free_names", "ids", (node.id for node in nodes.closed))

    async def put(self, nodes: NodeDecision, edges: EdgeDecision) -> None:
        await self.batches("put_nodes", "rows", map(_node_row, nodes.put))
        await self.batches(
            "claim_names",
            "rows",
            (
                {"id": node_id(self._tenant, *name), "tenant": self._tenant, "owner": owner}
                for name, owner in nodes.claimed.items()
            ),
        )
        await self.batches(
            "put_edges", "rows", ({**_key_row(edge_key(edge)), "properties": _edge_columns(edge)} for edge in edges.put)
        )


def _key_row(key: EdgeKey) -> dict[str, str]:
    return {"type": key[0].value, "source": key[1], "target": key[2]}


def _node_row(node: Node) -> dict[str, Any]:
    return {"id": node.id, "label": node.label.value, "properties": _node_columns(node)}


def _node_columns(node: Node) -> dict[str, Any]:
    return {
        "tenant": node.tenant,
        "name": node.name,
        "summary": node.summary,
        "aliases": list(node.aliases),
        "alias_text": " ".join(node.aliases),
        "name_keys": [name_key(name) for name in (node.name, *node.aliases)],
        "search_words": search_words(node),
        "search_scope": search_scope(node.tenant),
        **life_columns(node.life),
        **_folded(node.properties),
    }


def _edge_columns(edge: Edge) -> dict[str, Any]:
    return {
        "tenant": edge.tenant,
        "summary": edge.summary,
        **life_columns(edge.life),
        **_folded(edge.properties),
    }


def _past(fact: Node | Edge, name: str) -> dict[str, Any]:
    columns = _node_columns(fact) if isinstance(fact, Node) else _edge_columns(fact)
    return {
        "tenant": fact.tenant,
        "fact": name,
        "valid_from": columns["valid_from"],
        "valid_to": columns["valid_to"],
        "body": json.dumps(columns),
    }


def _folded(properties: Properties) -> dict[str, Scalar | list[str]]:
    return {
        f"{key}_" if key.rstrip("_") in _RESERVED else key: list(value) if isinstance(value, tuple) else value
        for key, value in properties.items()
    }


def _unfolded(stored: Row) -> dict[str, Any]:
    return {
        key[:-1] if key.rstrip("_") in _RESERVED else key: value for key, value in stored.items() if key not in _OURS
    }
