"""How long it takes from the POST of an alert to the whole report in Slack.

The bare reference replays what the service did: the same POST to the bare route, the same tool calls made side by side
with the MCP SDK, and the same messages sent with the Slack SDK. What the service takes longer is its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import time
from dataclasses import dataclass
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters
from slack_sdk.web import WebClient

from bench.deliveries import opening
from bench.load import Target, drive
from bench.measure import Measured, note, percentile
from bench.subjects import Bare, demo_graph, fresh_service, wait_quiet, webhook
from tests.servers.process import ROOT, ServerProcess, temporary_home
from tests.servers.service import Service
from tests.servers.slack_server import SlackStandin, slack_server

ALERTS = 30
WARM_UPS = 2
REPORT_SECONDS = 60.0
REFERENCE = "the same POST, tool calls and messages made bare"
_LIVE = StdioServerParameters(command=sys.executable, args=["-m", "app.demo.live_server"], cwd=ROOT)
_POST, _UPDATE = "chat.postMessage", "chat.update"


@dataclass(frozen=True)
class Script:
    """What the service did for one incident: the tool calls of its journal, and its requests to Slack in order."""

    calls: tuple[tuple[str, dict[str, Any]], ...]
    requests: tuple[dict[str, Any], ...]


def alert_to_report() -> list[Measured]:
    """Alerts one after another, each of another group, and after each the same work bare."""
    ours, bare = asyncio.run(_measure())
    p95, bare_p95 = percentile(ours, 0.95), percentile(bare, 0.95)
    return [
        Measured("alert-to-report-p50", percentile(ours, 0.5), "s", REFERENCE, percentile(bare, 0.5)),
        Measured("alert-to-report-p95", p95, "s", REFERENCE, bare_p95),
        Measured("alert-to-report-extra-p95", p95 - bare_p95, "s", REFERENCE, bare_p95),
    ]


async def _measure() -> tuple[list[float], list[float]]:
    async with contextlib.AsyncExitStack() as stack:
        graph, home = stack.enter_context(demo_graph()), stack.enter_context(temporary_home("bench-report"))
        slack = stack.enter_context(slack_server())
        service = fresh_service(
            graph, home, slack_token=slack.token, slack_base_url=slack.base_url, mcp_servers=_mcp_servers()
        )
        process, bare = stack.enter_context(service.run()), Bare(home)
        stack.enter_context(bare.run())
        live = await stack.enter_async_context(Client(_LIVE))
        ours: list[float] = []
        theirs: list[float] = []
        for number in range(WARM_UPS + ALERTS):
            body = opening(f"zone-{number}")
            seconds, script = await _alert(service, process, slack, body)
            bare_seconds = await _bare(bare.target, live, slack, body, script)
            if number == WARM_UPS:
                note(f"  one report is {len(script.calls)} tool calls and {len(script.requests)} requests to Slack")
            if number >= WARM_UPS:
                ours.append(seconds)
                theirs.append(bare_seconds)
        note(f"  ours {min(ours):.3f} to {max(ours):.3f} s, bare {min(theirs):.3f} to {max(theirs):.3f} s")
        return ours, theirs


def _mcp_servers() -> str:
    return json.dumps({"mcpServers": {"live-systems": {"command": _LIVE.command, "args": _LIVE.args}}})


async def _alert(service: Service, process: ServerProcess, slack: SlackStandin, body: bytes) -> tuple[float, Script]:
    """Seconds from the POST until the last part of the report was in the channel, and how the service got there."""
    slack.control(reset=True)
    began = time.time()
    accepted = await drive(webhook(service), [body], 1)
    incident = accepted.answers[0]["decisions"][0]["incident_id"]
    detail = await _detail(slack)
    wait_quiet(process)
    journal = service.get(f"/v1/investigations/{incident}/journal")
    calls = [event["call"] for event in journal["events"] if event["kind"] in ("tool_answered", "tool_failed")]
    return float(detail["ts"]) - began, Script(
        tuple((call["tool"], call["arguments"]) for call in calls),
        tuple(request for request in slack.requests() if request["method"] in (_POST, _UPDATE)),
    )


async def _detail(slack: SlackStandin) -> dict[str, Any]:
    """The thread's message, the last part of a report. Its `ts` is the moment it arrived, so polling costs nothing."""
    async with asyncio.timeout(REPORT_SECONDS):
        while True:
            for message in slack.sent():
                if "thread_ts" in message:
                    return message
            await asyncio.sleep(0.1)


async def _bare(target: Target, live: Client, slack: SlackStandin, body: bytes, script: Script) -> float:
    """Seconds for the same without the service."""
    slack.control(reset=True)
    client = WebClient(slack.token, base_url=slack.base_url, retry_handlers=[])
    first, *later = script.requests
    began = time.time()
    await drive(target, [body], 1)
    parent = _send(client, first, "")
    await asyncio.gather(*(live.call_tool(tool, arguments) for tool, arguments in script.calls))
    for request in later:
        _send(client, request, parent)
    return float((await _detail(slack))["ts"]) - began


def _send(client: WebClient, request: dict[str, Any], parent: str) -> str:
    """Send one recorded request with this parent's time stamp in it; returns the time stamp of the message."""
    fields = {name: value for name, value in request.items() if name != "method"}
    fields |= {name: parent for name in ("ts", "thread_ts") if name in fields}
    return str(client.api_call(request["method"], json=fields)["ts"])
