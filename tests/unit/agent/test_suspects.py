from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.suspects import RECENT, rank, span
from connectors.observations import ChangeSeen, DependencySeen, MessageSeen, ReleaseSeen
from tests.unit.agent.scene import (
    LEDGER,
    OPENED,
    RELEASE,
    START,
    answered,
    consulted_state,
    known,
    minutes,
    state,
)

SECOND = timedelta(seconds=1)


def release(before: timedelta | None, version: str = "2.0") -> ReleaseSeen:
    return ReleaseSeen(repo="acme/checkout", version=version, released_at=None if before is None else START - before)


def change(before: timedelta, title: str = "Retry less") -> ChangeSeen:
    return ChangeSeen(repo="acme/checkout", reference="#7", title=title, merged_at=START - before)


def trouble(affected: str):
    return known("the slow one", "Incident", properties={"affected": affected, "status": "open"})


def suspects(*seen, **said) -> list[tuple[str, float]]:
    return [(each.name, each.score) for each in rank(consulted_state(answered("a@a", *seen), **said))]


def test_nothing_seen_and_nothing_known_points_nowhere():
    assert rank(state()) == ()
    assert rank(consulted_state()) == ()
    message = MessageSeen(channel="#ops", author="ann", text="it was the release", at=START)
    assert suspects(message) == []


@pytest.mark.parametrize(
    ("before", "score"),
    [
        (timedelta(0), 0.9),
        (RECENT / 2, 0.65),
        (RECENT, 0.4),
        (RECENT + SECOND, None),
        (-minutes(2), 0.9),
        (-minutes(2) - SECOND, None),
        (None, None),
    ],
)
def test_a_release_counts_the_more_the_closer_before_the_start_it_was(before, score):
    assert suspects(release(before)) == ([] if score is None else [("release 2.0", score)])


def test_a_merge_weighs_less_than_a_release_at_the_same_time():
    assert suspects(change(timedelta(0)), release(timedelta(0))) == [("release 2.0", 0.9), ("#7 Retry less", 0.72)]


def test_a_merge_without_a_title_is_named_by_its_reference():
    assert suspects(change(timedelta(0), title="")) == [("#7", 0.72)]


def test_a_release_the_graph_knows_is_a_suspect_with_the_graphs_evidence():
    unversioned = known("the big one", "Release", properties={"released_at": START.isoformat()})
    undated = known("some day", "Release")
    found = rank(consulted_state(releases=(RELEASE, unversioned, undated)))
    assert [(each.name, each.evidence) for each in found] == [
        ("release the big one", (unversioned.id,)),
        ("release 1.4.0", (RELEASE.id,)),
    ]
    assert found[1].reasons == ("2 h before the start",)


def test_the_same_release_seen_twice_is_one_suspect_with_its_best_score():
    early, late = release(RECENT), release(timedelta(0))
    assert suspects(early, late) == suspects(late, early) == [("release 2.0", 0.9)]


def test_a_supplier_that_only_traffic_shows_is_a_suspect():
    seen = DependencySeen(client="checkout-api", server="fraud-check", at=OPENED)
    (found,) = rank(consulted_state(answered("a@a", seen)))
    assert (found.name, found.kind, found.score, found.evidence) == ("fraud-check", "service", 0.35, ("a@a",))


def test_a_supplier_with_an_open_incident_is_a_suspect_by_both_evidences():
    (found,) = rank(consulted_state(supplier_incidents=(trouble("ledger"),)))
    assert (found.name, found.kind, found.score) == ("ledger", "service", 0.6)
    assert "the slow one" in found.reasons[0]
    assert found.evidence == (trouble("ledger").id, LEDGER.id)


def test_a_past_incident_of_the_service_or_an_open_one_of_somebody_else_points_nowhere():
    assert suspects(incidents=(trouble("ledger"),)) == []
    assert suspects(supplier_incidents=(trouble("shop"), trouble(""))) == []


@given(st.lists(st.one_of(st.none(), st.timedeltas(timedelta(days=-2), timedelta(days=2))).map(release)))
def test_scores_are_between_zero_and_one_and_the_highest_comes_first(seen):
    found = rank(consulted_state(answered("a@a", *seen)))
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert all(each.evidence and each.reasons for each in found)


@given(st.permutations([release(minutes(1), "a"), release(minutes(1), "b"), change(minutes(3))]))
def test_the_order_in_which_things_were_seen_does_not_change_the_ranking(seen):
    assert [name for name, _ in suspects(*seen)] == ["release a", "release b", "#7 Retry less"]


@pytest.mark.parametrize(
    ("duration", "said"),
    [
        (timedelta(0), "0 s"),
        (timedelta(seconds=59), "59 s"),
        (timedelta(minutes=1), "1 min"),
        (timedelta(minutes=59), "59 min"),
        (timedelta(hours=1), "1 h"),
        (timedelta(days=1), "1 d"),
        (timedelta(days=9), "9 d"),
    ],
)
def test_a_duration_is_told_in_its_largest_unit(duration, said):
    assert span(duration) == said
