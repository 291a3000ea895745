"""What one run of one source changes in the graph: decided here without I/O, carried out by each store.

A store loads what it knows about the facts' names, asks `decide_nodes`, loads the edges that `edge_keys` names, asks
`decide_edges`, and writes both decisions in one transaction.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from graphrag.identity import name_key
from graphrag.model import (
    Edge,
    EdgeFact,
    EdgeType,
    Facts,
    Label,
    Life,
    Node,
    NodeFact,
    Properties,
    PropertyValue,
    Ref,
    node_id,
)

NameKey = tuple[Label, str]
EdgeKey = tuple[EdgeType, str, str]

SYMMETRIC = frozenset({EdgeType.RELATED_TO})
_WIDEST_INTEGER = 2**63
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class NodeDecision:
    """`owners` maps every name that can be an edge's end in this run to the node id that holds it."""

    put: tuple[Node, ...]
    closed: tuple[Node, ...]
    claimed: Mapping[NameKey, str]
    owners: Mapping[NameKey, str]
    added: int
    confirmed: int


@dataclass(frozen=True, slots=True)
class EdgeDecision:
    put: tuple[Edge, ...]
    closed: tuple[Edge, ...]
    dangling: tuple[str, ...]
    added: int
    confirmed: int


def edge_key(edge: Edge) -> EdgeKey:
    return (edge.type, edge.source, edge.target)


def storable(text: str) -> str:
    """`text` with what no database can encode (lone surrogates) replaced."""
    return text.encode("utf-8", "replace").decode()


def fact_keys(facts: Facts) -> set[NameKey]:
    """Every name that the facts use, so that a store can look up who holds it."""
    keys = {(fact.label, key) for fact in facts.nodes for key in _keys_of(fact)}
    return keys | {_ref_key(ref) for fact in facts.edges for ref in (fact.source, fact.target)}


def decide_nodes(tenant: str, facts: Facts, owners: Mapping[NameKey, str], nodes: Mapping[str, Node]) -> NodeDecision:
    """`owners`: who holds each of `fact_keys`. `nodes`: those holders, and for a complete run also every current node
    that the source asserted."""
    run = _NodeRun(tenant, facts, dict(owners), dict(nodes))
    for fact in facts.nodes:
        run.see(fact)
    closed, shared = _unseen(facts, ((id, node) for id, node in nodes.items()), run.seen)
    gone = set(closed)
    return NodeDecision(
        put=tuple(run.nodes[id] for id in run.seen)
        + tuple(replace(nodes[id], life=_without(nodes[id].life, facts.source)) for id in shared),
        closed=tuple(replace(nodes[id], life=_ended(nodes[id].life, facts.seen_at)) for id in closed),
        claimed=run.claimed,
        owners={key: id for key, id in run.owners.items() if id not in gone},
        added=run.added,
        confirmed=len(run.seen) - run.added,
    )


def edge_keys(facts: Facts, nodes: NodeDecision) -> set[EdgeKey]:
    """The edges that the facts speak of, where both ends are known."""
    return {key for fact in facts.edges if (key := _resolve(fact, nodes.owners)) is not None}


def decide_edges(tenant: str, facts: Facts, nodes: NodeDecision, edges: Mapping[EdgeKey, Edge]) -> EdgeDecision:
    """`edges`: the current ones among `edge_keys`, those that touch a node that closes, and for a complete run every
    current edge that the source asserted. An edge ends with either of its ends."""
    seen: dict[EdgeKey, Edge] = {}
    dangling: dict[str, None] = {}
    for fact in facts.edges:
        key = _resolve(fact, nodes.owners)
        if key is None or key[1] == key[2]:
            itself = "" if key is None else " (itself)"
            dangling[f"{fact.type} {fact.source.name} -> {fact.target.name}{itself}"] = None
        else:
            seen[key] = _seen_edge(tenant, facts, fact, key, seen.get(key), edges.get(key))
    gone = {node.id for node in nodes.closed}
    orphaned = [key for key in edges if key[1] in gone or key[2] in gone]
    closed, shared = _unseen(facts, edges.items(), seen)
    closed = list(dict.fromkeys([*closed, *orphaned]))
    ended = set(closed)
    return EdgeDecision(
        put=tuple(seen.values())
        + tuple(
            replace(edges[key], life=_without(edges[key].life, facts.source)) for key in shared if key not in ended
        ),
        closed=tuple(replace(edges[key], life=_ended(edges[key].life, facts.seen_at)) for key in closed),
        dangling=tuple(dangling),
        added=sum(key not in edges for key in seen),
        confirmed=sum(key in edges for key in seen),
    )


@dataclass(slots=True)
class _NodeRun:
    tenant: str
    facts: Facts
    owners: dict[NameKey, str]
    nodes: dict[str, Node]
    seen: dict[str, None] = field(default_factory=dict[str, None])
    claimed: dict[NameKey, str] = field(default_factory=dict[NameKey, str])
    added: int = 0

    def see(self, fact: NodeFact) -> None:
        key = _ref_key(Ref(fact.label, fact.name))
        id = self._find(fact, key) or node_id(self.tenant, *key)
        known = self.nodes.get(id)
        spoken = [name for name in (fact.name, *fact.aliases) if self._claim((fact.label, _key(name)), id)]
        if known is None:
            self.added += 1
            self.nodes[id] = Node(
                id=id,
                tenant=self.tenant,
                label=fact.label,
                name=storable(fact.name.strip()),
                life=_begun(self.facts, fact.confidence),
                summary=storable(fact.summary),
                aliases=_spellings(spoken, without=key[1]),
                properties=_checked(fact.properties),
            )
        else:
            self.nodes[id] = replace(
                known,
                life=_seen_again(known.life, self.facts, fact.confidence, count=id not in self.seen),
                summary=storable(fact.summary) or known.summary,
                aliases=known.aliases + _spellings(spoken),
                properties={**known.properties, **_checked(fact.properties)},
            )
        self.seen[id] = None

    def _find(self, fact: NodeFact, key: NameKey) -> str | None:
        """The node that holds the fact's name; else the one node that its aliases agree on."""
        if key in self.owners:
            return self.owners[key]
        holders = {self.owners[alias] for alias in ((fact.label, k) for k in _keys_of(fact)) if alias in self.owners}
        return holders.pop() if len(holders) == 1 else None

    def _claim(self, key: NameKey, id: str) -> bool:
        """Take a free name. A name that another node holds stays there: similar things never merge by themselves."""
        if not key[1] or key in self.owners:
            return False
        self.owners[key] = self.claimed[key] = id
        return True


def _key(name: str) -> str:
    return name_key(storable(name))


def _keys_of(fact: NodeFact) -> list[str]:
    return [key for name in (fact.name, *fact.aliases) if (key := _key(name))]


def _ref_key(ref: Ref) -> NameKey:
    key = _key(ref.name)
    if not key:
        raise ValueError(f"A {ref.label} needs a name.")
    return (ref.label, key)


def _spellings(names: Iterable[str], without: str = "") -> tuple[str, ...]:
    return tuple(storable(name.strip()) for name in names if _key(name) != without)


def _resolve(fact: EdgeFact, owners: Mapping[NameKey, str]) -> EdgeKey | None:
    source, target = owners.get(_ref_key(fact.source)), owners.get(_ref_key(fact.target))
    if source is None or target is None:
        return None
    if fact.type in SYMMETRIC and target < source:
        source, target = target, source
    return (fact.type, source, target)


def _seen_edge(
    tenant: str, facts: Facts, fact: EdgeFact, key: EdgeKey, earlier_in_run: Edge | None, known: Edge | None
) -> Edge:
    current = earlier_in_run or known
    if current is None:
        return Edge(
            tenant=tenant,
            type=fact.type,
            source=key[1],
            target=key[2],
            life=_begun(facts, fact.confidence),
            summary=storable(fact.summary),
            properties=_checked(fact.properties),
        )
    return replace(
        current,
        life=_seen_again(current.life, facts, fact.confidence, count=earlier_in_run is None),
        summary=storable(fact.summary) or current.summary,
        properties={**current.properties, **_checked(fact.properties)},
    )


def _unseen(
    facts: Facts, known: Iterable[tuple[_Key, Node | Edge]], seen: Container[_Key]
) -> tuple[list[_Key], list[_Key]]:
    """What a complete run no longer sees: the keys of facts that the source alone stood for, and of those that others
    stand for too."""
    if not facts.complete:
        return [], []
    dropped = [(key, fact.life.sources) for key, fact in known if key not in seen and facts.source in fact.life.sources]
    alone = [key for key, sources in dropped if sources == (facts.source,)]
    return alone, [key for key, sources in dropped if sources != (facts.source,)]


def _begun(facts: Facts, confidence: float) -> Life:
    moment = _utc(facts.seen_at)
    return Life(
        valid_from=moment, first_seen=moment, last_seen=moment, sources=(facts.source,), confidence=float(confidence)
    )


def _seen_again(life: Life, facts: Facts, confidence: float, *, count: bool) -> Life:
    """Confirmations count runs: a fact named twice in one run counts once. The surest source sets the confidence."""
    return replace(
        life,
        last_seen=max(life.last_seen, _utc(facts.seen_at)),
        confirmations=life.confirmations + count,
        sources=tuple(dict.fromkeys((*life.sources, facts.source))),
        confidence=max(life.confidence, float(confidence)),
    )


def _without(life: Life, source: str) -> Life:
    return replace(life, sources=tuple(other for other in life.sources if other != source))


def _ended(life: Life, seen_at: datetime) -> Life:
    return replace(life, valid_to=max(life.valid_from, _utc(seen_at)))


def _utc(moment: datetime) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("Facts need an aware `seen_at`, for instance datetime.now(UTC).")
    return moment.astimezone(UTC)


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
