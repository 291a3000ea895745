"""Which store a URL names, and what is said of one that names none."""

from pathlib import Path

import pytest

from graphrag.errors import GraphMisconfigured, GraphUnavailable
from graphrag.neo4j_store import Neo4jStore
from graphrag.open_store import open_store
from graphrag.sqlite_store import SqliteStore


def test_a_file_url_names_a_sqlite_store_and_touches_nothing(tmp_path: Path) -> None:
    assert isinstance(open_store(f"sqlite:///{tmp_path}/deep/graph.db", dimensions=4), SqliteStore)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("scheme", ["neo4j", "neo4j+s", "neo4j+ssc", "bolt", "bolt+s", "bolt+ssc"])
def test_every_neo4j_scheme_names_a_neo4j_store(scheme: str) -> None:
    assert isinstance(open_store(f"{scheme}://user:p%40ss@host:7687/database", dimensions=4), Neo4jStore)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "graph.db",
        "sqlite:///",
        "sqlite://graph.db",
        "sqlite:///:memory:",
        "postgresql://user:secret@host/db",
        "neo4j://",
        "neo4j://user:secret@host:port/db",
        "neo4j://user:secret@host:7687/one/two",
        "neo4j://[::1/db",
    ],
)
def test_an_unusable_url_is_refused_with_a_sentence_that_hides_its_password(url: str) -> None:
    with pytest.raises(GraphMisconfigured, match="Write sqlite:///") as refusal:
        open_store(url, dimensions=4)
    assert "secret" not in str(refusal.value)


def test_an_address_hides_its_password() -> None:
    assert "secret" not in repr(vars(open_store("neo4j://user:secret@host/db", dimensions=4)))


async def test_a_neo4j_that_is_not_there_is_unavailable_and_its_password_untold() -> None:
    store = open_store("bolt://user:secret@127.0.0.1:1/neo4j", dimensions=4)
    with pytest.raises(GraphUnavailable, match=r"127\.0\.0\.1:1") as refusal:
        await store.open()
    assert "secret" not in str(refusal.value)


async def test_a_host_without_an_address_is_unavailable() -> None:
    with pytest.raises(GraphUnavailable, match="no-such-host"):
        await open_store("bolt://user:secret@no-such-host.invalid:7687/neo4j", dimensions=4).open()


@pytest.mark.parametrize("url", ["sqlite:///{}/graph.db", "bolt://127.0.0.1:1/neo4j"])
async def test_a_store_that_is_not_open_says_so(url: str, tmp_path: Path) -> None:
    store = open_store(url.format(tmp_path), dimensions=4)
    with pytest.raises(GraphUnavailable, match="not open"):
        await store.all_nodes("tenant")
    with pytest.raises(GraphUnavailable, match="not open"):
        await store.put_meta("key", b"")
