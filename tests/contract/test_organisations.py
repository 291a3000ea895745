"""Two real organisations, ingested whole: what their graph must be, on SQLite and on Neo4j.

The data lies beside the checkout and is read, never copied. What is expected is computed here from the files they are
made of, by means that share nothing with the product: plain sets and a walk by hand.
"""

import asyncio
import json
import shutil
import uuid
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml

from evals import gitlab
from graphrag.embed import Embedding, open_embedding
from graphrag.ingest import IngestReport, ingest
from graphrag.model import Direction, Edge, EdgeType, Label, Node
from graphrag.open_store import open_store
from graphrag.store import GraphStore
from graphrag.traverse import blast_radius
from tests.contract.graphs import NEO4J, NEO4J_IDS

NOW = datetime(2026, 3, 1, 3, tzinfo=UTC)
DIMENSIONS = 384
HOPS = 10

Pair = tuple[str, str]


@dataclass
class Organisation:
    """A folder in the graph of a tenant of its own."""

    store: GraphStore
    embedding: Embedding
    tenant: str
    folder: Path
    runs: int = 0

    async def ingest(self) -> IngestReport:
        self.runs += 1
        now = NOW + timedelta(days=self.runs)
        return await ingest(self.store, self.embedding, self.tenant, [self.folder], now=now)

    async def nodes(self, *labels: Label) -> dict[str, Node]:
        return {node.id: node for node in await self.store.all_nodes(self.tenant, labels)}

    async def edges(self, type: EdgeType) -> list[Edge]:
        ids = list(await self.nodes(Label.SERVICE))
        return await self.store.edges(self.tenant, ids, [type], Direction.OUT, 10_000)

    async def pairs(self, type: EdgeType) -> set[Pair]:
        nodes = await self.nodes()
        return {(nodes[edge.source].name, nodes[edge.target].name) for edge in await self.edges(type)}


@pytest.fixture(scope="module", params=["sqlite", NEO4J[0]], ids=["sqlite", NEO4J_IDS[0]])
async def opened(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[GraphStore, Embedding]]:
    file = tmp_path_factory.mktemp("graph") / "graph.db"
    url = request.getfixturevalue(request.param) if request.param in NEO4J else f"sqlite:///{file}"
    store = open_store(url, dimensions=DIMENSIONS, refit=True)
    await store.open()
    yield store, await open_embedding("hashed", store, dimensions=DIMENSIONS)
    await store.close()


@pytest.fixture(scope="module")
async def runbooks(
    opened: tuple[GraphStore, Embedding], shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Organisation:
    """GitLab's services, teams and pages, in the formats that anybody would write them in."""
    out = tmp_path_factory.mktemp("gitlab")
    await asyncio.to_thread(gitlab.convert, shared_data / "gitlab-runbooks", out)
    organisation = Organisation(*opened, f"tenant {uuid.uuid4().hex}", out / "org")
    report = await organisation.ingest()
    assert report.added == report.seen
    return organisation


def truth(shared_data: Path) -> tuple[set[str], dict[str, dict[str, str | None]], list[Pair]]:
    """The services, the teams' channels by name, and who needs whom without self-loops."""
    data = shared_data / "gitlab-runbooks"
    catalogue = yaml.safe_load((data / "services" / "service-catalog.yml").read_text())["services"]
    teams = yaml.safe_load((data / "services" / "teams.yml").read_text())["teams"]
    channels = {team["name"]: team for team in teams}
    entries = json.loads((data / "truth" / "service_dependencies.json").read_text())
    needs = [(e["type"], to) for e in entries for to, meant in e["deps"].items() if meant and to != e["type"]]
    return {service["name"] for service in catalogue}, channels, needs


async def test_every_service_is_there_once_with_its_owner_and_the_owners_channel(
    runbooks: Organisation, shared_data: Path
) -> None:
    services, teams, _ = truth(shared_data)
    assert {node.name for node in (await runbooks.nodes(Label.SERVICE)).values()} == services
    assert len(services) == 109
    owned = await runbooks.pairs(EdgeType.OWNED_BY)
    assert len({service for service, _ in owned}) == len(owned)
    for node in (await runbooks.nodes(Label.TEAM)).values():
        entry = teams.get(node.name)
        if entry is not None:
            channel = entry.get("slack_alerts_channel") or entry.get("slack_channel") or ""
            assert str(node.properties.get("oncall_channel", "")).lstrip("#") == channel.lstrip("#"), node.name


async def test_every_page_is_there(runbooks: Organisation) -> None:
    written = {path.relative_to(runbooks.folder).as_posix() for path in runbooks.folder.rglob("*.md")}
    pages = await runbooks.nodes(Label.RUNBOOK, Label.DOC, Label.INCIDENT)
    assert len(written) >= 654
    assert {str(node.properties.get("path", "")) for node in pages.values()} >= written


async def test_who_needs_whom_is_exactly_what_is_written(runbooks: Organisation, shared_data: Path) -> None:
    services, _, needs = truth(shared_data)
    assert await runbooks.pairs(EdgeType.DEPENDS_ON) == {
        (source, target) for source, target in needs if {source, target} <= services
    }


async def test_the_blast_radius_of_every_service_is_the_closure_hop_by_hop(runbooks: Organisation) -> None:
    services = await runbooks.nodes(Label.SERVICE)
    needed_by: dict[str, set[str]] = {}
    for edge in await runbooks.edges(EdgeType.DEPENDS_ON):
        needed_by.setdefault(edge.target, set()).add(edge.source)
    for id in services:
        reach = await blast_radius(runbooks.store, runbooks.tenant, id, hops=HOPS, cap=1_000)
        assert {member.id: member.hops for member in reach.members} == closure(id, needed_by), services[id].name
        assert not reach.truncated


def closure(start: str, needed_by: dict[str, set[str]]) -> dict[str, int]:
    """Who needs `start`, over how many hops."""
    hops: dict[str, int] = {}
    frontier = {start}
    for hop in range(1, HOPS + 1):
        frontier = {by for id in frontier for by in needed_by.get(id, ())} - hops.keys() - {start}
        hops |= dict.fromkeys(frontier, hop)
    return hops


async def test_an_unchanged_run_confirms_everything_and_a_changed_page_changes_itself_alone(
    runbooks: Organisation,
) -> None:
    before = await runbooks.nodes()
    again = await runbooks.ingest()
    assert (again.read, again.added, again.closed) == (0, 0, 0)
    confirmed = await runbooks.nodes()
    rises = {
        confirmed[id].life.confirmations - node.life.confirmations
        for id, node in before.items()
        if node.label is not Label.COMMUNITY
    }
    assert rises == {1}

    page = runbooks.folder / "docs" / "patroni" / "postgres.md"
    page.write_text(page.read_text() + "\nOne more sentence about vacuuming.\n")
    report = await runbooks.ingest()
    assert report.read == 1
    touched = {
        node.properties.get("path") or node.properties.get("source")
        for id, node in (await runbooks.nodes()).items()
        if node.label is not Label.COMMUNITY and (id not in before or node.summary != before[id].summary)
    }
    assert touched <= {"docs/patroni/postgres.md"}


async def test_the_demo_shops_edges_come_out_of_its_compose_files_alone(
    opened: tuple[GraphStore, Embedding], shared_data: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    data = shared_data / "otel-demo"
    for path in data.iterdir():
        if path.name.startswith(("compose", ".env")):
            shutil.copy(path, folder)
    shop = Organisation(*opened, f"tenant {uuid.uuid4().hex}", folder)
    await shop.ingest()
    found = await shop.pairs(EdgeType.DEPENDS_ON)
    services = {node.name for node in (await shop.nodes(Label.SERVICE)).values()}
    told = json.loads((data / "truth" / "service_dependencies.json").read_text())
    wanted = {(source, target) for source, target in told if {source, target} <= services}
    # The files say who sends telemetry to the collector; the truth leaves that out.
    judged = {pair for pair in found if "otel-collector" not in pair}
    assert share(judged, wanted) >= 0.95
    assert share(wanted, found) == 1.0


def share(of: Iterable[Pair], among: set[Pair]) -> float:
    pairs = list(of)
    return sum(pair in among for pair in pairs) / len(pairs)
