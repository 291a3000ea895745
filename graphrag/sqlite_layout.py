"""The tables of the SQLite store: made in an empty file, brought forward from an older release's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np

from graphrag import sqlite_cells, sqlite_text
from graphrag.errors import GraphMisconfigured
from graphrag.identity import name_key
from graphrag.model import EdgeType, edge_id
from graphrag.queries import statements
from graphrag.sqlite_rows import NODE_COLUMNS, read_nodes, told
from graphrag.stored import text_index_of, words_of_names

VERSION = 4
"""Kept in `PRAGMA user_version`. Raise it with each change of layout.sql, and say in `_bring_forward` how the tables
of the version before become those of the new one."""


def lay_out(db: sqlite3.Connection, path: Path) -> None:
    """Within the caller's transaction. Raises `GraphMisconfigured` for a file that cannot be used."""
    found = db.execute("PRAGMA user_version").fetchone()[0]
    if found == VERSION:
        return
    if found == 0:
        if db.execute("SELECT 1 FROM sqlite_schema").fetchone():
            raise GraphMisconfigured(
                f"{path} is a database of another program. Name another file in INCIDENT_GRAPH_GRAPH_URL."
            )
        _create(db)
    elif found < VERSION:
        _bring_forward(db, found)
    else:
        raise GraphMisconfigured(
            f"The graph file {path} has layout {found}, and this program knows layouts up to {VERSION}. "
            "Use the version that wrote it, or name a new file in INCIDENT_GRAPH_GRAPH_URL and ingest again."
        )
    db.execute(f"PRAGMA user_version = {VERSION}")


def _create(db: sqlite3.Connection) -> None:
    for statement in statements("layout.sql"):
        db.execute(statement)


def _bring_forward(db: sqlite3.Connection, found: int) -> None:
    """From layout `found`: its tables stand aside while new ones are filled from them."""
    older = _OLDER[found]
    for table in older.dropped:
        db.execute(f"DROP TABLE {table}")
    for index in older.indexes:
        db.execute(f"DROP INDEX {index}")
    for table in older.aside:
        db.execute(f"ALTER TABLE {table} RENAME TO was_{table}")
    _create(db)
    db.create_function("edge_id", 3, _edge_id, deterministic=True)
    db.create_function("fact_id", 1, _fact_id, deterministic=True)
    db.create_function("keys_of", 2, _keys_of, deterministic=True)
    db.create_function("words_of", 2, _words_of, deterministic=True)
    db.create_function("spaced", 1, _spaced, deterministic=True)
    db.create_function("told", -1, _told, deterministic=True)
    if older.statements:
        for statement in statements(older.statements):
            db.execute(statement)
        _index_texts(db)
        _place_vectors(db)
    else:
        _gather_codes(db)
    for table in older.aside:
        db.execute(f"DROP TABLE was_{table}")


def _index_texts(db: sqlite3.Connection) -> None:
    """The full text of current nodes."""
    rows = db.execute(f"SELECT {', '.join(NODE_COLUMNS)}, row FROM node")
    while batch := rows.fetchmany(_BATCH):
        for node, row in zip(read_nodes(batch, ""), batch, strict=True):
            sqlite_text.put(db, text_index_of(node.label), row["row"], node)


def _place_vectors(db: sqlite3.Connection) -> None:
    rows = db.execute("SELECT tenant, node, embedding FROM was_vector ORDER BY tenant")
    while batch := rows.fetchmany(_BATCH):
        for tenant, found in groupby(batch, key=itemgetter("tenant")):
            vectors = {row["node"]: np.frombuffer(row["embedding"], dtype=sqlite_cells.STORED) for row in found}
            sqlite_cells.put(db, tenant, vectors)


def _gather_codes(db: sqlite3.Connection) -> None:
    """Layout 3 kept a row for each vector of a cell."""
    for (cell,) in db.execute("SELECT cell FROM vector_cell").fetchall():
        found = db.execute("SELECT node, code FROM was_vector_code WHERE cell = ?", (cell,)).fetchall()
        sqlite_cells.gather(db, cell, [row["node"] for row in found], [row["code"] for row in found])


_BATCH = 5_000


@dataclass(frozen=True)
class _Older:
    """An older layout: the tables whose rows go into new ones, those that are made anew from others, and the indexes to
    be dropped. `statements` fill the tables of facts where these are among them."""

    aside: Sequence[str]
    dropped: Sequence[str]
    indexes: Sequence[str]
    statements: str = ""


_OLDER = {
    1: _Older(
        aside=("node", "edge", "name_key", "asserted", "past", "vector", "vector_generation", "meta"),
        dropped=("node_text",),
        indexes=("node_in_order", "edge_to", "name_key_of", "asserted_fact", "past_of", "vector_of"),
        statements="from_layout_1.sql",
    ),
    2: _Older(
        aside=("node", "past_node", "edge", "past_edge", "vector"),
        dropped=("node_text",),
        indexes=(
            *("node_in_order", "past_node_of", "past_node_in", "vector_of"),
            *("edge_from", "edge_to", "past_edge_from", "past_edge_to"),
        ),
        statements="from_layout_2.sql",
    ),
    3: _Older(aside=("vector_code",), dropped=(), indexes=("vector_code_of",)),
}


def _told(summary: str, *parts: str) -> str:
    return told(summary, *map(json.loads, parts))


def _fact_id(fact: str) -> str:
    """Layout 1 named an edge by type, source and target."""
    match fact.split(" "):
        case [type, source, target]:
            return _edge_id(type, source, target)
        case _:
            return fact


def _edge_id(type: str, source: str, target: str) -> str:
    return edge_id(EdgeType(type), source, target)


def _keys_of(name: str, aliases: str) -> str:
    return json.dumps(list(dict.fromkeys(map(name_key, (name, *json.loads(aliases))))))


def _words_of(name: str, aliases: str) -> str:
    return words_of_names((name, *json.loads(aliases)))


def _spaced(aliases: str) -> str:
    return " ".join(json.loads(aliases))
