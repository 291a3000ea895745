"""Every graph store, each test in a tenant of its own; and the service's routes over two of them."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from pydantic import SecretStr

from app.database import metadata, open_engine
from app.journal import Journal
from app.main import create_app
from app.settings import Settings, Token
from graphrag.embed import open_embedding
from graphrag.open_store import open_store
from graphrag.store import GraphStore
from tests.contract.graphs import DIMENSIONS, NEO4J, NEO4J_IDS
from tests.contract.routes import House, fill

ROLES = ("webhook", "reader", "agent", "admin")
TENANTS = 40
HASHED_DIMENSIONS = 64


@pytest.fixture(params=["sqlite", *NEO4J], ids=["sqlite", *NEO4J_IDS])
def graph_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param in NEO4J:
        return request.getfixturevalue(request.param)
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


# A release of Neo4j makes no difference to HTTP.
@pytest.fixture(scope="module", params=["sqlite", NEO4J[0]], ids=["sqlite", NEO4J_IDS[0]])
async def house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[House]:
    """The routes over a filled store, with vectors for the first tenant."""
    tenants = tuple(f"t-{uuid.uuid4().hex}" for _ in range(TENANTS))
    tokens = tuple(
        Token(token=SecretStr(f"{role}-{tenant}"), role=role, tenant=tenant) for tenant in tenants for role in ROLES
    )
    app = create_app(Settings(data_dir=tmp_path_factory.mktemp("data"), tokens=tokens))
    sqlite = f"sqlite:///{tmp_path_factory.mktemp('graph')}/graph.db"
    url = request.getfixturevalue(request.param) if request.param in NEO4J else sqlite
    store = open_store(url, dimensions=HASHED_DIMENSIONS, refit=True)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=HASHED_DIMENSIONS)
    engine = open_engine(f"sqlite:///{tmp_path_factory.mktemp('incidents')}/incidents.db")
    metadata.create_all(engine)
    journal = Journal(engine)
    app.state.resources = SimpleNamespace(graph=store, embedding=embedding, journal=journal, ready=True)
    house = House(app, store, journal, tenants)
    await fill(house, tenants[0])
    nodes = await store.all_nodes(tenants[0])
    vectors = await embedding.embed([node.summary or node.name for node in nodes])
    await store.set_vectors(tenants[0], {node.id: vector for node, vector in zip(nodes, vectors, strict=True)})
    yield house
    engine.dispose()
    await store.close()


@pytest.fixture
async def client(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """An admin of the tenant that nobody changes."""
    async with house.client(house.tenants[0]) as client:
        yield client


@pytest.fixture
async def own(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """An admin of a tenant that only this test changes."""
    tenant = house.tenants[next(house.spare)]
    await fill(house, tenant)
    async with house.client(tenant) as client:
        yield client
