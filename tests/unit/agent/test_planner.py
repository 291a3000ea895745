from agent.planner import MAX_EXPRESSIONS, MAX_SERVERS_A_READ, expressions, plan
from agent.state import AlertFacts
from connectors.tool import ToolSpec
from tests.unit.agent.scene import (
    INCIDENT,
    OPENED,
    PROMETHEUS,
    RELEASES,
    consulted,
    consulted_state,
    equipped,
    known,
    located,
    state,
)

EVERY_TOOL = tuple(
    ToolSpec(server=server, name=name)
    for server, name in (
        ("prometheus", "execute_range_query"),
        ("prometheus", "execute_query"),
        ("github", "get_latest_release"),
        ("github", "list_pull_requests"),
        ("github", "get_file_contents"),
        ("slack", "conversations_history"),
        ("wiki", "confluence_search"),
    )
)


def ids(subject) -> list[str]:
    return [each.id for each in plan(subject)]


def test_nothing_is_planned_before_the_graph_was_consulted():
    assert plan(state()) == ()


def test_every_read_the_graph_gives_a_reason_for_is_planned():
    assert ids(consulted_state(equipped(*EVERY_TOOL))) == [
        "alert-expression-1@prometheus",
        "service-graph@prometheus",
        "latest-release@github",
        "changes@github",
        "owners-1@github",
        "chat@slack",
        "pages@wiki",
    ]


def test_only_tools_that_are_offered_are_called():
    assert ids(consulted_state(equipped(RELEASES))) == ["latest-release@github"]


def test_a_read_goes_to_each_server_that_offers_it_up_to_a_bound():
    many = [ToolSpec(server=f"p{number}", name="execute_range_query") for number in range(5)]
    assert ids(consulted_state(equipped(*many))) == [
        f"alert-expression-1@p{number}" for number in range(MAX_SERVERS_A_READ)
    ]


def test_without_a_service_only_the_alerts_expressions_are_read():
    subject = state(located("unresolved", names=()), consulted(service=None, team=None), equipped(*EVERY_TOOL))
    assert ids(subject) == ["alert-expression-1@prometheus"]


def test_without_a_channel_nobody_asks_the_chat():
    teams = (None, known("quiet", "Team"))
    for team in teams:
        assert "chat@slack" not in ids(consulted_state(equipped(*EVERY_TOOL), team=team))


def test_without_a_repository_nobody_asks_github():
    planned = ids(consulted_state(equipped(*EVERY_TOOL), service=known("checkout-api")))
    assert not [each for each in planned if each.endswith("@github")]


def test_the_alerts_expression_is_read_without_its_comparison():
    (planned,) = plan(consulted_state(equipped(PROMETHEUS)))
    assert planned.arguments["query"] == 'rate(errors_total{service="checkout-api"}[5m])'
    assert planned.purpose == "the alert's own expression"


def test_expressions_are_distinct_and_bounded():
    alerts = tuple(AlertFacts(expression=text) for text in ("a", "", "b", "a", "c", "d"))
    subject = state().model_copy(update={"incident": INCIDENT.model_copy(update={"alerts": alerts})})
    assert expressions(subject) == ("a", "b", "c")
    assert len(expressions(subject)) == MAX_EXPRESSIONS


def test_the_hour_before_the_servers_answered_is_read_and_the_same_state_gives_the_same_plan():
    subject = consulted_state(equipped(PROMETHEUS))
    (planned,) = plan(subject)
    assert plan(subject) == (planned,)
    assert subject.equipped is not None
    assert subject.equipped.at > OPENED
    assert subject.equipped.at.strftime("%H:%M:%S") in str(planned.arguments)
