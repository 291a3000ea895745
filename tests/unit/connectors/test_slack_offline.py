from __future__ import annotations

import io
import json
import os
from pathlib import Path

import pytest
from rich.console import Console

from connectors.errors import ConnectorError
from connectors.slack import Message, Posted
from connectors.slack_offline import ConsoleSink, FileSink

BLOCKS = (
    {"type": "header", "text": {"type": "plain_text", "text": "checkout-api is failing"}},
    {"type": "divider"},
    {
        "type": "section",
        "text": {"type": "mrkdwn", "text": "*Owner* `payments` &lt;see&gt; <https://r.example/1|the runbook>"},
        "fields": [{"type": "mrkdwn", "text": "_error ratio_ 0.12"}],
    },
    {"type": "context", "elements": [{"type": "plain_text", "text": "*as it is*"}]},
    {"type": "actions", "elements": [{"type": "button", "text": {"type": "plain_text", "text": "Wrong service"}}]},
)


async def test_a_file_is_found_by_its_key_and_updated_in_place(tmp_path: Path) -> None:
    sink = FileSink(tmp_path / "reports")
    assert await sink.find("#a", "k") is None
    posted = await sink.post("#a", Message("one", BLOCKS), "k")
    assert await sink.find("#a", "k") == posted
    assert await sink.find("#b", "k") is None
    await sink.update(posted, Message("two"))
    kept = json.loads(sink.path(posted).read_text())
    assert (kept["text"], kept["blocks"], kept["key"], kept["channel"]) == ("two", [], "k", "#a")


async def test_posting_the_same_key_twice_leaves_one_file(tmp_path: Path) -> None:
    sink = FileSink(tmp_path)
    assert await sink.post("#a", Message("one"), "k") == await sink.post("#a", Message("one"), "k")
    assert len(os.listdir(tmp_path)) == 1


async def test_a_message_that_is_not_there_cannot_be_updated(tmp_path: Path) -> None:
    with pytest.raises(ConnectorError, match="no message"):
        await FileSink(tmp_path).update(Posted("#a", "0"), Message("x"))


async def shown(tmp_path: Path, message: Message) -> str:
    out = io.StringIO()
    sink = ConsoleSink(FileSink(tmp_path), Console(file=out, width=100))
    posted = await sink.post("#payments", message, "k")
    assert await sink.find("#payments", "k") == posted
    await sink.update(posted, message)
    return out.getvalue()


async def test_the_terminal_shows_a_message_as_slack_would(tmp_path: Path) -> None:
    text = await shown(tmp_path, Message("plain", BLOCKS))
    for expected in ("#payments", "checkout-api is failing", "Owner payments <see> the runbook", "error ratio 0.12"):
        assert expected in text
    assert "*as it is*" in text
    assert "[ Wrong service ]" in text
    assert "updated" in text


async def test_nothing_in_a_message_commands_the_terminal(tmp_path: Path) -> None:
    text = await shown(tmp_path, Message("[bold red]x[/] \x1b[2J\x9b2J\x07 end"))
    assert "[bold red]x[/]" in text
    assert not {"\x1b", "\x9b", "\x07"} & set(text)
