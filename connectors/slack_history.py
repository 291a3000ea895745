"""Typed reads of chat through an MCP server (the tools of npm's `slack-mcp-server`, which answers in CSV). Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from typing import cast

from connectors.observations import MessageSeen
from connectors.reading import Read, answered_text, objects, plain_words, text_at, time_of, unreadable, web_link
from connectors.tool import ToolOutcome

SERVICE = "Slack history"
_MOST_MESSAGES = 50


def recent_messages(channel: str) -> Read:
    """The last day of a channel, by `#name` or id."""
    return "conversations_history", {"channel_id": channel, "limit": "1d"}


def search_messages(text: str) -> Read:
    """Messages about a text. It may come from an alert, so only its words enter the query."""
    return "conversations_search_messages", {"search_query": plain_words(text), "limit": 20}


def read_messages(outcome: ToolOutcome) -> tuple[MessageSeen, ...]:
    """The messages, in the server's order. A row without text, or cut off, is passed over."""
    text = answered_text(outcome, SERVICE)
    data: object = outcome.data
    if isinstance(data, list):
        rows = objects(cast("list[object]", data))
    elif not text.strip():
        return ()
    else:
        rows = _rows(text)
    messages = (_message({name.lower(): value for name, value in row.items()}) for row in rows[:_MOST_MESSAGES])
    return tuple(message for message in messages if message.text)


def _rows(text: str) -> list[Mapping[str, str]]:
    reader = csv.DictReader(io.StringIO(text), restkey="rest", restval="")
    try:
        if "text" not in {name.lower() for name in reader.fieldnames or ()}:
            raise unreadable(SERVICE, "there is no column of texts")
        return [{name: value for name, value in row.items() if isinstance(value, str)} for row in reader]
    except csv.Error as error:
        raise unreadable(SERVICE, "it is no CSV") from error


def _message(row: Mapping[str, object]) -> MessageSeen:
    return MessageSeen(
        channel=text_at(row, "channel") or text_at(row, "channelid"),
        author=text_at(row, "realname") or text_at(row, "username") or text_at(row, "botname"),
        text=text_at(row, "text"),
        at=time_of(text_at(row, "time")),
        link=web_link(text_at(row, "permalink")),
    )
