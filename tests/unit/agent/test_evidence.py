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
    consulted_state,
    failed,
    known,
    state,
)

METRIC = MetricSeen(expression="errors", labels={}, last=0.25, lowest=0, highest=1, at=OPENED, link="https://p/graph")


def test_a_state_that_saw_nothing_has_no_evidence():
    assert collect(state()) == ()


def test_every_entity_of_the_graph_is_evidence_under_its_own_id():
    document = known("design", "Doc", properties={"url": "https://wiki/design"})
    subject = consulted_state(documents=(document,), releases=(RELEASE,), incidents=(PAST,))
    expected = (CHECKOUT, PAYMENTS, LEDGER, VAULT, SHOP, RUNBOOK, document, RELEASE, PAST)
    assert [each.id for each in collect(subject)] == [each.id for each in expected]
    assert {each.source for each in collect(subject)} == {"graph"}
    assert [each.link for each in collect(subject) if each.link] == ["https://wiki/design"]


def test_a_graph_that_knows_no_service_and_no_team_leaves_what_the_search_found():
    subject = consulted_state(service=None, team=None, dependencies=(), dependents=())
    assert [each.id for each in collect(subject)] == [RUNBOOK.id]


def test_evidence_of_the_graph_says_how_surely_it_is_known():
    once = known("once", sources=("rules", "catalog"))
    texts = {each.id: each.text for each in collect(consulted_state(dependents=(once,)))}
    assert texts[CHECKOUT.id] == "Takes the money. seen 3 times by catalog"
    assert texts[once.id] == "seen once by rules, catalog"
    assert texts[VAULT.id] == ""


def test_an_entity_met_twice_is_one_piece_of_evidence():
    assert [each.id for each in collect(consulted_state(dependents=(LEDGER,)))].count(LEDGER.id) == 1


def test_an_answer_is_evidence_under_its_calls_id_and_a_failure_is_none():
    subject = consulted_state(answered("m@prometheus", METRIC), failed("r@github"))
    *_, last = collect(subject)
    assert (last.id, last.source, last.entity, last.time) == ("m@prometheus", "prometheus", "checkout-api", OPENED + (
        last.time - OPENED
    ))
    assert last.text == "errors = 0.25"
    assert last.link == "https://p/graph"
    assert "r@github" not in [each.id for each in collect(subject)]


def test_an_answer_we_cannot_type_is_evidence_with_its_text_bounded():
    (only,) = collect(state(answered("x@any", text="a" * 10_000)))
    assert only.text == "a" * MAX_TEXT
    assert only.entity == "HighErrorRate"
    assert only.link == ""


@pytest.mark.parametrize(
    ("seen", "phrase"),
    [
        (METRIC, "errors = 0.25"),
        (DependencySeen(client="a", server="b", at=OPENED), "a calls b"),
        (
            ReleaseSeen(repo="o/r", version="2", released_at=START, author="ann"),
            "o/r: release 2 of 2026-03-02 02:13 UTC by ann",
        ),
        (ReleaseSeen(repo="o/r", version="2", released_at=None), "o/r: release 2"),
        (
            ChangeSeen(repo="o/r", reference="#1", title="Retry", merged_at=START),
            "o/r #1 Retry, merged 2026-03-02 02:13 UTC",
        ),
        (OwnersSeen(repo="o/r", owners=("@o/a", "@b")), "CODEOWNERS of o/r: @o/a, @b"),
        (MessageSeen(channel="#ops", author="ann", text="x" * 300, at=None), f"ann in #ops: {'x' * 200}"),
        (PageSeen(title="Page", excerpt="y" * 300), f"Page: {'y' * 200}"),
    ],
)
def test_each_observation_reads_as_a_phrase(seen, phrase):
    assert describe(seen) == phrase
