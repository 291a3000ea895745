"""The main job on real parts: a Prometheus rule fires, Alertmanager tells the service in its own process, the service
reads the live metric through prometheus-mcp-server, and Slack's stand-in ends up with one parent message."""

import json
import secrets
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import started
from tests.servers.alertmanager_server import Alertmanager
from tests.servers.exporter import Exporter
from tests.servers.process import ServerFailed, ServerProcess, wait_until
from tests.servers.prometheus_server import Prometheus, prometheus_mcp_entry
from tests.servers.service import ADMIN_TOKEN, Service, settings
from tests.servers.slack_server import SlackStandin, slack_server

CHANNEL = "#payments-oncall"
CALLS = "traces_service_graph_request_total"
RULES = {
    "groups": [
        {
            "name": "checkout",
            "rules": [
                {
                    "alert": name,
                    "expr": f'{metric}{{service="checkout-api"}} > 0.05',
                    "labels": {"service": "checkout-api", "severity": "critical"},
                    "annotations": {"summary": "More than 5 % of the requests fail"},
                }
                for name, metric in (("HighErrorRate", "errors_ratio"), ("PaymentsDeclined", "declined_ratio"))
            ],
        }
    ]
}


@dataclass
class Production:
    """Everything around the service, and the service's own command."""

    service: Service
    slack: SlackStandin
    exporter: Exporter
    prometheus: Prometheus

    def fire(self, metric: str = "errors_ratio", value: float = 0.25) -> None:
        self.exporter.set(metric, value, {"service": "checkout-api"})

    def calls(self, server: str) -> None:
        """Traffic from checkout-api to `server` begins: its counter rises from one scrape to the next."""
        labels = {"client": "checkout-api", "server": server}
        self.exporter.set(CALLS, 1, labels)
        asked = f'{CALLS}{{server="{server}"}}'
        wait_until(lambda: bool(self.prometheus.query(asked)), 30, "the first scrape")
        self.exporter.set(CALLS, 60, labels)
        risen = f"rate({asked}[5m]) > 0"
        wait_until(lambda: bool(self.prometheus.query(risen)), 30, "the counter's rise")

    def parents(self) -> list[dict[str, Any]]:
        return self.slack.parents(CHANNEL)

    def wait_for_detail(self, incidents: int = 1) -> None:
        """The detail in the thread is posted last, so the parents are whole by then."""
        wait_until(lambda: self._details() >= incidents, 60, "the whole report")

    def _details(self) -> int:
        return len([each for each in self.slack.sent(CHANNEL) if "thread_ts" in each])


SERVERS = pytest.param("neo4j_lts_url", id="neo4j-and-postgresql")


@pytest.fixture(params=[SERVERS, "sqlite"])
def production(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    exporter: Exporter,
    prometheus_mcp_command: list[str],
    prometheus_factory: Callable[..., Prometheus],
    alertmanager_factory: Callable[..., Alertmanager],
) -> Iterator[Production]:
    tenant = f"t{secrets.token_hex(4)}"
    databases = {}
    if request.param != "sqlite":
        databases = {
            "graph_url": request.getfixturevalue(request.param),
            "database_url": request.getfixturevalue("postgres_database"),
        }
    with ExitStack() as stack:
        slack = started(slack_server(), stack)
        service = Service({})
        webhook = f"{service.url}/webhooks/alertmanager"
        alertmanager = alertmanager_factory(webhook, ADMIN_TOKEN)
        exporter.set("errors_ratio", 0.01, {"service": "checkout-api"})
        prometheus = prometheus_factory(targets=[exporter.address], rules=RULES, alertmanagers=[alertmanager.address])
        servers = {"mcpServers": {"prometheus": prometheus_mcp_entry(prometheus.url)}}
        service.environment = settings(
            tmp_path / "data",
            tenant=tenant,
            slack_token=slack.token,
            slack_base_url=slack.base_url,
            mcp_servers=json.dumps(servers),
            replica_id="the-one",
            **databases,
        )
        service.ingest(tenant=tenant)
        yield Production(service, slack, exporter, prometheus)


def text_of(message: dict[str, Any]) -> str:
    """All a person reads in a message."""
    return json.dumps(message["blocks"], ensure_ascii=False)


def incident_of(parent: dict[str, Any]) -> str:
    return parent["metadata"]["event_payload"]["key"]


def kinds(journal: dict[str, Any]) -> list[str]:
    return [event["kind"] for event in journal["events"]]


def check_report(parent: dict[str, Any], *, value: str = "0.25", supplier: str = "fraud-scoring") -> None:
    text = text_of(parent)
    assert "HighErrorRate on checkout-api" in text
    assert "payments (#payments-oncall)" in text
    assert "payments-gateway" in text.partition("1 hop: ")[2], "what it depends on directly"
    assert "2 hops: " in text, "what that depends on"
    assert "storefront-web" in text.partition("Will hurt too")[2], "the blast radius"
    assert "checkout-api-high-error-rate.md" in text, "the runbook"
    assert f"is {value}" in text, "the live value"
    assert f"live says *calls {supplier}*" in text, "the conflict"


def test_an_alert_becomes_one_report_and_the_conflict_follows_the_live_fact(production: Production) -> None:
    with production.service.run():
        production.calls("fraud-scoring")
        production.fire()
        production.wait_for_detail()
        (parent,) = production.parents()
        check_report(parent)
        assert len(parent["edits"]) >= 1, "the first card was edited in place"

        # The live fact changes: the next report's flag follows it.
        production.exporter.remove(CALLS, {"client": "checkout-api", "server": "fraud-scoring"})
        production.calls("loyalty-points")
        production.fire("declined_ratio", 0.4)
        production.wait_for_detail(incidents=2)
        (second,) = [each for each in production.parents() if "PaymentsDeclined" in text_of(each)]
        assert "calls loyalty-points" in text_of(second)

        # It ends: the same message is edited, and nothing is posted.
        production.fire("errors_ratio", 0.01)
        wait_until(lambda: any("Resolved" in text_of(each) for each in production.parents()), 60, "the resolution")
        assert len(production.parents()) == 2


def kill_during_the_calls(production: Production, process: ServerProcess, seen_by: Service) -> str:
    """Kill the service's process while its investigation hangs in tool calls; the address of its journal."""
    prometheus = production.prometheus.process.popen
    # While Slack is slow to answer the first card, Prometheus stops: the calls that follow then hang.
    production.slack.control(take_then=3)
    production.fire()
    wait_until(lambda: len(production.parents()) == 1, 60, "the first card")
    prometheus.send_signal(signal.SIGSTOP)
    try:
        journal = f"/v1/investigations/{incident_of(production.parents()[0])}/journal"
        wait_until(lambda: "equipped" in kinds(seen_by.get(journal)), 60, "the tool calls")
        process.kill()
    finally:
        prometheus.send_signal(signal.SIGCONT)
    return journal


def test_killed_during_the_investigation_it_goes_on_and_posts_one_parent(production: Production) -> None:
    service = production.service
    with service.run() as process:
        production.calls("fraud-scoring")
        journal = kill_during_the_calls(production, process, seen_by=service)
    with service.run():
        production.wait_for_detail()
        (parent,) = production.parents()
        check_report(parent)
        assert kinds(service.get(journal)).count("located") == 1, "finished steps are not run again"


def test_killed_after_slack_took_the_message_it_finds_it_and_posts_one_parent(production: Production) -> None:
    production.slack.control(take_then="silence")
    with production.service.run() as process:
        production.calls("fraud-scoring")
        production.fire()
        wait_until(lambda: len(production.parents()) == 1, 60, "the message that nobody heard back of")
        process.kill()
    with production.service.run():
        production.wait_for_detail()
        time.sleep(1)  # a second parent would come with the report
        (parent,) = production.parents()
        check_report(parent)


@pytest.mark.parametrize("production", [SERVERS], indirect=True)
def test_a_replica_that_dies_is_taken_over_by_another(production: Production, tmp_path: Path) -> None:
    first = production.service
    other = Service(first.environment | settings(tmp_path / "other") | {"INCIDENT_GRAPH_REPLICA_ID": "another"})
    other.environment["INCIDENT_GRAPH_TOKENS"] = first.environment["INCIDENT_GRAPH_TOKENS"]
    with other.run(), first.run() as process:
        production.calls("fraud-scoring")
        kill_during_the_calls(production, process, seen_by=other)
        production.wait_for_detail()
        (parent,) = production.parents()
        check_report(parent)


@pytest.mark.parametrize("production", ["sqlite"], indirect=True)
def test_a_second_service_on_the_same_folder_is_refused_with_a_sentence(production: Production) -> None:
    with production.service.run():
        second = Service(dict(production.service.environment))
        with pytest.raises(ServerFailed, match="Another service runs on"), second.run():
            pass


@pytest.mark.parametrize("production", ["sqlite"], indirect=True)
def test_told_to_stop_during_an_investigation_it_goes_on_after_the_next_start(production: Production) -> None:
    prometheus = production.prometheus.process.popen
    with production.service.run() as process:
        production.calls("fraud-scoring")
        production.slack.control(take_then=3)
        production.fire()
        wait_until(lambda: len(production.parents()) == 1, 60, "the first card")
        prometheus.send_signal(signal.SIGSTOP)
        process.popen.send_signal(signal.SIGTERM)
        try:
            process.popen.wait(40)
        finally:
            prometheus.send_signal(signal.SIGCONT)
        assert process.popen.returncode == 0
    with production.service.run():
        production.wait_for_detail()
        assert len(production.parents()) == 1
