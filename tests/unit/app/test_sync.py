import asyncio
from pathlib import Path

import pytest

from app.sync import patiently
from graphrag.ingest import AlreadyRunning
from graphrag.ingest.exclusive import exclusive
from graphrag.open_store import open_store


async def test_a_run_waits_for_the_one_that_has_the_graph_and_not_for_ever(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'graph.db'}", dimensions=2)
    await store.open()
    given_up = asyncio.Event()

    async def run() -> str:
        try:
            async with exclusive(store, "t"):
                return "done"
        except AlreadyRunning:
            given_up.set()
            raise

    async with exclusive(store, "t"):
        with pytest.raises(AlreadyRunning):
            await patiently(run, 2, 0.0)
        given_up.clear()
        waiting = asyncio.create_task(patiently(run, 1_000, 0.001))
        await given_up.wait()
    assert await waiting == "done"
    await store.close()
