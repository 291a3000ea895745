"""Ingesting folders into a real SQLite store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from graphrag.identity import name_key
from graphrag.ingest import IngestReport, ingest
from graphrag.model import Direction, EdgeType, Label, Node
from graphrag.open_store import open_store
from graphrag.store import GraphStore
from graphrag.traverse import blast_radius

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ORGANISATION = Path(__file__).parents[4] / "app" / "demo" / "organisation"

CATALOGUE = """
apiVersion: backstage.io/v1alpha1
kind: Group
metadata:
  name: crew
  annotations: {slack.com/bot-notify: "#crew", incident-graph/slack-channel: "#other"}
---
apiVersion: backstage.io/v1alpha1
kind: Component
metadata:
  name: till
  description: Takes money.
  annotations:
    incident-graph/aliases: "cash-desk, TILL"
    backstage.io/source-location: url:https://github.com/dock/till/tree/main/
  links:
    - {url: guides/till.md, type: runbook}
    - {url: "https://wiki.example/till", title: Wiki, type: Runbook}
    - {url: "https://boards.example/till", type: dashboard}
spec:
  owner: group:default/crew
  dependsOn: ["component:default/books", "resource:vault", scale]
  consumesApis: [rates]
---
apiVersion: backstage.io/v1alpha1
kind: Component
metadata: {name: books}
spec: {owner: crew, providesApis: [rates]}
---
apiVersion: backstage.io/v1alpha1
kind: Resource
metadata: {name: vault}
spec: {type: database, owner: crew}
"""


class CountingEmbedding:
    """Vectors of two numbers; remembers which texts it was given."""

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self.fitted = False

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded += texts
        return [[1.0, float(len(text))] for text in texts]

    async def is_fitted(self) -> bool:
        return self.fitted

    async def fit(self, texts: Sequence[str], *, refit: bool = False) -> bool:
        first, self.fitted = not self.fitted, True
        return first or refit


class Graph:
    def __init__(self, store: GraphStore, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.embedding = CountingEmbedding()
        self.runs = 0

    def put(self, files: Mapping[str, str | bytes]) -> None:
        for path, content in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content.encode() if isinstance(content, str) else content)

    async def ingest(self, *folders: Path, refit: bool = False) -> IngestReport:
        self.runs += 1
        now = NOW + timedelta(minutes=self.runs)
        return await ingest(self.store, self.embedding, "t", folders or (self.folder,), refit=refit, now=now)

    async def node(self, label: Label, name: str) -> Node:
        (node,) = (await self.store.resolve("t", [name_key(name)], [label]))[name_key(name)]
        return node

    async def names(self, label: Label) -> list[str]:
        return sorted(node.name for node in await self.store.all_nodes("t") if node.label is label)

    async def targets(self, label: Label, name: str, type: EdgeType) -> list[str]:
        node = await self.node(label, name)
        edges = await self.store.edges("t", [node.id], [type], Direction.OUT, 100)
        return sorted(found.name for found in (await self.store.nodes("t", [e.target for e in edges])).values())


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[Graph]:
    store = open_store(f"sqlite:///{tmp_path / 'graph.db'}", dimensions=2)
    await store.open()
    folder = tmp_path / "org"
    folder.mkdir()
    try:
        yield Graph(store, folder)
    finally:
        await store.close()


async def test_the_demonstration_is_ingested_whole_and_again_only_confirmed(graph: Graph) -> None:
    first = await graph.ingest(ORGANISATION)
    second = await graph.ingest(ORGANISATION)

    assert (first.dangling, first.failures) == ((), ())
    assert first.added == first.seen
    assert (second.added, second.confirmed, second.closed) == (0, first.seen, 0)
    assert (await graph.node(Label.SERVICE, "checkout")).life.confirmations == 2


async def test_the_demonstration_tells_its_story(graph: Graph) -> None:
    await graph.ingest(ORGANISATION)
    checkout = await graph.node(Label.SERVICE, "checkout-api")
    reach = await blast_radius(graph.store, "t", checkout.id)

    assert checkout.properties["repo"] == "harbour-shop/checkout-api"
    assert {"storefront-web", "mobile-bff", "returns-desk"} <= {member.name for member in reach.members}
    assert max(member.hops for member in reach.members) >= 4
    suppliers = await graph.targets(Label.SERVICE, "checkout-api", EdgeType.DEPENDS_ON)
    assert suppliers == ["cart-service", "identity-service", "ledger-db", "payments-gateway"]
    releases = await graph.targets(Label.SERVICE, "checkout-api", EdgeType.INTRODUCED_BY)
    assert max(releases) == "checkout-api v2.4.0"
    assert await graph.targets(Label.SERVICE, "fraud-scoring", EdgeType.OWNED_BY) == ["platform"]


async def test_backstage_entities_become_services_teams_and_edges(graph: Graph) -> None:
    graph.put({"catalog.yaml": CATALOGUE, "guides/till.md": "# The till\n\nPress it.\n"})
    report = await graph.ingest()
    till = await graph.node(Label.SERVICE, "cash_desk")

    assert report.failures == ()
    assert report.dangling == ("DEPENDS_ON till -> scale",)
    assert (till.name, till.aliases, till.properties["repo"]) == ("till", ("cash-desk",), "dock/till")
    assert (await graph.node(Label.TEAM, "crew")).properties == {"oncall_channel": "#crew"}
    assert await graph.targets(Label.SERVICE, "till", EdgeType.DEPENDS_ON) == ["books", "vault"]
    assert await graph.targets(Label.SERVICE, "vault", EdgeType.OWNED_BY) == ["crew"]
    runbooks = await graph.targets(Label.SERVICE, "till", EdgeType.HAS_RUNBOOK)
    assert runbooks == ["guides/till.md", "https://wiki.example/till"]
    assert (await graph.node(Label.RUNBOOK, "https://wiki.example/till")).properties["title"] == "Wiki"


async def test_what_a_folder_no_longer_says_is_closed(graph: Graph) -> None:
    graph.put({"catalog.yaml": CATALOGUE})
    await graph.ingest()
    graph.put({"catalog.yaml": CATALOGUE.replace("resource:vault", "resource:books")})
    report = await graph.ingest()

    assert report.closed == 1
    assert await graph.targets(Label.SERVICE, "till", EdgeType.DEPENDS_ON) == ["books"]


async def test_a_catalogue_that_broke_takes_nothing_out_of_the_graph(graph: Graph) -> None:
    graph.put({"catalog.yaml": CATALOGUE})
    await graph.ingest()
    graph.put({"catalog.yaml": CATALOGUE.replace("metadata: {name: vault}", "metadata: {name: vault")})
    report = await graph.ingest()

    assert report.closed == 0
    ((path, reason),) = report.failures
    assert path == "catalog.yaml"
    assert "broken YAML" in reason
    assert "vault" in await graph.names(Label.SERVICE)


async def test_pages_are_told_apart_and_linked(graph: Graph) -> None:
    graph.put(
        {
            "catalog.yaml": CATALOGUE,
            "runbooks/till/stuck.md": "# The drawer is stuck\n\nIt happens.\n\n1. Pull\n   hard. Really.\n2. Push\n",
            "pages/why.md": "---\nkind: document\nservices: [cash-desk, books]\n---\nWhy\n===\n\nBecause.\n",
            "incidents/a.md": (
                "---\ntitle: Fire\nstarted_at: 2026-01-02 03:04:05+01:00\nresolved_at: soon\nseverity: high\n"
                "service: cash-desk\nresponders: crew\nrelated: incidents/b.md\nintroduced_by: till 2.10\n---\n"
            ),
            "incidents/b.md": "# Flood\n\nWet.\n",
            "releases/r.md": "---\nservice: cash-desk\nversion: 2.10\nreleased_at: 2026-01-01\n---\n- New bell\n",
            "releases/how.md": "# How we release\n\nCarefully.\n",
        }
    )
    report = await graph.ingest()

    reason = "resolved_at is no time that can be read in one way (soon); the rest was taken"
    assert report.failures == (("incidents/a.md", reason),)
    runbook = await graph.node(Label.RUNBOOK, "runbooks/till/stuck.md")
    assert runbook.properties == {
        "path": "runbooks/till/stuck.md",
        "title": "The drawer is stuck",
        "steps_summary": "1. Pull hard. 2. Push.",
    }
    assert await graph.targets(Label.SERVICE, "till", EdgeType.DOCUMENTED_IN) == ["pages/why.md"]
    assert (await graph.node(Label.DOC, "pages/why.md")).properties["title"] == "Why"
    assert await graph.names(Label.DOC) == ["pages/why.md", "releases/how.md"]
    fire = await graph.node(Label.INCIDENT, "Fire")
    assert fire.properties["started_at"] == "2026-01-02T02:04:05+00:00"
    assert fire.properties["status"] == "resolved"
    assert await graph.targets(Label.INCIDENT, "Fire", EdgeType.AFFECTED) == ["till"]
    assert await graph.targets(Label.INCIDENT, "Fire", EdgeType.RESPONDED_BY) == ["crew"]
    assert await graph.targets(Label.INCIDENT, "Fire", EdgeType.INTRODUCED_BY) == ["till 2.10"]
    related = await graph.store.edges("t", [fire.id], [EdgeType.RELATED_TO], Direction.BOTH, 10)
    assert len(related) == 1
    release = await graph.node(Label.RELEASE, "till 2.10")
    assert (release.properties["version"], release.properties["released_at"]) == ("2.10", "2026-01-01T00:00:00+00:00")


async def test_what_is_told_of_an_incident_in_text_becomes_facts_whatever_page_is_read_first(graph: Graph) -> None:
    graph.put(
        {
            "catalog.yaml": CATALOGUE,
            "incidents/a.md": (
                "# Fire\n\nDate: 4 March 2026\nSeverity: SEV-2\nResponders: crew\nIt was like [this](b.md).\n\n"
                "## Affected services\n\n- cash-desk\n- nothing else\n\n"
                "## Timeline\n\n- 02:13 smoke\n- 02:58 resolved\n"
            ),
            "incidents/b.md": "# Flood\n\nWet.\n",
        }
    )
    report = await graph.ingest()

    assert (report.dangling, report.failures) == (("DEPENDS_ON till -> scale",), ())
    fire = await graph.node(Label.INCIDENT, "Fire")
    assert fire.properties == {
        "path": "incidents/a.md",
        "title": "Fire",
        "status": "resolved",
        "started_at": "2026-03-04T02:13:00+00:00",
        "resolved_at": "2026-03-04T02:58:00+00:00",
        "severity": "SEV-2",
    }
    assert await graph.targets(Label.INCIDENT, "Fire", EdgeType.AFFECTED) == ["till"]
    assert await graph.targets(Label.INCIDENT, "Fire", EdgeType.RESPONDED_BY) == ["crew"]
    flood = await graph.node(Label.INCIDENT, "Flood")
    related = await graph.store.edges("t", [flood.id], [EdgeType.RELATED_TO], Direction.BOTH, 10)
    assert [edge.other_end(flood.id) for edge in related] == [fire.id]


async def test_pages_of_one_folder_find_the_services_of_another(graph: Graph) -> None:
    pages, catalogue = graph.folder / "pages", graph.folder / "zz-catalogue"
    graph.put({"pages/books/lost.md": "# Lost\n", "pages/README.md": "# Here\n", "zz-catalogue/README.md": "# There\n"})
    graph.put({"zz-catalogue/all.yml": CATALOGUE})
    await graph.ingest(pages, catalogue)

    assert await graph.targets(Label.SERVICE, "books", EdgeType.DOCUMENTED_IN) == ["books/lost.md"]
    assert await graph.names(Label.DOC) == ["README.md", "books/lost.md", "pages/README.md"]


async def test_each_bad_file_costs_itself_and_is_named(graph: Graph) -> None:
    (graph.folder.parent / "secret.md").write_text("# Secret\n")
    graph.put(
        {
            "good.md": "# Good\n",
            "catalog.yaml": CATALOGUE,
            "again.yaml": "apiVersion: backstage.io/v1\nkind: Component\nmetadata: {name: Till}\n",
            "nameless.yaml": "apiVersion: backstage.io/v1\nkind: Component\nmetadata: {}\n",
            "aliased.yaml": (
                "apiVersion: backstage.io/v1\nkind: Component\n"
                "metadata: {name: pen, annotations: {incident-graph/aliases: 'vault, quill'}}\n"
            ),
            "values.yaml": "a: [unclosed\n",
            "front.md": "---\ntitle: [a\n---\n# Broken\n",
            "binary.md": b"\x89PNG\x00\x00",
            "latin.md": "caf\u00e9".encode("latin-1"),
            "large.md": b"x" * (2 * 1024 * 1024 + 1),
        }
    )
    (graph.folder / "out.md").symlink_to(graph.folder.parent / "secret.md")
    (graph.folder / "loop").symlink_to(graph.folder)
    (graph.folder / "self.md").symlink_to(graph.folder / "self.md")
    report = await graph.ingest()

    assert [path for path, _ in report.failures] == [
        "aliased.yaml",
        "binary.md",
        "catalog.yaml",
        "front.md",
        "large.md",
        "latin.md",
        "nameless.yaml",
        "out.md",
        "self.md",
    ]
    assert await graph.names(Label.DOC) == ["good.md"]
    assert (await graph.node(Label.SERVICE, "vault")).name == "vault"
    assert (await graph.node(Label.SERVICE, "quill")).name == "pen"


async def test_only_new_and_changed_entities_are_embedded_again(graph: Graph) -> None:
    graph.put({"a.md": "# Alpha\n", "b.md": "# Beta\n"})
    await graph.ingest()
    graph.put({"b.md": "# Gamma\n", "c.md": "# Delta\n"})
    graph.embedding.embedded.clear()
    await graph.ingest()
    assert sorted(graph.embedding.embedded) == ["Delta. document c.", "Gamma. document b."]

    graph.embedding.embedded.clear()
    await graph.ingest(refit=True)
    assert len(graph.embedding.embedded) == 3


async def test_a_run_that_stopped_before_its_vectors_is_made_good_by_the_next(graph: Graph) -> None:
    graph.put({"a.md": "# Alpha\n"})
    await graph.ingest()
    graph.put({"b.md": "# Beta\n"})
    works, graph.embedding.embed = graph.embedding.embed, _fails
    with pytest.raises(ConnectionError):
        await graph.ingest()
    graph.embedding.embed = works
    await graph.ingest()

    hits = await graph.store.search_vectors("t", [1.0, 1.0], 10)
    assert {hit.node.name for hit in hits} == {"a.md", "b.md"}


async def _fails(texts: Sequence[str]) -> list[list[float]]:
    raise ConnectionError(f"{len(texts)} texts")


async def test_a_folder_that_is_gone_closes_nothing(graph: Graph) -> None:
    graph.put({"catalog.yaml": CATALOGUE})
    await graph.ingest()
    graph.folder.rename(graph.folder.with_name("elsewhere"))
    report = await graph.ingest()

    assert report.closed == 0
    assert report.failures == ((".", "cannot be listed (No such file or directory)"),)
