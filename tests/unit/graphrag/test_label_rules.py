"""What a person said of alerts: which rule holds, how loud it is, and that a lifted one leaves no trace."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphrag.embed import Embedding, open_embedding
from graphrag.errors import Refused
from graphrag.identity import name_key
from graphrag.label_rules import (
    MAX_STANDING,
    Condition,
    LabelRule,
    add_rule,
    labels_of,
    lift_rule,
    narrowest,
    standing_rules,
)
from graphrag.model import EdgeFact, EdgeType, Facts, History, Label, Node, NodeFact, Record, Ref, Rewrite, node_id
from graphrag.retrieve import Location, locate
from graphrag.signals import signals_from_alerts
from graphrag.sqlite_store import SqliteStore

NOW = datetime(2026, 11, 30, 2, 13, tzinfo=UTC)
SERVICES = ("checkout-api", "payments-db", "cart-service")


class Graph:
    def __init__(self, store: SqliteStore, embedding: Embedding) -> None:
        self.store = store
        self.embedding = embedding

    async def alerts(self, *labels: dict[str, str], note: str = "", expression: str = "") -> Location:
        signals = signals_from_alerts(labels, [{"summary": note}] * len(labels), [expression] * len(labels))
        return await locate(self.store, self.embedding.embed_queries, "t", signals)

    async def rule(self, text: str, service: str, alertname: str = "") -> LabelRule:
        label, _, value = text.partition("=")
        node = await self.service(service)
        return await add_rule(self.store, "t", Condition(label, value, alertname), node, reason="so", by="me", now=NOW)

    async def service(self, name: str) -> Node:
        id = node_id("t", Label.SERVICE, name_key(name))
        return (await self.store.nodes("t", [id]))[id]

    async def lift(self, rule: LabelRule) -> None:
        await lift_rule(self.store, "t", rule.id, by="me", now=NOW)


@pytest.fixture
async def graph(tmp_path: Path) -> AsyncIterator[Graph]:
    store = SqliteStore(tmp_path / "graph.db", dimensions=64)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=64)
    nodes = tuple(NodeFact(Label.SERVICE, name, f"{name} does its part.") for name in SERVICES)
    needs = EdgeFact(EdgeType.DEPENDS_ON, Ref(Label.SERVICE, "checkout-api"), Ref(Label.SERVICE, "payments-db"))
    await store.write("t", Facts("catalogue", NOW, nodes=nodes, edges=(needs,)))
    yield Graph(store, embedding)
    await store.close()


def place(found: Location) -> tuple[str, str]:
    return found.certainty, found.candidates[0].node.name if found.candidates else ""


async def test_a_rule_outweighs_every_name_in_words(graph: Graph):
    loud = {"alertname": "PaymentsDbDown", "queue": "cards"}
    note = "the payments-db service fails; payments-db needs a look"
    assert place(await graph.alerts(loud, note=note)) == ("resolved", "payments-db")
    rule = await graph.rule("queue=cards", "cart-service")
    found = await graph.alerts(loud, note=note, expression='up{service="payments-db"} == 0')
    assert place(found) == ("resolved", "cart-service")
    assert found.candidates[0].reasons[0] == f"a person said so on 2026-11-30 of queue=cards ({rule.id}: so)"


async def test_a_label_that_plainly_names_another_service_makes_a_rule_ambiguous(graph: Graph):
    await graph.rule("queue=cards", "cart-service")
    found = await graph.alerts({"queue": "cards", "service": "payments-db"})
    assert (found.certainty, {each.node.name for each in found.candidates}) == (
        "ambiguous",
        {"cart-service", "payments-db"},
    )
    assert found.explanation.startswith("what people said of it and its labels contradict each other")
    assert place(await graph.alerts({"queue": "cards", "service": "cart-service"})) == ("resolved", "cart-service")
    # Under a key of which nobody knows what it holds, a name may be that of a supplier.
    assert place(await graph.alerts({"queue": "cards", "upstream": "payments-db"})) == ("resolved", "cart-service")


async def test_a_rule_mends_what_was_read_out_of_a_part_of_its_own_value(graph: Graph):
    labels = {"instance": "checkout-api.batch:80"}
    assert place(await graph.alerts(labels)) == ("resolved", "checkout-api")
    await graph.rule("instance=checkout-api.batch:80", "cart-service")
    assert place(await graph.alerts(labels)) == ("resolved", "cart-service")
    assert (await graph.alerts({**labels, "service": "checkout-api"})).certainty == "ambiguous"


async def test_a_value_that_becomes_a_service_later_contradicts_its_rule(graph: Graph):
    await graph.rule("service=card-worker", "cart-service")
    assert place(await graph.alerts({"service": "card-worker"})) == ("resolved", "cart-service")
    await graph.store.write("t", Facts("catalogue", NOW, nodes=(NodeFact(Label.SERVICE, "card-worker"),)))
    assert (await graph.alerts({"service": "card-worker"})).certainty == "ambiguous"


async def test_two_rules_that_disagree_about_an_alert_make_it_ambiguous(graph: Graph):
    await graph.rule("queue=cards", "cart-service")
    await graph.rule("topic=orders", "checkout-api")
    assert (await graph.alerts({"queue": "cards", "topic": "orders"})).certainty == "ambiguous"


async def test_a_rule_holds_for_each_alert_of_a_group_by_itself(graph: Graph):
    await graph.rule("queue=cards", "cart-service")
    assert place(await graph.alerts({"queue": "cards"}, {"queue": "cards", "disk": "a"})) == (
        "resolved",
        "cart-service",
    )
    assert (await graph.alerts({"queue": "cards"}, {"service": "payments-db"})).certainty == "ambiguous"


@pytest.mark.parametrize(
    "labels", [{"queue": "card"}, {"queue": "Cards"}, {"topic": "cards"}, {"alertname": "cards"}, {"queue": "cards2"}]
)
async def test_a_rule_holds_for_no_other_value_and_no_other_label(graph: Graph, labels: dict[str, str]):
    await graph.rule("queue=cards", "cart-service")
    assert "person" not in "".join(str(each.reasons) for each in (await graph.alerts(labels)).candidates)


async def test_what_an_expression_asks_for_or_a_text_says_is_no_label(graph: Graph):
    await graph.rule("queue=cards", "cart-service")
    await graph.rule("text=cards", "cart-service")
    found = await graph.alerts({"alertname": "A"}, note="cards", expression='x{queue="cards"} > 1')
    assert found.certainty != "resolved"


async def test_the_narrowest_rule_that_holds_counts(graph: Graph):
    by_name = await graph.rule("alertname=Slow", "payments-db")
    by_label = await graph.rule("queue=cards", "cart-service")
    by_both = await graph.rule("queue=cards", "checkout-api", "Slow")
    rules = [by_name, await graph.rule("alertname=Fast", "payments-db"), by_label, by_both]

    def ids(**labels: str) -> list[LabelRule]:
        (alert,) = signals_from_alerts([labels], [], []).alerts
        return narrowest(labels_of(alert), rules)

    assert ids(alertname="Slow", queue="cards") == [by_both]
    assert ids(alertname="Fast", queue="cards") == [by_label]
    assert ids(alertname="Slow", queue="other") == [by_name]
    assert ids(alertname="Other") == []


async def test_so_many_rules_may_stand_and_no_more(graph: Graph):
    records = tuple(
        Record(
            "label_rule",
            f"rule-{n:04}",
            {"label": "queue", "value": f"q{n}", "alertname": "", "service": "s", "name": "s", "reason": "r"}
            | {"by": "me", "at": NOW.isoformat()},
        )
        for n in range(MAX_STANDING)
    )
    await graph.store.rewrite("t", [], lambda _: Rewrite(History(), records=records))
    with pytest.raises(Refused, match="lift one first"):
        await graph.rule("queue=cards", "cart-service")
    await graph.lift((await standing_rules(graph.store, "t"))[0])
    assert (await graph.rule("queue=cards", "cart-service")).id.startswith("rule-")


async def test_rules_of_one_tenant_say_nothing_in_another(graph: Graph):
    await graph.rule("queue=cards", "cart-service")
    assert await standing_rules(graph.store, "other") == []


KEYS = st.sampled_from(["alertname", "queue", "exported_queue", "service", "namespace", "pod", "severity"])
VALUES = st.sampled_from([*SERVICES, "cards", "Slow", "CartServiceDown", "page"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(
    group=st.lists(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4), min_size=1, max_size=3),
    key=KEYS,
    value=st.sampled_from(["cards", "Slow", "page", "other"]),
    alertname=st.sampled_from(["", "Slow"]),
    service=st.sampled_from(SERVICES),
)
async def test_a_lifted_rule_leaves_locating_as_it_was(
    graph: Graph, group: list[dict[str, str]], key: str, value: str, alertname: str, service: str
):
    before = await graph.alerts(*group)
    rule = await graph.rule(f"{key}={value}", service, alertname)
    with_it = await graph.alerts(*group)
    holds = any(rule.condition.labels <= labels_of(alert) for alert in signals_from_alerts(group, [], []).alerts)
    assert any("person" in each.parts for each in with_it.candidates) == holds
    if with_it.certainty == "resolved" and holds and len(group) == 1:
        assert with_it.candidates[0].node.name == service
    await graph.lift(rule)
    assert await graph.alerts(*group) == before
