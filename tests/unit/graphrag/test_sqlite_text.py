"""What full text finds when there is more than a search looks at."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.model import Facts, Label, NodeFact
from graphrag.sqlite_store import SqliteStore
from graphrag.sqlite_text import MOST_TEXTS, rarest

TENANT = "tenant"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await opened.open()
    yield opened
    await opened.close()


async def keep(store: SqliteStore, texts: dict[str, str], label: Label = Label.CHUNK, tenant: str = TENANT) -> None:
    nodes = tuple(NodeFact(label, name, text) for name, text in texts.items())
    await store.write(tenant, Facts("pages", NOON, nodes))


def common(count: int) -> dict[str, str]:
    return {f"part {number}": "the queue grows" for number in range(count)}


async def names(store: SqliteStore, text: str, label: Label = Label.CHUNK, tenant: str = TENANT) -> list[str]:
    return [hit.node.name for hit in await store.search_text(tenant, text, 5, [label])]


async def test_a_rare_word_is_found_beside_words_that_stand_everywhere(store: SqliteStore) -> None:
    await keep(store, {**common(MOST_TEXTS + 50), "the one": "the queue grows when the tarpit fills"})
    assert (await names(store, "the queue grows in the tarpit"))[0] == "the one"


async def test_words_that_stand_everywhere_still_find_something(store: SqliteStore) -> None:
    await keep(store, common(MOST_TEXTS + 50))
    assert len(await names(store, "queue")) == 5


async def test_a_word_that_pages_use_all_the_time_finds_the_one_service_it_names(store: SqliteStore) -> None:
    await keep(store, common(MOST_TEXTS + 50))
    await keep(store, {"queue": "hands out work", "till": "takes money"}, Label.SERVICE)
    assert await names(store, "the queue", Label.SERVICE) == ["queue"]


async def test_a_word_is_found_as_soon_as_it_is_written(store: SqliteStore) -> None:
    await keep(store, {"one": "nothing of it"})
    assert await names(store, "tarpit") == []
    await keep(store, {"two": "the tarpit fills"})
    assert await names(store, "tarpit") == ["two"]


async def test_another_tenants_many_texts_hide_none_of_ones_own(store: SqliteStore) -> None:
    await keep(store, common(MOST_TEXTS + 50), tenant="other")
    await keep(store, {"mine": "the queue grows"})
    assert await names(store, "queue") == ["mine"]


async def test_another_tenants_better_texts_hide_none_of_ones_own(store: SqliteStore) -> None:
    await keep(store, {f"tarpit {number}": "the tarpit, the tarpit" for number in range(50)}, tenant="other")
    await keep(store, {f"mine {number}": f"{'much is said ' * number} of the tarpit" for number in range(9)})
    assert await names(store, "tarpit") == [f"mine {number}" for number in range(5)]


async def test_texts_that_answer_alike_come_by_name(store: SqliteStore) -> None:
    await keep(store, dict.fromkeys(("six", "one", "two", "ten", "nine", "four", "five"), "the tarpit fills"))
    assert await names(store, "tarpit") == ["five", "four", "nine", "one", "six"]


counts = st.dictionaries(st.text(min_size=1, max_size=3), st.integers(0, 30), max_size=12)


@given(counts, st.integers(1, 60))
def test_the_rarest_words_are_taken_while_there_is_room(texts_with: dict[str, int], most: int) -> None:
    kept = rarest(texts_with, most)
    assert all(texts_with[word] for word in kept)
    assert sum(texts_with[word] for word in kept) <= most or len(kept) == 1
    left = [count for word, count in texts_with.items() if count and word not in kept]
    assert all(count >= texts_with[word] for count in left for word in kept)
    assert kept or not any(texts_with.values())
