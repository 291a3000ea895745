"""The test servers themselves: each is the real thing, and none outlives the run that started it."""

import json
import os
import subprocess
import sys
import textwrap
import threading
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import neo4j
import psycopg
import pytest
from mcp import Client, StdioServerParameters

from tests.servers.alertmanager_server import Alertmanager
from tests.servers.exporter import Exporter
from tests.servers.litellm_gateway import Gateway
from tests.servers.process import ROOT, ServerFailed, running, wait_until
from tests.servers.prometheus_server import Prometheus


def neo4j_version(url: str) -> str:
    address, _, database = url.rpartition("/")
    with neo4j.GraphDatabase.driver(address) as driver:
        records, _, _ = driver.execute_query("CALL dbms.components() YIELD versions", database_=database)
    return str(records[0]["versions"][0])


def test_neo4j_lts_answers_cypher(neo4j_lts_url: str) -> None:
    assert neo4j_version(neo4j_lts_url).startswith("5.26.")


def test_the_current_neo4j_answers_cypher(neo4j_current_url: str) -> None:
    assert neo4j_version(neo4j_current_url) >= "2026."


def test_each_postgres_database_starts_empty(postgres_database: str) -> None:
    with psycopg.connect(postgres_database) as connection:
        found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert found == (0,)


class Hook:
    """A webhook receiver that keeps the bodies and the Authorization header it was sent."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.authorizations: set[str | None] = set()
        self.url = ""


@pytest.fixture
def hook() -> Iterator[Hook]:
    kept = Hook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            kept.authorizations.add(self.headers["Authorization"])
            kept.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(202)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_port}/hook"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield kept
        server.shutdown()
        thread.join()


def test_a_metric_past_its_threshold_reaches_the_webhook_and_then_resolves(
    hook: Hook,
    exporter: Exporter,
    prometheus_factory: Callable[..., Prometheus],
    alertmanager_factory: Callable[..., Alertmanager],
) -> None:
    exporter.set("errors_ratio", 0.3, {"service": "checkout"})
    alertmanager = alertmanager_factory(hook.url, "a-token")
    rule = {"alert": "Errors", "expr": "errors_ratio > 0.1", "labels": {"severity": "page"}}
    prometheus_factory(
        targets=[exporter.address],
        rules={"groups": [{"name": "test", "rules": [rule]}]},
        alertmanagers=[alertmanager.address],
    )
    wait_until(lambda: bool(hook.bodies), 20, "the firing alert")
    assert hook.bodies[0]["version"] == "4"
    assert hook.bodies[0]["status"] == "firing"
    assert hook.bodies[0]["commonLabels"]["service"] == "checkout"
    assert "g0.expr=errors_ratio" in hook.bodies[0]["alerts"][0]["generatorURL"]
    exporter.set("errors_ratio", 0.0, {"service": "checkout"})
    wait_until(lambda: hook.bodies[-1]["status"] == "resolved", 20, "the resolved alert")
    assert hook.authorizations == {"Bearer a-token"}


async def test_prometheus_mcp_server_reads_the_value_that_the_exporter_has_now(
    exporter: Exporter, prometheus_factory: Callable[..., Prometheus], prometheus_mcp_command: list[str]
) -> None:
    exporter.set("queue_depth", 41.0)
    prometheus = prometheus_factory(targets=[exporter.address])
    wait_until(lambda: bool(prometheus.query("queue_depth")), 15, "the first scrape")
    command, *arguments = prometheus_mcp_command
    environment = {**os.environ, "PROMETHEUS_URL": prometheus.url}
    async with Client(StdioServerParameters(command=command, args=arguments, env=environment)) as client:
        result = await client.call_tool("execute_query", {"query": "queue_depth"}, read_timeout_seconds=20)
    assert not result.is_error
    assert '"41"' in result.model_dump_json().replace("\\", "")


def test_the_gateway_answers_a_chat_completion_for_its_key(litellm_gateway: Gateway) -> None:
    body = json.dumps({"model": "mock", "messages": [{"role": "user", "content": "hello"}]}).encode()
    headers = {"Authorization": f"Bearer {litellm_gateway.key}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{litellm_gateway.base_url}/chat/completions", body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        reply = json.load(answer)
    assert reply["choices"][0]["message"]["content"] == "The gateway answered."


def test_a_server_that_stops_early_is_reported_with_its_log() -> None:
    argv = [sys.executable, "-c", "print('no such option'); raise SystemExit(3)"]
    with pytest.raises(ServerFailed, match=r"ended with 3(.|\n)*no such option"):
        running("broken", argv, ready=lambda: False).__enter__()


def test_servers_die_with_the_run_that_started_them_even_when_it_is_killed() -> None:
    script = """
        import sys, time
        from tests.servers.process import running
        with running("sleeper", ["sleep", "600"], ready=lambda: True) as server:
            print(server.popen.pid, server.log.parent, flush=True)
            time.sleep(600)
    """
    run = subprocess.Popen([sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, cwd=ROOT)
    with run:
        assert run.stdout is not None
        pid, home = run.stdout.readline().decode().split()
        assert _lives(int(pid))
        assert Path(home).is_dir()
        run.kill()
    wait_until(lambda: not _lives(int(pid)) and not Path(home).exists(), 10, "the sleeper's end")


def _lives(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
