"""The graph over HTTP, on real stores: every route, and whatever may be asked of it that is none."""

import itertools
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from app import graph_api, graph_changes
from app.graph_examples import EXAMPLES
from app.main import create_app
from app.settings import Settings, Token
from graphrag.embed import EmbeddingUnavailable, open_embedding
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Ref
from graphrag.open_store import open_store
from graphrag.proposals import refresh_proposals
from graphrag.store import GraphStore
from tests.contract.graphs import NEO4J, NOON, depends, run, service

DIMENSIONS = 64
MANY = 40
ROLES = ("webhook", "reader", "agent", "admin")
STORES = ("sqlite", "neo4j-lts")


@dataclass
class House:
    """The service's routes over one store, and a tenant for each test that changes something."""

    app: FastAPI
    store: GraphStore
    tenants: tuple[str, ...]
    spare: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def client(self, tenant: str, role: str = "admin") -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {role}-{tenant}"}
        return httpx.AsyncClient(transport=transport, base_url="http://app", headers=headers)


@pytest.fixture(scope="module", params=STORES)
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    if request.param in NEO4J:
        return request.getfixturevalue(NEO4J[request.param])
    return f"sqlite:///{tmp_path_factory.mktemp('graph')}/graph.db"


@pytest.fixture(scope="module")
async def house(url: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    tenants = tuple(f"t-{uuid.uuid4().hex}" for _ in range(MANY))
    tokens = tuple(
        Token(token=SecretStr(f"{role}-{tenant}"), role=role, tenant=tenant) for tenant in tenants for role in ROLES
    )
    app = create_app(Settings(data_dir=tmp_path_factory.mktemp("data"), tokens=tokens))
    store = open_store(url, dimensions=DIMENSIONS, refit=True)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=DIMENSIONS)
    app.state.resources = SimpleNamespace(graph=store, embedding=embedding, ready=True)
    house = House(app, store, tenants)
    await fill(house, tenants[0])
    nodes = await store.all_nodes(tenants[0])
    vectors = await embedding.embed([node.summary or node.name for node in nodes])
    await store.set_vectors(tenants[0], {node.id: vector for node, vector in zip(nodes, vectors, strict=True)})
    yield house
    await store.close()


@pytest.fixture
async def client(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """An admin of the tenant that nobody changes."""
    async with house.client(house.tenants[0]) as client:
        yield client


@pytest.fixture
async def own(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """An admin of a tenant that only this test changes."""
    tenant = house.tenants[next(house.spare)]
    await fill(house, tenant)
    async with house.client(tenant) as client:
        yield client


def edge(type: EdgeType, source: tuple[Label, str], target: tuple[Label, str]) -> EdgeFact:
    return EdgeFact(type, Ref(*source), Ref(*target))


CHECKOUT = (Label.SERVICE, "checkout-api")
NODES = (
    service("checkout-api", "checkout", summary="checkout-api takes orders.", tier="1", repo="shop/checkout"),
    service("payments-gateway", "pgw", summary="payments-gateway talks to card networks."),
    service("ledger-db", summary="ledger-db books every payment.", oncall_channel="#ledger"),
    service("storefront", summary="storefront is what customers see."),
    service("mobile", summary="mobile is the app."),
    service("web/ui", summary="web/ui is the browser's side."),
    service("مرحبا 🙂", summary="A name in another script."),
    service("search", summary="The service search."),
    NodeFact(Label.TEAM, "search", "The team search."),
    NodeFact(Label.TEAM, "payments", "The team payments.", properties={"oncall_channel": "#payments-oncall"}),
    NodeFact(Label.RUNBOOK, "runbooks/checkout.md", "What to do.", properties={"title": "Errors", "path": "r/c.md"}),
    NodeFact(Label.DOC, "docs/flow.md", "How it flows."),
    *(
        NodeFact(Label.INCIDENT, f"incident {month}", properties={"started_at": f"2026-0{month}-01T00:00:00Z"})
        for month in (1, 3, 2)
    ),
    NodeFact(Label.RELEASE, "checkout-api v2", properties={"released_at": "2026-02-01"}),
)
EDGES = (
    depends("checkout-api", "payments-gateway"),
    depends("checkout-api", "ledger-db"),
    depends("payments-gateway", "ledger-db"),
    depends("storefront", "checkout-api"),
    depends("mobile", "storefront"),
    edge(EdgeType.OWNED_BY, CHECKOUT, (Label.TEAM, "payments")),
    edge(EdgeType.OWNED_BY, CHECKOUT, (Label.TEAM, "search")),
    edge(EdgeType.HAS_RUNBOOK, CHECKOUT, (Label.RUNBOOK, "runbooks/checkout.md")),
    edge(EdgeType.DOCUMENTED_IN, CHECKOUT, (Label.DOC, "docs/flow.md")),
    edge(EdgeType.INTRODUCED_BY, CHECKOUT, (Label.RELEASE, "checkout-api v2")),
    *(edge(EdgeType.AFFECTED, (Label.INCIDENT, f"incident {month}"), CHECKOUT) for month in (1, 2, 3)),
)


async def fill(house: House, tenant: str) -> None:
    """At noon all of it and the service `old`; an hour later `old` is gone, and so is checkout-api's need of it. The
    owner of checkout-api is confirmed by another source."""
    gone = (service("old", summary="old is retired."), depends("checkout-api", "old"))
    await house.store.write(tenant, run(*NODES, *EDGES, *gone, complete=True))
    await house.store.write(tenant, run(*NODES, *EDGES, hour=1, complete=True))
    owner = edge(EdgeType.OWNED_BY, CHECKOUT, (Label.TEAM, "payments"))
    await house.store.write(tenant, run(owner, source="codeowners", hour=2))


async def got(client: httpx.AsyncClient, path: str, **params: Any) -> Any:
    answer = await client.get(path, params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def sent(client: httpx.AsyncClient, path: str, body: Any) -> Any:
    answer = await client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


def error_of(answer: httpx.Response, status: int, code: str) -> str:
    """The sentence of an error, once its form is checked."""
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    message = answer.json()["message"]
    assert message.endswith((".", ")"))
    return message


def names(page: Any) -> list[str]:
    return [each["name"] for each in page["items"]]


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


# Changes --------------------------------------------------------------------------------------------------------------


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


# For machines ---------------------------------------------------------------------------------------------------------


async def test_the_interface_for_machines_has_an_example_and_a_summary_for_every_route(house: House):
    described = house.app.openapi()
    routes = [
        (f"{method.upper()} {path}", operation)
        for path, item in described["paths"].items()
        for method, operation in item.items()
        if operation.get("tags", [""])[0].startswith("graph")
    ]
    assert len(routes) == 19
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
        for router in (graph_api.router, graph_changes.router)
        for route in router.routes
        for status, answer in getattr(route, "responses", {}).items()
        if status == 200 and "content" in answer
    }
    for name, example in EXAMPLES.items():
        model = models[id(example)]
        assert model.model_validate(example).model_dump(mode="json", by_alias=True) == example, name
