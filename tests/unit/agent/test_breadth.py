from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from agent.consult import consult_incident, locate_incident
from agent.report import Report, build
from agent.state import Consulted, Incident, Located
from graphrag.communities import refresh
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Ref
from graphrag.sqlite_store import SqliteStore
from tests.unit.agent.scene import OPENED, START, state

TENANT = "default"


def service(name: str) -> Ref:
    return Ref(Label.SERVICE, name)


NODES = (
    NodeFact(Label.SERVICE, "storefront", summary="What customers see."),
    NodeFact(Label.SERVICE, "checkout-api", summary="Takes the money."),
    NodeFact(Label.SERVICE, "ledger-db", summary="Keeps who paid money to whom."),
    NodeFact(Label.SERVICE, "depot", summary="Stores pictures."),
    NodeFact(Label.SERVICE, "thumbs", summary="Makes small pictures."),
    NodeFact(Label.SERVICE, "island"),
    NodeFact(Label.TEAM, "payments"),
)
EDGES = (
    EdgeFact(EdgeType.DEPENDS_ON, service("storefront"), service("checkout-api")),
    EdgeFact(EdgeType.DEPENDS_ON, service("checkout-api"), service("ledger-db")),
    EdgeFact(EdgeType.DEPENDS_ON, service("thumbs"), service("depot")),
    EdgeFact(EdgeType.OWNED_BY, service("checkout-api"), Ref(Label.TEAM, "payments")),
)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await store.open()
    await store.write(TENANT, Facts("catalog", START, NODES, EDGES))
    await refresh(store, TENANT, START)
    yield store
    await store.close()


async def embed(texts: Sequence[str]) -> list[list[float]]:
    return [[0.0, 0.0] for _ in texts]


def asked(question: str) -> Incident:
    return Incident(id="inv-1", tenant=TENANT, opened_at=OPENED, title=question, question=question)


async def answered(store: SqliteStore, question: str) -> tuple[Located, Consulted, Report]:
    incident = asked(question)
    located = await locate_incident(store, embed, incident, lambda: 0.0)
    consulted = await consult_incident(store, embed, incident, located, lambda: 0.0)
    report = build(state(located, consulted, incident=incident), status="complete", reason="the plan is done")
    return located, consulted, report


async def test_a_question_about_the_whole_is_answered_by_community(store: SqliteStore) -> None:
    located, _, report = await answered(store, "Which services have to do with money?")
    assert (located.route, located.service, report.service.name) == ("whole", None, None)
    assert report.verdict.startswith("This is an answer about the whole")
    first = report.parts[0]
    assert first.services[0] in ("checkout-api", "ledger-db")
    assert "Owned by payments: checkout-api" in first.text
    assert "depot" not in first.services


async def test_every_part_is_a_claim_whose_evidence_names_the_community(store: SqliteStore) -> None:
    _, _, report = await answered(store, "Which services have to do with pictures?")
    evidence = {each.id: each for each in report.evidence}
    assert report.unproven == ()
    for part in report.parts:
        assert set(part.evidence) <= evidence.keys()
        assert any(part.community in claim.evidence and part.text in claim.text for claim in report.claims)
        assert evidence[part.community].source == "graph"
    assert next(check for check in report.checked if check.source == "graph").result == "found"


async def test_how_two_things_hang_together_is_told_along_the_path_of_needs(store: SqliteStore) -> None:
    located, _, report = await answered(store, "How does ledger-db reach storefront?")
    assert (located.route, [end.name for end in located.ends]) == ("paths", ["ledger-db", "storefront"])
    assert report.verdict == (
        "ledger-db and storefront hang together in 1 way of 2 steps. "
        "checkout-api depends on ledger-db; storefront depends on checkout-api."
    )
    (claim,) = report.claims
    assert {each.entity for each in report.evidence if each.id in claim.evidence} == {
        "storefront",
        "checkout-api",
        "ledger-db",
    }


async def test_two_things_without_a_path_are_said_to_have_none(store: SqliteStore) -> None:
    _, _, report = await answered(store, "How is island connected to storefront?")
    assert report.verdict == "The graph knows no way in which island and storefront hang together."
    assert report.claims == ()
    assert next(check for check in report.checked if check.source == "graph").result == "empty"


async def test_a_question_about_one_service_is_answered_as_ever(store: SqliteStore) -> None:
    located, consulted, report = await answered(store, "Why is checkout-api slow?")
    assert (located.route, consulted.parts, consulted.ways) == ("point", (), ())
    assert (report.service.name, report.owner.team, report.parts) == ("checkout-api", "payments", ())


async def test_a_whole_that_nothing_fits_is_said_to_be_unknown(store: SqliteStore) -> None:
    _, _, report = await answered(store, "Which zzqx do we have?")
    assert report.parts == ()
    assert "nothing in the graph's communities has to do with it" in report.verdict


async def test_an_alert_is_about_a_service_whatever_its_words(store: SqliteStore) -> None:
    incident = state().incident.model_copy(update={"question": "overview of all services"})
    located = await locate_incident(store, embed, incident, lambda: 0.0)
    assert located.route == "point"
