"""Rows of the SQLite layout as the facts they keep, and facts as such rows."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from graphrag.model import Edge, EdgeType, Label, Life, Node, PropertyValue
from graphrag.stored import life_columns, life_of, properties_of
from graphrag.unread import UNREAD
from graphrag.writing import node_keys

NODE_COLUMNS = ("id", "name", "label", "holds", "told")
EDGE_COLUMNS = ("type", "source", "target", "verb", "confirmations", "holds", "told")
_LIFE = ("valid_from", "valid_to", "first_seen", "last_seen", "confirmations", "sources", "confidence")
LABELS = {label.value: label for label in Label}
_TYPES = {type.value: type for type in EdgeType}
Row = Sequence[Any]
_new, _set = object.__new__, object.__setattr__


def read_nodes(rows: Iterable[Row], tenant: str) -> list[Node]:
    """From rows that begin with `NODE_COLUMNS`: what was told of a node is left unread until it is asked for."""
    nodes: list[Node] = []
    for row in rows:
        node = _new(Node)
        _set(node, "id", row[0])
        _set(node, "name", row[1])
        _set(node, UNREAD, (_read_node, tenant, row))
        nodes.append(node)
    return nodes


def read_edges(rows: Iterable[Row], tenant: str) -> list[Edge]:
    """From rows that begin with `EDGE_COLUMNS`: what was told of an edge is left unread until it is asked for."""
    edges: list[Edge] = []
    for row in rows:
        edge = _new(Edge)
        _set(edge, "type", _TYPES[row[0]])
        _set(edge, "source", row[1])
        _set(edge, "target", row[2])
        _set(edge, UNREAD, (_read_edge, tenant, row))
        edges.append(edge)
    return edges


def read_node(row: Row, tenant: str) -> Node:
    return read_nodes([row], tenant)[0]


def read_edge(row: Row, tenant: str) -> Edge:
    return read_edges([row], tenant)[0]


def node_columns(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "tenant": node.tenant,
        "label": node.label,
        "name": node.name,
        "name_keys": as_json(node_keys(node)),
        "scope": node.scope,
        "holds": _holds(node),
        "told": told(node.summary, node.properties, node.chunks, node.aliases, node.identifiers),
    }


def edge_columns(edge: Edge) -> dict[str, Any]:
    return {
        "id": edge.id,
        "tenant": edge.tenant,
        "type": edge.type,
        "source": edge.source,
        "target": edge.target,
        "verb": edge.verb,
        "scope": edge.scope,
        "holds": _holds(edge),
        "told": told(edge.summary, edge.properties, edge.chunks),
    }


def told(summary: str, properties: Mapping[str, object], *lists: Collection[str]) -> str:
    return as_json([summary, {key: _finite(value) for key, value in properties.items()}, *lists])


def as_json(values: Iterable[Any]) -> str:
    return json.dumps(list(values))


def _finite(value: object) -> object:
    """JSON has no other numbers."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _holds(fact: Node | Edge) -> str:
    return _held(fact.scope, fact.life)


@lru_cache(maxsize=1_000)
def _held(scope: str, life: Life) -> str:
    columns = life_columns(life)
    return as_json([scope, *(columns[name] for name in _LIFE)])


def _read_node(node: Node, tenant: str, row: Row) -> None:
    scope, life = _life(row[3])
    summary, properties, chunks, aliases, identifiers = json.loads(row[4])
    _set(node, "tenant", tenant)
    _set(node, "label", LABELS[row[2]])
    _set(node, "life", life)
    _set(node, "summary", summary)
    _set(node, "aliases", tuple(aliases))
    _set(node, "properties", _properties(properties))
    _set(node, "scope", scope)
    _set(node, "identifiers", tuple(identifiers))
    _set(node, "chunks", tuple(chunks))


def _read_edge(edge: Edge, tenant: str, row: Row) -> None:
    scope, life = _life(row[5])
    summary, properties, chunks = json.loads(row[6])
    _set(edge, "tenant", tenant)
    _set(edge, "life", life)
    _set(edge, "summary", summary)
    _set(edge, "properties", _properties(properties))
    _set(edge, "verb", row[3])
    _set(edge, "scope", scope)
    _set(edge, "chunks", tuple(chunks))


def _properties(stored: dict[str, Any]) -> dict[str, PropertyValue]:
    return properties_of(stored) if any(type(value) is list for value in stored.values()) else stored


@lru_cache(maxsize=10_000)
def _life(holds: str) -> tuple[str, Life]:
    """The scope and the life: what one run wrote has the same, so most are known already."""
    scope, *values = json.loads(holds)
    columns: dict[str, Any] = dict(zip(_LIFE, values, strict=True))
    return scope, life_of(columns, columns["sources"])
