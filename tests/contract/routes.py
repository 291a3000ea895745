"""What the suites of the graph over HTTP share: the service's routes over one store, what the store holds, and how to
ask."""

import itertools
from dataclasses import dataclass, field
from typing import Any

import httpx
from fastapi import FastAPI

from app.journal import Journal
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, Ref
from graphrag.store import GraphStore
from tests.contract.graphs import depends, run, service


@dataclass
class House:
    """The service's routes over one store, and a tenant for each test that changes something."""

    app: FastAPI
    store: GraphStore
    journal: Journal
    tenants: tuple[str, ...]
    spare: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def client(self, tenant: str, role: str = "admin") -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        headers = {"Authorization": f"Bearer {role}-{tenant}"}
        return httpx.AsyncClient(transport=transport, base_url="http://app", headers=headers)


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
