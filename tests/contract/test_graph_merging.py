"""Merges, corrections and aliases: what people decide about the graph, on every store."""

import dataclasses
from datetime import timedelta

import pytest

from graphrag.corrections import add_alias, assert_edge, corrections, lift, remove_alias, retire
from graphrag.errors import Refused
from graphrag.export import as_graphml, as_json
from graphrag.identity import name_key
from graphrag.merging import Merge, confirm, merges, preview, undo
from graphrag.model import Direction, EdgeFact, EdgeType, Facts, Label, Node, NodeFact, Ref
from graphrag.store import GraphStore
from graphrag.traverse import blast_radius
from tests.contract.graphs import NOON, depends, id_of, run, service

LATER = NOON + timedelta(days=1)


def owned(name: str, team: str) -> EdgeFact:
    return EdgeFact(EdgeType.OWNED_BY, Ref(Label.SERVICE, name), Ref(Label.TEAM, team))


SHOP = (
    service("payments-api", "pay", summary="Takes money.", tier="1"),
    service("payment-svc", "billing", tier="2", domain="money"),
    *map(service, ("checkout", "app", "ledger", "mail")),
    NodeFact(Label.TEAM, "shop"),
    depends("checkout", "payments-api"),
    depends("app", "payment-svc"),
    depends("payments-api", "ledger"),
    depends("payment-svc", "ledger"),
    depends("payment-svc", "mail"),
    depends("payments-api", "payment-svc"),
    owned("payments-api", "shop"),
)


@pytest.fixture
async def shop(store: GraphStore, tenant: str) -> GraphStore:
    """A shop whose payment service has two names, with a past: `payment-svc` once needed `app`."""
    await store.write(tenant, run(*SHOP, depends("payment-svc", "app"), complete=True))
    await store.write(tenant, run(*SHOP, complete=True, hour=1))
    await store.write(tenant, run(depends("payment-svc", "ledger"), source="traffic", hour=2))
    await store.set_vectors(tenant, {id_of(tenant, "payment-svc"): [0, 1, 0, 0]})
    return store


async def export(store: GraphStore, tenant: str) -> str:
    return as_json(await store.history(tenant, None))


async def merge(store: GraphStore, tenant: str, *, force: bool = False) -> Merge:
    kept, dropped = id_of(tenant, "payments-api"), id_of(tenant, "payment-svc")
    token = (await preview(store, tenant, kept, dropped)).token
    return await confirm(
        store, tenant, kept, dropped, token=token, reason="one service", by="admin", now=LATER, force=force
    )


async def node(store: GraphStore, tenant: str, name: str) -> Node:
    return (await store.resolve(tenant, [name_key(name)], [Label.SERVICE]))[name_key(name)][0]


async def sufferers(store: GraphStore, tenant: str, name: str) -> list[str]:
    return [member.name for member in (await blast_radius(store, tenant, id_of(tenant, name))).members]


async def test_a_preview_shows_what_would_combine_and_who_would_suffer(shop: GraphStore, tenant: str) -> None:
    before = await export(shop, tenant)
    seen = await preview(shop, tenant, id_of(tenant, "payments-api"), id_of(tenant, "payment-svc"))
    assert (seen.kept.name, seen.dropped.name) == ("payments-api", "payment-svc")
    assert seen.gained == ("payment-svc", "billing")
    assert (len(seen.moved), len(seen.combined), len(seen.ended)) == (2, 1, 1)
    assert [member.name for member in seen.kept_before.members] == ["checkout"]
    assert [member.name for member in seen.dropped_before.members] == ["app", "payments-api", "checkout"]
    assert [member.name for member in seen.after.members] == ["app", "checkout"]
    assert seen.conflicts == ()
    assert await export(shop, tenant) == before


async def test_a_merged_entity_answers_to_both_names_and_holds_the_facts_of_both(shop: GraphStore, tenant: str) -> None:
    await merge(shop, tenant)
    kept = await node(shop, tenant, "payments-api")
    for name in ("pay", "payment-svc", "billing"):
        assert (await node(shop, tenant, name)).id == kept.id
    assert (kept.properties["tier"], kept.properties["domain"], kept.summary) == ("1", "money", "Takes money.")
    assert await sufferers(shop, tenant, "payments-api") == ["app", "checkout"]
    edges = await shop.edges(tenant, [kept.id], [EdgeType.DEPENDS_ON], Direction.OUT, 10)
    names = {each.id: each.name for each in await shop.all_nodes(tenant)}
    assert sorted(names[edge.target] for edge in edges) == ["ledger", "mail"]
    (ledger,) = [edge for edge in edges if names[edge.target] == "ledger"]
    assert (ledger.life.sources, ledger.life.confirmations) == (("catalogue", "traffic"), 3)
    assert id_of(tenant, "payment-svc") not in await shop.nodes(tenant, [id_of(tenant, "payment-svc")])
    # The next runs of the sources find the one entity.
    report = await shop.write(tenant, run(*SHOP, complete=True, hour=3))
    assert len(await shop.all_nodes(tenant, [Label.SERVICE])) == 5
    assert report.dangling == ("DEPENDS_ON payments-api -> payment-svc (itself)",)


async def test_undoing_a_merge_gives_the_same_export_byte_for_byte(shop: GraphStore, tenant: str) -> None:
    before = await export(shop, tenant)
    done = await merge(shop, tenant)
    assert await export(shop, tenant) != before
    undone = await undo(shop, tenant, done.id, by="admin", now=LATER)
    assert await export(shop, tenant) == before
    assert undone.undone_by == "admin"
    (hit,) = await shop.search_vectors(tenant, [0, 1, 0, 0], 1)
    assert hit.node.name == "payment-svc"
    assert (await shop.search_text(tenant, "billing", 1))[0].node.name == "payment-svc"
    assert (await shop.write(tenant, run(*SHOP, complete=True, hour=3))).added == 0
    again = await merge(shop, tenant)
    assert [each.id for each in await merges(shop, tenant)] == [again.id, done.id] or again.at == done.at


async def test_what_was_seen_after_a_merge_outlives_its_undoing(shop: GraphStore, tenant: str) -> None:
    done = await merge(shop, tenant)
    await shop.write(tenant, run(service("cart"), depends("cart", "billing"), source="traffic", hour=3))
    await shop.write(tenant, run(*SHOP, complete=True, hour=4))
    await undo(shop, tenant, done.id, by="admin", now=LATER)
    assert await sufferers(shop, tenant, "payments-api") == ["cart", "checkout"]
    assert await sufferers(shop, tenant, "payment-svc") == ["app", "payments-api", "cart", "checkout"]
    kept, dropped = await node(shop, tenant, "pay"), await node(shop, tenant, "billing")
    assert (kept.name, dropped.name) == ("payments-api", "payment-svc")
    assert kept.life.last_seen == NOON + timedelta(hours=4)
    assert (await shop.write(tenant, run(*SHOP, complete=True, hour=5))).dangling == ()


async def test_a_token_is_good_for_what_was_previewed_and_nothing_else(shop: GraphStore, tenant: str) -> None:
    kept, dropped = id_of(tenant, "payments-api"), id_of(tenant, "payment-svc")
    token = (await preview(shop, tenant, kept, dropped)).token
    other = (await preview(shop, tenant, dropped, kept)).token
    await shop.write(tenant, run(depends("mail", "payment-svc"), source="traffic", hour=3))
    before = await export(shop, tenant)
    for stale in (token, other, "", "é"):
        with pytest.raises(Refused, match="preview the merge again") as refused:
            await confirm(shop, tenant, kept, dropped, token=stale, reason="same", by="admin", now=LATER)
        assert refused.value.code == "stale_token"
    assert await export(shop, tenant) == before


async def test_a_merge_needs_a_reason(shop: GraphStore, tenant: str) -> None:
    kept, dropped = id_of(tenant, "payments-api"), id_of(tenant, "payment-svc")
    token = (await preview(shop, tenant, kept, dropped)).token
    with pytest.raises(Refused, match="needs a reason"):
        await confirm(shop, tenant, kept, dropped, token=token, reason=" ", by="admin", now=LATER)


async def test_two_owners_or_two_repositories_need_the_word_that_it_is_meant(store: GraphStore, tenant: str) -> None:
    teams = NodeFact(Label.TEAM, "shop"), NodeFact(Label.TEAM, "bank")
    services = service("payments-api", repo="git/a"), service("payment-svc", repo="git/b")
    owners = owned("payments-api", "shop"), owned("payment-svc", "bank")
    await store.write(tenant, run(*services, *teams, *owners))
    seen = await preview(store, tenant, id_of(tenant, "payments-api"), id_of(tenant, "payment-svc"))
    assert [(each.about, each.kept, each.dropped) for each in seen.conflicts] == [
        ("owner", "shop", "bank"),
        ("repository", "git/a", "git/b"),
    ]
    with pytest.raises(Refused, match="owner shop and bank; repository git/a and git/b"):
        await merge(store, tenant)
    await merge(store, tenant, force=True)
    assert [each.name for each in await store.all_nodes(tenant, [Label.SERVICE])] == ["payments-api"]


async def test_what_cannot_be_one_is_refused(shop: GraphStore, tenant: str) -> None:
    kept = id_of(tenant, "payments-api")
    for other, code in (
        (kept, "same_entity"),
        (id_of(tenant, "shop", Label.TEAM), "different_kinds"),
        ("service-unknown", "unknown_entity"),
    ):
        with pytest.raises(Refused) as refused:
            await preview(shop, tenant, kept, other)
        assert refused.value.code == code
    with pytest.raises(Refused, match="no entity"):
        await preview(shop, tenant + " other", kept, id_of(tenant, "payment-svc"))


async def test_merges_are_undone_once_and_in_order(shop: GraphStore, tenant: str) -> None:
    first = await merge(shop, tenant)
    kept, mail = id_of(tenant, "payments-api"), id_of(tenant, "mail")
    token = (await preview(shop, tenant, kept, mail)).token
    at = LATER + timedelta(hours=1)
    second = await confirm(shop, tenant, kept, mail, token=token, reason="too", by="admin", now=at)
    with pytest.raises(Refused, match="undo that one first"):
        await undo(shop, tenant, first.id, by="admin", now=at)
    await undo(shop, tenant, second.id, by="admin", now=at)
    await undo(shop, tenant, first.id, by="admin", now=at)
    with pytest.raises(Refused, match="was undone"):
        await undo(shop, tenant, first.id, by="admin", now=at)
    with pytest.raises(Refused, match="There is no merge"):
        await undo(shop, tenant, "merge-unknown", by="admin", now=at)
    assert [(each.id, bool(each.undone_at)) for each in await merges(shop, tenant)] == [
        (second.id, True),
        (first.id, True),
    ]


async def test_a_past_of_both_becomes_one_past(store: GraphStore, tenant: str) -> None:
    """Overlapping intervals join, so that a read of the past finds each fact once."""
    a, b, c = service("a"), service("b"), service("c")
    for hour, facts in enumerate(
        [(a, b, c, depends("a", "c")), (a, b, c, depends("a", "c"), depends("b", "c")), (a, b, c, depends("b", "c"))]
    ):
        await store.write(tenant, run(*facts, hour=hour, complete=True))
    before = await export(store, tenant)
    ids = id_of(tenant, "a"), id_of(tenant, "b")
    token = (await preview(store, tenant, *ids)).token
    done = await confirm(store, tenant, *ids, token=token, reason="one", by="admin", now=LATER)
    (edge,) = (await store.history(tenant, [ids[0]])).edges
    assert (edge.life.valid_from, edge.life.valid_to) == (NOON, None)
    await undo(store, tenant, done.id, by="admin", now=LATER)
    assert await export(store, tenant) == before


async def test_a_retired_edge_stays_away_until_the_correction_is_lifted(shop: GraphStore, tenant: str) -> None:
    before = await export(shop, tenant)
    checkout, payments = await node(shop, tenant, "checkout"), await node(shop, tenant, "pay")
    how = {"reason": "never called", "by": "admin", "now": LATER}
    done = await retire(shop, tenant, EdgeType.DEPENDS_ON, checkout, payments, **how)
    assert await sufferers(shop, tenant, "payments-api") == []
    report = await shop.write(tenant, run(depends("checkout", "payments-api"), source="traffic", hour=3))
    assert report.denied == ("DEPENDS_ON checkout -> payments-api",)
    assert await sufferers(shop, tenant, "payments-api") == []
    with pytest.raises(Refused, match="does not hold now"):
        await retire(shop, tenant, EdgeType.DEPENDS_ON, checkout, payments, **how)
    lifted = await lift(shop, tenant, done.id, by="admin", now=LATER)
    assert await export(shop, tenant) == before
    assert [each.lifted_at for each in await corrections(shop, tenant)] == [lifted.lifted_at] != [""]
    with pytest.raises(Refused, match="was lifted"):
        await lift(shop, tenant, done.id, by="admin", now=LATER)


async def test_an_asserted_edge_stands_on_the_correction(shop: GraphStore, tenant: str) -> None:
    before = await export(shop, tenant)
    mail, ledger = await node(shop, tenant, "mail"), await node(shop, tenant, "ledger")
    how = {"reason": "seen in the code", "by": "admin", "now": LATER}
    done = await assert_edge(shop, tenant, EdgeType.DEPENDS_ON, mail, ledger, **how)
    assert "mail" in await sufferers(shop, tenant, "ledger")
    await shop.write(tenant, run(*SHOP, complete=True, hour=1))
    assert "mail" in await sufferers(shop, tenant, "ledger")
    await lift(shop, tenant, done.id, by="admin", now=LATER)
    assert "mail" not in await sufferers(shop, tenant, "ledger")
    assert before != await export(shop, tenant)  # what stood once is kept as past
    for reason, other, error in (("", ledger, Refused), ("why", mail, Refused)):
        with pytest.raises(error):
            await assert_edge(shop, tenant, EdgeType.DEPENDS_ON, mail, other, reason=reason, by="admin", now=LATER)
    with pytest.raises(ValueError, match="OWNED_BY goes from Service to Team"):
        await assert_edge(shop, tenant, EdgeType.OWNED_BY, mail, ledger, **how)


async def test_an_asserted_edge_overrules_an_earlier_retirement(shop: GraphStore, tenant: str) -> None:
    checkout, payments = await node(shop, tenant, "checkout"), await node(shop, tenant, "pay")
    how = {"reason": "why", "by": "admin", "now": LATER}
    await retire(shop, tenant, EdgeType.DEPENDS_ON, checkout, payments, **how)
    await assert_edge(shop, tenant, EdgeType.DEPENDS_ON, checkout, payments, **how)
    assert await sufferers(shop, tenant, "payments-api") == ["checkout"]


async def test_an_alias_is_added_and_taken_away_without_confirming_the_entity(shop: GraphStore, tenant: str) -> None:
    before = await export(shop, tenant)
    ledger = await add_alias(shop, tenant, await node(shop, tenant, "ledger"), " Book Keeper ")
    assert (await node(shop, tenant, "bookkeeper")).id == ledger.id
    assert ledger.life == (await node(shop, tenant, "ledger")).life
    assert await add_alias(shop, tenant, ledger, "book_keeper") == ledger
    with pytest.raises(Refused, match="is a name of payments-api; if the two are one thing, merge them"):
        await add_alias(shop, tenant, ledger, "PAY")
    with pytest.raises(Refused, match="no alias of ledger; it has Book Keeper"):
        await remove_alias(shop, tenant, ledger, "other")
    await remove_alias(shop, tenant, ledger, "BookKeeper")
    assert await shop.resolve(tenant, ["bookkeeper"], [Label.SERVICE]) == {}
    assert await export(shop, tenant) == before


async def test_an_export_is_the_same_on_every_store_and_any_name_fits_graphml(store: GraphStore, tenant: str) -> None:
    odd = dataclasses.replace(service('<a> & "b" \x0b \ud800', "é"), properties={"tags": ("x", "y"), "n": 1, "f": 0.5})
    facts = Facts("catalogue", NOON, (odd, service("b"), NodeFact(Label.TEAM, "t")), (depends("b", odd.name),))
    await store.write(tenant, facts)
    history = await store.history(tenant, None)
    text = as_graphml(history)
    assert "&lt;a&gt; &amp;" in text
    assert '"source": "' in as_json(history)
    import networkx

    graph = networkx.parse_graphml(text)
    assert sorted(data["label"] for _, data in graph.nodes(data=True)) == ["Service", "Service", "Team"]
    assert [data["type"] for _, _, data in graph.edges(data=True)] == ["DEPENDS_ON"]
