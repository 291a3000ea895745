"""Nearest vectors in SQLite: a search compares a bounded number, however many there are.

It looks into the cells nearest to it (`graphrag.sqlite_cells`) until it has seen so many, compares these by codes of
one byte a number, and measures the best again by the vectors themselves. A graph with fewer vectors of a kind is
searched whole.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product

import numpy as np
from numpy.typing import NDArray

from graphrag.model import NOW, Label, View
from graphrag.sqlite_cells import STORED, Codes, forget_all, matrix, put, read_codes
from graphrag.sqlite_rows import as_json
from graphrag.store import Vector
from graphrag.stored import moment_of
from graphrag.vectors import checked, other_dimensions

MOST_VECTORS = 8_192
"""So many vectors of a kind a search looks at."""
_MEASURED_AGAIN = 2
_DECIMALS = 6
_CELLS_IN_MEMORY = 1_024
_TENANTS_IN_MEMORY = 16
_DIMENSIONS_KEY = "vector.dimensions"


@dataclass(frozen=True, slots=True)
class _Cells:
    """The cells of a tenant, those of a kind together: `of_kind` says by label and scope where. `centroids` has shape
    (cells, dimensions), each row of length one."""

    generation: int
    ids: NDArray[np.int64]
    of_kind: Mapping[tuple[str, str], range]
    sizes: NDArray[np.int64]
    versions: NDArray[np.int64]
    centroids: NDArray[np.float32]


class VectorSearch:
    """Keeps in memory what searches read again and again, and looks at each use whether the file has changed."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._cells: OrderedDict[str, _Cells] = OrderedDict()
        self._codes: OrderedDict[int, tuple[int, Codes]] = OrderedDict()
        self._lock = threading.Lock()

    def check(self, db: sqlite3.Connection, *, refit: bool) -> None:
        """Refuse a file made for another dimension; with `refit`, drop its vectors and take the new dimension."""
        row = db.execute("SELECT value FROM meta WHERE key = ?", (_DIMENSIONS_KEY,)).fetchone()
        stored = None if row is None else int(row["value"])
        if stored == self._dimensions:
            return
        if stored is not None and not refit:
            raise other_dimensions(stored, self._dimensions)
        forget_all(db)
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
        again = _nearest_codes(self._read(db, cells, near), query, _MEASURED_AGAIN * limit)
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

    def _read(self, db: sqlite3.Connection, cells: _Cells, wanted: Sequence[int]) -> list[Codes]:
        versions = {int(cells.ids[at]): int(cells.versions[at]) for at in wanted}
        with self._lock:
            remembered = {id: self._codes[id] for id in versions if id in self._codes}
        known = {id: codes for id, (version, codes) in remembered.items() if version == versions[id]}
        known.update(read_codes(db, versions.keys() - known.keys()))
        with self._lock:
            for id, codes in known.items():
                self._codes[id] = versions[id], codes
                self._codes.move_to_end(id)
            while len(self._codes) > _CELLS_IN_MEMORY:
                self._codes.popitem(last=False)
        return [known[id] for id in versions]


def _nearest_cells(
    cells: _Cells, query: NDArray[np.float32], labels: Sequence[str], scopes: Sequence[str]
) -> list[int]:
    """The cells to look into, nearest first: those that hold `MOST_VECTORS`, whole cells, at least one."""
    kinds = [cells.of_kind[kind] for kind in product(labels, scopes) if kind in cells.of_kind]
    if not kinds:
        return []
    eligible = np.concatenate([np.arange(kind.start, kind.stop) for kind in kinds])
    cosines = np.concatenate([cells.centroids[kind.start : kind.stop] @ query for kind in kinds])
    order = eligible[np.argsort(-cosines, kind="stable")]
    before = np.cumsum(cells.sizes[order]) - cells.sizes[order]
    return order[before < MOST_VECTORS].tolist()


def _nearest_codes(cells: Sequence[Codes], query: NDArray[np.float32], limit: int) -> list[str]:
    if not cells:
        return []
    starts = np.cumsum([0, *(len(cell.lengths) for cell in cells)])
    # One cell after another: made of four bytes a number, it is still in the processor's cache when it is multiplied.
    products = np.concatenate([cell.codes.astype(np.float32) @ query for cell in cells])
    cosines = products / np.concatenate([cell.lengths for cell in cells])
    best = np.argpartition(-cosines, limit)[:limit] if len(cosines) > limit else np.arange(len(cosines))
    places = np.searchsorted(starts, best, side="right") - 1
    of_cell: list[int] = places.tolist()
    within: list[int] = (best - starts[places]).tolist()
    nodes = {cell: cells[cell].nodes for cell in set(of_cell)}
    return [nodes[cell][at] for cell, at in zip(of_cell, within, strict=True)]


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
        """SELECT cell, label, scope, size, version, centroid FROM vector_cell
        WHERE tenant = ? ORDER BY label, scope, cell""",
        (tenant,),
    ).fetchall()
    of_kind: dict[tuple[str, str], range] = {}
    for kind, places in groupby(range(len(found)), key=lambda at: (found[at]["label"], found[at]["scope"])):
        first, *others = places
        of_kind[kind] = range(first, first + 1 + len(others))
    return _Cells(
        generation=generation,
        ids=np.array([row["cell"] for row in found], dtype=np.int64),
        of_kind=of_kind,
        sizes=np.array([row["size"] for row in found], dtype=np.int64),
        versions=np.array([row["version"] for row in found], dtype=np.int64),
        centroids=matrix([row["centroid"] for row in found], STORED, dimensions),
    )


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
