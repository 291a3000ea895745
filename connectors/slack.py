"""Posting to Slack so that a message is there once: post, find again, update in place.

Slack has no idempotency key. Each message carries our key in its metadata, and whoever sends again after an ambiguous
failure first looks for it with `find`.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from socket import gaierror
from ssl import SSLError
from typing import Any, NamedTuple, Protocol, TypeVar, cast
from urllib.error import URLError

from connectors.errors import ConnectorError

EVENT_TYPE = "incident_graph_report"
DEFAULT_BASE_URL = "https://slack.com/api/"
_TIMEOUT_SECONDS = 10
_MOST_AT_ONCE = 16
_PAGE = 200
_MOST_PAGES = 10
_MOST_TEXT = 39_000
_CODE = re.compile(r"[a-z0-9_]+")
_CHANNEL_ID = re.compile(r"[CDG][A-Z0-9]{7,}")
_BLOCKS_REFUSED = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "no_text"})
_NOBODY_KNOWS = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout"})
_REMEDIES = {
    "invalid_auth": "The token is not valid; check INCIDENT_GRAPH_SLACK_TOKEN.",
    "not_authed": "There is no token; set INCIDENT_GRAPH_SLACK_TOKEN.",
    "account_inactive": "The token's account is gone; install the app again and set INCIDENT_GRAPH_SLACK_TOKEN.",
    "token_revoked": "The token was revoked; install the app again and set INCIDENT_GRAPH_SLACK_TOKEN.",
    "channel_not_found": "The channel does not exist or the app cannot see it; check its name and invite the app.",
    "not_in_channel": "The app is not in the channel; invite it.",
    "is_archived": "The channel is archived; choose another.",
    "missing_scope": "The app lacks a permission; see the list of scopes in the documentation.",
}

_Result = TypeVar("_Result")


class Message(NamedTuple):
    """`text` is what notifications show, and what is left when `blocks` (Block Kit) are refused."""

    text: str
    blocks: Sequence[Mapping[str, Any]] = ()


class Posted(NamedTuple):
    """Where a message is: the channel's id and the message's time stamp, which together name it.

    `thread` is the parent it really hangs on; None when it stands in the channel itself, be it that the parent is gone.
    """

    channel: str
    ts: str
    thread: str | None = None


class Sink(Protocol):
    """Where reports go. `key` is ours and names one message for ever; `thread` is the `ts` of a parent message."""

    async def post(self, channel: str, message: Message, key: str, thread: str | None = None) -> Posted: ...

    async def find(self, channel: str, key: str, thread: str | None = None) -> Posted | None: ...

    async def update(self, posted: Posted, message: Message) -> None: ...


class SlackError(ConnectorError):
    """Slack failed. `retry_after` is how many seconds it asked us to wait, `code` its own word for the failure."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        recoverable: bool,
        delivered: bool | None = False,
        retry_after: float | None = None,
    ) -> None:
        super().__init__("Slack", message, recoverable=recoverable, delivered=delivered)
        self.code = code
        self.retry_after = retry_after


class SlackSink:
    """Slack's Web API. The SDK's own retries are off: they can post twice; the durable step around us retries."""

    def __init__(self, token: str, base_url: str = DEFAULT_BASE_URL) -> None:
        from slack_sdk.web import WebClient  # here and below: a start without a token need not wait for the SDK

        self._client = WebClient(token=token, base_url=base_url, timeout=_TIMEOUT_SECONDS, retry_handlers=[])
        # Threads of its own: a Slack that hangs must not use up the event loop's few.
        self._threads = ThreadPoolExecutor(_MOST_AT_ONCE, thread_name_prefix="slack")

    async def post(self, channel: str, message: Message, key: str, thread: str | None = None) -> Posted:
        """Post to a channel given as `#name` or id. Blocks that Slack refuses are left out rather than the message.

        Raises:
            SlackError: `delivered` is None when nobody knows whether the message arrived.
        """
        fields: dict[str, Any] = {
            "channel": channel,
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": {"event_type": EVENT_TYPE, "event_payload": {"key": key}},
        }
        if thread is not None:
            fields["thread_ts"] = thread
        answer = await self._send("chat.postMessage", fields, message)
        stored = cast("Mapping[str, Any]", answer.get("message") or {})
        return Posted(str(answer["channel"]), str(answer["ts"]), stored.get("thread_ts"))

    async def update(self, posted: Posted, message: Message) -> None:
        """Replace a message in place; doing it twice does no harm."""
        await self._send("chat.update", {"channel": posted.channel, "ts": posted.ts}, message)

    async def find(self, channel: str, key: str, thread: str | None = None) -> Posted | None:
        """The message with this key among the last 2,000 of the channel, or of a thread; None when it is not there."""
        return await self._in_thread(lambda: self._find(channel, key, thread))

    async def check(self) -> str:
        """Who the token is, as `app in workspace`; for the configuration check."""
        answer = await self._in_thread(lambda: self._call("auth.test"))
        return f"{answer.get('user', 'unknown')} in {answer.get('team', 'unknown')}"

    async def _send(self, method: str, fields: Mapping[str, Any], message: Message) -> Mapping[str, Any]:
        """Send with blocks, and as plain text when Slack will not have the blocks."""
        text = message.text if len(message.text) <= _MOST_TEXT else message.text[:_MOST_TEXT] + "…"
        blocks = [dict(block) for block in message.blocks]
        try:
            return await self._in_thread(lambda: self._call(method, json={**fields, "text": text, "blocks": blocks}))
        except SlackError as error:
            if not blocks or error.code not in _BLOCKS_REFUSED:
                raise
        return await self._in_thread(lambda: self._call(method, json={**fields, "text": text, "blocks": []}))

    def _call(self, method: str, **how: dict[str, Any]) -> Mapping[str, Any]:
        client = cast("Any", self._client)
        return client.api_call(method, **how).data

    async def _in_thread(self, request: Callable[[], _Result]) -> _Result:
        from slack_sdk.errors import SlackClientError

        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, request)
        except (SlackClientError, OSError, HTTPException) as error:
            raise translated(error) from error

    def _find(self, channel: str, key: str, thread: str | None) -> Posted | None:
        fields: dict[str, Any] = {"channel": self._channel_id(channel), "include_all_metadata": True}
        if thread is None:
            pages = self._pages("conversations.history", fields)
        else:
            pages = self._pages("conversations.replies", {**fields, "ts": thread})
        for page in pages:
            for message in cast("list[dict[str, Any]]", page.get("messages") or []):
                if _key_of(message) == key:
                    parent = message.get("thread_ts")
                    return Posted(fields["channel"], str(message["ts"]), parent if parent != message["ts"] else None)
        return None

    def _channel_id(self, channel: str) -> str:
        """Reading history takes an id, where posting takes a name as well."""
        if _CHANNEL_ID.fullmatch(channel):
            return channel
        for page in self._pages("conversations.list", {"types": "public_channel,private_channel"}):
            for each in cast("list[dict[str, Any]]", page.get("channels") or []):
                if each.get("name") == channel.removeprefix("#"):
                    return str(each["id"])
        raise SlackError(f"Slack knows no channel {channel}; check its name and invite the app.", recoverable=False)

    def _pages(self, method: str, fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        cursor = ""
        for _ in range(_MOST_PAGES):
            page = self._call(method, params={**fields, "limit": _PAGE, **({"cursor": cursor} if cursor else {})})
            yield page
            cursor = cast("Mapping[str, str]", page.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return


def _key_of(message: Mapping[str, Any]) -> str | None:
    metadata = cast("Mapping[str, Any]", message.get("metadata") or {})
    if metadata.get("event_type") != EVENT_TYPE:
        return None
    return cast("Mapping[str, Any]", metadata.get("event_payload") or {}).get("key")


def translated(error: Exception) -> SlackError:
    """What the SDK or the network raised, in our words, with what is known of the message's fate."""
    from slack_sdk.errors import SlackApiError

    if isinstance(error, SlackApiError):
        return _refused(cast("Any", error).response)
    reason = error.reason if isinstance(error, URLError) else error
    never_sent = isinstance(reason, ConnectionRefusedError | gaierror | SSLError)
    where = "could not be reached" if never_sent else "did not answer"
    why = reason if isinstance(reason, str) else type(reason).__name__
    return SlackError(f"Slack {where} ({why}).", recoverable=True, delivered=False if never_sent else None)


def _refused(answer: Any) -> SlackError:
    status: int = answer.status_code
    data: object = answer.data
    body = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
    said = str(body.get("error", ""))
    code = said if _CODE.fullmatch(said) else ""  # the SDK puts a sentence here when the answer was not JSON
    if status == 429 or code == "ratelimited":
        wait = _seconds(cast("Mapping[str, Any]", answer.headers))
        sentence = f"Slack asks to wait {wait:g} seconds before the next message."
        return SlackError(sentence, code="ratelimited", recoverable=True, retry_after=wait)
    if status >= 500 or code in _NOBODY_KNOWS or not code:
        sentence = f"Slack failed with status {status} {code}".rstrip() + "."
        return SlackError(sentence, code=code, recoverable=True, delivered=None)
    return SlackError(_REMEDIES.get(code, f"Slack refused the request: {code}."), code=code, recoverable=False)


def _seconds(headers: Mapping[str, Any]) -> float:
    found = next((str(value) for name, value in headers.items() if name.lower() == "retry-after"), "")
    return float(found) if found.isascii() and found.isdigit() else 1.0
