"""Nearest vectors against comparing with each, and what changes must not leave behind."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from graphrag.identity import name_key
from graphrag.model import Facts, Label, NodeFact, node_id
from graphrag.sqlite_cells import CELL
from graphrag.sqlite_store import SqliteStore
from graphrag.sqlite_vectors import MOST_VECTORS

TENANT = "tenant"
DIMENSIONS = 32
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
Rows = NDArray[np.float32]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "graph.db", dimensions=DIMENSIONS)
    await opened.open()
    yield opened
    await opened.close()


def id_of(number: int, label: Label = Label.CHUNK) -> str:
    return node_id(TENANT, label, name_key(f"part {number}"))


async def keep(store: SqliteStore, rows: Rows, label: Label = Label.CHUNK, batch: int = 5_000) -> None:
    nodes = tuple(NodeFact(label, f"part {number}") for number in range(len(rows)))
    await store.write(TENANT, Facts("pages", NOON, nodes))
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        await store.set_vectors(TENANT, {id_of(start + at, label): row for at, row in enumerate(part.tolist())})


def crowds(count: int, of: int) -> Rows:
    """Vectors around `count` middles, `of` around each, in no order."""
    draw = np.random.default_rng(5)
    middles = draw.normal(size=(count, DIMENSIONS))
    rows = np.repeat(middles, of, axis=0) + 0.3 * draw.normal(size=(count * of, DIMENSIONS))
    return draw.permutation(rows).astype(np.float32)


def by_comparing(rows: Rows, query: Rows, limit: int) -> list[str]:
    cosines = rows @ query / np.linalg.norm(rows, axis=1)
    return [id_of(int(at)) for at in np.argsort(-cosines, kind="stable")[:limit]]


async def found(store: SqliteStore, query: Rows, limit: int = 20, label: Label = Label.CHUNK) -> list[str]:
    return [hit.node.id for hit in await store.search_vectors(TENANT, query.tolist(), limit, [label])]


async def test_few_vectors_are_compared_one_by_one_however_many_cells_they_lie_in(store: SqliteStore) -> None:
    rows = crowds(3, CELL)
    await keep(store, rows, batch=700)
    for query in crowds(4, 3):
        assert await found(store, query) == by_comparing(rows, query, 20)


async def test_of_many_vectors_nearly_all_of_the_nearest_are_found(store: SqliteStore) -> None:
    rows = crowds(60, MOST_VECTORS // 20)
    assert len(rows) > 2 * MOST_VECTORS
    await keep(store, rows)
    draw = np.random.default_rng(6)
    queries = rows[draw.choice(len(rows), 20)] + 0.2 * draw.normal(size=(20, DIMENSIONS)).astype(np.float32)
    shares = [len({*await found(store, query)} & {*by_comparing(rows, query, 20)}) / 20 for query in queries]
    assert np.mean(shares) >= 0.95


async def test_a_vector_that_was_replaced_is_found_by_the_new_one_alone(store: SqliteStore) -> None:
    rows = np.eye(DIMENSIONS, dtype=np.float32)
    await keep(store, rows)
    assert await found(store, rows[0], 1) == [id_of(0)]
    await store.set_vectors(TENANT, {id_of(0): rows[1].tolist()})
    assert set(await found(store, rows[1], 2)) == {id_of(0), id_of(1)}
    (hit,) = await store.search_vectors(TENANT, rows[0].tolist(), 1, [Label.CHUNK])
    assert hit.score == 0.0


async def test_what_is_closed_is_found_no_more(store: SqliteStore) -> None:
    rows = np.eye(DIMENSIONS, dtype=np.float32)
    await keep(store, rows)
    kept = tuple(NodeFact(Label.CHUNK, f"part {number}") for number in range(1, DIMENSIONS))
    await store.write(TENANT, Facts("pages", NOON.replace(hour=13), kept, complete=True))
    assert id_of(0) not in await found(store, rows[0], DIMENSIONS)


async def test_what_another_process_writes_is_seen_at_the_next_search(store: SqliteStore, tmp_path: Path) -> None:
    rows = crowds(4, CELL)
    await keep(store, rows[: 2 * CELL])
    query = rows[-1]
    before = await found(store, query, 1)
    other = SqliteStore(tmp_path / "graph.db", dimensions=DIMENSIONS)
    await other.open()
    await keep(other, rows)
    await other.close()
    assert await found(store, query, 1) == [id_of(len(rows) - 1)] != before


async def test_kinds_do_not_crowd_each_other_out(store: SqliteStore) -> None:
    await keep(store, crowds(10, MOST_VECTORS // 8))
    await keep(store, np.eye(DIMENSIONS, dtype=np.float32), Label.SERVICE)
    query = np.ones(DIMENSIONS, dtype=np.float32)
    assert len(await found(store, query, DIMENSIONS, Label.SERVICE)) == DIMENSIONS


async def test_equal_vectors_fill_cells_too(store: SqliteStore) -> None:
    await keep(store, np.ones((2 * CELL + 1, DIMENSIONS), dtype=np.float32))
    assert len(await found(store, np.ones(DIMENSIONS, dtype=np.float32), 2 * CELL + 1)) == 2 * CELL + 1


async def test_a_vector_of_length_zero_is_near_nothing(store: SqliteStore) -> None:
    await keep(store, np.zeros((1, DIMENSIONS), dtype=np.float32))
    assert await found(store, np.ones(DIMENSIONS, dtype=np.float32)) == []
    assert await found(store, np.zeros(DIMENSIONS, dtype=np.float32)) == []


async def test_after_many_changes_a_search_finds_what_comparing_finds(store: SqliteStore) -> None:
    """Vectors come, are replaced, lose their length or their node, and cells are split and emptied on the way."""
    draw = np.random.default_rng(8)
    rows = crowds(4, 2 * CELL)
    await keep(store, rows)
    for _ in range(6):
        moved = draw.choice(len(rows), int(draw.integers(1, 300)), replace=False)
        rows[moved] = crowds(4, 2 * CELL)[draw.choice(len(rows), len(moved))]
        gone = draw.choice(len(rows), 40, replace=False)
        rows[gone] = 0
        changed = [*moved.tolist(), *gone.tolist()]
        await store.set_vectors(TENANT, {id_of(number): rows[number].tolist() for number in changed})
        kept = np.flatnonzero(rows.any(axis=1))
        query = draw.normal(size=DIMENSIONS).astype(np.float32)
        cosines = rows[kept] @ query / (np.linalg.norm(rows[kept], axis=1) * np.linalg.norm(query))
        hits = await store.search_vectors(TENANT, query.tolist(), 20, [Label.CHUNK])
        assert [hit.score for hit in hits] == pytest.approx(np.sort(cosines)[:-21:-1].tolist(), abs=1e-5)
        of_node = dict(zip((id_of(number) for number in kept.tolist()), cosines.tolist(), strict=True))
        assert {hit.node.id: hit.score for hit in hits} == pytest.approx(
            {hit.node.id: of_node[hit.node.id] for hit in hits}, abs=1e-5
        )
