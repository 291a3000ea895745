"""Settling what no name decides, by the pages and the alert together: a made-up organisation's folder, ingested for
real on a SQLite store with the default embedding."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from graphrag.agreement import favourite, most_alike, settle
from graphrag.embed import Embed, open_embedding
from graphrag.ingest import ingest
from graphrag.label_keys import NOTHING_TOLD, ToldKeys
from graphrag.model import Label, Life, Node, node_id
from graphrag.pages import Anchor, FoundPage, find_pages
from graphrag.query import query_of
from graphrag.rank import TERMS, Terms
from graphrag.retrieve import Location, locate
from graphrag.signals import signals_from_alerts, signals_from_question
from graphrag.sqlite_store import SqliteStore

NOW = datetime(2026, 11, 30, tzinfo=UTC)
OWNERS = {"coin-press": "mint", "stamp-desk": "post", "parcel-desk": "post", "node-pool": "platform", "kiln": "yard"}
PAGES = {
    "docs/coin-press/README.md": "# How coins are made\n\nBlanks are fed to the dies, and the dies strike them.",
    "docs/coin-press/dies.md": "# Worn dies\n\nA worn die strikes blanks unevenly. Blanks pile up before worn dies.",
    "docs/coin-press/feeding.md": "# Feeding blanks\n\nBlanks pile up when the dies stand still. Clear the feeder.",
    "docs/coin-press/alerts/MintingStalled.md": "# Minting stalled\n\nNo blanks were struck. Look at the dies first.",
    "docs/kiln/cracks.md": "# Cracked bricks\n\nBricks crack when the kiln cools too fast.",
    "docs/kiln/heat.md": "# Heat\n\nThe kiln is fired slowly, or bricks crack.",
    "docs/stamp-desk/README.md": "# Franking\n\nLetters are weighed and franked by hand.",
    "docs/parcel-desk/README.md": "# Parcels\n\nParcels are labelled and put on trolleys.",
    "docs/node-pool/README.md": "# Machines\n\nMachines are drained before they are replaced.",
}
BLANKS = "Blanks pile up before the dies"


def catalogue() -> str:
    services = [
        f"kind: Component\nmetadata: {{name: {name}}}\nspec: {{type: service, owner: {team}}}"
        for name, team in OWNERS.items()
    ]
    teams = [
        f"kind: Group\nmetadata: {{name: {team}}}\nspec: {{type: team}}" for team in dict.fromkeys(OWNERS.values())
    ]
    return "\n---\n".join(f"apiVersion: backstage.io/v1alpha1\n{entity}" for entity in (*services, *teams))


class Organisation:
    def __init__(self, store: SqliteStore, embed: Embed) -> None:
        self.store = store
        self.embed = embed

    async def alert(
        self, alertname: str, note: str = "", *, link: str = "", told: ToldKeys = NOTHING_TOLD, **labels: str
    ) -> tuple[Location, Location]:
        """What is located by names alone, and what after the pages were heard."""
        notes = {"summary": note} | ({"runbook_url": link} if link else {})
        signals = signals_from_alerts([{"alertname": alertname, **labels}], [notes], [""], told)
        before = await locate(self.store, self.embed, "t", signals, told=told)
        query = query_of(signals)
        anchors = [Anchor(each.node, each.score) for each in before.candidates]
        pages = await find_pages(self.store, self.embed, "t", query, anchors, now=NOW)
        return before, await settle(self.store, "t", signals, query, before, pages, told)

    async def settled(self, alertname: str, note: str = "", *, link: str = "", **labels: str) -> str:
        """The service that is sure after the pages were heard, if one is."""
        before, after = await self.alert(alertname, note, link=link, **labels)
        assert before.certainty != "resolved", before.explanation
        return after.candidates[0].node.name if after.certainty == "resolved" else ""


@pytest.fixture(scope="module")
async def organisation(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Organisation]:
    home = tmp_path_factory.mktemp("organisation")
    for path, text in {"catalog.yaml": catalogue(), **PAGES}.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    store = SqliteStore(tmp_path_factory.mktemp("graph") / "graph.db", dimensions=384)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=384)
    await ingest(store, embedding, "t", [home], now=NOW)
    yield Organisation(store, embedding.embed_queries)
    await store.close()


async def test_pages_of_one_service_alone_do_not_settle_whose_an_alert_is(organisation: Organisation) -> None:
    before, after = await organisation.alert("BlanksPileUp", BLANKS)
    assert before.undecided
    assert after == before


async def test_the_words_of_its_name_apart_and_its_pages_settle_it(organisation: Organisation) -> None:
    assert await organisation.settled("BlanksPileUp", "The press stands still and no coin is struck") == "coin-press"


async def test_the_words_in_an_address_do_not_settle_it(organisation: Organisation) -> None:
    assert not await organisation.settled("BlanksPileUp", f"{BLANKS}: https://wiki.example/press/of/coin")


async def test_a_word_that_names_a_service_and_finds_its_pages_says_one_thing(organisation: Organisation) -> None:
    assert not await organisation.settled("BricksCrack", "Bricks crack, maybe of the kiln")
    assert await organisation.settled("BricksCrack", "Bricks crack, maybe of the kiln", team="yard") == "kiln"


async def test_a_page_of_the_alert_s_name_among_pages_of_its_service_settles_it(organisation: Organisation) -> None:
    _, after = await organisation.alert("MintingStalled", "No blanks were struck")
    first = after.candidates[0]
    assert (after.certainty, first.node.name) == ("resolved", "coin-press")
    assert {"pages", "page"} <= first.parts.keys()
    assert any("MintingStalled" in reason for reason in first.reasons)
    assert not after.undecided


async def test_the_page_that_the_alert_links_settles_it(organisation: Organisation) -> None:
    link = "https://wiki.example/docs/coin-press/dies.md"
    assert await organisation.settled("BlanksPileUp", BLANKS, link=link) == "coin-press"


async def test_the_team_of_one_service_settles_it(organisation: Organisation) -> None:
    assert await organisation.settled("BlanksPileUp", BLANKS, team="mint") == "coin-press"


async def test_the_team_of_several_services_tells_too_little(organisation: Organisation) -> None:
    assert not await organisation.settled("LettersUnfranked", "Letters are weighed but not franked", team="post")


async def test_the_label_of_another_team_that_owns_services_leaves_it_undecided(organisation: Organisation) -> None:
    assert not await organisation.settled("MintingStalled", "No blanks were struck", team="platform")


@pytest.mark.parametrize(
    ("note", "labels"),
    [
        ("No blanks were struck by {{ $labels.pod }}", {}),
        ("No blanks were struck by {{ .Labels.instance | reReplaceAll `:.*` `` }}", {}),
        ("No blanks were struck by till-7", {"pod": "till-7"}),
        ("No blanks were struck in vaults", {"namespace": "vaults"}),
        ("No blanks were struck", {"service": "vault-door"}),
        ("No blanks were struck. The {{ $labels.kind }} service stands still", {}),
    ],
    ids=str,
)
async def test_an_alert_that_says_by_a_label_what_it_is_about_is_not_settled_by_pages(
    organisation: Organisation, note: str, labels: dict[str, str]
) -> None:
    assert not await organisation.settled("MintingStalled", note, **labels)


async def test_where_an_alert_was_measured_does_not_keep_it_undecided(organisation: Organisation) -> None:
    labels = {"job": "till", "instance": "10.0.0.7:9100", "cluster": "east"}
    assert await organisation.settled("MintingStalled", "No blanks were struck", **labels) == "coin-press"


async def test_a_key_that_is_told_to_hold_services_says_what_an_alert_is_about(organisation: Organisation) -> None:
    note = "No blanks were struck at {{ $labels.desk }}"
    _, untold = await organisation.alert("MintingStalled", note)
    _, told = await organisation.alert("MintingStalled", note, told=ToldKeys(services=("desk",)))
    assert (untold.certainty, told.certainty != "resolved") == ("resolved", True)


async def test_what_is_decided_by_names_is_left_as_it_is(organisation: Organisation) -> None:
    before, after = await organisation.alert("MintingStalled", "No blanks were struck", service="stamp-desk")
    assert before.certainty == "resolved"
    assert after == before


async def test_labels_that_contradict_each_other_are_not_settled_by_pages(organisation: Organisation) -> None:
    labels = {"service": "stamp-desk", "app": "parcel-desk"}
    assert not await organisation.settled("MintingStalled", "No blanks were struck", **labels)


async def test_a_question_is_not_settled_by_pages(organisation: Organisation) -> None:
    signals = signals_from_question("Why do blanks pile up before the press, with no coin struck?")
    before = await locate(organisation.store, organisation.embed, "t", signals)
    query = query_of(signals)
    pages = await find_pages(organisation.store, organisation.embed, "t", query, now=NOW)
    assert pages
    assert await settle(organisation.store, "t", signals, query, before, pages) == before


async def test_a_name_for_another_service_keeps_it_undecided(organisation: Organisation) -> None:
    note = "No blanks were struck since stamp-desk and the parcel-desk service are closed"
    before, after = await organisation.alert("MintingStalled", note)
    assert before.certainty != "resolved" or before.candidates[0].node.name != "coin-press"
    assert after == before


# Whose the pages are ---------------------------------------------------------------------------------------------


def found(*shares: float) -> list[FoundPage]:
    parts = dict.fromkeys(TERMS, 0.0)
    life = Life(NOW, NOW, NOW)
    return [
        FoundPage(
            Node(node_id("t", Label.DOC, str(at)), "t", Label.DOC, str(at), life), 1.0, parts | {"text": share}, Terms()
        )
        for at, share in enumerate(shares)
    ]


def about(pages: Sequence[FoundPage], *services: str) -> dict[str, set[str]]:
    return {page.node.id: set(each.split()) for page, each in zip(pages, services, strict=True)}


@pytest.mark.parametrize(
    ("shares", "services", "expected"),
    [
        ((0.4, 0.2, 0.2), ("a", "b", "c"), "a"),
        ((0.4, 0.2, 0.2), ("", "a", "a"), "a"),
        ((0.4, 0.4), ("a", "b"), None),
        ((0.4, 0.3), ("a", "b"), None),
        ((0.8, 0.2), ("", "a"), None),
        ((0.4, 0.1), ("a b", "a"), "a"),
        ((0.0,), ("a",), None),
        ((), (), None),
    ],
    ids=str,
)
def test_the_favourite_has_enough_of_what_the_pages_score_and_clearly_more_than_the_next(
    shares: tuple[float, ...], services: tuple[str, ...], expected: str | None
) -> None:
    pages = found(*shares)
    assert favourite(pages, about(pages, *services)) == expected


def test_how_near_a_page_is_to_what_was_named_does_not_count() -> None:
    near, like = found(0.1, 0.4)
    pages = [replace(near, score=2.0, parts={**near.parts, "graph": 0.9}), like]
    assert most_alike(pages)[0] is like
    assert favourite(pages, about(pages, "near", "like")) == "like"
