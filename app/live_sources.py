"""Asks live systems, through their MCP servers, what the folders do not say: who calls whom (Prometheus), what was
released and who owns the code (GitHub), which pages and channels there are (Confluence, Slack).

A server that is away, slow or answers nonsense costs its facts: it is said, and nothing is taken for gone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar, cast

from agent.redact import redact
from agent.tools import Fleet
from app.live_facts import (
    call_facts,
    chat_facts,
    names_of,
    page_facts,
    repositories,
    repository_owners,
    repository_releases,
)
from connectors import confluence, github, prometheus, slack_history
from connectors.errors import ConnectorError
from connectors.observations import PageSeen, ReleaseSeen
from connectors.reading import Read
from connectors.tool import ToolCall, ToolOutcome
from graphrag.ingest.folder import Failure
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.service_graph import MAX_ROWS, METRIC
from graphrag.model import Direction, EdgeType, Facts, Node
from graphrag.store import GraphStore

SOURCE = "live:"
"""How the name of every source of this module begins."""

MOST_SERVICES = 200
"""Services whose pages are searched in one run, and repositories and channels that are read: others have their turn on
the next day."""
CALLS_AT_ONCE = 4
MOST_SECONDS = 300.0
MAX_SERVERS_A_READ = 3
_MAX_LINES_A_SERVER = 20
_MAX_SHOWN = 3
_OWNERS_AT_ONCE = 500

T = TypeVar("T")
Owned = Callable[[Sequence[Node]], Awaitable[Collection[str]]]
"""Tells the ids of those services whose owner others than live systems name."""


@dataclass(frozen=True, slots=True)
class LiveFacts:
    """What live systems said, a part each, and what could not be read: the server (or a repository, a metric) and the
    reason."""

    parts: tuple[Facts, ...] = ()
    failures: tuple[Failure, ...] = ()


class LiveSources:
    """Reads each system whose tools a configured server offers.

    `tool_seconds` is the most that one call may take, `most_seconds` the most for all of them. Without `owned` nobody
    knows which services have no owner, and no CODEOWNERS file is read.
    """

    def __init__(
        self, fleet: Fleet, tool_seconds: float, owned: Owned | None = None, *, most_seconds: float = MOST_SECONDS
    ) -> None:
        self._fleet = fleet
        self._tool_seconds = tool_seconds
        self._owned = owned
        self._most_seconds = most_seconds

    async def read(self, services: Sequence[Node], teams: Sequence[Node], now: datetime) -> LiveFacts:
        """Ask about these services and teams, which are all that the graph knows. A part is complete only when all of
        it was read while every configured server was there."""
        await self._fleet.wait_ready(self._tool_seconds)
        asking = _Asking(self._fleet, self._tool_seconds, self._most_seconds)
        services, teams = sorted(services, key=_by_name), sorted(teams, key=_by_name)
        without_owner = await self._without_owner(services) if asking.offers("get_file_contents") else None
        read = await asyncio.gather(
            _read_calls(asking, services),
            _read_repositories(asking, services, without_owner, teams, now),
            _read_pages(asking, services, now),
            _read_chat(asking, teams, now),
        )
        parts: list[Facts] = []
        failures: list[Failure] = []
        for source, found in (each for system in read for each in system):
            failures += found.failures
            complete = found.whole and asking.all_ready
            if found.nodes or found.edges or complete:
                parts.append(Facts(SOURCE + source, now, tuple(found.nodes), tuple(found.edges), complete=complete))
        return LiveFacts(tuple(parts), (*asking.failures(), *failures))

    async def _without_owner(self, services: Sequence[Node]) -> Collection[str] | None:
        """Their ids; None when nobody knows."""
        return {service.id for service in services}.difference(await self._owned(services)) if self._owned else None


def owned_in(graph: GraphStore, tenant: str) -> Owned:
    """The services that have an owner in a tenant's graph. One that only live systems name does not count: it stands
    as long as they go on naming it. Raises `GraphError`."""

    async def owned(services: Sequence[Node]) -> Collection[str]:
        found: set[str] = set()
        for start in range(0, len(services), _OWNERS_AT_ONCE):
            ids = [service.id for service in services[start : start + _OWNERS_AT_ONCE]]
            edges = await graph.edges(tenant, ids, [EdgeType.OWNED_BY], Direction.OUT, 10 * len(ids))
            found |= {edge.source for edge in edges if not _is_only_live(edge.life.sources)}
        return found

    return owned


def _is_only_live(sources: Iterable[str]) -> bool:
    return all(source.startswith(SOURCE) for source in sources)


@dataclass(slots=True)
class _Answers(Generic[T]):
    """What the servers that offer a tool answered. `missing` are those that said that there is no such thing, where
    that is an answer; `whole` is false when one did not answer."""

    found: list[T] = field(default_factory=list[T])
    missing: list[Failure] = field(default_factory=list[Failure])
    whole: bool = True


class _Asking:
    """The calls of one run: a few at once, none after its time is over. It keeps what came to nothing."""

    def __init__(self, fleet: Fleet, tool_seconds: float, most_seconds: float) -> None:
        self._fleet = fleet
        self._tool_seconds = tool_seconds
        self._most_seconds = most_seconds
        self._until = asyncio.get_running_loop().time() + most_seconds
        self._gate = asyncio.Semaphore(CALLS_AT_ONCE)
        self._failed: dict[Failure, list[str]] = {}
        self._servers: dict[str, list[str]] = {}
        for tool in fleet.tools():
            self._servers.setdefault(tool.name, []).append(tool.server)
        away = [each for each in fleet.status() if each.state != "ready"]
        for each in away:
            self.fail((each.name, redact(each.error) or "it is still connecting"))
        self.all_ready = not away
        """Of a server that is away nobody knows what it would have told."""

    def offers(self, tool: str) -> bool:
        return tool in self._servers

    async def ask(
        self, read: Read, about: str, typed: Callable[[ToolOutcome], T], *, may_miss: bool = False
    ) -> _Answers[T]:
        """Ask each server that offers the tool. `typed` reads an answer, or raises `ConnectorError`; `about` names in
        a failure what was asked for. With `may_miss`, that there is no such thing is no failure."""
        tool, arguments = read
        answers: _Answers[T] = _Answers()
        for server in self._servers.get(tool, [])[:MAX_SERVERS_A_READ]:
            call = ToolCall(id=f"{tool}@{server}", server=server, tool=tool, arguments=arguments, purpose=about)
            try:
                answers.found.append(typed(await self._call(call)))
            except ConnectorError as error:
                failure = (server, redact(str(error)).removeprefix(f"{server} could not run "))
                if may_miss and github.is_missing(str(error)):
                    answers.missing.append(failure)
                else:
                    answers.whole = False
                    self.fail(failure, about)
        return answers

    async def _call(self, call: ToolCall) -> ToolOutcome:
        async with self._gate:
            left = self._until - asyncio.get_running_loop().time()
            if left <= 0:
                raise ConnectorError(
                    call.server, f"there was no time left of {self._most_seconds:g} s", recoverable=True
                )
            return await self._fleet.call(call, min(self._tool_seconds, left))

    def fail(self, failure: Failure, about: str = "") -> None:
        self._failed.setdefault(failure, []).append(about)

    def failures(self) -> list[Failure]:
        """A line for each reason, with what it was about; a server that fails in many ways says only the first."""
        lines: list[Failure] = []
        count: dict[str, int] = {}
        for (server, reason), about in self._failed.items():
            count[server] = count.get(server, 0) + 1
            if count[server] <= _MAX_LINES_A_SERVER:
                lines.append((server, reason + _shown(about)))
        rest = {server: number - _MAX_LINES_A_SERVER for server, number in count.items()}
        return lines + [(server, f"and {more} more reasons") for server, more in rest.items() if more > 0]


def _shown(about: Sequence[str]) -> str:
    named = sorted({each for each in about if each})
    more = f" and {len(named) - _MAX_SHOWN} more" if len(named) > _MAX_SHOWN else ""
    return f" ({', '.join(named[:_MAX_SHOWN])}{more})" if named else ""


_Part = tuple[str, Found]
"""A source, without what all sources of this module begin with, and what was found. It is whole when all was read."""


async def _read_calls(asking: _Asking, services: Sequence[Node]) -> list[_Part]:
    """The service graph: in one answer, or where that is too long by a few clients each. An answer without any call is
    not taken for a graph without calls, for then nothing measures them."""
    if not asking.offers("execute_query"):
        return []
    answers = await asking.ask(prometheus.calls_of_a_day(), METRIC, _calls_or_too_long)
    rows: list[Mapping[str, str]] = [row for found in answers.found for row in found or ()]
    whole = answers.whole
    if None in answers.found:
        names = [name for service in services for name in dict.fromkeys((service.name, *service.aliases))]
        size = prometheus.MOST_CLIENTS
        reads = [prometheus.calls_of_a_day(names[start : start + size]) for start in range(0, len(names), size)]
        for each in await asyncio.gather(*(asking.ask(read, METRIC, prometheus.read_calls) for read in reads)):
            rows += (row for found in each.found for row in found)
            whole &= each.whole
    if not rows:
        return []
    found = call_facts(rows)
    found.whole = whole and len(rows) <= MAX_ROWS
    return [("prometheus", found)]


def _calls_or_too_long(outcome: ToolOutcome) -> Sequence[Mapping[str, str]] | None:
    too_long = outcome.ok and outcome.truncated and outcome.data is None
    return None if too_long else prometheus.read_calls(outcome)


async def _read_repositories(
    asking: _Asking,
    services: Sequence[Node],
    without_owner: Collection[str] | None,
    teams: Sequence[Node],
    now: datetime,
) -> list[_Part]:
    """Releases and owners of each repository. `without_owner`: the ids of services; None asks for no owners."""
    held = repositories(services)
    # A team that only a CODEOWNERS file names has to be named again, or it is taken for gone.
    named = names_of(team for team in teams if not _is_only_live(team.life.sources))

    async def one(repo: str) -> list[_Part]:
        parts = await _read_releases(asking, repo, held[repo])
        if parts is None:
            return []
        if without_owner is None:
            return parts
        source, ownerless = f"github/{repo}/CODEOWNERS", [each for each in held[repo] if each.id in without_owner]
        if not ownerless:
            return [*parts, (source, Found())]  # what it said before somebody else named the owners is over
        path, text, whole = await _read_codeowners(asking, repo)
        # Without the right to see it, a repository looks as if it had no such file.
        whole &= bool(text) or any(found.whole or found.nodes for _, found in parts)
        found = repository_owners(repo, path, text, held[repo], ownerless, named) if text else Found()
        found.failures = [(f"{repo}/{where}", reason) for where, reason in found.failures]
        found.whole &= whole
        return [*parts, (source, found)]

    read = await asyncio.gather(*(one(repo) for repo in _turn(list(held), now)))
    return [part for parts in read for part in parts]


async def _read_releases(asking: _Asking, repo: str, services: Sequence[Node]) -> list[_Part] | None:
    """The releases; None when no server knows the repository. What is not in a list of the newest, or older than the
    latest, was released all the same: only a short list is whole."""
    listing = asking.offers("list_releases")
    read = github.recent_releases(repo) if listing else github.latest_release(repo)
    if read is None or not asking.offers(read[0]):
        return []

    def typed(outcome: ToolOutcome) -> tuple[tuple[ReleaseSeen, ...], bool]:
        data: object = outcome.data
        listed = cast("list[object]", data) if isinstance(data, list) else None
        return github.read_releases(outcome, repo), listed is not None and len(listed) < github.MOST_RELEASES

    answers = await asking.ask(read, repo, typed, may_miss=True)
    if listing and answers.missing and not answers.found:
        for failure in answers.missing:
            asking.fail(failure, repo)
        return None
    found = repository_releases(repo, (each for releases, _ in answers.found for each in releases), services)
    found.whole = bool(answers.found) and answers.whole and all(short for _, short in answers.found)
    return [(f"github/{repo}", found)]


async def _read_codeowners(asking: _Asking, repo: str) -> tuple[str, str, bool]:
    """Path and text of the file in the first of its places, and whether this is sure. Both are empty when there is
    none."""
    for path in github.CODEOWNERS_PATHS:
        read = github.codeowners(repo, path)
        if read is None:
            continue
        answers = await asking.ask(read, f"{repo}/{path}", github.read_file, may_miss=True)
        if answers.found:
            return path, answers.found[0], answers.whole
        if not answers.whole:
            return "", "", False
    return "", "", True


async def _read_pages(asking: _Asking, services: Sequence[Node], now: datetime) -> list[_Part]:
    if not asking.offers("confluence_search"):
        return []
    chosen = _turn(services, now)
    reads = ((confluence.search_pages(service.name), service.name) for service in chosen)
    answers = await asyncio.gather(*(asking.ask(read, about, confluence.read_pages) for read, about in reads))
    pages: Iterable[PageSeen] = (page for each in answers for found in each.found for page in found)
    found = page_facts(pages, names_of(services))
    # A wiki that has nothing about anything no longer lets us see it.
    found.whole = bool(found.nodes) and len(chosen) == len(services) and all(each.whole for each in answers)
    return [("confluence", found)]


async def _read_chat(asking: _Asking, teams: Sequence[Node], now: datetime) -> list[_Part]:
    if not asking.offers("conversations_history"):
        return []
    channels: dict[str, list[str]] = {}
    for team in teams:
        channel = str(team.properties.get("oncall_channel", ""))
        if channel:
            channels.setdefault(channel, []).append(team.name)
    chosen = _turn(sorted(channels), now)
    whole = Found(whole=len(chosen) == len(channels))
    reads = ((slack_history.recent_messages(channel), channel) for channel in chosen)
    answers = await asyncio.gather(*(asking.ask(read, about, slack_history.read_messages) for read, about in reads))
    for channel, each in zip(chosen, answers, strict=True):
        found = chat_facts(channel, channels[channel], (message for said in each.found for message in said))
        whole.nodes += found.nodes
        whole.edges += found.edges
        whole.whole &= each.whole
    return [("slack", whole)]


def _turn(items: Sequence[T], now: datetime) -> list[T]:
    """All of them, or the day's share of too many, so that in some days each has had its turn."""
    if len(items) <= MOST_SERVICES:
        return list(items)
    start = now.date().toordinal() * MOST_SERVICES % len(items)
    return [*items[start:], *items[:start]][:MOST_SERVICES]


def _by_name(node: Node) -> str:
    return node.name
