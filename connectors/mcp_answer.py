"""What a tool answered, made plain and bounded. Pure."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, cast

from mcp_types import CallToolResult, EmbeddedResource, ResourceLink, TextContent, TextResourceContents

MAX_BYTES = 256 * 1024
_MAX_ERROR = 300


class Answer(NamedTuple):
    """`text` is bounded; `data` is the answer as JSON, None where it is none or too long; `error` is empty if well."""

    text: str
    data: Any
    truncated: bool
    error: str


def read_answer(result: CallToolResult) -> Answer:
    """Read a result. A tool fails by `isError` or by `{"error": ...}` in a success; both are errors here."""
    structured = _unwrapped(result.structured_content)
    text = "\n".join(part for part in map(_block_text, result.content) if part)
    if not text and structured is not None:
        text = json.dumps(structured, ensure_ascii=False)
    kept, truncated = _bounded(text)
    data = _fitting(structured) if structured is not None else None
    if data is None and not truncated:
        data = _as_json(kept)
    if result.is_error:
        return Answer(kept, data, truncated, one_line(kept) or "the tool failed and said nothing")
    return Answer(kept, data, truncated, _error_in(data))


def one_line(text: str) -> str:
    """The text in one line of bounded length, for an error sentence."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_ERROR else line[: _MAX_ERROR - 1] + "…"


def _block_text(block: object) -> str:
    match block:
        case TextContent():
            return block.text
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return resource.text
        case ResourceLink():
            return str(block.uri)
        case _:
            return ""


def _bounded(text: str) -> tuple[str, bool]:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= MAX_BYTES:
        return text, False
    return encoded[:MAX_BYTES].decode("utf-8", "ignore"), True


def _unwrapped(structured: Any) -> Any:
    """Servers wrap an answer that is no object as `{"result": ...}`, since older clients take only objects."""
    fields = cast("dict[str, Any]", structured) if isinstance(structured, dict) else {}
    return fields["result"] if list(fields) == ["result"] else cast("Any", structured)


def _fitting(structured: Any) -> Any:
    return (
        structured if len(json.dumps(structured, ensure_ascii=False).encode("utf-8", "replace")) <= MAX_BYTES else None
    )


def _as_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _error_in(data: Any) -> str:
    """The text of an error that came as a success."""
    error = cast("dict[str, Any]", data).get("error") if isinstance(data, dict) else None
    if isinstance(error, dict):
        error = cast("dict[str, Any]", error).get("message") or json.dumps(error)
    return one_line(error) if isinstance(error, str) else ""
