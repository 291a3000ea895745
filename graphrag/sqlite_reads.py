"""What the SQLite store answers: each function reads within the caller's transaction.

A read of now sees the tables of current facts alone; one of a moment looks into both those and the tables of the past.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Any

from graphrag import sqlite_text
from graphrag.identity import name_key
from graphrag.model import (
    NOW,
    Direction,
    Edge,
    EdgeType,
    Hit,
    Label,
    Neighbour,
    NeighbourPage,
    Node,
    Page,
    Step,
    View,
)
from graphrag.sqlite_rows import (
    EDGE_COLUMNS,
    LABELS,
    NODE_COLUMNS,
    as_json,
    read_edge,
    read_edges,
    read_node,
    read_nodes,
)
from graphrag.store import Ask, EdgesOf, Forecast, NodesOf, StepsFrom
from graphrag.stored import (
    leaving,
    moment_of,
    neighbour_listing,
    neighbour_page,
    node_listing,
    node_page,
    query_words,
    reaching,
)
from graphrag.writing import storable

_NODE = ", ".join(f"n.{name}" for name in NODE_COLUMNS)
_EDGE = ", ".join(f"e.{name}" for name in EDGE_COLUMNS)
_CONFIRMATIONS = itemgetter(EDGE_COLUMNS.index("confirmations"))
_HOLDS = "{0}.valid_from <= :at AND ({0}.valid_to IS NULL OR {0}.valid_to > :at)"


def answer(db: sqlite3.Connection, tenant: str, ask: Ask) -> Any:
    """What a step of an exploration asks for."""
    match ask:
        case NodesOf():
            return nodes(db, tenant, ask.ids, ask.view)
        case EdgesOf():
            return edges(db, tenant, ask.ids, ask.types, ask.direction, ask.limit, ask.view)
        case StepsFrom():
            return steps(db, tenant, ask.frontier, ask.types, ask.direction, ask.limit, ask.view)
        case Forecast():
            return None  # a question more costs next to nothing here


def nodes(db: sqlite3.Connection, tenant: str, ids: Collection[str], view: View = NOW) -> dict[str, Node]:
    # Found by the index of ids alone, which is the smallest: the rows are read whatever index leads to them.
    sql = _ever(
        view,
        """SELECT {n_columns} FROM json_each(:ids) AS i CROSS JOIN {past}node AS n ON n.id = i.value
        WHERE {n_seen_in_row}""",
    )
    rows = _plain(db, sql, {**_seen(tenant, view), "ids": _storable(ids)})
    return {node.id: node for node in read_nodes(rows, tenant)}


def resolve(
    db: sqlite3.Connection, tenant: str, keys: Collection[str], labels: Collection[Label], view: View
) -> dict[str, list[Node]]:
    seen = f"""n.label IN (SELECT value FROM json_each(:labels))
        AND n.scope IN (SELECT value FROM json_each(:scopes)) AND {_holds(view, "n")}"""
    columns = f"{_NODE}, n.confirmations AS confirmations"
    parts = [
        f"""SELECT {columns}, k.key AS found FROM name_key AS k JOIN node AS n ON n.id = k.node
        WHERE k.tenant = :tenant AND k.key IN (SELECT value FROM json_each(:keys)) AND {seen}"""
    ]
    if view.as_of is not None:
        parts.append(
            f"""SELECT {columns}, k.value FROM past_node AS n JOIN json_each(n.name_keys) AS k
            WHERE n.tenant = :tenant AND k.value IN (SELECT value FROM json_each(:keys)) AND {seen}"""
        )
    sql = f"SELECT * FROM ({' UNION ALL '.join(parts)}) ORDER BY confirmations DESC, name, id"
    values = {**_seen(tenant, view), "keys": as_json(map(storable, keys)), "labels": as_json(labels or Label)}
    found: dict[str, list[Node]] = {}
    for row in db.execute(sql, values):
        found.setdefault(row["found"], []).append(read_node(row, tenant))
    return found


def search_text(
    db: sqlite_text.Reader, tenant: str, text: str, limit: int, labels: Collection[Label], view: View
) -> list[Hit]:
    words = query_words(text)
    seen = _condition("n", view.as_of is not None, len(view.scopes) == 1)
    wanted = sqlite_text.Wanted(set(labels or Label), seen, _seen(tenant, view))
    found = sqlite_text.search(db, words, wanted, limit)
    if view.as_of is not None:
        found += sqlite_text.search_past(db, words, wanted, limit)
        found.sort(key=lambda each: (-each.score, each.name, each.id))
    held = nodes(db, tenant, [each.id for each in found[:limit]], view)
    return [Hit(held[each.id], each.score) for each in found[:limit]]


def edges(
    db: sqlite3.Connection,
    tenant: str,
    ids: Collection[str],
    types: Collection[EdgeType],
    direction: Direction,
    limit: int,
    view: View,
) -> list[Edge]:
    # An edge of which both ends are asked for comes once: UNION, not UNION ALL.
    sql = _ever(
        view,
        """SELECT {e_columns} FROM (
        SELECT e.row AS row FROM json_each(:ids) AS i CROSS JOIN {past}edge AS e ON e.source = i.value
        WHERE {leaving} AND {e_seen}
        UNION
        SELECT e.row AS row FROM json_each(:ids) AS i CROSS JOIN {past}edge AS e ON e.target = i.value
        WHERE {reaching} AND {e_seen}) AS w CROSS JOIN {past}edge AS e ON e.row = w.row""",
        types,
        direction,
    )
    values = {
        **_walked(tenant, types, direction, view),
        "ids": _storable(ids),
        "limit": limit,
    }
    rows = _plain(db, f"{sql} LIMIT :limit", values)
    if len(rows) < limit:  # all there are: ordered here, as SQLite is slow at moving whole rows about
        rows.sort()
        rows.sort(key=_CONFIRMATIONS, reverse=True)
    else:
        order = "ORDER BY confirmations DESC, type, source, target, verb, holds"
        rows = _plain(db, f"SELECT * FROM ({sql}) {order} LIMIT :limit", values)
    return read_edges(rows, tenant)


def steps(
    db: sqlite3.Connection,
    tenant: str,
    frontier: Sequence[str],
    types: Collection[EdgeType],
    direction: Direction,
    limit: int,
    view: View,
) -> tuple[list[Step], bool]:
    sql = _ever(
        view,
        """SELECT i.key AS rank, e.target AS there FROM json_each(:frontier) AS i CROSS JOIN {past}edge AS e
        ON e.source = i.value WHERE {leaving} AND {e_seen}
        UNION ALL
        SELECT i.key AS rank, e.source AS there FROM json_each(:frontier) AS i CROSS JOIN {past}edge AS e
        ON e.target = i.value WHERE {reaching} AND {e_seen}""",
        types,
        direction,
    )
    values = {
        **_walked(tenant, types, direction, view),
        "frontier": _storable(frontier),
        "limit": limit + 1,
    }
    walked = _plain(db, f"{sql} LIMIT :limit", values)
    first: dict[str, int] = {}
    for rank, there in walked[:limit]:
        if first.get(there, rank) >= rank:
            first[there] = rank
    names = _ever(
        view,
        """SELECT n.id, n.label, n.name FROM json_each(:ids) AS i CROSS JOIN {past}node AS n ON n.id = i.value
        WHERE {n_seen}""",
    )
    rows = _plain(db, names, {**_seen(tenant, view), "ids": as_json(first)})
    found = [Step(frontier[first[id]], id, LABELS[label], name) for id, label, name in rows]
    return found, len(walked) > limit


def neighbours(
    db: sqlite3.Connection,
    tenant: str,
    id: str,
    types: Collection[EdgeType],
    direction: Direction,
    limit: int,
    cursor: str | None,
    view: View,
) -> NeighbourPage:
    listing = neighbour_listing(tenant, id, types, direction, view)
    after = listing.place(cursor)
    pasts = ("",) if view.as_of is None else ("", "past_")
    sql = " UNION ALL ".join(
        f"""SELECT e.confirmations AS confirmations, n.name AS name, e.id AS id,
            '{edge}' AS edge_past, e.row AS edge_row, '{node}' AS node_past, n.row AS node_row
        FROM {edge}edge AS e JOIN {node}node AS n ON n.id = e.{there}
        WHERE e.tenant = :tenant AND e.{here} = :start AND e.type IN (SELECT value FROM json_each(:{types_of}))
        AND e.scope IN (SELECT value FROM json_each(:scopes)) AND n.scope IN (SELECT value FROM json_each(:scopes))
        AND {_holds(view, "e")} AND {_holds(view, "n")}"""
        for here, there, types_of in (("source", "target", "leaving"), ("target", "source", "reaching"))
        for edge in pasts
        for node in pasts
    )
    values = {
        **_walked(tenant, types, direction, view),
        "start": storable(id),
        "confirmations": after and after.confirmations,
        "name": after and after.name,
        "id": after and after.id,
        "limit": limit + 1,
    }
    rows = db.execute(
        f"""SELECT * FROM ({sql})
        WHERE :confirmations IS NULL OR (-confirmations, name, id) > (-:confirmations, :name, :id)
        ORDER BY confirmations DESC, name, id LIMIT :limit""",
        values,
    ).fetchall()
    found = [
        Neighbour(
            _edge_at(db, tenant, row["edge_past"], row["edge_row"]),
            _node_at(db, tenant, row["node_past"], row["node_row"]),
        )
        for row in rows
    ]
    return neighbour_page(listing, found, limit)


def list_nodes(
    db: sqlite3.Connection,
    tenant: str,
    labels: Collection[Label],
    query: str,
    limit: int,
    cursor: str | None,
    view: View,
) -> Page:
    listing = node_listing(tenant, labels, query, view)
    after = listing.place(cursor)
    sql = _ever(
        view,
        """SELECT {n_columns}, n.confirmations AS confirmations FROM {past}node AS n
        WHERE n.tenant = :tenant AND n.label IN (SELECT value FROM json_each(:labels))
        AND {n_seen}
        AND (:key = '' OR EXISTS (SELECT 1 FROM json_each(n.name_keys) WHERE instr(value, :key)))
        AND (:confirmations IS NULL OR (-confirmations, name, id) > (-:confirmations, :name, :id))""",
    )
    values = {
        **_seen(tenant, view),
        "labels": as_json(labels or Label),
        "key": name_key(storable(query)),
        "confirmations": after and after.confirmations,
        "name": after and after.name,
        "id": after and after.id,
        "limit": limit + 1,
    }
    rows = db.execute(f"{sql} ORDER BY confirmations DESC, name, id LIMIT :limit", values).fetchall()
    return node_page(listing, read_nodes(rows, tenant), limit)


def all_nodes(db: sqlite3.Connection, tenant: str, labels: Collection[Label], view: View) -> list[Node]:
    sql = _ever(
        view,
        """SELECT {n_columns} FROM {past}node AS n
        WHERE n.tenant = :tenant AND n.label IN (SELECT value FROM json_each(:labels))
        AND {n_seen}""",
    )
    rows = db.execute(f"{sql} ORDER BY id", {**_seen(tenant, view), "labels": as_json(labels or Label)})
    return read_nodes(rows, tenant)


def pairs(db: sqlite3.Connection, tenant: str, type: EdgeType) -> list[tuple[str, str]]:
    rows = db.execute(
        "SELECT source, target FROM edge WHERE tenant = ? AND type = ? AND scope = ?", (tenant, type, NOW.scopes[0])
    )
    return [(row["source"], row["target"]) for row in rows]


def _plain(db: sqlite3.Connection, sql: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
    """The rows as plain tuples, which are cheaper than rows whose columns have names."""
    cursor = db.cursor()
    cursor.row_factory = None
    return cursor.execute(sql, values).fetchall()


def _storable(ids: Collection[str]) -> str:
    """As JSON. What is not storable would be escaped in it, so most ids need no look of their own."""
    told = as_json(ids)
    return as_json(map(storable, ids)) if "\\u" in told else told


def _ever(view: View, select: str, types: Collection[EdgeType] = (), direction: Direction = Direction.BOTH) -> str:
    """The select over the tables that the view looks into, its placeholders filled in. All names are this module's
    own."""
    ways = _ways(" ".join(types), direction)
    return _filled(select, view.as_of is not None, len(view.scopes) == 1, ways.leaves, ways.reaches)


@lru_cache(maxsize=1_024)
def _filled(select: str, ever: bool, one_scope: bool, leaves: str, reaches: str) -> str:
    seen = {table: _condition(table, ever, one_scope) for table in ("n", "e")}
    parts = {
        "n_columns": _NODE,
        "e_columns": _EDGE,
        "n_seen": seen["n"],
        "n_seen_in_row": seen["n"].replace("n.tenant", "+n.tenant").replace("n.scope", "+n.scope"),
        "e_seen": seen["e"],
        "leaving": leaves,
        "reaching": reaches,
    }
    return " UNION ALL ".join(select.format(past=past, **parts) for past in (("", "past_") if ever else ("",)))


def _condition(table: str, ever: bool, one_scope: bool) -> str:
    """That a fact is the tenant's, in the view's scope and held at its moment."""
    scope = f"{table}.scope = :scope" if one_scope else f"{table}.scope IN (SELECT value FROM json_each(:scopes))"
    return " AND ".join([f"{table}.tenant = :tenant", scope, _HOLDS.format(table) if ever else "TRUE"])


@dataclass(frozen=True, slots=True)
class _Ways:
    """The types to follow either way: as conditions, and as the JSON these look into."""

    leaves: str
    reaches: str
    values: Mapping[str, str]


@lru_cache(maxsize=1_024)
def _ways(types: str, direction: Direction) -> _Ways:
    """`types` are joined by spaces: worked out once, as a walk asks for the same ones hop after hop."""
    wanted = [EdgeType(type) for type in types.split()]
    leaves, reaches = leaving(wanted, direction), reaching(wanted, direction)
    values = {"leaving": as_json(leaves), "reaching": as_json(reaches)}
    return _Ways(_among(leaves, "leaving"), _among(reaches, "reaching"), values)


def _among(types: Collection[str], name: str) -> str:
    """Nothing to compare where every type is wanted, or none."""
    if len(types) == len(EdgeType):
        return "TRUE"
    return f"e.type IN (SELECT value FROM json_each(:{name}))" if types else "FALSE"


def _holds(view: View, table: str) -> str:
    return "TRUE" if view.as_of is None else _HOLDS.format(table)


def _seen(tenant: str, view: View) -> dict[str, object]:
    scopes = view.scopes
    return {"tenant": tenant, "at": moment_of(view), "scope": "".join(scopes[:1]), "scopes": _scopes(scopes)}


@lru_cache(maxsize=1_024)
def _scopes(scopes: tuple[str, ...]) -> str:
    return as_json(scopes)


def _walked(tenant: str, types: Collection[EdgeType], direction: Direction, view: View) -> dict[str, object]:
    return {**_seen(tenant, view), **_ways(" ".join(types), direction).values}


def _node_at(db: sqlite3.Connection, tenant: str, past: str, row: int) -> Node:
    return read_node(db.execute(f"SELECT {_NODE} FROM {past}node AS n WHERE row = ?", (row,)).fetchone(), tenant)


def _edge_at(db: sqlite3.Connection, tenant: str, past: str, row: int) -> Edge:
    return read_edge(db.execute(f"SELECT {_EDGE} FROM {past}edge AS e WHERE row = ?", (row,)).fetchone(), tenant)
