"""Pruning closes what is weak or hangs on nothing, on every store."""

from datetime import timedelta

from graphrag.model import NOW, Direction, EdgeFact, EdgeType, Label, NodeFact, Ref, View
from graphrag.pruning import HALF_LIFE, PruneReport, prune
from graphrag.store import GraphStore
from tests.contract.graphs import NOON, depends, id_of, run, service

LATE = NOON + 2 * HALF_LIFE


def entity(name: str) -> NodeFact:
    return NodeFact(Label.ENTITY, name, properties={"kind": "system"})


def together(one: str, other: str) -> EdgeFact:
    return EdgeFact(EdgeType.CO_OCCURS, Ref(Label.ENTITY, one), Ref(Label.ENTITY, other))


async def names(store: GraphStore, tenant: str, view: View = NOW) -> list[str]:
    return sorted(node.name for node in await store.all_nodes(tenant, view=view))


async def test_what_is_weak_or_hangs_on_nothing_is_closed_and_all_else_stays(store: GraphStore, tenant: str) -> None:
    community = NodeFact(Label.COMMUNITY, "group 1")
    member = EdgeFact(EdgeType.IN_COMMUNITY, Ref(Label.ENTITY, "fax"), Ref(Label.COMMUNITY, "group 1"))
    passages = NodeFact(Label.CHUNK, "page 1"), NodeFact(Label.CHUNK, "page 2")
    mentions = EdgeFact(EdgeType.MENTIONS, Ref(Label.CHUNK, "page 1"), Ref(Label.ENTITY, "mail"))
    services = service("checkout-api"), service("payments-api"), service("idle")
    facts = (*map(entity, ("mail", "fax", "pager")), community, *passages, *services)
    old = together("mail", "fax"), together("fax", "pager")
    await store.write(tenant, run(*facts, *old, member, mentions, depends("checkout-api", "payments-api")))
    await store.set_vectors(tenant, {id_of(tenant, "fax", Label.ENTITY): [0, 0, 1, 0]})
    everything = await names(store, tenant)

    report = await prune(store, tenant, LATE)

    assert report == PruneReport(closed_edges=3, closed_nodes=3)
    assert await names(store, tenant) == sorted(set(everything) - {"fax", "pager", "page 2"})
    assert await names(store, tenant, View(as_of=LATE - timedelta(days=1))) == everything
    assert await store.search_vectors(tenant, [0, 0, 1, 0], 3, [Label.ENTITY]) == []
    assert await store.search_text(tenant, "fax", 3) == []
    mail, checkout = id_of(tenant, "mail", Label.ENTITY), id_of(tenant, "checkout-api")
    assert await store.edges(tenant, [mail], [EdgeType.CO_OCCURS], Direction.BOTH, 9) == []
    assert len(await store.edges(tenant, [mail], [EdgeType.MENTIONS], Direction.IN, 9)) == 1
    assert len(await store.edges(tenant, [checkout], [EdgeType.DEPENDS_ON], Direction.OUT, 9)) == 1
    assert await prune(store, tenant, LATE) == PruneReport(0, 0)


async def test_what_was_pruned_opens_again_when_a_source_sees_it_again(store: GraphStore, tenant: str) -> None:
    facts = entity("mail"), entity("fax"), together("mail", "fax")
    await store.write(tenant, run(*facts))
    await prune(store, tenant, LATE)
    hours = int((LATE - NOON) / timedelta(hours=1)) + 1
    assert (await store.write(tenant, run(*facts, hour=hours))).added == 3
    assert await names(store, tenant) == ["fax", "mail"]
