"""What is measured, as processes of their own: the service on its embedded defaults, and the bare app."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.load import Target
from tests.servers.process import ROOT, ServerProcess, answers_http, free_port, running, temporary_home, wait_until
from tests.servers.service import ADMIN_TOKEN, ORGANISATION, Service, settings

BARE = "bare FastAPI route, one fsynced SQLite row"
QUIET_SHARE = 0.3
_QUIET_SECONDS = 0.5
_QUIET_LOOKS = 5


@dataclass(frozen=True)
class Bare:
    """How to run the bare app."""

    home: Path
    port: int = field(default_factory=free_port)

    @property
    def target(self) -> Target:
        return Target("the bare route", self.port, "/accept")

    @contextlib.contextmanager
    def run(self) -> Iterator[ServerProcess]:
        """Runs it until the block is left; enters it once it answers."""
        argv = [sys.executable, "-m", "bench.bare", str(self.port), self.home / "bare.sqlite"]
        ready_url = f"http://127.0.0.1:{self.port}/readyz"
        with running("bare", argv, ready=lambda: answers_http(ready_url), cwd=ROOT) as process:
            yield process


@contextlib.contextmanager
def demo_graph() -> Iterator[Path]:
    """A data directory with the sample organisation ingested; copy it with `fresh_service`, do not run on it."""
    with temporary_home("bench-graph") as home:
        command = [sys.executable, "-m", "app", "ingest", str(ORGANISATION)]
        environment = {**os.environ, **settings(home)}
        # Our standard output is for results alone.
        subprocess.run(command, env=environment, cwd=ROOT, stdout=sys.stderr, check=True, timeout=120)
        yield home


def fresh_service(graph: Path, home: Path, **more: str) -> Service:
    """The service on a copy of the graph and nothing else in its data directory. `more` are settings."""
    data = home / "data"
    shutil.rmtree(data, ignore_errors=True)
    shutil.copytree(graph, data)
    return Service(settings(data, log_level="warning", **more))


def webhook(service: Service) -> Target:
    """Where Alertmanager would post."""
    return Target("the service", service.port, "/webhooks/alertmanager", ADMIN_TOKEN)


def wait_quiet(process: ServerProcess, timeout: float = 300.0) -> None:
    """Wait until the process's background work is done, so that it does not slow whatever is measured next.

    It has to be idle for longer than `app.journal.SETTLE` twice over: a change that waits to settle uses no time, and
    its delivery would begin in the midst of the next round.
    """
    watched = psutil.Process(process.popen.pid)

    def quiet() -> bool:
        return all(_share_of_a_core(watched) < QUIET_SHARE for _ in range(_QUIET_LOOKS))

    wait_until(quiet, timeout, f"{process.name} quiet")


def _share_of_a_core(process: psutil.Process) -> float:
    before = process.cpu_times()
    time.sleep(_QUIET_SECONDS)
    after = process.cpu_times()
    return (after.user + after.system - before.user - before.system) / _QUIET_SECONDS
