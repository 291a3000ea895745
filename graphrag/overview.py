"""What a tenant's communities have to say to a question about the whole: which of them, and which of their services.

Vectors and full text search communities and all that lies in them; a page, a team or an incident that fits counts for
the services it belongs to, and a service for the coarsest community it is in. Every chosen community says something
before any says more, and the answer ends at its length.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphrag.embed import Embed, EmbeddingUnavailable
from graphrag.model import Direction, Edge, EdgeType, Hit, Label, Node
from graphrag.rank import fuse
from graphrag.routing import topic
from graphrag.store import GraphStore

SEARCH_LIMIT = 40
_K = 10
"""The constant of reciprocal rank fusion. Lower than where one answer is sought: sums over many hits are compared here,
and with a flat curve many poor hits would outweigh a good one."""
_BY_ONE_HOP = 0.5
_MAX_LEVELS = 6
_MAX_EDGES = 5_000
_MAX_COMMUNITIES = 500
_NAMES = 3
"""How many shared suppliers, and how many incidents, a part names."""
_WITHOUT_A_HIT = 3
"""How many services a community names, the most critical ones, when it fits the question and none of them does."""

_WITHIN = frozenset(Label) - {Label.COMMUNITY}
_LEADS_TO_SERVICES = (
    EdgeType.OWNED_BY,
    EdgeType.HAS_RUNBOOK,
    EdgeType.DOCUMENTED_IN,
    EdgeType.AFFECTED,
    EdgeType.FIRES_ON,
    EdgeType.TOUCHES,
    EdgeType.MENTIONS,
)
_AROUND = (EdgeType.OWNED_BY, EdgeType.DEPENDS_ON)


@dataclass(frozen=True)
class Limits:
    """`parts` is the most communities of an answer and `characters` the length of its texts together. `floor` is the
    share of the best one's score that a community, or a service, must have."""

    parts: int = 12
    characters: int = 2_000
    floor: float = 0.1


@dataclass(frozen=True)
class Part:
    """One community's share of an answer. `services` are those of its members that matter to the question, the most
    relevant first; `others` is how many more it has. `owners` are teams by a service's id; `suppliers` are what at
    least two of the services need, the most needed first; `incidents` hit them, the latest first."""

    community: Node
    services: tuple[Node, ...] = ()
    others: int = 0
    owners: Mapping[str, Node] = field(default_factory=dict[str, Node])
    suppliers: tuple[Node, ...] = ()
    incidents: tuple[Node, ...] = ()

    @property
    def title(self) -> str:
        return str(self.community.properties.get("title") or self.community.name)

    @property
    def text(self) -> str:
        """What a report prints when no model writes: the services by owner, what they share, what hit them."""
        by_owner: dict[str, list[str]] = defaultdict(list)
        for service in self.services:
            owner = self.owners.get(service.id)
            by_owner[f"Owned by {owner.name}" if owner else "No owner known"].append(service.name)
        told = [f"{who}: {', '.join(names)}" for who, names in by_owner.items()]
        told += [f"And {self.others:,} more services"] if self.others else []
        told += [f"They share: {', '.join(each.name for each in self.suppliers)}"] if self.suppliers else []
        told += [f"Past incidents: {', '.join(_title(each) for each in self.incidents)}"] if self.incidents else []
        return "".join(f"{sentence}. " for sentence in told).rstrip()


@dataclass(frozen=True)
class Overview:
    """The parts, the most relevant first. `left_out` communities have to do with the question too and are not told."""

    parts: tuple[Part, ...] = ()
    left_out: int = 0


@dataclass(frozen=True)
class _Chosen:
    """`scores` are the services' by id, `communities` the coarsest ones, the most relevant first."""

    communities: tuple[Node, ...]
    scores: Mapping[str, float]
    left_out: int


async def overview(
    store: GraphStore,
    embed: Embed,
    tenant: str,
    question: str,
    limits: Limits | None = None,
) -> Overview:
    """Read the communities for an answer; of a question about everything, those of the highest rank. Without
    communities, or when nothing fits, it has no parts. Raises `GraphError`."""
    limits = limits or Limits()
    text = topic(question)
    if not text:
        return await _everything(store, tenant, limits)
    lists = await _search(store, embed, tenant, text)
    found = {hit.node.id: hit.node for hits in lists for hit in hits}
    fused = fuse([[hit.node.id for hit in hits] for hits in lists], _K)
    scores = await _services(store, tenant, found, fused)
    communities = [id for id, node in found.items() if node.label is Label.COMMUNITY]
    above = {**{id: id for id in communities}, **await coarsest(store, tenant, [*scores, *communities])}
    chosen = await _choose(store, tenant, scores, fused, above, limits)
    parts = await _tell(store, tenant, chosen, limits.floor)
    return Overview(fill(parts, scores, limits.characters), chosen.left_out)


async def _everything(store: GraphStore, tenant: str, limits: Limits) -> Overview:
    page = await store.list_nodes(tenant, [Label.COMMUNITY], limit=_MAX_COMMUNITIES)
    coarse = [node for node in page.nodes if not node.properties.get("level")]
    order = sorted(coarse, key=lambda node: (-_rank(node), node.id))
    chosen = _Chosen(tuple(order[: limits.parts]), {}, len(order[limits.parts :]))
    parts = await _tell(store, tenant, chosen, limits.floor)
    scores = {service.id: _criticality(service) for part in parts for service in part.services}
    return Overview(fill(parts, scores, limits.characters), chosen.left_out)


async def _search(store: GraphStore, embed: Embed, tenant: str, question: str) -> list[list[Hit]]:
    """One list an entry point and kind of node: there are many more pages than services, and the first would leave the
    latter no place."""
    kinds = ([Label.COMMUNITY], [Label.SERVICE], _WITHIN - {Label.SERVICE})
    try:
        vector = (await embed([question]))[0]
    except EmbeddingUnavailable:  # full text still answers
        vector = []
    searches = [store.search_text(tenant, question, SEARCH_LIMIT, labels) for labels in kinds]
    if any(vector):
        searches += [store.search_vectors(tenant, vector, SEARCH_LIMIT, labels) for labels in kinds]
    return list(await asyncio.gather(*searches))


async def _services(
    store: GraphStore, tenant: str, found: Mapping[str, Node], fused: Mapping[str, float]
) -> dict[str, float]:
    """What each service counts: for itself, and for what of it was found. Something that belongs to many services says
    little of each."""
    scores = {id: score for id, score in fused.items() if found[id].label is Label.SERVICE}
    leading = [id for id, node in found.items() if node.label not in (Label.SERVICE, Label.COMMUNITY)]
    edges = await store.edges(tenant, leading, _LEADS_TO_SERVICES, Direction.BOTH, _MAX_EDGES) if leading else []
    ends = await store.nodes(tenant, {id for edge in edges for id in (edge.source, edge.target)})
    leads: dict[str, set[str]] = {id: set() for id in leading}
    for edge in edges:
        for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
            if here in leads and there in ends and ends[there].label is Label.SERVICE:
                leads[here].add(there)
    for id, services in leads.items():
        for service in services:
            scores[service] = scores.get(service, 0.0) + _BY_ONE_HOP * fused[id] / math.sqrt(len(services))
    return scores


async def coarsest(store: GraphStore, tenant: str, ids: Iterable[str]) -> dict[str, str]:
    """The coarsest community that holds each of these, by id; what is in none is left out."""
    above: dict[str, str] = {}
    frontier = set(ids)
    asked = set(frontier)
    for _ in range(_MAX_LEVELS):
        if not frontier:
            break
        edges = await store.edges(tenant, frontier, [EdgeType.IN_COMMUNITY], Direction.OUT, _MAX_EDGES)
        above.update((edge.source, edge.target) for edge in edges)
        frontier = {edge.target for edge in edges} - asked
        asked |= frontier
    return {id: _top(id, above) for id in above}


def _top(id: str, above: Mapping[str, str]) -> str:
    for _ in range(_MAX_LEVELS):
        id = above.get(id, id)
    return id


async def _choose(
    store: GraphStore,
    tenant: str,
    scores: Mapping[str, float],
    fused: Mapping[str, float],
    above: Mapping[str, str],
    limits: Limits,
) -> _Chosen:
    """Communities by their own fit and their services', each further service counting less, and by rank."""
    own: defaultdict[str, float] = defaultdict(float)
    within: defaultdict[str, list[float]] = defaultdict(list)
    for id, top in above.items():
        if id in scores:
            within[top].append(scores[id])
        elif id in fused:
            own[top] = max(own[top], fused[id])
    nodes = await store.nodes(tenant, {*own, *within})
    totals = {
        id: (1 + _rank(node))
        * (own[id] + sum(score / place for place, score in enumerate(sorted(within[id], reverse=True), start=1)))
        for id, node in nodes.items()
        if node.label is Label.COMMUNITY
    }
    least = limits.floor * max(totals.values(), default=0.0)
    order = sorted((id for id in totals if totals[id] >= least), key=lambda id: (-totals[id], id))
    return _Chosen(tuple(nodes[id] for id in order[: limits.parts]), scores, len(order[limits.parts :]))


async def _tell(store: GraphStore, tenant: str, chosen: _Chosen, floor: float) -> list[Part]:
    """Each chosen community with its services, in the order in which they matter, and what is known around them."""
    held = await _members(store, tenant, [node.id for node in chosen.communities])
    least = floor * max(chosen.scores.values(), default=0.0)
    matter = {id: _mattering(services, chosen.scores, least) for id, services in held.items()}
    around = [service.id for services in matter.values() for service in services]
    edges: list[Edge] = []
    if around:
        edges += await store.edges(tenant, around, _AROUND, Direction.OUT, _MAX_EDGES)
        edges += await store.edges(tenant, around, [EdgeType.AFFECTED], Direction.IN, _MAX_EDGES)
    nodes = await store.nodes(tenant, {id for edge in edges for id in (edge.source, edge.target)})
    return [
        _part(node, matter[node.id], len(held[node.id]), edges, nodes)
        for node in chosen.communities
        if matter.get(node.id)
    ]


async def _members(store: GraphStore, tenant: str, tops: Sequence[str]) -> dict[str, list[Node]]:
    """The services in each community, those of its parts among them."""
    top_of = {id: id for id in tops}
    services: dict[str, list[Node]] = {id: [] for id in tops}
    frontier = list(tops)
    for _ in range(_MAX_LEVELS):
        if not frontier:
            break
        edges = await store.edges(tenant, frontier, [EdgeType.IN_COMMUNITY], Direction.IN, _MAX_EDGES)
        nodes = await store.nodes(tenant, {edge.source for edge in edges})
        frontier = list[str]()
        for edge in edges:
            node = nodes.get(edge.source)
            if node is None or node.id in top_of:
                continue
            top = top_of[node.id] = top_of[edge.target]
            if node.label is Label.SERVICE:
                services[top].append(node)
            elif node.label is Label.COMMUNITY:
                frontier.append(node.id)
    return services


def _mattering(services: Collection[Node], scores: Mapping[str, float], least: float) -> list[Node]:
    order = sorted(services, key=lambda node: (-scores.get(node.id, 0.0), -_criticality(node), node.name, node.id))
    return [node for node in order if scores.get(node.id, 0.0) >= max(least, 1e-9)] or order[:_WITHOUT_A_HIT]


def _part(
    community: Node, services: Sequence[Node], size: int, edges: Iterable[Edge], nodes: Mapping[str, Node]
) -> Part:
    here = {service.id for service in services}
    owners: dict[str, Node] = {}
    needed: Counter[str] = Counter()
    incidents: dict[str, Node] = {}
    for edge in edges:
        if edge.type is EdgeType.OWNED_BY and edge.source in here and edge.target in nodes:
            owners.setdefault(edge.source, nodes[edge.target])  # the most confirmed comes first
        elif edge.type is EdgeType.DEPENDS_ON and edge.source in here and edge.target in nodes:
            needed[edge.target] += 1
        elif edge.type is EdgeType.AFFECTED and edge.target in here and edge.source in nodes:
            incidents[edge.source] = nodes[edge.source]
    shared = sorted((id for id, count in needed.items() if count > 1), key=lambda id: (-needed[id], nodes[id].name))
    latest = sorted(incidents.values(), key=lambda node: str(node.properties.get("started_at", "")), reverse=True)
    return Part(
        community,
        tuple(services),
        size - len(services),
        owners,
        tuple(nodes[id] for id in shared[:_NAMES]),
        tuple(latest[:_NAMES]),
    )


def fill(parts: Sequence[Part], scores: Mapping[str, float], characters: int) -> tuple[Part, ...]:
    """The parts cut to a length: the best service of each community first, then services by what they count, then what
    they share and what hit them, community by community. Pure."""
    bare = [replace(part, services=(), others=0, suppliers=(), incidents=()) for part in parts]
    order = [(place, part.services[0]) for place, part in enumerate(parts)]
    further = [(place, service) for place, part in enumerate(parts) for service in part.services[1:]]
    order += sorted(further, key=lambda each: -scores.get(each[1].id, 0.0))
    for place, service in order:
        now = bare[place]
        _put(bare, place, replace(now, services=(*now.services, service)), characters)
    for place, part in enumerate(parts):
        now = bare[place]
        if now.services:
            others = part.others + len(part.services) - len(now.services)
            for change in ({"others": others}, {"suppliers": part.suppliers}, {"incidents": part.incidents}):
                _put(bare, place, replace(bare[place], **change), characters)
    return tuple(part for part in bare if part.services)


def _put(parts: list[Part], place: int, changed: Part, characters: int) -> None:
    """Take the change if it still fits."""
    others = sum(length(part) for at, part in enumerate(parts) if at != place and part.services)
    if others + length(changed) <= characters:
        parts[place] = changed


def length(part: Part) -> int:
    """Characters of a part as it is printed: its title, a colon, its text."""
    return len(part.title) + 2 + len(part.text)


def _title(node: Node) -> str:
    return str(node.properties.get("title") or node.name)


def _rank(node: Node) -> float:
    return _number(node.properties.get("rank", 0.0))


def _criticality(node: Node) -> float:
    return _number(node.properties.get("criticality", 0.0))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
