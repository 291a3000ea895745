"""What an incident teaches the graph: that it happened, what it affected, who responded, what came before it."""

from __future__ import annotations

from datetime import UTC, datetime

from agent.report import Report
from agent.state import Incident
from connectors.reading import time_of
from graphrag.errors import GraphError
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, PropertyValue, Ref
from graphrag.store import GraphStore

SOURCE = "incidents"


async def learn(graph: GraphStore, incident: Incident, report: Report, resolved_at: datetime | None) -> str | None:
    """Write the incident into the graph; the same incident again only updates it. The error, if the graph is down."""
    try:
        await graph.write(incident.tenant, facts_of(incident, report, resolved_at))
    except GraphError as error:
        return str(error)
    return None


def facts_of(incident: Incident, report: Report, resolved_at: datetime | None) -> Facts:
    """The incident as facts. Only a service that was resolved with certainty is said to be affected."""
    # Named by its id: a title changes while alerts come and go, and another name would be another incident.
    name = incident.id
    properties: dict[str, PropertyValue] = {
        "title": report.title,
        "started_at": incident.started_at.isoformat(),
        "status": "resolved" if resolved_at else "open",
        "severity": next((alert.labels["severity"] for alert in incident.alerts if "severity" in alert.labels), ""),
        "affected": report.service.name or "",
    }
    if resolved_at:
        properties["resolved_at"] = resolved_at.isoformat()
    here = Ref(Label.INCIDENT, name)
    edges: list[EdgeFact] = []
    if report.service.name:
        edges.append(EdgeFact(EdgeType.AFFECTED, here, Ref(Label.SERVICE, report.service.name)))
        if report.owner.team:
            edges.append(EdgeFact(EdgeType.RESPONDED_BY, here, Ref(Label.TEAM, report.owner.team)))
    node = NodeFact(Label.INCIDENT, name, summary=f"{report.title}. {report.verdict}", properties=properties)
    seen_at = resolved_at or time_of(str(properties["started_at"])) or datetime.now(UTC)
    return Facts(source=SOURCE, seen_at=seen_at, nodes=(node,), edges=tuple(edges))
