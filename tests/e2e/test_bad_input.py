"""Whatever arrives at the running service: nothing is lost, nothing is a 5xx, and each refusal is a sentence."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.process import ROOT, free_port, wait_until
from tests.servers.service import Service, settings
from tests.servers.slack_server import slack_server

WEBHOOK = "/webhooks/alertmanager"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(settings(tmp_path_factory.mktemp("service") / "data", max_body_bytes="200000"))
    service.ingest()
    with service.run():
        yield service


def test_every_payload_seen_in_the_wild_is_taken(service: Service, shared_data: Path) -> None:
    payloads = sorted((shared_data / "alertmanager-payloads").glob("*.json"))
    assert len(payloads) >= 20
    for path in payloads:
        status, answer = service.call("POST", WEBHOOK, path.read_bytes())
        assert status == 202, path.name
        (decision,) = answer["decisions"]
        assert decision["action"] in {"new", "heartbeat", "update", "resolved", "ignored"}, path.name
        assert decision["reason"], path.name
        again_status, again = service.call("POST", WEBHOOK, path.read_bytes())
        assert again_status == 202
        assert again["delivery_id"] == answer["delivery_id"], "the same news is the same delivery"
        assert again["decisions"][0]["action"] in {"heartbeat", "ignored"}, "the same news twice opens nothing"


@pytest.mark.parametrize("body", [b"", b"not json", b'{"alerts": [', b"\xff\xfe"])
def test_what_is_not_json_gets_400_with_a_sentence(service: Service, body: bytes) -> None:
    status, answer = service.call("POST", WEBHOOK, body)
    assert (status, answer["code"]) == (400, "not_json")
    assert answer["message"].endswith(".")


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"alerts": 5}', b'{"alerts": [1, 2]}', b"null"])
def test_json_without_alerts_is_kept_aside_and_answered(service: Service, body: bytes) -> None:
    status, answer = service.call("POST", WEBHOOK, body)
    assert status == 202
    assert "quarantine" in answer["decisions"][0]["reason"]


@pytest.mark.parametrize("token", ["", "a-wrong-token", "an-admin-token-for-testsX"])
def test_no_token_or_a_wrong_one_gets_401(service: Service, token: str) -> None:
    for method, path in (("POST", WEBHOOK), ("GET", "/v1/investigations/x"), ("GET", "/nothing-here")):
        status, answer = service.call(method, path, b"{}" if method == "POST" else None, token=token)
        assert (status, answer["code"]) == (401, "unauthorized")
        assert "Bearer" in answer["message"]


def test_a_body_over_the_limit_gets_413_that_names_the_setting(service: Service) -> None:
    status, answer = service.call("POST", WEBHOOK, b'{"alerts": []}' + b" " * 200_000)
    assert status == 413
    assert "INCIDENT_GRAPH_MAX_BODY_BYTES" in answer["message"]


def test_a_question_without_content_says_what_to_send(service: Service) -> None:
    for body in (b"{}", b'{"question": ""}', b'{"question": "a", "service": "b"}', b'{"qestion": "a"}', b"[]", b"x"):
        status, answer = service.call("POST", "/v1/investigations", body)
        assert (status, answer["code"]) == (422, "invalid")
        assert answer["message"]


def test_an_unknown_investigation_is_404_with_a_sentence(service: Service) -> None:
    status, answer = service.call("GET", "/v1/investigations/inv-nothing")
    assert (status, answer["code"]) == (404, "unknown_investigation")


def test_a_question_about_a_service_is_answered_from_the_graph(service: Service) -> None:
    status, report = service.call("POST", "/v1/investigations", json.dumps({"service": "checkout-api"}).encode())
    assert status == 200
    assert report["service"] == {**report["service"], "name": "checkout-api", "certainty": "resolved"}
    assert (report["owner"]["team"], report["owner"]["channel"]) == ("payments", "#payments-oncall")
    assert (report["owner"]["certainty"], report["owner"]["known_by"]) == (
        "certain",
        "the graph's owner of checkout-api",
    )
    assert report["blast_radius"]["count"] == len(report["blast_radius"]["services"]) > 2
    assert service.get(f"/v1/investigations/{report['id']}") == report


def test_a_question_about_nothing_we_know_is_answered_with_i_do_not_know(service: Service) -> None:
    status, report = service.call("POST", "/v1/investigations", json.dumps({"question": "zzqx vvkj?"}).encode())
    assert status == 200
    assert report["service"]["certainty"] == "unresolved"
    assert report["verdict"].startswith("I don't know")


ODD_ALERTS = {
    "without an alertname": {"labels": {"severity": "page"}},
    "without labels": {"labels": {}, "annotations": {"summary": "it is late"}},
    "with unexpanded templates": {
        "labels": {"alertname": "{{ $labels.alertname }}", "service": "{{ $labels.service }}", "team": "{{ .team }}"},
        "annotations": {"summary": "the {{ $labels.service }} service is late by {{ $value }}"},
    },
    "with 500 labels": {"labels": {"alertname": "Late", **{f"label_{n}": f"value-{n}" for n in range(500)}}},
    "in Chinese": {
        "labels": {"alertname": "磁盘空间不足", "实例": "服务器一"},
        "annotations": {"summary": "节点磁盘已满请立即处理"},
    },
    "with a service inside a URL": {
        "labels": {"alertname": "Late"},
        "annotations": {"summary": "see https://cart-service.example/checkout-api/late"},
    },
    "with another service in the runbook text": {
        "labels": {"alertname": "Late"},
        "annotations": {"runbook": "Restart cart-service, then look at ledger-db."},
    },
    "with a team that nobody knows": {"labels": {"alertname": "Late", "team": "cart-service"}},
}


@pytest.mark.parametrize("alert", ODD_ALERTS.values(), ids=ODD_ALERTS)
def test_an_odd_alert_gets_a_report_that_names_no_service_and_no_team(service: Service, alert: dict[str, Any]) -> None:
    body = {"groupKey": json.dumps(alert), "alerts": [alert]}
    status, answer = service.call("POST", WEBHOOK, json.dumps(body).encode())
    assert (status, answer["decisions"][0]["action"]) == (202, "new")
    path = f"/v1/investigations/{answer['decisions'][0]['incident_id']}"
    wait_until(lambda: service.call("GET", path)[1].get("status") == "complete", 30, "the report")
    report = service.get(path)
    assert report["service"]["name"] is None
    assert report["service"]["certainty"] != "resolved"
    assert (report["owner"]["team"], report["owner"]["channel"]) == (None, None)
    assert report["verdict"].startswith("I don't know")
    assert not any("did not end well" in gap for gap in report["gaps"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "many"),
        ("GRAPH_URL", "http://graph"),
        ("DATABASE_URL", "mysql://x/y"),
        ("TOKENS", "a-token"),
        ("MCP_SERVERS", "{"),
        ("MODEL_BASE_URL", "gateway"),
        ("EMBEDDING", "nothing:"),
    ],
)
def test_settings_that_cannot_work_stop_the_start_with_a_sentence_that_names_them(
    tmp_path: Path, name: str, value: str
) -> None:
    environment = {**os.environ, "INCIDENT_GRAPH_DATA_DIR": str(tmp_path), f"INCIDENT_GRAPH_{name}": value}
    command = [sys.executable, "-m", "app", "serve"]
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode not in (0, None)
    assert f"INCIDENT_GRAPH_{name}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_demo_ends_by_itself_and_shows_the_report() -> None:
    command = [sys.executable, "-m", "app", "demo", "--once"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    for part in (
        "HighErrorRate on checkout-api",
        "Live contradicts the graph",
        "v2.4.1",
        "#payments-oncall",
        "curl -H",
    ):
        assert part in ended.stdout


def test_with_the_graph_away_the_service_starts_and_takes_alerts(tmp_path: Path) -> None:
    gone = f"bolt://neo4j:a-password@127.0.0.1:{free_port()}/neo4j"
    service = Service(settings(tmp_path / "data", graph_url=gone))
    with service.run(ready_path="/healthz"):
        status, answer = service.call(
            "POST", WEBHOOK, json.dumps({"alerts": [{"labels": {"alertname": "A"}}]}).encode()
        )
        assert (status, answer["decisions"][0]["action"]) == (202, "new")


def test_a_channel_that_slack_does_not_know_costs_no_report(tmp_path: Path) -> None:
    with slack_server() as slack:
        slack.control(unknown_channels=["payments-oncall"])
        service = Service(settings(tmp_path / "data", slack_token=slack.token, slack_base_url=slack.base_url))
        service.ingest()
        alert = {"labels": {"alertname": "HighErrorRate", "service": "checkout-api"}}
        with service.run():
            assert service.call("POST", WEBHOOK, json.dumps({"alerts": [alert]}).encode())[0] == 202
            wait_until(lambda: len(slack.sent("#incidents")) == 2, 30, "parent and detail in the default channel")


def test_labels_that_a_setting_names_tell_the_service_and_the_team(tmp_path: Path) -> None:
    with slack_server() as slack:
        told = settings(
            tmp_path / "data",
            slack_token=slack.token,
            slack_base_url=slack.base_url,
            service_labels='["shop_unit"]',
            team_labels="crew,watch",
        )
        service = Service(told)
        service.ingest()
        labels = [{"crew": "payments"}, {"shop_unit": "checkout-api.shop.local:80"}, {"crew": "a-team-nobody-knows"}]
        with service.run():
            for number, each in enumerate(labels):
                alert = {"labels": {"alertname": "Zzz", **each}}
                body = json.dumps({"groupKey": f"group {number}", "alerts": [alert]}).encode()
                assert service.call("POST", WEBHOOK, body)[0] == 202
            wait_until(lambda: len(slack.sent("#payments-oncall")) == 4, 30, "two parents and details for the team")
            wait_until(lambda: len(slack.sent("#incidents")) == 2, 30, "parent and detail in the default channel")
        told_team = json.dumps(slack.parents("#payments-oncall"))
        assert "I don't know which service this is about" in told_team
        assert "probably, by its label crew=payments" in told_team
        assert "Zzz on checkout-api" in told_team


def test_a_slack_that_fails_for_a_while_gets_the_report_once(tmp_path: Path) -> None:
    with slack_server() as slack:
        slack.control(fault={"status": 429, "retry_after": 1}, times=2)
        service = Service(settings(tmp_path / "data", slack_token=slack.token, slack_base_url=slack.base_url))
        service.ingest()
        alert = {"labels": {"alertname": "HighErrorRate", "service": "checkout-api"}}
        with service.run():
            assert service.call("POST", WEBHOOK, json.dumps({"alerts": [alert]}).encode())[0] == 202
            wait_until(lambda: len(slack.sent("#payments-oncall")) == 2, 30, "parent and detail")
            assert len(slack.parents("#payments-oncall")) == 1
