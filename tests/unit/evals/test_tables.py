from evals.case import Case, Expect
from evals.metrics import Answer, Offered, scores
from evals.tables import Scored, failures, failures_json, results, table

CASES = [
    Case(id="right", question="x", expect=Expect(service=("tills",))),
    Case(id="open", question="x", expect=Expect(service=("tills",))),
    Case(id="sure and wrong", question="x", expect=Expect(service=("tills",), runbook=("tills.md",))),
    Case(id="shared", question="x", expect=Expect(service=("tills", "carts"), abstain=True)),
]
ANSWERS = [
    Answer(True, services=(Offered("tills"),)),
    Answer(False),
    Answer(
        True, "its label says so", (Offered("carts", 0.9, ("service=carts gives its name",)),), runbooks=("carts.md",)
    ),
    Answer(True, services=(Offered("carts"),)),
]
FOUND = scores(CASES, ANSWERS)


def test_the_page_shows_coverage_beside_confidently_wrong() -> None:
    page = results([Scored("shop", "service-text", FOUND)], ["nothing else was there"], "sqlite")
    assert "| coverage | confidently wrong |" in page
    assert "| shop | service-text | service | 4 | 75.0% | 50.0% (2) | 1 | 1 |" in page
    assert "| shop | service-text | 1 | 0.000 | 0.000 | 0.000 | 0.000 |" in page
    assert page.endswith("nothing else was there\n")
    assert "latency" not in page


def test_silence_where_none_may_be_named_is_right_and_still_no_coverage() -> None:
    found = scores([CASES[3]] * 2, [ANSWERS[1], ANSWERS[3]])
    assert "| service | 2 | 50.0% | 50.0% (1) | 1 | 0 |" in results([Scored("shop", "shared", found)], [], "sqlite")


def test_the_table_leaves_out_what_no_case_asks_for() -> None:
    lines = table(FOUND).splitlines()
    assert [line.split()[0] for line in lines] == ["service", "runbook", "latency_ms"]


def test_a_miss_is_told_with_what_was_offered_and_why() -> None:
    told = failures(FOUND.misses)
    assert "sure and wrong: service wrong, expected tills; nothing right offered" in told
    assert "- carts 0.90: service=carts gives its name" in told
    assert "- carts.md" in told
    assert "shared: service wrong, expected no single one" in told
    assert "right:" not in told


def test_the_same_misses_as_data() -> None:
    told = {(miss["case"], miss["of"]): miss for miss in failures_json(FOUND.misses)}
    assert told["sure and wrong", "service"]["candidates"] == [
        {"name": "carts", "score": 0.9, "reasons": ["service=carts gives its name"]}
    ]
    assert told["sure and wrong", "runbook"]["candidates"] == [{"name": "carts.md", "score": None, "reasons": []}]
    assert told["open", "service"]["verdict"] == "abstained"


def test_questions_have_a_table_of_their_own_and_their_misses_show_what_was_told() -> None:
    asked = Case(id="how", question="x", expect=Expect(route="paths", path=(("shop", "tills"),)))
    found = scores([asked, asked], [Answer(False, route="point"), Answer(False, route="paths", ways=(("shop", "a"),))])
    page = results([Scored("shop", "routes", found)], [], "sqlite")
    assert "| organisation | cases | asked for | n | correct | wrong | abstained |" in page
    assert "| shop | routes | route | 2 | 1 | 1 | 0 |" in page
    assert "| shop | routes | path | 2 | 0 | 1 | 1 |" in page
    told = failures(found.misses)
    assert "how: route wrong, expected paths" in told
    assert "- point" in told
    assert "- shop > a" in told
