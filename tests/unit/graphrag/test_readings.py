"""Reading names out of labels, names of alerts, and text."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.identity import name_key
from graphrag.readings import readings_of, tokens_of
from graphrag.signals import Signal, signals_from_alerts


def keys(origin: str, value: str) -> set[str]:
    return {reading.key for place in readings_of(Signal(origin, value)) for reading in place}


def called(origin: str, value: str) -> set[str]:
    return {reading.key for place in readings_of(Signal(origin, value)) for reading in place if reading.called}


@given(st.text(max_size=300), st.dictionaries(st.text(max_size=12), st.text(max_size=60), max_size=6))
def test_reading_never_fails_and_every_reading_is_a_key(text: str, labels: Mapping[str, str]) -> None:
    for signal in signals_from_alerts([labels], [{"a": text}], [text]).names:
        for place in readings_of(signal):
            assert all(reading.key == name_key(reading.key) and reading.words >= 1 for reading in place)


def test_a_label_is_read_as_it_is_before_any_part_is_taken_off() -> None:
    (place,) = readings_of(Signal("pod", "ledger-db-0.internal:5432"))
    read = [reading.key for reading in place]
    assert read[0] == name_key("ledger-db-0.internal:5432")
    assert read.index("ledgerdb0") < read.index("ledgerdb")


@pytest.mark.parametrize(
    ("origin", "value", "names"),
    [
        ("text", "The errors of the ledger service rise", {"ledger"}),
        ("text", "of the `cart-api` service", {"cartapi"}),
        ("text", "the service `cart-api` is slow", {"cartapi"}),
        ("alertname", "CartServiceErrors", {"cart"}),
        ("alertname", "ServiceErrors", set()),
        ("text", "redis   service", set()),
        ("text", "service level", set()),
    ],
)
def test_what_a_text_calls_a_service_is_told_from_what_it_mentions(origin: str, value: str, names: set[str]) -> None:
    assert names <= called(origin, value)
    if not names:
        assert not called(origin, value)


def test_of_an_address_in_a_text_only_the_host_is_read() -> None:
    read = keys("text", "see https://wiki.example/cart-api/errors.html#ledger-db")
    assert "wiki" in read
    assert not {"cartapi", "ledgerdb"} & read


def test_the_host_of_a_link_is_told_from_other_words() -> None:
    places = readings_of(Signal("text", "cart-api, see https://cart-api.example/late"))
    linked = [reading.linked for place in places for reading in place if reading.key == "cartapi"]
    assert linked == [False, True]


@pytest.mark.parametrize(
    ("origin", "value", "key"),
    [
        ("alertname", "websocket_slow", "websockets"),
        ("alertname", "SlowRunners", "runner"),
        ("text", "the web sockets are slow", "websocket"),
        ("question", "what runs the websocket?", "websockets"),
    ],
)
def test_a_name_may_stand_in_the_other_number(origin: str, value: str, key: str) -> None:
    assert [each.inflected for place in readings_of(Signal(origin, value)) for each in place if each.key == key] == [
        True
    ]


@pytest.mark.parametrize(
    ("origin", "value", "key"),
    [
        ("alertname", "WebsSlow", "web"),
        ("text", "redis is slow", "redi"),
        ("text", "the bus", "buss"),
        ("text", "less access", "acces"),
        ("description", "a websocket", "websockets"),
        ("service", "websocket", "websockets"),
    ],
)
def test_short_words_and_whole_values_are_left_in_their_number(origin: str, value: str, key: str) -> None:
    assert key not in keys(origin, value)


@given(st.text(alphabet="ab -./:hctps`", max_size=80))
def test_each_place_of_a_text_begins_with_a_word_of_it(text: str) -> None:
    tokens, places = tokens_of(text), readings_of(Signal("question", text))
    assert len(tokens) == len(places)
    for (start, end), place in zip(tokens, places, strict=True):
        said = name_key(text[start:end])
        assert said in {reading.key for reading in place if reading.words == 1}
        assert all(reading.words <= len(tokens) for reading in place)


def test_a_label_that_nobody_knows_is_read_whole() -> None:
    assert keys("runbook", "cart-api.md") == {name_key("cart-api.md")}
    assert "cartapi" in keys("instance", "cart-api.shop:80")
