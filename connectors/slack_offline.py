"""Where reports go when there is no Slack token: files and the terminal."""

from __future__ import annotations

import asyncio
import hashlib
import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from connectors.errors import ConnectorError
from connectors.slack import Message, Posted, Sink

_MRKDWN = re.compile(
    r"```(?P<block>.+?)```|`(?P<code>[^`\n]+)`|<(?P<url>[^>|\n]+)(?:\|(?P<label>[^>\n]*))?>"
    r"|(?<![\w*])\*(?P<bold>[^*\n]+)\*(?![\w*])|(?<!\w)_(?P<italic>[^_\n]+)_(?!\w)|(?<!\w)~(?P<struck>[^~\n]+)~(?!\w)",
    re.DOTALL,
)
_STYLES = {"block": "cyan", "code": "cyan", "bold": "bold", "italic": "italic", "struck": "strike"}
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class FileSink:
    """A JSON file a message in one directory, named after its channel and key: posting twice leaves one file."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    async def post(self, channel: str, message: Message, key: str, thread: str | None = None) -> Posted:
        posted = Posted(channel, _stamp(channel, key), thread)
        now = datetime.now(UTC).isoformat()
        record = {"channel": channel, "ts": posted.ts, "thread": thread, "key": key, "posted_at": now}
        await asyncio.to_thread(self._write, posted.ts, {**record, **_plain(message)})
        return posted

    async def find(self, channel: str, key: str, thread: str | None = None) -> Posted | None:
        record = await asyncio.to_thread(self._read, _stamp(channel, key))
        return None if record is None else Posted(channel, str(record["ts"]), record.get("thread"))

    async def update(self, posted: Posted, message: Message) -> None:
        record = await asyncio.to_thread(self._read, posted.ts)
        if record is None:
            raise ConnectorError("files", f"There is no message {posted.ts} to update.", recoverable=False)
        updated = {**record, "updated_at": datetime.now(UTC).isoformat(), **_plain(message)}
        await asyncio.to_thread(self._write, posted.ts, updated)

    def path(self, posted: Posted) -> Path:
        return self._directory / f"{posted.ts}.json"

    def _read(self, stamp: str) -> dict[str, Any] | None:
        try:
            return json.loads((self._directory / f"{stamp}.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise ConnectorError("files", f"The message {stamp} cannot be read: {error}", recoverable=False) from error

    def _write(self, stamp: str, record: Mapping[str, Any]) -> None:
        """Write beside and rename, so that a reader never sees half a file."""
        final = self._directory / f"{stamp}.json"
        beside = final.with_suffix(f".{os.getpid()}.part")
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            beside.write_text(json.dumps(record, ensure_ascii=False, indent=1), encoding="utf-8")
            beside.replace(final)
        except OSError as error:
            raise ConnectorError("files", f"The message cannot be written: {error}", recoverable=True) from error


class ConsoleSink:
    """Shows messages in the terminal as Slack would, and keeps them in another sink, which also finds them again."""

    def __init__(self, kept: Sink, console: Console | None = None) -> None:
        self._kept = kept
        self._console = console or Console()

    async def post(self, channel: str, message: Message, key: str, thread: str | None = None) -> Posted:
        posted = await self._kept.post(channel, message, key, thread)
        self._show(f"{channel}, in thread" if thread else channel, message)
        return posted

    async def find(self, channel: str, key: str, thread: str | None = None) -> Posted | None:
        return await self._kept.find(channel, key, thread)

    async def update(self, posted: Posted, message: Message) -> None:
        await self._kept.update(posted, message)
        self._show(f"{posted.channel}, updated", message)

    def _show(self, title: str, message: Message) -> None:
        self._console.print(Panel(render(message), title=Text(_clean(title)), title_align="left"))


def render(message: Message) -> RenderableType:
    """A message as rich shows it. Nothing in it is taken for rich's own markup or for a terminal's commands."""
    if not message.blocks:
        return mrkdwn(message.text)
    return Group(*(part for block in message.blocks for part in _block(block)))


def _block(block: Mapping[str, Any]) -> Iterator[RenderableType]:
    match block.get("type"):
        case "header":
            yield Text(_clean(_text_of(block.get("text"))), style="bold underline")
        case "divider":
            yield Rule(style="dim")
        case "context":
            yield Text("  ").join(_styled(each) for each in _objects(block.get("elements")))
        case "actions":
            labels = (f"[ {_clean(_text_of(each.get('text')))} ]" for each in _objects(block.get("elements")))
            yield Text("  ".join(labels), style="reverse")
        case _:
            if block.get("text"):
                yield _styled(block["text"])
            for field in _objects(block.get("fields")):
                yield Padding(_styled(field), (0, 0, 0, 2))


def _styled(item: object) -> Text:
    text = _text_of(item)
    plain = isinstance(item, Mapping) and cast("Mapping[str, object]", item).get("type") == "plain_text"
    return Text(_clean(text)) if plain else mrkdwn(text)


def _text_of(item: object) -> str:
    if isinstance(item, str):
        return item
    value = cast("Mapping[str, object]", item).get("text", "") if isinstance(item, Mapping) else ""
    return value if isinstance(value, str) else _text_of(value)


def _objects(items: object) -> list[Mapping[str, Any]]:
    return [each for each in cast("list[Any]", items or []) if isinstance(each, Mapping)]


def mrkdwn(text: str) -> Text:
    """Slack's own mark-up as styled text."""
    styled, end = Text(), 0
    for match in _MRKDWN.finditer(text):
        styled.append(_clean(text[end : match.start()]))
        end = match.end()
        if (url := match.group("url")) is not None:
            styled.append(_clean(match.group("label") or url), style="blue underline")
        else:
            kind = match.lastgroup or ""
            styled.append(_clean(match.group(kind)), style=_STYLES[kind])
    styled.append(_clean(text[end:]))
    return styled


def _clean(text: str) -> str:
    return _CONTROLS.sub("", html.unescape(text))


def _plain(message: Message) -> dict[str, Any]:
    return {"text": message.text, "blocks": [dict(block) for block in message.blocks]}


def _stamp(channel: str, key: str) -> str:
    return hashlib.sha256(json.dumps([channel, key]).encode()).hexdigest()[:20]
