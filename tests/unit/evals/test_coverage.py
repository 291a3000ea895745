from collections.abc import Sequence
from pathlib import Path

import pytest

from evals.__main__ import QUESTIONS, ROUTES, main
from evals.case import Case, Expect, read_cases, write_cases
from evals.coverage import Coverage, covered, is_named, misses, page
from graphrag.routing import route

SAMPLE = Path(__file__).parents[3] / "app" / "demo" / "organisation"


def case(*expected: str) -> Case:
    return Case(id="a", question="Which ones?", expect=Expect(community=expected))


def test_a_name_counts_only_where_it_stands_by_itself() -> None:
    assert is_named("tills", "Owned by money: Tills.")
    assert not is_named("tills", "tills-db, all-tills, untills")


def test_recall_is_the_share_of_the_services_named_and_of_their_communities_touched() -> None:
    found = covered(case("a-1", "a-2", "b-1", "c-1"), "vectors", 300, "a-1, c-1", {"a": {"a-1", "a-2"}, "b": {"b-1"}})
    assert (found.services, found.communities, found.missed) == (0.5, 0.5, ("a-2", "b-1"))


def test_services_in_no_community_leave_nothing_to_recall_of_communities() -> None:
    assert covered(case("a"), "vectors", 300, "a", {}).communities == 0.0


def test_the_page_holds_the_mean_of_every_way_at_every_length() -> None:
    ways = ("communities", "vectors", "vectors of services")
    answers = [covered(case("a"), way, 300, text, {"c": {"a"}}) for way in ways for text in ("a", "b")]
    found = Coverage(2, 1, tuple(answers))
    assert "| shop | 300 | 0.50 | 0.50 | 0.50 | 0.50 | 0.50 | 0.50 |" in page({"shop": found})
    assert "shop: 1 of 2 routed so" in page({"shop": found})
    assert misses(found).splitlines()[0] == "a: communities, 300 characters: a not named"


@pytest.mark.parametrize("file", sorted(QUESTIONS.glob("*.jsonl")), ids=lambda file: file.stem)
def test_every_question_is_about_the_whole_and_says_what_to_cover(file: Path) -> None:
    cases = read_cases(file)
    assert len({each.id for each in cases}) == len(cases) >= 12
    assert all(each.expect.community for each in cases)
    assert {route(each.question).kind for each in cases} == {"whole"}


@pytest.mark.parametrize("file", sorted(ROUTES.glob("*.jsonl")), ids=lambda file: file.stem)
def test_every_routed_question_says_its_route_and_what_is_to_be_found(file: Path) -> None:
    cases = read_cases(file)
    assert len({each.id for each in cases}) == len(cases) >= 12
    assert {each.expect.route for each in cases} == {"point", "paths", "whole"}
    for each in cases:
        assert bool(each.expect.path) == (each.expect.route == "paths")
        assert bool(each.expect.service) == (each.expect.route == "point")


def measured(cases: Sequence[Case], home: Path) -> int:
    write_cases(home / "questions.jsonl", cases)
    return main(["coverage", "--org", str(SAMPLE), "--questions", str(home / "questions.jsonl"), "--failures"])


def test_the_sample_organisation_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = Case(id="money", question="Which services keep data?", expect=Expect(community=("ledger-db", "no-such")))
    assert measured([asked], tmp_path) == 0
    printed = capsys.readouterr().out
    assert "| questions | 2,000 | 0.50 |" in printed
    assert "money: communities, 2,000 characters: no-such not named" in printed


def test_cases_that_are_no_questions_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert measured([Case(id="a", question="x", expect=Expect(service=("y",)))], tmp_path) == 2
    assert "must hold questions only" in capsys.readouterr().err
