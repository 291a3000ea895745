"""Rows of the SQLite layout as the facts they keep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache, partial
from typing import Any

from graphrag.model import Edge, EdgeType, Label, Life, Node, PropertyValue
from graphrag.stored import properties_of
from graphrag.unread import leave_unread

NODE_COLUMNS = (
    *("id", "tenant", "scope", "label", "name", "summary", "aliases", "identifiers", "properties", "chunks"),
    *("valid_from", "valid_to", "first_seen", "last_seen", "confirmations", "sources", "confidence"),
)
EDGE_COLUMNS = (
    *("tenant", "scope", "type", "verb", "source", "target", "summary", "properties", "chunks"),
    *("valid_from", "valid_to", "first_seen", "last_seen", "confirmations", "sources", "confidence"),
)
CURRENT_NODE_COLUMNS = (
    *("id", "name", "label", "summary", "aliases", "identifiers", "properties", "chunks"),
    *("valid_from", "first_seen", "last_seen", "confirmations", "sources", "confidence"),
)
CURRENT_EDGE_COLUMNS = (
    *("type", "source", "target", "verb", "summary", "properties", "chunks"),
    *("valid_from", "first_seen", "last_seen", "confirmations", "sources", "confidence"),
)
"""What is not known already of a current fact of one tenant and scope."""
LABELS = {label.value: label for label in Label}
_TYPES = {type.value: type for type in EdgeType}
_NODE_WIDTH, _EDGE_WIDTH = len(NODE_COLUMNS), len(EDGE_COLUMNS)
_NODE_PROPERTIES, _EDGE_PROPERTIES = NODE_COLUMNS.index("properties"), EDGE_COLUMNS.index("properties")
_ALIASES = NODE_COLUMNS.index("aliases")
Row = Sequence[Any]
_new, _set = object.__new__, object.__setattr__


def read_nodes(rows: Iterable[Row]) -> list[Node]:
    """From rows that begin with `NODE_COLUMNS`. By place: by name each column would be looked for."""
    told = [row[:_NODE_WIDTH] for row in rows]
    aliases = _parsed([row[_ALIASES] for row in told])
    properties = _properties([row[_NODE_PROPERTIES] for row in told])
    return [
        Node(
            id,
            tenant,
            LABELS[label],
            name,
            _life(*life),
            summary,
            tuple(names),
            read,
            scope,
            _list(identifiers),
            _list(chunks),
        )
        for (id, tenant, scope, label, name, summary, _, identifiers, _, chunks, *life), names, read in zip(
            told, aliases, properties, strict=True
        )
    ]


def read_edges(rows: Iterable[Row]) -> list[Edge]:
    """From rows that begin with `EDGE_COLUMNS`."""
    told = [row[:_EDGE_WIDTH] for row in rows]
    properties = _properties([row[_EDGE_PROPERTIES] for row in told])
    return [
        Edge(tenant, _TYPES[type], source, target, _life(*life), summary, read, verb, scope, _list(chunks))
        for (tenant, scope, type, verb, source, target, summary, _, chunks, *life), read in zip(
            told, properties, strict=True
        )
    ]


def read_node(row: Row) -> Node:
    return read_nodes([row])[0]


def read_edge(row: Row) -> Edge:
    return read_edges([row])[0]


def nodes_by_name(rows: Iterable[Row], tenant: str, scope: str) -> list[Node]:
    """From rows of `CURRENT_NODE_COLUMNS`. Each is taken apart no further than its id and name until more is asked for:
    of what a walk meets, most is only looked at by its name."""
    rest = partial(_rest_of_node, tenant, scope)
    nodes: list[Node] = []
    for row in rows:
        node = _new(Node)
        _set(node, "id", row[0])
        _set(node, "name", row[1])
        leave_unread(node, rest, row)
        nodes.append(node)
    return nodes


def edges_by_ends(rows: Iterable[Row], tenant: str, scope: str) -> list[Edge]:
    """From rows of `CURRENT_EDGE_COLUMNS`, each taken apart no further than what it joins until more is asked for."""
    rest = partial(_rest_of_edge, tenant, scope)
    edges: list[Edge] = []
    for row in rows:
        edge = _new(Edge)
        _set(edge, "type", _TYPES[row[0]])
        _set(edge, "source", row[1])
        _set(edge, "target", row[2])
        _set(edge, "verb", row[3])
        leave_unread(edge, rest, row)
        edges.append(edge)
    return edges


def _rest_of_node(tenant: str, scope: str, row: Row) -> dict[str, Any]:
    _, _, label, summary, aliases, identifiers, properties, chunks, *life = row
    return {
        "tenant": tenant,
        "label": LABELS[label],
        "life": _current_life(*life),
        "summary": summary,
        "aliases": _list(aliases),
        "properties": properties_of(json.loads(properties)),
        "scope": scope,
        "identifiers": _list(identifiers),
        "chunks": _list(chunks),
    }


def _rest_of_edge(tenant: str, scope: str, row: Row) -> dict[str, Any]:
    _, _, _, _, summary, properties, chunks, *life = row
    return {
        "tenant": tenant,
        "life": _current_life(*life),
        "summary": summary,
        "properties": properties_of(json.loads(properties)),
        "scope": scope,
        "chunks": _list(chunks),
    }


def _properties(texts: Sequence[str]) -> list[Mapping[str, PropertyValue]]:
    return [properties_of(each) if "[" in text else each for each, text in zip(_parsed(texts), texts, strict=True)]


def _parsed(texts: Sequence[str]) -> list[Any]:
    """JSON, all at once: for values as small as these most of the time would go into the calls."""
    return json.loads(f"[{','.join(texts)}]")


def _list(text: str) -> tuple[str, ...]:
    return () if text == "[]" else tuple(json.loads(text))


@lru_cache(maxsize=10_000)
def _life(
    valid_from: str,
    valid_to: str | None,
    first_seen: str,
    last_seen: str,
    confirmations: int,
    sources: str,
    confidence: float,
) -> Life:
    """What one run wrote has one life, so most are known already."""
    return Life(
        valid_from=datetime.fromisoformat(valid_from),
        valid_to=None if valid_to is None else datetime.fromisoformat(valid_to),
        first_seen=datetime.fromisoformat(first_seen),
        last_seen=datetime.fromisoformat(last_seen),
        confirmations=confirmations,
        sources=_list(sources),
        confidence=confidence,
    )


def _current_life(
    valid_from: str, first_seen: str, last_seen: str, confirmations: int, sources: str, confidence: float
) -> Life:
    return _life(valid_from, None, first_seen, last_seen, confirmations, sources, confidence)


def as_json(values: Iterable[Any]) -> str:
    return json.dumps(list(values))
