"""Makes facts of a service graph measured from traces: `traces_service_graph_request_total{client, server}`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from graphrag.ingest.sources.found import Dependencies, Found, as_name, kind_of

METRIC = "traces_service_graph_request_total"
MAX_ROWS = 50_000
_CONFIDENCE = 0.9
_OUTSIDE = "user"


def read_service_graph(rows: Iterable[Mapping[str, object]]) -> Found:
    """Who was seen calling whom. Each row holds the labels `client` and `server`, and `connection_type` if there is
    one. Nodes are not made: traces also name what is no service of ours."""
    found = Found()
    needs = Dependencies()
    for number, row in enumerate(rows, 1):
        if number > MAX_ROWS:
            found.fail(METRIC, f"has more than {MAX_ROWS:,} rows; the rest was not read")
            break
        if not isinstance(row, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            found.fail(METRIC, f"row {number} is {kind_of(row)}, not labels")
            continue
        client, server = as_name(row.get("client")), as_name(row.get("server"))
        if not client or not server:
            found.fail(METRIC, f"row {number} names no {'server' if client else 'client'}")
        elif not (row.get("connection_type") == "virtual_node" and client == _OUTSIDE):
            needs.add(client, server, _CONFIDENCE)
    found.edges = needs.edges()
    return found
