from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.model import Facts, Label, NodeFact
from graphrag.routing import MAX_QUESTION, Mention, RouteKind, mentions, route, topic
from graphrag.sqlite_store import SqliteStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def said(*names: str, label: Label = Label.SERVICE) -> list[Mention]:
    return [Mention(f"{label}-{name}", label, name, name) for name in names]


@pytest.mark.parametrize(
    ("question", "named", "kind"),
    [
        ("checkout-api", ["checkout-api"], "point"),
        ("Why is checkout-api slow?", ["checkout-api"], "point"),
        ("What do we know about checkout-api?", ["checkout-api"], "point"),
        ("Which services depend on ledger-db?", ["ledger-db"], "point"),
        ("Which services are hurt when ledger-db is down?", ["ledger-db"], "point"),
        ("Who owns checkout-api and since when?", ["checkout-api"], "point"),
        ("Is checkout-api slow because of ledger-db?", ["checkout-api", "ledger-db"], "point"),
        ("Why are payments failing?", [], "point"),
        ("How does storefront reach ledger-db?", ["storefront", "ledger-db"], "paths"),
        ("path between storefront and ledger-db", ["storefront", "ledger-db"], "paths"),
        ("Explain the chain from storefront down to ledger-db", ["storefront", "ledger-db"], "paths"),
        ("Why would ledger-db being slow hurt storefront?", ["storefront", "ledger-db"], "paths"),
        ("Does storefront depend on ledger-db?", ["storefront", "ledger-db"], "paths"),
        ("Which services need both checkout-api and ledger-db?", ["checkout-api", "ledger-db"], "whole"),
        ("What do we run for storage, across teams?", [], "whole"),
        ("What do we know about checkout-api across teams?", ["checkout-api"], "whole"),
        ("Which parts of the shop take money?", [], "whole"),
        ("Which services are hurt when the message queue is down?", [], "whole"),
        ("Give me an overview of our databases", [], "whole"),
        ("What do we know about object storage?", [], "whole"),
        ("Which teams run search?", ["search"], "whole"),
        ("List the queues we have", [], "whole"),
        ("Summarise all services", [], "whole"),
    ],
)
def test_a_question_is_routed_by_its_words_and_by_what_it_names(
    question: str, named: Sequence[str], kind: RouteKind
) -> None:
    found = route(question, said(*named))
    assert found.kind == kind
    assert found.reason


def test_a_path_goes_between_the_two_ends_in_the_questions_order() -> None:
    found = route("How does storefront reach ledger-db?", said("storefront", "ledger-db"))
    assert [end.name for end in found.ends] == ["storefront", "ledger-db"]


def test_a_team_can_be_an_end_of_a_path_and_is_no_service_to_look_up() -> None:
    ends = [*said("storefront"), *said("payments", label=Label.TEAM)]
    assert route("How is storefront connected to payments?", ends).kind == "paths"
    assert route("What do we run at payments?", ends[1:]).kind == "whole"


def test_words_inside_a_name_are_no_cue() -> None:
    assert route("Why is overview-api slow?", said("overview-api")).kind == "point"
    assert route("Why are between-ads and ledger-db slow?", said("between-ads", "ledger-db")).kind == "point"


@given(st.text(max_size=200), st.lists(st.tuples(st.text(max_size=20), st.sampled_from(list(Label))), max_size=4))
def test_any_text_gets_a_route_with_a_reason(question: str, named: list[tuple[str, Label]]) -> None:
    found = route(question, [Mention(f"{label}-{name}", label, name, name) for name, label in named])
    assert found.kind in ("point", "paths", "whole")
    assert found.reason
    assert len(found.ends) == (2 if found.kind == "paths" else 0)


CUES = st.sampled_from(["all", "services", "overview", "which", "between", "across", "teams", "list", "path", "api"])


@given(st.lists(st.one_of(CUES, st.from_regex(r"[a-z]{1,8}", fullmatch=True)), min_size=1, max_size=4).map("-".join))
def test_the_name_of_a_service_alone_is_a_look_up_of_it_whatever_words_it_is_made_of(name: str) -> None:
    assert route(name, said(name)).kind == "point"
    assert route(f" {name.upper()} ", [Mention("1", Label.SERVICE, name, name.upper())]).kind == "point"


def test_a_very_long_question_is_cut() -> None:
    assert route("why " * MAX_QUESTION + "overview").kind == "point"


def test_the_topic_leaves_out_what_every_such_question_says() -> None:
    assert topic("What do we run for object storage, across teams?") == "object storage"
    assert topic("Give me an overview of everything we have") == ""


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await store.open()
    nodes = (
        NodeFact(Label.SERVICE, "ledger"),
        NodeFact(Label.SERVICE, "ledger-db", aliases=("the big database",)),
        NodeFact(Label.SERVICE, "about"),
        NodeFact(Label.SERVICE, "search"),
        NodeFact(Label.TEAM, "search"),
        NodeFact(Label.TEAM, "payments"),
    )
    await store.write("default", Facts("catalog", NOON, nodes))
    yield store
    await store.close()


async def test_the_longest_name_at_a_place_is_the_one_meant(store: SqliteStore) -> None:
    found = await mentions(store, "default", "Does Ledger DB need payments or the big database?")
    assert [(each.name, each.said) for each in found] == [
        ("ledger-db", "Ledger DB"),
        ("payments", "payments"),
        ("ledger-db", "the big database"),
    ]


async def test_names_in_links_and_other_spellings_are_read_as_everywhere(store: SqliteStore) -> None:
    found = await mentions(store, "default", "Is https://ledger-db.example/payments what `LedgerDB` is?")
    assert {(each.name, each.said) for each in found} == {
        ("ledger-db", "ledger-db.example"),
        ("ledger-db", "LedgerDB"),
    }


async def test_a_word_that_holds_a_sentence_together_names_nothing(store: SqliteStore) -> None:
    assert await mentions(store, "default", "What do we know about it?") == ()


async def test_a_service_goes_before_a_team_of_its_name(store: SqliteStore) -> None:
    (found,) = await mentions(store, "default", "Who runs search?")
    assert found.label is Label.SERVICE


async def test_nothing_named_is_nothing_found(store: SqliteStore) -> None:
    assert await mentions(store, "default", "") == ()
    assert await mentions(store, "default", "?! …") == ()
