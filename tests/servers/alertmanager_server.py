"""Alertmanager, sending to one webhook with a bearer token."""

import contextlib
import json
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.servers.process import ServerProcess, answers_http, free_port, program, running, temporary_home


@dataclass(frozen=True)
class Alertmanager:
    """A running Alertmanager. `url` has no slash at its end; `address` is its `host:port`."""

    url: str
    address: str
    process: ServerProcess

    def post_alerts(self, alerts: Sequence[Mapping[str, Any]]) -> None:
        """Hands it alerts as Prometheus would (`/api/v2/alerts`)."""
        body = json.dumps([dict(alert) for alert in alerts]).encode()
        request = urllib.request.Request(f"{self.url}/api/v2/alerts", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=5):
            pass


@contextlib.contextmanager
def alertmanager_server(
    webhook_url: str, token: str, *, group_by: Sequence[str] = ("alertname", "service"), max_alerts: int = 0
) -> Iterator[Alertmanager]:
    """Runs Alertmanager; it sends a group within a second of its first alert, and a second after each change."""
    binary = program("prometheus-alertmanager", "alertmanager")
    with temporary_home("alertmanager") as home:
        (home / "token").write_text(token)
        config = _config(webhook_url, home / "token", group_by, max_alerts)
        (home / "alertmanager.yml").write_text(yaml.safe_dump(config))
        address = f"127.0.0.1:{free_port()}"
        url = f"http://{address}"
        argv = [binary, f"--config.file={home / 'alertmanager.yml'}", f"--storage.path={home / 'data'}"]
        argv += [f"--web.listen-address={address}", "--cluster.listen-address=", "--log.level=warn"]
        with running("alertmanager", argv, ready=lambda: answers_http(f"{url}/-/ready"), cwd=home) as process:
            yield Alertmanager(url, address, process)


def _config(webhook_url: str, token_file: Path, group_by: Sequence[str], max_alerts: int) -> dict[str, Any]:
    authorization = {"type": "Bearer", "credentials_file": str(token_file)}
    webhook = {
        "url": webhook_url,
        "send_resolved": True,
        "max_alerts": max_alerts,
        "http_config": {"authorization": authorization},
    }
    route = {
        "receiver": "incident-graph",
        "group_by": list(group_by),
        "group_wait": "200ms",
        "group_interval": "1s",
        "repeat_interval": "1h",
    }
    return {"route": route, "receivers": [{"name": "incident-graph", "webhook_configs": [webhook]}]}
