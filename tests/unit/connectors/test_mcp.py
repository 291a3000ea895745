from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import CallToolResult, EmbeddedResource, TextContent, TextResourceContents

from connectors.mcp import McpFleet, McpServer, parse_mcp_servers
from connectors.mcp_answer import MAX_BYTES
from connectors.tool import ToolCall, ToolOutcome


def call(server: str, tool: str = "execute_query", **arguments: Any) -> ToolCall:
    return ToolCall(id="1", server=server, tool=tool, arguments=arguments, purpose="to see")


def playing_server() -> MCPServer[Any]:
    server: MCPServer[Any] = MCPServer("playing", log_level="CRITICAL")

    @server.tool()
    async def execute_query(query: str) -> dict[str, Any]:
        match query:
            case "slow":
                await anyio.sleep(30)
            case "fail":
                raise ToolError("no such metric: token-5f2a")
            case "soft":
                return {"error": {"message": "credentials expired"}}
            case "long":
                return {"result": "x" * MAX_BYTES, "resultType": "string"}
        return {"resultType": "vector", "result": [], "asked": query}

    @server.tool()
    def list_tags() -> list[str]:
        return ["v1", "v2"]

    @server.tool()
    def get_file_contents() -> CallToolResult:
        file = TextResourceContents(uri="repo://a/b", text="* @a/b\n")
        note = TextContent(type="text", text="downloaded")
        return CallToolResult(content=[note, EmbeddedResource(type="resource", resource=file)])

    @server.tool()
    def delete_everything() -> str:
        return "gone"

    @server.tool()
    def read_dashboard() -> str:
        return "a dashboard"

    return server


@pytest.fixture
async def fleet() -> AsyncIterator[McpFleet]:
    servers = (
        McpServer(
            "play", in_memory=playing_server(), allowed_tools=frozenset({"read_dashboard"}), env={"TOKEN": "token-5f2a"}
        ),
        McpServer("absent", command="no-such-command-anywhere"),
    )
    async with McpFleet(servers) as fleet:
        assert await fleet.wait_ready(10)
        yield fleet


async def test_an_answer_comes_back_as_text_and_as_data(fleet: McpFleet) -> None:
    outcome = await fleet.call(call("play", query="up"), 5)
    assert (outcome.ok, outcome.error, outcome.truncated) == (True, "", False)
    assert outcome.data == {"resultType": "vector", "result": [], "asked": "up"}
    assert json.loads(outcome.text) == outcome.data
    assert outcome.started_at <= outcome.ended_at


async def test_an_answer_that_is_no_object_is_unwrapped(fleet: McpFleet) -> None:
    assert (await fleet.call(call("play", "list_tags"), 5)).data == ["v1", "v2"]


async def test_the_text_of_an_embedded_resource_is_part_of_the_answer(fleet: McpFleet) -> None:
    assert (await fleet.call(call("play", "get_file_contents"), 5)).text == "downloaded\n* @a/b\n"


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (call("play", query="fail"), "no such metric: ***"),
        (call("play", query="soft"), "credentials expired"),
        (call("play"), "query"),
        (call("play", "list_commits"), "list_commits"),
        (call("play", "delete_everything"), "not allowed"),
        (call("absent", query="up"), "was not found"),
        (call("nobody", query="up"), "no MCP server called 'nobody'"),
    ],
)
async def test_every_failure_is_an_outcome_with_one_sentence(fleet: McpFleet, request_: ToolCall, said: str) -> None:
    outcome = await fleet.call(request_, 5)
    assert not outcome.ok
    assert said in outcome.error
    assert "\n" not in outcome.error
    assert "token-5f2a" not in outcome.error
    assert outcome.error.endswith((".", "!", "?"))


async def test_a_call_past_its_deadline_costs_only_itself(fleet: McpFleet) -> None:
    slow, quick = await asyncio.gather(
        fleet.call(call("play", query="slow"), 0.3), fleet.call(call("play", query="up"), 5)
    )
    assert "within 0.3 seconds" in slow.error
    assert quick.ok
    assert (slow.ended_at - slow.started_at).total_seconds() < 3


async def test_a_server_that_is_always_late_is_left_alone_for_a_while(fleet: McpFleet) -> None:
    for _ in range(3):
        await fleet.call(call("play", query="slow"), 0.05)
    assert "left alone" in (await fleet.call(call("play", query="up"), 5)).error


async def test_a_cancelled_call_is_cancelled(fleet: McpFleet) -> None:
    task = asyncio.create_task(fleet.call(call("play", query="slow"), 20))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await fleet.call(call("play", query="up"), 5)).ok


async def test_a_long_answer_is_cut_and_says_so(fleet: McpFleet) -> None:
    outcome = await fleet.call(call("play", query="long"), 5)
    assert (outcome.ok, outcome.truncated, outcome.data) == (True, True, None)
    assert len(outcome.text.encode()) <= MAX_BYTES


async def test_only_known_read_tools_and_those_the_settings_allow_are_offered(fleet: McpFleet) -> None:
    assert {tool.name for tool in fleet.tools()} == {
        "execute_query",
        "list_tags",
        "get_file_contents",
        "read_dashboard",
    }
    assert (await fleet.call(call("play", "read_dashboard"), 5)).text == "a dashboard"


async def test_the_status_says_which_server_is_down_and_why(fleet: McpFleet) -> None:
    play, absent = fleet.status()
    assert (play.state, play.error) == ("ready", "")
    assert absent.state == "down"
    assert "no-such-command-anywhere" in absent.error


async def test_a_call_from_another_event_loop_is_answered(fleet: McpFleet) -> None:
    outcomes: list[ToolOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(asyncio.run(fleet.call(call("play", query="up"), 5))))
    thread.start()
    await asyncio.to_thread(thread.join)
    assert outcomes[0].ok


async def test_calls_after_the_end_fail_at_once() -> None:
    async with McpFleet((McpServer("play", in_memory=playing_server()),)) as fleet:
        await fleet.wait_ready(10)
    assert "stopped" in (await fleet.call(call("play", query="up"), 5)).error


def test_servers_are_read_from_the_json_of_other_clients(tmp_path: Path) -> None:
    text = json.dumps(
        {
            "mcpServers": {
                "prometheus": {
                    "command": "uvx",
                    "args": ["prometheus-mcp-server"],
                    "env": {"PROMETHEUS_URL": "http://p"},
                },
                "web": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer s3cret"}},
                "old": {"type": "sse", "url": "https://h/sse", "allowedTools": ["read_dashboard"]},
                "off": {"command": "x", "disabled": True},
            }
        }
    )
    file = tmp_path / "servers.json"
    file.write_text(text)
    servers = parse_mcp_servers(text)
    assert servers == parse_mcp_servers(str(file))
    assert [server.name for server in servers] == ["prometheus", "web", "old"]
    assert servers[0].args == ("prometheus-mcp-server",)
    assert servers[2].sse
    assert servers[2].allowed_tools == {"read_dashboard"}
    assert "s3cret" not in repr(servers)


def test_no_servers_are_no_servers() -> None:
    assert parse_mcp_servers("  ") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not valid JSON"),
        ("{}", '"mcpServers"'),
        ('{"mcpServers": []}', '"mcpServers"'),
        ('{"mcpServers": {"a": 1}}', "'a' must be an object"),
        ('{"mcpServers": {"a": {}}}', "'a' needs either a command or a url"),
        ('{"mcpServers": {"a": {"command": "x", "url": "http://h"}}}', "not both"),
        ('{"mcpServers": {"a": {"url": "file:///etc/passwd"}}}', "http:// or https://"),
        ('{"mcpServers": {"a": {"url": "http://h", "type": "carrier-pigeon"}}}', "type of http or sse"),
        ('{"mcpServers": {"a": {"command": 1}}}', "command must be text"),
        ('{"mcpServers": {"a": {"command": "x", "args": "y"}}}', "args must be a list"),
        ('{"mcpServers": {"a": {"command": "x", "env": {"A": 1}}}}', "env must be an object"),
        ("no-such-file.json", "cannot be read"),
    ],
)
def test_what_cannot_work_is_said_in_a_sentence(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        parse_mcp_servers(text)


def test_secrets_are_taken_out_of_text_and_addresses_stay() -> None:
    server = McpServer(
        "s",
        command="x",
        args=("--api-key", "arg-secret", "--token=other-secret"),
        env={"GITHUB_TOKEN": "ghp_1234", "PROMETHEUS_URL": "http://user:pw-secret@p:9090", "MODE": "true"},
        headers={"Authorization": "Bearer head-secret"},
    )
    text = "arg-secret other-secret ghp_1234 pw-secret head-secret true http://p:9090"
    assert server.redact(text) == "*** *** *** *** *** true http://p:9090"


FRAGILE = """
import os, sys
from mcp.server.mcpserver import MCPServer
server = MCPServer("fragile", log_level="CRITICAL")
print("hello from stderr", file=sys.stderr, flush=True)

@server.tool()
def execute_query(query: str) -> dict:
    if query == "die" or (query == "die-once" and not os.path.exists(MARK)):
        open(MARK, "w").close()
        os._exit(1)
    ours = [name for name in os.environ if name.startswith("INCIDENT_GRAPH_")]
    return {"ours": ours, "own": os.environ["OWN"], "path": "PATH" in os.environ}

server.run("stdio")
"""


@pytest.fixture
def fragile(tmp_path: Path) -> McpServer:
    script = tmp_path / "fragile.py"
    script.write_text(FRAGILE.replace("MARK", repr(str(tmp_path / "mark"))))
    return McpServer("fragile", command=sys.executable, args=(str(script),), env={"OWN": "yes"})


async def test_a_child_has_our_environment_without_our_settings(
    fragile: McpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INCIDENT_GRAPH_SLACK_TOKEN", "xoxb-secret")
    async with McpFleet((fragile,)) as fleet:
        outcome = await fleet.call(call("fragile", query="up"), 20)
        assert outcome.data == {"ours": [], "own": "yes", "path": True}
        assert "hello from stderr" in fleet.status()[0].stderr_tail


async def test_a_call_that_a_dying_server_cut_off_is_answered_by_its_successor(fragile: McpServer) -> None:
    async with McpFleet((fragile,)) as fleet:
        await fleet.wait_ready(20)
        assert (await fleet.call(call("fragile", query="die-once"), 20)).ok


async def test_a_call_that_kills_its_server_fails_and_the_server_comes_back(fragile: McpServer) -> None:
    async with McpFleet((fragile,)) as fleet:
        await fleet.wait_ready(20)
        outcome = await fleet.call(call("fragile", query="die"), 20)
        assert "lost twice" in outcome.error
        assert (await fleet.call(call("fragile", query="up"), 20)).ok


async def test_no_process_of_a_server_outlives_the_fleet(tmp_path: Path) -> None:
    import psutil

    script = tmp_path / "leaver.py"
    script.write_text(
        "import subprocess, sys\n"
        "from mcp.server.mcpserver import MCPServer\n"
        "subprocess.Popen(['sleep', '600'], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)\n"
        "MCPServer('leaver', log_level='CRITICAL').run('stdio')\n"
    )
    async with McpFleet((McpServer("leaver", command=sys.executable, args=(str(script),)),)) as fleet:
        await fleet.wait_ready(20)
        assert fleet.status()[0].state == "ready"
        family = psutil.Process().children(recursive=True)
        assert any(process.name() == "sleep" for process in family)
    _, alive = psutil.wait_procs(family, timeout=5)
    assert [process.name() for process in alive if process.name() == "sleep"] == []
