"""Grafana dashboards become documents of the services they are about."""

from __future__ import annotations

import json

import pytest

from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.grafana import read_dashboard
from graphrag.model import Label

SERVICES = {"till": "till", "books": "books", "ledger": "books", "productcatalog": "product-catalog", "web": "web"}


def read(dashboard: object) -> Found:
    return read_dashboard(SourceFile("boards/a.json", json.dumps(dashboard)), SERVICES)


def about(**fields: object) -> dict[str, float]:
    found = read({"title": "Board", "panels": [], **fields})
    return {edge.source.name: edge.confidence for edge in found.edges}


def test_a_dashboard_is_a_document() -> None:
    found = read(
        {
            "meta": {"url": "/d/u1/board"},
            "dashboard": {"title": "Board", "uid": "u1", "tags": ["x"], "panels": [{"title": "Errors"}]},
        }
    )
    (node,) = found.nodes
    assert (node.label, node.name) == (Label.DOC, "boards/a.json")
    assert node.properties == {
        "path": "boards/a.json",
        "title": "Board",
        "source": "grafana",
        "uid": "u1",
        "url": "/d/u1/board",
        "tags": ("x",),
    }
    assert "Sections: Errors" in node.summary


@pytest.mark.parametrize(
    ("title", "services"),
    [
        ("Till", {"till"}),
        ("Till Service Overview", {"till"}),
        ("Product Catalog / Till", {"product-catalog", "till"}),
        ("SLOs: ledger", {"books"}),
        ("Web vitals of the shop", set[str]()),
        ("Tillage", set[str]()),
    ],
)
def test_a_title_names_a_service_only_exactly(title: str, services: set[str]) -> None:
    assert about(title=title) == dict.fromkeys(services, 1.0)


def test_tags_name_services_too() -> None:
    assert about(tags=["till", "service:ledger", "web pages"]) == {"till": 1.0, "books": 1.0}


def test_variables_and_matchers_name_services_with_less_certainty() -> None:
    variables = [
        {"name": "service", "type": "custom", "query": "till, other"},
        {"name": "service", "type": "query", "current": {"value": ["ledger", "$__all"]}, "query": {"query": "x"}},
        {"name": "team", "type": "constant", "query": "web"},
    ]
    assert about(templating={"list": variables}) == {"till": 0.8, "books": 0.8}
    query = {"name": "pod", "query": 'label_values(up{service="till"}, pod)'}
    assert about(templating={"list": [query]}) == {"till": 0.8}


def test_panels_in_rows_are_read() -> None:
    inner = {"targets": [{"expr": '{app="till"} |= "error"'}, {"expr": 5}, 7]}
    assert about(panels=[{"type": "row", "panels": [inner]}, None]) == {"till": 0.8}
    found = read({"title": "Old", "rows": [{"panels": [inner]}]})
    assert [edge.source.name for edge in found.edges] == ["till"]


def test_what_the_title_says_stays_sure_when_a_query_says_it_too() -> None:
    assert about(title="Till", panels=[{"targets": [{"expr": 'up{job="till"}'}]}]) == {"till": 1.0}


@pytest.mark.parametrize("text", ["{}", "[]", '{"title": "x"}', '{"panels": 5, "title": "x"}', '["panels", "rows": 1'])
def test_other_json_is_passed_over(text: str) -> None:
    assert read_dashboard(SourceFile("a.json", text), SERVICES).nodes == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"panels": [', "broken JSON"),
        ('{"panels": ' + "[" * 100_000, "broken JSON"),
        ('{"panels": [], "x": ' + "9" * 5_000 + "}", "broken JSON"),
        ('{"panels": [], "title": ["x"]}', "its title is a list"),
        (json.dumps({"title": "x", "panels": [{}] * 2_001}), "more than 2,000 panels"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file(text: str, reason: str) -> None:
    ((path, said),) = read_dashboard(SourceFile("a.json", text), SERVICES).failures
    assert path == "a.json"
    assert reason in said
