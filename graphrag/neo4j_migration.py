"""Brings a graph that an older release laid out in Neo4j forward. It may be interrupted and begun again."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from graphrag.model import EdgeType, Label, edge_id
from graphrag.queries import named

_BATCH = 1_000
_LABELS = {label.lower(): label for label in Label}

Run = Callable[..., Awaitable[list[dict[str, Any]]]]


async def bring_forward(run: Run) -> None:
    """From layout 1, the only older one. `run` runs a query with its parameters in a transaction of its own."""
    queries = named("from_layout_1.cypher")
    await run(queries["old_nodes"])
    while rows := await run(queries["old_edges"], limit=_BATCH):
        await run(queries["name_edges"], rows=[{"at": row["at"], "id": _edge_id(row)} for row in rows])
    while rows := await run(queries["old_past"], limit=_BATCH):
        past = [{"at": row["at"], "past": _past(row["past"])} for row in rows]
        await run(queries["renew_past_nodes"], rows=[row for row in past if "past_label" in row["past"]])
        await run(queries["renew_past_edges"], rows=[row for row in past if "edge_type" in row["past"]])


def _edge_id(row: dict[str, Any]) -> str:
    return edge_id(EdgeType(row["type"]), row["source"], row["target"])


def _past(old: dict[str, Any]) -> dict[str, Any]:
    """The properties of a closed fact, of which layout 1 kept all but its identity in a JSON `body`."""
    columns: dict[str, Any] = {**json.loads(old["body"]), "scope": "world", "chunks": []}
    match old["fact"].split(" "):
        case [type, source, target]:
            ends = {"type": type, "source": source, "target": target}
            return {**columns, "id": _edge_id(ends), "edge_type": type, "source": source, "target": target}
        case _:
            label = _LABELS[old["fact"].partition("-")[0]]
            return {**columns, "id": old["fact"], "identifiers": [], "past_label": label.value}
