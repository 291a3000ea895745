"""Finds an incident's place in the graph and reads what the graph knows around it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime

from agent.breadth import consult_paths, consult_whole, known
from agent.known import TeamClaim
from agent.redact import redact
from agent.state import CandidateService, Consulted, Incident, Known, Located
from graphrag.agreement import settle
from graphrag.label_keys import NOTHING_TOLD, ToldKeys
from graphrag.model import Direction, Edge, EdgeType, Label, Node
from graphrag.pages import Anchor, FoundPage, find_pages
from graphrag.query import query_of
from graphrag.rank import Weights
from graphrag.retrieve import Candidate, Embed, Signal, Signals, locate, signals_from_alerts, signals_from_question
from graphrag.routing import mentions, route
from graphrag.store import GraphStore
from graphrag.traverse import Member, blast_radius, suppliers

HOPS = 2
"""How far DEPENDS_ON is followed to suppliers; the blast radius goes further, see `BLAST_HOPS`."""
BLAST_HOPS = 5
CAP = 200
MAX_EDGES = 1_000
MAX_TEAMS = 200
MAX_PAGES = 30
MAX_PASSAGE = 300
"""Characters of the passage that a found page is shown with: enough to see why it was found."""

Elapsed = Callable[[], float]

_AROUND = (
    EdgeType.OWNED_BY,
    EdgeType.HAS_RUNBOOK,
    EdgeType.DOCUMENTED_IN,
    EdgeType.INTRODUCED_BY,
)
_WHO_AND_HOW = (EdgeType.OWNED_BY, EdgeType.HAS_RUNBOOK)


async def locate_incident(
    store: GraphStore,
    embed: Embed,
    incident: Incident,
    elapsed: Elapsed,
    weights: Weights | None = None,
    told: ToldKeys = NOTHING_TOLD,
) -> Located:
    """Ask every entry point which service the incident is about, and find the pages that help. `told`: the keys of
    labels that the organisation itself says hold services or teams. Raises `GraphError`."""
    signals = signals_of(incident, told)
    location = await locate(store, embed, incident.tenant, signals, told=told)
    anchors = [Anchor(each.node, each.score) for each in location.candidates]
    query = query_of(signals)
    pages = await find_pages(store, embed, incident.tenant, query, anchors, weights, now=datetime.now(UTC))
    location = await settle(store, incident.tenant, signals, query, location, pages, told)
    asked = incident.question if not incident.alerts and not incident.service else ""
    way = route(asked, await mentions(store, incident.tenant, asked))
    ends = await store.nodes(incident.tenant, [end.node_id for end in way.ends]) if way.ends else {}
    return Located(
        at=datetime.now(UTC),
        seconds=elapsed(),
        certainty=location.certainty if way.kind == "point" else "unresolved",
        candidates=tuple(_candidate(each) for each in location.candidates[:10]),
        documents=tuple(_page(each) for each in pages[:MAX_PAGES]),
        explanation=location.explanation if way.kind == "point" else way.reason,
        route=way.kind,
        ends=tuple(known(ends[end.node_id]) for end in way.ends if end.node_id in ends),
        claims=tuple(TeamClaim(team=known(each.team), by=each.by, says=each.says) for each in location.claims),
        owner=known(location.owner.team) if location.owner.team and way.kind == "point" else None,
        owner_known_by=location.owner.says if way.kind == "point" else "",
    )


def signals_of(incident: Incident, told: ToldKeys = NOTHING_TOLD) -> Signals:
    """What the incident says about which service it is."""
    if incident.service:
        return Signals(names=(Signal(origin="service", value=incident.service),), text=incident.service)
    if not incident.alerts:
        return signals_from_question(incident.question)
    return signals_from_alerts(
        labels=[alert.labels for alert in incident.alerts],
        annotations=[alert.annotations for alert in incident.alerts],
        expressions=[alert.expression for alert in incident.alerts],
        told=told,
    )


async def consult_incident(
    store: GraphStore, embed: Embed, incident: Incident, located: Located, elapsed: Elapsed
) -> Consulted:
    """Read what the graph knows of what the incident is about: a service, two ends, or the whole. Raises
    `GraphError`."""
    if located.route == "whole":
        return await consult_whole(store, embed, incident.tenant, incident.question, elapsed)
    if located.route == "paths" and len(located.ends) == 2:
        return await consult_paths(store, incident.tenant, located.ends, elapsed)
    return await consult_graph(store, incident.tenant, located.service.id if located.service else None, elapsed)


async def consult_graph(store: GraphStore, tenant: str, service_id: str | None, elapsed: Elapsed) -> Consulted:
    """Read owner, suppliers to two hops, blast radius, runbooks, documents, releases and past incidents.

    The runbooks and owners of the suppliers are read too: the fix may be theirs. Raises `GraphError`.
    """
    if service_id is None:
        return Consulted(at=datetime.now(UTC), seconds=elapsed())
    needs = await suppliers(store, tenant, service_id, hops=HOPS, cap=CAP)
    hurts = await blast_radius(store, tenant, service_id, hops=BLAST_HOPS, cap=CAP)
    near = [member.id for member in needs.members]
    edges = await store.edges(tenant, [service_id], _AROUND, Direction.BOTH, MAX_EDGES)
    edges += await store.edges(tenant, [service_id], [EdgeType.AFFECTED], Direction.IN, MAX_EDGES)
    theirs = await store.edges(tenant, near, _WHO_AND_HOW, Direction.OUT, MAX_EDGES) if near else []
    ends = {*(edge.other_end(service_id) for edge in edges), *(edge.target for edge in theirs)}
    reached = {member.id for member in (*needs.members, *hurts.members)}
    nodes = await store.nodes(tenant, {service_id, *ends, *reached})
    service = nodes.get(service_id)
    troubles = await _open_incidents(store, tenant, near)
    teams = await store.list_nodes(tenant, [Label.TEAM], limit=MAX_TEAMS)
    around = _neighbours(edges, nodes, service_id)
    owners = around(EdgeType.OWNED_BY)
    return Consulted(
        at=datetime.now(UTC),
        seconds=elapsed(),
        service=known(service) if service else None,
        team=owners[0] if owners else None,
        teams=tuple(known(team) for team in teams.nodes),
        dependencies=tuple(_supplier(each, theirs, nodes) for each in needs.members if each.id in nodes),
        dependents=tuple(_member(each, nodes) for each in hurts.members if each.id in nodes),
        truncated=hurts.truncated,
        suppliers_truncated=needs.truncated,
        runbooks=around(EdgeType.HAS_RUNBOOK),
        documents=around(EdgeType.DOCUMENTED_IN),
        releases=_newest_first(around(EdgeType.INTRODUCED_BY), "released_at"),
        incidents=_newest_first(around(EdgeType.AFFECTED), "started_at"),
        supplier_incidents=troubles,
    )


async def _open_incidents(store: GraphStore, tenant: str, services: Collection[str]) -> tuple[Known, ...]:
    """Incidents that hit these services and are not over: the cause may be one of them."""
    if not services:
        return ()
    edges = await store.edges(tenant, services, [EdgeType.AFFECTED], Direction.IN, MAX_EDGES)
    nodes = await store.nodes(tenant, {edge.source for edge in edges})
    found = (known(node) for node in nodes.values())
    return _newest_first((each for each in found if each.text("status") == "open"), "started_at")


def _neighbours(
    edges: Collection[Edge], nodes: dict[str, Node], service_id: str
) -> Callable[[EdgeType], tuple[Known, ...]]:
    """The neighbours over one type of edge, most confirmed first, as the store ordered them."""

    def over(edge_type: EdgeType) -> tuple[Known, ...]:
        ends = dict.fromkeys(edge.other_end(service_id) for edge in edges if edge.type is edge_type)
        return tuple(known(nodes[end]) for end in ends if end in nodes)

    return over


def _newest_first(found: Iterable[Known], key: str) -> tuple[Known, ...]:
    return tuple(sorted(found, key=lambda each: each.text(key), reverse=True))


def _candidate(candidate: Candidate) -> CandidateService:
    return CandidateService(
        id=candidate.node.id,
        name=candidate.node.name,
        score=candidate.score,
        reasons=candidate.reasons,
        parts=candidate.parts,
    )


def _page(found: FoundPage) -> Known:
    parts = {name: round(part, 4) for name, part in found.parts.items()}
    passage = " ".join(redact(found.passage).split())
    shown = passage if len(passage) <= MAX_PASSAGE else f"{passage[: MAX_PASSAGE - 1].rstrip()}…"
    return known(found.node).model_copy(update={"score": round(found.score, 4), "parts": parts, "passage": shown})


def _supplier(member: Member, edges: Collection[Edge], nodes: dict[str, Node]) -> Known:
    """A supplier with its owner and its runbooks: the fix may be theirs."""
    known = _member(member, nodes)
    ends = [(edge.type, nodes[edge.target]) for edge in edges if edge.source == known.id and edge.target in nodes]
    owner = next((node for kind, node in ends if kind is EdgeType.OWNED_BY), None)
    runbooks = tuple(
        str(node.properties.get("path") or node.properties.get("url") or node.name)
        for kind, node in ends
        if kind is EdgeType.HAS_RUNBOOK
    )
    return known.model_copy(update={"owner": owner.name if owner else "", "runbooks": runbooks})


def _member(member: Member, nodes: dict[str, Node]) -> Known:
    return known(nodes[member.id], hops=member.hops, path=member.path)
