"""The running service keeps its graph true: when told, every night, and after it was killed in the midst of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.servers.process import ROOT, wait_until
from tests.servers.service import ORGANISATION, Service, settings


@pytest.fixture
def organisation(tmp_path: Path) -> Path:
    return Path(shutil.copytree(ORGANISATION, tmp_path / "organisation"))


def run_of(service: Service) -> dict[str, Any]:
    return service.get("/v1/sync")


def done(service: Service, what: str) -> int:
    """A number of the last run's report; 0 while one runs."""
    return (run_of(service)["report"] or {}).get(what, 0)


def test_a_change_in_a_folder_reaches_the_graph_when_told(organisation: Path, tmp_path: Path) -> None:
    service = Service(settings(tmp_path / "data"))
    service.ingest(organisation)
    (organisation / "more.yaml").write_text(
        "apiVersion: backstage.io/v1alpha1\nkind: Component\nmetadata: {name: gift-cards}\n"
        "spec: {owner: payments, dependsOn: [ledger-db]}\n"
    )
    with service.run():
        assert service.call("GET", "/v1/services/gift-cards")[0] == 404
        before = run_of(service)["started_at"]
        status, begun = service.call("POST", "/v1/sync")
        assert status == 202
        assert begun["id"]
        wait_until(lambda: run_of(service)["started_at"] != before and done(service, "added") > 0, 30, "the run over")
        assert run_of(service)["state"] == "complete"
        needs = service.get("/v1/services/gift-cards/dependencies")
        assert [each["name"] for each in needs["items"]] == ["ledger-db"]


def test_the_schedule_runs_by_itself(organisation: Path, tmp_path: Path) -> None:
    service = Service(settings(tmp_path / "data", sync_schedule="* * * * * *"))
    service.ingest(organisation)
    (organisation / "runbooks" / "new.md").write_text("# New\n\nText.\n")
    with service.run():
        wait_until(lambda: done(service, "unchanged") > 0, 30, "a run by itself")
        wait_until(lambda: service.get("/v1/entities?q=runbooks/new.md")["items"] != [], 30, "the new page")


def test_the_command_brings_every_folder_up_to_date_and_says_so(organisation: Path, tmp_path: Path) -> None:
    service = Service(settings(tmp_path / "data"))
    nothing = command(service, "sync")
    assert nothing.returncode == 2
    assert "run `incident-graph ingest DIR` first" in nothing.stderr
    service.ingest(organisation)
    page = next((organisation / "runbooks").glob("*.md"))
    page.write_text(page.read_text() + "\nOne more sentence.\n")
    said = command(service, "sync")
    assert said.returncode == 0, said.stderr
    assert "Documents: 1 read, " in said.stdout
    assert " 0 gone." in said.stdout


def command(service: Service, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **service.environment}
    argv = [sys.executable, "-m", "app", *arguments]
    return subprocess.run(argv, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
