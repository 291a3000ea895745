"""Live systems asked over MCP: real servers of the SDK in this process, on a real SQLite graph."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

from agent.tools import NoServers
from app.demo.live_server import Story, build_server
from app.live_sources import CALLS_AT_ONCE, MOST_SERVICES, LiveFacts, LiveSources, owned_in
from connectors.mcp import McpFleet, McpServer
from connectors.tool import ToolCall, ToolOutcome, ToolSpec
from graphrag.identity import name_key
from graphrag.lives import Run
from graphrag.model import Direction, EdgeFact, EdgeType, Facts, Label, Node, NodeFact, Ref
from graphrag.open_store import open_store
from graphrag.store import GraphStore
from graphrag.writing import decide_edges, decide_nodes
from tests.unit.app.test_live_facts import node

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
STORY = Story(began=NOW)
SERVICES = ("checkout-api", "fraud-scoring", "ledger")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    store = open_store(f"sqlite:///{tmp_path / 'graph.db'}", dimensions=2)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def team(name: str, channel: str) -> Node:
    return node(name, label=Label.TEAM, oncall_channel=channel)


async def read(
    *servers: MCPServer[Any], services: Sequence[Node], teams: Sequence[Node] = (), seconds: float = 5.0, **more: Any
) -> LiveFacts:
    named = [McpServer(server.name, in_memory=server) for server in servers]
    async with McpFleet(named) as fleet:
        return await LiveSources(fleet, seconds, **more).read(services, teams, NOW)


def serving(name: str, **tools: Callable[..., Any]) -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer(name, log_level="CRITICAL")
    for tool, does in tools.items():
        server.tool(name=tool)(does)
    return server


def part(told: LiveFacts, source: str) -> Facts:
    (found,) = (each for each in told.parts if each.source == source)
    return found


async def nobody_owns(services: Sequence[Node]) -> Collection[str]:
    return ()


# All of it ------------------------------------------------------------------------------------------------------------


async def test_without_servers_nothing_is_read_and_nothing_fails() -> None:
    assert await LiveSources(NoServers(), 1).read([node("till", repo="a/b")], [], NOW) == LiveFacts()


async def test_the_demonstrations_live_systems_tell_their_story(store: GraphStore) -> None:
    facts = [NodeFact(Label.SERVICE, name) for name in SERVICES]
    facts[0] = NodeFact(Label.SERVICE, "checkout-api", properties={"repo": STORY.repo})
    facts.append(NodeFact(Label.TEAM, "payments", properties={"oncall_channel": "#payments"}))
    await store.write("t", Facts("catalog", NOW, tuple(facts)))
    nodes = await store.all_nodes("t")
    services = [each for each in nodes if each.label is Label.SERVICE]
    teams = [each for each in nodes if each.label is Label.TEAM]

    told = await read(build_server(STORY), services=services, teams=teams, owned=owned_in(store, "t"))
    assert told.failures == ()
    report = await store.write("t", *told.parts)

    async def targets(name: str, type: EdgeType) -> list[str]:
        (found,) = (await store.resolve("t", [name_key(name)], [Label.SERVICE, Label.TEAM]))[name_key(name)]
        edges = await store.edges("t", [found.id], [type], Direction.OUT, 10)
        return sorted(each.name for each in (await store.nodes("t", [edge.target for edge in edges])).values())

    assert report.dangling == ()
    assert await targets("checkout-api", EdgeType.DEPENDS_ON) == ["fraud-scoring"]
    assert await targets("checkout-api", EdgeType.INTRODUCED_BY) == ["checkout-api v2.4.0", "checkout-api v2.4.1"]
    assert await targets("checkout-api", EdgeType.OWNED_BY) == ["payments"]
    assert await targets("payments", EdgeType.RELATION) == ["slack:#payments"]
    assert {each.source: each.complete for each in told.parts} == {
        "live:prometheus": True,
        f"live:github/{STORY.repo}": True,
        f"live:github/{STORY.repo}/CODEOWNERS": True,
        "live:slack": True,
    }


async def test_an_owner_that_only_codeowners_names_stays_and_one_of_a_catalogue_goes_before(store: GraphStore) -> None:
    async def sync(moment: datetime) -> list[tuple[str, ...]]:
        services, teams = await store.all_nodes("t", [Label.SERVICE]), await store.all_nodes("t", [Label.TEAM])
        told = await read(build_server(STORY), services=services, teams=teams, owned=owned_in(store, "t"))
        await store.write("t", *(Facts(p.source, moment, p.nodes, p.edges, complete=p.complete) for p in told.parts))
        edges = await store.edges("t", [each.id for each in services], [EdgeType.OWNED_BY], Direction.OUT, 10)
        return [edge.life.sources for edge in edges]

    checkout = NodeFact(Label.SERVICE, "checkout-api", properties={"repo": STORY.repo})
    await store.write("t", Facts("catalog", NOW, (checkout,)))
    source = (f"live:github/{STORY.repo}/CODEOWNERS",)
    assert await sync(NOW + timedelta(days=1)) == [source]
    assert await sync(NOW + timedelta(days=2)) == [source]

    owned = EdgeFact(EdgeType.OWNED_BY, Ref(Label.SERVICE, "checkout-api"), Ref(Label.TEAM, "crew"))
    await store.write(
        "t", Facts("catalog", NOW + timedelta(days=3), (checkout, NodeFact(Label.TEAM, "crew")), (owned,))
    )
    assert ("catalog",) in await sync(NOW + timedelta(days=4))
    assert await sync(NOW + timedelta(days=5)) == [("catalog",)]


async def test_who_owns_is_not_asked_where_nobody_knows_who_has_an_owner() -> None:
    told = await read(build_server(STORY), services=[node("checkout-api", repo=STORY.repo)])
    assert not [edge for each in told.parts for edge in each.edges if edge.type is EdgeType.OWNED_BY]


# Servers that fail ----------------------------------------------------------------------------------------------------


async def test_a_slow_server_costs_its_facts_and_says_so() -> None:
    async def execute_query(query: str) -> dict[str, Any]:
        await anyio.sleep(30)
        return {"result": []}

    told = await read(
        serving("prometheus", execute_query=execute_query), build_server(STORY), services=[node("a")], seconds=0.3
    )
    assert told.failures == (
        ("prometheus", "execute_query: it did not answer within 0.3 seconds. (traces_service_graph_request_total)"),
    )
    assert not part(told, "live:prometheus").complete


async def test_a_server_that_is_down_is_said_and_nothing_is_taken_for_gone() -> None:
    servers = [
        McpServer("absent", command="no-such-command-anywhere"),
        McpServer("live", in_memory=build_server(STORY)),
    ]
    async with McpFleet(servers) as fleet:
        told = await LiveSources(fleet, 5).read([node("checkout-api", repo=STORY.repo)], [], NOW)
    assert [server for server, _ in told.failures] == ["absent"]
    assert told.parts
    assert not any(each.complete for each in told.parts)


async def test_a_run_asks_no_more_when_its_time_is_over() -> None:
    services, teams = [node("a", repo=STORY.repo)], [team("crew", "#crew")]
    told = await read(build_server(STORY), services=services, teams=teams, most_seconds=0.0)
    assert told.parts == ()
    assert {reason.partition(" (")[0] for _, reason in told.failures} == {"there was no time left of 0 s"}


async def test_many_failures_of_one_kind_are_one_line() -> None:
    def list_releases(owner: str, repo: str) -> str:
        raise ToolError("404 Not Found")

    services = [node(f"s{number}", repo=f"dock/s{number}") for number in range(9)]
    told = await read(serving("github", list_releases=list_releases), services=services)
    assert told.parts == ()
    ((server, reason),) = told.failures
    assert server == "github"
    assert reason.endswith("404 Not Found. (dock/s0, dock/s1, dock/s2 and 6 more)")


class Answering:
    """A fleet that offers every tool and answers each call with the next of some outcomes."""

    def __init__(self, outcomes: Sequence[ToolOutcome]) -> None:
        self._outcomes = outcomes
        self.calls = 0
        self.flying = 0
        self.most_flying = 0

    async def wait_ready(self, timeout: float) -> bool:  # noqa: ASYNC109
        return True

    def tools(self) -> tuple[ToolSpec, ...]:
        names = "execute_query list_releases get_file_contents confluence_search conversations_history".split()
        return tuple(ToolSpec(server="s", name=name) for name in names)

    def status(self) -> Sequence[Any]:
        return ()

    async def call(self, call: ToolCall, timeout: float) -> ToolOutcome:  # noqa: ASYNC109
        self.flying += 1
        self.most_flying = max(self.most_flying, self.flying)
        await anyio.lowlevel.checkpoint()
        self.flying -= 1
        self.calls += 1
        return self._outcomes[self.calls % len(self._outcomes)]


KEYS = st.sampled_from(
    "result metric value client server tag_name published_at body author login html_url title url content excerpt text"
    " channel time".split()
)
TEXTS = st.sampled_from(["v1.2", "till", "books", "* @a/b", "https://w.example/till", str(NOW.timestamp())])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=15,
)
OUTCOMES = st.builds(
    lambda data, text, ok, truncated: ToolOutcome(
        ok=ok,
        text=text or json.dumps(data),
        data=data,
        error="" if ok else text,
        truncated=truncated,
        started_at=NOW,
        ended_at=NOW,
    ),
    JSON,
    st.just("") | st.text(max_size=30) | TEXTS,
    st.booleans() | st.just(True),
    st.booleans(),
)


@given(st.lists(OUTCOMES, min_size=1, max_size=4))
def test_whatever_servers_answer_becomes_facts_that_can_be_written(outcomes: list[ToolOutcome]) -> None:
    services = [node("till", "cash", repo="a/till"), node("books", repo="a/books")]

    async def run() -> LiveFacts:
        return await LiveSources(Answering(outcomes), 1, nobody_owns).read(services, [team("crew", "#crew")], NOW)

    told = anyio.run(run)
    assert all(isinstance(server, str) and reason for server, reason in told.failures)
    if told.parts:
        decided = Run(told.parts)
        nodes = decide_nodes("t", decided, {}, {})
        decide_edges("t", decided, nodes, {})


async def test_few_calls_are_made_at_once_and_each_service_has_its_turn() -> None:
    page = {"title": "Lunch", "url": "https://w.example/1"}
    services = [node(f"s{number:03}") for number in range(MOST_SERVICES + 50)]
    searched: set[str] = set()

    class Wiki(Answering):
        def tools(self) -> tuple[ToolSpec, ...]:
            return (ToolSpec(server="wiki", name="confluence_search"),)

        async def call(self, call: ToolCall, timeout: float) -> ToolOutcome:  # noqa: ASYNC109
            searched.add(call.purpose)
            return await super().call(call, timeout)

    fleet = Wiki([ToolOutcome(ok=True, text=json.dumps([page]), data=[page], started_at=NOW, ended_at=NOW)])
    told = await LiveSources(fleet, 1).read(services, [], NOW)
    assert (fleet.calls, fleet.most_flying) == (MOST_SERVICES, CALLS_AT_ONCE)
    assert not part(told, "live:confluence").complete
    await LiveSources(fleet, 1).read(services, [], NOW + timedelta(days=1))
    assert len(searched) == len(services)


# One system at a time -------------------------------------------------------------------------------------------------


def traffic(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"result": [{"metric": {"client": a, "server": b}, "value": [NOW.timestamp(), "1"]} for a, b in pairs]}


async def test_a_service_graph_without_any_call_closes_nothing() -> None:
    told = await read(serving("prometheus", execute_query=lambda query: traffic()), services=[node("a")])
    assert told == LiveFacts()


async def test_a_service_graph_too_long_for_one_answer_is_read_by_its_clients() -> None:
    def execute_query(query: str) -> dict[str, Any]:
        if "client=~" not in query:
            return traffic(*(("x" * 200, f"s{number}") for number in range(1_500)))
        return traffic(("till", "books")) if "|cash" in query else traffic()

    told = await read(
        serving("prometheus", execute_query=execute_query), services=[node("till", "cash"), node("books")]
    )
    facts = part(told, "live:prometheus")
    assert [(edge.source.name, edge.target.name) for edge in facts.edges] == [("till", "books")]
    assert (facts.complete, told.failures) == (True, ())


async def test_older_releases_outlast_a_list_of_the_newest() -> None:
    def list_releases(owner: str, repo: str, perPage: int) -> list[dict[str, Any]]:
        return [{"tag_name": f"v{number}", "published_at": NOW.isoformat()} for number in range(perPage)]

    services = [node("till", repo="dock/till")]
    told = await read(serving("github", list_releases=list_releases), services=services)
    assert len(part(told, "live:github/dock/till").nodes) == 20
    assert not part(told, "live:github/dock/till").complete

    def get_latest_release(owner: str, repo: str) -> dict[str, Any]:
        return {"tag_name": "v7", "published_at": NOW.isoformat()}

    told = await read(serving("github", get_latest_release=get_latest_release), services=services)
    assert [each.name for each in part(told, "live:github/dock/till").nodes] == ["till v7"]
    assert not part(told, "live:github/dock/till").complete


@pytest.mark.parametrize(("place", "asked"), [(".github/CODEOWNERS", 1), ("docs/CODEOWNERS", 3), ("", 3)])
async def test_codeowners_is_looked_for_where_github_does_and_may_be_missing(place: str, asked: int) -> None:
    paths: list[str] = []

    def get_file_contents(owner: str, repo: str, path: str) -> str:
        paths.append(path)
        if path != place:
            raise ToolError("failed to get file contents: 404 Not Found")
        return "* @dock/crew\n"

    def list_releases(owner: str, repo: str) -> list[dict[str, Any]]:
        return []

    server = serving("github", get_file_contents=get_file_contents, list_releases=list_releases)
    told = await read(server, services=[node("till", repo="dock/till")], owned=nobody_owns)
    facts = part(told, "live:github/dock/till/CODEOWNERS")
    assert (len(paths), told.failures, facts.complete) == (asked, (), True)
    assert [edge.target.name for edge in facts.edges] == (["crew"] if place else [])


async def test_a_repository_that_cannot_be_seen_does_not_lose_its_owners() -> None:
    def get_file_contents(owner: str, repo: str, path: str) -> str:
        raise ToolError("404 Not Found")

    server = serving("github", get_file_contents=get_file_contents)
    told = await read(server, services=[node("till", repo="dock/till")], owned=nobody_owns)
    assert told.parts == ()


async def test_pages_are_found_for_each_service_and_a_wiki_that_shows_nothing_closes_nothing() -> None:
    def confluence_search(query: str, limit: int) -> list[dict[str, Any]]:
        return [{"title": "Till limits", "url": "https://w.example/1?x=1"}] if '"till"' in query else []

    services = [node("till"), node("books")]
    told = await read(serving("wiki", confluence_search=confluence_search), services=services)
    facts = part(told, "live:confluence")
    assert [(edge.source.name, edge.target.name) for edge in facts.edges] == [("till", "https://w.example/1")]
    assert facts.complete
    assert (await read(serving("wiki", confluence_search=confluence_search), services=services[1:])).parts == ()


async def test_a_channel_of_two_teams_is_read_once() -> None:
    asked: list[str] = []

    def conversations_history(channel_id: str, limit: str) -> str:
        asked.append(channel_id)
        return "Channel,RealName,Text,Time\n#ops,Ann,till is down,2026-11-30T11:00:00Z\n"

    teams = [team("one", "#ops"), team("two", "#ops"), node("three", label=Label.TEAM)]
    told = await read(serving("chat", conversations_history=conversations_history), services=[], teams=teams)
    facts = part(told, "live:slack")
    assert asked == ["#ops"]
    assert [edge.source.name for edge in facts.edges] == ["one", "two"]
    assert all(edge.type is EdgeType.RELATION for edge in facts.edges)
    assert facts.complete
