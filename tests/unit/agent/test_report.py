import json
from collections.abc import Sequence
from datetime import timedelta

import pytest

from agent.report import (
    NO_CHANNEL,
    NO_MODEL,
    BlastRadius,
    Owner,
    RelatedService,
    Report,
    RunbookFound,
    ServiceFound,
    build,
    number,
)
from agent.state import Known, ModelClaim
from connectors.observations import DependencySeen, MessageSeen, MetricSeen, OwnersSeen, PageSeen, ReleaseSeen
from tests.unit.agent.scene import (
    CHECKOUT,
    INCIDENT,
    OPENED,
    PAST,
    PAYMENTS,
    PROMETHEUS,
    RELEASE,
    RUNBOOK,
    START,
    answered,
    call,
    consulted,
    consulted_state,
    equipped,
    failed,
    known,
    located,
    minutes,
    model_failed,
    replied,
    state,
)

METRIC = MetricSeen(
    expression="rate(errors_total[5m])",
    labels={"__name__": "errors_total", "service": "checkout-api", "code": "500"},
    last=0.25,
    lowest=0.01,
    highest=1234.5,
    at=OPENED,
)
OWNERS = OwnersSeen(repo="acme/checkout", owners=("@acme/storage",))


def of(subject, status: str = "complete", reason: str = "") -> Report:
    return build(subject, status=status, reason=reason)


def texts(report: Report, kind: str) -> list[str]:
    return [claim.text for claim in report.claims if claim.kind == kind]


# Every claim is proven ------------------------------------------------------------------------------------------------


def test_a_model_sentence_is_a_claim_only_when_all_its_evidence_exists():
    made = call()
    reply = replied(
        claims=[
            ModelClaim(text="proven", evidence=(made.id, CHECKOUT.id)),
            ModelClaim(text="half invented", evidence=(made.id, "release-99")),
            ModelClaim(text="bare"),
        ]
    )
    report = of(consulted_state(equipped(), answered(made), reply))
    assert texts(report, "model") == ["proven"]
    assert report.unproven == ("half invented", "bare")


def test_every_claim_cites_evidence_that_the_report_holds():
    subject = consulted_state(equipped(), answered(call(), METRIC), releases=(RELEASE,), incidents=(PAST,))
    report = of(subject)
    ids = {each.id for each in report.evidence}
    assert report.claims
    assert all(claim.evidence and ids.issuperset(claim.evidence) for claim in report.claims)


def test_a_failed_call_proves_nothing():
    reply = replied(claims=[ModelClaim(text="all is well", evidence=(call().id,))])
    assert of(consulted_state(equipped(), failed(call()), reply)).unproven == ("all is well",)


def test_the_last_claims_a_model_made_are_the_ones_reported():
    early, late = (ModelClaim(text=text, evidence=(CHECKOUT.id,)) for text in ("early", "late"))
    subject = consulted_state(equipped(), replied(claims=[early]), replied(claims=[late]), replied())
    assert texts(of(subject), "model") == ["late"]


# What is measured, known and said -------------------------------------------------------------------------------------


def test_a_measured_value_is_told_with_its_labels_and_its_range():
    report = of(consulted_state(equipped(), answered(call(), METRIC)))
    assert texts(report, "measured") == [
        "The alert's expression is 0.25 for code=500, service=checkout-api "
        "(0.01 to 1234 in the time asked for): rate(errors_total[5m])"
    ]


def test_a_value_the_model_asked_for_is_called_a_query_and_a_long_one_is_cut():
    seen = METRIC.model_copy(update={"labels": {}, "expression": "x" * 200})
    (text,) = texts(of(consulted_state(equipped(), answered("model-1-1@prometheus", seen))), "measured")
    assert text.startswith("A query is 0.25 (")
    assert text.endswith(f": {'x' * 160}…")


def test_what_the_graph_knows_is_claimed_as_known_and_as_history():
    nameless = known("older", "Incident")
    report = of(consulted_state(incidents=(PAST, nameless)))
    assert texts(report, "known") == [
        "This is about checkout-api by its label.",
        "checkout-api is owned by payments, says the graph.",
    ]
    assert texts(report, "history") == [
        "checkout-api was hit before: Checkout was slow, on 2026-01-05.",
        "checkout-api was hit before: older.",
    ]


def test_only_messages_within_an_hour_of_the_start_are_told():
    def message(author, at):
        return MessageSeen(channel="#ops", author=author, text="deploying", at=at)

    seen = (
        message("near", START - minutes(60)),
        message("far", START - minutes(61)),
        message("undated", None),
        PageSeen(title="Page", excerpt=""),
    )
    report = of(consulted_state(equipped(), answered("chat@slack", *seen)))
    assert texts(report, "said") == ["near wrote: deploying"]


# Where it is and who is to be called ----------------------------------------------------------------------------------


def test_a_report_of_nothing_found_yet_says_so():
    report = of(state(), "running")
    assert report.service == ServiceFound(name=None, certainty="unresolved")
    assert report.verdict == "The investigation has not found its place in the graph yet."
    assert (report.owner, report.dependencies, report.blast_radius) == (Owner(), (), BlastRadius())
    assert (report.runbooks, report.checked, report.gaps, report.claims) == ((), (), (), ())
    assert report.spend.seconds == 0


def test_an_ambiguous_service_is_not_guessed_but_its_candidates_are_told():
    report = of(state(located("ambiguous", names=("a", "b", "c", "d", "e", "f")), consulted(service=None, team=None)))
    assert report.service.name is None
    assert [each.name for each in report.service.candidates] == ["a", "b", "c", "d", "e"]
    assert report.verdict == "I don't know which service this is about. It may be one of: a, b, c."


def test_a_service_that_nothing_names_is_said_to_be_unknown():
    report = of(state(located("unresolved", names=()), consulted(service=None, team=None)))
    assert report.verdict == (
        "I don't know which service this is about: nothing in it names a service the graph knows."
    )


def test_a_graph_that_does_not_answer_is_not_a_service_that_nobody_knows():
    report = of(state(located("unresolved", names=(), error="down"), consulted(service=None, team=None, error="down")))
    assert report.verdict == "I don't know which service this is about: the graph does not answer."
    assert "The graph could not be read: down" in report.gaps


def test_a_team_without_a_channel_is_a_gap():
    assert f"There is {NO_CHANNEL} for quiet." in of(consulted_state(team=known("quiet", "Team"))).gaps


def test_suppliers_seen_only_in_traffic_come_first_and_are_marked_live():
    seen = DependencySeen(client="checkout-api", server="fraud-check", at=OPENED)
    report = of(consulted_state(equipped(), answered("service-graph@prometheus", seen)))
    assert report.dependencies == (
        RelatedService(name="fraud-check", hops=1, path=("checkout-api", "fraud-check"), source="live"),
        RelatedService(name="ledger", hops=1, path=("checkout-api", "ledger")),
        RelatedService(name="vault", hops=2, path=("checkout-api", "ledger", "vault")),
    )


def test_the_blast_radius_is_the_dependents_and_says_when_it_was_cut():
    report = of(consulted_state(truncated=True))
    assert report.blast_radius == BlastRadius(services=("shop",), count=1, truncated=True)
    assert report.dependents == (RelatedService(name="shop", hops=1, path=("shop", "checkout-api")),)
    assert "The blast radius was cut off at its cap: there are more services than shown." in report.gaps


# Runbooks -------------------------------------------------------------------------------------------------------------


def page(name: str, score: float, label: str = "Runbook") -> Known:
    return known(name, label, score=score, parts={"text": score})


def paths(documents: Sequence[Known], runbooks: Sequence[Known] = ()) -> list[str]:
    report = of(state(located(documents=documents), consulted(runbooks=runbooks)))
    return [each.path for each in report.runbooks]


def test_the_runbook_the_search_found_comes_before_the_services_other_ones():
    other = known("restart", "Runbook", properties={"url": "https://wiki/restart", "steps_summary": "Drain, restart."})
    found = located(documents=(other.model_copy(update={"score": 0.5, "parts": {"text": 0.5}}),))
    report = of(state(found, consulted(runbooks=(RUNBOOK, other))))
    assert report.runbooks == (
        RunbookFound(
            title="restart", path="https://wiki/restart", summary="Drain, restart.", score=0.5, parts={"text": 0.5}
        ),
        RunbookFound(title="Checkout errors", path="runbooks/errors.md"),
    )


def test_a_document_that_speaks_most_of_the_alert_is_offered_before_a_runbook():
    assert paths([page("design", 0.9, "Doc"), page("errors", 0.8)]) == ["design", "errors"]


def test_a_past_incident_is_no_runbook():
    assert paths([page("outage", 0.9, "Incident"), page("errors", 0.8)]) == ["errors"]


def test_pages_that_fall_far_behind_the_best_one_are_not_offered_unless_they_are_the_services_own():
    far = page("far", 0.3)
    assert paths([page("near", 0.9), far]) == ["near"]
    assert paths([page("near", 0.9), far], [far]) == ["near", "far"]


def test_at_most_five_found_pages_are_offered_and_every_runbook_of_the_service():
    found = [page(f"found-{index}", 0.9 - index / 100) for index in range(7)]
    assert paths(found, [RUNBOOK]) == [*(f"found-{index}" for index in range(5)), "runbooks/errors.md"]


# The verdict ----------------------------------------------------------------------------------------------------------


def test_the_models_last_verdict_is_the_verdict():
    subject = consulted_state(equipped(), replied(verdict="first"), replied(verdict="second"), replied())
    assert of(subject).verdict == "second"


def test_a_model_cannot_talk_an_unknown_service_away():
    subject = state(located("unresolved", names=()), consulted(service=None), replied(verdict="It is the shop."))
    assert "It is the shop." not in of(subject).verdict


def test_while_live_systems_are_asked_the_verdict_says_so():
    assert of(consulted_state(), "running").verdict == (
        "HighErrorRate on checkout-api. This is what the graph knows; live systems are being asked."
    )


def test_without_a_suspect_the_verdict_admits_it():
    assert of(consulted_state()).verdict == "HighErrorRate on checkout-api. Nothing that was checked points to a cause."


def test_the_first_suspect_is_named_with_its_reason():
    report = of(consulted_state(releases=(RELEASE,)))
    assert report.verdict == "HighErrorRate on checkout-api. First suspect: release 1.4.0, 2 h before the start."
    assert texts(report, "suspect") == ["Suspect: release 1.4.0 (2 h before the start)."]


def test_a_question_has_no_alert_to_name():
    asked = INCIDENT.model_copy(update={"alerts": (), "question": "why is checkout slow?"})
    report = of(consulted_state().model_copy(update={"incident": asked}))
    assert report.verdict.startswith("This is about checkout-api. ")
    assert report.alerts == ()


# What was checked, and what is missing --------------------------------------------------------------------------------


def test_each_source_is_found_empty_or_could_not_be_checked():
    subject = consulted_state(
        equipped(PROMETHEUS),
        answered(call(), METRIC),
        answered("latest-release@github"),
        answered("model-1-1@wiki"),
        failed("chat@slack"),
    )
    assert [(each.source, each.result, each.detail) for each in of(subject).checked] == [
        ("graph", "found", ""),
        ("prometheus", "found", ""),
        ("github", "empty", ""),
        ("wiki", "found", ""),
        ("slack", "could not be checked", "no answer within 15 s"),
    ]


@pytest.mark.parametrize(
    ("said", "result", "detail"),
    [
        ({"service": None}, "empty", ""),
        ({"service": None, "error": "the graph is down"}, "could not be checked", "the graph is down"),
    ],
)
def test_a_graph_that_is_empty_is_not_a_graph_that_is_down(said, result, detail):
    report = of(state(located(), consulted(**said)))
    assert (report.checked[0].result, report.checked[0].detail) == (result, detail)
    assert ("The graph could not be read: the graph is down" in report.gaps) is bool(detail)


def test_servers_and_calls_that_failed_are_gaps():
    subject = consulted_state(equipped(PROMETHEUS, unreachable={"wiki": "refused"}), failed("chat@slack", "timed out"))
    assert of(subject).gaps[:2] == (
        "The server wiki could not be asked: refused",
        "slack did not tell the rate: timed out",
    )


@pytest.mark.parametrize(
    ("subject", "told"),
    [(equipped(), True), (equipped(PROMETHEUS), False), (equipped(unreachable={"wiki": "refused"}), False)],
)
def test_that_no_live_system_is_configured_is_a_gap(subject, told):
    sentence = "No live system was asked: no MCP server is configured. All of this is the graph's word."
    assert (sentence in of(consulted_state(subject)).gaps) is told


@pytest.mark.parametrize(
    ("model", "events", "status", "expected"),
    [
        ("", (), "complete", [NO_MODEL]),
        ("", (), "running", []),
        ("m", (), "complete", []),
        (
            "m",
            (model_failed("it is gone"),),
            "complete",
            ["The model failed (it is gone); the plan that needs no model finished the job."],
        ),
    ],
)
def test_what_the_model_did_not_do_is_a_gap(model, events, status, expected):
    subject = consulted_state(equipped(PROMETHEUS), *events).model_copy(update={"model": model})
    assert list(of(subject, status).gaps) == expected


def test_an_investigation_that_ran_out_of_budget_says_so():
    gaps = of(consulted_state(), reason="the time budget of 90 s is spent").gaps
    assert gaps[-1] == "The investigation stopped early: the time budget of 90 s is spent."


def test_an_investigation_that_ran_to_its_end_did_not_stop_early():
    gaps = of(consulted_state(), reason="the plan is done; no model is configured").gaps
    assert not [gap for gap in gaps if "stopped early" in gap]


# Numbers and form -----------------------------------------------------------------------------------------------------


def test_spend_is_summed_from_the_events():
    first = located(at=OPENED, seconds=0.5)
    last = replied(tokens=7).model_copy(update={"at": OPENED + timedelta(seconds=4), "output_tokens": 3})
    spend = of(state(first, consulted(), answered(call()), failed("b@b"), last, model="m")).spend
    assert (spend.model, spend.turns, spend.tool_calls) == ("m", 1, 2)
    assert (spend.input_tokens, spend.output_tokens, spend.seconds) == (7, 3, 4.5)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.123456, "0.1235"), (1234.5, "1234"), (-123456.7, "-123457"), (0, "0"), (12, "12"), (999.96, "1000")],
)
def test_numbers_have_at_most_four_significant_digits_below_a_thousand(value, shown):
    assert number(value) == shown


def test_a_report_survives_json():
    seen = ReleaseSeen(repo="acme/checkout", version="2.0", released_at=START - minutes(5))
    report = of(consulted_state(equipped(), answered("latest-release@github", seen)))
    assert Report.model_validate(json.loads(json.dumps(report.model_dump(mode="json")))) == report


def test_alerts_are_named_and_the_start_is_when_it_began_to_hurt():
    report = of(consulted_state(team=PAYMENTS))
    assert (report.id, report.status, report.title) == ("inc-1", "complete", "HighErrorRate")
    assert (report.alerts, report.started_at) == (("HighErrorRate",), START)
