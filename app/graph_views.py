"""What the graph looks like to those who ask: plain models, made from the graph's own types without I/O."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Generic, TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from agent.report import BlastRadius
from graphrag.model import SAID, Direction, Edge, EdgeType, Label, Life, Neighbour, Node, PropertyValue
from graphrag.traverse import Member, Path, Reach

Item = TypeVar("Item")

_CRITICALITY = ("criticality", "criticality_basis")


# `from` is no name that Python allows.
_FROM: Any = Field(validation_alias=AliasChoices("start", "from"), serialization_alias="from")
_TO: Any = Field(validation_alias=AliasChoices("end", "to"), serialization_alias="to")


class View(BaseModel):
    model_config = ConfigDict(frozen=True)


class Named(View):
    """An entity in short."""

    id: str
    label: str
    name: str


class Lived(View):
    """When and how surely a fact holds. `valid_to` is null while it does; `confirmations` counts runs."""

    valid_from: datetime
    valid_to: datetime | None = None
    first_seen: datetime
    last_seen: datetime
    confirmations: int
    sources: tuple[str, ...]
    confidence: float


class Related(Lived):
    """Something that an edge leads to, with the life of that edge. `direction` is `out` where the edge leaves the
    entity asked about; `says` is what the edge's source said, `chunks` where it was read."""

    id: str
    label: str
    name: str
    type: str
    direction: str
    verb: str = ""
    summary: str = ""
    says: str = ""
    properties: Mapping[str, PropertyValue] = {}
    chunks: tuple[str, ...] = ()


class Listed(View, Generic[Item]):
    """A ranked, capped list. With `more`, what is not in it may exist all the same; `cursor` asks for the next page."""

    items: tuple[Item, ...]
    more: bool = False
    cursor: str | None = None


class Owner(View):
    """Who to call, and the fact that says so."""

    team: str | None = None
    channel: str | None = None
    fact: Related | None = None


class Criticality(View):
    """From 0 to 1. `basis` is what it counts: `dependents` or `connectivity`."""

    score: float
    basis: str


class Entity(Named):
    """An entity with the life of its own."""

    aliases: tuple[str, ...] = ()
    summary: str = ""
    properties: Mapping[str, PropertyValue] = {}
    life: Lived


class EntityPage(Entity):
    """An entity and a page of what its edges lead to."""

    related: Listed[Related]
    as_of: datetime | None = None


class Profile(View):
    """All that is known about a service, each fact with where it comes from. `relations` are what was said of it and
    settles nothing, in the words of their `verb`: hearsay, names that nobody defines, and the like."""

    id: str
    name: str
    aliases: tuple[str, ...]
    summary: str
    properties: Mapping[str, PropertyValue]
    criticality: Criticality | None
    owner: Owner
    further_owners: tuple[Owner, ...] = ()
    runbooks: Listed[Related]
    documents: Listed[Related]
    dependencies: Listed[Related]
    dependents: Listed[Related]
    blast_radius: BlastRadius
    incidents: Listed[Related]
    releases: Listed[Related]
    relations: Listed[Related]
    life: Lived
    as_of: datetime | None = None


class RelatedPage(Listed[Related]):
    service: str
    as_of: datetime | None = None


class Reached(View):
    """A service in a blast radius. `path` is a shortest chain of needs from the failing service to this one."""

    id: str
    name: str
    hops: int
    path: tuple[str, ...]


class Radius(View):
    """Who hurts when the service fails, nearest first, within `hops`. `truncated`: the cap cut it, there are more."""

    service: str
    hops: int
    services: tuple[Reached, ...]
    count: int
    truncated: bool
    as_of: datetime | None = None


class Interval(Lived):
    """One interval of one fact. `fact` is the sentence; `type` is null for the service's own existence."""

    fact: str
    type: str | None = None
    other: Named | None = None
    direction: str | None = None
    says: str = ""


class HistoryPage(Listed[Interval]):
    service: str
    as_of: datetime | None = None


class Hop(Lived):
    """One edge of a path, in the order walked. `direction` is `out` where the edge points the way of the walk."""

    start: str = _FROM
    end: str = _TO
    type: str
    verb: str = ""
    direction: str
    fact: str


class Way(View):
    nodes: tuple[Named, ...]
    steps: tuple[Hop, ...]


class Ways(View):
    """The shortest paths, all of one `length`; no path means none within `hops`. `truncated`: there may be more."""

    start: Named = _FROM
    end: Named = _TO
    hops: int
    length: int | None
    paths: tuple[Way, ...]
    truncated: bool
    as_of: datetime | None = None


def named(node: Node) -> Named:
    return Named(id=node.id, label=node.label.value, name=node.name)


def lived(life: Life) -> Lived:
    return Lived(**_life(life))


def entity(node: Node) -> Entity:
    return Entity(
        id=node.id,
        label=node.label.value,
        name=node.name,
        aliases=node.aliases,
        summary=node.summary,
        properties=node.properties,
        life=lived(node.life),
    )


def related(found: Neighbour, here: str) -> Related:
    edge, node = found.edge, found.node
    return Related(
        id=node.id,
        label=node.label.value,
        name=node.name,
        type=edge.type.value,
        direction=direction_from(edge, here).value,
        verb=edge.verb,
        summary=node.summary,
        says=edge.summary,
        properties=node.properties,
        chunks=edge.chunks,
        **_life(edge.life),
    )


def owner(found: Neighbour, service: Node) -> Owner:
    """The service's own channel comes before its team's."""
    channel = service.properties.get("oncall_channel") or found.node.properties.get("oncall_channel")
    return Owner(team=found.node.name, channel=str(channel) if channel else None, fact=related(found, service.id))


def criticality(node: Node) -> Criticality | None:
    score, basis = (node.properties.get(key) for key in _CRITICALITY)
    return Criticality(score=float(score), basis=str(basis)) if isinstance(score, int | float) else None


def own_properties(node: Node) -> dict[str, PropertyValue]:
    """What was said about a service, without what is computed and shown apart."""
    return {key: value for key, value in node.properties.items() if key not in _CRITICALITY}


def reached(member: Member) -> Reached:
    return Reached(id=member.id, name=member.name, hops=member.hops, path=member.path)


def radius_in_short(reach: Reach) -> BlastRadius:
    return BlastRadius(
        services=tuple(member.name for member in reach.members), count=len(reach.members), truncated=reach.truncated
    )


def node_interval(node: Node) -> Interval:
    return Interval(fact=f"{node.name} is a {node.label}", says=node.summary, **_life(node.life))


def edge_interval(edge: Edge, here: Node, other: Named) -> Interval:
    direction = direction_from(edge, here.id)
    ends = (named(here), other) if direction is Direction.OUT else (other, named(here))
    return Interval(
        fact=said(edge, *ends),
        type=edge.type.value,
        other=other,
        direction=direction.value,
        says=edge.summary,
        **_life(edge.life),
    )


def way(path: Path) -> Way:
    nodes = tuple(map(named, path.nodes))
    by_id = {node.id: node for node in nodes}
    steps = (
        Hop(
            start=start.name,
            end=end.name,
            type=edge.type.value,
            verb=edge.verb,
            direction=direction_from(edge, start.id).value,
            fact=said(edge, by_id[edge.source], by_id[edge.target]),
            **_life(edge.life),
        )
        for start, end, edge in zip(nodes, nodes[1:], path.edges, strict=False)
    )
    return Way(nodes=nodes, steps=tuple(steps))


def said(edge: Edge, source: Named, target: Named) -> str:
    """The sentence that an edge stands for."""
    words = edge.verb or SAID[edge.type]
    if edge.type is EdgeType.INTRODUCED_BY and source.label == Label.SERVICE:
        words = "was changed by"
    return f"{source.name} {words} {target.name}"


def direction_from(edge: Edge, here: str) -> Direction:
    return Direction.OUT if edge.source == here else Direction.IN


def _life(life: Life) -> dict[str, Any]:
    return {name: getattr(life, name) for name in Lived.model_fields}
