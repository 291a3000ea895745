"""A fleet of MCP servers, each with a task of its own, so that a dead one costs its own answers and nothing else.

`McpFleet.call` never raises for what a server does: every way to fail is a `ToolOutcome` with one sentence.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import TracebackType
from typing import Literal, NamedTuple, Self, cast

import anyio
import httpx2
from mcp import Client, MCPError
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_REQUEST, REQUEST_TIMEOUT, CallToolResult

from connectors.mcp_answer import one_line, read_answer
from connectors.mcp_servers import McpServer, StderrTail, parse_mcp_servers, transport
from connectors.tool import ToolCall, ToolOutcome, ToolSpec

__all__ = ["READ_TOOLS", "McpFleet", "McpServer", "ServerStatus", "parse_mcp_servers"]

READ_TOOLS = frozenset(
    """
    execute_query execute_range_query list_metrics get_metric_metadata get_targets
    confluence_search confluence_get_page
    conversations_history conversations_replies channels_list conversations_search_messages
    list_releases get_latest_release get_release_by_tag list_tags list_commits get_commit list_pull_requests
    pull_request_read search_pull_requests get_file_contents search_code
    """.split()
)
"""Tools known to read only, by name. Annotations are claims of the server's; this list is ours."""

_CONNECT_SECONDS = 60.0
"""A first `uvx` or `npx` run downloads its package."""
_QUEUE_LENGTH = 64
_MAX_PAGES = 50
_MAX_TOOLS = 1_000
_LONGEST_PAUSE = 60.0
_STABLE_SECONDS = 5.0
"""A connection lost sooner counts as a failure to connect, so that a server that crashes at once is not spun."""
_BREAKER_FAILURES = 3
_BREAKER_SECONDS = 30.0

State = Literal["starting", "ready", "down"]


class ServerStatus(NamedTuple):
    """How a server is: `error` says in one sentence why it is down; `stderr_tail` is the last its process said."""

    name: str
    state: State
    error: str
    tools: tuple[str, ...]
    stderr_tail: str


class _CallFailed(Exception):
    """A call came to nothing; the message is the sentence. `slow` says that the server gave no answer in time."""

    def __init__(self, sentence: str, *, slow: bool = False) -> None:
        super().__init__(sentence)
        self.slow = slow


@dataclass(slots=True, eq=False)
class _Request:
    call: ToolCall
    deadline: float
    answer: asyncio.Future[CallToolResult]
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    sent_before: bool = False

    def fail(self, sentence: str, *, slow: bool = False) -> None:
        if not self.answer.done():
            self.answer.set_exception(_CallFailed(sentence, slow=slow))

    def may_go_again(self) -> bool:
        """Our tools only read, so a call that a lost connection cut off is sent once more on the next one."""
        if self.sent_before:
            self.fail("the connection was lost twice during the call")
        self.sent_before = True
        return not self.answer.done()


class _Breaker:
    """Stops asking a server that does not answer in time: after three such calls, one may try each half minute."""

    def __init__(self) -> None:
        self._failures = 0
        self._closed_until = 0.0

    def refuses(self, now: float) -> bool:
        if self._failures < _BREAKER_FAILURES:
            return False
        if now < self._closed_until:
            return True
        self._closed_until = now + _BREAKER_SECONDS
        return False

    def answered(self) -> None:
        self._failures = 0

    def was_slow(self, now: float) -> None:
        self._failures += 1
        self._closed_until = now + _BREAKER_SECONDS


class _Owner:
    """The one task that opens, uses and closes the connection to one server."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.state: State = "starting"
        self.error = ""
        self.tools: tuple[ToolSpec, ...] = ()
        self.tail = StderrTail()
        self.settled = asyncio.Event()
        self._breaker = _Breaker()
        self._life = anyio.CancelScope()
        self._requests: asyncio.Queue[_Request] = asyncio.Queue(_QUEUE_LENGTH)
        self._returned: list[_Request] = []

    def stop(self) -> None:
        self._life.cancel()

    async def run(self) -> None:
        """Keep a connection until stopped, waiting longer after each failure to make one."""
        try:
            with self._life:
                failures = 0
                while True:
                    failures = 0 if await self._one_connection() else failures + 1
                    if failures:
                        await anyio.sleep(min(2.0 ** (failures - 1), _LONGEST_PAUSE))
        finally:
            self._down("it was stopped")

    async def ask(self, call: ToolCall, seconds: float) -> CallToolResult:
        """The server's result, or `_CallFailed`."""
        now = asyncio.get_running_loop().time()
        if self.state == "down":
            raise _CallFailed(f"it is down: {self.error}")
        if self._breaker.refuses(now):
            raise _CallFailed("it did not answer in time lately and is left alone for a while")
        request = _Request(call, now + seconds, asyncio.get_running_loop().create_future())
        try:
            self._requests.put_nowait(request)
        except asyncio.QueueFull:
            raise _CallFailed("too many calls are waiting for it") from None
        try:
            async with asyncio.timeout(seconds):
                result = await request.answer
        except TimeoutError:
            self._breaker.was_slow(asyncio.get_running_loop().time())
            raise _CallFailed(_slow(seconds)) from None
        except _CallFailed as failure:
            if failure.slow:
                self._breaker.was_slow(asyncio.get_running_loop().time())
            raise
        finally:
            request.scope.cancel()
        self._breaker.answered()
        return result

    async def _one_connection(self) -> bool:
        """Connect and serve until the connection is lost. True when it held for some time."""
        ready_at = math.inf
        self.tail = StderrTail()
        try:
            with anyio.CancelScope(deadline=anyio.current_time() + _CONNECT_SECONDS) as starting:
                way = self.server.in_memory or transport(self.server, self.tail)
                async with Client(way, read_timeout_seconds=_CONNECT_SECONDS, cache=None) as client:
                    self.tools = await _list_tools(client, self.server)
                    starting.deadline, ready_at = math.inf, anyio.current_time()
                    self._up()
                    await self._serve(client)
            why = f"it was not ready within {_CONNECT_SECONDS:g} seconds"
        except Exception as error:  # whatever a server or its transport does is that server's failure, not ours
            why = self.explain(error)
        if ready_at == math.inf:
            self._down(why)
        else:
            self.state = "starting"
        return anyio.current_time() - ready_at > _STABLE_SECONDS

    async def _serve(self, client: Client) -> None:
        """Perform requests side by side; return when the connection is lost, keeping those it cut off."""
        flying, self._returned = self._returned, []
        try:
            async with anyio.create_task_group() as group:

                async def perform(request: _Request) -> None:
                    if await self._perform(client, request):
                        flying.remove(request)
                    else:
                        group.cancel_scope.cancel()

                for request in list(flying):
                    group.start_soon(perform, request)
                while True:
                    flying.append(await self._requests.get())
                    group.start_soon(perform, flying[-1])
        finally:
            self._returned = [request for request in flying if request.may_go_again()]

    async def _perform(self, client: Client, request: _Request) -> bool:
        """Send one request and settle its answer. False when the connection turned out to be lost."""
        try:
            with request.scope:
                await self._send(client, request)
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, httpx2.TransportError):
            return False
        except MCPError as error:
            if _is_lost(error):
                return False
            request.fail(self.explain(error), slow=error.code == REQUEST_TIMEOUT)
        except Exception as error:  # a bad answer is the server's failure and must not end its other calls
            request.fail(self.explain(error))
        return True

    async def _send(self, client: Client, request: _Request) -> None:
        if request.answer.done():
            return
        left = max(request.deadline - asyncio.get_running_loop().time(), 0.01)
        arguments = dict(request.call.arguments)
        result = await client.call_tool(request.call.tool, arguments, read_timeout_seconds=left)
        if not request.answer.done():
            request.answer.set_result(result)

    def _up(self) -> None:
        self.state, self.error = "ready", ""
        self._breaker.answered()
        self.settled.set()

    def _down(self, why: str) -> None:
        self.state, self.error = "down", why
        self.settled.set()
        waiting, self._returned = self._returned, []
        with suppress(asyncio.QueueEmpty):
            while True:
                waiting.append(self._requests.get_nowait())
        for request in waiting:
            request.fail(f"it is down: {why}")

    def explain(self, error: BaseException) -> str:
        """What went wrong in one line, with the last line the process said when it just went away; no secrets."""
        cause = _first_cause(error)
        said = one_line(str(cause)) or type(cause).__name__
        lines = self.tail.text().split("\n") if isinstance(cause, MCPError) else []
        last = next((line for line in reversed(lines) if line.strip()), "")
        if isinstance(cause, MCPError) and cause.code in (CONNECTION_CLOSED, INTERNAL_ERROR) and last:
            said = f"{said} (its last words: {last.strip()})"
        return one_line(self.server.redact(said))


class McpFleet:
    """The servers of the settings, connected in the background while the context is open.

    Calls may come from any event loop; the connections live in the one that opened the context.
    """

    def __init__(self, servers: Sequence[McpServer]) -> None:
        self._servers = tuple(servers)
        self._owners: dict[str, _Owner] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._owners = {server.name: _Owner(server) for server in self._servers}
        self._tasks = [
            asyncio.create_task(owner.run(), name=f"mcp server {name}") for name, owner in self._owners.items()
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for owner in self._owners.values():
            owner.stop()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def tools(self) -> tuple[ToolSpec, ...]:
        """The tools that the connected servers offer and our policy allows."""
        return tuple(tool for owner in self._owners.values() if owner.state == "ready" for tool in owner.tools)

    def status(self) -> tuple[ServerStatus, ...]:
        return tuple(
            ServerStatus(
                name,
                owner.state,
                owner.error,
                tuple(tool.name for tool in owner.tools),
                owner.server.redact(owner.tail.text()),
            )
            for name, owner in self._owners.items()
        )

    async def wait_ready(self, timeout: float) -> bool:  # noqa: ASYNC109 - the wait answers, it does not raise
        """Wait until each server has connected or failed for the first time. False when the time ran out before."""
        try:
            async with asyncio.timeout(timeout):
                for owner in self._owners.values():
                    await owner.settled.wait()
        except TimeoutError:
            return False
        return True

    async def call(self, call: ToolCall, timeout: float) -> ToolOutcome:  # noqa: ASYNC109 - late is an outcome
        """Make one call within `timeout` seconds. Never raises but on cancellation; a failure is an outcome."""
        if self._loop is not None and asyncio.get_running_loop() is not self._loop:
            elsewhere = asyncio.run_coroutine_threadsafe(self._call(call, timeout), self._loop)
            return await asyncio.wrap_future(elsewhere)
        return await self._call(call, timeout)

    async def _call(self, call: ToolCall, seconds: float) -> ToolOutcome:
        started = _now()
        owner = self._owners.get(call.server)
        if owner is None:
            return _failed(f"There is no MCP server called {call.server!r}.", started)
        if call.tool not in READ_TOOLS | owner.server.allowed_tools:
            return _failed(f"The tool {call.tool!r} of {call.server} is not allowed; see allowedTools.", started)
        try:
            result = await owner.ask(call, seconds)
        except _CallFailed as failure:
            return _failed(f"{call.server} could not run {call.tool}: {_sentence(str(failure))}", started)
        answer = read_answer(result)
        if answer.error:
            said = owner.server.redact(answer.error)
            return _failed(f"{call.server} could not run {call.tool}: {_sentence(said)}", started)
        return ToolOutcome(
            ok=True,
            text=answer.text,
            data=answer.data,
            truncated=answer.truncated,
            started_at=started,
            ended_at=_now(),
        )


async def _list_tools(client: Client, server: McpServer) -> tuple[ToolSpec, ...]:
    """The allowed tools of all pages, up to a bound."""
    found: list[ToolSpec] = []
    cursor: str | None = None
    for _ in range(_MAX_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += [
            ToolSpec(
                server=server.name,
                name=tool.name,
                description=tool.description or "",
                input_schema=tool.input_schema,
            )
            for tool in page.tools
            if tool.name in READ_TOOLS | server.allowed_tools
        ]
        cursor = page.next_cursor
        if cursor is None or len(found) >= _MAX_TOOLS:
            break
    return tuple(found[:_MAX_TOOLS])


def _is_lost(error: MCPError) -> bool:
    """Whether only a new connection can help: the process is gone, or a restarted web server forgot the session."""
    forgotten = error.code == INVALID_REQUEST and "session" in error.message.lower()
    return error.code == CONNECTION_CLOSED or forgotten


def _first_cause(error: BaseException) -> BaseException:
    if isinstance(error, BaseExceptionGroup):
        return _first_cause(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return error


def _now() -> datetime:
    return datetime.now(UTC)


def _slow(seconds: float) -> str:
    return f"it did not answer within {seconds:g} seconds"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _failed(error: str, started: datetime) -> ToolOutcome:
    return ToolOutcome(ok=False, error=error, started_at=started, ended_at=_now())
