"""What a store makes of a walk that says ahead how far it goes."""

import dataclasses
import itertools
import random

import anyio
import pytest

from graphrag.model import EdgeFact, EdgeType, Label, Ref, View, node_id
from graphrag.store import Exploration, Forecast, Found, GraphStore
from graphrag.traverse import Neighbourhood, blast_radius, neighbourhood, suppliers
from tests.contract.graphs import NOON, depends, id_of, run, service

NAMES = "abcdefghij"
VIEWS = (View(), View(scopes=("world", "agent one")), View(as_of=NOON))


class HopByHop:
    """The store, which is told of no forecast."""

    def __init__(self, store: GraphStore) -> None:
        self._store = store

    async def explore(self, tenant: str, exploration: Exploration[Found]) -> Found:
        return await self._store.explore(tenant, _without_forecasts(exploration))


def _without_forecasts(exploration: Exploration[Found]) -> Exploration[Found]:
    asks = next(exploration)
    while True:
        told = any(isinstance(ask, Forecast) for ask in asks)
        try:
            asks = exploration.send([None] * len(asks) if told else (yield asks))
        except StopIteration as end:
            return end.value


async def write_tangle(store: GraphStore, tenant: str) -> None:
    """Services that need each other at random, others that needed each other before, what somebody remembers, and the
    same names in another tenant."""
    draw = random.Random(4)
    pairs = [pair for pair in itertools.permutations(NAMES, 2) if draw.random() < 0.2]
    together = [
        EdgeFact(EdgeType.CO_OCCURS, Ref(Label.SERVICE, a), Ref(Label.SERVICE, b))
        for a, b in zip("acf", "dbi", strict=True)
    ]
    services = list(map(service, NAMES))
    await store.write(tenant, run(*services, *(depends(*pair) for pair in pairs[::2]), complete=True))
    await store.write(tenant, run(*services, *(depends(*pair) for pair in pairs[1:]), *together, complete=True, hour=1))
    memory = run(service("vault"), depends("a", "vault"), depends("vault", "j"), depends("b", "a"), source="agent")
    await store.write(tenant, dataclasses.replace(memory, scope="agent one"))
    await store.write(tenant + " other", run(*services, *(depends(*pair) for pair in itertools.permutations("abc", 2))))


@pytest.mark.parametrize("view", VIEWS, ids=["now", "with-a-memory", "before"])
@pytest.mark.parametrize(("hops", "cap"), [(1, 10), (2, 1), (2, 4), (2, 500), (3, 500)])
async def test_a_neighbourhood_is_the_same_whether_or_not_the_store_knew_how_far_it_goes(
    store: GraphStore, tenant: str, hops: int, cap: int, view: View
) -> None:
    await write_tangle(store, tenant)
    vault = node_id(tenant, Label.SERVICE, "vault", "agent one")
    told: dict[int, Neighbourhood] = {}
    for number, starts in enumerate(([id_of(tenant, "a")], [vault, id_of(tenant, "c"), "service-unknown"])):
        for types in ([EdgeType.DEPENDS_ON], list(EdgeType)):
            told[number] = await neighbourhood(store, tenant, starts, types, hops, cap, view)
            walked = await neighbourhood(HopByHop(store), tenant, starts, types, hops, cap, view)  # type: ignore[arg-type]
            assert told[number] == walked
    assert id_of(tenant, "a") in told[0].nodes
    assert (vault in told[1].nodes) is ("agent one" in view.scopes)
    assert told[0].edges
    other = await neighbourhood(store, tenant + " other", [id_of(tenant, "a")], list(EdgeType), hops, cap, view)
    assert (other.nodes, other.edges) == ({}, ())


@pytest.mark.parametrize("view", [*VIEWS, View(scopes=("agent one",))], ids=["now", "both", "before", "memory"])
@pytest.mark.parametrize(("hops", "cap"), [(0, 10), (1, 10), (3, 3), (10, 500)])
async def test_who_is_reached_is_the_same_whether_or_not_the_store_knew_how_far_the_walk_goes(
    store: GraphStore, tenant: str, hops: int, cap: int, view: View
) -> None:
    await write_tangle(store, tenant)
    untold: GraphStore = HopByHop(store)  # type: ignore[assignment]
    for walk in (blast_radius, suppliers):
        for name in "ahj":
            told = await walk(store, tenant, id_of(tenant, name), hops, cap, view)
            assert told == await walk(untold, tenant, id_of(tenant, name), hops, cap, view)
    joint = [id_of(tenant, "c"), "service-unknown", node_id(tenant, Label.SERVICE, "vault", "agent one")]
    reach = await blast_radius(store, tenant, joint, hops, cap, view)
    assert reach == await blast_radius(untold, tenant, joint, hops, cap, view)
    assert reach.members or hops == 0 or view.scopes == ("agent one",)


async def test_a_walk_that_has_to_read_nothing_ends_at_once(store: GraphStore, tenant: str) -> None:
    def nothing() -> Exploration[str]:
        yield from ()
        return "found"

    with anyio.fail_after(10):
        assert await store.explore(tenant, nothing()) == "found"
