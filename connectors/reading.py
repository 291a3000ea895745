"""Getting at what a tool answered, and the little that its readers share. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from connectors.errors import ConnectorError
from connectors.tool import ToolOutcome

Read = tuple[str, dict[str, Any]]
"""A tool's name and the arguments to call it with."""

_WORD = re.compile(r"[^\W_][\w.\-]*")


def answered_text(outcome: ToolOutcome, service: str) -> str:
    """The text of an answer; raises `ConnectorError` for a call that failed."""
    if not outcome.ok:
        raise ConnectorError(service, outcome.error, recoverable=False)
    return outcome.text


def answered_json(outcome: ToolOutcome, service: str) -> Any:
    """The JSON of an answer; raises `ConnectorError` when the call failed or its answer is no JSON."""
    answered_text(outcome, service)
    if outcome.data is None:
        why = "was longer than we keep" if outcome.truncated else "was not JSON"
        raise unreadable(service, f"its answer {why}")
    return outcome.data


def unreadable(service: str, why: str) -> ConnectorError:
    return ConnectorError(service, f"{service} answered in a form we cannot read: {why}.", recoverable=False)


def objects(value: Any) -> list[Mapping[str, Any]]:
    """The objects of a list; what is no object is passed over."""
    items = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Any]", item) for item in items if isinstance(item, dict)]


def text_at(fields: Mapping[str, Any], *path: str) -> str:
    """The text at a path of keys, or nothing."""
    value: Any = fields
    for key in path:
        value = cast("Mapping[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def time_of(text: str) -> datetime | None:
    """An aware UTC time from ISO 8601 text, None when it is none."""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def web_link(url: str) -> str:
    """The link if a browser may open it; `javascript:` and the like are dropped."""
    return url if url.startswith(("https://", "http://")) else ""


def plain_words(text: str, most: int = 12) -> str:
    """The words of untrusted text, so that no operator of a search language gets through."""
    return " ".join(_WORD.findall(text)[:most])
