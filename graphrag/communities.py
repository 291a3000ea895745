"""What hangs together in a tenant's world, as Community nodes with a summary each.

A node is IN_COMMUNITY of the finest community that holds it, and each community of the one it is a part of. Only those
are summarised again of which something that a summary is made from has changed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from graphrag.clustering import LARGEST, SEED, Cluster, WeightedEdge, at_level, changed, cluster, stable_ids
from graphrag.model import Direction, EdgeFact, EdgeType, Facts, Label, Node, NodeFact, PropertyValue, Ref
from graphrag.store import GraphStore

SOURCE = "communities"

WEIGHTS: Mapping[EdgeType, float] = {
    EdgeType.DEPENDS_ON: 4.0,  # fails together
    EdgeType.OWNED_BY: 2.0,  # is answered for together
    EdgeType.HAS_MODULE: 2.0,
    EdgeType.FIRES_ON: 2.0,  # belongs to the one service
    EdgeType.HAS_RUNBOOK: 2.0,
    EdgeType.AFFECTED: 1.0,
    EdgeType.RELATED_TO: 1.0,
    EdgeType.RESPONDED_BY: 1.0,
    EdgeType.INTRODUCED_BY: 1.0,
    EdgeType.DOCUMENTED_IN: 1.0,
    EdgeType.OWNS: 1.0,
    EdgeType.TOUCHES: 1.0,
    EdgeType.EXPOSES: 1.0,
    EdgeType.RELEVANT_TO: 1.0,
    EdgeType.RELATION: 1.0,
    EdgeType.CO_OCCURS: 0.5,  # times the edge's own weight, which is 1.0 to begin with
}
"""How strongly an edge of each type holds its ends together. IN_COMMUNITY is not among them: it is the outcome."""
_NAMED_IN_PASSING = 0.25
"""How strongly a page holds what one of its chunks mentions. Chunks themselves are members of nothing: they are where
their page is, and there are many times as many of them."""
_PAGES = frozenset({Label.RUNBOOK, Label.DOC, Label.INCIDENT})
_MEMBERS = frozenset(Label) - {Label.CHUNK, Label.COMMUNITY}

MAX_SUMMARY = 2_000
"""Characters of a template's summary."""
_MAX_NAME = 80
_NAMES = 12
_BATCH = 5_000


@dataclass(frozen=True, slots=True)
class Outline:
    """What a summary is made from, the most telling first: the members by criticality; the teams that
    own them; what at least two of them depend on; the incidents that affected them, the latest first."""

    members: tuple[Node, ...]
    owners: tuple[str, ...] = ()
    suppliers: tuple[str, ...] = ()
    incidents: tuple[str, ...] = ()


Summarise = Callable[[Outline], str | Awaitable[str]]


@dataclass(frozen=True, slots=True)
class CommunityReport:
    """How many communities there are, on how many levels, the names of those summarised anew, and the ids of the nodes
    that are told of otherwise than before."""

    communities: int
    changed: tuple[str, ...]
    levels: int
    told: tuple[str, ...] = ()


def template(outline: Outline) -> str:
    """A summary without a model, of at most `MAX_SUMMARY` characters."""
    names = [node.name for node in outline.members]
    lists = (
        (f"{_count(len(names), 'member')}, the most critical first" if len(names) > 1 else "Only member", names),
        ("Owned by", outline.owners),
        ("Suppliers they share", outline.suppliers),
        ("Past incidents", outline.incidents),
    )
    text = " ".join(f"{what}: {_listed(which)}." for what, which in lists if which)
    return _cut(text, MAX_SUMMARY)


async def refresh(store: GraphStore, tenant: str, now: datetime, summarise: Summarise = template) -> CommunityReport:
    """Bring the tenant's communities up to date; where nothing changed, nothing is written. What `summarise` raises
    passes through and leaves the graph as it was; an empty summary becomes the template's."""
    world = await _read(store, tenant)
    key = f"communities {tenant}"
    seen = await store.get_meta(key)
    plan = await asyncio.to_thread(_plan, world, seen)
    summaries: dict[str, str] = {}
    for id in plan.changed:
        made = summarise(plan.outlines[id])
        summaries[id] = (made if isinstance(made, str) else await made) or template(plan.outlines[id])
    told: tuple[str, ...] = ()
    if not plan.kept:
        told = (await store.write(tenant, await asyncio.to_thread(_facts, world, plan, summaries, now))).told
    elif plan.moved:
        await store.annotate(tenant, plan.moved)
    if plan.digest != seen:
        await store.put_meta(key, plan.digest)
    levels = {each.level for each in plan.clusters.values()}
    return CommunityReport(len(plan.clusters), plan.changed, len(levels), told)


@dataclass(frozen=True, slots=True)
class _World:
    """`nodes` are what takes part: all but communities and chunks. `communities` are the current ones by node id."""

    nodes: dict[str, Node]
    communities: dict[str, Node]
    pairs: dict[EdgeType, list[tuple[str, str]]]
    co_occurs: list[WeightedEdge]


@dataclass(frozen=True, slots=True)
class _Plan:
    """All by the communities' stable ids. `kept`: the graph holds these communities with these members already, and of
    them `moved`, by node id, have other properties now."""

    clusters: dict[str, Cluster]
    outlines: dict[str, Outline]
    properties: dict[str, dict[str, PropertyValue]]
    changed: tuple[str, ...]
    digest: bytes
    kept: bool
    moved: dict[str, dict[str, PropertyValue]]


async def _read(store: GraphStore, tenant: str) -> _World:
    nodes = {node.id: node for node in await store.all_nodes(tenant, _MEMBERS)}
    pairs = {type: await store.pairs(tenant, type) for type in EdgeType if type is not EdgeType.CO_OCCURS}
    weighed = await store.pairs(tenant, EdgeType.CO_OCCURS)
    sources = sorted({source for source, _ in weighed})
    co_occurs: dict[tuple[str, str], float] = {}
    for start in range(0, len(sources), _BATCH):
        batch = sources[start : start + _BATCH]
        for edge in await store.edges(tenant, batch, [EdgeType.CO_OCCURS], Direction.OUT, len(weighed)):
            co_occurs[edge.source, edge.target] = _number(edge.properties.get("weight", 1.0))
    communities = await store.all_nodes(tenant, [Label.COMMUNITY])
    return _World(
        nodes,
        {node.id: node for node in communities if SOURCE in node.life.sources},
        pairs,
        [(a, b, weight) for (a, b), weight in co_occurs.items()],
    )


def _plan(world: _World, seen: bytes | None) -> _Plan:
    earlier = _earlier(world)
    edges = sorted(_weighted(world))
    ids = _taking_part(world, edges)
    digest = _digest([LARGEST, SEED, ids, edges])
    covered = sorted(id for each in earlier.values() if each.level == 0 for id in each.members)
    same = seen == digest and covered == ids
    if same:
        clusters = earlier
    else:
        found = cluster(ids, edges, start=earlier.values())
        clusters = dict(zip(stable_ids(earlier, found), found, strict=True))
    outlines = dict(zip(clusters, _outlines(world, clusters.values()), strict=True))
    told = {id: _digest(_told(outline)).hex() for id, outline in outlines.items()}
    known = {node.name: node.properties for node in world.communities.values()}
    anew = changed({id: str(each.get("member_hash")) for id, each in known.items()}, told)
    ranks = _ranks(world, clusters)
    properties: dict[str, dict[str, PropertyValue]] = {
        id: {"level": each.level, "size": len(each.members), "rank": ranks[id], "member_hash": told[id]}
        for id, each in clusters.items()
    }
    for id in anew:
        properties[id]["title"] = _title(outlines[id])
    return _Plan(
        clusters,
        outlines,
        properties,
        tuple(anew),
        digest,
        kept=not anew and known.keys() == clusters.keys() and _shape(clusters) == _shape(earlier),
        moved={
            id: properties[node.name]
            for id, node in world.communities.items()
            if node.name in clusters and not properties[node.name].items() <= node.properties.items()
        },
    )


def _taking_part(world: _World, edges: Iterable[WeightedEdge]) -> list[str]:
    """What hangs together with something, and every service: one that nothing is known of has to be found too."""
    services = {id for id, node in world.nodes.items() if node.label is Label.SERVICE}
    return sorted(services.union(*((a, b) for a, b, _ in edges)))


def _shape(clusters: Mapping[str, Cluster]) -> dict[str, tuple[tuple[str, ...], str | None]]:
    """What each community holds, and what it is a part of."""
    ids = list(clusters)
    return {id: (each.members, None if each.parent is None else ids[each.parent]) for id, each in clusters.items()}


def _earlier(world: _World) -> dict[str, Cluster]:
    """The communities that the graph holds now, by their stable ids, coarsest first."""
    levels = {id: int(_number(node.properties.get("level", 0))) for id, node in world.communities.items()}
    members: defaultdict[str, set[str]] = defaultdict(set)
    above: dict[str, str] = {}
    for source, target in world.pairs[EdgeType.IN_COMMUNITY]:
        if target in levels and source in world.nodes:
            members[target].add(source)
        elif target in levels and levels.get(source) == levels[target] + 1:
            above[source] = target
    for id in sorted(levels, key=lambda id: -levels[id]):
        if id in above:
            members[above[id]] |= members[id]
    order = sorted((id for id in levels if members[id]), key=lambda id: (levels[id], min(members[id]), id))
    place = {id: number for number, id in enumerate(order)}
    return {
        world.communities[id].name: Cluster(levels[id], tuple(sorted(members[id])), place.get(above.get(id, "")))
        for id in order
    }


def _weighted(world: _World) -> Iterator[WeightedEdge]:
    for type, pairs in world.pairs.items():
        if type in WEIGHTS:
            yield from ((a, b, WEIGHTS[type]) for a, b in pairs if a in world.nodes and b in world.nodes)
    for a, b, weight in world.co_occurs:
        if a in world.nodes and b in world.nodes:
            yield a, b, WEIGHTS[EdgeType.CO_OCCURS] * weight
    mentioned: defaultdict[str, list[str]] = defaultdict(list)
    for chunk, id in world.pairs[EdgeType.MENTIONS]:
        if id in world.nodes:
            mentioned[chunk].append(id)
    for ids in mentioned.values():
        pages = [id for id in ids if world.nodes[id].label in _PAGES]
        yield from ((page, id, _NAMED_IN_PASSING) for page in pages for id in ids if id not in pages)


def _outlines(world: _World, clusters: Iterable[Cluster]) -> Iterator[Outline]:
    owners = _targets(world, world.pairs[EdgeType.OWNED_BY])
    needs = _targets(world, world.pairs[EdgeType.DEPENDS_ON])
    incidents = _targets(world, ((service, incident) for incident, service in world.pairs[EdgeType.AFFECTED]))
    for each in clusters:
        members = [world.nodes[id] for id in each.members]
        needed = Counter(id for member in each.members for id in needs.get(member, ()))
        past = {id for member in each.members for id in incidents.get(member, ())}
        past |= {node.id for node in members if node.label is Label.INCIDENT}
        yield Outline(
            members=tuple(sorted(members, key=_by_criticality)),
            owners=_most(world, Counter(id for member in each.members for id in owners.get(member, ()))),
            suppliers=_most(world, {id: count for id, count in needed.items() if count > 1}),
            incidents=tuple(node.name for node in _latest(world.nodes[id] for id in past)),
        )


def _targets(world: _World, pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    targets: defaultdict[str, set[str]] = defaultdict(set)
    for a, b in pairs:
        if b in world.nodes:
            targets[a].add(b)
    return targets


def _most(world: _World, counts: Mapping[str, int]) -> tuple[str, ...]:
    order = sorted(counts, key=lambda id: (-counts[id], world.nodes[id].name, id))
    return tuple(world.nodes[id].name for id in order)


def _latest(incidents: Iterable[Node]) -> list[Node]:
    by_name = sorted(incidents, key=lambda node: (node.name, node.id))
    return sorted(by_name, key=lambda node: str(node.properties.get("started_at", "")), reverse=True)


def _by_criticality(node: Node) -> tuple[float, str, str]:
    return -_criticality(node), node.name, node.id


def _criticality(node: Node) -> float:
    return _number(node.properties.get("criticality", 0.0))


def _number(value: PropertyValue) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _told(outline: Outline) -> list[object]:
    """What a summary can say, in an order that no score has a part in: scores move with what happens elsewhere."""
    members = sorted((node.id, node.name, node.summary) for node in outline.members)
    return [members, *(sorted(names) for names in (outline.owners, outline.suppliers, outline.incidents))]


def _digest(value: Sequence[object]) -> bytes:
    return hashlib.blake2b(json.dumps(value).encode(), digest_size=16).digest()


def _ranks(world: _World, clusters: Mapping[str, Cluster]) -> dict[str, float]:
    """In [0, 1]: half the share that its members have in all criticality and half their share in all nodes; where
    nothing is critical, the latter alone."""
    total = sum(map(_criticality, world.nodes.values()))
    ranks: dict[str, float] = {}
    for id, each in clusters.items():
        size = len(each.members) / len(world.nodes)
        critical = sum(_criticality(world.nodes[member]) for member in each.members)
        ranks[id] = round((size + critical / total) / 2 if total > 0 else size, 6)
    return ranks


def _title(outline: Outline) -> str:
    first, more = _cut(outline.members[0].name, _MAX_NAME), len(outline.members) - 1
    return f"{first} and {more:,} more" if more else first


def _facts(world: _World, plan: _Plan, summaries: Mapping[str, str], now: datetime) -> Facts:
    ids = list(plan.clusters)
    finest = {id(each) for each in at_level(list(plan.clusters.values()), len(ids))}
    edges: list[EdgeFact] = []
    for name, each in plan.clusters.items():
        here = Ref(Label.COMMUNITY, name)
        if id(each) in finest:
            nodes = (world.nodes[member] for member in each.members)
            edges += (EdgeFact(EdgeType.IN_COMMUNITY, Ref(node.label, node.name), here) for node in nodes)
        if each.parent is not None:
            edges.append(EdgeFact(EdgeType.IN_COMMUNITY, here, Ref(Label.COMMUNITY, ids[each.parent])))
    nodes = tuple(
        NodeFact(Label.COMMUNITY, name, summary=summaries.get(name, ""), properties=plan.properties[name])
        for name in ids
    )
    return Facts(SOURCE, now, nodes, tuple(edges), complete=True)


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMES
    text = ", ".join(_cut(name, _MAX_NAME) for name in names[:_NAMES])
    return f"{text} and {more:,} more" if more > 0 else text


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"
