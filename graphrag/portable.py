"""Facts as plain JSON values and back, without loss: for exports and for what a merge must be able to restore."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from graphrag.model import Edge, EdgeType, History, Label, Life, Node, PropertyValue
from graphrag.stored import life_columns, properties_of


def node_json(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "tenant": node.tenant,
        "scope": node.scope,
        "label": node.label.value,
        "name": node.name,
        "aliases": list(node.aliases),
        "identifiers": list(node.identifiers),
        "summary": node.summary,
        "properties": _properties_json(node.properties),
        "chunks": list(node.chunks),
        "life": life_json(node.life),
    }


def edge_json(edge: Edge) -> dict[str, Any]:
    return {
        "id": edge.id,
        "tenant": edge.tenant,
        "scope": edge.scope,
        "type": edge.type.value,
        "verb": edge.verb,
        "source": edge.source,
        "target": edge.target,
        "summary": edge.summary,
        "properties": _properties_json(edge.properties),
        "chunks": list(edge.chunks),
        "life": life_json(edge.life),
    }


def life_json(life: Life) -> dict[str, Any]:
    """Times as ISO 8601 text in UTC."""
    return life_columns(life)


def history_json(history: History) -> dict[str, Any]:
    return {
        "nodes": [node_json(node) for node in history.nodes],
        "edges": [edge_json(edge) for edge in history.edges],
        "vectors": {key: list(vector) for key, vector in history.vectors.items()},
    }


def node_from(value: Mapping[str, Any]) -> Node:
    return Node(
        id=value["id"],
        tenant=value["tenant"],
        label=Label(value["label"]),
        name=value["name"],
        life=_life_from(value["life"]),
        summary=value["summary"],
        aliases=tuple(value["aliases"]),
        properties=properties_of(value["properties"]),
        scope=value["scope"],
        identifiers=tuple(value["identifiers"]),
        chunks=tuple(value["chunks"]),
    )


def edge_from(value: Mapping[str, Any]) -> Edge:
    return Edge(
        tenant=value["tenant"],
        type=EdgeType(value["type"]),
        source=value["source"],
        target=value["target"],
        life=_life_from(value["life"]),
        summary=value["summary"],
        properties=properties_of(value["properties"]),
        verb=value["verb"],
        scope=value["scope"],
        chunks=tuple(value["chunks"]),
    )


def history_from(value: Mapping[str, Any]) -> History:
    return History(
        nodes=tuple(map(node_from, value["nodes"])),
        edges=tuple(map(edge_from, value["edges"])),
        vectors={key: tuple(vector) for key, vector in value["vectors"].items()},
    )


def _life_from(value: Mapping[str, Any]) -> Life:
    return Life(
        valid_from=datetime.fromisoformat(value["valid_from"]),
        valid_to=None if value["valid_to"] is None else datetime.fromisoformat(value["valid_to"]),
        first_seen=datetime.fromisoformat(value["first_seen"]),
        last_seen=datetime.fromisoformat(value["last_seen"]),
        confirmations=value["confirmations"],
        sources=tuple(value["sources"]),
        confidence=value["confidence"],
    )


def _properties_json(properties: Mapping[str, PropertyValue]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in properties.items()}
