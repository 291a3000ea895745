from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connectors.alertmanager import (
    Meaningless,
    NotJson,
    alert_fingerprint,
    delivery_key,
    group_id,
    parse_notification,
)

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ALERT_KEYS = st.sampled_from(
    ["status", "labels", "annotations", "startsAt", "endsAt", "generatorURL", "fingerprint", "other"]
)
TOP_KEYS = st.sampled_from(
    ["version", "receiver", "status", "groupKey", "groupLabels", "commonLabels", "truncatedAlerts", "externalURL"]
)


def notification(**fields: Any) -> Any:
    return parse_notification(json.dumps({"alerts": [], **fields}).encode())


def alert(**fields: Any) -> dict[str, Any]:
    return {"status": "firing", "labels": {"alertname": "Slow"}, "startsAt": "2026-01-02T03:04:05Z", **fields}


def test_every_payload_seen_in_the_wild_parses(shared_data: Path) -> None:
    files = sorted((shared_data / "alertmanager-payloads").glob("*.json"))
    assert len(files) >= 29
    for file in files:
        parsed = parse_notification(file.read_bytes())
        assert parsed.alerts, file.name
        assert delivery_key("t", parsed)
        assert group_id("t", parsed)


@pytest.mark.parametrize("body", [b"", b"hello", b"\xff\xfe\x00", b'{"alerts": [', b'{"alerts": NaN}', b"[" * 100_000])
def test_what_is_no_json_is_refused_as_such(body: bytes) -> None:
    with pytest.raises(NotJson):
        parse_notification(body)


@pytest.mark.parametrize(
    "body", [b"[]", b"1", b'"x"', b"{}", b'{"alerts": {}}', b'{"alerts": null}', b'{"alerts": [1]}']
)
def test_json_without_a_list_of_alerts_is_meaningless(body: bytes) -> None:
    with pytest.raises(Meaningless):
        parse_notification(body)


def test_a_bare_alert_is_enough() -> None:
    (only,) = notification(alerts=[{}]).alerts
    assert (only.status, only.labels, only.starts_at, only.ends_at, only.fingerprint) == ("firing", {}, None, None, "")


def test_entries_that_are_no_objects_are_skipped_and_counted() -> None:
    parsed = notification(alerts=[None, alert(), "x"])
    assert (len(parsed.alerts), parsed.skipped) == (1, 2)


def test_values_of_labels_become_text() -> None:
    (only,) = notification(alerts=[alert(labels={"a": 1, "b": True, "c": None, "d": 1.5, "e": ["x"]})]).alerts
    assert only.labels == {"a": "1", "b": "true", "c": "", "d": "1.5", "e": '["x"]'}


def test_text_that_a_database_refuses_is_replaced() -> None:
    (only,) = parse_notification(rb'{"alerts": [{"labels": {"a": "x\u0000y\ud800z"}}]}').alerts
    assert only.labels["a"] == "x\ufffdy\ufffdz"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2018-03-07T06:33:21.873077559-05:00", datetime(2018, 3, 7, 11, 33, 21, 873077, UTC)),
        ("2020-07-17T08:00:05.09866521Z", datetime(2020, 7, 17, 8, 0, 5, 98665, UTC)),
        ("2016-04-07T10:08:52-06:00", datetime(2016, 4, 7, 16, 8, 52, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
        ("yesterday", None),
        (1700000000, None),
        (None, None),
    ],
)
def test_times_are_read_to_utc_or_not_at_all(text: object, expected: datetime | None) -> None:
    (only,) = notification(alerts=[alert(startsAt=text)]).alerts
    assert only.starts_at == expected


def test_an_alert_without_a_status_has_that_of_its_group() -> None:
    assert [each.status for each in notification(status="resolved", alerts=[{}, alert()]).alerts] == [
        "resolved",
        "firing",
    ]


def test_an_unknown_status_counts_as_firing() -> None:
    assert notification(alerts=[alert(status="pending")]).alerts[0].firing


def test_the_same_news_has_one_key_whatever_its_order_and_annotations() -> None:
    one, two = alert(labels={"a": "1"}), alert(labels={"a": "2"})
    first = notification(receiver="r", groupKey="g", alerts=[one, two])
    second = notification(receiver="r", groupKey="g", alerts=[{**two, "annotations": {"value": "9"}}, one])
    moved = notification(receiver="r", groupKey="g", alerts=[one, {**two, "endsAt": "2027-01-01T00:00:00Z"}])
    assert delivery_key("t", first) == delivery_key("t", second) == delivery_key("t", moved)


@pytest.mark.parametrize(
    "change",
    [
        {"receiver": "other"},
        {"groupKey": "other"},
        {"truncatedAlerts": 3},
        {"alerts": [alert(status="resolved", endsAt="2026-01-02T04:00:00Z")]},
        {"alerts": [alert(startsAt="2026-01-02T03:04:06Z")]},
        {"alerts": [alert(labels={"alertname": "Other"})]},
    ],
)
def test_other_news_has_another_key(change: dict[str, Any]) -> None:
    news = {"receiver": "r", "groupKey": "g", "alerts": [alert()]}
    assert delivery_key("t", notification(**news)) != delivery_key("t", notification(**{**news, **change}))


def test_another_tenant_has_another_key_and_another_group() -> None:
    news = notification(groupKey="g", alerts=[alert()])
    assert delivery_key("a", news) != delivery_key("b", news)
    assert group_id("a", news) != group_id("b", news)


def test_a_fingerprint_is_kept_and_else_made_of_the_labels_in_any_order() -> None:
    named, one, two = notification(
        alerts=[alert(fingerprint="f"), alert(labels={"a": "1", "b": "2"}), alert(labels={"b": "2", "a": "1"})]
    ).alerts
    assert alert_fingerprint(named) == "f"
    assert alert_fingerprint(one) == alert_fingerprint(two) != ""


def test_a_group_is_known_by_its_key_else_its_labels_else_its_alerts() -> None:
    by_key = notification(groupKey="g", groupLabels={"a": "1"}, alerts=[alert()])
    assert group_id("t", by_key) == group_id("t", notification(groupKey="g", alerts=[]))
    by_labels = notification(groupLabels={"a": "1", "b": "2"}, alerts=[alert()])
    assert group_id("t", by_labels) == group_id("t", notification(groupLabels={"b": "2", "a": "1"}, alerts=[]))
    one, other = notification(alerts=[alert()]), notification(alerts=[alert(labels={"alertname": "Other"})])
    assert group_id("t", one) != group_id("t", other)


@given(st.dictionaries(TOP_KEYS, JSON_VALUES), st.lists(st.dictionaries(ALERT_KEYS, JSON_VALUES) | JSON_VALUES))
def test_any_object_with_a_list_of_alerts_parses_or_is_meaningless(fields: dict[str, Any], alerts: list[Any]) -> None:
    body = json.dumps({**fields, "alerts": alerts}).encode()
    objects = [each for each in alerts if isinstance(each, dict)]
    if alerts and not objects:
        with pytest.raises(Meaningless):
            parse_notification(body)
        return
    parsed = parse_notification(body)
    assert len(parsed.alerts) == len(objects)
    assert parsed.skipped == len(alerts) - len(objects)
    assert delivery_key("t", parsed) == delivery_key("t", parse_notification(body))
    parsed.model_dump_json().encode()
