"""An MCP server that plays the live systems of the demonstration: metrics, deploys and chat, answering in the forms
of `prometheus-mcp-server`, GitHub's `github-mcp-server` and `slack-mcp-server`.

`python -m app.demo.live_server [--story FILE]` speaks MCP on standard input and output. FILE holds JSON with fields
of `Story`; it is read at every call, so that a fact can change while the server runs.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp_types import CallToolResult, ContentBlock, EmbeddedResource, TextContent, TextResourceContents
from pydantic import BaseModel, ConfigDict, Field, ValidationError

_SERVICE_GRAPH = "traces_service_graph_request_total"
_CLIENT_MATCHER = re.compile(r'client=(~?)"((?:[^"\\]|\\.)*)"')
_STEP = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?")
_STEP_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_MOST_POINTS = 1_000


class Story(BaseModel):
    """What is true now. The graph still says v2.4.0 and knows nothing of fraud-scoring as a supplier."""

    model_config = ConfigDict(extra="forbid")

    began: datetime = Field(default_factory=lambda: datetime.now(UTC))
    service: str = "checkout-api"
    repo: str = "harbour-shop/checkout-api"
    version: str = "v2.4.1"
    earlier_version: str = "v2.4.0"
    released_minutes_ago: float = 9
    author: str = "harbour-release-bot"
    pull_request: int = 412
    pull_request_title: str = "Shrink the database connection pool from 40 to 8"
    error_ratio: float = 0.12
    error_ratio_before: float = 0.002
    calls: tuple[str, ...] = ("fraud-scoring",)
    owners: tuple[str, ...] = ("@harbour-shop/payments",)

    @property
    def released_at(self) -> datetime:
        return self.began - timedelta(minutes=self.released_minutes_ago)

    @property
    def merged_at(self) -> datetime:
        return self.released_at - timedelta(minutes=6)

    def ratio_at(self, moment: float) -> float:
        """The error ratio at a Unix time: flat until the release, then rising towards its height."""
        since = (moment - self.released_at.timestamp()) / 60
        if since <= 0:
            return self.error_ratio_before
        risen = 1 - math.exp(-3 * since / max(self.released_minutes_ago, 1))
        return self.error_ratio_before + (self.error_ratio - self.error_ratio_before) * risen / (1 - math.exp(-3))


def build_server(story: Story | Callable[[], Story]) -> MCPServer[Any]:
    """The server. A callable story is asked at every call."""

    def current() -> Story:
        return story() if callable(story) else story

    server: MCPServer[Any] = MCPServer("incident-graph-demo", log_level="ERROR")
    _add_metrics(server, current)
    _add_deploys(server, current)
    _add_chat(server, current)
    return server


def _add_metrics(server: MCPServer[Any], current: Callable[[], Story]) -> None:
    @server.tool()
    def execute_query(query: str, time: str | None = None) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Execute a PromQL instant query."""
        at = _unix(time) if time else datetime.now(UTC).timestamp()
        result = [{"metric": metric, "value": [at, f"{value:.6g}"]} for metric, value in _vector(current(), query, at)]
        return {"resultType": "vector", "result": result}

    @server.tool()
    def execute_range_query(  # pyright: ignore[reportUnusedFunction]
        query: str, start: str, end: str, step: str
    ) -> dict[str, Any]:
        """Execute a PromQL range query."""
        first, last, pace = _unix(start), _unix(end), _seconds(step)
        points = min(int((last - first) / pace) + 1, _MOST_POINTS) if last >= first else 0
        series: dict[str, dict[str, Any]] = {}
        for at in (first + number * pace for number in range(points)):
            for metric, value in _vector(current(), query, at):
                key = json.dumps(metric, sort_keys=True)
                series.setdefault(key, {"metric": metric, "values": []})["values"].append([at, f"{value:.6g}"])
        return {"resultType": "matrix", "result": list(series.values())}


def _vector(story: Story, query: str, at: float) -> list[tuple[dict[str, str], float]]:
    """What Prometheus would find. It knows one service's error ratio and its traffic, and nothing else."""
    if _SERVICE_GRAPH in query:
        if not _asks_for(story.service, query):
            return []
        return [({"client": story.service, "server": server}, 14.2) for server in story.calls]
    if story.service not in query:
        return []
    return [({"service": story.service, "env": "production"}, story.ratio_at(at))]


def _asks_for(client: str, query: str) -> bool:
    match = _CLIENT_MATCHER.search(query)
    if match is None:
        return True
    value = str(json.loads(f'"{match.group(2)}"'))
    return re.fullmatch(value, client) is not None if match.group(1) else value == client


def _unix(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()


def _seconds(step: str) -> float:
    match = _STEP.fullmatch(step)
    seconds = float(match.group(1)) * _STEP_UNITS[match.group(2) or "s"] if match else 0.0
    if seconds <= 0:
        raise ValueError(f"{step!r} is no step; write 30s, 1m or 1h.")
    return seconds


def _add_deploys(server: MCPServer[Any], current: Callable[[], Story]) -> None:
    @server.tool()
    def get_latest_release(owner: str, repo: str) -> CallToolResult:  # pyright: ignore[reportUnusedFunction]
        """Get the latest release in a GitHub repository."""
        story = current()
        return _json(_releases(story)[0]) if story.repo == f"{owner}/{repo}" else _missing("latest release")

    @server.tool()
    def list_releases(owner: str, repo: str) -> CallToolResult:  # pyright: ignore[reportUnusedFunction]
        """List releases in a GitHub repository."""
        story = current()
        return _json(_releases(story)) if story.repo == f"{owner}/{repo}" else _missing("releases")

    @server.tool()
    def list_pull_requests(  # pyright: ignore[reportUnusedFunction]
        owner: str, repo: str, state: str = "open"
    ) -> CallToolResult:
        """List pull requests in a GitHub repository."""
        story = current()
        if story.repo != f"{owner}/{repo}":
            return _missing("pull requests")
        return _json([_pull_request(story)] if state in ("closed", "all") else [])

    @server.tool()
    def get_file_contents(owner: str, repo: str, path: str = "/") -> CallToolResult:  # pyright: ignore[reportUnusedFunction]
        """Get the contents of a file from a GitHub repository."""
        story = current()
        if story.repo != f"{owner}/{repo}" or path.lstrip("/") not in ("CODEOWNERS", ".github/CODEOWNERS"):
            return _missing("file contents")
        file = TextResourceContents(
            uri=f"repo://{story.repo}/contents/{path}",
            mime_type="text/plain; charset=utf-8",
            text=f"* {' '.join(story.owners)}\n",
        )
        note = TextContent(type="text", text="successfully downloaded text file")
        blocks: list[ContentBlock] = [note, EmbeddedResource(type="resource", resource=file)]
        return CallToolResult(content=blocks)


def _releases(story: Story) -> list[dict[str, Any]]:
    published = {
        story.version: (story.released_at, f"- {story.pull_request_title} (#{story.pull_request})"),
        story.earlier_version: (story.began - timedelta(days=12), "- Retry card authorisation once"),
    }
    return [
        {
            "tag_name": tag,
            "name": tag,
            "body": body,
            "draft": False,
            "prerelease": False,
            "published_at": _iso(at),
            "html_url": f"https://github.com/{story.repo}/releases/tag/{tag}",
            "author": {"login": story.author},
        }
        for tag, (at, body) in published.items()
    ]


def _pull_request(story: Story) -> dict[str, Any]:
    return {
        "number": story.pull_request,
        "title": story.pull_request_title,
        "body": "Idle connections cost memory on the database. 8 should do.",
        "state": "closed",
        "draft": False,
        "merged": True,
        "html_url": f"https://github.com/{story.repo}/pull/{story.pull_request}",
        "user": {"login": story.author},
        "base": {"ref": "main", "repo": {"full_name": story.repo}},
        "created_at": _iso(story.merged_at - timedelta(hours=3)),
        "closed_at": _iso(story.merged_at),
        "merged_at": _iso(story.merged_at),
    }


def _json(value: object) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=json.dumps(value, separators=(",", ":")))])


def _missing(what: str) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(type="text", text=f"failed to get {what}: 404 Not Found")], is_error=True
    )


def _add_chat(server: MCPServer[Any], current: Callable[[], Story]) -> None:
    @server.tool()
    def conversations_history(channel_id: str, limit: str = "1d") -> str:  # pyright: ignore[reportUnusedFunction]
        """Get the messages of a channel."""
        return _messages_csv(current(), channel_id, "")

    @server.tool()
    def conversations_search_messages(  # pyright: ignore[reportUnusedFunction]
        search_query: str, limit: int = 20
    ) -> str:
        """Search messages."""
        return _messages_csv(current(), "#deploys", search_query)


def _messages_csv(story: Story, channel: str, search: str) -> str:
    """Messages of the last day that have any word of the search, newest first."""
    said = (
        (story.began - timedelta(minutes=2), "storefront-oncall", f"seeing timeouts in {story.service}, anyone else?"),
        (story.released_at, "deploy-bot", f"{story.service} {story.version} is live in production"),
        (story.merged_at, story.author, f"merging #{story.pull_request}: {story.pull_request_title.lower()}"),
    )
    words = search.lower().split()
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(("MsgID", "UserID", "UserName", "RealName", "Channel", "ThreadTs", "Text", "Time", "Cursor"))
    for at, author, text in said:
        if not words or any(word in text.lower() for word in words):
            name = author.replace(".", " ").replace("-", " ").title()
            writer.writerow((f"{at.timestamp():.6f}", "", author, name, channel, "", text, _iso(at), ""))
    return lines.getvalue()


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _story_in(path: Path, began: datetime) -> Story:
    fields: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return Story.model_validate({"began": began, **fields})


def main() -> None:
    """Serve on standard input and output until the other side closes it."""
    parser = argparse.ArgumentParser(description="Play the live systems of the demonstration over MCP on stdio.")
    parser.add_argument("--story", type=Path, help="a JSON file with fields of Story, read at every call")
    path: Path | None = parser.parse_args().story
    story = Story()
    try:
        if path is not None:
            _story_in(path, story.began)
    except (OSError, ValueError, ValidationError) as error:
        parser.error(f"{path} is no story: {error}")
    build_server(story if path is None else lambda: _story_in(path, story.began)).run("stdio")


if __name__ == "__main__":
    main()
