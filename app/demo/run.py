"""The demo: the real service on its embedded defaults, a sample organisation, and live systems played by one server.

Nothing is staged but the organisation: the graph is ingested from its files, the alert goes over HTTP to the running
service, and the report is what the service posts.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
from rich.console import Console
from rich.panel import Panel

from connectors.slack import Message
from connectors.slack_offline import render

START_SECONDS = 60.0
REPORT_SECONDS = 60.0
SERVICE = "checkout-api"
_ERRORS = (
    f'sum(rate(http_requests_total{{service="{SERVICE}",code=~"5.."}}[5m]))'
    f' / sum(rate(http_requests_total{{service="{SERVICE}"}}[5m])) > 0.05'
)

out = Console()


def run(*, once: bool) -> int:
    """Run the demo and return the exit status. Without `once` the service stays up until Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="incident-graph-demo-") as folder:
        port, token = _free_port(), secrets.token_urlsafe(18)
        environment = _environment(Path(folder), port, token)
        with as_file(files("app.demo") / "organisation") as organisation:
            out.print("[bold]1. Building the graph[/bold] from the sample organisation's files")
            command = [sys.executable, "-m", "app", "ingest", str(organisation)]
            if subprocess.run(command, env=environment, check=False).returncode:
                return 1
        log_path = Path(folder) / "service.log"
        with log_path.open("wb") as log:
            service = subprocess.Popen([sys.executable, "-m", "app", "serve"], env=environment, stdout=log, stderr=log)
            try:
                return _drive(service, Path(folder), port, token, once=once)
            except (TimeoutError, httpx.HTTPError) as error:
                out.print(f"The demo did not work: {error}\nThe service's log:", markup=False)
                out.print(log_path.read_text(encoding="utf-8", errors="replace")[-4000:], markup=False)
                return 1
            except KeyboardInterrupt:
                return 0
            finally:
                service.terminate()
                service.wait(30)


def _drive(service: subprocess.Popen[bytes], data_dir: Path, port: int, token: str, *, once: bool) -> int:
    base = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=base, headers={"Authorization": f"Bearer {token}"}, timeout=10) as client:
        out.print("[bold]2. Starting the service[/bold] on SQLite, with one MCP server that plays the live systems")
        _wait_until(lambda: _is_ready(client, service), START_SECONDS, "the service did not become ready")
        out.print("[bold]3. Posting an alert[/bold], as Alertmanager does")
        began = time.monotonic()
        receipt = client.post("/webhooks/alertmanager", json=_alert()).raise_for_status().json()
        decision = receipt["decisions"][0]
        out.print(f"   {decision['action']}: {decision['reason']}", highlight=False)
        incident_id = decision["incident_id"]
        # The thread's detail is the last thing posted, so the parent message is whole by then.
        _wait_until(lambda: _posted(data_dir, f"{incident_id}:detail"), REPORT_SECONDS, "no report came")
        out.print(f"[bold]4. The report[/bold], {time.monotonic() - began:.1f} s later, as the owners see it")
        for key in (incident_id, f"{incident_id}:detail"):
            _show(_posted(data_dir, key), in_thread=key.endswith(":detail"))
    address = f"{base}/v1/investigations/{incident_id}"
    out.print("The same as JSON:", highlight=False)
    print(f"  curl -H 'Authorization: Bearer {token}' {address}")  # noqa: T201 - one line to copy, never wrapped
    if once:
        return 0
    out.print(f"The service stays up at {base}; Ctrl-C ends it.", highlight=False)
    return service.wait()


def _environment(data_dir: Path, port: int, token: str) -> dict[str, str]:
    """The demo's own settings; whatever the caller has set for a real service stays out of it."""
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("INCIDENT_GRAPH_")}
    live = {"command": sys.executable, "args": ["-m", "app.demo.live_server"]}
    return inherited | {
        "INCIDENT_GRAPH_DATA_DIR": str(data_dir),
        "INCIDENT_GRAPH_PORT": str(port),
        "INCIDENT_GRAPH_TOKENS": json.dumps([{"token": token, "role": "admin"}]),
        "INCIDENT_GRAPH_MCP_SERVERS": json.dumps({"mcpServers": {"live-systems": live}}),
        "INCIDENT_GRAPH_LOG_LEVEL": "warning",
    }


def _alert() -> dict[str, Any]:
    """A webhook body of version 4 as Alertmanager sends it for one firing alert."""
    labels = {"alertname": "HighErrorRate", "service": SERVICE, "severity": "critical"}
    annotations = {"summary": f"More than 5 % of the requests to {SERVICE} fail"}
    started = datetime.now(UTC) - timedelta(minutes=2)
    return {
        "version": "4",
        "groupKey": '{}:{alertname="HighErrorRate"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "incident-graph",
        "groupLabels": {"alertname": "HighErrorRate"},
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": "http://alertmanager.example:9093",
        "alerts": [
            {
                "status": "firing",
                "labels": labels,
                "annotations": annotations,
                "startsAt": started.isoformat(),
                "endsAt": "0001-01-01T00:00:00Z",
                "generatorURL": f"http://prometheus.example:9090/graph?g0.expr={quote(_ERRORS)}&g0.tab=1",
                "fingerprint": "4f1d2c3b5a697887",
            }
        ],
    }


def _is_ready(client: httpx.Client, service: subprocess.Popen[bytes]) -> bool:
    if service.poll() is not None:
        raise TimeoutError(f"the service ended with status {service.returncode}")
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def _posted(data_dir: Path, key: str) -> dict[str, Any]:
    """The message of this key among those the service wrote to files; empty while it is not there."""
    for path in (data_dir / "reports").glob("*.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["key"] == key:
            return record
    return {}


def _show(record: dict[str, Any], *, in_thread: bool) -> None:
    title = f"{record['channel']}, in the thread" if in_thread else record["channel"]
    out.print(Panel(render(Message(record["text"], record["blocks"])), title=title, title_align="left"))


def _wait_until(ready: Callable[[], object], seconds: float, otherwise: str) -> None:
    deadline = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{otherwise} within {seconds:g} s")
        time.sleep(0.05)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
