"""Corrections of investigations over HTTP, on real stores: what is learnt, that the next such alert heeds it, and that
it can be undone."""

import itertools
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from agent.consult import locate_incident
from agent.state import AlertFacts, Incident, Located
from graphrag.label_rules import LABEL_RULE, standing_rules
from tests.contract.graphs import NOON, run, service
from tests.contract.routes import House, error_of, got, names, sent

_numbers = itertools.count(1)
WORKER = {"alertname": "BacklogGrows", "component": "card-worker", "severity": "page", "environment": "production"}


def tenant_of(own: httpx.AsyncClient) -> str:
    return own.headers["authorization"].removeprefix("Bearer admin-")


def incident(tenant: str, *alerts: Mapping[str, str], **asked: str) -> Incident:
    return Incident(
        id=f"inc-{next(_numbers)}-{tenant[-8:]}",
        tenant=tenant,
        opened_at=NOON,
        title="Trouble",
        alerts=tuple(AlertFacts(labels=labels) for labels in alerts),
        **asked,
    )


async def kept(house: House, own: httpx.AsyncClient, *alerts: Mapping[str, str], **asked: str) -> str:
    """The path that corrects a new investigation of these alerts."""
    subject = incident(tenant_of(own), *alerts, **asked)
    house.journal.begin(subject)
    return f"/v1/investigations/{subject.id}/correction"


async def located(house: House, own: httpx.AsyncClient, *alerts: Mapping[str, str]) -> Located:
    """Where the next such alert is located."""
    embed = house.app.state.resources.embedding.embed_queries
    return await locate_incident(house.store, embed, incident(tenant_of(own), *alerts), lambda: 0.0)


def place(found: Located) -> tuple[str, str]:
    return found.certainty, found.candidates[0].name if found.candidates else ""


async def test_the_next_such_alert_resolves_to_what_a_person_said_until_that_is_undone(
    house: House, own: httpx.AsyncClient
):
    before = await located(house, own, WORKER)
    assert before.certainty != "resolved"
    path = await kept(house, own, WORKER)
    learned = await sent(own, path, {"service": "checkout", "reason": "its worker"})
    rule = learned["rule"]
    assert (rule["label"], rule["value"], rule["reason"]) == ("component", "card-worker", "its worker")
    assert (rule["by"], rule["investigation"]) == (f"admin of {tenant_of(own)}", path.split("/")[3])
    assert (learned["alias"], learned["certainty"]) == (None, "resolved")
    assert learned["says"].startswith("Alerts with component=card-worker are about checkout-api from now on; undo")
    after = await located(house, own, {**WORKER, "alertname": "Other", "severity": "info"})
    assert place(after) == ("resolved", "checkout-api")
    assert any(rule["id"] in reason and "a person said so on" in reason for reason in after.candidates[0].reasons)
    assert after.candidates[0].parts["person"] > 0.9
    lifted = await own.delete(learned["says"].removesuffix(".").rpartition("DELETE ")[2])
    assert (lifted.status_code, bool(lifted.json()["lifted_at"])) == (200, True)
    again = await located(house, own, WORKER)
    assert (again.certainty, again.candidates) == (before.certainty, before.candidates)


async def test_a_name_that_only_the_alert_uses_becomes_an_alias_until_that_is_undone(
    house: House, own: httpx.AsyncClient
):
    labels = {"alertname": "Slow", "service": "order-front/eu"}
    learned = await sent(own, await kept(house, own, labels), {"service": "checkout-api"})
    assert (learned["alias"], learned["rule"], learned["certainty"]) == ("order-front/eu", None, "resolved")
    assert (await got(own, "/v1/services/OrderFrontEU"))["name"] == "checkout-api"
    assert place(await located(house, own, labels)) == ("resolved", "checkout-api")
    undone = await own.delete(learned["says"].removesuffix(".").rpartition("DELETE ")[2])
    assert undone.status_code == 200, undone.text
    error_of(await own.get("/v1/services/OrderFrontEU"), 404, "unknown_service")
    assert (await located(house, own, labels)).certainty != "resolved"


async def test_a_service_asked_for_by_an_unknown_name_is_known_by_it_from_then_on(house: House, own: httpx.AsyncClient):
    learned = await sent(own, await kept(house, own, service="card ui"), {"service": "web/ui"})
    assert learned["alias"] == "card ui"
    assert (await got(own, "/v1/services/card-ui"))["name"] == "web/ui"


async def test_the_alert_s_name_alone_is_learnt_where_nothing_better_is_there(house: House, own: httpx.AsyncClient):
    labels = {"alertname": "QueueAgeTooHigh", "severity": "page", "shard": "7"}
    learned = await sent(own, await kept(house, own, labels), {"service": "ledger-db"})
    assert (learned["rule"]["label"], learned["rule"]["value"]) == ("alertname", "QueueAgeTooHigh")
    assert place(await located(house, own, labels)) == ("resolved", "ledger-db")
    by_name = await sent(own, await kept(house, own, WORKER), {"service": "mobile", "because": "name"})
    assert by_name["rule"]["value"] == "BacklogGrows"


async def test_a_rule_that_a_label_contradicts_is_ambiguous_and_the_answer_says_so(
    house: House, own: httpx.AsyncClient
):
    labels = {**WORKER, "service": "payments-gateway"}
    learned = await sent(
        own, await kept(house, own, labels), {"service": "checkout", "because": {"label": "component"}}
    )
    assert learned["certainty"] == "ambiguous"
    assert "does not settle such alerts (what people said of it and its labels contradict" in learned["says"]
    assert (await located(house, own, labels)).certainty == "ambiguous"
    assert place(await located(house, own, WORKER)) == ("resolved", "checkout-api")


@pytest.mark.parametrize(
    ("body", "status", "code", "says"),
    [
        ({"service": "chekout-api"}, 404, "unknown_service", "checkout-api"),
        ({"service": "mobile", "because": {"label": "upstream"}}, 409, "value_taken", "payments-gateway"),
        ({"service": "mobile", "because": {"label": "colour"}}, 422, "label_missing", "component (card-worker)"),
        ({"service": "mobile", "because": "colour"}, 422, "invalid", "because"),
        ({"because": "name"}, 422, "invalid", "service"),
        ({"service": "mobile", "colour": "red"}, 422, "invalid", "colour"),
    ],
)
async def test_a_correction_of_an_investigation_that_cannot_be_is_refused(
    house: House, own: httpx.AsyncClient, body: dict[str, Any], status: int, code: str, says: str
):
    path = await kept(house, own, {**WORKER, "upstream": "pgw"})
    assert says in error_of(await own.post(path, json=body), status, code)
    assert (await got(own, "/v1/rules"))["items"] == []


async def test_a_value_that_a_rule_gives_to_another_service_is_refused_with_both(house: House, own: httpx.AsyncClient):
    await sent(own, await kept(house, own, WORKER), {"service": "checkout"})
    message = error_of(await own.post(await kept(house, own, WORKER), json={"service": "mobile"}), 409, "value_taken")
    assert "checkout-api" in message
    assert "mobile" in message
    again = await sent(own, await kept(house, own, WORKER), {"service": "checkout"})
    assert [each["id"] for each in (await got(own, "/v1/rules"))["items"]] == [again["rule"]["id"]]


async def test_several_labels_that_may_be_meant_are_asked_about(house: House, own: httpx.AsyncClient):
    path = await kept(house, own, {**WORKER, "queue": "card-jobs"})
    message = error_of(await own.post(path, json={"service": "checkout"}), 409, "which_label")
    assert "component (card-worker), queue (card-jobs)" in message
    learned = await sent(own, path, {"service": "checkout", "because": {"label": "queue"}})
    assert learned["rule"]["value"] == "card-jobs"


async def test_a_question_has_no_label_to_learn_from(house: House, own: httpx.AsyncClient):
    path = await kept(house, own, question="Why is it slow?")
    error_of(await own.post(path, json={"service": "checkout"}), 422, "alerts_missing")


async def test_only_administrators_of_the_tenant_correct_and_lift(house: House, own: httpx.AsyncClient):
    path = await kept(house, own, WORKER)
    other = house.tenants[0]
    async with house.client(other) as stranger:
        error_of(await stranger.post(path, json={"service": "checkout"}), 404, "unknown_investigation")
    for role in ("reader", "agent", "webhook"):
        async with house.client(tenant_of(own), role) as client:
            error_of(await client.post(path, json={"service": "checkout"}), 403, "forbidden")
            error_of(await client.delete("/v1/rules/rule-1"), 403, "forbidden")
    rule = (await sent(own, path, {"service": "checkout"}))["rule"]
    async with house.client(other) as stranger:
        error_of(await stranger.delete(f"/v1/rules/{rule['id']}"), 404, "unknown_rule")
        assert (await got(stranger, "/v1/rules"))["items"] == []


async def test_rules_are_added_listed_and_lifted(house: House, own: httpx.AsyncClient):
    body = {"label": "queue", "value": "card-jobs", "service": "mobile", "reason": "its queue"}
    wide = await sent(own, "/v1/rules", body)
    narrow = await sent(own, "/v1/rules", {**body, "alertname": "BacklogGrows", "service": "checkout"})
    assert [each["id"] for each in (await got(own, "/v1/rules"))["items"]] == [narrow["id"], wide["id"]]
    assert place(await located(house, own, {"queue": "card-jobs"})) == ("resolved", "mobile")
    named = {"queue": "card-jobs", "alertname": "BacklogGrows"}
    assert place(await located(house, own, named)) == ("resolved", "checkout-api")
    assert (await own.delete(f"/v1/rules/{narrow['id']}")).status_code == 200
    assert place(await located(house, own, named)) == ("resolved", "mobile")
    page = await got(own, "/v1/rules", limit=1)
    assert (page["items"][0]["id"], bool(page["items"][0]["lifted_at"]), page["more"]) == (narrow["id"], True, True)
    assert names(await got(own, "/v1/rules", cursor=page["cursor"])) == ["mobile"]
    tenant = tenant_of(own)
    assert [rule.id for rule in await standing_rules(house.store, tenant)] == [wide["id"]]
    assert [record.id for record in await house.store.records(tenant, LABEL_RULE)] == [wide["id"]]
    error_of(await own.delete(f"/v1/rules/{narrow['id']}"), 409, "already_lifted")
    error_of(await own.delete("/v1/rules/nothing"), 404, "unknown_rule")
    error_of(await own.post("/v1/rules", json={**body, "value": "other-jobs", "reason": " "}), 422, "reason_missing")
    error_of(await own.post("/v1/rules", json={**body, "value": " "}), 422, "label_missing")
    error_of(await own.post("/v1/rules", json={**body, "service": "nobody"}), 404, "unknown_service")
    error_of(await own.post("/v1/rules", json={**body, "service": "checkout"}), 409, "value_taken")


async def test_a_rule_follows_its_service_into_a_merge_and_says_nothing_once_that_is_gone(
    house: House, own: httpx.AsyncClient
):
    tenant = tenant_of(own)
    await house.store.write(tenant, run(service("card-service"), source="other", complete=True))
    await sent(own, "/v1/rules", {"label": "queue", "value": "cards", "service": "card-service", "reason": "its queue"})
    pair = {"keep": "checkout", "drop": "card-service"}
    token = (await sent(own, "/v1/merges/preview", pair))["token"]
    merge = await sent(own, "/v1/merges", {**pair, "token": token, "reason": "one"})
    assert place(await located(house, own, {"queue": "cards"})) == ("resolved", "checkout-api")
    await sent(own, f"/v1/merges/{merge['id']}/undo", None)
    await house.store.write(tenant, run(source="other", hour=5, complete=True))
    assert (await located(house, own, {"queue": "cards"})).certainty != "resolved"
