from __future__ import annotations

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.expression import firing_expression, without_comparison


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://p:9090/graph?g0.expr=up+%3D%3D+0&g0.tab=1", "up == 0"),
        ("http://p:9090/graph?g0.tab=1&g0.expr=rate%28x%5B5m%5D%29+%3E+0.05", "rate(x[5m]) > 0.05"),
        ("http://p/graph#%5B%7B%22expr%22%3A%22up%20%3D%3D%200%22%2C%22tab%22%3A0%7D%5D", "up == 0"),
        ("https://example.com/graph#...", None),
        ("https://example.com", None),
        ("http://p/graph?g0.expr=", None),
        ("http://p/graph#%5B%5D", None),
        ("http://p/graph#%7B%22expr%22%3A1%7D", None),
        ("http://[broken", None),
        ("", None),
    ],
)
def test_the_firing_expression_is_in_the_url(url: str, expected: str | None) -> None:
    assert firing_expression(url) == expected


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("x > 0.05", "x"),
        ("0.05 < x", "x"),
        ("-1 > x", "x"),
        ("2 * 3 < x", "x"),
        ("(x > 5)", "x"),
        ("((x) > 5)", "(x)"),
        ("x > bool 5", "x"),
        ("a > 1 < 2", "a"),
        ("a > on (job) group_left () b", "a"),
        ("time() - x > 60", "time() - x"),
        ("a > 5 and on (job) b > 3", "a and on (job) b > 3"),
        ("a > 5 and a > 5", "a and a > 5"),
        ("a > 5 unless on (job) maintenance == 1", "a unless on (job) maintenance == 1"),
        ("(a > 5) and (b > 3) unless c", "a and (b > 3) unless c"),
        ("sum by (job) (rate(x[5m])) / sum by (job) (rate(y[5m])) > 0.1", None),
        ('a{b="x  y"} > 1', 'a{b="x  y"}'),
        (r"a{b=~`x\.y`} > 1", r'a{b=~"x\\.y"}'),
    ],
)
def test_the_outermost_comparison_is_taken_off(expression: str, value: str | None) -> None:
    shown = without_comparison(expression)
    assert shown.expression == (value or expression.removesuffix(" > 0.1"))
    assert shown.understood
    assert shown.comparison


@pytest.mark.parametrize(
    "expression", ["absent(up)", "x", "sum(x > 5)", "a > 5 or b < 3", "max_over_time((x > 3)[5m:1m])"]
)
def test_what_compares_nothing_on_the_outside_stays(expression: str) -> None:
    assert without_comparison(expression) == (expression, "", True)


@pytest.mark.parametrize("expression", ["nonsense(", "", "x >", "{{ $labels.x }}", "x" * 30_000])
def test_what_cannot_be_parsed_comes_back_as_it_came_and_is_marked(expression: str) -> None:
    assert without_comparison(expression) == (expression, "", False)


@given(
    st.sampled_from(
        ["up", "rate(x[5m])", "sum by (a) (rate(x[5m])) / sum by (a) (y)", "a - (b - c)", "-a", "time() - z"]
    ),
    st.sampled_from([">", "<", ">=", "<=", "==", "!="]),
    st.floats(min_value=-1e6, max_value=1e6, allow_nan=False),
    st.booleans(),
    st.integers(min_value=0, max_value=3),
)
def test_a_threshold_on_either_side_leaves_the_same_value(
    value: str, operator: str, threshold: float, on_the_left: bool, parentheses: int
) -> None:
    compared = f"{threshold!r} {operator} {value}" if on_the_left else f"{value} {operator} {threshold!r}"
    shown = without_comparison("(" * parentheses + compared + ")" * parentheses)
    assert str(promql_parser.parse(shown.expression)) == str(promql_parser.parse(value))


@given(st.text(max_size=60))
def test_no_text_makes_it_fail(text: str) -> None:
    firing_expression(text)
    without_comparison(text)
