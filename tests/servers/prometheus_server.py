"""Prometheus on a configuration that a test gives, and prometheus-mcp-server in front of it."""

import contextlib
import json
import os
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.servers.process import (
    ROOT,
    SERVERS,
    ServerMissing,
    ServerProcess,
    answers_http,
    free_port,
    program,
    running,
    temporary_home,
)


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus. `url` has no slash at its end."""

    url: str
    process: ServerProcess

    def query(self, expression: str) -> list[dict[str, Any]]:
        """The result of an instant query: a list of `{"metric": {...}, "value": [time, "value"]}`."""
        address = f"{self.url}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        with urllib.request.urlopen(address, timeout=5) as answer:
            return json.load(answer)["data"]["result"]


@contextlib.contextmanager
def prometheus_server(
    *,
    targets: Sequence[str] = (),
    rules: Mapping[str, Any] | None = None,
    alertmanagers: Sequence[str] = (),
    config: Mapping[str, Any] | None = None,
) -> Iterator[Prometheus]:
    """Runs Prometheus, scraping `targets` (`host:port`) and evaluating `rules` each second; yields it when it is ready.

    `rules` is a rule file's content (`{"groups": [...]}`), `alertmanagers` are `host:port`. `config` replaces the whole
    configuration except the rule file.
    """
    binary = program("prometheus")
    with temporary_home("prometheus") as home:
        (home / "rules.yml").write_text(yaml.safe_dump(dict(rules or {"groups": []})))
        settings = dict(config) if config is not None else _config(targets, alertmanagers)
        settings["rule_files"] = [str(home / "rules.yml")]
        (home / "prometheus.yml").write_text(yaml.safe_dump(settings))
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        argv = [binary, f"--config.file={home / 'prometheus.yml'}", f"--storage.tsdb.path={home / 'data'}"]
        # Without a short resend delay a first notification that got lost comes back a minute late.
        argv += [f"--web.listen-address=127.0.0.1:{port}", "--rules.alert.resend-delay=1s", "--log.level=warn"]
        with running("prometheus", argv, ready=lambda: answers_http(f"{url}/-/ready"), cwd=home) as process:
            yield Prometheus(url, process)


def prometheus_mcp_command() -> list[str]:
    """The command of prometheus-mcp-server on stdio, as users run it: `uvx`, at the version that `install` pins."""
    pinned = SERVERS / "prometheus-mcp-server.version"
    if not pinned.exists():
        raise ServerMissing("prometheus-mcp-server was not fetched")
    return [*_uvx(), "--offline", f"prometheus-mcp-server@{pinned.read_text().strip()}"]


def prometheus_mcp_entry(prometheus_url: str) -> dict[str, Any]:
    """The server's entry in the `mcpServers` JSON of MCP_SERVERS: `{"command", "args", "env"}`."""
    command, *args = prometheus_mcp_command()
    return {"command": command, "args": args, "env": {"PROMETHEUS_URL": prometheus_url}}


def _uvx() -> list[str]:
    uv = os.environ.get("UV", "")  # the Makefile says which one it found
    for place in (shutil.which("uvx"), ROOT / ".venv" / "bin" / "uvx", (ROOT / uv).with_name("uvx")):
        if place and Path(place).is_file():
            return [str(place)]
    raise ServerMissing("uvx is not installed")


def _config(targets: Sequence[str], alertmanagers: Sequence[str]) -> dict[str, Any]:
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [{"job_name": "test", "static_configs": [{"targets": list(targets)}]}],
        "alerting": {"alertmanagers": [{"static_configs": [{"targets": list(alertmanagers)}]}]},
    }
