from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import promql_parser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_types import CallToolResult

from connectors.confluence import read_pages, search_pages
from connectors.errors import ConnectorError
from connectors.github import (
    codeowners,
    is_missing,
    latest_release,
    read_changes,
    read_file,
    read_latest_release,
    read_owners,
    read_releases,
    recent_changes,
    recent_releases,
    repository,
)
from connectors.mcp_answer import read_answer
from connectors.prometheus import (
    MOST_CLIENTS,
    alert_range,
    calls_of_a_day,
    read_calls,
    read_metrics,
    read_service_graph,
    service_graph,
)
from connectors.slack_history import read_messages, recent_messages, search_messages
from connectors.tool import ToolOutcome

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STAMP = NOW.timestamp()


def answered(data: Any = None, text: str | None = None) -> ToolOutcome:
    said = json.dumps(data) if text is None else text
    return ToolOutcome(ok=True, text=said, data=data, started_at=NOW, ended_at=NOW)


FAILED = ToolOutcome(ok=False, error="It is down.", started_at=NOW, ended_at=NOW)


def test_an_alert_is_read_over_the_hour_before_it() -> None:
    assert alert_range("up", NOW) == (
        "execute_range_query",
        {"query": "up", "start": "2026-03-01T11:00:00Z", "end": "2026-03-01T12:00:00Z", "step": "30s"},
    )


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3))
def test_any_names_make_a_query_that_asks_for_just_these(names: list[str]) -> None:
    query = service_graph(names)[1]["query"]
    try:
        promql_parser.parse(query)
    except ValueError as error:
        pytest.fail(f"{query}: {error}")
    pattern = json.loads(re.search(r'client=~("(?:[^"\\]|\\.)*")', query).group(1))  # type: ignore[union-attr]
    assert all(re.fullmatch(pattern, name, re.DOTALL) for name in names)


@given(st.lists(st.text(min_size=1, max_size=20), max_size=MOST_CLIENTS + 5))
def test_the_calls_of_a_day_are_asked_of_everybody_or_of_some_clients(names: list[str]) -> None:
    tool, arguments = calls_of_a_day(names)
    try:
        promql_parser.parse(arguments["query"])
    except ValueError as error:
        pytest.fail(f"{arguments['query']}: {error}")
    assert (tool, "client=~" in arguments["query"]) == ("execute_query", bool(names))


def test_every_pair_that_was_seen_calling_is_read_with_its_labels() -> None:
    def series(client: str, value: str) -> dict[str, Any]:
        return {"metric": {"client": client, "server": "b", "connection_type": "database"}, "value": [STAMP, value]}

    many = [series(f"a{number}", "1") for number in range(300)]
    rows = read_calls(answered({"result": [*many, series("idle", "0"), series("odd", "NaN"), "x"]}))
    assert len(rows) == 300
    assert rows[0] == {"client": "a0", "server": "b", "connection_type": "database"}


def test_a_name_with_a_dot_asks_for_no_other_name() -> None:
    pattern = json.loads(re.search(r'client=~("(?:[^"\\]|\\.)*")', service_graph(["a.b"])[1]["query"]).group(1))  # type: ignore[union-attr]
    assert not re.fullmatch(pattern, "axb")


def test_a_series_is_read_with_its_last_lowest_and_highest_value() -> None:
    values = [[STAMP - 60, "0.1"], [STAMP - 30, "NaN"], [STAMP, "0.3"], [STAMP, "+Inf"]]
    answer = {"resultType": "matrix", "result": [{"metric": {"job": "a"}, "values": values}]}
    (seen,) = read_metrics(answered({**answer, "links": [{"href": "http://p/graph"}]}), "x")
    assert (seen.expression, seen.labels, seen.last, seen.lowest, seen.highest) == ("x", {"job": "a"}, 0.3, 0.1, 0.3)
    assert (seen.at, seen.link) == (NOW, "http://p/graph")


@pytest.mark.parametrize(
    "answer",
    [
        {"resultType": "vector", "result": [{"metric": {}, "value": [STAMP, "2"]}]},
        {"resultType": "scalar", "result": [STAMP, "2"]},
        {"status": "success", "data": {"resultType": "vector", "result": [{"metric": {}, "value": [STAMP, "2"]}]}},
        [{"metric": {}, "value": [STAMP, "2"]}],
    ],
)
def test_the_forms_of_a_metric_give_the_same_value(answer: Any) -> None:
    (seen,) = read_metrics(answered(answer), "x")
    assert (seen.last, seen.at) == (2.0, NOW)


def test_series_without_a_number_are_not_seen() -> None:
    series = [{"metric": {}, "value": [STAMP, "NaN"]}, {"metric": {}}, {"metric": {}, "values": []}, "x"]
    assert read_metrics(answered({"resultType": "vector", "result": series}), "x") == ()


def test_traffic_is_a_dependency_and_no_traffic_is_none() -> None:
    def edge(server: str, value: str) -> dict[str, Any]:
        return {"metric": {"client": "a", "server": server}, "value": [STAMP, value]}

    answer = {"resultType": "vector", "result": [edge("b", "3"), edge("c", "0"), edge("a", "1"), edge("", "1")]}
    (seen,) = read_service_graph(answered(answer))
    assert (seen.client, seen.server, seen.at) == ("a", "b", NOW)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("acme/shop", ("acme", "shop")),
        ("https://github.com/acme/shop", ("acme", "shop")),
        ("https://github.com/acme/shop.git", ("acme", "shop")),
        ("git@github.com:acme/shop.git", ("acme", "shop")),
        ("acme/web.site", ("acme", "web.site")),
        ("shop", None),
        ("https://github.com/acme/shop/tree/main", None),
        ("", None),
    ],
)
def test_a_repository_is_named_or_addressed(text: str, expected: tuple[str, str] | None) -> None:
    assert repository(text) == expected


def test_what_names_no_repository_is_not_asked_for() -> None:
    assert latest_release("shop") is recent_changes("shop") is codeowners("shop") is None


Recorded = Callable[[str], ToolOutcome]


@pytest.fixture
def recorded(shared_data: Path) -> Recorded:
    """What GitHub's server answered, as the fleet passes it on."""

    def read(name: str) -> ToolOutcome:
        file = shared_data / "mcp-tools" / "github" / "results" / f"{name}.json"
        answer = read_answer(CallToolResult.model_validate(json.loads(file.read_text())["result"]))
        return ToolOutcome(
            ok=not answer.error, text=answer.text, data=answer.data, error=answer.error, started_at=NOW, ended_at=NOW
        )

    return read


@pytest.mark.parametrize("name", ["get_latest_release", "list_releases"])
def test_the_recorded_release_is_read(name: str, recorded: Recorded) -> None:
    (seen,) = read_latest_release(recorded(name), "acme/checkout")
    assert (seen.version, seen.author) == ("v2.4.1", "acme-bot")
    assert seen.released_at == datetime(2026, 11, 28, 22, 55, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "first"), [("list_pull_requests", "Shrink the connection pool"), ("list_commits", "Shrink the connection")]
)
def test_recorded_changes_are_read_newest_first(name: str, first: str, recorded: Recorded) -> None:
    changes = read_changes(recorded(name), "acme/checkout")
    assert changes[0].title.startswith(first)
    assert list(changes) == sorted(changes, key=lambda change: change.merged_at, reverse=True)


def test_the_recorded_owners_are_read_from_the_embedded_file(recorded: Recorded) -> None:
    (seen,) = read_owners(recorded("get_file_contents"), "acme/checkout")
    assert seen.owners == ("@acme/payments",)


def test_a_recorded_failure_is_an_error(recorded: Recorded) -> None:
    with pytest.raises(ConnectorError, match="404"):
        read_changes(recorded("get_commit_not_found"), "acme/missing")


def test_drafts_and_previews_are_no_latest_release() -> None:
    def release(tag: str, day: int, **fields: Any) -> dict[str, Any]:
        return {"tag_name": tag, "published_at": f"2026-01-{day:02}T00:00:00Z", **fields}

    releases = [release("v1", 1), release("v3", 3, prerelease=True), release("v2", 2), release("v4", 4, draft=True)]
    assert [seen.version for seen in read_latest_release(answered(releases), "a/b")] == ["v2"]
    assert read_latest_release(answered([]), "a/b") == ()


def test_all_full_releases_are_read_newest_first_with_their_notes() -> None:
    releases = [
        {"tag_name": "v1", "published_at": "2026-01-01T00:00:00Z", "body": "First."},
        {"tag_name": "v2", "published_at": "2026-01-02T00:00:00Z"},
        {"tag_name": "v3", "draft": True},
        {"tag_name": "v0"},
    ]
    seen = read_releases(answered(releases), "a/b")
    assert [(each.version, each.notes) for each in seen] == [("v2", ""), ("v1", "First."), ("v0", "")]
    assert recent_releases("a/b") == ("list_releases", {"owner": "a", "repo": "b", "perPage": 20})


def test_part_of_a_file_is_no_file() -> None:
    assert read_file(answered(text="* @a/b")) == "* @a/b"
    with pytest.raises(ConnectorError, match="longer than we keep"):
        read_file(answered(text="* @a/b").model_copy(update={"truncated": True}))


def test_what_is_missing_is_told_from_what_failed() -> None:
    assert is_missing("failed to get latest release: 404 Not Found")
    assert not is_missing("it did not answer within 15 seconds")


def test_a_pull_request_that_was_not_merged_changed_nothing() -> None:
    assert read_changes(answered([{"number": 1, "title": "x", "merged_at": None}]), "a/b") == ()


@pytest.mark.parametrize(
    ("file", "owners"),
    [
        ("* @a/x @a/y # all\n", ("@a/x", "@a/y")),
        ("# * @a/x\n", ()),
        ("*.py @a/x\n", ()),
        ("* @a/x\n* @a/y\n", ("@a/y",)),
        ("* @a/x\n*\n", ()),
        ("* someone@example.com nobody\n", ("someone@example.com",)),
        ("successfully downloaded text file (SHA: 12)\n* @a/x", ("@a/x",)),
    ],
)
def test_the_last_rule_for_the_whole_repository_names_the_owners(file: str, owners: tuple[str, ...]) -> None:
    assert [seen.owners for seen in read_owners(answered(text=file), "a/b")] == ([owners] if owners else [])


def test_pages_are_read_as_text() -> None:
    pages = [
        {"title": "Pool", "url": "https://w/1", "content": {"value": "<p>Raise &amp; wait</p>", "format": "view"}},
        {"title": "", "content": "x"},
        {"title": "Bare", "url": "javascript:alert(1)"},
    ]
    first, second = read_pages(answered(pages))
    assert (first.title, first.excerpt, first.link) == ("Pool", "Raise & wait", "https://w/1")
    assert (second.excerpt, second.link) == ("", "")


@given(st.text())
def test_no_text_adds_an_operator_to_a_search(text: str) -> None:
    query = search_pages(text)[1]["query"]
    assert re.fullmatch(r'type = page AND text ~ "[\w.\- ]*"', query)
    assert not set(search_messages(text)[1]["search_query"]) & set(':"@#<>')


def test_messages_are_read_from_csv() -> None:
    text = (
        "MsgID,UserID,UserName,RealName,Channel,ThreadTs,Text,Time,Reactions,Cursor\n"
        '1.2,U1,mara,Mara L,#deploys,,"v2, live\nnow",2026-03-01T12:00:00Z,,\n'
        "1.3,U2,bot,,#deploys,,hi,never,,\n"
        "1.4,U2,bot,,#deploys,,,2026-03-01T12:00:00Z,,\n"
    )
    first, second = read_messages(answered(text=text))
    assert (first.channel, first.author, first.text, first.at) == ("#deploys", "Mara L", "v2, live\nnow", NOW)
    assert (second.author, second.at) == ("bot", None)
    assert recent_messages("#deploys")[1]["channel_id"] == "#deploys"


def test_no_messages_are_no_messages() -> None:
    assert read_messages(answered(text="")) == ()
    assert read_messages(answered(text="MsgID,UserID,UserName,RealName,Channel,ThreadTs,Text,Time\n")) == ()


READERS: dict[str, Callable[[ToolOutcome], tuple[Any, ...]]] = {
    "metrics": lambda outcome: read_metrics(outcome, "x"),
    "service graph": read_service_graph,
    "calls": read_calls,
    "release": lambda outcome: read_latest_release(outcome, "a/b"),
    "changes": lambda outcome: read_changes(outcome, "a/b"),
    "pages": read_pages,
    "messages": read_messages,
}
ALL_READERS = {
    **READERS,
    "owners": lambda outcome: read_owners(outcome, "a/b"),
    "file": lambda outcome: (read_file(outcome),),
}


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_what_cannot_be_read_is_an_error_with_a_sentence(reader: Callable[[ToolOutcome], Any]) -> None:
    with pytest.raises(ConnectorError, match="in a form we cannot read") as caught:
        reader(answered(text="<html>Sign in</html>"))
    assert not caught.value.recoverable


@pytest.mark.parametrize("reader", ALL_READERS.values(), ids=ALL_READERS)
def test_a_failed_call_is_never_read(reader: Callable[[ToolOutcome], Any]) -> None:
    with pytest.raises(ConnectorError, match="It is down"):
        reader(FAILED)


KEYS = st.sampled_from(
    "result resultType metric value values tag_name published_at number merged_at title content text sha".split()
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            KEYS,
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_any_json_is_read_or_refused_in_our_words(data: Any) -> None:
    for reader in READERS.values():
        try:
            reader(ToolOutcome(ok=True, text="text", data=data, started_at=NOW, ended_at=NOW))
        except ConnectorError:
            pass
