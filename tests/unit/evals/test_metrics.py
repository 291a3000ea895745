import pytest

from evals.case import Case, Expect
from evals.metrics import Answer, Offered, scores


def case(**expect: object) -> Case:
    return Case(id="a", question="x", expect=Expect.model_validate(expect))


def answer(*services: str, resolved: bool = True, team: str = "", runbooks: tuple[str, ...] = ()) -> Answer:
    return Answer(resolved, services=tuple(Offered(name) for name in services), team=team, runbooks=runbooks)


def test_a_service_is_right_wrong_or_left_open() -> None:
    found = scores(
        [case(service=["tills"])] * 4,
        [answer("Tills", "carts"), answer("carts", "tills"), answer("tills", resolved=False), answer(resolved=False)],
    ).figures["service"]
    assert found == {"n": 4, "correct": 1, "wrong": 1, "abstained": 2, "hit@1": 0.5, "hit@3": 0.75}


def test_any_name_of_the_list_is_right() -> None:
    assert scores([case(root=["a", "b"])], [answer("b")]).figures["root"]["correct"] == 1


def test_where_no_service_may_be_named_only_silence_is_right() -> None:
    shared = case(service=["tills", "carts"], abstain=True)
    found = scores([shared, shared], [answer("tills"), answer("tills", resolved=False)])
    assert found.figures["service"] == {"n": 2, "correct": 1, "wrong": 1, "abstained": 0, "hit@1": 1.0, "hit@3": 1.0}
    assert [miss.verdict for miss in found.misses] == ["wrong"]


def test_silence_that_expects_no_list_has_no_hits_to_count() -> None:
    found = scores([case(abstain=True)], [answer(resolved=False)]).figures["service"]
    assert found == {"n": 1, "correct": 1, "wrong": 0, "abstained": 0, "hit@1": None, "hit@3": None}


def test_a_resolved_service_whose_owner_is_unknown_leaves_the_team_open() -> None:
    found = scores([case(team=["payments"])] * 2, [answer("tills"), answer("tills", team="payments")]).figures["team"]
    assert (found["correct"], found["wrong"], found["abstained"]) == (1, 0, 1)


def test_the_team_is_judged_by_the_owner_that_is_reported_whether_the_service_is_sure_or_not() -> None:
    unsure = [answer("tills", resolved=False, team=team) for team in ("payments", "others", "")]
    found = scores([case(team=["payments"])] * 3, unsure)
    assert (found.figures["team"]["correct"], found.figures["team"]["wrong"], found.resolved["team"]) == (1, 1, 2)


def test_a_question_is_routed_rightly_or_not() -> None:
    answers = [Answer(resolved=False, route=route) for route in ("paths", "point")]
    found = scores([case(route="paths")] * 2, answers)
    assert found.figures["route"] == {"n": 2, "correct": 1, "wrong": 1, "abstained": 0}


def test_any_of_the_paths_is_right_whichever_end_it_is_told_from() -> None:
    asked = case(path=[["shop", "tills", "ledger-db"], ["shop", "carts", "ledger-db"]])
    told = [(("LedgerDB", "carts", "shop"),), (("shop", "ledger-db"),), ()]
    found = scores([asked] * 3, [Answer(resolved=False, ways=ways) for ways in told])
    assert found.figures["path"] == {"n": 3, "correct": 1, "wrong": 1, "abstained": 1}
    assert [miss.verdict for miss in found.misses] == ["wrong", "abstained"]


def test_a_page_that_many_alerts_lead_to_weighs_as_much_as_any_other() -> None:
    cases = [case(runbook=["often.md"])] * 3 + [case(runbook=["rare.md"])]
    answers = [answer(runbooks=("often.md",))] * 3 + [answer(runbooks=("a", "b", "c", "d", "e", "rare.md"))]
    found = scores(cases, answers).figures["runbook"]
    assert found["hit@1"] == found["hit@5"] == 0.75
    assert found["page_macro_hit@5"] == 0.5
    assert found["mrr"] == pytest.approx((3 + 1 / 6) / 4, abs=1e-4)


def test_coverage_is_the_share_of_what_should_be_covered() -> None:
    asked = case(community=["tills", "carts"])
    found = scores([asked], [Answer(resolved=False, entities=frozenset({"Tills"}))])
    assert found.figures["coverage"] == {"n": 1, "recall": 0.5}
    assert found.misses


def test_what_no_case_expects_does_not_count() -> None:
    figures = scores([case(service=["tills"])], [answer("tills")]).figures
    assert figures["team"]["n"] == figures["root"]["n"] == figures["runbook"]["n"] == figures["coverage"]["n"] == 0
    assert figures["runbook"]["mrr"] is None


def test_latency_is_the_time_that_this_share_of_cases_does_not_exceed() -> None:
    answers = [Answer(resolved=False, milliseconds=float(number)) for number in range(1, 21)]
    assert scores([case()] * 20, answers).figures["latency_ms"] == {"p50": 10.0, "p95": 19.0}
