"""Facts as rows of the SQLite layout: reading them, and carrying out what `graphrag.writing` decides."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from typing import Any

from graphrag.model import Edge, EdgeType, Facts, Node, WriteReport
from graphrag.sqlite_vectors import vectors_changed
from graphrag.stored import edge_of, life_columns, node_of, search_words
from graphrag.writing import (
    EdgeDecision,
    EdgeKey,
    NameKey,
    NodeDecision,
    decide_edges,
    decide_nodes,
    edge_key,
    edge_keys,
    fact_keys,
    storable,
)


def read_node(row: sqlite3.Row) -> Node:
    columns = dict(row)
    return node_of(
        columns, json.loads(columns["properties"]), json.loads(columns["aliases"]), json.loads(columns["sources"])
    )


def read_edge(row: sqlite3.Row) -> Edge:
    columns = dict(row)
    return edge_of(columns, json.loads(columns["properties"]), json.loads(columns["sources"]))


def read_nodes(db: sqlite3.Connection, tenant: str, ids: Iterable[str]) -> dict[str, Node]:
    rows = db.execute(
        "SELECT * FROM node WHERE tenant = ? AND id IN (SELECT value FROM json_each(?))",
        (tenant, as_json(map(storable, ids))),
    )
    return {row["id"]: read_node(row) for row in rows}


def as_json(values: Iterable[Any]) -> str:
    return json.dumps(list(values))


def write_facts(db: sqlite3.Connection, tenant: str, facts: Facts) -> WriteReport:
    """Write one run of one source within the caller's transaction."""
    owners = _owners(db, tenant, facts)
    nodes = read_nodes(db, tenant, owners.values())
    if facts.complete:
        nodes |= _asserted_nodes(db, tenant, facts.source)
    of_nodes = decide_nodes(tenant, facts, owners, nodes)
    of_edges = decide_edges(tenant, facts, of_nodes, _edges(db, tenant, facts, of_nodes))
    _close_edges(db, tenant, of_edges)
    _close_nodes(db, tenant, of_nodes)
    _put_nodes(db, tenant, of_nodes)
    _put_edges(db, tenant, of_edges)
    return WriteReport(
        added=of_nodes.added + of_edges.added,
        confirmed=of_nodes.confirmed + of_edges.confirmed,
        closed=len(of_nodes.closed) + len(of_edges.closed),
        dangling=of_edges.dangling,
    )


def _owners(db: sqlite3.Connection, tenant: str, facts: Facts) -> dict[NameKey, str]:
    owners: dict[NameKey, str] = {}
    for label, key in fact_keys(facts):
        row = db.execute(
            "SELECT node FROM name_key WHERE tenant = ? AND label = ? AND key = ?", (tenant, label, key)
        ).fetchone()
        if row is not None:
            owners[label, key] = row["node"]
    return owners


def _asserted_nodes(db: sqlite3.Connection, tenant: str, source: str) -> dict[str, Node]:
    rows = db.execute(
        """SELECT node.* FROM asserted JOIN node ON node.id = asserted.fact
        WHERE asserted.tenant = ? AND asserted.source = ?""",
        (tenant, source),
    )
    return {row["id"]: read_node(row) for row in rows}


def _edges(db: sqlite3.Connection, tenant: str, facts: Facts, nodes: NodeDecision) -> dict[EdgeKey, Edge]:
    """What `decide_edges` needs to know."""
    found: list[sqlite3.Row] = []
    wanted = set(edge_keys(facts, nodes))
    if facts.complete:
        asserted = db.execute("SELECT fact FROM asserted WHERE tenant = ? AND source = ?", (tenant, facts.source))
        wanted |= {key for row in asserted.fetchall() if (key := _edge_key(row["fact"])) is not None}
    for type, source, target in wanted:
        found += db.execute(
            "SELECT * FROM edge WHERE source = ? AND type = ? AND target = ?", (source, type, target)
        ).fetchall()
    for node in nodes.closed:
        found += db.execute(
            "SELECT * FROM edge WHERE source = ? UNION SELECT * FROM edge WHERE target = ?", (node.id, node.id)
        ).fetchall()
    return {edge_key(edge): edge for edge in map(read_edge, found)}


def _close_edges(db: sqlite3.Connection, tenant: str, edges: EdgeDecision) -> None:
    for edge in edges.closed:
        _keep_past(db, tenant, _edge_name(edge), _edge_columns(edge))
        db.execute(
            "DELETE FROM edge WHERE source = ? AND type = ? AND target = ?", (edge.source, edge.type, edge.target)
        )


def _close_nodes(db: sqlite3.Connection, tenant: str, nodes: NodeDecision) -> None:
    for node in nodes.closed:
        _keep_past(db, tenant, node.id, _node_columns(node))
        db.execute("DELETE FROM node_text WHERE rowid = (SELECT row FROM node WHERE id = ?)", (node.id,))
        db.execute("DELETE FROM node WHERE id = ?", (node.id,))
        db.execute("DELETE FROM name_key WHERE node = ?", (node.id,))
        db.execute("DELETE FROM vector WHERE node = ?", (node.id,))
    if nodes.closed:
        vectors_changed(db, tenant)


def _put_nodes(db: sqlite3.Connection, tenant: str, nodes: NodeDecision) -> None:
    for node in nodes.put:
        columns = _node_columns(node)
        row = db.execute(_upsert("node", columns, ("id",)) + " RETURNING row", columns).fetchone()["row"]
        db.execute("DELETE FROM node_text WHERE rowid = ?", (row,))
        db.execute(
            "INSERT INTO node_text (rowid, name, words, aliases, summary) VALUES (?, ?, ?, ?, ?)",
            (row, node.name, search_words(node), " ".join(node.aliases), node.summary),
        )
        _assert(db, tenant, node.id, node.life.sources)
    db.executemany(
        "INSERT INTO name_key VALUES (?, ?, ?, ?)",
        [(tenant, label, key, id) for (label, key), id in nodes.claimed.items()],
    )


def _put_edges(db: sqlite3.Connection, tenant: str, edges: EdgeDecision) -> None:
    for edge in edges.put:
        columns = _edge_columns(edge)
        db.execute(_upsert("edge", columns, ("source", "type", "target")), columns)
        _assert(db, tenant, _edge_name(edge), edge.life.sources)


def _assert(db: sqlite3.Connection, tenant: str, fact: str, sources: Iterable[str]) -> None:
    db.execute("DELETE FROM asserted WHERE fact = ?", (fact,))
    db.executemany("INSERT INTO asserted VALUES (?, ?, ?)", [(tenant, source, fact) for source in sources])


def _keep_past(db: sqlite3.Connection, tenant: str, fact: str, columns: dict[str, Any]) -> None:
    db.execute("DELETE FROM asserted WHERE fact = ?", (fact,))
    db.execute(
        "INSERT INTO past (tenant, fact, valid_from, valid_to, body) VALUES (?, ?, ?, ?, ?)",
        (tenant, fact, columns["valid_from"], columns["valid_to"], json.dumps(columns)),
    )


def _edge_name(edge: Edge) -> str:
    return f"{edge.type} {edge.source} {edge.target}"


def _edge_key(fact: str) -> EdgeKey | None:
    match fact.split(" "):
        case [type, source, target]:
            return (EdgeType(type), source, target)
        case _:
            return None


def _node_columns(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "tenant": node.tenant,
        "label": node.label,
        "name": node.name,
        "summary": node.summary,
        "aliases": as_json(node.aliases),
        "properties": json.dumps(dict(node.properties)),
        **life_columns(node.life),
        "sources": as_json(node.life.sources),
    }


def _edge_columns(edge: Edge) -> dict[str, Any]:
    return {
        "tenant": edge.tenant,
        "type": edge.type,
        "source": edge.source,
        "target": edge.target,
        "summary": edge.summary,
        "properties": json.dumps(dict(edge.properties)),
        **life_columns(edge.life),
        "sources": as_json(edge.life.sources),
    }


def _upsert(table: str, columns: dict[str, Any], key: tuple[str, ...]) -> str:
    """`valid_to` is not a column of current facts. Names of tables and columns are this module's own."""
    names = [name for name in columns if name != "valid_to"]
    values = ", ".join(f":{name}" for name in names)
    updates = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    insert = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"
    return f"{insert} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {updates}"
