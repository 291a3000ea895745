"""What one run of discovery changes in the graph: decided here without I/O, carried out by each store.

A store loads what it knows about the facts' names, asks `decide_nodes`, loads the edges that `edge_ids` names, asks
`decide_edges`, and writes both decisions in one transaction.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from graphrag.identity import identifier_key, name_key
from graphrag.lives import Run, begun, confirmed, ended, seen_again, unseen
from graphrag.model import (
    ENDS,
    SYMMETRIC,
    WORLD,
    Edge,
    EdgeFact,
    EdgeType,
    EntityKind,
    Label,
    Node,
    NodeFact,
    Properties,
    PropertyValue,
    Ref,
    WriteReport,
    edge_id,
    node_id,
)


class NameKey(NamedTuple):
    """A place in the key space: one node at most holds it."""

    scope: str
    label: Label
    key: str


DENIAL = "denial"
"""The kind of record, named by an edge's id, that keeps the edge from being asserted again by any source."""

_WIDEST_INTEGER = 2**63
_KINDS = frozenset(EntityKind)


@dataclass(frozen=True, slots=True)
class NodeDecision:
    """`owners` maps every name that can be an edge's end in this run to the node id that holds it; `concepts` are
    those among them that may not co-occur; `told` are the ids of those put that are new or are told of otherwise than
    before."""

    put: tuple[Node, ...]
    closed: tuple[Node, ...]
    claimed: Mapping[NameKey, str]
    owners: Mapping[NameKey, str]
    concepts: frozenset[str]
    added: int
    confirmed: int
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EdgeDecision:
    put: tuple[Edge, ...]
    closed: tuple[Edge, ...]
    dangling: tuple[str, ...]
    denied: tuple[str, ...]
    added: int
    confirmed: int


def write_report(nodes: NodeDecision, edges: EdgeDecision) -> WriteReport:
    return WriteReport(
        added=nodes.added + edges.added,
        confirmed=nodes.confirmed + edges.confirmed,
        closed=len(nodes.closed) + len(edges.closed),
        dangling=edges.dangling,
        denied=edges.denied,
        told=nodes.told,
    )


def storable(text: str) -> str:
    """`text` with what not every database can keep (lone surrogates, NUL) replaced."""
    if text.isascii() and "\x00" not in text:
        return text
    return text.encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def fact_keys(run: Run) -> set[NameKey]:
    """Every name that the facts use, so that a store can look up who holds it."""
    keys = {NameKey(run.scope, fact.label, key) for _, fact in run.nodes for key in _keys_of(fact)}
    return keys | {key for _, fact in run.edges for ref in (fact.source, fact.target) for key in _end_keys(run, ref)}


def nodes_to_load(run: Run, owners: Mapping[NameKey, str]) -> set[str]:
    """Of the holders of `fact_keys`, those that `decide_nodes` has to see whole: what the run says something about,
    and what may be a concept. An end of an edge is needed by its id alone."""
    if not owners:
        return set()
    places = {NameKey(run.scope, fact.label, key) for _, fact in run.nodes for key in _keys_of(fact)}
    places |= {
        place
        for _, fact in run.edges
        if fact.type is EdgeType.CO_OCCURS
        for ref in (fact.source, fact.target)
        for place in _end_keys(run, ref)
    }
    return {owners[place] for place in places if place in owners}


def node_keys(node: Node) -> list[str]:
    """Every key that a node answers to."""
    keys = (*map(name_key, (node.name, *node.aliases)), *map(identifier_key, node.identifiers))
    return list(dict.fromkeys(keys))


def decide_nodes(tenant: str, run: Run, owners: Mapping[NameKey, str], nodes: Mapping[str, Node]) -> NodeDecision:
    """`owners`: who holds each of `fact_keys`. `nodes`: those of `nodes_to_load`, and every current node that one of
    the complete sources asserted."""
    work = _NodeRun(tenant, run, dict(owners), dict(nodes))
    for source, fact in run.nodes:
        work.see(source, fact)
    put = {id: work.nodes[id] for id in work.seen}
    closed, shared = unseen(run, {**nodes, **put}, work.seen)
    gone = {node.id for node in closed}
    put |= {node.id: node for node in shared}
    return NodeDecision(
        put=tuple(put.values()),
        closed=tuple(replace(node, life=ended(node.life, run.seen_at)) for node in closed),
        claimed=work.claimed,
        owners={key: id for key, id in work.owners.items() if id not in gone},
        concepts=frozenset(id for id, node in work.nodes.items() if node.properties.get("kind") == EntityKind.CONCEPT),
        added=work.added,
        confirmed=confirmed(run, work.seen, nodes),
        told=tuple(id for id, node in put.items() if id not in nodes or _told(node) != _told(nodes[id])),
    )


def _told(node: Node) -> str:
    """What a vector is made from."""
    return node.summary or node.name


def sentence(fact: EdgeFact) -> str:
    """An edge as reports name it."""
    return f"{fact.verb or fact.type} {fact.source.name} -> {fact.target.name}"


def edge_ids(run: Run, nodes: NodeDecision) -> dict[str, tuple[EdgeType, str, str]]:
    """The edges that the facts speak of, where both ends are known, with type, source and target."""
    found = ((fact, _resolve(run, fact, nodes.owners)) for _, fact in run.edges)
    return {_edge_id(run, fact, ends): (fact.type, *ends) for fact, ends in found if ends}


def decide_edges(
    tenant: str, run: Run, nodes: NodeDecision, edges: Mapping[str, Edge], denied: Container[str] = ()
) -> EdgeDecision:
    """`edges`: the current ones among `edge_ids`, those that touch a node that closes, and every current edge that one
    of the complete sources asserted. An edge ends with either of its ends. `denied`: those among `edge_ids` that a
    correction keeps out."""
    put: dict[str, Edge] = {}
    seen: dict[str, set[str]] = {}
    dangling: dict[str, None] = {}
    kept_out: dict[str, None] = {}
    for source, fact in run.edges:
        check_edge(fact)
        ends = _resolve(run, fact, nodes.owners)
        line = sentence(fact)
        if ends is None or ends[0] == ends[1]:
            dangling[line if ends is None else f"{line} (itself)"] = None
        elif fact.type is EdgeType.CO_OCCURS and not nodes.concepts.isdisjoint(ends):
            raise ValueError(f"Only named things co-occur, and one of {fact.source.name}, {fact.target.name} is none.")
        elif (id := _edge_id(run, fact, ends)) in denied:
            kept_out[line] = None
        else:
            put[id] = _seen_edge(tenant, run, source, fact, ends, put.get(id), edges.get(id))
            seen.setdefault(id, set()).add(source)
    gone = {node.id for node in nodes.closed}
    closed, shared = unseen(run, {**edges, **put}, seen)
    closed += [edge for edge in edges.values() if edge.source in gone or edge.target in gone]
    ended_edges = {edge.id: edge for edge in closed}
    put |= {edge.id: edge for edge in shared if edge.id not in ended_edges}
    return EdgeDecision(
        put=tuple(put.values()),
        closed=tuple(replace(edge, life=ended(edge.life, run.seen_at)) for edge in ended_edges.values()),
        dangling=tuple(dangling),
        denied=tuple(kept_out),
        added=sum(id not in edges for id in seen),
        confirmed=confirmed(run, seen, edges),
    )


@dataclass(slots=True)
class _NodeRun:
    tenant: str
    run: Run
    owners: dict[NameKey, str]
    nodes: dict[str, Node]
    seen: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    claimed: dict[NameKey, str] = field(default_factory=dict[NameKey, str])
    added: int = 0
    shared: frozenset[str] = frozenset()
    named: frozenset[tuple[Label, str]] = frozenset()

    def __post_init__(self) -> None:
        self.shared = _shared_identifiers(self.run)
        self.named = frozenset((fact.label, _key(fact.name)) for _, fact in self.run.nodes)

    def see(self, source: str, fact: NodeFact) -> None:
        _check_node(fact)
        key = _key(fact.name)
        id = self._find(fact, key) or node_id(self.tenant, fact.label, key, self.run.scope)
        known = self.nodes.get(id)
        spoken = [name for name in (fact.name, *fact.aliases) if self._claim(fact.label, _key(name), id)]
        told = tuple(text for text in fact.identifiers if self._claim(fact.label, identifier_key(text), id))
        if known is None:
            self.added += 1
            self.nodes[id] = Node(
                id=id,
                tenant=self.tenant,
                label=fact.label,
                name=storable(fact.name.strip()),
                life=begun(self.run.seen_at, source, fact.confidence),
                summary=storable(fact.summary),
                aliases=_spellings(spoken, without=key),
                properties=_checked(fact.properties),
                scope=self.run.scope,
                identifiers=tuple(map(storable, told)),
                chunks=tuple(dict.fromkeys(fact.chunks)),
            )
        else:
            self.nodes[id] = replace(
                known,
                life=seen_again(known.life, self.run, source, fact.confidence),
                summary=storable(fact.summary) or known.summary,
                aliases=known.aliases + _spellings(spoken),
                properties={**known.properties, **_checked(fact.properties)},
                identifiers=known.identifiers + tuple(map(storable, told)),
                chunks=tuple(dict.fromkeys((*known.chunks, *fact.chunks))),
            )
        self.seen.setdefault(id, set()).add(source)

    def _find(self, fact: NodeFact, key: str) -> str | None:
        """The node that holds the fact's name; else the one node that its identifiers agree on; else its aliases."""
        held = self._holders(fact.label, [key])
        if held:
            return held.pop()
        holders = self._holders(fact.label, map(identifier_key, fact.identifiers))
        # Who names two entities in one run tells them apart: one repository may hold many services.
        strong = {id for id in holders if not self._named_here(self.nodes[id])}
        for found in (strong, self._holders(fact.label, map(_key, fact.aliases))):
            if len(found) == 1:
                return found.pop()
        return None

    def _named_here(self, node: Node) -> bool:
        return any((node.label, key) in self.named for key in node_keys(node))

    def _holders(self, label: Label, keys: Iterable[str]) -> set[str]:
        places = (NameKey(self.run.scope, label, key) for key in keys if key not in self.shared)
        return {self.owners[place] for place in places if place in self.owners}

    def _claim(self, label: Label, key: str, id: str) -> bool:
        """Take a free name. A name that another node holds stays there: similar things never merge by themselves."""
        place = NameKey(self.run.scope, label, key)
        if not key or key in self.shared or place in self.owners:
            return False
        self.owners[place] = self.claimed[place] = id
        return True


def _shared_identifiers(run: Run) -> frozenset[str]:
    """The keys of identifiers that one run gives to entities of several names: they identify none of them."""
    names: dict[str, set[str]] = {}
    for _, fact in run.nodes:
        for text in fact.identifiers:
            names.setdefault(identifier_key(text), set()).add(_key(fact.name))
    return frozenset(key for key, named in names.items() if len(named) > 1)


@lru_cache(maxsize=100_000)
def _key(name: str) -> str:
    return name_key(storable(name))


def _keys_of(fact: NodeFact) -> list[str]:
    names = [key for name in (fact.name, *fact.aliases) if (key := _key(name))]
    return [*names, *map(identifier_key, fact.identifiers)]


def _end_keys(run: Run, ref: Ref) -> list[NameKey]:
    """Where an edge's end is looked up: in the facts' own scope, then in the world."""
    key = _key(ref.name)
    if not key:
        raise ValueError(f"A {ref.label} needs a name.")
    here = NameKey(run.scope, ref.label, key)
    return [here] if run.scope == WORLD else [here, NameKey(WORLD, ref.label, key)]


def _spellings(names: Iterable[str], without: str = "") -> tuple[str, ...]:
    return tuple(storable(name.strip()) for name in names if _key(name) != without)


def _resolve(run: Run, fact: EdgeFact, owners: Mapping[NameKey, str]) -> tuple[str, str] | None:
    source, target = _holder(run, fact.source, owners), _holder(run, fact.target, owners)
    if source is None or target is None:
        return None
    if fact.type in SYMMETRIC and target < source:
        source, target = target, source
    return source, target


def _holder(run: Run, ref: Ref, owners: Mapping[NameKey, str]) -> str | None:
    for place in _end_keys(run, ref):
        if place in owners:
            return owners[place]
    return None


def _edge_id(run: Run, fact: EdgeFact, ends: tuple[str, str]) -> str:
    return edge_id(fact.type, *ends, storable(fact.verb.strip()), run.scope)


def _seen_edge(
    tenant: str,
    run: Run,
    source: str,
    fact: EdgeFact,
    ends: tuple[str, str],
    earlier_in_run: Edge | None,
    known: Edge | None,
) -> Edge:
    current = earlier_in_run or known
    if current is None:
        return Edge(
            tenant=tenant,
            type=fact.type,
            source=ends[0],
            target=ends[1],
            life=begun(run.seen_at, source, fact.confidence),
            summary=storable(fact.summary),
            properties=_checked(fact.properties),
            verb=storable(fact.verb.strip()),
            scope=run.scope,
            chunks=tuple(dict.fromkeys(fact.chunks)),
        )
    return replace(
        current,
        life=seen_again(current.life, run, source, fact.confidence),
        summary=storable(fact.summary) or current.summary,
        properties={**current.properties, **_checked(fact.properties)},
        chunks=tuple(dict.fromkeys((*current.chunks, *fact.chunks))),
    )


def _check_node(fact: NodeFact) -> None:
    if not _key(fact.name):
        raise ValueError(f"A {fact.label} needs a name.")
    if fact.label is Label.ENTITY and fact.properties.get("kind") not in _KINDS:
        raise ValueError(f"The Entity {fact.name!r} needs a kind: {', '.join(EntityKind)}.")


def check_edge(fact: EdgeFact) -> None:
    """Raises ValueError for ends that its type does not join, and for a verb that is missing or too many."""
    sources, targets = ENDS[fact.type]
    if fact.source.label not in sources or fact.target.label not in targets:
        raise ValueError(
            f"{fact.type} goes from {' or '.join(sorted(sources))} to {' or '.join(sorted(targets))}, "
            f"not from {fact.source.label} to {fact.target.label}."
        )
    if bool(fact.verb.strip()) != (fact.type is EdgeType.RELATION):
        raise ValueError("A RELATION needs a verb, and no other type has one.")


def _checked(properties: Properties) -> dict[str, PropertyValue]:
    """The properties as every store can keep them."""
    return {storable(key): _checked_value(key, value) for key, value in properties.items()}


def _checked_value(key: str, value: PropertyValue) -> PropertyValue:
    if not key or "\x00" in key:
        raise ValueError("A property needs a name without NUL characters.")
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, tuple):
        return tuple(storable(item) for item in value)
    if not isinstance(value, bool) and isinstance(value, int) and not -_WIDEST_INTEGER <= value < _WIDEST_INTEGER:
        raise ValueError(f"The property {key!r} is a whole number of more than 64 bits; write it as text.")
    return value
