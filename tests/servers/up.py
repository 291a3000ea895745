"""Starts the test servers and prints their addresses; Ctrl-C takes them down.

.venv/bin/python tests/servers/up.py [NAME...]      all of them without a name; --list shows the names
"""

import contextlib
import json
import signal
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack

from tests.servers.alertmanager_server import alertmanager_server
from tests.servers.litellm_gateway import litellm_gateway
from tests.servers.neo4j_server import neo4j_server
from tests.servers.postgres_server import postgres_server
from tests.servers.process import ServerFailed, ServerMissing
from tests.servers.prometheus_server import prometheus_mcp_entry, prometheus_server

WEBHOOK = "http://127.0.0.1:8080/webhooks/alertmanager"
WEBHOOK_TOKEN = "webhook-token-for-trying-out"

Starter = Callable[[], AbstractContextManager[list[str]]]


@contextlib.contextmanager
def _monitoring():  # Prometheus and Alertmanager belong together: one fires, the other sends.
    with (
        alertmanager_server(WEBHOOK, WEBHOOK_TOKEN) as alertmanager,
        prometheus_server(alertmanagers=[alertmanager.address]) as prometheus,
    ):
        mcp = {"mcpServers": {"prometheus": prometheus_mcp_entry(prometheus.url)}}
        yield [
            f"alertmanager    {alertmanager.url}   sends to {WEBHOOK} with token {WEBHOOK_TOKEN}",
            f"prometheus      {prometheus.url}",
            f"MCP_SERVERS     {json.dumps(mcp)}",
        ]


@contextlib.contextmanager
def _neo4j(name: str):
    with neo4j_server(name) as url:
        yield [f"{name:<15} {url}"]


@contextlib.contextmanager
def _postgres():
    with postgres_server() as url:
        yield [f"postgres        {url}"]


@contextlib.contextmanager
def _litellm():
    with litellm_gateway() as gateway:
        yield [f"litellm         {gateway.base_url}   key {gateway.key}   model {gateway.models[0]}"]


STARTERS: dict[str, Starter] = {
    "postgres": _postgres,
    "monitoring": _monitoring,
    "neo4j-lts": lambda: _neo4j("neo4j-lts"),
    "neo4j-current": lambda: _neo4j("neo4j-current"),
    "litellm": _litellm,
}


def main(arguments: list[str]) -> int:
    """Exit status 0 after Ctrl-C, 1 when a server is missing or failed, 2 for an unknown name."""
    unknown = [name for name in arguments if name not in STARTERS]
    if unknown:
        print(f"choose from: {' '.join(STARTERS)}", file=sys.stderr)
        return 0 if unknown == ["--list"] else 2
    stop = {signal.SIGINT, signal.SIGTERM}
    with ExitStack() as stack:
        try:
            for name in arguments or STARTERS:
                print("\n".join(stack.enter_context(STARTERS[name]())), flush=True)
            signal.pthread_sigmask(signal.SIG_BLOCK, stop)
            print("Ctrl-C stops them.", flush=True)
            signal.sigwait(stop)
        except (ServerMissing, ServerFailed) as error:
            print(f"{error} (make servers installs what is missing)", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
