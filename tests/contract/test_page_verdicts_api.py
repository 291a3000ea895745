"""Saying over HTTP whether a page helped, on real stores: what is counted, for whom, and that ranking sees it."""

import itertools

import httpx

from agent.state import AlertFacts, Incident
from graphrag import helpfulness
from graphrag.helpfulness import PAGE_VERDICT
from graphrag.identity import name_key
from graphrag.model import Facts, Label, Node, NodeFact
from graphrag.rank import prior
from tests.contract.graphs import NOON
from tests.contract.routes import House, error_of, sent

_numbers = itertools.count(1)
PAGE = "books/till-jams.md"


def tenant_of(own: httpx.AsyncClient) -> str:
    return own.headers["authorization"].removeprefix("Bearer admin-")


async def opened(house: House, own: httpx.AsyncClient) -> str:
    """The path that says something of the pages of a new investigation, in a graph that holds the page."""
    tenant = tenant_of(own)
    subject = Incident(
        id=f"inc-page-{next(_numbers)}-{tenant[-8:]}",
        tenant=tenant,
        opened_at=NOON,
        title="Trouble",
        alerts=(AlertFacts(labels={"alertname": "TillJams"}),),
    )
    house.journal.begin(subject)
    await house.store.write(tenant, Facts("pages", NOON, (NodeFact(Label.RUNBOOK, PAGE, "How to free a till."),)))
    return f"/v1/investigations/{subject.id}/page"


async def page_of(house: House, own: httpx.AsyncClient) -> Node:
    key = name_key(PAGE)
    return (await house.store.resolve(tenant_of(own), [key], [Label.RUNBOOK]))[key][0]


async def test_a_page_that_helped_gains_and_one_that_did_not_loses(house: House, own: httpx.AsyncClient) -> None:
    first, second, third = [await opened(house, own) for _ in range(3)]
    unsaid = prior((await page_of(house, own)).properties, 0.4)
    said = await sent(own, first, {"page": PAGE})
    assert (said["page"]["name"], said["offered"], said["helped"]) == (PAGE, 1, 1)
    helped = prior((await page_of(house, own)).properties, 0.4)
    assert helped > unsaid
    for path in (second, third):
        said = await sent(own, path, {"page": PAGE, "helped": False})
    assert (said["offered"], said["helped"]) == (3, 1)
    assert prior((await page_of(house, own)).properties, 0.4) < helped


async def test_what_is_said_again_of_one_investigation_counts_once_and_replaces_it(
    house: House, own: httpx.AsyncClient
) -> None:
    path = await opened(house, own)
    for helped in (True, True, False):
        said = await sent(own, path, {"page": PAGE, "helped": helped})
    assert (said["offered"], said["helped"]) == (1, 0)
    assert len(await house.store.records(tenant_of(own), PAGE_VERDICT)) == 1


async def test_what_was_said_outlives_a_page_that_is_written_anew(house: House, own: httpx.AsyncClient) -> None:
    path = await opened(house, own)
    await sent(own, path, {"page": PAGE})
    await house.store.write(tenant_of(own), Facts("pages", NOON, complete=True))
    await house.store.write(tenant_of(own), Facts("pages", NOON, (NodeFact(Label.RUNBOOK, PAGE, "Anew."),)))
    await helpfulness.refresh(house.store, tenant_of(own))
    assert (await page_of(house, own)).properties["helped"] == 1


async def test_what_is_no_page_or_no_investigation_of_the_tenant_is_refused(
    house: House, own: httpx.AsyncClient
) -> None:
    path = await opened(house, own)
    assert error_of(await own.post(path, json={"page": "no-such.md"}), 404, "unknown_entity")
    error_of(await own.post("/v1/investigations/inc-nothing/page", json={"page": PAGE}), 404, "unknown_investigation")
    error_of(await own.post(path, json={"page": PAGE, "helped": "perhaps"}), 422, "invalid")
