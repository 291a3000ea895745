from datetime import timedelta
from pathlib import Path

import pytest

from agent.learn import SOURCE, facts_of, learn
from agent.report import build
from agent.state import AlertFacts
from graphrag.errors import GraphUnavailable
from graphrag.model import Direction, EdgeFact, EdgeType, Facts, Label, NodeFact, Ref, WriteReport
from graphrag.sqlite_store import SqliteStore
from tests.unit.agent.scene import (
    INCIDENT,
    OPENED,
    START,
    answered,
    consulted,
    consulted_state,
    located,
    minutes,
    state,
)

FOUND = build(consulted_state(), status="complete")
LOST = build(state(located("ambiguous", names=("a", "b")), consulted(service=None, team=None)), status="complete")
HERE = Ref(Label.INCIDENT, "inc-1")


class AbsentStore(SqliteStore):
    async def write(self, tenant: str, facts: Facts) -> WriteReport:
        raise GraphUnavailable("the graph does not answer")


def test_an_open_incident_is_known_by_its_service_and_its_team():
    facts = facts_of(INCIDENT, FOUND, None)
    assert facts == Facts(
        source=SOURCE,
        seen_at=START,
        nodes=(
            NodeFact(
                Label.INCIDENT,
                "inc-1",
                summary=f"HighErrorRate. {FOUND.verdict}",
                properties={
                    "title": "HighErrorRate",
                    "started_at": START.isoformat(),
                    "status": "open",
                    "severity": "",
                    "affected": "checkout-api",
                },
            ),
        ),
        edges=(
            EdgeFact(EdgeType.AFFECTED, HERE, Ref(Label.SERVICE, "checkout-api")),
            EdgeFact(EdgeType.RESPONDED_BY, HERE, Ref(Label.TEAM, "payments")),
        ),
    )


def test_a_resolved_incident_says_since_when_and_was_seen_then():
    ended = START + minutes(40)
    facts = facts_of(INCIDENT, FOUND, ended)
    assert facts.nodes[0].properties["status"] == "resolved"
    assert facts.nodes[0].properties["resolved_at"] == ended.isoformat()
    assert facts.seen_at == ended


def test_a_service_that_was_not_found_with_certainty_is_not_said_to_be_affected():
    facts = facts_of(INCIDENT, LOST, None)
    assert facts.edges == ()
    assert facts.nodes[0].properties["affected"] == ""


def test_without_a_team_nobody_is_said_to_have_responded():
    facts = facts_of(INCIDENT, build(consulted_state(team=None), status="complete"), None)
    assert [edge.type for edge in facts.edges] == [EdgeType.AFFECTED]


def test_the_severity_is_the_first_one_an_alert_tells():
    alerts = tuple(AlertFacts(labels=labels) for labels in ({}, {"severity": "page"}, {"severity": "info"}))
    facts = facts_of(INCIDENT.model_copy(update={"alerts": alerts}), FOUND, None)
    assert facts.nodes[0].properties["severity"] == "page"


def test_a_source_that_tells_of_one_incident_closes_no_other():
    assert facts_of(INCIDENT, FOUND, None).complete is False


async def test_the_same_incident_learnt_again_only_updates_it(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await store.open()
    services = (NodeFact(Label.SERVICE, "checkout-api"), NodeFact(Label.TEAM, "payments"))
    await store.write("default", Facts("catalog", START - timedelta(days=1), services))
    assert await learn(store, INCIDENT, FOUND, None) is None
    assert await learn(store, INCIDENT, FOUND, OPENED + minutes(40)) is None
    nodes = [node for node in await store.all_nodes("default") if node.label is Label.INCIDENT]
    edges = await store.edges("default", [nodes[0].id], list(EdgeType), Direction.OUT, 10)
    await store.close()
    assert [(node.name, node.properties["status"]) for node in nodes] == [(HERE.name, "resolved")]
    assert sorted(edge.type for edge in edges) == [EdgeType.AFFECTED, EdgeType.RESPONDED_BY]


async def test_a_graph_that_is_down_is_told_and_not_raised(tmp_path: Path) -> None:
    store = AbsentStore(tmp_path / "graph.db", dimensions=2)
    assert await learn(store, INCIDENT, FOUND, None) == "the graph does not answer"


@pytest.mark.parametrize("owner", ["@acme/new-team"])
def test_an_owner_the_graph_does_not_know_is_kept_as_written(owner):
    report = FOUND.model_copy(update={"owner": FOUND.owner.model_copy(update={"team": owner})})
    assert facts_of(INCIDENT, report, None).edges[1].target == Ref(Label.TEAM, owner)


def test_what_was_answered_later_does_not_change_when_it_began():
    report = build(consulted_state(answered("a@a")), status="complete")
    assert facts_of(INCIDENT, report, None).seen_at == START
