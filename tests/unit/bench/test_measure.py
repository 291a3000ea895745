"""The pure parts of the measurements."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.webhook import firing_set
from bench.deliveries import opening, update
from bench.load import Target, content_length
from bench.measure import Measured, percentile
from connectors.alertmanager import group_id, parse_notification


def test_a_measurement_is_one_line_of_json_with_the_fields_outsiders_read() -> None:
    line = Measured("accept-rate", 123.456789, "accepts/s", "a bare route", 246.913578).line()
    assert "\n" not in line
    assert json.loads(line) == {
        "bench": "accept-rate",
        "value": 123.5,
        "unit": "accepts/s",
        "reference": "a bare route",
        "reference_value": 246.9,
        "ratio": 0.5,
    }


def test_a_reference_of_nothing_has_no_ratio() -> None:
    assert json.loads(Measured("idle", 1.0, "s", "nothing", 0.0).line())["ratio"] is None


def test_percentiles_are_values_that_were_seen() -> None:
    values = [float(number) for number in range(1, 101)]
    assert (percentile(values, 0.5), percentile(values, 0.95), percentile(values, 0.99)) == (50, 95, 99)
    assert percentile([3.0, 1.0, 2.0], 1) == 3.0
    assert percentile([7.0], 0.01) == 7.0


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=50), st.floats(0.01, 1))
def test_a_percentile_is_the_smallest_value_that_covers_its_share(values: list[float], share: float) -> None:
    def covered(limit: float) -> float:
        return sum(value <= limit for value in values) / len(values)

    found = percentile(values, share)
    assert covered(found) >= share - 1e-9
    assert all(covered(value) < share + 1e-9 for value in values if value < found)


@pytest.mark.parametrize(("values", "share"), [([], 0.5), ([1.0], 0.0), ([1.0], 1.5)])
def test_a_percentile_of_nothing_is_refused(values: list[float], share: float) -> None:
    with pytest.raises(ValueError, match="percentile"):
        percentile(values, share)


def test_a_request_names_the_length_of_its_body() -> None:
    head, _, body = Target("ours", 1, "/there", "a-token").request(b'{"a":1}').partition(b"\r\n\r\n")
    assert head.startswith(b"POST /there HTTP/1.1\r\n")
    assert b"Authorization: Bearer a-token" in head
    assert content_length(head) == len(body) == 7


def test_an_answer_without_a_length_is_refused() -> None:
    with pytest.raises(ValueError, match="Content-Length"):
        content_length(b"HTTP/1.1 202 Accepted\r\ntransfer-encoding: chunked\r\n\r\n")


def test_each_update_is_news_about_the_group_it_belongs_to() -> None:
    first, second, third = (parse_notification(body) for body in (opening("z"), update("z", 1), update("z", 2)))
    assert len({group_id("default", each) for each in (first, second, third)}) == 1
    assert len({firing_set(each.alerts) for each in (first, second, third)}) == 3
    assert group_id("default", parse_notification(opening("y"))) != group_id("default", first)
