import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.activation import Link, spread

weights = st.floats(0, 1)
names = st.sampled_from("abcdef")
links = st.lists(st.builds(Link, names, names, weights), max_size=12)
starts = st.dictionaries(names, weights, max_size=4)


def test_activation_reaches_two_hops_and_no_third():
    reached = spread({"a": 1.0}, [Link("a", "b"), Link("b", "c"), Link("c", "d")])
    assert reached["b"] == 0.5
    assert reached["c"] == 0.25
    assert "d" not in reached


def test_a_link_is_walked_both_ways():
    assert spread({"b": 1.0}, [Link("a", "b")], hops=1) == {"a": 0.5}


def test_a_weaker_link_carries_less_and_one_without_weight_nothing():
    reached = spread({"a": 1.0}, [Link("a", "b", 0.8), Link("a", "c", 0.2), Link("a", "d", 0.0)], hops=1)
    assert reached["b"] > reached["c"] > reached["d"] == 0


def test_what_comes_from_several_sides_adds_up():
    assert spread({"a": 1.0, "b": 0.5}, [Link("a", "c"), Link("b", "c")], hops=1)["c"] == pytest.approx(0.75)


def test_the_same_link_told_twice_counts_once():
    assert spread({"a": 1.0}, [Link("a", "b"), Link("b", "a")]) == spread({"a": 1.0}, [Link("a", "b")])


def test_a_faint_activation_is_not_passed_on():
    chain = [Link("a", "b"), Link("b", "c")]
    assert "c" in spread({"a": 1.0}, chain, floor=0.5)
    assert "c" not in spread({"a": 0.9}, chain, floor=0.5)
    assert spread({"a": 0.4}, chain, floor=0.5) == {}


def test_nothing_started_reaches_nothing():
    assert spread({}, [Link("a", "b")]) == {}


@given(starts, links)
def test_activation_is_never_negative_and_more_at_the_start_never_gives_less(start, ways):
    reached = spread(start, ways)
    more = spread({id: min(1.0, value + 0.25) for id, value in start.items()}, ways)
    assert all(value >= 0 for value in reached.values())
    assert all(more.get(id, 0.0) >= value - 1e-9 for id, value in reached.items())


@given(starts, links, st.randoms())
def test_the_order_of_the_links_does_not_matter(start, ways, random):
    reached, again = spread(start, ways), spread(start, random.sample(ways, len(ways)))
    assert reached.keys() == again.keys()
    assert all(again[id] == pytest.approx(value) for id, value in reached.items())
