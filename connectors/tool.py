"""A tool of a server outside, a call to it, and how the call ended: plain data, so that a journal can keep it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class ToolSpec(_Frozen):
    """A tool a server offers and our policy lets us call. `input_schema` is the server's JSON schema."""

    server: str
    name: str
    description: str = ""
    input_schema: Mapping[str, Any] = {}


class ToolCall(_Frozen):
    """One call to make. `id` is unique within an investigation; `purpose` says to a person why it is made."""

    id: str
    server: str
    tool: str
    arguments: Mapping[str, Any]
    purpose: str


class ToolOutcome(_Frozen):
    """How a call ended. Exactly one of `text` (what it answered, bounded) and `error` (one sentence) matters.

    `data` is the answer parsed as JSON where it is JSON. `truncated` says the answer was longer than we keep.
    """

    ok: bool
    text: str = ""
    data: Any = None
    error: str = ""
    truncated: bool = False
    started_at: datetime
    ended_at: datetime
