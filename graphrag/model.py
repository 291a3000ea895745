"""The graph's vocabulary: what a node, an edge and a fact are.

Frozen types without I/O. Every fact carries where it came from and since when it holds; a fact that ends is closed
(`valid_to`), never deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum


class Label(StrEnum):
    """The kinds of node. Stores accept no other name, so no label ever comes from outside."""

    SERVICE = "Service"
    TEAM = "Team"
    INCIDENT = "Incident"
    RUNBOOK = "Runbook"
    DOC = "Doc"
    RELEASE = "Release"


class EdgeType(StrEnum):
    """The kinds of edge, each read from source to target as the sentence it names."""

    DEPENDS_ON = "DEPENDS_ON"  # Service -> Service it needs
    OWNED_BY = "OWNED_BY"  # Service -> Team
    HAS_RUNBOOK = "HAS_RUNBOOK"  # Service -> Runbook
    DOCUMENTED_IN = "DOCUMENTED_IN"  # Service, Incident -> Doc
    AFFECTED = "AFFECTED"  # Incident -> Service
    RESPONDED_BY = "RESPONDED_BY"  # Incident -> Team
    RELATED_TO = "RELATED_TO"  # Incident - Incident, stored once, read both ways
    INTRODUCED_BY = "INTRODUCED_BY"  # Incident, Service -> Release


class Direction(StrEnum):
    """Which end of an edge a walk starts from."""

    OUT = "out"
    IN = "in"
    BOTH = "both"


Scalar = str | int | float | bool
PropertyValue = Scalar | tuple[str, ...]
Properties = Mapping[str, PropertyValue]


def node_id(tenant: str, label: Label, key: str) -> str:
    """An id that is unique across tenants and labels and safe in any URL, derived from the normalised name `key`."""
    digest = hashlib.blake2b(f"{tenant}\x1f{label}\x1f{key}".encode(), digest_size=10).hexdigest()
    return f"{label.lower()}-{digest}"


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
class Node:
    """An entity as a store returns it. `aliases` are the other names people use, as they write them."""

    id: str
    tenant: str
    label: Label
    name: str
    life: Life
    summary: str = ""
    aliases: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict[str, PropertyValue])


@dataclass(frozen=True, slots=True)
class Edge:
    """A directed relation between two node ids as a store returns it."""

    tenant: str
    type: EdgeType
    source: str
    target: str
    life: Life
    summary: str = ""
    properties: Properties = field(default_factory=dict[str, PropertyValue])

    def other_end(self, of: str) -> str:
        return self.target if of == self.source else self.source


@dataclass(frozen=True, slots=True)
class NodeFact:
    """A source's claim that an entity exists. The store finds or makes the entity by its name and aliases."""

    label: Label
    name: str
    summary: str = ""
    aliases: tuple[str, ...] = ()
    properties: Properties = field(default_factory=dict[str, PropertyValue])
    confidence: float = 1.0


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


@dataclass(frozen=True, slots=True)
class Facts:
    """What one run of one source saw: the unit of writing.

    `complete` says that the run saw all the source has to say, so that what this source alone asserted before and
    does not assert now is closed.
    """

    source: str
    seen_at: datetime
    nodes: tuple[NodeFact, ...] = ()
    edges: tuple[EdgeFact, ...] = ()
    complete: bool = False


@dataclass(frozen=True, slots=True)
class WriteReport:
    """What a write did, in numbers, and the edge ends that no node answers to, as 'DEPENDS_ON a -> b'."""

    added: int = 0
    confirmed: int = 0
    closed: int = 0
    dangling: tuple[str, ...] = ()


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


def utc_now() -> datetime:
    return datetime.now(UTC)
