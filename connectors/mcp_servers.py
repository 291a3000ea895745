"""Which MCP servers there are, from the `mcpServers` JSON of other MCP clients, and how each one is reached."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import parse_qsl, urlsplit

# The MCP SDK takes a second to import: only who connects to a server pays for it.
if TYPE_CHECKING:
    import httpx2
    from mcp.server.mcpserver import MCPServer

OUR_PREFIX = "INCIDENT_GRAPH_"
_STDERR_BYTES = 8_192
_SECRET_NAME = re.compile(r"token|key|secret|pass|auth|credential|cookie|session|private", re.IGNORECASE)
_CONNECT_SECONDS, _READ_SECONDS = 30.0, 300.0
_URL_TYPES = ("http", "streamable-http", "streamableHttp", "sse")


@dataclass(frozen=True, slots=True)
class McpServer:
    """One server: a command to run, an address, or (in tests) a server object in this process.

    What may hold secrets is left out of the repr.
    """

    name: str
    command: str = ""
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    url: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    sse: bool = False
    allowed_tools: frozenset[str] = frozenset()
    in_memory: MCPServer[Any] | None = field(default=None, repr=False)

    def redact(self, text: str) -> str:
        """The text without this server's secrets."""
        for secret in sorted(_secrets(self), key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def _secrets(server: McpServer) -> set[str]:
    found = {value for name, value in server.env.items() if _SECRET_NAME.search(name)}
    for value in server.headers.values():
        found |= {value, value.rpartition(" ")[2]}
    for flag, value in zip(server.args, server.args[1:], strict=False):
        if flag.startswith("-") and _SECRET_NAME.search(flag):
            found.add(value)
    for argument in server.args:
        flag, _, value = argument.partition("=")
        if _SECRET_NAME.search(flag):
            found.add(value)
    for url in (server.url, *server.env.values(), *server.args):
        found |= _url_secrets(url)
    return {secret for secret in found if len(secret) >= 4}


def _url_secrets(text: str) -> set[str]:
    try:
        parts = urlsplit(text)
        return {parts.password or ""} | {value for _, value in parse_qsl(parts.query)} if parts.netloc else set()
    except ValueError:
        return set()


def parse_mcp_servers(text_or_path: str) -> tuple[McpServer, ...]:
    """The servers of an `mcpServers` JSON text, or of the file at a path; disabled ones are left out.

    Beside the keys of other clients (`command args env`, or `url headers type`, `disabled`) a server may have
    `allowedTools`, a list of tools we may call beyond the read tools we know.

    Raises:
        ValueError: with a sentence that says what is wrong and where.
    """
    text = text_or_path.strip()
    if not text:
        return ()
    if not text.startswith("{"):
        text = _file_text(text)
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError('The MCP servers are not valid JSON; write {"mcpServers": {"name": {...}}}.') from error
    servers = cast("dict[str, object]", document).get("mcpServers") if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        raise ValueError('The MCP servers need an object "mcpServers" whose keys are the names of the servers.')
    return tuple(
        server
        for name, entry in cast("dict[str, object]", servers).items()
        if (server := _server(name, entry)) is not None
    )


def _file_text(path: str) -> str:
    try:
        return Path(path).expanduser().read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ValueError(f"The file of MCP servers {path!r} cannot be read; give a path or the JSON itself.") from error


def _server(name: str, entry: object) -> McpServer | None:
    if not isinstance(entry, dict):
        raise ValueError(f"MCP server {name!r} must be an object with a command or a url.")
    fields = cast("dict[str, object]", entry)
    if fields.get("disabled") is True:
        return None
    command, url, kind = (_string(name, fields, key) for key in ("command", "url", "type"))
    if bool(command) == bool(url):
        raise ValueError(f"MCP server {name!r} needs either a command or a url, and not both.")
    if url and (not url.startswith(("http://", "https://")) or kind not in ("", *_URL_TYPES)):
        raise ValueError(f"MCP server {name!r} needs an http:// or https:// url, and a type of http or sse.")
    return McpServer(
        name=name,
        command=command,
        args=_strings(name, fields, "args"),
        env=_mapping(name, fields, "env"),
        url=url,
        headers=_mapping(name, fields, "headers"),
        sse=kind == "sse",
        allowed_tools=frozenset(_strings(name, fields, "allowedTools")),
    )


def _string(name: str, fields: Mapping[str, object], key: str) -> str:
    value = fields.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"MCP server {name!r}: {key} must be text.")
    return value


def _strings(name: str, fields: Mapping[str, object], key: str) -> tuple[str, ...]:
    value = fields.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in cast("list[object]", value)):
        raise ValueError(f"MCP server {name!r}: {key} must be a list of texts.")
    return tuple(cast("list[str]", value))


def _mapping(name: str, fields: Mapping[str, object], key: str) -> dict[str, str]:
    value = fields.get(key, {})
    pairs = cast("dict[str, object]", value) if isinstance(value, dict) else None
    if pairs is None or not all(isinstance(each, str) for each in pairs.values()):
        raise ValueError(f"MCP server {name!r}: {key} must be an object whose values are texts.")
    return cast("dict[str, str]", pairs)


class StderrTail:
    """The last of what a server's process wrote to its standard error; the first line is the shell's process id."""

    def __init__(self) -> None:
        self.process_id: int | None = None
        self._kept = bytearray()

    def text(self) -> str:
        return self._kept.decode(errors="replace")

    def note(self, line: str) -> None:
        """Keep a line of our own: what a server that is no process of ours answered."""
        self._kept += f"{line}\n".encode()
        del self._kept[:-_STDERR_BYTES]

    def take(self, data: bytes) -> None:
        self._kept += data
        if self.process_id is None:
            first, newline, rest = bytes(self._kept).partition(b"\n")
            if not newline:
                return
            self.process_id = int(first) if first.isdigit() else 0
            self._kept[:] = rest
        del self._kept[:-_STDERR_BYTES]


class _TailProtocol(asyncio.Protocol):
    def __init__(self, tail: StderrTail) -> None:
        self._tail = tail

    def data_received(self, data: bytes) -> None:
        self._tail.take(data)


_SECRET_VARIABLE = re.compile(r"(?:PASSWORD|PASSWD|SECRET|TOKEN|API_?KEY|ACCESS_?KEY|CREDENTIALS?)$", re.IGNORECASE)


def child_environment(server: McpServer) -> dict[str, str]:
    """Our environment without what is ours or named like a secret, and the server's own variables.

    `uvx` and `npx` fail without PATH, HOME and proxies; a secret a server needs is named in its own `env`.
    """
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(OUR_PREFIX) and not _SECRET_VARIABLE.search(name)
    }
    return {**inherited, **server.env}


def transport(server: McpServer, tail: StderrTail) -> AbstractAsyncContextManager[Any]:
    """The way to a server that is not in this process, opened and closed by the one task that uses it."""
    if server.command:
        return _process(server, tail)
    if server.sse:
        from mcp.client.sse import sse_client

        return sse_client(server.url, headers=dict(server.headers))
    return _http(server, tail)


@asynccontextmanager
async def _http(server: McpServer, tail: StderrTail) -> AsyncGenerator[Any]:
    """The SDK keeps the status of a refusal to itself, and 401 is what one needs to know."""

    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async def note_refusal(response: httpx2.Response) -> None:
        if response.is_error:
            tail.note(f"it answered with status {response.status_code}")

    hooks: dict[str, list[Any]] = {"response": [note_refusal]}
    timeout = httpx2.Timeout(_CONNECT_SECONDS, read=_READ_SECONDS)
    async with (
        httpx2.AsyncClient(headers=dict(server.headers), timeout=timeout, event_hooks=hooks) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def _process(server: McpServer, tail: StderrTail) -> AsyncGenerator[Any]:
    """Run the server in a process group of its own and kill all of the group at the end.

    The SDK ends the group only when the process it started outlives its grace time; what `uvx` or `npx` left behind
    would live on. A shell says its process id, which is the group's, and becomes the server.
    """
    environment = child_environment(server)
    if shutil.which(server.command, path=environment.get("PATH")) is None:
        raise FileNotFoundError(f"the command {server.command!r} was not found")
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as errlog, os.fdopen(read_end, "rb", buffering=0) as reader:
        reading, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: _TailProtocol(tail), reader)
        from mcp.client.stdio import StdioServerParameters, stdio_client

        parameters = StdioServerParameters(
            command="/bin/sh",
            args=["-c", 'echo $$ >&2; exec "$@"', "sh", server.command, *server.args],
            env=environment,
            encoding_error_handler="replace",
        )
        try:
            async with stdio_client(parameters, errlog=errlog) as streams:
                errlog.close()
                yield streams
        finally:
            if tail.process_id:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(tail.process_id, signal.SIGKILL)
            reading.close()
