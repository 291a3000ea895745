"""Our Slack sink and the real slack_sdk against the stand-in over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from connectors import slack
from connectors.slack import Message, Posted, SlackError, SlackSink
from tests.servers.process import free_port
from tests.servers.slack_server import SlackStandin, slack_server

SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "*checkout-api* is failing"}}


@pytest.fixture
def standin() -> Iterator[SlackStandin]:
    with slack_server() as running:
        yield running


@pytest.fixture
def sink(standin: SlackStandin) -> SlackSink:
    return SlackSink(standin.token, standin.base_url)


async def test_a_message_is_posted_found_and_updated_in_place(standin: SlackStandin, sink: SlackSink) -> None:
    posted = await sink.post("#payments", Message("failing", [SECTION]), "incident-1")
    assert posted.thread is None
    assert await sink.find("#payments", "incident-1") == posted
    assert await sink.find(posted.channel, "incident-1") == posted
    assert await sink.find("#payments", "incident-2") is None
    await sink.update(posted, Message("resolved", [SECTION]))
    (message,) = standin.sent("#payments")
    assert (message["text"], message["edits"][0]["text"]) == ("resolved", "failing")
    assert await sink.find("#payments", "incident-1") == posted


async def test_links_are_never_unfurled(standin: SlackStandin, sink: SlackSink) -> None:
    await sink.post("#a", Message("see https://example.com"), "k")
    (request,) = (each for each in standin.requests() if each["method"] == "chat.postMessage")
    assert (request["unfurl_links"], request["unfurl_media"]) == (False, False)


async def test_a_reply_hangs_on_its_parent_and_is_found_there(standin: SlackStandin, sink: SlackSink) -> None:
    parent = await sink.post("#a", Message("parent"), "p")
    reply = await sink.post(parent.channel, Message("detail"), "p/detail", parent.ts)
    assert reply.thread == parent.ts
    assert await sink.find(parent.channel, "p/detail") is None
    assert await sink.find(parent.channel, "p/detail", parent.ts) == reply
    assert await sink.find(parent.channel, "p", parent.ts) == parent


async def test_a_reply_whose_parent_is_gone_says_that_it_stands_alone(sink: SlackSink) -> None:
    assert (await sink.post("#a", Message("detail"), "k", "1.000001")).thread is None


async def test_an_old_message_is_found_on_a_later_page(
    standin: SlackStandin, sink: SlackSink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack, "_PAGE", 3)
    posted = [await sink.post("#a", Message(f"{number}"), f"k{number}") for number in range(8)]
    assert await sink.find("#a", "k0") == posted[0]
    assert len([each for each in standin.requests() if each["method"] == "conversations.history"]) == 3


async def test_another_apps_message_with_our_key_is_not_ours(standin: SlackStandin, sink: SlackSink) -> None:
    await sink.post("#a", Message("x"), "k")
    assert await sink.find("#a", "") is None


TOO_MUCH: dict[str, list[dict[str, Any]]] = {
    "too many blocks": [SECTION] * 51,
    "too long a section": [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 3001}}],
    "too long a header": [{"type": "header", "text": {"type": "plain_text", "text": "x" * 151}}],
    "too many fields": [{"type": "section", "fields": [{"type": "mrkdwn", "text": "x"}] * 11}],
    "too much in all": [{"type": "section", "text": {"type": "mrkdwn", "text": "x" * 2900}}] * 5,
    "an unknown block": [{"type": "hologram"}],
    "an empty text": [{"type": "section", "text": {"type": "mrkdwn", "text": ""}}],
}


@pytest.mark.parametrize("blocks", TOO_MUCH.values(), ids=TOO_MUCH)
async def test_blocks_that_slack_refuses_leave_the_text(
    standin: SlackStandin, sink: SlackSink, blocks: list[dict[str, Any]]
) -> None:
    posted = await sink.post("#a", Message("the report", blocks), "k")
    await sink.update(posted, Message("the report, updated", blocks))
    (message,) = standin.sent("#a")
    assert (message["text"], message["blocks"]) == ("the report, updated", [])


async def test_a_text_past_slacks_limit_is_cut_and_not_dropped(standin: SlackStandin, sink: SlackSink) -> None:
    await sink.post("#a", Message("x" * 50_000), "k")
    assert standin.sent("#a")[0]["text"].endswith("x…")


async def test_a_wait_that_slack_asks_for_is_passed_on(standin: SlackStandin, sink: SlackSink) -> None:
    standin.control(rate_limit=True)
    await sink.post("#a", Message("one"), "k1")
    with pytest.raises(SlackError) as caught:
        await sink.post("#a", Message("two"), "k2")
    assert (caught.value.recoverable, caught.value.delivered, caught.value.retry_after) == (True, False, 1.0)
    await sink.post("#b", Message("elsewhere"), "k3")
    assert len(standin.sent()) == 2


@pytest.mark.parametrize(
    ("fault", "recoverable", "delivered", "said"),
    [
        ({"status": 500}, True, None, "status 500"),
        ({"status": 503, "error": "service_unavailable"}, True, None, "status 503"),
        ({"error": "internal_error"}, True, None, "internal_error"),
        ({"status": 429, "retry_after": 7}, True, False, "7 seconds"),
        ({"error": "invalid_auth"}, False, False, "INCIDENT_GRAPH_SLACK_TOKEN"),
        ({"error": "channel_not_found"}, False, False, "invite the app"),
        ({"error": "something_new"}, False, False, "something_new"),
    ],
)
async def test_every_failure_says_what_became_of_the_message_and_is_tried_once(
    standin: SlackStandin, sink: SlackSink, fault: dict[str, Any], recoverable: bool, delivered: bool | None, said: str
) -> None:
    standin.control(fault=fault)
    with pytest.raises(SlackError, match=said) as caught:
        await sink.post("#a", Message("x", [SECTION]), "k")
    assert (caught.value.recoverable, caught.value.delivered) == (recoverable, delivered)
    assert len(standin.requests()) == 1
    assert standin.sent() == []


async def test_a_message_taken_without_an_answer_is_in_doubt_and_then_found(
    standin: SlackStandin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slack, "_TIMEOUT_SECONDS", 0.5)
    sink = SlackSink(standin.token, standin.base_url)
    standin.control(take_then="silence")
    with pytest.raises(SlackError, match="did not answer") as caught:
        await sink.post("#a", Message("x"), "k")
    assert (caught.value.recoverable, caught.value.delivered) == (True, None)
    found = await sink.find("#a", "k")
    assert found is not None
    assert found.ts == standin.sent("#a")[0]["ts"]


async def test_a_late_answer_is_an_answer(standin: SlackStandin, sink: SlackSink) -> None:
    standin.control(take_then=0.3)
    assert (await sink.post("#a", Message("x"), "k")).ts == standin.sent("#a")[0]["ts"]


async def test_where_nobody_listens_nothing_was_delivered() -> None:
    sink = SlackSink("xoxb-x", f"http://127.0.0.1:{free_port()}/api/")
    with pytest.raises(SlackError, match="could not be reached") as caught:
        await sink.post("#a", Message("x"), "k")
    assert (caught.value.recoverable, caught.value.delivered) == (True, False)


async def test_a_wrong_token_is_named_with_its_remedy(standin: SlackStandin) -> None:
    sink = SlackSink("xoxb-wrong", standin.base_url)
    for request in (sink.post("#a", Message("x"), "k"), sink.find("C0000000000", "k"), sink.check()):
        with pytest.raises(SlackError, match="INCIDENT_GRAPH_SLACK_TOKEN") as caught:
            await request
        assert "xoxb-wrong" not in str(caught.value)


async def test_the_check_says_who_we_are(sink: SlackSink) -> None:
    assert await sink.check() == "incident-graph in Stand-in"


async def test_updating_what_is_not_there_cannot_be_mended_by_trying_again(sink: SlackSink) -> None:
    posted = await sink.post("#a", Message("x"), "k")
    with pytest.raises(SlackError, match="message_not_found") as caught:
        await sink.update(Posted(posted.channel, "1.0"), Message("y"))
    assert not caught.value.recoverable


async def test_an_unknown_channel_cannot_be_searched(sink: SlackSink) -> None:
    with pytest.raises(SlackError, match="no channel #nowhere"):
        await sink.find("#nowhere", "k")


async def test_the_standins_messages_outlive_it(tmp_path: Path) -> None:
    with slack_server(tmp_path / "state.json") as first:
        posted = await SlackSink(first.token, first.base_url).post("#a", Message("x"), "k")
        first.process.kill()
    with slack_server(tmp_path / "state.json") as second:
        assert await SlackSink(second.token, second.base_url).find("#a", "k") == posted
