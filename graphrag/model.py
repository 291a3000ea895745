"""The graph's vocabulary: what a node, an edge and a fact are.

Frozen types without I/O. Every fact carries where it came from and since when it holds; a fact that ends is closed
(`valid_to`), never deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from graphrag.unread import Unread


class Label(StrEnum):
    """The kinds of node. Stores accept no other name, so no label ever comes from outside."""

    SERVICE = "Service"
    TEAM = "Team"
    INCIDENT = "Incident"
    RUNBOOK = "Runbook"
    DOC = "Doc"
    RELEASE = "Release"
    CHUNK = "Chunk"  # where a fact was read
    COMMUNITY = "Community"
    ALERT = "Alert"  # the rule, not one firing of it
    ORG = "Org"
    CLUSTER = "Cluster"
    MODULE = "Module"
    SKILL = "Skill"
    CAPABILITY = "Capability"
    TOOL = "Tool"
    ENTITY = "Entity"  # what no other label fits; its `kind` is an `EntityKind`


class EdgeType(StrEnum):
    """The kinds of edge, each read from source to target as the sentence it names."""

    DEPENDS_ON = "DEPENDS_ON"  # Service -> Service it needs
    OWNED_BY = "OWNED_BY"  # Service -> Team
    HAS_RUNBOOK = "HAS_RUNBOOK"  # Service, Alert -> Runbook
    DOCUMENTED_IN = "DOCUMENTED_IN"  # Service, Incident -> Doc
    AFFECTED = "AFFECTED"  # Incident -> Service
    RESPONDED_BY = "RESPONDED_BY"  # Incident -> Team
    RELATED_TO = "RELATED_TO"  # Incident - Incident, stored once, read both ways
    INTRODUCED_BY = "INTRODUCED_BY"  # Incident, Service -> Release
    FIRES_ON = "FIRES_ON"  # Alert -> Service
    MENTIONS = "MENTIONS"  # Chunk -> any
    IN_COMMUNITY = "IN_COMMUNITY"  # any -> Community
    OWNS = "OWNS"  # Org -> Cluster
    HAS_MODULE = "HAS_MODULE"  # Cluster -> Module
    TOUCHES = "TOUCHES"  # Skill -> Module, Service
    EXPOSES = "EXPOSES"  # Tool -> Capability
    RELEVANT_TO = "RELEVANT_TO"  # Capability -> Skill
    RELATION = "RELATION"  # any -> any: the verb says what, where no other type fits
    CO_OCCURS = "CO_OCCURS"  # named - named, seen in one chunk, stored once


SYMMETRIC = frozenset({EdgeType.RELATED_TO, EdgeType.CO_OCCURS})
"""Stored once, with the smaller id as the source, and walked both ways."""

_ANY = frozenset(Label)
_NAMED = _ANY - {Label.CHUNK, Label.COMMUNITY}

ENDS: Mapping[EdgeType, tuple[frozenset[Label], frozenset[Label]]] = {
    EdgeType.DEPENDS_ON: (frozenset({Label.SERVICE}), frozenset({Label.SERVICE})),
    EdgeType.OWNED_BY: (frozenset({Label.SERVICE}), frozenset({Label.TEAM})),
    EdgeType.HAS_RUNBOOK: (frozenset({Label.SERVICE, Label.ALERT}), frozenset({Label.RUNBOOK})),
    EdgeType.DOCUMENTED_IN: (frozenset({Label.SERVICE, Label.INCIDENT}), frozenset({Label.DOC})),
    EdgeType.AFFECTED: (frozenset({Label.INCIDENT}), frozenset({Label.SERVICE})),
    EdgeType.RESPONDED_BY: (frozenset({Label.INCIDENT}), frozenset({Label.TEAM})),
    EdgeType.RELATED_TO: (frozenset({Label.INCIDENT}), frozenset({Label.INCIDENT})),
    EdgeType.INTRODUCED_BY: (frozenset({Label.INCIDENT, Label.SERVICE}), frozenset({Label.RELEASE})),
    EdgeType.FIRES_ON: (frozenset({Label.ALERT}), frozenset({Label.SERVICE})),
    EdgeType.MENTIONS: (frozenset({Label.CHUNK}), _ANY),
    EdgeType.IN_COMMUNITY: (_ANY, frozenset({Label.COMMUNITY})),
    EdgeType.OWNS: (frozenset({Label.ORG}), frozenset({Label.CLUSTER})),
    EdgeType.HAS_MODULE: (frozenset({Label.CLUSTER}), frozenset({Label.MODULE})),
    EdgeType.TOUCHES: (frozenset({Label.SKILL}), frozenset({Label.MODULE, Label.SERVICE})),
    EdgeType.EXPOSES: (frozenset({Label.TOOL}), frozenset({Label.CAPABILITY})),
    EdgeType.RELEVANT_TO: (frozenset({Label.CAPABILITY}), frozenset({Label.SKILL})),
    EdgeType.RELATION: (_ANY, _ANY),
    EdgeType.CO_OCCURS: (_NAMED, _NAMED),
}
"""Which labels an edge of each type may leave and reach. Written facts are held to it."""

SAID: Mapping[EdgeType, str] = {
    EdgeType.DEPENDS_ON: "depends on",
    EdgeType.OWNED_BY: "is owned by",
    EdgeType.HAS_RUNBOOK: "has the runbook",
    EdgeType.DOCUMENTED_IN: "is documented in",
    EdgeType.AFFECTED: "affected",
    EdgeType.RESPONDED_BY: "was answered by",
    EdgeType.RELATED_TO: "is related to",
    EdgeType.INTRODUCED_BY: "was introduced by",
    EdgeType.FIRES_ON: "fires on",
    EdgeType.MENTIONS: "mentions",
    EdgeType.IN_COMMUNITY: "is in the community",
    EdgeType.OWNS: "owns",
    EdgeType.HAS_MODULE: "has the module",
    EdgeType.TOUCHES: "touches",
    EdgeType.EXPOSES: "exposes",
    EdgeType.RELEVANT_TO: "is relevant to",
    EdgeType.RELATION: "is related to",
    EdgeType.CO_OCCURS: "is named together with",
}
"""How a fact of each type reads, from source to target. A RELATION's own verb says more."""


class EntityKind(StrEnum):
    """What an `Entity` is. All but a concept are named things, and only named things co-occur."""

    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    EVENT = "event"
    PRODUCT = "product"
    PROJECT = "project"
    SYSTEM = "system"
    CONCEPT = "concept"


class Direction(StrEnum):
    """Which end of an edge a walk starts from."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


Scalar = str | int | float | bool
PropertyValue = Scalar | tuple[str, ...]
Properties = Mapping[str, PropertyValue]

WORLD = "world"
"""The scope of what is so. Any other scope is somebody's memory."""


@dataclass(frozen=True, slots=True)
class View:
    """Which facts a read sees: those of the scopes that hold now, or that held at `as_of` (an aware datetime)."""

    as_of: datetime | None = None
    scopes: tuple[str, ...] = (WORLD,)


NOW = View()


def node_id(tenant: str, label: Label, key: str, scope: str = WORLD) -> str:
    """An id that is unique across tenants, labels and scopes and safe in any URL, derived from the normalised name
    `key`."""
    parts = (tenant, label, key) if scope == WORLD else (tenant, label, key, scope)
    return _id(label, parts)


def edge_id(type: EdgeType, source: str, target: str, verb: str = "", scope: str = WORLD) -> str:
    """One id for one fact about two nodes, in whatever intervals it holds."""
    return _id(type, (source, target, verb, scope))


def _id(kind: str, parts: Sequence[str]) -> str:
    return f"{kind.lower()}-{hashlib.blake2b(chr(31).join(parts).encode(), digest_size=10).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Life:
    """When and how surely a fact holds. Times are aware UTC datetimes; `valid_to` is None while the fact holds."""

    valid_from: datetime
    first_seen: datetime
    last_seen: datetime
    valid_to: datetime | None = None
    confirmations: int = 1
    sources: tuple[str, ...] = ()
    confidence: float = 1.0

    def holds_at(self, moment: datetime) -> bool:
        return self.valid_from <= moment and (self.valid_to is None or moment < self.valid_to)


@dataclass(frozen=True, slots=True)
class Node(Unread):
    """An entity as a store returns it. `aliases` are the other names people use, as they write them; `identifiers`
    are strong ones (a repository's URL, an id in a catalogue), of which no two entities share one. `chunks` are the
    ids of the chunks it was read in."""

    id: str
    tenant: str
    label: Label
    name: str
    life: Life
    summary: str = ""
    aliases: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict[str, PropertyValue])
    scope: str = WORLD
    identifiers: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Edge(Unread):
    """A directed relation between two node ids as a store returns it. Only a RELATION has a `verb`."""

    tenant: str
    type: EdgeType
    source: str
    target: str
    life: Life
    summary: str = ""
    properties: Properties = field(default_factory=dict[str, PropertyValue])
    verb: str = ""
    scope: str = WORLD
    chunks: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        return edge_id(self.type, self.source, self.target, self.verb, self.scope)

    def other_end(self, of: str) -> str:
        return self.target if of == self.source else self.source


@dataclass(frozen=True, slots=True)
class NodeFact:
    """A source's claim that an entity exists. The store finds or makes the entity by its name, identifiers and
    aliases."""

    label: Label
    name: str
    summary: str = ""
    aliases: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict[str, PropertyValue])
    confidence: float = 1.0
    identifiers: tuple[str, ...] = ()
    chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ref:
    """An entity by what people call it: resolved through the same key space as everything else."""

    label: Label
    name: str


@dataclass(frozen=True, slots=True)
class EdgeFact:
    """A source's claim that two entities are related. Ends that nobody defines are reported as dangling, not made."""

    type: EdgeType
    source: Ref
    target: Ref
    summary: str = ""
    properties: Properties = field(default_factory=dict[str, PropertyValue])
    confidence: float = 1.0
    verb: str = ""
    chunks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """What one run of one source saw: the unit of writing.

    `complete` says that the run saw all the source has to say, so that what this source alone asserted before and
    does not assert now is closed. In another scope than the world, names are looked up in that scope first and then
    in the world.
    """

    source: str
    seen_at: datetime
    nodes: tuple[NodeFact, ...] = ()
    edges: tuple[EdgeFact, ...] = ()
    complete: bool = False
    scope: str = WORLD


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What a write did, in numbers; the edges without a node at an end, as 'DEPENDS_ON a -> b'; the edges that an
    administrator's correction keeps out; and the ids of the nodes that are `told` of for the first time or otherwise
    than before, whose vectors have to be made anew."""

    added: int = 0
    confirmed: int = 0
    closed: int = 0
    dangling: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Hit:
    """A node found by a search. `score` is comparable only within the one search that gave it."""

    node: Node
    score: float


@dataclass(frozen=True, slots=True)
class Page:
    """A ranked, capped list. With `cursor` set there is more, and absence from the page proves nothing."""

    nodes: tuple[Node, ...]
    cursor: str | None = None

    @property
    def more(self) -> bool:
        return self.cursor is not None


class Step(NamedTuple):
    """One node that a hop of a walk leads to. `here` is the one of the frontier that it is reached from, of several
    the first. A tuple, as a walk makes hundreds, and a frozen class takes twice as long to make."""

    here: str
    there: str
    label: Label
    name: str


@dataclass(frozen=True, slots=True)
class Neighbour:
    edge: Edge
    node: Node


@dataclass(frozen=True, slots=True)
class NeighbourPage:
    """A ranked, capped list of neighbours, as `Page` is one of nodes."""

    neighbours: tuple[Neighbour, ...]
    cursor: str | None = None

    @property
    def more(self) -> bool:
        return self.cursor is not None


@dataclass(frozen=True, slots=True)
class Record:
    """Something that was decided about the graph (a merge, a correction, a proposal), kept beside it. `body` is plain
    JSON."""

    kind: str
    id: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class History:
    """Every fact, current and closed, of some nodes: the nodes, the edges that touch them, and the vectors by
    `interval`."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    vectors: Mapping[str, tuple[float, ...]] = field(default_factory=dict[str, tuple[float, ...]])


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What becomes of a `History`: every fact as it shall be, and the records to keep and to forget (kind, id)."""

    facts: History
    records: tuple[Record, ...] = ()
    forget: tuple[tuple[str, str], ...] = ()


def interval(fact: Node | Edge) -> str:
    """Names one interval of one fact: its id while it holds, and its id with the times it held once it is closed."""
    if fact.life.valid_to is None:
        return fact.id
    return f"{fact.id} {fact.life.valid_from.isoformat()} {fact.life.valid_to.isoformat()}"


def utc_now() -> datetime:
    return datetime.now(UTC)
