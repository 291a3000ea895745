"""Facts in the tables of the SQLite layout: carrying out what `graphrag.writing` and others decide."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime
from functools import cache

import numpy as np

from graphrag import sqlite_cells, sqlite_text
from graphrag.lives import Run
from graphrag.model import WORLD, Edge, Facts, History, Label, Node, Rewrite, WriteReport, interval
from graphrag.sqlite_cells import STORED
from graphrag.sqlite_rows import (
    EDGE_COLUMNS,
    NODE_COLUMNS,
    as_json,
    edge_columns,
    node_columns,
    read_edges,
    read_node,
    read_nodes,
)
from graphrag.stored import life_columns, text_index_of, time_text
from graphrag.writing import (
    DENIAL,
    EdgeDecision,
    NameKey,
    NodeDecision,
    decide_edges,
    decide_nodes,
    edge_ids,
    fact_keys,
    node_keys,
    nodes_to_load,
    storable,
    write_report,
)

_NODE, _EDGE = ", ".join(NODE_COLUMNS), ", ".join(EDGE_COLUMNS)
_ASSERTED = """(
    SELECT fact FROM asserted WHERE asserted.tenant = ? AND asserted.source IN (SELECT value FROM json_each(?)))"""


def write_facts(db: sqlite3.Connection, tenant: str, parts: Sequence[Facts]) -> WriteReport:
    """Write what one run saw within the caller's transaction."""
    run = Run(parts)
    owners = _owners(db, tenant, run)
    nodes = _nodes(db, tenant, nodes_to_load(run, owners)) | _asserted_nodes(db, tenant, run.complete)
    of_nodes = decide_nodes(tenant, run, owners, nodes)
    wanted = edge_ids(run, of_nodes)
    of_edges = decide_edges(
        tenant, run, of_nodes, _edges(db, tenant, run, of_nodes, wanted), _denied(db, tenant, wanted)
    )
    _close(db, tenant, of_nodes, of_edges)
    _put(db, tenant, of_nodes, of_edges)
    return write_report(of_nodes, of_edges)


def confirm_facts(db: sqlite3.Connection, tenant: str, sources: Collection[str], seen_at: datetime) -> int:
    """Within the caller's transaction: see `GraphStore.confirm`."""
    values = {"tenant": tenant, "sources": as_json(sources), "seen_at": time_text(seen_at), "scope": WORLD}
    return sum(
        db.execute(
            f"""UPDATE {table}
            SET holds = json_set(holds, '$[5]', confirmations + 1, '$[4]', :seen_at)
            WHERE id IN (
                SELECT fact FROM asserted
                WHERE tenant = :tenant AND source IN (SELECT value FROM json_each(:sources)))
            AND scope = :scope AND last_seen < :seen_at""",
            values,
        ).rowcount
        for table in ("node", "edge")
    )


def rewrite_facts(
    db: sqlite3.Connection, tenant: str, ids: Collection[str], decide: Callable[[History], Rewrite]
) -> None:
    """Replace what `read_history` gives by what `decide` makes of it, within the caller's transaction."""
    known = read_history(db, tenant, ids)
    rewrite = decide(known)
    for edge in known.edges:
        _remove_edge(db, edge)
    for node in known.nodes:
        _remove_node(db, node)
    for node in rewrite.facts.nodes:
        _add_node(db, node, rewrite.facts.vectors.get(interval(node)))
    for edge in rewrite.facts.edges:
        _add_edge(db, edge)
    for kind, id in rewrite.forget:
        db.execute("DELETE FROM record WHERE tenant = ? AND kind = ? AND id = ?", (tenant, kind, id))
    for record in rewrite.records:
        db.execute(
            "INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?)",
            (tenant, record.kind, record.id, json.dumps(record.body)),
        )


def read_history(db: sqlite3.Connection, tenant: str, ids: Collection[str] | None) -> History:
    """Every fact of these nodes, or of the whole tenant without vectors."""
    if ids is None:
        of_node = of_edge = "tenant = :tenant"
    else:
        wanted = "(SELECT value FROM json_each(:ids))"
        of_node = f"+tenant = :tenant AND id IN {wanted}"  # found by their ids: see `_nodes`
        of_edge = f"tenant = :tenant AND (source IN {wanted} OR target IN {wanted})"
    values = {"tenant": tenant, "ids": as_json(map(storable, ids or ()))}
    nodes: list[Node] = []
    edges: list[Edge] = []
    vectors: dict[str, tuple[float, ...]] = {}
    for past in ("", "past_"):
        embedding = "embedding" if past else "(SELECT embedding FROM vector WHERE node = id)"
        more = "" if ids is None else f", {embedding} AS embedding"
        for row in db.execute(f"SELECT {_NODE}{more} FROM {past}node WHERE {of_node} ORDER BY id, valid_from", values):
            node = read_node(row, tenant)
            nodes.append(node)
            if ids is not None and row["embedding"] is not None:
                vectors[interval(node)] = tuple(np.frombuffer(row["embedding"], dtype=STORED).tolist())
        found = db.execute(f"SELECT {_EDGE} FROM {past}edge WHERE {of_edge} ORDER BY id, valid_from", values)
        edges += read_edges(found, tenant)
    return History(tuple(nodes), tuple(edges), vectors)


def _owners(db: sqlite3.Connection, tenant: str, run: Run) -> dict[NameKey, str]:
    owners: dict[NameKey, str] = {}
    for place in fact_keys(run):
        row = db.execute(
            "SELECT node FROM name_key WHERE tenant = ? AND key = ? AND label = ? AND scope = ?",
            (tenant, place.key, place.label, place.scope),
        ).fetchone()
        if row is not None:
            owners[place] = row["node"]
    return owners


def _nodes(db: sqlite3.Connection, tenant: str, ids: Iterable[str]) -> dict[str, Node]:
    # The plus keeps SQLite from going through all of the tenant's nodes in the index that begins with the tenant.
    rows = db.execute(
        f"SELECT {_NODE} FROM node WHERE +tenant = ? AND id IN (SELECT value FROM json_each(?))",
        (tenant, as_json(ids)),
    )
    return {node.id: node for node in read_nodes(rows, tenant)}


def _asserted_nodes(db: sqlite3.Connection, tenant: str, sources: Collection[str]) -> dict[str, Node]:
    rows = db.execute(f"SELECT {_NODE} FROM node WHERE id IN {_ASSERTED}", (tenant, as_json(sources)))
    return {node.id: node for node in read_nodes(rows, tenant)}


def _edges(
    db: sqlite3.Connection, tenant: str, run: Run, nodes: NodeDecision, wanted: Collection[str]
) -> dict[str, Edge]:
    """What `decide_edges` needs to know."""
    found = db.execute(
        f"SELECT {_EDGE} FROM edge WHERE id IN (SELECT value FROM json_each(?))", (as_json(wanted),)
    ).fetchall()
    asserted = (tenant, as_json(run.complete))
    found += db.execute(f"SELECT {_EDGE} FROM edge WHERE id IN {_ASSERTED}", asserted).fetchall()
    for node in nodes.closed:
        found += db.execute(f"SELECT {_EDGE} FROM edge WHERE source = ? OR target = ?", (node.id, node.id)).fetchall()
    return {edge.id: edge for edge in read_edges(found, tenant)}


def _denied(db: sqlite3.Connection, tenant: str, wanted: Collection[str]) -> set[str]:
    rows = db.execute(
        "SELECT id FROM record WHERE tenant = ? AND kind = ? AND id IN (SELECT value FROM json_each(?))",
        (tenant, DENIAL, as_json(wanted)),
    )
    return {row["id"] for row in rows}


def _close(db: sqlite3.Connection, tenant: str, nodes: NodeDecision, edges: EdgeDecision) -> None:
    for edge in edges.closed:
        db.execute("DELETE FROM edge WHERE id = ?", (edge.id,))
        db.execute("DELETE FROM asserted WHERE fact = ?", (edge.id,))
        _add_edge(db, edge)
    for node in nodes.closed:
        row = db.execute("SELECT embedding FROM vector WHERE node = ?", (node.id,)).fetchone()
        _remove_current_node(db, node.id)
        _add_past_node(db, node, row and row["embedding"])


def _put(db: sqlite3.Connection, tenant: str, nodes: NodeDecision, edges: EdgeDecision) -> None:
    for node in nodes.put:
        _put_node(db, node)
    db.executemany(
        "INSERT INTO name_key VALUES (?, ?, ?, ?, ?)",
        [(tenant, place.key, place.label, place.scope, id) for place, id in nodes.claimed.items()],
    )
    for edge in edges.put:
        columns = edge_columns(edge)
        db.execute(_upsert("edge", tuple(columns)), columns)
        _assert(db, tenant, edge.id, edge.life.sources)


def _put_node(db: sqlite3.Connection, node: Node) -> None:
    columns = node_columns(node)
    row = db.execute(_upsert("node", tuple(columns)) + " RETURNING row", columns).fetchone()["row"]
    index = text_index_of(node.label)
    sqlite_text.remove(db, index, row)
    sqlite_text.put(db, index, row, node)
    _assert(db, node.tenant, node.id, node.life.sources)


def _add_node(db: sqlite3.Connection, node: Node, vector: tuple[float, ...] | None) -> None:
    """A node that is not there yet, with its names."""
    array = None if vector is None else np.asarray(vector, dtype=np.float32)
    if node.life.valid_to is not None:
        _add_past_node(db, node, None if array is None else array.astype(STORED).tobytes())
        return
    _put_node(db, node)
    db.executemany(
        "INSERT INTO name_key VALUES (?, ?, ?, ?, ?)",
        [(node.tenant, key, node.label, node.scope, node.id) for key in node_keys(node)],
    )
    if array is not None:
        sqlite_cells.put(db, node.tenant, {node.id: array})


def _add_past_node(db: sqlite3.Connection, node: Node, embedding: bytes | None) -> None:
    columns = {**node_columns(node), "embedding": embedding}
    row = db.execute(_insert("past_node", tuple(columns)) + " RETURNING row", columns).fetchone()["row"]
    sqlite_text.put(db, sqlite_text.PAST, row, node)


def _remove_node(db: sqlite3.Connection, node: Node) -> None:
    if node.life.valid_to is None:
        _remove_current_node(db, node.id)
        return
    columns = life_columns(node.life)
    rows = db.execute(
        "DELETE FROM past_node WHERE id = ? AND valid_from = ? AND valid_to = ? RETURNING row",
        (node.id, columns["valid_from"], columns["valid_to"]),
    ).fetchall()
    for row in rows:
        sqlite_text.remove(db, sqlite_text.PAST, row["row"])


def _remove_current_node(db: sqlite3.Connection, id: str) -> None:
    for row in db.execute("DELETE FROM node WHERE id = ? RETURNING row, label", (id,)).fetchall():
        sqlite_text.remove(db, text_index_of(Label(row["label"])), row["row"])
    db.execute("DELETE FROM name_key WHERE node = ?", (id,))
    sqlite_cells.forget(db, [id])
    db.execute("DELETE FROM asserted WHERE fact = ?", (id,))


def _add_edge(db: sqlite3.Connection, edge: Edge) -> None:
    columns = edge_columns(edge)
    if edge.life.valid_to is not None:
        db.execute(_insert("past_edge", tuple(columns)), columns)
        return
    db.execute(_insert("edge", tuple(columns)), columns)
    _assert(db, edge.tenant, edge.id, edge.life.sources)


def _remove_edge(db: sqlite3.Connection, edge: Edge) -> None:
    if edge.life.valid_to is None:
        db.execute("DELETE FROM edge WHERE id = ?", (edge.id,))
        db.execute("DELETE FROM asserted WHERE fact = ?", (edge.id,))
        return
    columns = life_columns(edge.life)
    db.execute(
        "DELETE FROM past_edge WHERE source = ? AND id = ? AND valid_from = ? AND valid_to = ?",
        (edge.source, edge.id, columns["valid_from"], columns["valid_to"]),
    )


def _assert(db: sqlite3.Connection, tenant: str, fact: str, sources: Iterable[str]) -> None:
    db.execute("DELETE FROM asserted WHERE fact = ?", (fact,))
    db.executemany("INSERT INTO asserted VALUES (?, ?, ?)", [(tenant, source, fact) for source in sources])


@cache
def _insert(table: str, names: tuple[str, ...]) -> str:
    """Names of tables and columns are this module's own."""
    values = ", ".join(f":{name}" for name in names)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"


@cache
def _upsert(table: str, names: tuple[str, ...]) -> str:
    updates = ", ".join(f"{name} = excluded.{name}" for name in names if name != "id")
    return f"{_insert(table, names)} ON CONFLICT (id) DO UPDATE SET {updates}"
