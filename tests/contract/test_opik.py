"""Traces through the real Opik SDK: to a listener that keeps what it gets, and to nobody."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agent.report import build
from agent.state import Incident, Located, ModelReplied, State
from app.settings import Settings
from app.tracing import Tracer
from tests.servers.process import free_port, wait_until

NOW = datetime(2026, 3, 1, 2, 13, tzinfo=UTC)
STATE = State(
    incident=Incident(id="inc-1", tenant="default", opened_at=NOW, title="HighErrorRate"),
    model="a-model",
    events=(
        Located(at=NOW, seconds=0.02, certainty="unresolved"),
        ModelReplied(at=NOW, seconds=1.5, prompt="the prompt shown", verdict="I don't know.", input_tokens=7),
    ),
)


class Listener:
    """Takes every request of Opik's SDK and keeps the bodies."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/api"
        self.bodies: list[str] = []

    def got(self, text: str) -> bool:
        return any(text in body for body in self.bodies)


@pytest.fixture
def listener() -> Iterator[Listener]:
    import gzip

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            kept.bodies.append(body.decode(errors="replace"))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        do_GET = do_POST = do_PUT = do_PATCH = _answer

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept = Listener(server.server_port)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield kept
        server.shutdown()
        thread.join()


def record(url: str) -> tuple[float, float]:
    """Seconds that `record` and `close` took."""
    tracer = Tracer(Settings(opik_url=url))
    started = time.perf_counter()
    tracer.record(STATE, build(STATE, status="complete"))
    recorded = time.perf_counter()
    tracer.close()
    return recorded - started, time.perf_counter() - recorded


# Opik's SDK leaves a client and its threads to the interpreter's end.
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
def test_a_finished_investigation_arrives_with_prompt_and_retrieval(listener: Listener) -> None:
    record(listener.url)
    wait_until(lambda: listener.got("the prompt shown") and listener.got('"locate"'), 60, "the spans")


def test_an_opik_that_is_away_costs_nothing() -> None:
    recording, closing = record(f"http://127.0.0.1:{free_port()}/api")
    assert recording < 0.5, "record hands over and returns"
    assert closing < 5, "closing waits for a bounded flush only"


def test_the_service_does_not_import_opik_unless_it_is_asked_to() -> None:
    code = "import sys, app.serve, app.main; sys.exit('opik' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
