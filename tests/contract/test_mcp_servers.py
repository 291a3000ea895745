"""The fleet against servers in processes of their own: prometheus-mcp-server on a real Prometheus, and the demo's."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from app.live_sources import LiveSources
from connectors.expression import without_comparison
from connectors.github import codeowners, latest_release, read_changes, read_latest_release, read_owners, recent_changes
from connectors.mcp import McpFleet, parse_mcp_servers
from connectors.prometheus import (
    alert_range,
    calls_of_a_day,
    read_calls,
    read_metrics,
    read_service_graph,
    service_graph,
)
from connectors.reading import Read
from connectors.slack_history import read_messages, recent_messages, search_messages
from connectors.tool import ToolCall, ToolOutcome
from tests.servers.exporter import Exporter
from tests.servers.process import ServerProcess, accepts_tcp, free_port, running, wait_until
from tests.servers.prometheus_server import Prometheus

TRAFFIC = {"client": "checkout-api", "server": "fraud-scoring"}
REPO = "harbour-shop/checkout-api"


async def ask(fleet: McpFleet, server: str, read: Read | None) -> ToolOutcome:
    assert read is not None
    tool, arguments = read
    return await fleet.call(ToolCall(id="1", server=server, tool=tool, arguments=arguments, purpose="to see"), 20)


def prometheus_fleet(command: list[str], url: str) -> McpFleet:
    entry = {"command": command[0], "args": command[1:], "env": {"PROMETHEUS_URL": url}}
    return McpFleet(parse_mcp_servers(json.dumps({"mcpServers": {"prometheus": entry}})))


async def test_the_value_of_an_alert_is_read_from_a_real_prometheus(
    prometheus_mcp_command: list[str], prometheus_factory: Callable[..., Prometheus], exporter: Exporter
) -> None:
    exporter.set("errors_ratio", 0.12, {"service": "checkout-api"})
    prometheus = prometheus_factory(targets=[exporter.address])
    await anyio.to_thread.run_sync(wait_until, lambda: bool(prometheus.query("errors_ratio")), 20, "a first scrape")
    async with prometheus_fleet(prometheus_mcp_command, prometheus.url) as fleet:
        assert await fleet.wait_ready(60)
        assert {tool.name for tool in fleet.tools()} >= {"execute_query", "execute_range_query"}
        value = without_comparison('errors_ratio{service="checkout-api"} > 0.5').expression
        outcome = await ask(fleet, "prometheus", alert_range(value, datetime.now(UTC)))
        assert outcome.ok, outcome.error
        (seen,) = read_metrics(outcome, value)
        assert (seen.last, seen.labels["service"]) == (0.12, "checkout-api")
        assert seen.link.startswith(prometheus.url)

        wrong = await ask(fleet, "prometheus", ("execute_query", {"query": "sum("}))
        assert not wrong.ok
        assert wrong.error.startswith("prometheus could not run execute_query")


async def test_traffic_between_services_is_read_from_a_real_prometheus(
    prometheus_mcp_command: list[str], prometheus_factory: Callable[..., Prometheus], exporter: Exporter
) -> None:
    prometheus = prometheus_factory(targets=[exporter.address])
    async with prometheus_fleet(prometheus_mcp_command, prometheus.url) as fleet:
        seen = ()
        with anyio.fail_after(60):
            while not seen:
                exporter.set("traces_service_graph_request_total", time.monotonic(), TRAFFIC)
                await anyio.sleep(0.5)
                seen = read_service_graph(await ask(fleet, "prometheus", service_graph(["checkout-api", "a.b"])))
        assert [(edge.client, edge.server) for edge in seen] == [("checkout-api", "fraud-scoring")]
        assert read_service_graph(await ask(fleet, "prometheus", service_graph(["other"]))) == ()
        assert read_calls(await ask(fleet, "prometheus", calls_of_a_day(["other"]))) == ()
        told = await LiveSources(fleet, 20).read([], [], datetime.now(UTC))
        assert told.failures == ()
        assert [(each.source, each.complete) for each in told.parts] == [("live:prometheus", True)]
        assert [(edge.source.name, edge.target.name) for edge in told.parts[0].edges] == [tuple(TRAFFIC.values())]


async def test_a_dead_prometheus_is_a_failed_call_with_a_reason(prometheus_mcp_command: list[str]) -> None:
    async with prometheus_fleet(prometheus_mcp_command, f"http://127.0.0.1:{free_port()}") as fleet:
        outcome = await ask(fleet, "prometheus", ("execute_query", {"query": "up"}))
        assert not outcome.ok
        assert "refused" in outcome.error


def demo_fleet(*arguments: str) -> McpFleet:
    entry = {"command": sys.executable, "args": ["-m", "app.demo.live_server", *arguments]}
    return McpFleet(parse_mcp_servers(json.dumps({"mcpServers": {"live": entry}})))


async def test_the_demos_live_systems_tell_one_story() -> None:
    async with demo_fleet() as fleet:
        now = datetime.now(UTC)
        expression = 'checkout:error_ratio{service="checkout-api"}'
        (ratio,) = read_metrics(await ask(fleet, "live", alert_range(expression, now)), expression)
        assert ratio.lowest < 0.01 < ratio.last == pytest.approx(0.12, abs=0.01)
        assert read_metrics(await ask(fleet, "live", alert_range("up", now)), "up") == ()

        (edge,) = read_service_graph(await ask(fleet, "live", service_graph(["checkout-api", "other"])))
        assert (edge.client, edge.server) == ("checkout-api", "fraud-scoring")
        assert read_service_graph(await ask(fleet, "live", service_graph(["checkout"]))) == ()

        (release,) = read_latest_release(await ask(fleet, "live", latest_release(REPO)), REPO)
        (listed,) = read_latest_release(await ask(fleet, "live", ("list_releases", _named(REPO))), REPO)
        (change,) = read_changes(await ask(fleet, "live", recent_changes(REPO)), REPO)
        (owners,) = read_owners(await ask(fleet, "live", codeowners(REPO)), REPO)
        assert release == listed
        assert release.released_at is not None
        assert (release.version, owners.owners) == ("v2.4.1", ("@harbour-shop/payments",))
        assert "connection pool" in change.title
        assert change.merged_at < release.released_at < now
        assert (now - release.released_at).total_seconds() < 30 * 60

        messages = read_messages(await ask(fleet, "live", recent_messages("#deploys")))
        assert any("v2.4.1" in message.text for message in messages)
        assert read_messages(await ask(fleet, "live", search_messages("nothing-like-it"))) == ()
        assert not (await ask(fleet, "live", latest_release("harbour-shop/other"))).ok


async def test_a_fact_of_the_demo_can_change_while_it_runs(tmp_path: Path) -> None:
    story = tmp_path / "story.json"
    story.write_text('{"version": "v9.9.9"}')
    async with demo_fleet("--story", str(story)) as fleet:
        (first,) = read_latest_release(await ask(fleet, "live", latest_release(REPO)), REPO)
        story.write_text('{"version": "v2.4.0", "calls": []}')
        (second,) = read_latest_release(await ask(fleet, "live", latest_release(REPO)), REPO)
        assert (first.version, second.version) == ("v9.9.9", "v2.4.0")
        assert read_service_graph(await ask(fleet, "live", service_graph(["checkout-api"]))) == ()


def _named(repo: str) -> dict[str, str]:
    owner, _, name = repo.partition("/")
    return {"owner": owner, "repo": name}


WEB_SERVER = """
import sys
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.responses import PlainTextResponse

server = MCPServer("web", log_level="CRITICAL")

@server.tool()
def execute_query(query: str) -> dict:
    return {"asked": query}

inner = server.sse_app() if sys.argv[2] == "sse" else server.streamable_http_app()

async def guarded(scope, receive, send):
    refused = scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != b"Bearer web-secret"
    await (PlainTextResponse("no", 401) if refused else inner)(scope, receive, send)

uvicorn.run(guarded, port=int(sys.argv[1]), log_level="critical")
"""


@contextlib.contextmanager
def web_server(script: Path, port: int, kind: str) -> Iterator[ServerProcess]:
    script.write_text(WEB_SERVER)
    argv = [sys.executable, script, str(port), kind]
    with running("mcp-web", argv, ready=lambda: accepts_tcp(port), patience=0) as process:
        yield process


def web_fleet(port: int, kind: str, token: str = "web-secret") -> McpFleet:
    path = {"sse": "sse", "http": "mcp"}[kind]
    entry = {"type": kind, "url": f"http://127.0.0.1:{port}/{path}", "headers": {"Authorization": f"Bearer {token}"}}
    return McpFleet(parse_mcp_servers(json.dumps({"mcpServers": {"web": entry}})))


@pytest.mark.parametrize("kind", ["http", "sse"])
async def test_a_web_server_is_asked_and_asked_again_after_its_restart(tmp_path: Path, kind: str) -> None:
    port, read = free_port(), ("execute_query", {"query": "up"})
    with web_server(tmp_path / "web.py", port, kind) as process:
        async with web_fleet(port, kind) as fleet:
            assert (await ask(fleet, "web", read)).data == {"asked": "up"}
            process.kill()
            lost = await ask(fleet, "web", read)
            assert not lost.ok
            assert "web-secret" not in lost.error
            with web_server(tmp_path / "web.py", port, kind), anyio.fail_after(30):
                while not (await ask(fleet, "web", read)).ok:  # noqa: ASYNC110 - the pause is the server's to end
                    await anyio.sleep(0.2)


async def test_a_web_server_that_refuses_the_token_is_down_and_says_with_what_status(tmp_path: Path) -> None:
    port = free_port()
    with web_server(tmp_path / "web.py", port, "http"):
        async with web_fleet(port, "http", "another-secret") as fleet:
            await fleet.wait_ready(20)
            (status,) = fleet.status()
            assert (status.state, status.tools) == ("down", ())
            assert "401" in status.error
            assert "another-secret" not in f"{status}"
