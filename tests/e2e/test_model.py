"""The running service with a real gateway in front of a scripted model, with a gateway that is away, and with none."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.servers.litellm_gateway import Gateway
from tests.servers.process import free_port
from tests.servers.service import Service, settings


def ask(tmp_path: Path, **model: str) -> dict[str, Any]:
    service = Service(settings(tmp_path / "data", **model))
    service.ingest()
    with service.run():
        status, report = service.call("POST", "/v1/investigations", json.dumps({"service": "checkout-api"}).encode())
    assert status == 200
    return report


def test_a_models_words_are_claims_only_with_evidence_that_exists(tmp_path: Path, litellm_gateway: Gateway) -> None:
    gateway = litellm_gateway
    report = ask(tmp_path, model_base_url=gateway.base_url, model_api_key=gateway.key, model_name="unfounded")
    assert report["verdict"] == "checkout-api is overloaded."
    assert set(report["unproven"]) == {"It is owned by payments.", "The moon is full."}
    assert report["spend"]["turns"] == 1
    assert report["spend"]["model"] == "unfounded"


def test_when_the_model_is_away_the_plan_finishes_the_job_and_the_report_says_so(tmp_path: Path) -> None:
    report = ask(tmp_path, model_base_url=f"http://127.0.0.1:{free_port()}/v1", model_name="gone")
    assert report["service"]["name"] == "checkout-api"
    assert report["owner"]["team"] == "payments"
    assert any("the plan that needs no model finished the job" in gap for gap in report["gaps"])


@pytest.mark.parametrize("accept", ["text/event-stream"])
def test_a_stream_tells_each_step_and_the_report_last(tmp_path: Path, accept: str) -> None:
    import urllib.request

    service = Service(settings(tmp_path / "data"))
    service.ingest()
    with service.run():
        request = urllib.request.Request(
            f"{service.url}/v1/investigations",
            json.dumps({"question": "what depends on ledger-db?"}).encode(),
            {"Authorization": "Bearer an-admin-token-for-tests", "Content-Type": "application/json", "Accept": accept},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            body = answer.read().decode()
        names = [line.removeprefix("event: ") for line in body.splitlines() if line.startswith("event: ")]
        assert names == ["started", "located", "consulted", "equipped", "report"]
        report = json.loads(body.rpartition("data: ")[2])
        assert report["service"]["name"] == "ledger-db"
        status, answered = service.call("GET", f"/v1/investigations/{report['id']}")
        assert (status, answered) == (200, report)
