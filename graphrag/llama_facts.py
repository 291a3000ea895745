"""Our facts as LlamaIndex's nodes and relations, and back. Importing this imports LlamaIndex: do it late."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, cast

from llama_index.core.graph_stores.types import EntityNode, LabelledNode, Relation, Triplet

from graphrag.model import ENDS, Edge, EdgeFact, EdgeType, Label, Node, NodeFact, PropertyValue, Ref
from graphrag.stored import life_columns

_LABELS = {label.value: label for label in Label}
_TYPES = {type.value: type for type in EdgeType}
_LIFE = {"valid_from", "valid_to", "first_seen", "last_seen", "confirmations", "sources", "confidence"}
_OF_A_NODE = _LIFE | {"id", "tenant", "name", "summary", "aliases", "identifiers"}
_OF_AN_EDGE = _LIFE | {"id", "summary", "verb"}


def triplets_of(edges: Iterable[Edge], nodes: Mapping[str, Node]) -> list[Triplet]:
    triplets: list[Triplet] = []
    for edge in edges:
        if edge.source in nodes and edge.target in nodes:
            source, target = entity_of(nodes[edge.source]), entity_of(nodes[edge.target])
            relation = Relation(label=edge.type.value, source_id=source.id, target_id=target.id, properties=shown(edge))
            triplets.append((source, relation, target))
    return triplets


def entity_of(node: Node) -> EntityNode:
    return EntityNode(name=node.name, label=node.label.value, properties=shown(node))


def shown(fact: Node | Edge) -> dict[str, Any]:
    """What is known of a fact, as flat properties without empty ones."""
    own: dict[str, Any] = {"id": fact.id, "summary": fact.summary, **life_columns(fact.life)}
    if isinstance(fact, Node):
        own |= {
            "tenant": fact.tenant,
            "name": fact.name,
            "aliases": list(fact.aliases),
            "identifiers": list(fact.identifiers),
        }
    else:
        own |= {"verb": fact.verb}
    told = {key: list(value) if isinstance(value, tuple) else value for key, value in fact.properties.items()}
    return {key: value for key, value in (told | own).items() if value not in (None, "", [])}


def node_fact(node: LabelledNode) -> NodeFact:
    if not isinstance(node, EntityNode):
        raise ValueError("Only an EntityNode can be written here; texts come in by `incident-graph ingest DIR`.")
    if node.label not in _LABELS:
        raise ValueError(f"{node.name!r} has the label {node.label!r}; there are {', '.join(Label)}.")
    told = node.properties
    return NodeFact(
        label=_LABELS[node.label],
        name=node.name,
        summary=str(told.get("summary") or ""),
        aliases=_texts("aliases", told.get("aliases", ())),
        properties=_properties(told, without=_OF_A_NODE),
        confidence=float(told.get("confidence", 1.0)),
        identifiers=_texts("identifiers", told.get("identifiers", ())),
    )


def edge_fact(relation: Relation, named: Mapping[str, Sequence[Node]]) -> EdgeFact:
    if relation.label not in _TYPES:
        raise ValueError(
            f"There is no relation {relation.label!r}. There are {', '.join(EdgeType)}; a RELATION says in its "
            "property `verb` what no other type does."
        )
    type, told = _TYPES[relation.label], relation.properties
    sources, targets = ENDS[type]
    return EdgeFact(
        type=type,
        source=_end(relation.source_id, sources, named, type),
        target=_end(relation.target_id, targets, named, type),
        summary=str(told.get("summary") or ""),
        properties=_properties(told, without=_OF_AN_EDGE),
        confidence=float(told.get("confidence", 1.0)),
        verb=str(told.get("verb") or ""),
    )


def _end(asked: str, labels: Collection[Label], named: Mapping[str, Sequence[Node]], type: EdgeType) -> Ref:
    fitting = [node for node in named[asked] if node.label in labels]
    if len(fitting) == 1:
        return Ref(fitting[0].label, fitting[0].name)
    if fitting:
        choices = ", ".join(f"{node.label} {node.id}" for node in fitting)
        raise ValueError(f"Several nodes are named {asked!r}; give one's id instead: {choices}.")
    raise ValueError(
        f"No node {asked!r} can be an end of {type}, which takes {' or '.join(sorted(labels))}. Write the node first."
    )


def _properties(told: Mapping[str, Any], *, without: Collection[str]) -> dict[str, PropertyValue]:
    return {key: _property(key, value) for key, value in told.items() if key not in without and value is not None}


def _property(key: str, value: object) -> PropertyValue:
    return value if isinstance(value, str | int | float | bool) else _texts(key, value)


def _texts(key: str, value: object) -> tuple[str, ...]:
    items = tuple(cast("Sequence[object]", value)) if isinstance(value, list | tuple) else (value,)
    texts = tuple(item for item in items if isinstance(item, str))
    if len(texts) != len(items):
        raise ValueError(f"The property {key!r} must be text, a number, true or false, or a list of texts.")
    return texts
