import math

from hypothesis import given
from hypothesis import strategies as st

from graphrag.bm25 import rarity, relevance
from graphrag.query import Query, query_of, root
from graphrag.signals import signals_from_alerts, signals_from_question

words = st.text("abcdef", min_size=1, max_size=12)


def asked(text: str) -> Query:
    return query_of(signals_from_question(text))


def best(query: Query, **texts: str) -> str:
    scores = relevance(query, texts)
    return max(scores, key=lambda id: scores[id])


def test_the_text_with_the_rarer_word_is_better():
    texts = {"a": "queue stuck", "b": "queue ledger", "c": "queue long", "d": "queue short"}
    assert best(asked("ledger queue"), **texts) == "b"


def test_inflected_words_meet():
    assert relevance(asked("fetching errors"), {"a": "it fetches an error", "b": "none of it"})["b"] == 0
    assert best(asked("fetching errors"), a="none of it", b="it fetches an error") == "b"


def test_words_run_together_in_a_text_are_read_apart():
    assert best(asked("queue too large"), a="see the docs", b="QueueTooLarge fires") == "b"


def test_words_that_follow_each_other_as_in_the_query_count_more_than_the_same_words_apart():
    query = asked("thread pool")
    assert best(query, a="a pool beside every thread here", b="the thread pool beside it here") == "b"


def test_a_small_word_between_two_others_does_not_part_them():
    scores = relevance(asked("queue is too large"), {"a": "the queue was too large", "b": "large is the queue today"})
    assert scores["a"] > scores["b"]


def test_a_word_of_the_alerts_name_counts_more_than_one_of_its_text():
    query = query_of(signals_from_alerts([{"alertname": "DrawerJams"}], [{"summary": "north side"}], []))
    assert best(query, a="the north", b="the drawer", c="else") == "b"


def test_a_long_text_does_not_win_by_length():
    assert best(asked("drawer"), a="drawer " + "filler " * 300, b="drawer jams") == "b"


@given(st.lists(st.lists(words, max_size=5), max_size=6))
def test_a_word_in_more_texts_is_less_rare_and_every_word_counts(texts):
    rare = rarity(texts)
    count = {word: sum(word in each for each in texts) for word in rare}
    assert all(value > 0 for value in rare.values())
    assert all(rare[a] >= rare[b] for a in rare for b in rare if count[a] <= count[b])


@given(st.text(max_size=80), st.dictionaries(st.text(max_size=3), st.text(max_size=200), max_size=4))
def test_any_text_has_a_finite_relevance_that_is_not_negative(question, texts):
    scores = relevance(asked(question), texts)
    assert scores.keys() == texts.keys()
    assert all(math.isfinite(score) and score >= 0 for score in scores.values())


@given(words, words)
def test_a_text_of_no_word_that_is_asked_for_scores_nothing(word, other):
    if root(word) != root(other):
        assert relevance(Query((word,), (word,), {root(word): 1.0}), {"a": other})["a"] == 0
