import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.rank import (
    HALF_LIFE_DAYS,
    RRF_K,
    TERMS,
    Terms,
    Weights,
    breakdown,
    confirmed,
    fuse,
    prior,
    recency,
    scaled,
)

NOW = datetime(2026, 11, 30, tzinfo=UTC)
ids = st.lists(st.sampled_from("abcdefgh"), max_size=8)
shares = st.floats(0, 1)


def test_a_thing_in_two_lists_beats_the_first_of_one():
    scores = fuse([["x", "a"], ["y", "a"]])
    assert max(scores, key=lambda id: scores[id]) == "a"
    assert scores["x"] == pytest.approx(1 / (RRF_K + 1))


def test_a_thing_twice_in_one_list_counts_by_its_better_rank():
    assert fuse([["a", "b", "a"]]) == fuse([["a", "b"]])


@given(st.lists(ids, max_size=5), st.randoms())
def test_the_order_of_the_lists_does_not_matter(lists, random):
    shuffled = random.sample(lists, len(lists))
    assert fuse(shuffled) == fuse(lists)


@given(st.lists(ids, max_size=5))
def test_the_first_of_a_list_gets_most_of_that_list(lists):
    scores = fuse(lists)
    assert scores.keys() == {id for each in lists for id in each}
    for each in lists:
        alone = fuse([each])
        assert all(alone[each[0]] >= score for score in alone.values())


@given(st.builds(Terms, *[shares] * 6), st.builds(Weights, *[shares] * 6))
def test_each_term_adds_its_share_of_its_weight(terms, weights):
    parts = breakdown(terms, weights)
    assert tuple(parts) == TERMS
    assert all(0 <= parts[name] <= getattr(weights, name) for name in TERMS)


def test_a_weight_of_zero_leaves_its_term_out():
    best = Terms(*[1.0] * 6)
    assert breakdown(best, Weights(text=0))["text"] == 0
    assert sum(breakdown(best, Weights(1, 0, 0, 0, 0, 0)).values()) == 1


@given(st.dictionaries(st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False, width=32)))
def test_scaled_scores_lie_between_zero_and_one_and_keep_their_order(scores):
    shares = scaled(scores)
    assert shares.keys() == scores.keys()
    assert all(0 <= share <= 1 for share in shares.values())
    ordered = sorted(scores, key=lambda id: scores[id])
    assert [shares[id] for id in ordered] == sorted(shares.values())
    if max(scores.values(), default=0) > 0:
        assert max(shares.values()) == 1


@given(st.timedeltas(timedelta(days=-1_000), timedelta(days=10_000)))
def test_recency_lies_between_zero_and_one(age):
    assert 0 <= recency(NOW - age, NOW) <= 1


def test_recency_halves_with_every_half_life():
    assert recency(NOW, NOW) == 1
    assert recency(NOW - timedelta(days=2 * HALF_LIFE_DAYS), NOW) == pytest.approx(0.25)


def test_more_confirmations_are_better_but_ever_less():
    values = [confirmed(count) for count in (-1, 0, 1, 3, 10, 1_000)]
    assert values[:2] == [0, 0]
    assert values[3] == 0.5
    assert values == sorted(values)
    assert values[-1] < 1


def test_before_it_was_offered_a_thing_is_as_good_as_its_kind():
    assert prior({}, 0.4) == pytest.approx(0.4)


def test_what_helped_often_beats_what_helped_once_and_what_never_helped_falls():
    often, once, never = ({"offered": n, "helped": h} for n, h in ((50, 50), (1, 1), (50, 0)))
    assert prior(often, 0.4) > prior(once, 0.4) > 0.4 > prior(never, 0.4)


@given(
    st.fixed_dictionaries({}, optional={"offered": st.one_of(st.integers(), st.floats(), st.text(max_size=3))}),
    st.fixed_dictionaries({}, optional={"helped": st.one_of(st.integers(), st.floats(), st.booleans())}),
    shares,
)
def test_a_prior_lies_between_zero_and_one_whatever_is_written_there(offered, helped, expected):
    value = prior({**offered, **helped}, expected)
    assert math.isfinite(value)
    assert 0 <= value <= 1
