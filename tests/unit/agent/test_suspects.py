from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.suspects import rank, span
from connectors.observations import ChangeSeen, DependencySeen, ReleaseSeen
from tests.unit.agent.scene import LEDGER, OPENED, RELEASE, START, answered, consulted_state, known, state


def release(version: str, before: timedelta | None) -> ReleaseSeen:
    return ReleaseSeen(repo="acme/checkout", version=version, released_at=None if before is None else START - before)


def change(before: timedelta, title: str = "Retry more") -> ChangeSeen:
    return ChangeSeen(repo="acme/checkout", reference="#12", title=title, merged_at=START - before)


OPEN = known("ledger down", "Incident", properties={"affected": "ledger", "status": "open"})


def test_nothing_is_suspected_when_nothing_points_anywhere():
    assert rank(state()) == ()
    assert rank(consulted_state()) == ()


def test_a_release_shortly_before_the_start_is_the_first_suspect():
    subject = consulted_state(
        answered("r@github", release("1.5.0", timedelta(minutes=12)), change(timedelta(minutes=12))),
        answered("g@prometheus", DependencySeen(client="checkout-api", server="redis", at=OPENED)),
    )
    assert [each.name for each in rank(subject)] == ["release 1.5.0", "#12 Retry more", "redis"]
    first = rank(subject)[0]
    assert first.reasons == ("12 min before the start",)
    assert first.evidence == ("r@github",)


@pytest.mark.parametrize(
    "before", [None, timedelta(hours=25), timedelta(minutes=-3)], ids=["no date", "too old", "after the start"]
)
def test_a_release_that_cannot_have_caused_it_is_no_suspect(before):
    assert rank(consulted_state(answered("r@github", release("1", before)))) == ()


def test_a_release_moments_after_the_start_counts_since_clocks_differ():
    (suspect,) = rank(consulted_state(answered("r@github", release("1", timedelta(minutes=-1)))))
    assert suspect.score == 0.9
    assert suspect.reasons == ("0 s before the start",)


def test_a_release_the_graph_knows_is_suspected_by_its_version_or_its_name():
    named = known("nameless", "Release", properties={"released_at": (START - timedelta(hours=1)).isoformat()})
    subject = consulted_state(releases=(RELEASE, named, known("undated", "Release")))
    assert {each.name: each.evidence for each in rank(subject)} == {
        "release 1.4.0": (RELEASE.id,),
        "release nameless": (named.id,),
    }


def test_one_release_told_twice_is_one_suspect_with_its_best_score():
    for hours in (1, 3):
        subject = consulted_state(
            answered("r@github", release("1.4.0", timedelta(hours=hours))), releases=(RELEASE,)
        )
        (suspect,) = rank(subject)
        assert suspect.evidence == (("r@github",) if hours == 1 else (RELEASE.id,))


def test_a_supplier_with_an_open_incident_of_its_own_is_suspected():
    (suspect,) = rank(consulted_state(incidents=(OPEN,)))
    assert (suspect.name, suspect.evidence) == ("ledger", (OPEN.id, LEDGER.id))


@pytest.mark.parametrize("changed", [{"status": "resolved"}, {"affected": "shop"}])
def test_a_resolved_incident_or_one_of_no_supplier_accuses_nobody(changed):
    past = OPEN.model_copy(update={"properties": {**OPEN.properties, **changed}})
    assert rank(consulted_state(incidents=(past,))) == ()


@given(st.lists(st.timedeltas(timedelta(hours=-1), timedelta(hours=48)), max_size=8))
def test_scores_are_within_bounds_ordered_and_never_higher_for_an_older_release(ages: list[timedelta]):
    seen = [release(str(number), age) for number, age in enumerate(ages)]
    ranked = rank(consulted_state(answered("r@github", *seen)))
    scores = [each.score for each in ranked]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    found = [max(ages[int(each.name.split()[1])], timedelta(0)) for each in ranked]
    assert [round(0.4 + 0.5 * (1 - age / timedelta(hours=24)), 2) for age in found] == scores


@pytest.mark.parametrize(
    ("seconds", "said"), [(0, "0 s"), (40, "40 s"), (720, "12 min"), (10_800, "3 h"), (172_800, "2 d")]
)
def test_a_duration_is_said_as_a_person_says_it(seconds, said):
    assert span(timedelta(seconds=seconds)) == said
