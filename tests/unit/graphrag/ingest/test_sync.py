"""What a later run costs and changes, on a real SQLite store."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from graphrag.identity import name_key
from graphrag.ingest import AlreadyRunning, IngestReport, Progress, ingest, known_places, last_run
from graphrag.ingest.exclusive import exclusive
from graphrag.ingest.reading import Reading
from graphrag.ingest.sync import PAGES_AT_ONCE
from graphrag.model import Direction, Edge, EdgeFact, EdgeType, Facts, Label, Node, NodeFact, Ref
from graphrag.open_store import open_store
from graphrag.store import GraphStore

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
CATALOGUE = """
apiVersion: backstage.io/v1alpha1
kind: Component
metadata: {name: till}
spec: {owner: crew, dependsOn: [books]}
---
apiVersion: backstage.io/v1alpha1
kind: Component
metadata: {name: books}
spec: {owner: crew}
---
apiVersion: backstage.io/v1alpha1
kind: Group
metadata: {name: crew}
"""


class Lengths:
    """An embedding of two numbers."""

    def __init__(self) -> None:
        self.embedded: list[str] = []
        self._fitted = False

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.embedded += texts
        return [[1.0, float(len(text))] for text in texts]

    async def is_fitted(self) -> bool:
        return self._fitted

    async def fit(self, texts: Sequence[str], *, refit: bool = False) -> bool:
        self._fitted = True
        return True


class Organisation:
    def __init__(self, store: GraphStore, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.embedding = Lengths()
        self.runs = 0

    def put(self, path: str, text: str) -> None:
        target = self.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    async def run(self, *folders: Path) -> IngestReport:
        self.runs += 1
        now = NOW + timedelta(hours=self.runs)
        self.embedding.embedded.clear()
        return await ingest(self.store, self.embedding, "t", folders or (self.folder,), now=now)

    async def node(self, label: Label, name: str) -> Node | None:
        found = (await self.store.resolve("t", [name_key(name)], [label])).get(name_key(name), [])
        return found[0] if found else None

    async def edges_from(self, label: Label, type: EdgeType) -> list[tuple[str, str, Edge]]:
        from_there = {node.name for node in await self.store.all_nodes("t", [label])}
        return [each for each in await self.edges(type) if each[0] in from_there]

    async def edges(self, type: EdgeType) -> list[tuple[str, str, Edge]]:
        nodes = {node.id: node for node in await self.store.all_nodes("t")}
        edges = await self.store.edges("t", list(nodes), [type], Direction.OUT, 1000)
        return sorted((nodes[each.source].name, nodes[each.target].name, each) for each in edges)

    async def ends(self, type: EdgeType) -> list[tuple[str, str]]:
        return [(source, target) for source, target, _ in await self.edges(type)]


@pytest.fixture
async def organisation(tmp_path: Path) -> AsyncIterator[Organisation]:
    store = open_store(f"sqlite:///{tmp_path / 'graph.db'}", dimensions=2)
    await store.open()
    (tmp_path / "org").mkdir()
    try:
        yield Organisation(store, tmp_path / "org")
    finally:
        await store.close()


# What a second run costs ----------------------------------------------------------------------------------------------


async def test_an_unchanged_run_reads_nothing_adds_nothing_and_confirms_everything(organisation: Organisation) -> None:
    organisation.put("catalog.yaml", CATALOGUE)
    organisation.put("runbooks/till.md", "# Till\n\n1. Stop.\n2. Start.\n3. Look.\n")
    first = await organisation.run()
    second = await organisation.run()
    assert (second.read, second.unchanged) == (0, 1)
    assert (second.added, second.closed, second.confirmed) == (0, 0, first.added)
    assert organisation.embedding.embedded == []
    till, (_, _, needs) = (
        await organisation.node(Label.SERVICE, "till"),
        (await organisation.edges(EdgeType.DEPENDS_ON))[0],
    )
    assert till is not None
    assert (till.life.confirmations, needs.life.confirmations) == (2, 2)
    assert till.life.last_seen == NOW + timedelta(hours=2)


async def test_a_changed_page_leaves_the_facts_and_vectors_of_every_other_as_they_were(
    organisation: Organisation,
) -> None:
    for name in ("a", "b", "c"):
        organisation.put(f"{name}.md", f"# {name}\n\nText of {name}.\n")
    await organisation.run()
    before = {node.name: node for node in await organisation.store.all_nodes("t") if node.label is Label.DOC}
    organisation.put("b.md", "# b\n\nOther text.\n")
    report = await organisation.run()
    assert (report.read, report.unchanged) == (1, 2)
    assert organisation.embedding.embedded
    assert all("b" in text.split(":")[0].split(".")[0] for text in organisation.embedding.embedded)
    after = {node.name: node for node in await organisation.store.all_nodes("t") if node.label is Label.DOC}
    assert {name: node.summary for name, node in after.items() if name != "b.md"} == {
        name: node.summary for name, node in before.items() if name != "b.md"
    }


async def test_a_passage_that_is_gone_from_a_page_is_closed(organisation: Organisation) -> None:
    organisation.put("a.md", "# A\n\n## One\n\ntext\n\n## Two\n\ntext\n")
    await organisation.run()
    assert await organisation.node(Label.CHUNK, "a.md#1") is not None
    organisation.put("a.md", "# A\n\n## One\n\ntext\n")
    report = await organisation.run()
    assert report.closed == 2  # the chunk, and that it mentions its page
    assert await organisation.node(Label.CHUNK, "a.md#1") is None


async def test_a_deleted_page_closes_what_it_alone_said(organisation: Organisation) -> None:
    organisation.put("catalog.yaml", CATALOGUE)
    for name in ("one", "two"):
        organisation.put(f"releases/{name}.md", "---\nservice: till\nversion: 1.2\n---\nNotes.\n")
    organisation.put("gone.md", "# Gone\n\nText.\n")
    await organisation.run()
    (organisation.folder / "gone.md").unlink()
    (organisation.folder / "releases" / "two.md").unlink()
    report = await organisation.run()
    assert report.gone == 2
    assert await organisation.node(Label.DOC, "gone.md") is None
    release = await organisation.node(Label.RELEASE, "till 1.2")
    assert release is not None
    assert release.life.sources == ("page:org/releases/one.md",)
    assert ("till", "till 1.2") in await organisation.ends(EdgeType.INTRODUCED_BY)


async def test_a_renamed_page_keeps_its_identity_and_its_past(organisation: Organisation) -> None:
    organisation.put("catalog.yaml", CATALOGUE)
    organisation.put("runbooks/till.md", "# Till\n\nText.\n")
    await organisation.run()
    before = await organisation.node(Label.RUNBOOK, "runbooks/till.md")
    (organisation.folder / "runbooks" / "till.md").rename(organisation.folder / "runbooks" / "the-till.md")
    report = await organisation.run()
    after = await organisation.node(Label.RUNBOOK, "runbooks/till.md")
    assert before is not None
    assert after is not None
    assert (after.id, after.life.valid_from) == (before.id, before.life.valid_from)
    assert after.properties["path"] == "runbooks/the-till.md"
    assert after.life.sources == ("page:org/runbooks/the-till.md",)
    assert report.added == 0
    # A new page at the old place is another thing.
    organisation.put("runbooks/till.md", "# Another\n\nOther text.\n")
    await organisation.run()
    other = await organisation.node(Label.RUNBOOK, "org/runbooks/till.md")
    assert other is not None
    assert other.id != before.id


async def test_a_moved_postmortem_stays_the_incident_it_was(organisation: Organisation) -> None:
    page = "---\nkind: postmortem\nstarted_at: 2026-01-01T00:00:00Z\n---\n# The long night\n\nText.\n"
    organisation.put("postmortems/a.md", page)
    await organisation.run()
    before = await organisation.node(Label.INCIDENT, "The long night")
    (organisation.folder / "postmortems" / "a.md").rename(organisation.folder / "postmortems" / "b.md")
    await organisation.run()
    after = await organisation.node(Label.INCIDENT, "The long night")
    assert before is not None
    assert after is not None
    assert after.id == before.id


async def test_what_a_past_incident_tells_leads_to_the_passage_that_names_it(organisation: Organisation) -> None:
    organisation.put("catalog.yaml", CATALOGUE)
    organisation.put(
        "postmortems/night.md",
        "# The long night\n\nDate: 2026-01-04\n\n## Root cause\n\nA disk was full.\n\n"
        "## Affected services\n\n- `till`\n",
    )
    await organisation.run()
    ((incident, service, edge),) = await organisation.edges_from(Label.INCIDENT, EdgeType.AFFECTED)
    assert (incident, service) == ("The long night", "till")
    (chunk,) = (await organisation.store.nodes("t", edge.chunks)).values()
    assert "Affected services" in chunk.summary


async def test_a_page_is_read_again_when_the_names_it_may_speak_of_have_changed(organisation: Organisation) -> None:
    organisation.put("catalog.yaml", CATALOGUE)
    organisation.put("runbooks/scale.md", "# Scale\n\nText.\n")
    await organisation.run()
    assert await organisation.ends(EdgeType.HAS_RUNBOOK) == []
    organisation.put(
        "more.yaml",
        "apiVersion: backstage.io/v1alpha1\nkind: Component\nmetadata: {name: scale}\nspec: {owner: crew}\n",
    )
    report = await organisation.run()
    assert report.read == 1
    assert await organisation.ends(EdgeType.HAS_RUNBOOK) == [("scale", "runbooks/scale.md")]


async def test_a_page_that_broke_keeps_what_it_said(organisation: Organisation) -> None:
    organisation.put("a.md", "---\ntitle: A\n---\nText.\n")
    await organisation.run()
    organisation.put("a.md", "---\ntitle: [\n---\nText.\n")
    report = await organisation.run()
    assert report.closed == 0
    assert [path for path, _ in report.failures] == ["a.md"]
    assert await organisation.node(Label.DOC, "a.md") is not None


async def test_a_rule_file_that_broke_closes_no_alert(organisation: Organisation) -> None:
    organisation.put(
        "rules.yaml", "groups:\n- name: g\n  rules:\n  - {alert: TillDown, expr: up == 0, labels: {service: till}}\n"
    )
    await organisation.run()
    organisation.put("rules.yaml", "groups:\n- name: g\n  rules:\n  - {alert: TillDown, expr: up == 0, labels: [}\n")
    report = await organisation.run()
    assert report.closed == 0
    assert [path for path, _ in report.failures] == ["rules.yaml"]
    assert await organisation.node(Label.ALERT, "TillDown") is not None


# What nobody defines --------------------------------------------------------------------------------------------------


async def test_a_name_that_nobody_defines_is_kept_as_unresolved_until_somebody_does(organisation: Organisation) -> None:
    organisation.put("catalog.yaml", CATALOGUE.replace("[books]", "[books, vault]"))
    first = await organisation.run()
    assert first.dangling == ("DEPENDS_ON till -> vault",)
    assert await organisation.node(Label.SERVICE, "vault") is None
    unresolved = await organisation.node(Label.ENTITY, "vault")
    assert unresolved is not None
    assert unresolved.properties["unresolved"] is True
    assert ("till", "vault") in await organisation.ends(EdgeType.RELATION)
    assert (await organisation.run()).dangling == first.dangling

    organisation.put(
        "vault.yaml",
        "apiVersion: backstage.io/v1alpha1\nkind: Resource\nmetadata: {name: vault}\nspec: {owner: crew}\n",
    )
    last = await organisation.run()
    assert last.dangling == ()
    assert ("till", "vault") in await organisation.ends(EdgeType.DEPENDS_ON)
    assert await organisation.node(Label.ENTITY, "vault") is None


async def test_pages_may_speak_of_what_a_later_page_defines(organisation: Organisation) -> None:
    front = "---\nkind: postmortem\nstarted_at: 2026-01-01T00:00:00Z\n{}---\n# {}\n"
    organisation.put("postmortems/a.md", front.format("related: postmortems/b.md\n", "First"))
    organisation.put("postmortems/b.md", front.format("", "Second"))
    report = await organisation.run()
    assert report.dangling == ()
    ((_, _, related),) = await organisation.edges(EdgeType.RELATED_TO)
    assert related.life.confirmations == 1


# Sources of one folder ------------------------------------------------------------------------------------------------


async def test_code_cluster_and_monitoring_name_one_service(organisation: Organisation) -> None:
    """The repository calls it `till`, the cluster `till-server`, the dashboard and the metrics `till_server`."""
    organisation.put(
        "catalog.yaml",
        CATALOGUE.replace(
            "metadata: {name: till}",
            "metadata: {name: till, annotations: {incident-graph/aliases: till-server, "
            "github.com/project-slug: dock/till}}",
        ),
    )
    organisation.put(
        "deploy/till.yaml",
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: till-server}\nspec:\n  template:\n    spec:\n"
        "      containers:\n      - {name: main, image: x, env: [{name: BOOKS_URL, value: 'http://books:80'}]}\n",
    )
    organisation.put(
        "rules.yml",
        "groups:\n- name: g\n  rules:\n  - {alert: TillSlow, expr: 'latency{service=\"till_server\"} > 1', "
        "annotations: {runbook_url: 'https://git.example/runbooks/till.md'}}\n",
    )
    organisation.put("runbooks/till.md", "# When the till is slow\n\nLook.\n")
    board = {"title": "Till", "uid": "x", "panels": [{"targets": [{"expr": 'rate(sold{service="till_server"}[5m])'}]}]}
    organisation.put("boards/till.json", json.dumps(board))
    organisation.put("CODEOWNERS", "/deploy/ @dock/ops\n")
    await organisation.run()

    services = sorted(node.name for node in await organisation.store.all_nodes("t", [Label.SERVICE]))
    assert services == ["books", "till"]
    till = await organisation.node(Label.SERVICE, "till_server")
    assert till is not None
    assert till.properties["repo"] == "dock/till"
    assert await organisation.ends(EdgeType.FIRES_ON) == [("TillSlow", "till")]
    assert ("TillSlow", "runbooks/till.md") in await organisation.ends(EdgeType.HAS_RUNBOOK)
    assert await organisation.ends(EdgeType.DEPENDS_ON) == [("till", "books")]
    assert [source for source, _ in await organisation.ends(EdgeType.DOCUMENTED_IN)] == ["till"]


async def test_two_owners_are_told_and_the_catalogues_counts(organisation: Organisation) -> None:
    organisation.put("catalog.yaml", CATALOGUE)
    organisation.put("CODEOWNERS", "/till/ @dock/ops\n/scale/ @dock/ops\n")
    report = await organisation.run()
    assert report.conflicts == ("till is owned by crew and by ops",)
    assert [target for source, target in await organisation.ends(EdgeType.OWNED_BY) if source == "till"] == ["crew"]


async def test_two_folders_may_have_a_page_of_one_path(organisation: Organisation, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    organisation.put("README.md", "# One\n\nText.\n")
    (other / "README.md").write_text("# Two\n\nText.\n")
    await organisation.run()
    await organisation.run(other)
    titles = {node.name: node.properties["title"] for node in await organisation.store.all_nodes("t", [Label.DOC])}
    assert titles == {"README.md": "One", "other/README.md": "Two"}
    assert await known_places(organisation.store, "t") == [organisation.folder, other]


# Live systems ---------------------------------------------------------------------------------------------------------


class Traces:
    """Live systems that saw two services call each other, and of which one did not answer."""

    failures = (("prometheus", "did not answer within 15 s"),)

    async def read(self, services: Sequence[Node], teams: Sequence[Node], now: datetime) -> Traces:
        self.asked = [node.name for node in services]
        needs = EdgeFact(EdgeType.DEPENDS_ON, Ref(Label.SERVICE, "books"), Ref(Label.SERVICE, "scale"))
        self.parts = [Facts("live:traces", now, (NodeFact(Label.SERVICE, "scale"),), (needs,), complete=True)]
        return self


async def test_what_live_systems_say_joins_what_the_folders_say(organisation: Organisation) -> None:
    organisation.put("catalog.yaml", CATALOGUE)
    live = Traces()
    report = await ingest(organisation.store, organisation.embedding, "t", [organisation.folder], now=NOW, live=live)
    assert sorted(live.asked) == ["books", "till"]
    assert report.failures == live.failures
    assert ("books", "scale") in await organisation.ends(EdgeType.DEPENDS_ON)


# One run at a time, and one that dies ---------------------------------------------------------------------------------


async def test_two_runs_exclude_each_other(organisation: Organisation) -> None:
    async with exclusive(organisation.store, "t"):
        with pytest.raises(AlreadyRunning, match="Another run writes this graph already"):
            await organisation.run()
    assert (await organisation.run()).failures == ()


async def test_the_last_run_tells_how_it_went(organisation: Organisation) -> None:
    assert await last_run(organisation.store, "t") is None
    organisation.put("a.md", "# A\n\nText.\n")
    report = await organisation.run()
    run = await last_run(organisation.store, "t")
    assert run is not None
    assert run["state"] == "complete"
    assert run["report"]["added"] == report.added


async def test_a_run_that_fails_is_kept_as_failed(organisation: Organisation) -> None:
    async def fails(texts: Sequence[str]) -> list[list[float]]:
        raise ConnectionError(f"{len(texts)} texts")

    organisation.put("a.md", "# A\n\nText.\n")
    organisation.embedding.embed = fails
    with pytest.raises(ConnectionError):
        await organisation.run()
    run = await last_run(organisation.store, "t")
    assert run is not None
    assert (run["state"], run["error"]) == ("failed", "a bug or a stop ended it (ConnectionError)")


async def test_progress_is_told_stage_by_stage(organisation: Organisation) -> None:
    organisation.put("a.md", "# A\n\nText.\n")
    told: list[Progress] = []
    await ingest(organisation.store, organisation.embedding, "t", [organisation.folder], now=NOW, tell=told.append)
    assert [each for each in told if each.stage == "reading org"] == [
        Progress("reading org", 0, 1),
        Progress("reading org", 1, 1),
    ]
    assert told[-1].done == told[-1].total


KILLED = """
import asyncio, os, signal, sys
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from graphrag.embed import open_embedding
from graphrag.ingest import ingest
from graphrag.open_store import open_store

def tell(progress):
    if progress.stage.startswith("reading") and progress.done >= progress.total / 2:
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    store = open_store(sys.argv[1], dimensions=384)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=384)
    await ingest(store, embedding, "t", [Path(sys.argv[2])], now=datetime.now(UTC), tell=tell)

asyncio.run(main())
"""


async def test_a_run_killed_half_way_is_gone_on_with_by_the_next(tmp_path: Path) -> None:
    folder = tmp_path / "org"
    folder.mkdir()
    count = PAGES_AT_ONCE * 6
    for number in range(count):
        (folder / f"page-{number}.md").write_text(f"# Page {number}\n\nText of {number}.\n")
    url = f"sqlite:///{tmp_path / 'graph.db'}"
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, url, str(folder), env={**os.environ})
    assert await process.wait() == -signal.SIGKILL
    store = open_store(url, dimensions=384)
    await store.open()
    try:
        run = await last_run(store, "t")
        assert run is not None
        assert run["state"] == "interrupted"
        report = await ingest(store, Wide(), "t", [folder], now=datetime.now(UTC))
        assert (report.read, report.unchanged) == (count // 2, count // 2)
        assert len(await store.all_nodes("t", [Label.DOC])) == count
        hits = await store.search_vectors("t", [1.0] * 384, 2 * count, [Label.DOC])
        assert len(hits) == count
    finally:
        await store.close()


class Wide(Lengths):
    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return [[1.0] * 384 for _ in texts]


# With a model ---------------------------------------------------------------------------------------------------------


def answering(summary: str) -> Reading:
    async def complete(prompt: str) -> str:
        if "triplets" in prompt.lower():
            return json.dumps(
                {
                    "triplets": [
                        {
                            "subject": {"type": "Service", "name": "books"},
                            "relation": {"type": "DEPENDS_ON"},
                            "object": {"type": "Service", "name": "till"},
                        }
                    ]
                }
            )
        return summary

    return Reading(complete=complete, model="a-model")


async def test_a_model_reads_changed_pages_and_words_the_summaries(organisation: Organisation) -> None:
    organisation.put("a.md", "# Notes\n\nThe books service would be lost without the till service.\n")
    reading = answering("It was worded by a model.")
    run = partial(ingest, organisation.store, organisation.embedding, "t", [organisation.folder], reading=reading)
    report = await run(now=NOW)
    assert report.failures == ()
    ((source, target, edge),) = await organisation.edges(EdgeType.DEPENDS_ON)
    assert (source, target, edge.summary) == ("books", "till", "It was worded by a model.")
    assert len(edge.chunks) == 1
    summaries = {node.summary for node in await organisation.store.all_nodes("t", [Label.COMMUNITY])}
    assert summaries == {"It was worded by a model."}
    assert (await run(now=NOW + timedelta(hours=1))).read == 0


async def test_a_model_that_fails_costs_its_part_and_is_told(organisation: Organisation) -> None:
    async def complete(prompt: str) -> str:
        raise ConnectionError("nobody there")

    organisation.put("a.md", "# Notes\n\nText.\n")
    reading = Reading(complete=complete, model="a-model")
    report = await ingest(
        organisation.store, organisation.embedding, "t", [organisation.folder], now=NOW, reading=reading
    )
    assert await organisation.node(Label.DOC, "a.md") is not None
    assert {path for path, _ in report.failures} == {"a.md"}
    assert any("nobody there" in reason for _, reason in report.failures)


async def test_secrets_are_out_of_a_page_before_anything_is_kept(organisation: Organisation) -> None:
    organisation.put("a.md", "# Notes\n\nThe word is sesame.\n")
    reading = Reading(redact=lambda text: text.replace("sesame", "[redacted]"))
    await ingest(organisation.store, organisation.embedding, "t", [organisation.folder], now=NOW, reading=reading)
    kept = json.dumps([(node.summary, dict(node.properties)) for node in await organisation.store.all_nodes("t")])
    assert "sesame" not in kept
    assert "[redacted]" in kept
