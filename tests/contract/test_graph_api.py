"""The graph over HTTP, on real stores: every route that reads, and whatever may be asked of it that is none."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from app import graph_api, graph_changes, graph_pages, graph_rules
from app.graph_examples import EXAMPLES
from graphrag.embed import EmbeddingUnavailable
from tests.contract.graphs import NOON
from tests.contract.routes import NODES, House, error_of, got, names

AFTER_ONE = (NOON + timedelta(minutes=30)).isoformat()


# Services -------------------------------------------------------------------------------------------------------------


async def test_a_profile_says_who_owns_a_service_what_it_needs_and_where_each_fact_is_from(client: httpx.AsyncClient):
    found = await got(client, "/v1/services/Checkout")
    assert (found["name"], found["aliases"]) == ("checkout-api", ["checkout"])
    assert found["properties"] == {"tier": "1", "repo": "shop/checkout"}
    assert (found["owner"]["team"], found["owner"]["channel"]) == ("payments", "#payments-oncall")
    assert found["owner"]["fact"]["sources"] == ["catalogue", "codeowners"]
    assert [owner["team"] for owner in found["further_owners"]] == ["search"]
    assert (names(found["dependencies"]), names(found["dependents"])) == (
        ["ledger-db", "payments-gateway"],
        ["storefront"],
    )
    assert found["blast_radius"] == {"services": ["storefront", "mobile"], "count": 2, "truncated": False}
    assert names(found["incidents"]) == ["incident 3", "incident 2", "incident 1"]
    assert (names(found["releases"]), names(found["documents"])) == (["checkout-api v2"], ["docs/flow.md"])
    (runbook,) = found["runbooks"]["items"]
    assert (runbook["properties"]["path"], runbook["confirmations"], runbook["confidence"]) == ("r/c.md", 2, 1.0)
    assert found["life"]["valid_from"] == "2026-03-01T12:00:00Z"
    assert (found["life"]["valid_to"], found["life"]["confirmations"]) == (None, 2)


async def test_a_service_s_own_channel_comes_before_its_team_s_and_stands_without_one(client: httpx.AsyncClient):
    owner = (await got(client, "/v1/services/ledger-db"))["owner"]
    assert owner == {"team": None, "channel": "#ledger", "fact": None}


@pytest.mark.parametrize("name", ["web/ui", "web-ui", "مرحبا 🙂", "CHECKOUT_API"])
async def test_every_spelling_of_a_name_leads_to_its_service(client: httpx.AsyncClient, name: str):
    for spelled in (name, quote(name, safe="")):
        assert (await got(client, f"/v1/services/{spelled}"))["name"]
        assert (await got(client, f"/v1/services/{spelled}/blast-radius"))["count"] >= 0


async def test_a_service_is_found_by_its_id_too(client: httpx.AsyncClient):
    found = await got(client, "/v1/services/checkout")
    assert (await got(client, f"/v1/services/{found['id']}"))["name"] == "checkout-api"


async def test_pages_of_suppliers_and_dependents_follow_each_other_without_a_gap(client: httpx.AsyncClient):
    first = await got(client, "/v1/services/checkout/dependencies", limit=1)
    assert (names(first), first["more"]) == (["ledger-db"], True)
    second = await got(client, "/v1/services/checkout/dependencies", limit=1, cursor=first["cursor"])
    assert (names(second), second["more"], second["cursor"]) == (["payments-gateway"], False, None)
    assert names(await got(client, "/v1/services/ledger-db/dependents")) == ["checkout-api", "payments-gateway"]


async def test_a_blast_radius_is_who_needs_the_service_and_why(client: httpx.AsyncClient):
    found = await got(client, "/v1/services/pgw/blast-radius")
    assert [(each["name"], each["hops"]) for each in found["services"]] == [
        ("checkout-api", 1),
        ("storefront", 2),
        ("mobile", 3),
    ]
    assert found["services"][1]["path"] == ["payments-gateway", "checkout-api", "storefront"]
    assert (found["count"], found["truncated"]) == (3, False)
    cut = await got(client, "/v1/services/pgw/blast-radius", cap=2)
    assert (cut["count"], cut["truncated"]) == (2, True)
    assert (await got(client, "/v1/services/pgw/blast-radius", hops=1))["count"] == 1


async def test_a_time_in_the_past_shows_what_held_then(client: httpx.AsyncClient):
    then = await got(client, "/v1/services/checkout/dependencies", as_of=AFTER_ONE)
    assert names(then) == ["ledger-db", "payments-gateway", "old"]
    assert (await got(client, "/v1/services/old/blast-radius", as_of=AFTER_ONE))["count"] == 3
    assert (await got(client, "/v1/services/old", as_of=AFTER_ONE))["as_of"] == "2026-03-01T12:30:00Z"
    spaced = await client.get("/v1/services/old?as_of=2026-03-01T13:30:00+01:00")
    assert spaced.status_code == 200, "a plus sign that is not encoded"


async def test_a_retired_service_is_unknown_now_but_the_answer_says_until_when_it_was(client: httpx.AsyncClient):
    message = error_of(await client.get("/v1/services/old"), 404, "unknown_service")
    assert "until 2026-03-01T13:00:00Z" in message
    early = await client.get("/v1/services/checkout", params={"as_of": "2020-01-01T00:00:00Z"})
    assert "since 2026-03-01T12:00:00Z" in error_of(early, 404, "unknown_service")


async def test_a_history_has_every_interval_in_words_with_the_latest_change_first(client: httpx.AsyncClient):
    found = await got(client, "/v1/services/checkout/history")
    first = found["items"][0]
    assert (first["fact"], first["type"], first["direction"]) == ("checkout-api depends on old", "DEPENDS_ON", "out")
    assert (first["valid_from"], first["valid_to"]) == ("2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z")
    assert first["other"]["name"] == "old"
    facts = {each["fact"] for each in found["items"]}
    assert {
        "checkout-api is a Service",
        "storefront depends on checkout-api",
        "checkout-api is owned by payments",
        "incident 2 affected checkout-api",
        "checkout-api was changed by checkout-api v2",
    } <= facts
    pages, cursor = [], None
    while True:
        page = await got(client, "/v1/services/checkout/history", limit=4, **({"cursor": cursor} if cursor else {}))
        pages += page["items"]
        cursor = page["cursor"]
        assert page["more"] is bool(cursor)
        if not cursor:
            break
    assert pages == found["items"]


async def test_a_history_can_be_of_one_fact(client: httpx.AsyncClient):
    only = await got(client, "/v1/services/checkout/history", **{"type": "depends_on", "with": "OLD"})
    assert [each["fact"] for each in only["items"]] == ["checkout-api depends on old"]
    assert len((await got(client, "/v1/services/checkout/history", type="OWNED_BY"))["items"]) == 2
    assert (await got(client, "/v1/services/checkout/history", **{"with": "nothing"}))["items"] == []


async def test_a_retired_service_still_has_its_history(client: httpx.AsyncClient):
    found = await got(client, "/v1/services/old/history")
    assert {each["fact"] for each in found["items"]} == {"old is a Service", "checkout-api depends on old"}


# Entities and paths ---------------------------------------------------------------------------------------------------


async def test_paths_are_the_shortest_with_each_edge_and_which_way_it_points(client: httpx.AsyncClient):
    found = await got(client, "/v1/paths", **{"from": "mobile", "to": "payments"})
    assert (found["from"]["name"], found["to"]["label"], found["length"]) == ("mobile", "Team", 3)
    (path,) = found["paths"]
    assert [node["name"] for node in path["nodes"]] == ["mobile", "storefront", "checkout-api", "payments"]
    assert [(step["type"], step["direction"]) for step in path["steps"]] == [
        ("DEPENDS_ON", "out"),
        ("DEPENDS_ON", "out"),
        ("OWNED_BY", "out"),
    ]
    back = await got(client, "/v1/paths", **{"from": "ledger-db", "to": "mobile", "types": "DEPENDS_ON"})
    assert {step["direction"] for step in back["paths"][0]["steps"]} == {"in"}
    one_way = {"from": "ledger-db", "to": "mobile", "direction": "out"}
    assert (await got(client, "/v1/paths", **one_way))["paths"] == []
    short = await got(client, "/v1/paths", **{"from": "mobile", "to": "payments", "hops": 2})
    assert (short["length"], short["paths"]) == (None, [])


async def test_entities_are_searched_by_a_part_of_their_name_and_listed_in_pages(client: httpx.AsyncClient):
    assert names(await got(client, "/v1/entities", q="GATE")) == ["payments-gateway"]
    assert names(await got(client, "/v1/entities", label="team")) == ["payments", "search"]
    listed, cursor = [], None
    while True:
        page = await got(client, "/v1/entities", limit=7, **({"cursor": cursor} if cursor else {}))
        listed += names(page)
        cursor = page["cursor"]
        if not page["more"]:
            break
    assert sorted(listed) == sorted(fact.name for fact in NODES)


async def test_an_entity_comes_with_what_is_related_to_it_either_way(client: httpx.AsyncClient):
    listed = await got(client, "/v1/entities", q="payments", label="Team")
    team = await got(client, f"/v1/entities/{listed['items'][0]['id']}")
    assert (team["label"], names(team["related"])) == ("Team", ["checkout-api"])
    assert team["related"]["items"][0]["direction"] == "in"
    by_name = await got(client, "/v1/entities/runbooks/checkout.md", types="HAS_RUNBOOK")
    assert (by_name["label"], names(by_name["related"])) == ("Runbook", ["checkout-api"])


async def test_a_name_of_two_things_is_refused_with_both(client: httpx.AsyncClient):
    for answer in (
        await client.get("/v1/entities/search"),
        await client.get("/v1/paths", params={"from": "search", "to": "mobile"}),
        await client.post("/v1/merges/preview", json={"keep": "mobile", "drop": "search"}),
    ):
        message = error_of(answer, 409, "ambiguous_name")
        candidates = answer.json()["candidates"]
        assert sorted((each["label"], each["name"]) for each in candidates) == [
            ("Service", "search"),
            ("Team", "search"),
        ]
        assert all(each["id"] in message for each in candidates)


# What is none ---------------------------------------------------------------------------------------------------------


async def test_an_unknown_service_is_answered_with_the_nearest_names(client: httpx.AsyncClient):
    for path in ("", "/dependencies", "/dependents", "/blast-radius", "/history"):
        answer = await client.get(f"/v1/services/chekout-api{path}")
        message = error_of(answer, 404, "unknown_service")
        nearest = answer.json()["nearest"]
        assert nearest[0] == "checkout-api"
        assert len(nearest) <= 5
        assert "'chekout-api'" in message
        assert "checkout-api" in message
    unknown = await client.get("/v1/paths", params={"from": "mobile", "to": "paymnts"})
    assert "payments" in error_of(unknown, 404, "unknown_entity")


async def test_with_the_embedding_down_the_nearest_names_are_those_of_full_text(
    house: House, client: httpx.AsyncClient
):
    async def down(_: Any) -> Any:
        raise EmbeddingUnavailable("The embedding did not answer.")

    resources = house.app.state.resources
    house.app.state.resources = SimpleNamespace(graph=house.store, embedding=SimpleNamespace(embed_queries=down))
    try:
        answer = await client.get("/v1/services/payments")
    finally:
        house.app.state.resources = resources
    error_of(answer, 404, "unknown_service")
    assert "payments-gateway" in answer.json()["nearest"]


AWKWARD = (
    "x" * 10_000,
    "🙂" * 500,
    "a/b/c/../../d",
    "\x00",
    "a\x00b",
    "\u202eabc\u202c",
    "line\nbreak",
    "' OR 1=1 --",
    "{}[]()*^\"'`",
    " ",
    "..",
    "%",
)


@pytest.mark.parametrize("name", AWKWARD, ids=lambda name: ascii(name[:12]))
async def test_no_name_is_a_fault_of_ours(client: httpx.AsyncClient, name: str):
    spelled = quote(name, safe="")
    for path in (
        *(
            f"/v1/services/{spelled}{rest}"
            for rest in ("", "/dependencies", "/dependents", "/blast-radius", "/history")
        ),
        f"/v1/services/checkout/history?with={spelled}",
        f"/v1/entities/{spelled}",
        f"/v1/entities?q={spelled}",
        f"/v1/paths?from={spelled}&to=mobile",
        f"/v1/services/checkout?as_of={spelled}",
        f"/v1/services/checkout/dependencies?cursor={spelled}",
        f"/v1/entities?label={spelled}",
    ):
        answer = await client.get(path)
        assert answer.status_code < 500, f"{path[:100]} {answer.text}"
        assert len(answer.content) < 20_000


async def test_a_lone_surrogate_is_a_name_like_any_other(client: httpx.AsyncClient):
    for path in ("services/%ED%A0%80", "entities/%ED%A0%80", "services/%ED%A0%80/history", "services/%FF%FE"):
        assert (await client.get(f"/v1/{path}")).status_code == 404
    body = b'{"keep": "\\ud800", "drop": "mobile"}'
    for path in ("/v1/merges/preview", "/v1/corrections", "/v1/entities/mobile/aliases"):
        for content in (body, b'{"\\ud800": 1}', b'{"alias": "\\ud800"}'):
            answer = await client.post(path, content=content, headers={"Content-Type": "application/json"})
            assert answer.status_code == 422, answer.text


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("/v1/services/checkout/blast-radius?hops=11", "hops: must be from 0 to 10"),
        ("/v1/services/checkout/blast-radius?hops=-1", "hops: must be from 0 to 10"),
        ("/v1/services/checkout/blast-radius?hops=many", "hops: "),
        ("/v1/services/checkout/blast-radius?cap=5001", "cap: must be from 0 to 5000"),
        (f"/v1/services/checkout/blast-radius?cap={'9' * 30}", "cap: must be from 0 to 5000"),
        ("/v1/services/checkout/dependents?limit=0", "limit: must be from 1 to 500"),
        ("/v1/paths?from=mobile&to=checkout&limit=101", "limit: must be from 1 to 100"),
        ("/v1/paths?from=mobile&to=checkout&hops=11", "hops: must be from 0 to 10"),
        ("/v1/paths?from=mobile&to=checkout&types=NEEDS", "DEPENDS_ON"),
        ("/v1/paths?from=mobile&to=checkout&direction=up", "out, in, both"),
        ("/v1/paths?from=mobile", "to: "),
        ("/v1/services/checkout/history?type=NEEDS", "DEPENDS_ON"),
        ("/v1/entities?label=Server", "Service"),
        ("/v1/services/checkout?as_of=2026-03-01T12:00:00", "time zone"),
        ("/v1/services/checkout?as_of=yesterday", "2026-03-01T12:00:00Z"),
        ("/v1/services/checkout?as_of=0001-01-01T00:00:00%2B14:00", "ISO 8601"),
    ],
)
async def test_what_cannot_be_asked_is_refused_with_what_can(client: httpx.AsyncClient, path: str, says: str):
    assert says in error_of(await client.get(path), 422, "invalid")


async def test_a_cursor_of_another_list_is_refused(client: httpx.AsyncClient):
    first = await got(client, "/v1/services/checkout/dependencies", limit=1)
    history = await got(client, "/v1/services/checkout/history", limit=1)
    for path, cursor in (
        ("/v1/services/checkout/dependents", first["cursor"]),
        ("/v1/services/mobile/dependencies", first["cursor"]),
        ("/v1/services/mobile/history", history["cursor"]),
        ("/v1/entities", first["cursor"]),
        ("/v1/entities/mobile", "nonsense"),
        ("/v1/merges", first["cursor"]),
        ("/v1/corrections", "nonsense"),
        ("/v1/proposals", "nonsense"),
    ):
        error_of(await client.get(path, params={"cursor": cursor}), 400, "bad_cursor")


async def test_readers_and_agents_read_and_only_admins_change(house: House):
    tenant = house.tenants[0]
    for role in ("reader", "agent"):
        async with house.client(tenant, role) as client:
            for path in ("services/checkout", "entities", "paths?from=mobile&to=checkout", "merges", "proposals"):
                assert (await client.get(f"/v1/{path}")).status_code == 200
            for path in ("entities/mobile/aliases", "merges/preview", "merges", "corrections", "proposals/x/reject"):
                error_of(await client.post(f"/v1/{path}", json={}), 403, "forbidden")
            error_of(await client.delete("/v1/entities/mobile/aliases/x"), 403, "forbidden")
    async with house.client(tenant, "webhook") as client:
        error_of(await client.get("/v1/services/checkout"), 403, "forbidden")


async def test_another_tenant_s_services_are_unknown(house: House):
    async with house.client(house.tenants[-1]) as client:
        answer = await client.get("/v1/services/checkout")
        error_of(answer, 404, "unknown_service")
        assert answer.json()["nearest"] == []


# For machines ---------------------------------------------------------------------------------------------------------


async def test_the_interface_for_machines_has_an_example_and_a_summary_for_every_route(house: House):
    described = house.app.openapi()
    routes = [
        (f"{method.upper()} {path}", operation)
        for path, item in described["paths"].items()
        for method, operation in item.items()
        if operation.get("tags", [""])[0].startswith("graph")
    ]
    assert len(routes) == 24
    for route, operation in routes:
        assert operation["summary"], route
        assert operation["description"], route
        assert operation["responses"]["200"]["content"]["application/json"]["example"], route
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert set(answer["content"]["application/json"]["example"]) >= {"code", "message"}, route
        if "requestBody" in operation:
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            name = schema["$ref"].rpartition("/")[2]
            assert described["components"]["schemas"][name]["examples"], route


def test_every_example_is_what_its_route_answers():
    models = {
        id(answer["content"]["application/json"]["example"]): route.response_model
        for router in (graph_api.router, graph_changes.router, graph_pages.router, graph_rules.router)
        for route in router.routes
        for status, answer in getattr(route, "responses", {}).items()
        if status == 200 and "content" in answer
    }
    for name, example in EXAMPLES.items():
        model = models[id(example)]
        assert model.model_validate(example).model_dump(mode="json", by_alias=True) == example, name
