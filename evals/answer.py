"""Asks the product: its own ingest into a store of its own, then its own way from a webhook's body to a report."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from agent.consult import consult_incident, locate_incident
from agent.parts import evidence_of
from agent.report import build
from agent.state import Consulted, Incident, Located, State
from app.main import open_graph
from app.settings import SettingsError, load_settings
from app.webhook import alert_facts, decide, title_of
from connectors.alertmanager import Meaningless, NotJson, parse_notification
from evals.case import Case, NoData
from evals.coverage import Coverage, measure
from evals.metrics import Answer, Offered
from graphrag.errors import GraphError
from graphrag.ingest import IngestReport, ingest
from graphrag.label_keys import NOTHING_TOLD, ToldKeys
from graphrag.model import Direction, EdgeType
from graphrag.rank import Weights
from graphrag.retrieve import Embed
from graphrag.store import GraphStore

TENANT = "evals"
STORES = ("sqlite", "neo4j")
_NEO4J = "neo4j-lts"


class Subject:
    """An organisation as the product knows it. `ingested` tells what the ingest saw and skipped."""

    def __init__(
        self,
        store: GraphStore,
        embed: Embed,
        ingested: IngestReport,
        weights: Weights | None = None,
        told: ToldKeys = NOTHING_TOLD,
    ) -> None:
        self._store = store
        self._embed = embed
        self._weights = weights
        self._told = told
        self.ingested = ingested

    async def answer(self, case: Case) -> Answer:
        """What the product makes of the case, before any live system is asked. Raises `NoData` when the graph fails."""
        began = time.perf_counter()
        try:
            incident = incident_of(case)
            if isinstance(incident, str):
                return Answer(resolved=False, explanation=incident)
            located = await locate_incident(self._store, self._embed, incident, lambda: 0.0, self._weights, self._told)
            consulted = await consult_incident(self._store, self._embed, incident, located, lambda: 0.0)
            seconds = time.perf_counter() - began
            owners = await self._owners([each.id for each in located.candidates])
        except GraphError as error:
            raise NoData(f"The graph failed at case {case.id}: {error}") from error
        return _answer(incident, located, consulted, owners, seconds)

    async def coverage(self, cases: Sequence[Case]) -> Coverage:
        """What answers to questions about the whole cover. Raises `NoData` when the graph fails."""
        try:
            return await measure(self._store, self._embed, TENANT, cases)
        except GraphError as error:
            raise NoData(f"The graph failed: {error}") from error

    async def _owners(self, services: Sequence[str]) -> tuple[str, ...]:
        """The teams that own these services, in this order."""
        edges = await self._store.edges(TENANT, services, [EdgeType.OWNED_BY], Direction.OUT, 1_000) if services else []
        teams = await self._store.nodes(TENANT, {edge.target for edge in edges})
        ordered = sorted(edges, key=lambda edge: services.index(edge.source))
        return tuple(dict.fromkeys(teams[edge.target].name for edge in ordered if edge.target in teams))


@contextlib.asynccontextmanager
async def subject(organisation: Path, store: str) -> AsyncIterator[Subject]:
    """The folder ingested into a fresh store that goes away afterwards. Raises `NoData`."""
    _check_folder(organisation)
    with tempfile.TemporaryDirectory(prefix="evals-") as home, _graph_url(store, Path(home)) as url:
        try:
            settings = load_settings(data_dir=Path(home), graph_url=url)
            async with open_graph(settings) as (graph, embedding):
                report = await ingest(graph, embedding, TENANT, [organisation], now=datetime.now(UTC))
                if not report.seen:
                    raise NoData(f"{organisation} holds nothing that can be ingested.")
                yield Subject(graph, embedding.embed_queries, report, settings.rank_weights, settings.told_keys)
        except SettingsError as error:
            raise NoData(f"These settings cannot work: {error}") from error
        except GraphError as error:
            raise NoData(f"The graph failed: {error}") from error


def _check_folder(organisation: Path) -> None:
    if not organisation.is_dir():
        raise NoData(f"There is no organisation in {organisation}: no such folder.")


@contextlib.contextmanager
def _graph_url(store: str, home: Path) -> Iterator[str]:
    if store == "sqlite":
        yield f"sqlite:///{home / 'graph.sqlite'}"
        return
    from tests.servers.neo4j_server import neo4j_server  # not where the tests are not installed
    from tests.servers.process import ServerFailed, ServerMissing

    try:
        with neo4j_server(_NEO4J) as url:
            yield url
    except (ServerMissing, ServerFailed) as error:
        raise NoData(f"Neo4j cannot be run: {error}. `tests/servers/install {_NEO4J}` fetches it.") from error


def incident_of(case: Case) -> Incident | str:
    """The incident as the service would open it, or why it would open none."""
    now = datetime.now(UTC)
    if case.webhook is None:
        return Incident(id=case.id, tenant=TENANT, opened_at=now, title=case.question[:300], question=case.question)
    try:
        notification = parse_notification(case.body)
    except (NotJson, Meaningless) as error:
        return str(error)
    decision = decide(notification, None, False, case.id)
    if decision.action != "new":
        return decision.reason
    alerts = alert_facts(notification)
    return Incident(id=case.id, tenant=TENANT, opened_at=now, title=title_of(notification), alerts=alerts)


def _answer(
    incident: Incident, located: Located, consulted: Consulted, owners: Sequence[str], seconds: float
) -> Answer:
    report = build(State(incident=incident, events=(located, consulted)), status="complete")
    reported = [runbook.path for runbook in report.runbooks]
    searched = [each.text("path") or each.text("url") or each.name for each in located.documents]
    around = (*consulted.runbooks, *consulted.documents, *consulted.dependencies, *consulted.dependents)
    entities = (*located.candidates, *located.documents, *consulted.releases, *consulted.incidents, *around)
    entities = (*entities, *evidence_of(consulted))
    team = report.owner.team or ""
    return Answer(
        resolved=located.service is not None,
        explanation=located.explanation,
        services=tuple(Offered(each.name, each.score, each.reasons) for each in located.candidates),
        team=team,
        teams=tuple(dict.fromkeys((*([team] if team else ()), *owners))),
        runbooks=tuple(dict.fromkeys((*reported, *searched))),
        entities=frozenset((*(each.name for each in entities), *owners)),
        milliseconds=1_000 * seconds,
        route=located.route,
        ways=tuple(tuple(node.name for node in way.nodes) for way in consulted.ways),
    )
