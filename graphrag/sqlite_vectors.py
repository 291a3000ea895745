"""Nearest vectors in SQLite: an inverted file of cells that split, so that a search compares a bounded number.

The vectors of one kind of node lie in cells, each with a centroid (Jégou, Douze and Schmid, Product Quantization for
Nearest Neighbor Search, 2011). A search looks into the nearest cells until it has seen a bounded number of vectors,
compares these by codes of one byte a number, and measures the best again by the vectors themselves. A graph with fewer
vectors of a kind is searched whole. A cell that has grown too large is split in two where it lies, within the write, so
that nothing ever has to be trained (as SPFresh does it: Xu and others, SOSP 2023).
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag.clusters import halves, nearest_of
from graphrag.model import NOW, Label, View
from graphrag.sqlite_rows import as_json
from graphrag.store import Vector
from graphrag.stored import moment_of
from graphrag.vectors import checked, other_dimensions

STORED = np.dtype("<f4")
MOST_VECTORS = 8_192
"""So many vectors of a kind a search looks at."""
CELL = 128
"""The most vectors in a cell. Small cells lie closer together, so that the nearest of them hold more of what is near;
each costs a comparison more, of a search and of a vector that is written."""
_MEASURED_AGAIN = 2
_DECIMALS = 6
_CELLS_IN_MEMORY = 1_024
_TENANTS_IN_MEMORY = 16
_CODE = np.int8
_LARGEST = 127
_DIMENSIONS_KEY = "vector.dimensions"


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of a tenant. `centroids` has shape (cells, dimensions), each row of length one."""

    generation: int
    ids: NDArray[np.int64]
    labels: NDArray[np.str_]
    scopes: NDArray[np.str_]
    sizes: NDArray[np.int64]
    versions: NDArray[np.int64]
    centroids: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Codes:
    """The vectors of a cell in short. `codes` has shape (vectors, dimensions), `lengths` those of its rows."""

    version: int
    nodes: list[str]
    codes: NDArray[np.int8]
    lengths: NDArray[np.float32]


class VectorSearch:
    """Keeps in memory what searches read again and again, and looks at each use whether the file has changed."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._cells: OrderedDict[str, _Cells] = OrderedDict()
        self._codes: OrderedDict[int, _Codes] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, db: sqlite3.Connection, *, refit: bool) -> None:
        """Refuse a file made for another dimension; with `refit`, drop its vectors and take the new dimension."""
        row = db.execute("SELECT value FROM meta WHERE key = ?", (_DIMENSIONS_KEY,)).fetchone()
        stored = None if row is None else int(row["value"])
        if stored == self._dimensions:
            return
        if stored is not None and not refit:
            raise other_dimensions(stored, self._dimensions)
        for table in ("vector", "vector_code", "vector_cell"):
            db.execute(f"DELETE FROM {table}")
        db.execute("UPDATE past_node SET embedding = NULL")
        db.execute("UPDATE vector_generation SET generation = generation + 1")
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_DIMENSIONS_KEY, str(self._dimensions).encode()))

    def put(self, db: sqlite3.Connection, tenant: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of current nodes; ids that are not among the tenant's nodes are passed over."""
        put(db, tenant, {id: checked(vector, self._dimensions) for id, vector in vectors.items()})

    def nearest(
        self,
        db: sqlite3.Connection,
        tenant: str,
        vector: Vector,
        limit: int,
        labels: Collection[Label],
        view: View = NOW,
    ) -> dict[str, float]:
        """Cosine by node id, best first. A vector of length zero is near nothing."""
        query = checked(vector, self._dimensions)
        length = float(np.linalg.norm(query))
        if length == 0.0 or limit <= 0:
            return {}
        query = query / length
        wanted = [str(label) for label in labels or Label]
        if view.as_of is not None:
            return _best(_held(db, tenant, wanted, view, self._dimensions), query, limit)
        cells = self._of_tenant(db, tenant)
        near = _nearest_cells(cells, query, wanted, view.scopes)
        read = list(self._read(db, cells, near))
        again = _nearest_codes(read, query, _MEASURED_AGAIN * limit)
        rows = db.execute(
            "SELECT node, embedding FROM json_each(?) AS i CROSS JOIN vector ON node = i.value", (as_json(again),)
        )
        return _best({row["node"]: row["embedding"] for row in rows}, query, limit)

    def _of_tenant(self, db: sqlite3.Connection, tenant: str) -> _Cells:
        row = db.execute("SELECT generation FROM vector_generation WHERE tenant = ?", (tenant,)).fetchone()
        generation = 0 if row is None else int(row["generation"])
        with self._lock:
            known = self._cells.get(tenant)
            if known is None or known.generation != generation:
                known = self._cells[tenant] = _cells(db, tenant, generation, self._dimensions)
            self._cells.move_to_end(tenant)
            if len(self._cells) > _TENANTS_IN_MEMORY:
                self._cells.popitem(last=False)
            return known

    def _read(self, db: sqlite3.Connection, cells: _Cells, wanted: Sequence[int]) -> Iterator[_Codes]:
        for at in wanted:
            id, version = int(cells.ids[at]), int(cells.versions[at])
            with self._lock:
                known = self._codes.get(id)
            if known is None or known.version != version:
                known = _read_codes(db, id, version, self._dimensions)
            with self._lock:
                self._codes[id] = known
                self._codes.move_to_end(id)
                if len(self._codes) > _CELLS_IN_MEMORY:
                    self._codes.popitem(last=False)
            yield known


def _nearest_cells(
    cells: _Cells, query: NDArray[np.float32], labels: Sequence[str], scopes: Sequence[str]
) -> list[int]:
    """The cells to look into, nearest first: those that hold `MOST_VECTORS`, whole cells, at least one."""
    eligible = (np.isin(cells.labels, labels) & np.isin(cells.scopes, scopes)).nonzero()[0]
    order = eligible[np.argsort(-(cells.centroids[eligible] @ query), kind="stable")]
    before = np.cumsum(cells.sizes[order]) - cells.sizes[order]
    return order[before < MOST_VECTORS].tolist()


def _nearest_codes(cells: Sequence[_Codes], query: NDArray[np.float32], limit: int) -> list[str]:
    if not cells:
        return []
    codes = np.concatenate([cell.codes for cell in cells]).astype(np.float32)
    cosines = (codes @ query) / np.concatenate([cell.lengths for cell in cells])
    best = np.argpartition(-cosines, limit)[:limit] if len(cosines) > limit else np.arange(len(cosines))
    starts = np.cumsum([0, *(len(cell.nodes) for cell in cells[:-1])])
    of_cell = np.searchsorted(starts, best, side="right") - 1
    within = best - starts[of_cell]
    places: list[tuple[int, int]] = np.stack([of_cell, within], axis=1).tolist()
    return [cells[cell].nodes[at] for cell, at in places]


def _best(blobs: Mapping[str, bytes], query: NDArray[np.float32], limit: int) -> dict[str, float]:
    if not blobs:
        return {}
    rows = np.frombuffer(b"".join(blobs.values()), dtype=STORED).reshape(len(blobs), query.size)
    lengths = np.linalg.norm(rows, axis=1)
    scores = (rows @ query) / np.where(lengths == 0, 1, lengths)
    # Equal vectors get equal cosines, whatever place they were multiplied in.
    rounded = np.round(scores.astype(np.float64), _DECIMALS).tolist()
    ranked = sorted((-score, id) for id, score, length in zip(blobs, rounded, lengths.tolist(), strict=True) if length)
    return {id: -score for score, id in ranked[:limit]}


def _cells(db: sqlite3.Connection, tenant: str, generation: int, dimensions: int) -> _Cells:
    found = db.execute(
        "SELECT cell, label, scope, size, version, centroid FROM vector_cell WHERE tenant = ? ORDER BY cell", (tenant,)
    ).fetchall()
    return _Cells(
        generation=generation,
        ids=np.array([row["cell"] for row in found], dtype=np.int64),
        labels=np.array([row["label"] for row in found], dtype=np.str_),
        scopes=np.array([row["scope"] for row in found], dtype=np.str_),
        sizes=np.array([row["size"] for row in found], dtype=np.int64),
        versions=np.array([row["version"] for row in found], dtype=np.int64),
        centroids=_matrix([row["centroid"] for row in found], STORED, dimensions),
    )


def _read_codes(db: sqlite3.Connection, cell: int, version: int, dimensions: int) -> _Codes:
    found = db.execute("SELECT node, code FROM vector_code WHERE cell = ?", (cell,)).fetchall()
    codes = _matrix([row["code"] for row in found], np.dtype(_CODE), dimensions)
    lengths = np.linalg.norm(codes.astype(np.float32), axis=1)
    return _Codes(version, [row["node"] for row in found], codes, lengths)


def _held(db: sqlite3.Connection, tenant: str, labels: Sequence[str], view: View, dimensions: int) -> dict[str, bytes]:
    """Every vector that held at a moment: rarely asked for, so read anew each time."""
    rows = db.execute(
        """SELECT node.id, embedding FROM vector JOIN node ON node.id = vector.node
        WHERE vector.tenant = :tenant AND node.valid_from <= :at
        AND label IN (SELECT value FROM json_each(:labels)) AND scope IN (SELECT value FROM json_each(:scopes))
        UNION ALL
        SELECT id, embedding FROM past_node
        WHERE tenant = :tenant AND valid_from <= :at AND valid_to > :at AND embedding IS NOT NULL
        AND label IN (SELECT value FROM json_each(:labels)) AND scope IN (SELECT value FROM json_each(:scopes))""",
        {"tenant": tenant, "at": moment_of(view), "labels": as_json(labels), "scopes": as_json(view.scopes)},
    )
    size = dimensions * STORED.itemsize
    return {row["id"]: row["embedding"] for row in rows if len(row["embedding"]) == size}


# Writing, within the caller's transaction ------------------------------------------------------------------------


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
    gone = as_json(ids)
    cells = db.execute(
        "DELETE FROM vector_code WHERE node IN (SELECT value FROM json_each(?)) RETURNING cell", (gone,)
    ).fetchall()
    tenants = db.execute(
        "DELETE FROM vector WHERE node IN (SELECT value FROM json_each(?)) RETURNING tenant", (gone,)
    ).fetchall()
    _count(db, {row["cell"] for row in cells})
    for tenant in {row["tenant"] for row in tenants}:
        _changed(db, tenant)


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
    cells = [row["cell"] for row in found]
    if cells:
        near = nearest_of(units, _matrix([row["centroid"] for row in found], STORED, units.shape[1]))
    else:
        cells, near = [_new_cell(db, kind, units)], np.zeros(len(ids), dtype=np.int64)
    touched = {cells[at] for at in near.tolist()}
    _insert(db, [cells[at] for at in near.tolist()], ids, units)
    for size, cell in _count(db, touched):
        if size > CELL:
            _split(db, kind, cell, units.shape[1])


def _split(db: sqlite3.Connection, kind: tuple[str, str, str], cell: int, dimensions: int) -> None:
    """Into two, and these again until none is too large. The halves are found by the codes, which are near enough."""
    found = db.execute("DELETE FROM vector_code WHERE cell = ? RETURNING node, code", (cell,)).fetchall()
    db.execute("DELETE FROM vector_cell WHERE cell = ?", (cell,))
    codes = _matrix([row["code"] for row in found], np.dtype(_CODE), dimensions)
    units = codes / np.linalg.norm(codes.astype(np.float32), axis=1, keepdims=True)
    waiting = [np.arange(len(found))]
    made: set[int] = set()
    while waiting:
        members = waiting.pop()
        if len(members) > CELL:
            waiting += (members[half] for half in halves(units[members]))
            continue
        new = _new_cell(db, kind, units[members])
        made.add(new)
        rows = [(new, found[at]["node"], found[at]["code"]) for at in members.tolist()]
        db.executemany("INSERT INTO vector_code VALUES (?, ?, ?)", rows)
    _count(db, made)


def _new_cell(db: sqlite3.Connection, kind: tuple[str, str, str], units: NDArray[np.float32]) -> int:
    middle = units.mean(axis=0)
    middle /= np.linalg.norm(middle) or 1.0
    row = db.execute(
        "INSERT INTO vector_cell (tenant, label, scope, centroid) VALUES (?, ?, ?, ?) RETURNING cell",
        (*kind, middle.astype(STORED).tobytes()),
    ).fetchone()
    return row["cell"]


def _insert(db: sqlite3.Connection, cells: Sequence[int], ids: Sequence[str], units: NDArray[np.float32]) -> None:
    largest: NDArray[np.float32] = np.abs(units).max(axis=1, keepdims=True)
    codes: NDArray[np.int8] = np.round(_LARGEST * units / largest).astype(_CODE)
    rows = [(cell, id, codes[at].tobytes()) for at, (cell, id) in enumerate(zip(cells, ids, strict=True))]
    db.executemany("INSERT INTO vector_code VALUES (?, ?, ?)", rows)


def _count(db: sqlite3.Connection, cells: Collection[int]) -> list[tuple[int, int]]:
    """Say of these cells that they have changed and how many they hold now; returns (size, cell). Empty ones go."""
    rows = db.execute(
        """UPDATE vector_cell SET version = version + 1,
            size = (SELECT count(*) FROM vector_code WHERE vector_code.cell = vector_cell.cell)
        WHERE cell IN (SELECT value FROM json_each(?)) RETURNING size, cell""",
        (as_json(cells),),
    ).fetchall()
    empty = [row["cell"] for row in rows if not row["size"]]
    db.execute("DELETE FROM vector_cell WHERE cell IN (SELECT value FROM json_each(?))", (as_json(empty),))
    return [(row["size"], row["cell"]) for row in rows]


def _matrix(blobs: Sequence[bytes], stored: np.dtype[Any], dimensions: int) -> NDArray[Any]:
    return np.frombuffer(b"".join(blobs), dtype=stored).reshape(len(blobs), dimensions)
