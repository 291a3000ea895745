"""The product itself as a process of its own, the way its users run it: environment in, HTTP out."""

import contextlib
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.process import ROOT, ServerProcess, answers_http, free_port, running

ADMIN_TOKEN = "an-admin-token-for-tests"
ORGANISATION = ROOT / "app" / "demo" / "organisation"


@dataclass
class Service:
    """How to run the service. `environment` holds its settings; the port stays the same over restarts."""

    environment: dict[str, str]
    port: int = field(default_factory=free_port)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ingest(self, folder: Path = ORGANISATION, tenant: str = "default") -> None:
        """Builds the graph with the command its users use; `--refit`, since a shared Neo4j may hold the vectors of
        another suite, of another dimension."""
        command = [sys.executable, "-m", "app", "ingest", "--refit", "--tenant", tenant, str(folder)]
        subprocess.run(command, env=self._whole_environment(), cwd=ROOT, check=True, timeout=120)

    @contextlib.contextmanager
    def run(self, ready_path: str = "/readyz") -> Iterator[ServerProcess]:
        """Runs the service until the block is left; enters it once `ready_path` answers well."""
        argv = [sys.executable, "-m", "app", "serve"]
        log = Path(self.environment["INCIDENT_GRAPH_DATA_DIR"]).parent / f"service-{self.port}.log"
        options = {"cwd": ROOT, "env": self._whole_environment(), "patience": 15, "log": log}
        with running(
            "service", argv, ready=lambda: answers_http(f"{self.url}{ready_path}"), timeout=60, **options
        ) as process:
            yield process

    def get(self, path: str) -> Any:
        return self.call("GET", path)[1]

    def call(self, method: str, path: str, body: bytes | None = None, token: str = ADMIN_TOKEN) -> tuple[int, Any]:
        """Status and parsed body of a request; errors are answers too."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        request = urllib.request.Request(f"{self.url}{path}", body, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)

    def _whole_environment(self) -> dict[str, str]:
        return {**os.environ, "INCIDENT_GRAPH_PORT": str(self.port), **self.environment}


def settings(data_dir: Path, *, tenant: str = "default", **more: str) -> dict[str, str]:
    """The environment of a service; keyword names are setting names without the prefix, in lower case."""
    tokens = [{"token": ADMIN_TOKEN, "role": "admin", "tenant": tenant}]
    given: Mapping[str, str] = {"data_dir": str(data_dir), "tokens": json.dumps(tokens), **more}
    return {f"INCIDENT_GRAPH_{name.upper()}": value for name, value in given.items()}
