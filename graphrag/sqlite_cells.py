"""The cells in which vectors lie in SQLite: written within the caller's transaction.

The vectors of one kind of node lie in cells, each with a centroid, so that a search looks into the nearest of them
(Jégou, Douze and Schmid, Product Quantization for Nearest Neighbor Search, 2011). A cell that has grown too large is
split in two where it lies, within the write, so that nothing ever has to be trained (as SPFresh does it: Xu and others,
SOSP 2023). What a search compares of a cell is one row: to fetch one for each vector costs more than to compare them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag.clusters import halves, nearest_of
from graphrag.sqlite_rows import as_json

STORED = np.dtype("<f4")
CELL = 128
"""The most vectors in a cell. Small cells lie closer together, so that the nearest of them hold more of what is near;
each costs a comparison more, of a search and of a vector that is written."""
_CODE = np.int8
_LARGEST = 127
_BETWEEN = "\n"


@dataclass(frozen=True, slots=True)
class Codes:
    """The vectors of a cell in short: `codes` has shape (vectors, dimensions), `lengths` those of its rows. `ids` are
    the nodes', a line each."""

    ids: str
    lengths: NDArray[np.float32]
    codes: NDArray[np.int8]

    @property
    def nodes(self) -> list[str]:
        return self.ids.split(_BETWEEN)

    def taken(self, places: NDArray[Any]) -> Codes:
        """Those at these places, or where a mask is true."""
        nodes = np.array(self.nodes, dtype=object)[places]
        return Codes(_BETWEEN.join(nodes), self.lengths[places], self.codes[places])


def read_codes(db: sqlite3.Connection, cells: Iterable[int]) -> dict[int, Codes]:
    """Of those of the cells that are there."""
    cursor = db.cursor()
    cursor.row_factory = None
    cursor.execute(
        "SELECT cell, nodes, lengths, codes FROM json_each(?) AS i CROSS JOIN vector_codes ON cell = i.value",
        (as_json(cells),),
    )
    return {cell: _codes(*columns) for cell, *columns in cursor}


def _codes(nodes: str, lengths: bytes, codes: bytes) -> Codes:
    of_each = np.frombuffer(lengths, dtype=STORED)
    return Codes(nodes, of_each, np.frombuffer(codes, dtype=_CODE).reshape(len(of_each), -1))


def matrix(blobs: Sequence[bytes], stored: np.dtype[Any], dimensions: int) -> NDArray[Any]:
    return np.frombuffer(b"".join(blobs), dtype=stored).reshape(-1, dimensions)


def put(db: sqlite3.Connection, tenant: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
    """Keep vectors of current nodes, instead of those they had; ids of others are passed over."""
    if not vectors:
        return
    rows = db.execute(
        """SELECT node.id, label, scope FROM json_each(?) AS i CROSS JOIN node ON node.id = i.value WHERE tenant = ?""",
        (as_json(vectors), tenant),
    ).fetchall()
    forget(db, [row["id"] for row in rows])
    db.executemany(
        "INSERT INTO vector VALUES (?, ?, ?)",
        [(row["id"], tenant, vectors[row["id"]].astype(STORED).tobytes()) for row in rows],
    )
    kinds: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if vectors[row["id"]].any():  # a vector of length zero is near nothing
            kinds.setdefault((row["label"], row["scope"]), []).append(row["id"])
    for (label, scope), ids in kinds.items():
        units = np.stack([vectors[id] / np.linalg.norm(vectors[id]) for id in ids]).astype(np.float32)
        _place(db, (tenant, label, scope), ids, units)
    _changed(db, tenant)


def forget(db: sqlite3.Connection, ids: Collection[str]) -> None:
    """Take away the vectors of these nodes."""
    asked = as_json(ids)
    tenants = db.execute(
        "DELETE FROM vector WHERE node IN (SELECT value FROM json_each(?)) RETURNING tenant", (asked,)
    ).fetchall()
    placed = db.execute(
        "DELETE FROM vector_place WHERE node IN (SELECT value FROM json_each(?)) RETURNING cell, node", (asked,)
    ).fetchall()
    of_cell: dict[int, set[str]] = {}
    for row in placed:
        of_cell.setdefault(row["cell"], set()).add(row["node"])
    for cell, codes in read_codes(db, of_cell).items():
        kept = np.array([node not in of_cell[cell] for node in codes.nodes], dtype=np.bool_)
        _keep(db, cell, codes.taken(kept) if kept.any() else None)
    for tenant in {row["tenant"] for row in tenants}:
        _changed(db, tenant)


def forget_all(db: sqlite3.Connection) -> None:
    """Take away every vector, of the past too."""
    for table in ("vector", "vector_place", "vector_codes", "vector_cell"):
        db.execute(f"DELETE FROM {table}")
    db.execute("UPDATE past_node SET embedding = NULL")
    db.execute("UPDATE vector_generation SET generation = generation + 1")


def gather(db: sqlite3.Connection, cell: int, nodes: Sequence[str], codes: Sequence[bytes]) -> None:
    """Put vectors that are in a cell already, each by its code, where searches read them."""
    rows = matrix(codes, np.dtype(_CODE), len(codes[0]))
    _keep(db, cell, Codes(_BETWEEN.join(nodes), _lengths(rows), rows))
    _lie_in(db, cell, nodes)


def _changed(db: sqlite3.Connection, tenant: str) -> None:
    """Tell every process that what it has in memory is old."""
    db.execute(
        """INSERT INTO vector_generation VALUES (?, 1)
        ON CONFLICT (tenant) DO UPDATE SET generation = generation + 1""",
        (tenant,),
    )


def _place(db: sqlite3.Connection, kind: tuple[str, str, str], ids: Sequence[str], units: NDArray[np.float32]) -> None:
    """Put each vector into the nearest cell of its kind, and split the cells that are too large then."""
    found = db.execute(
        "SELECT cell, centroid FROM vector_cell WHERE tenant = ? AND label = ? AND scope = ?", kind
    ).fetchall()
    new = _codes_of(ids, units)
    if not found:
        _divide(db, kind, new)
        return
    near = nearest_of(units, matrix([row["centroid"] for row in found], STORED, units.shape[1]))
    places = {found[at]["cell"]: np.flatnonzero(near == at) for at in np.unique(near).tolist()}
    held = read_codes(db, places)
    for cell, here in places.items():
        grown = _together(held[cell], new.taken(here))
        if len(grown.lengths) > CELL:
            _keep(db, cell, None)
            _divide(db, kind, grown)
        else:
            _keep(db, cell, grown)
            _lie_in(db, cell, [ids[at] for at in here.tolist()])


def _divide(db: sqlite3.Connection, kind: tuple[str, str, str], codes: Codes) -> None:
    """Into halves, and these again until none is too large for a new cell. What lies together is found by the codes,
    which are near enough."""
    units = codes.codes.astype(np.float32) / codes.lengths[:, np.newaxis]
    waiting = [np.arange(len(units))]
    while waiting:
        members = waiting.pop()
        if len(members) > CELL:
            waiting += (members[half] for half in halves(units[members]))
            continue
        middle = units[members].mean(axis=0)
        middle /= np.linalg.norm(middle) or 1.0
        cell = db.execute(
            "INSERT INTO vector_cell (tenant, label, scope, centroid) VALUES (?, ?, ?, ?) RETURNING cell",
            (*kind, middle.astype(STORED).tobytes()),
        ).fetchone()["cell"]
        part = codes.taken(members)
        _keep(db, cell, part)
        _lie_in(db, cell, part.nodes)


def _keep(db: sqlite3.Connection, cell: int, codes: Codes | None) -> None:
    """Let a cell hold just these; with none it is taken away."""
    if codes is None:
        db.execute("DELETE FROM vector_codes WHERE cell = ?", (cell,))
        db.execute("DELETE FROM vector_cell WHERE cell = ?", (cell,))
        return
    db.execute(
        "INSERT OR REPLACE INTO vector_codes VALUES (?, ?, ?, ?)",
        (cell, codes.ids, codes.lengths.astype(STORED).tobytes(), codes.codes.tobytes()),
    )
    db.execute("UPDATE vector_cell SET version = version + 1, size = ? WHERE cell = ?", (len(codes.lengths), cell))


def _lie_in(db: sqlite3.Connection, cell: int, nodes: Collection[str]) -> None:
    db.executemany("INSERT OR REPLACE INTO vector_place VALUES (?, ?)", [(node, cell) for node in nodes])


def _codes_of(ids: Sequence[str], units: NDArray[np.float32]) -> Codes:
    """One signed byte a number, the largest of each vector being 127."""
    largest: NDArray[np.float32] = np.abs(units).max(axis=1, keepdims=True)
    codes: NDArray[np.int8] = np.round(_LARGEST * units / largest).astype(_CODE)
    return Codes(_BETWEEN.join(ids), _lengths(codes), codes)


def _lengths(codes: NDArray[np.int8]) -> NDArray[np.float32]:
    return np.linalg.norm(codes.astype(np.float32), axis=1).astype(np.float32)


def _together(some: Codes, others: Codes) -> Codes:
    return Codes(
        f"{some.ids}{_BETWEEN}{others.ids}",
        np.concatenate([some.lengths, others.lengths]),
        np.concatenate([some.codes, others.codes]),
    )
