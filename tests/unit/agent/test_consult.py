from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from agent.consult import MAX_PASSAGE, consult_graph, locate_incident, signals_of
from agent.report import build
from agent.state import AlertFacts, Incident
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Ref
from graphrag.sqlite_store import SqliteStore
from graphrag.store import GraphStore
from tests.unit.agent.scene import ALERT, INCIDENT, OPENED, START, state

TENANT = "default"


def service(name: str) -> Ref:
    return Ref(Label.SERVICE, name)


NODES = (
    *(NodeFact(Label.SERVICE, name) for name in ("ledger", "vault", "shop", "mall", "island")),
    NodeFact(Label.SERVICE, "checkout-api", summary="Takes the money.", aliases=("checkout",)),
    NodeFact(Label.TEAM, "payments", properties={"oncall_channel": "#payments"}),
    NodeFact(Label.TEAM, "storage"),
    NodeFact(Label.RUNBOOK, "checkout errors"),
    NodeFact(Label.DOC, "checkout design"),
    *(
        NodeFact(Label.RELEASE, f"checkout {day}", properties={"released_at": f"2026-02-0{day}T00:00:00+00:00"})
        for day in (1, 3, 2)
    ),
    *(
        NodeFact(Label.INCIDENT, f"outage {day}", properties={"started_at": f"2026-01-0{day}T00:00:00+00:00"})
        for day in (1, 2)
    ),
)
CHECKOUT = service("checkout-api")
EDGES = (
    EdgeFact(EdgeType.DEPENDS_ON, CHECKOUT, service("ledger")),
    EdgeFact(EdgeType.DEPENDS_ON, service("ledger"), service("vault")),
    EdgeFact(EdgeType.DEPENDS_ON, service("shop"), CHECKOUT),
    EdgeFact(EdgeType.DEPENDS_ON, service("mall"), service("shop")),
    EdgeFact(EdgeType.OWNED_BY, CHECKOUT, Ref(Label.TEAM, "payments")),
    EdgeFact(EdgeType.HAS_RUNBOOK, CHECKOUT, Ref(Label.RUNBOOK, "checkout errors")),
    EdgeFact(EdgeType.DOCUMENTED_IN, CHECKOUT, Ref(Label.DOC, "checkout design")),
    *(EdgeFact(EdgeType.INTRODUCED_BY, CHECKOUT, Ref(Label.RELEASE, f"checkout {day}")) for day in (1, 3, 2)),
    *(EdgeFact(EdgeType.AFFECTED, Ref(Label.INCIDENT, f"outage {day}"), CHECKOUT) for day in (1, 2)),
)


async def embed(texts: Sequence[str]) -> list[list[float]]:
    return [[1.0, 0.0] for _ in texts]


def elapsed() -> float:
    return 0.25


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    store = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await store.open()
    await store.write(TENANT, Facts("catalog", START - timedelta(days=1), NODES, EDGES))
    yield store
    await store.close()


def ask(**changes) -> Incident:
    return Incident(**{"id": "i", "tenant": TENANT, "opened_at": OPENED, "title": "t", **changes})


# What an incident says of its service ------------------------------------------------------------


def test_a_service_that_somebody_names_is_the_only_signal():
    signals = signals_of(ask(service="checkout", question="why?", alerts=(ALERT,)))
    assert [(each.origin, each.value) for each in signals.names] == [("service", "checkout")]
    assert signals.text == "checkout"


def test_alerts_speak_by_labels_and_expressions():
    alerts = (AlertFacts(labels={"service": "shop"}), AlertFacts(expression='up{app="ledger"}'))
    values = {each.value for each in signals_of(ask(alerts=alerts)).names}
    assert {"shop", "ledger"} <= values


def test_a_question_speaks_by_its_words():
    assert "checkout" in signals_of(ask(question="why is checkout slow?")).text


# Where it is -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "incident",
    [INCIDENT, ask(service="checkout"), ask(question="why is checkout-api slow?")],
    ids=["alert", "service", "question"],
)
async def test_an_incident_finds_its_service(store: GraphStore, incident: Incident):
    found = await locate_incident(store, embed, incident, elapsed)
    assert found.service is not None
    assert (found.certainty, found.service.name, found.seconds) == ("resolved", "checkout-api", 0.25)
    assert found.service.reasons
    assert found.explanation


async def test_a_found_page_comes_with_its_score_its_parts_and_a_passage_without_secrets(store: GraphStore):
    text = "When drawers jam, log in with\npassword=hunter2 and wait. " + "Then wait. " * 100
    passage = NodeFact(
        Label.CHUNK, "checkout errors#0", text, properties={"source": "checkout errors", "ordinal": 0, "text": text}
    )
    await store.write(TENANT, Facts("pages", START, (passage,)))
    found = await locate_incident(store, embed, ask(alerts=(AlertFacts(labels={"alertname": "DrawersJam"}),)), elapsed)
    (page,) = [each for each in found.documents if each.name == "checkout errors"]
    assert page.score == pytest.approx(sum(page.parts.values()), abs=0.001)
    assert page.passage.startswith("When drawers jam, log in with password=[redacted] and wait.")
    assert len(page.passage) <= MAX_PASSAGE


async def test_pages_of_the_one_service_of_the_team_that_an_alert_is_for_find_its_service(store: GraphStore):
    text = "When drawers jam, open them by hand."
    told = {"source": "checkout errors", "ordinal": 0, "text": text}
    await store.write(
        TENANT, Facts("pages", START, (NodeFact(Label.CHUNK, "checkout errors#0", text, properties=told),))
    )
    jam = {"alertname": "DrawersJam"}
    unsaid, said = [
        await locate_incident(store, embed, ask(alerts=(AlertFacts(labels=labels),)), elapsed)
        for labels in (jam, jam | {"team": "payments"})
    ]
    assert unsaid.service is None
    assert said.service is not None
    assert (said.certainty, said.service.name) == ("resolved", "checkout-api")
    assert said.service.reasons[0] == "most of the pages that read like it are of this service"


async def test_a_name_nobody_knows_resolves_to_nothing(store: GraphStore):
    found = await locate_incident(store, embed, ask(service="zzz"), elapsed)
    assert found.service is None


async def test_another_tenants_services_are_not_found(store: GraphStore):
    found = await locate_incident(store, embed, ask(service="checkout", tenant="other"), elapsed)
    assert (found.certainty, found.candidates, found.documents) == ("unresolved", (), ())


# What is around it -------------------------------------------------------------------------------


async def consulted_about(store: GraphStore, name: str):
    found = await locate_incident(store, embed, ask(service=name), elapsed)
    assert found.service is not None
    return await consult_graph(store, TENANT, found.service.id, elapsed)


async def test_everything_around_the_service_is_read(store: GraphStore):
    found = await consulted_about(store, "checkout-api")
    assert found.service is not None
    assert found.team is not None
    assert (found.service.names, found.service.summary) == (("checkout-api", "checkout"), "Takes the money.")
    assert (found.service.label, found.service.sources) == ("Service", ("catalog",))
    assert (found.team.name, found.team.text("oncall_channel")) == ("payments", "#payments")
    assert {team.name for team in found.teams} == {"payments", "storage"}
    assert [(each.name, each.hops) for each in found.dependencies] == [("ledger", 1), ("vault", 2)]
    assert found.dependencies[1].path == ("checkout-api", "ledger", "vault")
    assert [(each.name, each.hops) for each in found.dependents] == [("shop", 1), ("mall", 2)]
    assert [each.name for each in found.runbooks] == ["checkout errors"]
    assert [each.name for each in found.documents] == ["checkout design"]
    assert (found.truncated, found.error, found.seconds) == (False, "", 0.25)


async def test_releases_and_past_incidents_come_newest_first(store: GraphStore):
    found = await consulted_about(store, "checkout-api")
    assert [each.name for each in found.releases] == ["checkout 3", "checkout 2", "checkout 1"]
    assert [each.name for each in found.incidents] == ["outage 2", "outage 1"]


async def test_a_service_on_its_own_has_nothing_around_it(store: GraphStore):
    found = await consulted_about(store, "island")
    assert found.service is not None
    assert (found.team, found.dependencies, found.dependents, found.runbooks) == (None, (), (), ())


async def test_without_a_service_nothing_is_read(store: GraphStore):
    found = await consult_graph(store, TENANT, None, elapsed)
    assert (found.service, found.teams, found.error) == (None, (), "")


async def test_a_service_that_is_gone_by_now_is_no_service(store: GraphStore):
    assert (await consult_graph(store, TENANT, "service-0", elapsed)).service is None


async def test_an_open_incident_of_a_supplier_is_a_suspect_and_no_history_of_the_service(store: GraphStore):
    nodes = tuple(
        NodeFact(Label.INCIDENT, f"ledger {status}", properties={"status": status, "affected": "ledger"})
        for status in ("open", "resolved")
    )
    edges = tuple(EdgeFact(EdgeType.AFFECTED, Ref(Label.INCIDENT, node.name), service("ledger")) for node in nodes)
    await store.write(TENANT, Facts("incidents", START, nodes, edges))
    consulted = await consulted_about(store, "checkout-api")
    assert [each.name for each in consulted.supplier_incidents] == ["ledger open"]
    report = build(state(await locate_incident(store, embed, INCIDENT, elapsed), consulted), status="complete")
    assert [suspect.name for suspect in report.suspects] == ["ledger"]
    assert not [claim.text for claim in report.claims if claim.kind == "history" and "ledger" in claim.text]
