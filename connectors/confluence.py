"""Typed reads of Confluence through an MCP server (the tools of PyPI's `mcp-atlassian`). Pure."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Any, cast

from connectors.observations import PageSeen
from connectors.reading import Read, answered_json, objects, plain_words, text_at, unreadable, web_link
from connectors.tool import ToolOutcome

SERVICE = "Confluence"
_MOST_PAGES = 5
_EXCERPT = 400


def search_pages(text: str) -> Read:
    """Pages about a text. It may come from an alert, so only its words enter the query."""
    return "confluence_search", {"query": f'type = page AND text ~ "{plain_words(text)}"', "limit": _MOST_PAGES}


def read_pages(outcome: ToolOutcome) -> tuple[PageSeen, ...]:
    """The pages found; what has no title is no page."""
    answer = answered_json(outcome, SERVICE)
    if isinstance(answer, dict):
        answer = cast("dict[str, Any]", answer).get("results")
    if not isinstance(answer, list):
        raise unreadable(SERVICE, "there is no list of pages")
    return tuple(
        PageSeen(title=text_at(page, "title"), excerpt=_excerpt(page), link=web_link(text_at(page, "url")))
        for page in objects(cast("list[object]", answer))[:_MOST_PAGES]
        if text_at(page, "title")
    )


def _excerpt(page: Mapping[str, Any]) -> str:
    content = text_at(page, "content", "value") or text_at(page, "content") or text_at(page, "excerpt")
    text = " ".join(html.unescape(re.sub(r"<[^>]*>|@@@(?:end)?hl@@@", " ", content)).split())
    return text if len(text) <= _EXCERPT else text[: _EXCERPT - 1] + "…"
