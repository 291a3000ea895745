"""The Slack stand-in as a process that a test starts, asks and kills."""

import contextlib
import json
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.process import ServerProcess, accepts_tcp, free_port, running

TOKEN = "xoxb-standin"


@dataclass(frozen=True)
class SlackStandin:
    """A running stand-in. `base_url` is what `SLACK_BASE_URL` takes."""

    port: int
    process: ServerProcess
    token: str = TOKEN

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/"

    def sent(self, channel: str = "") -> list[dict[str, Any]]:
        """The messages as they are now, oldest first; of one channel (`#name`) if one is given."""
        name = channel.removeprefix("#")
        return [each for each in self._get("_sent")["messages"] if not name or each["channel_name"] == name]

    def parents(self, channel: str = "") -> list[dict[str, Any]]:
        """The messages that are no replies."""
        return [message for message in self.sent(channel) if "thread_ts" not in message]

    def requests(self) -> list[dict[str, Any]]:
        """Every request it got, answered or not: its body and `method`."""
        return self._get("_sent")["requests"]

    def control(self, **order: Any) -> None:
        """Orders a fault; see `slack_standin.py` for the words."""
        self._get("_control", json.dumps(order).encode())

    def _get(self, path: str, body: bytes | None = None) -> Any:
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/{path}", data=body)
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.load(answer)


@contextlib.contextmanager
def slack_server(state: Path | None = None) -> Iterator[SlackStandin]:
    """Runs the stand-in on a free port. With `state` its messages outlive it."""
    port = free_port()
    argv = [sys.executable, Path(__file__).with_name("slack_standin.py"), "--port", str(port), "--token", TOKEN]
    if state is not None:
        argv += ["--state", state]
    with running("slack-standin", argv, ready=lambda: accepts_tcp(port), patience=0) as process:
        yield SlackStandin(port, process)
