"""A service graph measured from traces says who calls whom."""

from __future__ import annotations

from typing import Any

from graphrag.ingest.sources.service_graph import METRIC, read_service_graph


def test_a_client_depends_on_its_server() -> None:
    rows = [{"client": "till", "server": "books"}, {"client": "till", "server": "books", "connection_type": "database"}]
    (edge,) = read_service_graph(rows).edges
    assert (edge.source.name, edge.target.name, edge.confidence) == ("till", "books", 0.9)
    assert read_service_graph(rows).nodes == []


def test_what_calls_itself_or_comes_from_outside_depends_on_nothing() -> None:
    rows = [
        {"client": "till", "server": "Till"},
        {"client": "user", "server": "till", "connection_type": "virtual_node"},
    ]
    found = read_service_graph(rows)
    assert (found.edges, found.failures) == ([], [])


def test_rows_that_name_nothing_are_said() -> None:
    rows: list[Any] = [
        {"client": "till"},
        {"server": "till"},
        {"client": 5, "server": "x"},
        "row",
        {"client": "a", "server": "b"},
    ]
    found = read_service_graph(rows)
    assert len(found.edges) == 1
    assert found.failures == [
        (METRIC, "row 1 names no server"),
        (METRIC, "row 2 names no client"),
        (METRIC, "row 3 names no client"),
        (METRIC, "row 4 is text, not labels"),
    ]


def test_too_many_rows_are_cut_and_said() -> None:
    found = read_service_graph({"client": "a", "server": "b"} for _ in range(50_001))
    assert len(found.edges) == 1
    assert found.failures == [(METRIC, "has more than 50,000 rows; the rest was not read")]
