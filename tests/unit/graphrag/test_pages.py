"""Finding pages in a small made-up organisation, on a real SQLite store and the default embedding. Each ingredient is
shown to matter: with it the right page comes first, without it another does."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphrag.embed import Embed, EmbeddingUnavailable, open_embedding
from graphrag.identity import name_key
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Ref
from graphrag.pages import MAX_CANDIDATES, Anchor, FoundPage, find_pages
from graphrag.query import query_of
from graphrag.rank import TERMS, Weights
from graphrag.signals import signals_from_alerts
from graphrag.sqlite_store import SqliteStore
from graphrag.titles import place_of

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ORDINARY = Weights()


def page(path: str, title: str, *passages: str, label: Label = Label.DOC, **properties: str) -> Facts:
    """A page with its passages, as ingestion writes them."""
    here = Ref(label, path)
    told = {"path": path, "title": title, **properties}
    chunks = [
        NodeFact(
            Label.CHUNK, f"{path}#{n}", f"{title}: {text}", properties={"source": path, "ordinal": n, "text": text}
        )
        for n, text in enumerate(passages)
    ]
    mentions = [EdgeFact(EdgeType.MENTIONS, Ref(Label.CHUNK, chunk.name), here) for chunk in chunks]
    return Facts(path, NOW, (NodeFact(label, path, f"{title}.", properties=told), *chunks), tuple(mentions))


class Organisation:
    """What is known, and the way to ask. A weight set to 0 takes an ingredient away."""

    def __init__(self, store: SqliteStore, embed: Embed) -> None:
        self.store = store
        self.embed = embed

    async def write(self, *facts: Facts) -> None:
        for each in facts:
            await self.store.write("t", each)
        nodes = await self.store.all_nodes("t")
        vectors = await self.embed([node.summary or node.name for node in nodes])
        await self.store.set_vectors("t", dict(zip((node.id for node in nodes), vectors, strict=True)))

    async def connect(self, type: EdgeType, source: Ref, target: Ref) -> None:
        await self.store.write("t", Facts("catalogue", NOW, (), (EdgeFact(type, source, target),)))

    async def service(self, name: str, *aliases: str) -> None:
        await self.store.write("t", Facts(name, NOW, (NodeFact(Label.SERVICE, name, name, aliases),)))

    async def about(self, name: str, certainty: float = 1.0) -> Anchor:
        found = await self.store.resolve("t", [name_key(name)], [Label.SERVICE])
        return Anchor(found[name_key(name)][0], certainty)

    async def ask(
        self, alertname: str, *anchors: Anchor, weights: Weights = ORDINARY, now: datetime = NOW, note: str = ""
    ) -> tuple[FoundPage, ...]:
        query = query_of(signals_from_alerts([{"alertname": alertname}], [{"summary": note}], []))
        return await find_pages(self.store, self.embed, "t", query, anchors, weights, now=now)

    async def paths(self, alertname: str, *anchors: Anchor, weights: Weights = ORDINARY, note: str = "") -> list[str]:
        return [place_of(each.node) for each in await self.ask(alertname, *anchors, weights=weights, note=note)]


async def no_vectors(texts: Sequence[str]) -> list[list[float]]:
    raise EmbeddingUnavailable(f"no answer to {len(texts)}")


@pytest.fixture
async def org(tmp_path: Path) -> AsyncIterator[Organisation]:
    store = SqliteStore(tmp_path / "graph.db", dimensions=384)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=384)
    yield Organisation(store, embedding.embed_queries)
    await store.close()


async def test_a_page_is_found_by_what_stands_deep_in_it(org: Organisation) -> None:
    await org.write(
        page(
            "docs/ledger.md", "Ledger", "Opening words.", "More words.", "When replication lags, restart the follower."
        ),
        page("docs/till.md", "Till", "Opening words."),
    )
    first = (await org.ask("ReplicationLags"))[0]
    assert place_of(first.node) == "docs/ledger.md"
    assert first.passage == "When replication lags, restart the follower."


async def test_several_passages_that_speak_of_it_beat_one(org: Organisation) -> None:
    await org.write(
        page("docs/one.md", "Notes", "Replication lags.", "Coffee.", "Tea."),
        page("docs/two.md", "Notes", "Replication lags.", "Replication lags again.", "Tea."),
    )
    assert await org.paths("ReplicationLags") == ["docs/two.md", "docs/one.md"]


async def test_the_title_tells_pages_with_the_same_words_apart(org: Organisation) -> None:
    text = "Restart the till when the drawer jams."
    await org.write(page("docs/holidays.md", "Holidays", text), page("docs/drawer.md", "Drawer jams", text))
    assert (await org.paths("DrawerJams"))[0] == "docs/drawer.md"


async def test_the_alerts_name_says_more_than_its_text(org: Organisation) -> None:
    await org.write(
        page("docs/north.md", "Shops", "All about customers in the northern shops."),
        page("docs/drawer.md", "Shops", "All about a drawer that jams."),
    )
    assert (await org.paths("DrawerJams", note="customers in the northern shops wait"))[0] == "docs/drawer.md"


async def test_vectors_find_a_page_whose_words_only_look_alike(org: Organisation) -> None:
    await org.write(
        page("docs/a.md", "Storage", "The elasticsearching cluster."), page("docs/b.md", "Storage", "The tea kitchen.")
    )
    assert (await org.paths("ElasticSearcher"))[0] == "docs/a.md"
    without = await org.ask("ElasticSearcher", weights=Weights(1, 0, 0, 0, 0, 0))
    assert without[0].terms.semantic == 1.0


async def test_without_an_embedding_full_text_still_finds_pages(org: Organisation) -> None:
    await org.write(page("docs/a.md", "Drawer", "It jams."))
    org.embed = no_vectors
    (found,) = await org.ask("DrawerJams")
    assert (found.parts["semantic"], found.parts["text"] > 0) == (0, True)


async def two_alike(org: Organisation) -> None:
    """Two services with a page each, of the same words."""
    for name in ("ledger", "till"):
        await org.service(name)
        await org.write(page(f"docs/{name}-queue.md", "Queue grows", "When the queue grows, add workers."))
        await org.connect(EdgeType.DOCUMENTED_IN, Ref(Label.SERVICE, name), Ref(Label.DOC, f"docs/{name}-queue.md"))


@pytest.mark.parametrize("name", ["ledger", "till"])
async def test_of_pages_with_the_same_words_that_of_the_service_in_question_comes_first(
    org: Organisation, name: str
) -> None:
    await two_alike(org)
    assert (await org.paths("QueueGrows", await org.about(name)))[0] == f"docs/{name}-queue.md"
    without = await org.ask("QueueGrows", await org.about(name), weights=Weights(graph=0))
    assert without[0].score == pytest.approx(without[1].score, abs=0.02)


async def test_the_surer_the_service_the_nearer_its_pages(org: Organisation) -> None:
    await two_alike(org)
    anchors = [await org.about("ledger", 0.9), await org.about("till", 0.3)]
    assert (await org.paths("QueueGrows", *anchors))[0] == "docs/ledger-queue.md"
    assert (await org.paths("QueueGrows", *(anchor._replace(certainty=0.1) for anchor in anchors)))[1:]


async def test_a_page_of_the_service_is_offered_though_it_shares_no_word_with_the_alert(org: Organisation) -> None:
    await two_alike(org)
    org.embed = no_vectors
    assert await org.ask("Zzz") == ()
    (found,) = await org.ask("Zzz", await org.about("till"))
    assert place_of(found.node) == "docs/till-queue.md"
    assert found.passage == ""


async def test_the_page_that_goes_by_the_services_name_is_nearer_than_its_other_pages(org: Organisation) -> None:
    await org.service("ledger", "General Ledger")
    paths = ("docs/other.md", "docs/general-ledger/README.md", "docs/ledger.md")
    for path in paths:
        await org.write(page(path, "Notes"))
        await org.connect(EdgeType.DOCUMENTED_IN, Ref(Label.SERVICE, "ledger"), Ref(Label.DOC, path))
    found = {place_of(each.node): each.terms.graph for each in await org.ask("Zzz", await org.about("ledger"))}
    assert found == {"docs/other.md": 0.25, "docs/general-ledger/README.md": 0.5, "docs/ledger.md": 0.5}


async def test_a_past_incident_of_the_service_is_near_too(org: Organisation) -> None:
    await org.service("till")
    await org.write(page("incidents/jam.md", "Jam", "It jammed.", label=Label.INCIDENT))
    await org.connect(EdgeType.AFFECTED, Ref(Label.INCIDENT, "incidents/jam.md"), Ref(Label.SERVICE, "till"))
    assert await org.paths("Zzz", await org.about("till")) == ["incidents/jam.md"]


async def test_pages_in_the_folder_that_most_matches_lie_in_are_woken(org: Organisation) -> None:
    await org.write(
        page("docs/ledger/a.md", "One", "The follower lags far behind."),
        page("docs/ledger/b.md", "Two", "A follower lags."),
        page("docs/ledger/c.md", "Three", "About backups."),
        page("docs/till/c.md", "Three", "About backups."),
    )
    found = {place_of(each.node): each for each in await org.ask("FollowerLags", note="backups")}
    assert found["docs/ledger/c.md"].terms.graph > found["docs/till/c.md"].terms.graph
    assert found["docs/ledger/c.md"].score > found["docs/till/c.md"].score


async def test_a_page_about_another_service_is_not_woken_while_it_is_sure_which_service_it_is(
    org: Organisation,
) -> None:
    await two_alike(org)
    await org.write(page("docs/else.md", "Else", "Coffee."))
    unsure, sure = [
        {
            place_of(each.node): each.terms.graph
            for each in await org.ask("QueueGrows", await org.about("till", certainty))
        }
        for certainty in (0.1, 1.0)
    ]
    assert unsure["docs/ledger-queue.md"] > 0
    assert sure["docs/ledger-queue.md"] == 0
    assert sure["docs/till-queue.md"] > unsure["docs/till-queue.md"]


async def test_a_page_that_a_matching_one_links_to_is_woken(org: Organisation) -> None:
    await org.write(
        page("a/alert.md", "FollowerLags", "The follower lags: see the procedure."),
        page("b/steps.md", "Steps", "Do it."),
    )
    org.embed = no_vectors
    assert await org.paths("FollowerLags") == ["a/alert.md"]
    await org.connect(EdgeType.MENTIONS, Ref(Label.CHUNK, "a/alert.md#0"), Ref(Label.DOC, "b/steps.md"))
    assert await org.paths("FollowerLags") == ["a/alert.md", "b/steps.md"]


async def noise(org: Organisation) -> None:
    """Pages that share every word with the alert, and one that shares none."""
    await org.write(
        *(page(f"docs/follower-lags-{n}.md", "Follower lags", "The follower lags behind.") for n in range(4)),
        page("docs/other/steps.md", "Steps", "Do it.", label=Label.RUNBOOK),
    )


async def test_the_page_that_the_rule_of_the_alert_names_comes_first(org: Organisation) -> None:
    await noise(org)
    assert (await org.paths("FollowerLags"))[0] != "docs/other/steps.md"
    await org.write(Facts("rules", NOW, (NodeFact(Label.ALERT, "FollowerLags", "An alert."),)))
    await org.connect(EdgeType.HAS_RUNBOOK, Ref(Label.ALERT, "FollowerLags"), Ref(Label.RUNBOOK, "docs/other/steps.md"))
    first = (await org.ask("FollowerLags"))[0]
    assert place_of(first.node) == "docs/other/steps.md"
    assert (first.terms.text, first.terms.graph) == (1.0, 1.0)


async def test_rules_of_one_name_with_several_pages_do_not_settle_which_it_is(org: Organisation) -> None:
    await noise(org)
    await org.write(
        Facts("rules", NOW, (NodeFact(Label.ALERT, "FollowerLags", "An alert."),)),
        page("docs/other/more.md", "More", "Do that.", label=Label.RUNBOOK),
    )
    for path in ("docs/other/steps.md", "docs/other/more.md"):
        await org.connect(EdgeType.HAS_RUNBOOK, Ref(Label.ALERT, "FollowerLags"), Ref(Label.RUNBOOK, path))
    graph = {place_of(each.node): each.terms.graph for each in await org.ask("FollowerLags")}
    assert graph["docs/other/steps.md"] == graph["docs/other/more.md"] == 0.5


async def test_the_page_that_the_alert_links_comes_first(org: Organisation) -> None:
    await noise(org)
    link = "https://git.example/books/blob/main/docs/other/steps.md#now"
    for labels, notes in (({}, {"runbook_url": link}), ({"playbook": "docs/other/steps.md"}, {})):
        query = query_of(signals_from_alerts([{"alertname": "FollowerLags", **labels}], [notes], []))
        found = await find_pages(org.store, org.embed, "t", query, now=NOW)
        assert place_of(found[0].node) == "docs/other/steps.md"


async def test_a_page_that_the_alerts_text_speaks_of_comes_up_but_need_not_be_first(org: Organisation) -> None:
    await noise(org)
    note = "Background is in https://git.example/books/blob/main/docs/other/steps.md."
    found = {place_of(each.node): each for each in await org.ask("FollowerLags", note=note)}
    assert 0.5 <= found["docs/other/steps.md"].terms.text < 1
    assert "docs/other/steps.md" != next(iter(found))


async def test_a_link_that_means_no_known_page_changes_nothing(org: Organisation) -> None:
    await noise(org)
    linked = query_of(
        signals_from_alerts([{"alertname": "FollowerLags"}], [{"runbook_url": "https://x.example/a/b"}], [])
    )
    plain = query_of(signals_from_alerts([{"alertname": "FollowerLags"}], [], []))
    first, second = [(await find_pages(org.store, org.embed, "t", each, now=NOW))[0] for each in (linked, plain)]
    assert place_of(first.node) == place_of(second.node)


async def test_a_page_that_quotes_the_alerts_name_is_found_by_it(org: Organisation) -> None:
    await org.write(
        page("docs/quotes.md", "Notes", "Fires as FollowerLagsFarBehind."), page("docs/other.md", "Notes", "Coffee.")
    )
    org.embed = no_vectors
    assert await org.paths("FollowerLagsFarBehind") == ["docs/quotes.md"]


async def test_a_word_of_the_name_finds_pages_that_have_it_without_its_ending(org: Organisation) -> None:
    await org.write(page("docs/a.md", "Notes", "A reject is final."), page("docs/other.md", "Notes", "Coffee."))
    org.embed = no_vectors
    assert await org.paths("LedgerRejects") == ["docs/a.md"]


async def test_a_page_for_trouble_comes_before_one_that_only_describes(org: Organisation) -> None:
    text = "The follower lags behind."
    await org.write(page("docs/b.md", "Follower design", text), page("docs/c.md", "Follower troubleshooting", text))
    assert (await org.paths("Lags"))[0] == "docs/c.md"
    assert (await org.paths("Lags", weights=Weights(usage=0)))[0] == "docs/b.md"


async def test_what_helped_here_before_comes_first(org: Organisation) -> None:
    text = "The follower lags behind."
    await org.write(page("docs/a.md", "Notes", text), page("docs/b.md", "Notes", text))
    (second,) = [each.node for each in await org.ask("Lags") if place_of(each.node) == "docs/b.md"]
    await org.store.annotate("t", {second.id: {"offered": 20, "helped": 20}})
    assert (await org.paths("Lags"))[0] == "docs/b.md"


async def test_what_was_seen_lately_and_often_comes_before_what_was_not(org: Organisation) -> None:
    text = "The follower lags behind."
    await org.write(page("docs/a.md", "Notes", text), page("docs/b.md", "Notes", text))
    again = page("docs/b.md", "Notes", text)
    await org.store.write("t", Facts(again.source, NOW + timedelta(days=300), again.nodes, again.edges))
    found = {place_of(each.node): each.terms for each in await org.ask("Lags", now=NOW + timedelta(days=301))}
    assert found["docs/b.md"].recent > found["docs/a.md"].recent
    assert found["docs/b.md"].confirm > found["docs/a.md"].confirm
    assert (await org.paths("Lags"))[0] == "docs/b.md"


async def test_nothing_to_look_for_finds_nothing(org: Organisation) -> None:
    await org.write(page("docs/a.md", "Notes", "Words."))
    assert await org.ask("") == ()
    assert await org.ask("of the {{ $labels.pod }}") == ()


async def test_another_tenants_pages_are_not_found(org: Organisation) -> None:
    await org.write(page("docs/a.md", "Drawer", "It jams."))
    query = query_of(signals_from_alerts([{"alertname": "DrawerJams"}], [], []))
    assert await find_pages(org.store, org.embed, "other", query, now=NOW) == ()


async def test_a_passage_whose_page_is_gone_is_passed_over(org: Organisation) -> None:
    stray = NodeFact(Label.CHUNK, "x#0", "The drawer jams", properties={"source": "x", "ordinal": 0, "text": "Jams"})
    await org.write(Facts("s", NOW, (stray,)), page("docs/a.md", "Drawer", "It jams."))
    assert await org.paths("DrawerJams") == ["docs/a.md"]


async def test_the_list_is_bounded(org: Organisation) -> None:
    await org.write(*(page(f"docs/{n}.md", f"Drawer {n}", "It jams.") for n in range(MAX_CANDIDATES + 20)))
    assert len(await org.ask("DrawerJams")) <= MAX_CANDIDATES


async def test_equal_pages_come_in_the_order_of_their_names(org: Organisation) -> None:
    await org.write(*(page(f"docs/{name}.md", "Notes", "The drawer jams.") for name in "cab"))
    assert await org.paths("DrawerJams") == ["docs/a.md", "docs/b.md", "docs/c.md"]


@pytest.fixture(scope="module")
async def known(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Organisation]:
    store = SqliteStore(tmp_path_factory.mktemp("known") / "graph.db", dimensions=64)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=64)
    known = Organisation(store, embedding.embed_queries)
    await two_alike(known)
    await known.write(page("docs/ünïcode/収銀台.md", "収銀台 が 遅い", "再起動 してください"))
    yield known
    await store.close()


@given(
    alertname=st.text(max_size=40),
    note=st.text(max_size=120),
    certainty=st.floats(0.1, 1),
    shares=st.lists(st.floats(0, 1), min_size=6, max_size=6),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_for_any_text_each_breakdown_adds_up_and_each_term_lies_between_zero_and_one(
    known: Organisation, alertname: str, note: str, certainty: float, shares: list[float]
) -> None:
    anchors = [await known.about("till", certainty)]
    found = await known.ask(alertname, *anchors, weights=Weights(*shares), note=note)
    assert found, "the service's page at least"
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
    for each in found:
        assert each.score == pytest.approx(sum(each.parts.values()))
        assert tuple(each.parts) == TERMS
        assert all(0 <= getattr(each.terms, name) <= 1 for name in TERMS)


async def test_words_of_any_script_are_found(known: Organisation) -> None:
    assert (await known.paths("収銀台"))[0] == "docs/ünïcode/収銀台.md"
