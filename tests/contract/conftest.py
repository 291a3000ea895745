"""Every graph store, each test in a tenant of its own."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from graphrag.open_store import open_store
from graphrag.store import GraphStore
from tests.contract.graphs import DIMENSIONS, NEO4J


@pytest.fixture(params=["sqlite", *NEO4J])
def graph_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param in NEO4J:
        return request.getfixturevalue(NEO4J[request.param])
    return f"sqlite:///{tmp_path}/graph.db"


@pytest.fixture
async def store(graph_url: str) -> AsyncIterator[GraphStore]:
    # Another suite may have left the shared server with vectors of another dimension.
    opened = open_store(graph_url, dimensions=DIMENSIONS, refit=True)
    await opened.open()
    yield opened
    await opened.close()


@pytest.fixture
def tenant() -> str:
    return f"tenant {uuid.uuid4().hex}"
