"""What all readers of sources share."""

from __future__ import annotations

import pytest

from graphrag.ingest.sources.found import Dependencies, Found, as_name
from graphrag.ingest.sources.matchers import matchers_of, services_named
from graphrag.label_keys import Kind, Use
from graphrag.model import Label, NodeFact


def test_a_source_yields_to_another_that_describes_the_same_thing_better() -> None:
    found = Found(nodes=[NodeFact(Label.SERVICE, "Till-API", "made up"), NodeFact(Label.SERVICE, "books", "kept")])
    yielding = found.yielding_to({"tillapi"})
    assert [node.summary for node in yielding.nodes] == ["", "kept"]
    assert [node.summary for node in found.nodes] == ["made up", "kept"]


def test_a_dependency_is_as_sure_as_its_surest_reason_and_never_on_itself() -> None:
    needs = Dependencies()
    needs.add("till", "Books", 0.7)
    needs.add("TILL", "books", 1.0)
    needs.add("till", "vault", 0.7)
    needs.add("till", "vault", 0.5)
    needs.add("till", "T-I-L-L", 1.0)
    assert needs.of("till") == ["Books", "vault"]
    assert [(edge.target.name, edge.confidence) for edge in needs.edges()] == [("Books", 1.0), ("vault", 0.7)]


@pytest.mark.parametrize(
    "value", ["", " ", "{{ x }}", "a-{{x}}", "${X}", "$(X)", "{% if %}", "x" * 201, None, 5, ["x"]]
)
def test_templates_and_what_is_no_text_name_nothing(value: object) -> None:
    assert as_name(value) == ""


def test_a_name_is_taken_as_it_is_written() -> None:
    assert as_name(" Till  API ") == "Till API"


@pytest.mark.parametrize(
    ("query", "matchers"),
    [
        ("up{job=\"till\", env = 'live'}", [("job", "till"), ("env", "live")]),
        ('up{job=~"^(till|books)$"}', [("job", "till"), ("job", "books")]),
        ('up{job=~"till.+", pod!="x", a!~"b", c="$service"}', []),
        ('{app="till"} |= "error"', [("app", "till")]),
        ("up == 1", []),
    ],
)
def test_matchers_that_want_a_value_are_found_in_any_query(query: str, matchers: list[tuple[str, str]]) -> None:
    assert matchers_of(query) == matchers


def test_the_label_that_says_best_what_it_is_about_names_the_service() -> None:
    services = {"till": "till", "books": "books", "vault": "vault"}
    labels = [("path", "vault"), ("job", "books"), ("app", "till"), ("team", "vault")]
    assert services_named(labels, services) == ["till"]
    assert services_named([labels[0], labels[1]], services) == ["books"]
    assert services_named([labels[0]], services) == ["vault"]
    assert services_named([labels[3]], services) == []


@pytest.mark.parametrize(
    ("use", "named"),
    [
        (Use(services=0, teams=0, values=2), ["till"]),
        (Use(services=1, teams=0, values=9), []),
        (Use(services=2, teams=7, values=9), []),
        (Use(services=5, teams=0, values=6), ["till"]),
        (Use(services=0, teams=0, values=0, told=Kind.OWNER), []),
    ],
    ids=["too few to tell", "holds other things", "holds teams", "holds services", "told to hold teams"],
)
def test_a_key_that_is_used_for_other_things_names_no_service(use: Use, named: list[str]) -> None:
    assert services_named([("counter", "till")], {"till": "till"}, {"counter": use}) == named


def test_a_key_that_is_learnt_to_hold_services_says_it_better_than_one_that_runs_them() -> None:
    services = {"till": "till", "books": "books"}
    labels = [("counter", "till"), ("job", "books"), ("namespace", "books")]
    assert services_named(labels, services) == ["books"]
    assert services_named(labels, services, {"counter": Use(4, 0, 4)}) == ["till"]
    assert services_named(labels[2:], services) == []
