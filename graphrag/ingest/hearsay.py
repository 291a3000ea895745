"""What prose may not settle. A sentence in a wiki is evidence, never authority: where files state who needs whom and
who owns what, what a page says of it is kept as something that was said. It then enters no blast radius and pages
nobody, but whoever reads about the service sees it. Where nothing is stated, prose is the best there is and counts.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace

from graphrag.identity import name_key
from graphrag.ingest.sources.found import Found
from graphrag.model import EdgeFact, EdgeType, EntityKind, Label, NodeFact, Ref

_SAID = {EdgeType.DEPENDS_ON: "is said to depend on", EdgeType.OWNED_BY: "is said to be owned by"}


def settled(nodes: Iterable[NodeFact], edges: Iterable[EdgeFact]) -> tuple[str, ...]:
    """What stated facts settle, as `TYPE key-of-a-service`. Who lists the suppliers of some services lists those of
    all that are defined with them: of one without any it says that there are none. Owners likewise."""
    keys = {name_key(fact.name) for fact in nodes if fact.label is Label.SERVICE}
    listed = {edge.type for edge in edges if edge.type in _SAID}
    return tuple(sorted(_settling(type, key) for type in listed for key in keys))


def as_said(found: Found, services: Mapping[str, str], stated: Container[str]) -> Found:
    """What a page says, with what it may not settle made hearsay. `services`: the key of each defined name; where
    there are any, a name that only prose knows becomes no service. `stated`: of `settled`."""
    unknown = {
        name_key(fact.name)
        for fact in found.nodes
        if services and fact.label is Label.SERVICE and name_key(fact.name) not in services
    }
    nodes = [_thing(fact) if _is_unknown(Ref(fact.label, fact.name), unknown) else fact for fact in found.nodes]
    return replace(found, nodes=nodes, edges=[_edge(edge, unknown, stated) for edge in found.edges])


def _thing(fact: NodeFact) -> NodeFact:
    properties = {**fact.properties, "kind": EntityKind.SYSTEM.value, "unresolved": True}
    return replace(fact, label=Label.ENTITY, properties=properties)


def _edge(edge: EdgeFact, unknown: Container[str], stated: Container[str]) -> EdgeFact:
    source, target = _end(edge.source, unknown), _end(edge.target, unknown)
    is_settled = _settling(edge.type, name_key(edge.source.name)) in stated
    if edge.type in (EdgeType.MENTIONS, EdgeType.CO_OCCURS, EdgeType.RELATION):
        return replace(edge, source=source, target=target)
    if (source, target) == (edge.source, edge.target) and not is_settled:
        return edge
    verb = _SAID.get(edge.type) or edge.type.replace("_", " ").lower()
    return replace(edge, type=EdgeType.RELATION, verb=verb, source=source, target=target)


def _end(ref: Ref, unknown: Container[str]) -> Ref:
    return Ref(Label.ENTITY, ref.name) if _is_unknown(ref, unknown) else ref


def _is_unknown(ref: Ref, unknown: Container[str]) -> bool:
    return ref.label is Label.SERVICE and name_key(ref.name) in unknown


def _settling(type: EdgeType, key: str) -> str:
    return f"{type} {key}"
