"""Rows of the SQLite layout as the facts they keep."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from graphrag.model import Edge, EdgeType, Label, Life, Node, PropertyValue
from graphrag.stored import properties_of

NODE_COLUMNS = (
    *("id", "tenant", "scope", "label", "name", "summary", "aliases", "identifiers", "properties", "chunks"),
    *("valid_from", "valid_to", "first_seen", "last_seen", "confirmations", "sources", "confidence"),
)
EDGE_COLUMNS = (
    *("tenant", "scope", "type", "verb", "source", "target", "summary", "properties", "chunks"),
    *("valid_from", "valid_to", "first_seen", "last_seen", "confirmations", "sources", "confidence"),
)
LABELS = {label.value: label for label in Label}
_TYPES = {type.value: type for type in EdgeType}
_NODE_WIDTH, _EDGE_WIDTH = len(NODE_COLUMNS), len(EDGE_COLUMNS)
_NODE_PROPERTIES, _EDGE_PROPERTIES = NODE_COLUMNS.index("properties"), EDGE_COLUMNS.index("properties")
_ALIASES = NODE_COLUMNS.index("aliases")
Row = Sequence[Any]


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


def as_json(values: Iterable[Any]) -> str:
    return json.dumps(list(values))
