"""How long the service takes to be ready, and what it holds in memory when nothing happens."""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Iterator

import psutil

from bench.measure import Measured, note
from bench.subjects import Bare, demo_graph, fresh_service
from tests.servers.process import ServerProcess, temporary_home

RUNS = 5
IDLE_SECONDS = 10.0
REFERENCE = "bare FastAPI app"


def start() -> list[Measured]:
    """Both are started in turn `RUNS` times, and idle side by side after the last start."""
    ours: list[float] = []
    bare: list[float] = []
    with contextlib.ExitStack() as stack:
        graph, home = stack.enter_context(demo_graph()), stack.enter_context(temporary_home("bench-start"))
        for _ in range(RUNS):
            with _timed(fresh_service(graph, home).run(), ours), _timed(Bare(home).run(), bare):
                note(f"  ready after {ours[-1]:.2f} s, the bare app after {bare[-1]:.2f} s")
        with fresh_service(graph, home).run() as service, Bare(home).run() as reference:
            time.sleep(IDLE_SECONDS)
            held, reference_held = _megabytes(service), _megabytes(reference)
    return [
        Measured("start-to-ready", statistics.median(ours), "s", REFERENCE, statistics.median(bare)),
        Measured("idle-memory", held, "MB", REFERENCE, reference_held),
    ]


@contextlib.contextmanager
def _timed(starting: contextlib.AbstractContextManager[ServerProcess], seconds: list[float]) -> Iterator[ServerProcess]:
    """Enter it, and keep how long that took: from the spawn to the first 200 from /readyz, asked every 50 ms."""
    began = time.perf_counter()
    with starting as process:
        seconds.append(time.perf_counter() - began)
        yield process


def _megabytes(server: ServerProcess) -> float:
    """Resident memory of the process and what it started, in MB."""
    process = psutil.Process(server.popen.pid)
    return sum(each.memory_info().rss for each in (process, *process.children(recursive=True))) / 1_000_000
