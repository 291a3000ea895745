"""What "it was service X" teaches, decided from an incident's labels alone."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.errors import Refused
from graphrag.identity import name_key
from graphrag.label_keys import Use
from graphrag.label_rules import Condition, labels_of
from graphrag.lessons import Lesson, lesson_of, looks_like_a_name, names_in, shared_labels
from graphrag.model import Label, Life, Node, node_id
from graphrag.signals import AlertSignals, signals_from_alerts

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def known(*names: str, label: Label = Label.SERVICE) -> dict[str, list[Node]]:
    life = Life(NOW, NOW, NOW)
    return {name_key(name): [Node(node_id("t", label, name), "t", label, name, life)] for name in names}


def alerts(*labels: dict[str, str]) -> tuple[AlertSignals, ...]:
    return signals_from_alerts(labels, [], []).alerts


def learnt(*labels: dict[str, str], chosen: str = "", names: dict[str, list[Node]] | None = None) -> tuple[str, ...]:
    uses = {"system": Use(services=5, teams=0, values=6)}
    found = lesson_of(alerts(*labels), chosen, names or {}, uses)
    return found.kind, found.condition.label, found.condition.value


def refused(*labels: dict[str, str], chosen: str = "") -> str:
    with pytest.raises(Refused) as caught:
        learnt(*labels, chosen=chosen)
    return caught.value.code


def test_a_new_name_under_a_label_that_holds_services_is_an_alias():
    assert learnt({"service": "card-worker"}) == ("alias", "service", "card-worker")
    assert learnt({"system": "card-worker", "queue": "jobs-of-cards"}) == ("alias", "system", "card-worker")


def test_one_ordinary_word_or_the_name_of_a_team_is_no_alias():
    assert learnt({"service": "cards"}) == ("rule", "service", "cards")
    teams = known("card-crew", label=Label.TEAM)
    assert learnt({"service": "card-crew"}, chosen="service", names=teams) == ("rule", "service", "card-crew")


def test_a_value_under_any_other_label_is_a_rule():
    assert learnt({"component": "card-worker"}) == ("rule", "component", "card-worker")
    assert learnt({"job": "card-worker"}) == ("rule", "job", "card-worker")


def test_what_says_how_or_where_or_will_differ_next_time_is_not_learnt_from():
    noise = {
        "severity": "critical-page",
        "env": "pre-production",
        "team": "card-crew",
        "pod": "card-worker-7d9f8b6c5d-x2x4z",
        "instance": "card-worker:9090",
        "namespace": "shop-cards",
        "shard": "17",
        "address": "10.0.0.3:80",
        "page": "https://wiki/cards",
        "paused": "false",
        "hint": "cards are slow since this morning",
        "upstream": "ledger-db",
    }
    names = known("ledger-db")
    assert learnt({**noise, "alertname": "Slow"}, names=names) == ("rule", "alertname", "Slow")
    assert learnt({**noise, "queue": "cards", "alertname": "Slow"}, names=names) == ("rule", "queue", "cards")


def test_what_an_expression_asks_for_is_not_learnt_from():
    said = signals_from_alerts([{"alertname": "Slow"}], [{"summary": "cards"}], ['x{queue="cards"} > 1']).alerts
    assert lesson_of(said, "", {}, {}) == Lesson("rule", Condition("alertname", "Slow"))


def test_only_what_all_alerts_share_is_learnt_from():
    first, second = {"queue": "cards", "disk": "sda-one"}, {"queue": "cards", "disk": "sdb-two"}
    assert learnt(first, second) == ("rule", "queue", "cards")
    assert refused(first, second, chosen="disk") == "labels_differ"
    assert refused({"alertname": "A"}, {"alertname": "B"}) == "label_missing"
    assert refused({"queue": "cards"}, {"alertname": "B"}, chosen="queue") == "labels_differ"


def test_two_spellings_of_one_label_are_one():
    assert learnt({"queue": "cards"}, {"exported_queue": "cards"}) == ("rule", "queue", "cards")
    assert learnt({"exported_queue": "cards"}, chosen="queue") == ("rule", "exported_queue", "cards")


def test_several_labels_that_may_tell_are_not_chosen_from():
    assert refused({"queue": "cards", "topic": "orders"}) == "which_label"
    assert learnt({"queue": "cards", "topic": "cards"}) == ("rule", "queue", "cards")
    assert learnt({"queue": "cards", "topic": "orders"}, chosen="topic") == ("rule", "topic", "orders")


def test_a_label_that_a_person_chose_may_be_any():
    assert learnt({"namespace": "shop-cards"}, chosen="namespace") == ("rule", "namespace", "shop-cards")
    assert learnt({"shard": "17", "queue": "cards"}, chosen="shard") == ("rule", "shard", "17")
    assert learnt({"service": "ledger-db"}, chosen="service", names=known("ledger-db")) == (
        "rule",
        "service",
        "ledger-db",
    )
    assert refused({"queue": "cards"}, chosen="topic") == "label_missing"


def test_with_no_alert_there_is_nothing_to_learn_from():
    assert refused() == "alerts_missing"


@pytest.mark.parametrize("value", ["card-worker", "Überweisung", "订单服务", "card ui", "v2-cards"])
def test_what_may_be_a_name(value: str):
    assert looks_like_a_name(value)


@pytest.mark.parametrize(
    "value", ["", "7", "0.5", "10.1.2.3", "true", "No", "x", "http://a.example", "a b c d", "e@x.io"]
)
def test_what_is_no_name(value: str):
    assert not looks_like_a_name(value)


WORDS = st.text("abc- 1", max_size=6)
LABELS = st.dictionaries(
    st.sampled_from(["alertname", "service", "job", "queue", "severity", "pod"]), WORDS, max_size=5
)


@given(st.lists(LABELS, max_size=3), st.sampled_from(["", "queue", "service"]), st.lists(WORDS, max_size=3))
def test_what_is_learnt_is_a_label_that_every_alert_has_and_holds_for_each_of_them(
    labels: list[dict[str, str]], chosen: str, names: list[str]
):
    said = alerts(*labels)
    try:
        lesson = lesson_of(said, chosen, known(*(name for name in names if name_key(name))), {})
    except Refused:
        return
    assert lesson.condition.label in shared_labels(said)
    assert all(lesson.condition.labels <= labels_of(alert) for alert in said)
    assert name_key(lesson.condition.value) in names_in(said)
    if not chosen:
        assert name_key(lesson.condition.value) not in map(name_key, names) or lesson.condition.label == "alertname"
