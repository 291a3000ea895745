"""What every graph store does with one run over many sources: parts written together, sources seen again, one run at a
time."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from graphrag.model import NOW, Direction, EdgeType, Label
from graphrag.store import GraphStore
from tests.contract.graphs import NOON, depends, id_of, run, service

HOUR = timedelta(hours=1)


async def confirmations(store: GraphStore, tenant: str, name: str) -> int:
    return (await store.nodes(tenant, [id_of(tenant, name)]))[id_of(tenant, name)].life.confirmations


async def sources(store: GraphStore, tenant: str, name: str) -> tuple[str, ...]:
    return (await store.nodes(tenant, [id_of(tenant, name)]))[id_of(tenant, name)].life.sources


async def needs(store: GraphStore, tenant: str, name: str) -> list[str]:
    edges = await store.edges(tenant, [id_of(tenant, name)], [EdgeType.DEPENDS_ON], Direction.OUT, 100)
    return sorted(edge.target for edge in edges)


# Parts ---------------------------------------------------------------------------------------------------------------


async def test_parts_that_are_written_together_resolve_each_others_names(store: GraphStore, tenant: str) -> None:
    report = await store.write(
        tenant, run(depends("till", "Books"), source="a"), run(service("till"), service("books"), source="b")
    )
    assert report.dangling == ()
    assert await needs(store, tenant, "till") == [id_of(tenant, "books")]


async def test_a_fact_that_several_parts_tell_has_all_their_sources_and_one_confirmation(
    store: GraphStore, tenant: str
) -> None:
    await store.write(tenant, run(service("till"), source="a"), run(service("till"), source="b"))
    assert await confirmations(store, tenant, "till") == 1
    assert await sources(store, tenant, "till") == ("a", "b")


async def test_complete_parts_close_what_each_alone_no_longer_tells(store: GraphStore, tenant: str) -> None:
    await store.write(
        tenant,
        run(service("till"), service("books"), service("rates"), depends("till", "books"), source="a"),
        run(service("till"), service("vault"), depends("till", "vault"), source="b"),
        run(service("rates"), source="c"),
    )
    report = await store.write(
        tenant,
        run(service("till"), service("books"), source="a", hour=1, complete=True),
        run(service("vault"), source="b", hour=1, complete=True),
    )
    assert report.closed == 2  # both edges; rates has another source, till is still told by a
    assert await needs(store, tenant, "till") == []
    assert await sources(store, tenant, "till") == ("a",)
    assert await sources(store, tenant, "rates") == ("c",)


async def test_what_moves_from_one_part_to_another_stays_open(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("till"), service("books"), depends("till", "books"), source="a"))
    report = await store.write(
        tenant,
        run(source="a", hour=1, complete=True),
        run(service("till"), service("books"), depends("till", "books"), source="b", hour=1, complete=True),
    )
    assert report.closed == 0
    assert await sources(store, tenant, "till") == ("b",)


async def test_parts_of_different_times_or_scopes_are_refused(store: GraphStore, tenant: str) -> None:
    with pytest.raises(ValueError, match="one time and in one scope"):
        await store.write(tenant, run(service("till")), run(service("books"), hour=1))
    with pytest.raises(ValueError, match="one time and in one scope"):
        await store.write(tenant, run(service("till")), replace(run(service("books")), scope="agent one"))


async def test_a_write_names_the_nodes_that_are_told_of_otherwise_than_before(store: GraphStore, tenant: str) -> None:
    first = await store.write(tenant, run(service("till", summary="Takes money."), service("books")))
    assert set(first.told) == {id_of(tenant, "till"), id_of(tenant, "books")}
    again = await store.write(
        tenant, run(service("till", summary="Takes coins."), service("books"), service("rates"), hour=1)
    )
    assert set(again.told) == {id_of(tenant, "till"), id_of(tenant, "rates")}


# Seen again ----------------------------------------------------------------------------------------------------------


async def test_a_source_that_is_confirmed_has_its_facts_seen_again(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("till"), service("books"), depends("till", "books"), source="a"))
    await store.write(tenant, run(service("vault"), source="b"))
    assert await store.confirm(tenant, ["a"], NOON + HOUR) == 3
    (edge,) = await store.edges(tenant, [id_of(tenant, "till")], [EdgeType.DEPENDS_ON], Direction.OUT, 10)
    assert (edge.life.confirmations, edge.life.last_seen) == (2, NOON + HOUR)
    assert await confirmations(store, tenant, "till") == 2
    assert await confirmations(store, tenant, "vault") == 1


async def test_what_two_sources_assert_is_confirmed_once_a_run(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("till"), source="a"), run(service("till"), source="b"))
    assert await store.confirm(tenant, ["a", "b"], NOON + HOUR) == 1
    assert await store.confirm(tenant, ["a"], NOON + HOUR) == 0
    assert await confirmations(store, tenant, "till") == 2


async def test_confirming_reaches_no_other_tenant_no_memory_and_nothing_closed(store: GraphStore, tenant: str) -> None:
    other = f"{tenant}-other"
    await store.write(other, run(service("till"), source="a"))
    await store.write(tenant, replace(run(service("till"), source="a"), scope="agent one"))
    await store.write(tenant, run(service("books"), source="a"))
    await store.write(tenant, run(source="a", hour=1, complete=True))
    assert await store.confirm(tenant, ["a"], NOON + 2 * HOUR) == 0
    assert await confirmations(store, other, "till") == 1


async def test_confirming_moves_no_vector_and_no_text(store: GraphStore, tenant: str) -> None:
    await store.write(tenant, run(service("till", summary="Takes money."), source="a"))
    await store.set_vectors(tenant, {id_of(tenant, "till"): [1.0, 0.0, 0.0, 0.0]})
    await store.confirm(tenant, ["a"], NOON + HOUR)
    hits = await store.search_vectors(tenant, [1.0, 0.0, 0.0, 0.0], 5, [Label.SERVICE], NOW)
    assert [hit.node.summary for hit in hits] == ["Takes money."]


# One at a time -------------------------------------------------------------------------------------------------------


async def test_a_lease_has_one_holder_until_its_time_is_over(store: GraphStore, tenant: str) -> None:
    name = f"sync:{tenant}"
    assert await store.lease(name, "one", NOON, NOON + HOUR) == "one"
    assert await store.lease(name, "two", NOON, NOON + HOUR) == "one"
    assert await store.lease(name, "one", NOON, NOON + 2 * HOUR) == "one"
    assert await store.lease(name, "two", NOON + 1.5 * HOUR, NOON + 3 * HOUR) == "one"
    assert await store.lease(name, "two", NOON + 2 * HOUR, NOON + 3 * HOUR) == "two"


async def test_a_lease_that_is_given_up_is_free(store: GraphStore, tenant: str) -> None:
    name = f"sync:{tenant}"
    await store.lease(name, "one", NOON, NOON + HOUR)
    await store.lease(name, "one", NOON, NOON)
    assert await store.lease(name, "two", NOON, NOON + HOUR) == "two"


async def test_of_many_who_ask_at_once_one_gets_the_lease(store: GraphStore, tenant: str) -> None:
    asked = [store.lease(f"sync:{tenant}", f"holder {number}", NOON, NOON + HOUR) for number in range(8)]
    assert len(set(await asyncio.gather(*asked))) == 1
