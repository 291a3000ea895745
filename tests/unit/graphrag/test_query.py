import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.query import MAX_WORDS, Query, query_of, root, telling
from graphrag.signals import signals_from_alerts, signals_from_question


def of(expression: str = "", note: str = "", **labels: str) -> Query:
    return query_of(signals_from_alerts([labels], [{"summary": note}] if note else [], [expression]))


def test_an_alerts_name_is_split_at_capitals_and_punctuation():
    assert of(alertname="CheckoutAPIHighErrorRate").name == ("checkout", "api", "high", "error", "rate")
    assert of(alertname="queue_depth:too-large").name == ("queue", "depth", "large")


def test_what_is_left_of_a_template_is_not_looked_for():
    words = of(alertname="Lag", note="The {{ $labels.worker }} of {{ $value | humanize }} lags behind").words
    assert words == ("lag", "lags", "behind")


def test_the_metrics_of_the_expression_are_looked_for_but_not_its_functions():
    words = of("sum by (pod) (rate(payments_retries_total[5m])) > 3", alertname="Slow").words
    assert words == ("slow", "payments", "retries", "total")


def test_words_that_every_page_has_numbers_and_single_letters_are_left_out():
    assert telling(["there is a 5 in x of the till"]) == ("till",)


def test_the_alerts_name_counts_more_than_its_text_and_that_more_than_its_labels():
    weights = of(alertname="SlowTill", note="drawer jams", region="north").weights
    assert weights[root("till")] == 1.0
    assert weights[root("till")] > weights[root("drawer")] > weights[root("north")] > 0


@pytest.mark.parametrize(
    ("labels", "note", "name"),
    [
        ({}, "drawer jams", ("drawer", "jams")),
        ({"region": "north"}, "", ("north",)),
        ({}, "", ()),
    ],
)
def test_without_a_name_the_next_best_words_take_its_place(labels, note, name):
    assert of(note=note, **labels).name == name


def test_a_questions_words_are_its_name():
    assert query_of(signals_from_question("Why is the till slow?")).name == ("till", "slow")


@pytest.mark.parametrize(
    ("word", "other"), [("errors", "error"), ("fetching", "fetches"), ("stopped", "stopped"), ("queued", "queueing")]
)
def test_inflected_words_have_one_root(word, other):
    assert root(word)[:4] == root(other)[:4]
    assert root("errors") == root("error")
    assert root("fetching") == root("fetches")


def test_a_short_word_is_its_own_root():
    assert [root(word) for word in ("bus", "es", "ring", "s")] == ["bus", "es", "ring", "s"]


@given(
    st.dictionaries(st.text(max_size=12), st.text(max_size=80), max_size=8),
    st.text(max_size=400),
    st.text(max_size=200),
)
def test_any_text_makes_a_bounded_query_whose_words_all_count(labels, note, expression):
    query = query_of(signals_from_alerts([labels], [{"summary": note}], [expression]))
    assert len(query.words) <= MAX_WORDS
    assert set(query.name) <= set(query.words)
    assert query.weights.keys() == {root(word) for word in query.words}
    assert all(0 < weight <= 1 for weight in query.weights.values())


def test_a_search_takes_the_name_in_its_words_without_their_endings_and_as_one_word():
    assert of(alertname="QueueRejectsJobs").spellings == (
        "queue",
        "rejects",
        "reject",
        "jobs",
        "job",
        "queuerejectsjobs",
    )
    assert "is" not in of(alertname="The till is slow").spellings


def test_what_the_alert_carries_to_be_followed_is_told_from_what_its_text_speaks_of():
    body = ({"alertname": "Slow", "playbook": "docs/till.md", "job": "shop/till"},)
    notes = ({"runbook_url": "https://x.example/docs/a.md", "summary": "See https://x.example/docs/b.md."},)
    query = query_of(signals_from_alerts(body, notes, ['up{runbook="docs/c.md"}']))
    assert set(query.pointers) == {"docs/till.md", "https://x.example/docs/a.md"}
    assert query.links == ("https://x.example/docs/b.md",)
    assert query.alerts == ("Slow",)
