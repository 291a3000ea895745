"""Nearest vectors in SQLite: every vector of a tenant in one matrix in memory, checked against the file at each use."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphrag.model import NOW, Label, View
from graphrag.store import Vector
from graphrag.stored import moment_of
from graphrag.vectors import checked, other_dimensions

STORED = np.dtype("<f4")
_DIMENSIONS_KEY = "vector.dimensions"
_TENANTS_IN_MEMORY = 16


@dataclass(frozen=True, slots=True)
class _Matrix:
    """`rows` has shape (nodes, dimensions), each row of length one, in the order of the ids."""

    generation: int
    ids: list[str]
    labels: NDArray[np.str_]
    scopes: NDArray[np.str_]
    rows: NDArray[np.float32]


class VectorCache:
    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._matrices: dict[str, _Matrix] = {}
        self._lock = threading.Lock()

    def check(self, db: sqlite3.Connection, *, refit: bool) -> None:
        """Refuse a file made for another dimension; with `refit`, drop its vectors and take the new dimension."""
        row = db.execute("SELECT value FROM meta WHERE key = ?", (_DIMENSIONS_KEY,)).fetchone()
        stored = None if row is None else int(row["value"])
        if stored == self._dimensions:
            return
        if stored is not None and not refit:
            raise other_dimensions(stored, self._dimensions)
        db.execute("DELETE FROM vector")
        db.execute("UPDATE past_node SET embedding = NULL")
        db.execute("UPDATE vector_generation SET generation = generation + 1")
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (_DIMENSIONS_KEY, str(self._dimensions).encode()))

    def put(self, db: sqlite3.Connection, tenant: str, vectors: Mapping[str, Vector]) -> None:
        """Keep vectors of current nodes; ids that are not among the tenant's nodes are passed over."""
        rows = [
            {"id": id, "tenant": tenant, "blob": checked(vector, self._dimensions).astype(STORED).tobytes()}
            for id, vector in vectors.items()
        ]
        db.executemany(
            """INSERT OR REPLACE INTO vector SELECT id, tenant, :blob FROM node WHERE id = :id AND tenant = :tenant""",
            rows,
        )
        vectors_changed(db, tenant)

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
        matrix = self._current(db, tenant) if view.as_of is None else self._at(db, tenant, view)
        if length == 0.0 or not matrix.ids or limit <= 0:
            return {}
        scores = matrix.rows @ (query / length)
        wanted = np.isin(matrix.labels, [str(label) for label in labels or Label])
        eligible = (wanted & np.isin(matrix.scopes, view.scopes)).nonzero()[0]
        best = eligible[np.argsort(-scores[eligible], kind="stable")][:limit]
        return {matrix.ids[at]: float(scores[at]) for at in best}

    def _current(self, db: sqlite3.Connection, tenant: str) -> _Matrix:
        row = db.execute("SELECT generation FROM vector_generation WHERE tenant = ?", (tenant,)).fetchone()
        generation = 0 if row is None else int(row["generation"])
        with self._lock:
            known = self._matrices.get(tenant)
            if known is not None and known.generation == generation:
                return known
            matrix = self._load(db, tenant, generation)
            self._matrices.pop(tenant, None)
            while len(self._matrices) >= _TENANTS_IN_MEMORY:
                self._matrices.pop(next(iter(self._matrices)))
            self._matrices[tenant] = matrix
            return matrix

    def _load(self, db: sqlite3.Connection, tenant: str, generation: int) -> _Matrix:
        found = db.execute(
            """SELECT node.id, node.label, node.scope, embedding FROM vector JOIN node ON node.id = vector.node
            WHERE vector.tenant = ? ORDER BY node.id""",
            (tenant,),
        ).fetchall()
        return self._matrix(found, generation)

    def _at(self, db: sqlite3.Connection, tenant: str, view: View) -> _Matrix:
        """What held at a moment: rarely asked for, so read anew each time."""
        found = db.execute(
            """SELECT node.id, node.label, node.scope, embedding FROM vector JOIN node ON node.id = vector.node
            WHERE vector.tenant = :tenant AND node.valid_from <= :at
            UNION ALL
            SELECT id, label, scope, embedding FROM past_node
            WHERE tenant = :tenant AND valid_from <= :at AND valid_to > :at AND embedding IS NOT NULL
            ORDER BY 1""",
            {"tenant": tenant, "at": moment_of(view)},
        ).fetchall()
        return self._matrix([row for row in found if len(row["embedding"]) == self._dimensions * STORED.itemsize], 0)

    def _matrix(self, found: list[Any], generation: int) -> _Matrix:
        rows = np.frombuffer(b"".join(row["embedding"] for row in found), dtype=STORED).astype(np.float32)
        rows = rows.reshape(len(found), self._dimensions)
        lengths = np.linalg.norm(rows, axis=1)
        kept = lengths.nonzero()[0]
        return _Matrix(
            generation=generation,
            ids=[found[at]["id"] for at in kept],
            labels=np.array([found[at]["label"] for at in kept], dtype=np.str_),
            scopes=np.array([found[at]["scope"] for at in kept], dtype=np.str_),
            rows=rows[kept] / lengths[kept, None],
        )


def vectors_changed(db: sqlite3.Connection, tenant: str) -> None:
    """Tell every process that its copy of the tenant's vectors is old."""
    db.execute(
        """INSERT INTO vector_generation VALUES (?, 1)
        ON CONFLICT (tenant) DO UPDATE SET generation = generation + 1""",
        (tenant,),
    )
