"""Who a report says owns the incident, and by what that is known."""

import pytest

from agent.known import TeamClaim
from agent.owner import Owner, owner_of
from agent.report import NO_CHANNEL, Report, build
from agent.state import State
from connectors.observations import OwnersSeen
from tests.unit.agent.scene import (
    PAYMENTS,
    STORAGE,
    answered,
    consulted,
    consulted_state,
    equipped,
    known,
    located,
    state,
)

OWNERS = OwnersSeen(repo="acme/checkout", owners=("@acme/storage",))
BY_LABEL = TeamClaim(team=STORAGE, by="label", says="its label team=storage")
NOTHING_FOUND = consulted(service=None, team=None, dependencies=(), dependents=(), runbooks=())


def of(state: State) -> Report:
    return build(state, status="complete")


def told(owner: Owner) -> tuple[str | None, str | None, str]:
    return owner.team, owner.channel, owner.certainty


def test_the_owner_is_the_graphs_team_and_its_channel() -> None:
    assert owner_of(consulted_state()) == Owner(
        team="payments", channel="#payments-oncall", certainty="certain", known_by="the graph's owner of checkout-api"
    )


def test_a_channel_of_the_services_own_comes_before_its_teams() -> None:
    service = known("checkout-api", properties={"oncall_channel": "#checkout"})
    assert told(owner_of(consulted_state(service=service))) == ("payments", "#checkout", "certain")


def test_codeowners_overrule_the_graph_and_bring_their_own_channel() -> None:
    report = of(consulted_state(equipped(), answered("owners@github", OWNERS)))
    assert told(report.owner) == ("storage", "#storage", "certain")
    assert report.owner.known_by == "CODEOWNERS of the service's repository"
    assert [each.fact for each in report.conflicts] == ["owner"]


def test_an_owner_the_graph_does_not_know_is_told_as_written() -> None:
    seen = OWNERS.model_copy(update={"owners": ("@acme/new-team",)})
    report = of(consulted_state(equipped(), answered("owners@github", seen)))
    assert told(report.owner) == ("@acme/new-team", None, "certain")
    assert f"There is {NO_CHANNEL} for @acme/new-team." in report.gaps


def test_an_unknown_owner_and_channel_are_gaps() -> None:
    report = of(consulted_state(team=None, runbooks=()))
    assert report.owner == Owner()
    assert report.gaps[:3] == (
        "The graph knows no owner of checkout-api.",
        f"There is {NO_CHANNEL} for checkout-api.",
        "The graph knows no runbook of checkout-api.",
    )


def test_without_a_service_the_team_that_was_found_is_probably_the_owner_and_gets_the_report() -> None:
    found = located("unresolved", names=(), owner=STORAGE, owner_known_by=BY_LABEL.says, claims=(BY_LABEL,))
    report = of(state(found, NOTHING_FOUND))
    assert told(report.owner) == ("storage", "#storage", "likely")
    claim = next(claim for claim in report.claims if "storage" in claim.text)
    assert claim.text == "This is probably for storage, says its label team=storage."
    assert claim.evidence == (STORAGE.id,)
    assert STORAGE.id in {each.id for each in report.evidence}


def test_without_a_service_or_a_team_the_report_says_why_there_is_none() -> None:
    report = of(state(located("unresolved", names=()), NOTHING_FOUND))
    assert report.owner == Owner()
    assert any(gap.startswith("No owner is known, as no service is, and nothing") for gap in report.gaps)
    torn = located("unresolved", names=(), owner_known_by="its label team names more than one: amber and birch")
    report = of(state(torn, NOTHING_FOUND))
    assert told(report.owner) == (None, None, "unknown")
    assert "No owner is known, as no service is: its label team names more than one: amber and birch." in report.gaps


def test_a_team_that_was_found_without_a_channel_is_a_gap() -> None:
    quiet = known("quiet", "Team")
    report = of(state(located("unresolved", names=(), owner=quiet, owner_known_by="its label"), NOTHING_FOUND))
    assert told(report.owner) == ("quiet", None, "likely")
    assert f"There is {NO_CHANNEL} for quiet." in report.gaps


def test_a_sure_service_that_nobody_owns_is_probably_the_teams_that_the_alert_names() -> None:
    found = located(owner=STORAGE, owner_known_by=BY_LABEL.says, claims=(BY_LABEL,))
    report = of(state(found, consulted(team=None)))
    assert told(report.owner) == ("storage", "#storage", "likely")
    assert "The graph knows no owner of checkout-api." in report.gaps
    assert report.conflicts == ()


def test_the_owner_of_a_sure_service_wins_over_the_alerts_label_and_the_difference_is_told() -> None:
    found = located(owner=STORAGE, owner_known_by=BY_LABEL.says, claims=(BY_LABEL,))
    report = of(state(found, consulted()))
    assert told(report.owner) == ("payments", "#payments-oncall", "certain")
    (conflict,) = report.conflicts
    assert (conflict.fact, conflict.graph, conflict.winner) == ("owner", "payments", "graph")
    assert conflict.live == "storage by its label team=storage"
    assert set(conflict.evidence) <= {each.id for each in report.evidence}


@pytest.mark.parametrize(
    "claim",
    [
        TeamClaim(team=PAYMENTS, by="label", says="its label team=payments"),
        TeamClaim(team=STORAGE, by="codeowners", says="the CODEOWNERS of its rule's file"),
    ],
    ids=["the same team", "who reviews the rule"],
)
def test_what_does_not_contradict_the_owner_is_no_conflict(claim: TeamClaim) -> None:
    assert of(state(located(claims=(claim,)), consulted())).conflicts == ()
