import pytest

from agent.evidence import MAX_TEXT, collect, describe
from connectors.observations import (
    ChangeSeen,
    DependencySeen,
    MessageSeen,
    MetricSeen,
    OwnersSeen,
    PageSeen,
    ReleaseSeen,
)
from tests.unit.agent.scene import (
    CHECKOUT,
    LEDGER,
    OPENED,
    PAST,
    PAYMENTS,
    RELEASE,
    RUNBOOK,
    SHOP,
    START,
    VAULT,
    answered,
    consulted,
    consulted_state,
    failed,
    known,
    located,
    state,
)

PAGE = known("design", "Doc", properties={"url": "https://wiki/design"})


def only(*seen, text: str = "", **said):
    return next(
        each for each in collect(consulted_state(answered("a@a", *seen, text=text), **said)) if each.id == "a@a"
    )


def test_a_state_that_has_read_nothing_has_no_evidence():
    assert collect(state()) == ()


def test_everything_the_graph_told_is_evidence_and_comes_before_the_live_answers():
    trouble = known("ledger down", "Incident")
    found = {"documents": (PAGE,), "releases": (RELEASE,), "incidents": (PAST,), "supplier_incidents": (trouble,)}
    subject = consulted_state(answered("a@a"), **found)
    graph = (CHECKOUT, PAYMENTS, LEDGER, VAULT, SHOP, RUNBOOK, PAGE, RELEASE, PAST, trouble)
    assert [each.id for each in collect(subject)] == [*(each.id for each in graph), "a@a"]


def test_an_entity_met_twice_is_one_piece_of_evidence():
    found = [each.id for each in collect(consulted_state(dependents=(LEDGER, SHOP)))]
    assert len(found) == len(set(found))


def test_graph_evidence_tells_who_saw_it_how_often_and_when():
    once = known("once", sources=("catalog", "traces"))
    bare = known("bare", summary="No source.")
    subject = consulted_state(dependencies=(once, bare), documents=(PAGE,))
    found = {each.entity: each for each in collect(subject)}
    assert found["checkout-api"].text == "Takes the money. seen 3 times by catalog"
    assert (found["checkout-api"].source, found["checkout-api"].time) == ("graph", CHECKOUT.last_seen)
    assert found["once"].text == "seen once by catalog, traces"
    assert found["bare"].text == "No source"
    assert found["design"].link == "https://wiki/design"


def test_a_failed_call_is_no_evidence():
    assert "a@a" not in [each.id for each in collect(consulted_state(failed("a@a")))]


def test_an_answer_is_evidence_about_the_service_with_the_first_link_seen():
    seen = [PageSeen(title=title, excerpt="x", link=link) for title, link in (("A", ""), ("B", "https://b"))]
    found = only(*seen)
    assert (found.source, found.entity, found.link) == ("a", "checkout-api", "https://b")
    assert found.text == "A: x; B: x"


def test_an_answer_nobody_could_type_is_quoted():
    assert only(text="raw words").text == "raw words"


@pytest.mark.parametrize(
    "subject",
    [
        state(answered("a@a")),
        state(located("unresolved", names=()), consulted(service=None, team=None), answered("a@a")),
    ],
)
def test_without_a_service_an_answer_is_about_the_incident(subject):
    assert next(each.entity for each in collect(subject) if each.id == "a@a") == "HighErrorRate"


def test_texts_are_bounded_and_only_the_first_five_observations_are_told():
    seen = [OwnersSeen(repo=f"r{index}", owners=("x",)) for index in range(9)]
    assert only(*seen).text.count("CODEOWNERS") == 5
    assert len(only(text="x" * 5000).text) == MAX_TEXT
    assert len(collect(consulted_state(service=known("checkout-api", summary="x" * 5000)))[0].text) == MAX_TEXT


@pytest.mark.parametrize(
    ("seen", "phrase"),
    [
        (MetricSeen(expression="up", labels={}, last=0.123456, lowest=0, highest=1, at=OPENED), "up = 0.1235"),
        (DependencySeen(client="shop", server="checkout-api", at=OPENED), "shop calls checkout-api"),
        (
            ReleaseSeen(repo="acme/shop", version="1.2", released_at=START, author="ann"),
            "acme/shop: release 1.2 of 2026-03-02 02:13 UTC by ann",
        ),
        (ReleaseSeen(repo="acme/shop", version="1.2", released_at=None), "acme/shop: release 1.2"),
        (
            ChangeSeen(repo="acme/shop", reference="#7", title="Retry less", merged_at=START),
            "acme/shop #7 Retry less, merged 2026-03-02 02:13 UTC",
        ),
        (OwnersSeen(repo="acme/shop", owners=("@acme/a", "@b")), "CODEOWNERS of acme/shop: @acme/a, @b"),
        (MessageSeen(channel="#ops", author="ann", text="y" * 300, at=None), f"ann in #ops: {'y' * 200}"),
        (PageSeen(title="Design", excerpt="z" * 300), f"Design: {'z' * 200}"),
    ],
)
def test_each_kind_of_observation_has_its_phrase(seen, phrase):
    assert describe(seen) == phrase
