"""A stand-in for Slack's Web API that enforces Slack's limits and keeps what it was sent.

`python tests/servers/slack_standin.py --port 9080 [--state FILE] [--token TOKEN]`; the base URL is
`http://127.0.0.1:9080/api/`. With `--state` the messages outlive the process.

- `GET /_sent` gives `{"messages": [...], "requests": [...]}`: messages as they are now, each with `channel`,
  `channel_name`, `ts`, `text`, `blocks`, `metadata`, `thread_ts`, `edits` (what it said before), and every request.
- `POST /_control` takes any of: `{"fault": {"status": 500} | {"status": 429, "retry_after": 2} |
  {"error": "invalid_auth"}, "times": 1, "methods": ["chat.postMessage"]}` to fail without taking anything;
  `{"take_then": "silence" | seconds, ...}` to take a message and then never answer, or only after some time;
  `{"rate_limit": true}` for one message a second and channel; `{"unknown_channels": ["name"]}`; `{"reset": true}`.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

MOST_BLOCKS = 50
MOST_TEXT = 40_000
MOST_IN_ALL_BLOCKS = 13_200
MOST_SECTION_TEXT = 3_000
MOST_FIELDS = 10
MOST_FIELD_TEXT = 2_000
MOST_HEADER_TEXT = 150
MOST_CONTEXT_ELEMENTS = 10
MOST_ACTIONS = 25
MOST_BUTTON_TEXT = 75
MOST_BUTTON_VALUE = 2_000


class Refusal(Exception):
    """Slack says no: `{"ok": false, "error": code}`."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def check_message(body: dict[str, Any]) -> None:
    """Raise the `Refusal` that Slack would answer with."""
    text, blocks = body.get("text") or "", body.get("blocks") or []
    if not text and not blocks:
        raise Refusal("no_text")
    if len(text) > MOST_TEXT:
        raise Refusal("msg_too_long")
    if not isinstance(blocks, list) or len(blocks) > MOST_BLOCKS or not all(map(_block_fits, blocks)):
        raise Refusal("invalid_blocks")
    if sum(map(len, _texts(blocks))) > MOST_IN_ALL_BLOCKS:
        raise Refusal("msg_blocks_too_long")


def _text_fits(item: Any, most: int, *kinds: str) -> bool:
    return (
        isinstance(item, dict)
        and item.get("type") in (kinds or ("plain_text", "mrkdwn"))
        and isinstance(item.get("text"), str)
        and 0 < len(item["text"]) <= most
    )


def _list_fits(items: Any, most: int, fits: Callable[[Any], bool]) -> bool:
    return isinstance(items, list) and 0 < len(items) <= most and all(map(fits, items))


def _section_fits(block: dict[str, Any]) -> bool:
    text, fields = block.get("text"), block.get("fields")
    return (
        (text is not None or fields is not None)
        and (text is None or _text_fits(text, MOST_SECTION_TEXT))
        and (fields is None or _list_fits(fields, MOST_FIELDS, lambda each: _text_fits(each, MOST_FIELD_TEXT)))
    )


def _element_fits(element: Any) -> bool:
    if not isinstance(element, dict):
        return False
    if element.get("type") != "button":
        return True
    value_fits = len(element.get("value") or "") <= MOST_BUTTON_VALUE
    return value_fits and _text_fits(element.get("text"), MOST_BUTTON_TEXT, "plain_text")


_FITS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "section": _section_fits,
    "header": lambda block: _text_fits(block.get("text"), MOST_HEADER_TEXT, "plain_text"),
    "divider": lambda block: True,
    "context": lambda block: _list_fits(
        block.get("elements"), MOST_CONTEXT_ELEMENTS, lambda each: _text_fits(each, MOST_SECTION_TEXT)
    ),
    "actions": lambda block: _list_fits(block.get("elements"), MOST_ACTIONS, _element_fits),
}


def _block_fits(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") in _FITS and _FITS[block["type"]](block)


def _texts(item: Any) -> Iterator[str]:
    if isinstance(item, list):
        for each in item:
            yield from _texts(each)
    elif isinstance(item, dict):
        for name, value in item.items():
            if name == "text" and isinstance(value, str):
                yield value
            else:
                yield from _texts(value)


class Workspace:
    """Channels and messages. Pure but for the file it is kept in."""

    def __init__(self, state: Path | None) -> None:
        self._state = state
        self.channels: dict[str, str] = {}
        self.messages: list[dict[str, Any]] = []
        self.requests: list[dict[str, Any]] = []
        self.rate_limit = False
        self.unknown_channels: set[str] = set()
        self._last_post: dict[str, float] = {}
        if state is not None and state.exists():
            kept = json.loads(state.read_text())
            self.channels, self.messages = kept["channels"], kept["messages"]

    def clear(self) -> None:
        for kept in (self.channels, self.messages, self.requests, self.unknown_channels, self._last_post):
            kept.clear()
        self.save()

    def save(self) -> None:
        if self._state is not None:
            beside = self._state.with_suffix(".part")
            beside.write_text(json.dumps({"channels": self.channels, "messages": self.messages}))
            beside.replace(self._state)

    def channel_to_post(self, channel: str) -> str:
        """The id of a channel given as `#name`, name or id; names come into being when first used."""
        if channel in self.channels:
            return channel
        name = channel.removeprefix("#")
        if not name or name in self.unknown_channels:
            raise Refusal("channel_not_found")
        channel_id = "C" + hashlib.sha256(name.encode()).hexdigest()[:10].upper()
        self.channels[channel_id] = name
        return channel_id

    def known_id(self, channel: str) -> str:
        if channel not in self.channels:
            raise Refusal("channel_not_found")
        return channel

    def must_wait(self, channel_id: str) -> bool:
        now = time.monotonic()
        wait = self.rate_limit and now - self._last_post.get(channel_id, -1e9) < 1
        if not wait:
            self._last_post[channel_id] = now
        return wait

    def next_ts(self) -> str:
        last = max((float(message["ts"]) for message in self.messages), default=0.0)
        return f"{max(time.time(), last + 0.000001):.6f}"

    def find(self, channel_id: str, ts: str) -> dict[str, Any] | None:
        return next((m for m in self.messages if m["channel"] == channel_id and m["ts"] == ts), None)


class Standin:
    """The HTTP face of a workspace."""

    def __init__(self, workspace: Workspace, token: str) -> None:
        self.workspace = workspace
        self.token = token
        self.orders: list[dict[str, Any]] = []
        self._methods: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "auth.test": lambda body: {"user": "incident-graph", "team": "Stand-in", "user_id": "U1", "bot_id": "B1"},
            "chat.postMessage": self._post,
            "chat.update": self._update,
            "conversations.history": self._history,
            "conversations.replies": self._replies,
            "conversations.list": self._channels,
        }

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/api/{method}", self.call, methods=["GET", "POST"]),
                Route("/_sent", self.sent),
                Route("/_control", self.control, methods=["POST"]),
            ]
        )

    async def sent(self, request: Request) -> JSONResponse:
        return JSONResponse({"messages": self.workspace.messages, "requests": self.workspace.requests})

    async def control(self, request: Request) -> JSONResponse:
        order = await request.json()
        if order.pop("reset", False):
            self.orders.clear()
            self.workspace.clear()
        self.workspace.rate_limit = order.pop("rate_limit", self.workspace.rate_limit)
        self.workspace.unknown_channels |= set(order.pop("unknown_channels", ()))
        if "fault" in order or "take_then" in order:
            self.orders.append({"times": 1, "methods": ["chat.postMessage"], **order})
        return JSONResponse({"ok": True, "orders": self.orders})

    async def call(self, request: Request) -> JSONResponse:
        method, body = request.path_params["method"], await _body(request)
        self.workspace.requests.append({"method": method, **body})
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _no("invalid_auth" if "authorization" in request.headers else "not_authed")
        if method not in self._methods:
            return _no("unknown_method")
        order = self._order_for(method)
        if fault := order.get("fault"):
            return _faulty(fault)
        answer = self._perform(method, body)
        await _hold(order.get("take_then"))
        return answer

    def _perform(self, method: str, body: dict[str, Any]) -> JSONResponse:
        try:
            if method == "chat.postMessage":
                check_message(body)
                if self.workspace.must_wait(self.workspace.channel_to_post(str(body.get("channel", "")))):
                    return _faulty({"status": 429, "retry_after": 1})
            return JSONResponse({"ok": True, **self._methods[method](body)})
        except Refusal as refusal:
            return _no(refusal.code)

    def _order_for(self, method: str) -> dict[str, Any]:
        for order in self.orders:
            if method in order["methods"] and order["times"] > 0:
                order["times"] -= 1
                return order
        return {}

    def _post(self, body: dict[str, Any]) -> dict[str, Any]:
        channel_id = self.workspace.channel_to_post(str(body.get("channel", "")))
        metadata = body.get("metadata")
        if metadata is not None and not isinstance(metadata.get("event_payload"), dict):
            raise Refusal("invalid_metadata_format")
        message = {
            "type": "message",
            "channel": channel_id,
            "channel_name": self.workspace.channels[channel_id],
            "ts": self.workspace.next_ts(),
            "text": body.get("text") or "",
            "blocks": body.get("blocks") or [],
            "metadata": metadata,
            "edits": [],
        }
        parent = self.workspace.find(channel_id, str(body.get("thread_ts") or ""))
        if parent is not None:
            message["thread_ts"] = parent.get("thread_ts") or parent["ts"]
        self.workspace.messages.append(message)
        self.workspace.save()
        return {"channel": channel_id, "ts": message["ts"], "message": _shown(message, metadata=False)}

    def _update(self, body: dict[str, Any]) -> dict[str, Any]:
        channel_id, ts = self.workspace.known_id(str(body.get("channel", ""))), str(body.get("ts", ""))
        check_message(body)
        message = self.workspace.find(channel_id, ts)
        if message is None:
            raise Refusal("message_not_found")
        message["edits"].append({"text": message["text"], "blocks": message["blocks"]})
        message["text"], message["blocks"] = body.get("text") or "", body.get("blocks") or []
        self.workspace.save()
        return {"channel": channel_id, "ts": ts, "text": message["text"], "message": _shown(message, metadata=False)}

    def _history(self, body: dict[str, Any]) -> dict[str, Any]:
        channel_id = self.workspace.known_id(str(body.get("channel", "")))
        top = [m for m in self.workspace.messages if m["channel"] == channel_id and "thread_ts" not in m]
        return _page(top[::-1], body)

    def _replies(self, body: dict[str, Any]) -> dict[str, Any]:
        channel_id, ts = self.workspace.known_id(str(body.get("channel", ""))), str(body.get("ts", ""))
        parent = self.workspace.find(channel_id, ts)
        if parent is None:
            raise Refusal("thread_not_found")
        replies = [m for m in self.workspace.messages if m["channel"] == channel_id and m.get("thread_ts") == ts]
        return _page([{**parent, "thread_ts": ts} if replies else parent, *replies], body)

    def _channels(self, body: dict[str, Any]) -> dict[str, Any]:
        channels = [{"id": channel_id, "name": name} for channel_id, name in self.workspace.channels.items()]
        return {"channels": channels, "response_metadata": {"next_cursor": ""}}


def _page(messages: list[dict[str, Any]], body: dict[str, Any]) -> dict[str, Any]:
    start, limit = int(body.get("cursor") or 0), max(1, min(int(body.get("limit") or 100), 999))
    with_metadata = str(body.get("include_all_metadata", "")).lower() in ("1", "true")
    after = start + limit
    return {
        "messages": [_shown(message, metadata=with_metadata) for message in messages[start:after]],
        "has_more": after < len(messages),
        "response_metadata": {"next_cursor": str(after) if after < len(messages) else ""},
    }


def _shown(message: dict[str, Any], *, metadata: bool) -> dict[str, Any]:
    hidden = {"channel", "channel_name", "edits"} | (set() if metadata else {"metadata"})
    return {name: value for name, value in message.items() if name not in hidden and value is not None}


def _no(code: str) -> JSONResponse:
    return JSONResponse({"ok": False, "error": code})


def _faulty(fault: dict[str, Any]) -> JSONResponse:
    status = fault.get("status", 200)
    headers = {"Retry-After": str(fault.get("retry_after", 1))} if status == 429 else None
    code = fault.get("error", "ratelimited" if status == 429 else "internal_error")
    return JSONResponse({"ok": False, "error": code}, status_code=status, headers=headers)


async def _hold(take_then: str | float | None) -> None:
    if take_then is not None:
        await asyncio.sleep(86_400 if take_then == "silence" else float(take_then))


async def _body(request: Request) -> dict[str, Any]:
    raw = await request.body()
    if request.headers.get("content-type", "").startswith("application/json"):
        return json.loads(raw or b"{}")
    return {**dict(request.query_params), **dict(parse_qsl(raw.decode()))}


class Server(uvicorn.Server):
    """Says when it listens, so that whoever started it need not guess."""

    async def startup(self, *arguments: Any, **named: Any) -> None:
        await super().startup(*arguments, **named)
        print(f"listening on {self.config.port}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="A stand-in for Slack's Web API.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--state", type=Path)
    parser.add_argument("--token", default="xoxb-standin")
    arguments = parser.parse_args()
    standin = Standin(Workspace(arguments.state), arguments.token)
    Server(
        uvicorn.Config(
            standin.app(), port=arguments.port, log_level="warning", access_log=False, timeout_graceful_shutdown=1
        )
    ).run()


if __name__ == "__main__":
    main()
