"""The whole graph of a tenant as a file: JSON with everything, GraphML for drawing programs."""

from __future__ import annotations

import json
import re
from typing import Any

from graphrag.model import History, PropertyValue
from graphrag.portable import edge_json, node_json

FORMAT = 1
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 (2.2, Char) does not allow in any form."""


def as_json(history: History) -> str:
    """Every fact of every scope, closed ones too, in an order that depends on the facts alone."""
    nodes, edges = map(node_json, history.nodes), map(edge_json, history.edges)
    whole = {"format": FORMAT, "nodes": sorted(nodes, key=_order), "edges": sorted(edges, key=_order)}
    return json.dumps(whole, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def as_graphml(history: History) -> str:
    """The current facts. Lists become text with commas, and characters that XML cannot hold become U+FFFD."""
    import networkx  # here, as it takes a third of a second and only exports need it

    library: Any = networkx
    graph = library.MultiDiGraph()
    for node in sorted(history.nodes, key=lambda node: node.id):
        if node.life.valid_to is None:
            fields = {**node.properties, "label": node.label.value, "name": node.name, "summary": node.summary}
            graph.add_node(node.id, **_flat({**fields, "aliases": node.aliases, "scope": node.scope}))
    for edge in sorted(history.edges, key=lambda edge: edge.id):
        if edge.life.valid_to is None:
            fields = {**edge.properties, "type": edge.type.value, "verb": edge.verb, "summary": edge.summary}
            more = {"confirmations": edge.life.confirmations, "scope": edge.scope}
            graph.add_edge(edge.source, edge.target, key=edge.id, **_flat({**fields, **more}))
    return "\n".join(library.generate_graphml(graph)) + "\n"


def _order(fact: dict[str, Any]) -> tuple[str, str, str]:
    return fact["id"], fact["life"]["valid_from"], fact["life"]["valid_to"] or ""


def _flat(fields: dict[str, PropertyValue]) -> dict[str, str | int | float | bool]:
    return {_legal(key): _scalar(value) for key, value in fields.items()}


def _scalar(value: PropertyValue) -> str | int | float | bool:
    if isinstance(value, tuple):
        return _legal(", ".join(value))
    return _legal(value) if isinstance(value, str) else value


def _legal(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
