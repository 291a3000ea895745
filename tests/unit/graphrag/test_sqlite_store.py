"""What only the SQLite store must survive: other processes, and files that are not its own."""

import asyncio
import sqlite3
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graphrag.errors import GraphMisconfigured, GraphUnavailable
from graphrag.sqlite_store import SqliteStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from pathlib import Path
from graphrag.model import Facts, Label, NodeFact
from graphrag.sqlite_store import SqliteStore

async def main():
    store = SqliteStore(Path(sys.argv[1]), dimensions=2)
    await store.open()
    for number in range(20):
        nodes = (NodeFact(Label.SERVICE, "shared"), NodeFact(Label.SERVICE, f"{sys.argv[2]} {number}"))
        await store.write("tenant", Facts(sys.argv[2], datetime(2026, 3, 1, tzinfo=UTC), nodes))
    await store.close()

asyncio.run(main())
"""


async def test_processes_that_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    command = [sys.executable, "-c", WRITER, str(path)]
    writers = [await asyncio.create_subprocess_exec(*command, name) for name in ("one", "two")]
    assert [await writer.wait() for writer in writers] == [0, 0]
    store = SqliteStore(path, dimensions=2)
    await store.open()
    nodes = {node.name: node for node in await store.all_nodes("tenant")}
    await store.close()
    assert len(nodes) == 41
    assert sorted(nodes["shared"].life.sources) == ["one", "two"]


async def test_a_file_that_is_no_graph_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    path.write_bytes(b"not a database at all, but long enough to look like one" * 20)
    with pytest.raises(GraphMisconfigured, match=r"graph\.db is not a usable graph file"):
        await SqliteStore(path, dimensions=2).open()


async def test_a_file_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE node (theirs)")
    db.close()
    with pytest.raises(GraphMisconfigured, match="another program"):
        await SqliteStore(path, dimensions=2).open()


async def test_a_layout_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.db"
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(GraphMisconfigured, match="layout 99"):
        await SqliteStore(path, dimensions=2).open()


async def test_a_folder_in_place_of_the_file_is_unavailable(tmp_path: Path) -> None:
    with pytest.raises(GraphUnavailable, match="cannot be used now"):
        await SqliteStore(tmp_path, dimensions=2).open()


async def test_a_folder_that_cannot_be_made_is_misconfigured(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(GraphMisconfigured, match="cannot be made"):
        await SqliteStore(tmp_path / "file" / "graph.db", dimensions=2).open()
