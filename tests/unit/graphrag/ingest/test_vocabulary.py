"""Known names in texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.ingest.vocabulary import Vocabulary
from graphrag.model import Label, Ref

PAYMENTS = (Label.SERVICE, "payments-api", ("payments", "Payments Gateway"))
WEB = (Label.SERVICE, "web", ())
TEAM = (Label.TEAM, "Core Payments", ())


def found(vocabulary: Vocabulary, text: str) -> list[tuple[str, str, bool]]:
    return [(text[each.start : each.end], each.refs[0].name, each.ordinary) for each in vocabulary.find(text)]


@pytest.mark.parametrize("spelling", ["payments-api", "PaymentsAPI", "payments_api", "Payments API", "payments.api"])
def test_every_spelling_of_a_name_is_found(spelling: str) -> None:
    text = f"Ask ({spelling}), please."
    assert found(Vocabulary([PAYMENTS]), text) == [(spelling, "payments-api", False)]


@pytest.mark.parametrize(
    "text",
    ["payments-api-v2 is another", "old-payments-api too", "payments-api_test", "x.payments-api", "prepayments-api"],
)
def test_a_part_of_a_longer_name_is_not_found(text: str) -> None:
    assert found(Vocabulary([PAYMENTS]), text) == []


def test_the_longest_name_wins() -> None:
    vocabulary = Vocabulary([PAYMENTS, (Label.SERVICE, "payments-api-worker", ())])
    assert [name for _, name, _ in found(vocabulary, "payments-api-worker, payments-api")] == [
        "payments-api-worker",
        "payments-api",
    ]


def test_a_sentence_that_ends_does_not_join_two_words_to_a_name() -> None:
    assert found(Vocabulary([PAYMENTS]), "It takes payments. API calls follow.") == [("payments", "payments-api", True)]


@pytest.mark.parametrize(
    ("text", "ordinary"),
    [
        ("the web", True),
        ("on the Web", True),
        ("core payments", True),
        ("Core Payments", False),
        ("payments gateway", True),
        ("Payments Gateway", False),
    ],
)
def test_what_is_written_like_any_word_is_said_to_be(text: str, ordinary: bool) -> None:
    assert [each for *_, each in found(Vocabulary([PAYMENTS, WEB, TEAM]), text)] == [ordinary]


def test_digits_are_kept_apart_as_in_keys() -> None:
    vocabulary = Vocabulary([(Label.SERVICE, "shard-1-1", ())])
    assert found(vocabulary, "shard-11") == []
    assert len(found(vocabulary, "Shard 1 1 and shard-1-1")) == 2


def test_a_name_of_two_labels_can_mean_either() -> None:
    vocabulary = Vocabulary([(Label.SERVICE, "Gateway-X", ()), (Label.TEAM, "gateway-x", ())])
    (match,) = vocabulary.find("gateway-x")
    assert match.refs == (Ref(Label.SERVICE, "Gateway-X"), Ref(Label.TEAM, "gateway-x"))


def test_an_own_name_comes_before_an_alias_of_another() -> None:
    vocabulary = Vocabulary([(Label.SERVICE, "a-first", ("ledger-api",)), (Label.SERVICE, "ledger-api", ())])
    assert vocabulary.named("Ledger API") == (Ref(Label.SERVICE, "ledger-api"),)


def test_a_page_is_found_by_what_its_link_ends_with() -> None:
    vocabulary = Vocabulary([(Label.RUNBOOK, "docs/till/README.md", ())])
    assert vocabulary.page_of("https://git.example.com/blob/main/docs/till/README.md#slow") == Ref(
        Label.RUNBOOK, "docs/till/README.md"
    )
    assert vocabulary.page_of("https://git.example.com/") is None


def test_the_digest_does_not_depend_on_order_and_does_on_every_name() -> None:
    one = Vocabulary([PAYMENTS, WEB])
    assert one.digest == Vocabulary([WEB, (*PAYMENTS[:2], ("Payments Gateway", "payments"))]).digest
    assert one.digest != Vocabulary([PAYMENTS]).digest
    assert one.digest != Vocabulary([(*PAYMENTS[:2], ("payments",)), WEB]).digest


names = st.from_regex(r"[a-z]{2,6}(?:-[a-z0-9]{1,5}){1,3}", fullmatch=True)


@given(st.lists(names, min_size=1, max_size=8, unique=True), st.data())
def test_each_name_of_a_list_is_found_where_it_stands(known: list[str], data: st.DataObject) -> None:
    vocabulary = Vocabulary((Label.SERVICE, name, ()) for name in known)
    name = data.draw(st.sampled_from(known))
    matches = vocabulary.find(f"Restart {name}, then wait.")
    assert [(each.start, each.end) for each in matches if not each.ordinary][:1] == [(8, 8 + len(name))]


@given(st.text(max_size=200), st.lists(st.text(max_size=12), max_size=5))
def test_matches_are_in_order_and_apart_for_any_text(text: str, known: list[str]) -> None:
    matches = Vocabulary((Label.SERVICE, name, ()) for name in known).find(text)
    places = [place for each in matches for place in (each.start, each.end)]
    assert places == sorted(places)
    assert all(each.start < each.end for each in matches)
