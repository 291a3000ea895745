from typing import Any

import promql_parser
import pytest

from connectors.expression import firing_expression
from evals.forms import Rule, as_written, bears, expression_only, live, text_only, without_matchers

RULE = Rule(
    name="TillsSlow",
    labels={"severity": "s2", "team": "tills", "type": "old"},
    annotations={"title": "{{ $labels.type }} is slow in {{$labels.zone}}, {{ $value }}"},
    expression='latency{type="tills", job="shop/tills-agent", zone="a"} > 1',
)


def only_alert(body: dict[str, Any]) -> tuple[dict[str, str], str, str]:
    (alert,) = body["alerts"]
    return alert["labels"], alert["annotations"]["title"], firing_expression(alert["generatorURL"]) or ""


def test_as_written_nothing_is_filled_in_and_nothing_is_taken_away() -> None:
    labels, title, expression = only_alert(as_written(RULE))
    assert labels == {"alertname": "TillsSlow", **RULE.labels}
    assert title == RULE.annotations["title"]
    assert expression == RULE.expression


def test_live_the_label_says_whose_it_is_and_templates_of_known_labels_are_filled_in() -> None:
    labels, title, expression = only_alert(live(RULE, "type", "tills"))
    assert labels["type"] == "tills"
    assert title == "tills is slow in {{$labels.zone}}, {{ $value }}"
    assert expression == RULE.expression


def test_with_the_expression_only_the_label_is_gone_and_no_template_tells_it() -> None:
    labels, title, expression = only_alert(expression_only(RULE, "type"))
    assert "type" not in labels
    assert "tills" not in title
    assert expression == RULE.expression


def test_of_the_text_only_names_and_words_are_left() -> None:
    labels, title, expression = only_alert(text_only(RULE, "type", ["tills"]))
    assert labels == {"alertname": "TillsSlow", "severity": "s2"}
    assert title == RULE.annotations["title"]
    assert expression == 'latency{zone="a"} > 1'


@pytest.mark.parametrize(
    ("expression", "left"),
    [
        ('up{a="1",type="x"}', 'up{a="1",}'),
        ("up{type=~'x|y',a='1'}", "up{a='1'}"),
        ("up{type=`x`} and down{a=`1`}", "up{} and down{a=`1`}"),
        ('up{host="10-tills-b:90"}', "up{}"),
        ('up{host="utills"}', 'up{host="utills"}'),
        ('label_replace(up{type="x"}, "type", "tills", "a", "b=\\"c\\"")', None),
        ("# it's type=\"x\"\nup{type='x'}", '# it\'s type="x"\nup{}'),
        ("sum by (type) (up) > 1", "sum by (type) (up) > 1"),
    ],
)
def test_matchers_that_bear_the_answer_go_and_the_rest_still_parses(expression: str, left: str | None) -> None:
    found = without_matchers(expression, "type", ["tills"])
    assert found == (left or expression.replace('type="x"', ""))
    promql_parser.parse(found)


def test_a_name_is_borne_word_by_word() -> None:
    assert bears("prometheus-agent-TillsAPI", ["tills-api"])
    assert not bears("tills and api", ["tills-api"])
    assert not bears("anything", ["", "-"])
