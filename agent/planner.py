"""The plan that needs no language model: which live reads an incident deserves, from what the graph knows of it.

Pure. The same plan is the first round when there is a model, and the whole investigation when there is none.
"""

from __future__ import annotations

from collections.abc import Iterator

from agent.state import Consulted, State, ToolAnswered, ToolFailed
from connectors import confluence, github, prometheus, slack_history
from connectors.expression import without_comparison
from connectors.reading import Read
from connectors.tool import ToolCall

MAX_EXPRESSIONS = 3
MAX_SERVERS_A_READ = 3
OWNERS = "owners"
"""Start of the ids of the CODEOWNERS reads: one that finds no file sends the plan to the file's next place."""


def plan(state: State) -> tuple[ToolCall, ...]:
    """The reads to make, each on every server that offers its tool. The same state gives the same calls and ids."""
    consulted = state.consulted
    if consulted is None:
        return ()
    calls: list[ToolCall] = []
    for key, read, purpose in _reads(state, consulted):
        tool, arguments = read
        servers = [spec.server for spec in state.tools if spec.name == tool][:MAX_SERVERS_A_READ]
        calls += (
            ToolCall(id=f"{key}@{server}", server=server, tool=tool, arguments=arguments, purpose=purpose)
            for server in servers
        )
    return tuple(calls)


def expressions(state: State) -> tuple[str, ...]:
    """The distinct expressions the alerts were made of, in the alerts' order, at most `MAX_EXPRESSIONS`."""
    found = dict.fromkeys(alert.expression for alert in state.incident.alerts if alert.expression)
    return tuple(found)[:MAX_EXPRESSIONS]


def _reads(state: State, consulted: Consulted) -> Iterator[tuple[str, Read, str]]:
    """Each read with a key that is unique in the plan and the purpose it serves, in words a report can print."""
    # When the servers said what they offer: later than the alert, and the same in a replay.
    at = state.equipped.at if state.equipped else state.incident.opened_at
    for number, expression in enumerate(expressions(state), start=1):
        value = without_comparison(expression).expression
        yield (
            f"alert-expression-{number}",
            prometheus.alert_range(value, at),
            "the alert's own expression",
        )
    service = consulted.service
    if service is None:
        return
    yield "service-graph", prometheus.service_graph(service.names), f"what {service.name} calls, by its traces"
    yield from _repository_reads(service.text("repo"), service.name)
    yield from _codeowners_reads(state, service.text("repo"), service.name)
    team = consulted.team
    if team and team.text("oncall_channel"):
        channel = team.text("oncall_channel")
        yield "chat", slack_history.recent_messages(channel), f"the last day in {channel}"
    yield "pages", confluence.search_pages(service.name), f"wiki pages about {service.name}"


def _repository_reads(repo: str, service: str) -> Iterator[tuple[str, Read, str]]:
    reads = (
        ("latest-release", github.latest_release(repo), f"the latest release of {service}"),
        ("changes", github.recent_changes(repo), f"changes merged into {service}"),
    )
    for key, read, purpose in reads:
        if read is not None:
            yield key, read, purpose


def _codeowners_reads(state: State, repo: str, service: str) -> Iterator[tuple[str, Read, str]]:
    """The places of a CODEOWNERS file in GitHub's order, each only once the one before it had none."""
    missed = {event.call.id.partition("@")[0] for event in state.tool_events if is_miss(event)}
    for number, path in enumerate(github.CODEOWNERS_PATHS, start=1):
        read = github.codeowners(repo, path)
        if read is not None:
            yield f"{OWNERS}-{number}", read, f"who owns the code of {service}, by {path}"
        if f"{OWNERS}-{number}" not in missed:
            return


def is_miss(event: ToolAnswered | ToolFailed) -> bool:
    """Whether a read failed only because there is no such file, which is an answer and no gap."""
    if not isinstance(event, ToolFailed) or not event.call.id.startswith(OWNERS):
        return False
    said = event.error.lower()
    return "404" in said or "not found" in said or "no such file" in said
