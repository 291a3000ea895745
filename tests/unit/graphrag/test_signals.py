"""What an alert or a question says: labels, the matchers of expressions, text."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.signals import (
    MAX_SIGNALS,
    MAX_TEXT,
    MAX_VALUE,
    Signal,
    matchers,
    signals_from_alerts,
    signals_from_question,
)


def test_labels_matchers_and_annotations_all_speak_and_say_where_they_stood() -> None:
    signals = signals_from_alerts(
        [{"alertname": "HighErrorRate", "service": "till"}],
        [{"summary": "the till is stuck"}],
        ['rate(errors{job="books"}[5m]) > 1'],
    )
    assert signals.names == (
        Signal("alertname", "HighErrorRate"),
        Signal("service", "till"),
        Signal("matcher __name__", "errors"),
        Signal("matcher job", "books"),
        Signal("text", "the till is stuck"),
    )
    assert "HighErrorRate" in signals.text
    assert "the till is stuck" in signals.text


def test_what_several_alerts_share_is_said_once() -> None:
    label = {"service": "till"}
    assert signals_from_alerts([label, label], [{"a": "x"}, {"b": "x"}], []).names == (
        Signal("service", "till"),
        Signal("text", "x"),
    )


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("{{ $labels.pod }} is down", "is down"),
        ("on {{ $labels.a }} and {{ $labels.b }} too", "on   and   too"),
        ("down {{ $labels.unclosed", "down"),
        ("{% if x %}a{% end %}", "a"),
    ],
)
def test_debris_of_templates_is_dropped(written: str, kept: str) -> None:
    assert signals_from_alerts([], [{"summary": written}], []).names == (Signal("text", kept),)


def test_the_keys_of_unfilled_templates_are_told_and_which_of_them_say_whose_it_is() -> None:
    notes = {
        "summary": "The {{ $labels.kind }} service on {{ .Labels.host | title }} is late",
        "description": "{{ with $x }}{{ printf `%s` $labels.pod }}{{ end }} since {{ $value }}",
    }
    (alert,) = signals_from_alerts([{"alertname": "Late"}], [notes], []).alerts
    assert alert.templated == {"kind", "host", "pod"}
    assert alert.asked == {"kind"}


def test_a_value_that_was_only_a_template_says_nothing() -> None:
    assert signals_from_alerts([{"service": "{{ $labels.service }}"}], [], []).names == ()


@given(
    st.lists(st.dictionaries(st.text(max_size=9), st.text(max_size=900), max_size=9), max_size=60),
    st.lists(st.text(max_size=300), max_size=9),
)
def test_signals_are_bounded_whatever_comes(each: list[dict[str, str]], expressions: list[str]) -> None:
    signals = signals_from_alerts(each, each, expressions)
    assert len(signals.names) <= MAX_SIGNALS + 20
    assert len(signals.text) <= MAX_TEXT
    assert all(len(name.value) <= MAX_VALUE for name in signals.names if name.origin != "text")


def test_a_question_is_bounded_and_is_both_name_and_text() -> None:
    signals = signals_from_question("x" * 10_000)
    assert signals.names == (Signal("question", signals.text),)
    assert len(signals.text) == MAX_TEXT


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('up{job="a"} == 0', [("__name__", "up"), ("job", "a")]),
        ("pg_up == 0", [("__name__", "pg_up")]),
        ('{__name__="m", app="y"} offset 5m', [("__name__", "m"), ("app", "y")]),
        ('sum by (service) (rate(m{service="a-b"}[5m])) > 0.5', [("__name__", "m"), ("service", "a-b")]),
        ('m{job=~"a|b-c"}', [("__name__", "m"), ("job", "a"), ("job", "b-c")]),
        ('m{job=~"a.*|b"}', [("__name__", "m"), ("job", "b")]),
        ('m{job!="a",app!~"b",env=""}', [("__name__", "m")]),
        ("""m{a='}"{'}""", [("__name__", "m"), ("a", '}"{')]),
        ('x unless on (job) y{a="b"}', [("__name__", "x"), ("__name__", "y"), ("a", "b")]),
        ('label_replace(up, "service", "$1", "job", "(.*)")', [("__name__", "up")]),
    ],
)
def test_the_matchers_that_ask_for_a_value_are_read(expression: str, expected: list[tuple[str, str]]) -> None:
    assert list(matchers(expression)) == expected


@pytest.mark.parametrize("broken", ['(m{job="a"}', 'm{job="a"} > {{ $x }}', 'm{job="a"} ))) %', 'm{job="a"} + n{oops'])
def test_an_error_elsewhere_in_an_expression_costs_no_matcher(broken: str) -> None:
    assert ("job", "a") in matchers(broken)


@given(st.text(alphabet="abm{}()[]\"'`\\=~!,|+ 5", max_size=200))
def test_no_expression_is_an_error(expression: str) -> None:
    assert all(key and value for key, value in matchers(expression))


@pytest.mark.parametrize(
    "expression",
    ["(" * 9_000 + "up" + ")" * 9_000, "+".join(['up{a="b"}'] * 5_000), '{"' * 9_000, '"\\' * 9_000, "by (" * 9_000],
    ids=["nested", "long", "open", "quotes", "groups"],
)
def test_a_hostile_expression_takes_no_time(expression: str) -> None:
    start = time.process_time()
    matchers(expression)
    assert time.process_time() - start < 2
