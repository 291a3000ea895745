"""What reading and writing cost in a graph that grows, counted in steps of SQLite's machine and not in time."""

import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from graphrag.model import Facts, Label, NodeFact, node_id
from graphrag.sqlite_facts import read_history, write_facts
from graphrag.sqlite_layout import lay_out

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def grown(services: int) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None)
    db.row_factory = sqlite3.Row
    lay_out(db, Path("in memory"))
    write_facts(db, "tenant", [seen(services)])
    return db


def seen(services: int) -> Facts:
    return Facts("graph", NOON, tuple(NodeFact(Label.SERVICE, f"service {number}") for number in range(services)))


def steps(db: sqlite3.Connection, work: Callable[[], object]) -> int:
    counted = 0

    def count() -> None:
        nonlocal counted
        counted += 1

    db.set_progress_handler(count, 1)
    work()
    db.set_progress_handler(None, 1)
    return counted


def test_the_history_of_a_node_takes_as_many_steps_however_large_the_graph() -> None:
    small, large = grown(20), grown(400)
    ids = [node_id("tenant", Label.SERVICE, "service7")]
    assert len(read_history(large, "tenant", ids).nodes) == 1
    assert steps(small, lambda: read_history(small, "tenant", ids)) == steps(
        large, lambda: read_history(large, "tenant", ids)
    )


def test_seeing_a_node_again_takes_as_many_steps_however_large_the_graph() -> None:
    small, large = grown(20), grown(400)
    assert steps(large, lambda: write_facts(large, "tenant", [seen(1)])) < 1.2 * steps(
        small, lambda: write_facts(small, "tenant", [seen(1)])
    )
