"""The graph over HTTP, on real stores: every route that changes it, and what no route may change."""

from typing import Any

import httpx
import pytest

from graphrag.model import Facts
from graphrag.proposals import refresh_proposals
from tests.contract.graphs import NOON, depends, run, service
from tests.contract.routes import EDGES, NODES, House, error_of, got, names, sent


async def test_an_alias_leads_to_its_entity_until_it_is_taken_away(own: httpx.AsyncClient):
    added = await sent(own, "/v1/entities/mobile/aliases", {"alias": "the/app"})
    assert added["aliases"] == ["the/app"]
    assert (await got(own, "/v1/services/TheApp"))["name"] == "mobile"
    removed = await own.delete("/v1/entities/mobile/aliases/the%2Fapp")
    assert (removed.status_code, removed.json()["aliases"]) == (200, [])
    error_of(await own.get("/v1/services/TheApp"), 404, "unknown_service")
    error_of(await own.delete("/v1/entities/mobile/aliases/the-app"), 404, "unknown_alias")


async def test_an_alias_that_cannot_be_is_refused(own: httpx.AsyncClient):
    taken = await own.post("/v1/entities/mobile/aliases", json={"alias": "pgw"})
    assert "payments-gateway" in error_of(taken, 409, "alias_taken")
    error_of(await own.post("/v1/entities/mobile/aliases", json={"alias": "  "}), 422, "alias_missing")
    for body in ({"alias": "x" * 301}, {"alias": ""}, {}, {"alias": "a", "colour": "red"}, []):
        error_of(await own.post("/v1/entities/mobile/aliases", json=body), 422, "invalid")
    error_of(await own.post("/v1/entities/nobody/aliases", json={"alias": "a"}), 404, "unknown_entity")


async def test_a_merge_needs_its_preview_s_token_and_a_reason_and_can_be_undone(own: httpx.AsyncClient):
    before = [await got(own, f"/v1/services/{name}") for name in ("ledger-db", "payments-gateway")]
    pair = {"keep": "ledger-db", "drop": "pgw"}
    seen = await sent(own, "/v1/merges/preview", pair)
    assert (seen["keep"]["name"], seen["drop"]["name"], seen["conflicts"]) == ("ledger-db", "payments-gateway", [])
    assert seen["gained"] == ["payments-gateway", "pgw"]
    assert [fact["fact"] for fact in seen["combined"]["shown"]] == ["checkout-api depends on payments-gateway"]
    assert [fact["fact"] for fact in seen["ended"]["shown"]] == ["payments-gateway depends on ledger-db"]
    assert (seen["blast_radius"]["keep_before"]["count"], seen["blast_radius"]["after"]["count"]) == (4, 3)
    error_of(await own.post("/v1/merges", json=pair), 422, "token_missing")
    error_of(await own.post("/v1/merges", json={**pair, "token": seen["token"]}), 422, "reason_missing")
    error_of(await own.post("/v1/merges", json={**pair, "token": "x", "reason": "same"}), 409, "stale_token")
    merged = await sent(own, "/v1/merges", {**pair, "token": seen["token"], "reason": "same"})
    assert (merged["names"], merged["reason"]) == (["ledger-db", "payments-gateway"], "same")
    assert merged["by"].startswith("admin of t-")
    found = await got(own, "/v1/services/pgw")
    assert (found["name"], found["criticality"]["basis"]) == ("ledger-db", "dependents")
    assert [each["id"] for each in (await got(own, "/v1/merges"))["items"]] == [merged["id"]]
    undone = await sent(own, f"/v1/merges/{merged['id']}/undo", None)
    assert undone["undone_at"]
    after = [await got(own, f"/v1/services/{name}") for name in ("ledger-db", "payments-gateway")]
    assert [each["criticality"]["basis"] for each in after] == ["dependents", "dependents"]
    unscored = [{key: value for key, value in each.items() if key != "criticality"} for each in (*after, *before)]
    assert without_scores(unscored[:2]) == without_scores(unscored[2:])
    error_of(await own.post(f"/v1/merges/{merged['id']}/undo"), 409, "already_undone")
    error_of(await own.post("/v1/merges/nothing/undo"), 404, "unknown_merge")


def without_scores(value: Any) -> Any:
    """Neighbours carry their scores among their properties; these are computed, not said."""
    if isinstance(value, dict):
        return {key: without_scores(each) for key, each in value.items() if not key.startswith("criticality")}
    return [without_scores(each) for each in value] if isinstance(value, list) else value


async def test_a_merge_of_what_contradicts_itself_needs_force(own: httpx.AsyncClient, house: House):
    claim = {"action": "assert", "type": "OWNED_BY", "from": "mobile", "to": "payments", "reason": "they said so"}
    await sent(own, "/v1/corrections", claim)
    pair = {"keep": "checkout", "drop": "mobile"}
    seen = await sent(own, "/v1/merges/preview", pair)
    assert seen["conflicts"] == [{"about": "owner", "keep": "payments, search", "drop": "payments"}]
    body = {**pair, "token": seen["token"], "reason": "same"}
    assert "payments" in error_of(await own.post("/v1/merges", json=body), 409, "conflicts")
    assert (await sent(own, "/v1/merges", {**body, "force": True}))["names"] == ["checkout-api", "mobile"]


async def test_what_is_no_pair_is_not_merged(own: httpx.AsyncClient):
    for pair, status, code in (
        ({"keep": "checkout", "drop": "checkout-api"}, 409, "same_entity"),
        ({"keep": "checkout", "drop": "payments"}, 409, "different_kinds"),
        ({"keep": "checkout", "drop": "nobody"}, 404, "unknown_entity"),
        ({"keep": "checkout"}, 422, "invalid"),
    ):
        error_of(await own.post("/v1/merges/preview", json=pair), status, code)


async def test_a_retired_fact_stays_away_until_the_correction_is_lifted(own: httpx.AsyncClient, house: House):
    claim = {"action": "retire", "type": "DEPENDS_ON", "from": "checkout", "to": "ledger-db", "reason": "gone"}
    made = await sent(own, "/v1/corrections", claim)
    assert (made["action"], made["names"], made["lifted_at"]) == ("retire", ["checkout-api", "ledger-db"], "")
    tenant = made["by"].removeprefix("admin of ")
    await house.store.write(tenant, run(*NODES, *EDGES, hour=9, complete=True))
    assert names(await got(own, "/v1/services/checkout/dependencies")) == ["payments-gateway"]
    assert "does not hold" in error_of(await own.post("/v1/corrections", json=claim), 404, "unknown_edge")
    listed = await got(own, "/v1/corrections")
    assert [each["id"] for each in listed["items"]] == [made["id"]]
    assert (await sent(own, f"/v1/corrections/{made['id']}/lift", None))["lifted_at"]
    assert set(names(await got(own, "/v1/services/checkout/dependencies"))) == {"ledger-db", "payments-gateway"}
    error_of(await own.post(f"/v1/corrections/{made['id']}/lift"), 409, "already_lifted")
    error_of(await own.post("/v1/corrections/nothing/lift"), 404, "unknown_correction")


async def test_an_asserted_fact_holds_and_a_relation_carries_its_verb(own: httpx.AsyncClient):
    claim = {"action": "assert", "type": "depends_on", "from": "mobile", "to": "pgw", "reason": "seen in traces"}
    await sent(own, "/v1/corrections", claim)
    found = await got(own, "/v1/services/mobile/dependencies")
    (asserted,) = [each for each in found["items"] if each["name"] == "payments-gateway"]
    assert asserted["sources"] == ["correction"]
    relation = {**claim, "type": "RELATION", "verb": "caches for"}
    await sent(own, "/v1/corrections", relation)
    history = await got(own, "/v1/services/mobile/history", type="RELATION")
    assert [each["fact"] for each in history["items"]] == ["mobile caches for payments-gateway"]


@pytest.mark.parametrize(
    ("change", "status", "code", "says"),
    [
        ({"action": "delete"}, 422, "invalid", "action: "),
        ({"type": "NEEDS"}, 422, "invalid", "DEPENDS_ON"),
        ({"type": ""}, 422, "invalid", "DEPENDS_ON"),
        ({"reason": " "}, 422, "reason_missing", "reason"),
        ({"verb": "calls"}, 422, "invalid", "verb"),
        ({"type": "RELATION"}, 422, "invalid", "verb"),
        ({"to": "payments"}, 422, "invalid", "'payments' is a Team; this end of DEPENDS_ON is a Service"),
        ({"to": "nobody"}, 404, "unknown_entity", "'nobody'"),
        ({"to": "mobile"}, 409, "same_entity", "itself"),
        ({"to": "x" * 301}, 422, "invalid", "to: "),
        ({"type": "AFFECTED", "from": "checkout"}, 422, "invalid", "Incident"),
    ],
)
async def test_a_correction_that_cannot_be_is_refused(
    client: httpx.AsyncClient, change: dict[str, str], status: int, code: str, says: str
):
    claim = {"action": "assert", "type": "DEPENDS_ON", "from": "mobile", "to": "checkout", "reason": "r", **change}
    assert says in error_of(await client.post("/v1/corrections", json=claim), status, code)
    assert (await got(client, "/v1/corrections"))["items"] == []


async def test_a_proposal_waits_until_somebody_rejects_it(own: httpx.AsyncClient, house: House):
    by = (await sent(own, "/v1/corrections", CLAIM))["by"]
    tenant = by.removeprefix("admin of ")
    await house.store.write(tenant, run(service("payments-gatewy"), hour=3))
    await refresh_proposals(house.store, tenant, NOON)
    waiting = [
        each
        for each in (await got(own, "/v1/proposals"))["items"]
        if set(each["names"]) == {"payments-gateway", "payments-gatewy"}
    ]
    assert {waiting[0]["left"]["name"], waiting[0]["right"]["name"]} == {"payments-gateway", "payments-gatewy"}
    assert waiting[0]["likeness"] > 0.85
    path = f"/v1/proposals/{waiting[0]['id']}/reject"
    error_of(await own.post(path, json={"reason": ""}), 422, "reason_missing")
    assert (await sent(own, path, {"reason": "a typo in a test"}))["by"] == by
    assert waiting[0] not in (await got(own, "/v1/proposals"))["items"]
    error_of(await own.post(path, json={"reason": "again"}), 404, "unknown_proposal")


CLAIM = {"action": "assert", "type": "DEPENDS_ON", "from": "mobile", "to": "pgw", "reason": "seen in traces"}


async def test_a_page_of_proposals_goes_on_where_it_ended_and_leaves_out_what_was_merged(
    own: httpx.AsyncClient, house: House
):
    tenant = (await sent(own, "/v1/corrections", CLAIM))["by"].removeprefix("admin of ")
    await house.store.write(tenant, run(service("cache-blue-1"), service("cache-blue-2"), service("cache-blue-3")))
    await refresh_proposals(house.store, tenant, NOON)
    whole = (await got(own, "/v1/proposals"))["items"]
    assert len(whole) >= 3
    first = await got(own, "/v1/proposals", limit=2)
    rest = await got(own, "/v1/proposals", cursor=first["cursor"])
    assert (first["items"] + rest["items"], rest["more"]) == (whole, False)
    pair = {"keep": "cache-blue-1", "drop": "cache-blue-2"}
    token = (await sent(own, "/v1/merges/preview", pair))["token"]
    await sent(own, "/v1/merges", {**pair, "token": token, "reason": "one"})
    left = (await got(own, "/v1/proposals"))["items"]
    assert all("cache-blue-2" not in (each["left"]["name"], each["right"]["name"]) for each in left)


async def test_a_memory_is_no_part_of_what_is_so(own: httpx.AsyncClient, house: House):
    tenant = (await sent(own, "/v1/corrections", CLAIM))["by"].removeprefix("admin of ")
    remembered = Facts("agent", NOON, edges=(depends("ledger-db", "mobile"),), scope="memory:a")
    await house.store.write(tenant, remembered)
    assert names(await got(own, "/v1/services/ledger-db/dependencies")) == []
    facts = [each["fact"] for each in (await got(own, "/v1/services/ledger-db/history"))["items"]]
    assert "ledger-db depends on mobile" not in facts
