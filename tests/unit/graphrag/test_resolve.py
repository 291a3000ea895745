"""Resolving an alert, a group or a question: the judgement by hand, the whole on a real SQLite store and embedding."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.embed import Embed, Embedding, open_embedding
from graphrag.evidence import Named
from graphrag.ingest import ingest
from graphrag.model import EdgeFact, EdgeType, Facts, Hit, Label, Life, Node, NodeFact, Ref, node_id
from graphrag.ownership import NOBODY
from graphrag.resolve import Alike, Resolution, Said, Thresholds, judge
from graphrag.retrieve import Location, fuse, locate
from graphrag.signals import signals_from_alerts, signals_from_question
from graphrag.sqlite_store import SqliteStore

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LIFE = Life(NOW, NOW, NOW)
ORGANISATION = Path(__file__).parents[3] / "app" / "demo" / "organisation"
THRESHOLDS = Thresholds()


def node(name: str, label: Label = Label.SERVICE) -> Node:
    return Node(node_id("t", label, name), "t", label, name, LIFE)


def names(location: Location | Resolution) -> list[str]:
    return [each.node.name for each in location.candidates]


class Graph:
    """The demonstration's organisation, ingested for real."""

    def __init__(self, store: SqliteStore, embedding: Embedding) -> None:
        self.store = store
        self.embed: Embed = embedding.embed_queries

    async def alert(self, *expressions: str, note: str = "", **labels: str) -> Location:
        signals = signals_from_alerts([labels], [{"summary": note}] if note else [], expressions)
        return await locate(self.store, self.embed, "t", signals)

    async def question(self, text: str) -> Location:
        return await locate(self.store, self.embed, "t", signals_from_question(text))


@pytest.fixture(scope="module")
async def graph(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Graph]:
    store = SqliteStore(tmp_path_factory.mktemp("graph") / "graph.db", dimensions=384)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=384)
    await ingest(store, embedding, "t", [ORGANISATION], now=NOW)
    yield Graph(store, embedding)
    await store.close()


@pytest.mark.parametrize(
    "labels",
    [
        {"service": "checkout-api"},
        {"service": "CheckoutAPI"},
        {"app": "checkout"},
        {"service_name": "checkout_service"},
        {"app_kubernetes_io_name": "checkout-api"},
        {"label_app_kubernetes_io_name": "checkout-api"},
        {"job": "prometheus", "exported_service": "checkout-api"},
        {"deployment": "checkout-api", "namespace": "payments"},
        {"pod": "checkout-api-7d9f8b6c5d-x2x4z"},
        {"instance": "checkout-api.shop.svc.cluster.local:8080"},
        {"instance": "http://checkout-api:8080/metrics"},
        {"team_service": "checkout-api"},
        {"alertname": "CheckoutApiDown"},
    ],
    ids=str,
)
async def test_a_label_that_names_a_service_resolves_to_it(graph: Graph, labels: dict[str, str]) -> None:
    found = await graph.alert(**labels)
    assert found.certainty == "resolved", found.explanation
    assert names(found)[0] == "checkout-api"
    assert found.candidates[0].reasons


async def test_the_matchers_of_an_expression_name_the_service(graph: Graph) -> None:
    found = await graph.alert('sum(rate(x{service="ledger-db"}[5m])) > 1', alertname="Burn")
    assert (found.certainty, names(found)[0]) == ("resolved", "ledger-db")


@pytest.mark.parametrize(
    "labels",
    [
        {"service": "checkout-api", "app": "cart-service"},
        {"service": "checkout-api", "app": "checkout-api", "deployment": "checkout-api", "job": "cart-service"},
        {"service": "notification-service", "pod": "checkout-api-7d9f8b6c5d-x2x4z"},
        {"container": "cart-service", "instance": "checkout-api:80"},
    ],
    ids=str,
)
async def test_labels_that_contradict_each_other_are_never_resolved(graph: Graph, labels: dict[str, str]) -> None:
    found = await graph.alert(**labels)
    assert found.certainty == "ambiguous"
    assert "contradict" in found.explanation


async def test_alerts_of_one_group_that_name_two_services_are_ambiguous(graph: Graph) -> None:
    signals = signals_from_alerts([{"service": "checkout-api"}, {"service": "cart-service"}], [], [])
    found = await locate(graph.store, graph.embed, "t", signals)
    assert found.certainty == "ambiguous"
    assert set(names(found)[:2]) == {"checkout-api", "cart-service"}


async def test_a_supplier_in_another_label_or_in_the_text_does_not_shake_the_service(graph: Graph) -> None:
    found = await graph.alert(service="checkout-api", upstream="payments-gateway", note="ledger-db is slow")
    assert (found.certainty, names(found)[0]) == ("resolved", "checkout-api")


@pytest.mark.parametrize(
    "labels",
    [
        {"service": "checkout-redis"},
        {"service": "checkout-facade"},
        {"service": "checkout-api-2"},
        {"pod": "checkout-redis"},
        {"service": "oauth"},
        {"severity": "checkout-api"},
        {"alertname": "Watchdog", "severity": "none"},
        {"alertname": "NodeFilesystemFull", "instance": "10.0.0.3:9100"},
    ],
    ids=str,
)
async def test_what_only_looks_like_a_name_resolves_to_nothing(graph: Graph, labels: dict[str, str]) -> None:
    assert (await graph.alert(**labels)).certainty != "resolved"


async def test_an_ordinary_word_that_is_also_an_alias_names_nothing_however_often_it_is_said(graph: Graph) -> None:
    found = await graph.alert("search_errors > 1", alertname="SearchErrors", note="search the logs for it")
    assert found.certainty == "ambiguous"
    assert "catalogue-search may be meant" in found.explanation


@pytest.mark.parametrize(
    "note", ["Pod payments/checkout-api-7d9f8b6c5d-x2x4z restarts.", "(checkout api) is slow", "see checkout-api:8080"]
)
async def test_a_name_in_an_alerts_text_is_found(graph: Graph, note: str) -> None:
    found = await graph.alert(alertname="Slow", note=note)
    assert (found.certainty, names(found)[0]) == ("resolved", "checkout-api")


@pytest.mark.parametrize(
    ("question", "service"),
    [
        ("why is checkout failing?", "checkout-api"),
        ("Who owns the Payments Gateway?", "payments-gateway"),
        ("blast radius of `ledger-db`", "ledger-db"),
        ("kafka disk full", "event-bus"),
    ],
)
async def test_a_question_names_its_service_in_plain_words(graph: Graph, question: str, service: str) -> None:
    found = await graph.question(question)
    assert (found.certainty, names(found)[0]) == ("resolved", service)


@pytest.mark.parametrize(
    "question", ["is checkout-api-canary ok?", "compare checkout-api and cart-service", "how is the weather?", "", "?"]
)
async def test_a_question_without_one_service_is_not_resolved(graph: Graph, question: str) -> None:
    assert (await graph.question(question)).certainty != "resolved"


# Words: where a name stands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alertname", "note"),
    [
        ("CheckoutApiLedgerDbErrors", ""),
        ("CheckoutServiceLedgerErrors", "The ledger client of the checkout-api service fails"),
        ("HighErrorRate", "Errors of the `checkout-api` service, ledger-db may be the cause"),
        ("checkout_api_errors", "look at ledger-db"),
    ],
)
async def test_a_name_that_comes_first_or_is_called_a_service_stands_before_one_that_is_mentioned(
    graph: Graph, alertname: str, note: str
) -> None:
    found = await graph.alert(alertname=alertname, note=note)
    assert names(found)[0] == "checkout-api"
    assert found.certainty == "resolved", found.explanation


async def test_a_part_that_another_label_names_does_not_shake_the_service(graph: Graph) -> None:
    found = await graph.alert(service="checkout-api", component="cart-cache", alertname="CartCacheSlow")
    assert (found.certainty, names(found)[0]) == ("resolved", "checkout-api")


async def test_where_the_text_asks_for_a_label_that_is_not_there_its_words_do_not_decide(graph: Graph) -> None:
    note = "The ledger-db disk of the {{ $labels.kind }} service is full"
    assert (await graph.alert(alertname="resource_saturated:ledger_db_disk", note=note)).certainty != "resolved"
    found = await graph.alert(alertname="resource_saturated:ledger_db_disk", note=note, kind="checkout-api")
    assert (found.certainty, names(found)[0]) == ("resolved", "checkout-api")


async def test_a_label_of_an_unknown_key_that_may_be_a_team_is_not_taken_for_a_service(graph: Graph) -> None:
    await graph.store.write("t", Facts("more", NOW, (NodeFact(Label.TEAM, "returns-desk"),)))
    assert (await graph.alert(alertname="Late", category="returns-desk")).certainty != "resolved"
    assert (await graph.alert(alertname="Late", category="click-and-collect")).certainty == "resolved"


async def test_a_word_that_is_but_a_piece_of_a_longer_one_names_nothing(graph: Graph) -> None:
    assert (await graph.alert(alertname="FraudScoringLag")).certainty == "resolved"
    await graph.store.write("t", Facts("git", NOW, (NodeFact(Label.SERVICE, "git"),)))
    assert (
        await graph.alert(alertname="GitHubVersionsDiffer", note="github is older than it was")
    ).certainty != "resolved"
    assert (await graph.alert(alertname="GitPushesFail", note="pushes fail")).certainty == "resolved"


# The rule that fires --------------------------------------------------------------------------------------------------


async def test_the_rule_that_fires_names_the_service_when_the_alert_does_not(graph: Graph) -> None:
    fires = [("TooFewParcels", "order-service"), ("TooFull", "orders-db"), ("TooFull", "cart-cache")]
    rules = tuple(NodeFact(Label.ALERT, name) for name in ("TooFewParcels", "TooFull"))
    edges = tuple(EdgeFact(EdgeType.FIRES_ON, Ref(Label.ALERT, a), Ref(Label.SERVICE, b)) for a, b in fires)
    await graph.store.write("t", Facts("rules", NOW, rules, edges))
    found = await graph.alert(alertname="TooFewParcels")
    assert (found.certainty, names(found)[0]) == ("resolved", "order-service")
    assert found.candidates[0].parts["rule"] > 0
    shared = await graph.alert(alertname="TooFull")
    assert shared.certainty == "ambiguous"
    assert set(names(shared)[:2]) == {"orders-db", "cart-cache"}
    told = await graph.alert(alertname="TooFewParcels", service="cart-service")
    assert (told.certainty, names(told)[0]) == ("resolved", "cart-service"), "the alert knows better than the rule"


@pytest.mark.parametrize(
    ("name", "note", "service", "certainty"),
    [
        ("WebBffsSlow", "", "web-bff", "resolved"),
        ("Slow", "cart-services are slow", "cart-service", "ambiguous"),
    ],
)
async def test_a_name_in_the_other_number_is_read(
    graph: Graph, name: str, note: str, service: str, certainty: str
) -> None:
    found = await graph.alert(alertname=name, note=note)
    assert (names(found)[0], found.certainty) == (service, certainty), found.explanation


async def test_name_summary_and_description_that_agree_are_about_what_they_name(graph: Graph) -> None:
    await graph.store.write(
        "agreed", Facts("s", NOW, (NodeFact(Label.SERVICE, "vault"), NodeFact(Label.SERVICE, "attic")))
    )
    notes = {"summary": "No active vault node", "description": "Vault has no active node."}
    alone = signals_from_alerts([{"alertname": "NoActiveVaultNode"}], [notes], [])
    found = await locate(graph.store, graph.embed, "agreed", alone)
    assert (found.certainty, names(found)[0]) == ("resolved", "vault"), found.explanation
    beside = signals_from_alerts([{"alertname": "NoActiveVaultNode"}], [{**notes, "summary": "In vault or attic"}], [])
    assert (await locate(graph.store, graph.embed, "agreed", beside)).certainty != "resolved"


# Groups ---------------------------------------------------------------------------------------------------------------


async def of_group(graph: Graph, *alerts: tuple[str, str]) -> Location:
    labels = [{"alertname": name} | ({"service": service} if service else {}) for name, service in alerts]
    return await locate(graph.store, graph.embed, "t", signals_from_alerts(labels, [], []))


async def test_alerts_that_say_nothing_leave_the_word_to_the_one_that_does(graph: Graph) -> None:
    found = await of_group(graph, ("Watchdog", ""), ("HighErrorRate", "checkout-api"), ("NodeDown", ""))
    assert (found.certainty, names(found)[0]) == ("resolved", "checkout-api")


async def test_of_failing_services_the_one_on_which_the_others_depend_is_named(graph: Graph) -> None:
    alerts = [("HighErrorRate", name) for name in ("web-bff", "ledger-db", "checkout-api")]
    found = await of_group(graph, *alerts, ("NoRequestsReceived", "event-bus"))
    assert (found.certainty, names(found)[0]) == ("resolved", "ledger-db"), found.explanation
    assert found.candidates[0].parts["graph"] > 0


async def test_of_failing_services_that_do_not_depend_on_each_other_none_is_named(graph: Graph) -> None:
    found = await of_group(graph, ("HighErrorRate", "cart-cache"), ("HighErrorRate", "event-bus"))
    assert found.certainty == "ambiguous"
    assert set(names(found)[:2]) == {"cart-cache", "event-bus"}


async def test_one_alert_whose_labels_contradict_each_other_makes_its_group_unsure(graph: Graph) -> None:
    labels = [{"service": "checkout-api"}, {"service": "cart-service", "app": "event-bus"}]
    found = await locate(graph.store, graph.embed, "t", signals_from_alerts(labels, [], []))
    assert found.certainty == "ambiguous"
    assert "contradict" in found.explanation


# Bad input: never an exception, never confident nonsense --------------------------------------------------------------

MANY = {f"label_{n}": f"value-{n}" for n in range(500)}


@pytest.mark.parametrize(
    ("labels", "notes"),
    [
        ({}, {}),
        ({"severity": "page"}, {}),
        ({"alertname": ""}, {"summary": ""}),
        ({"alertname": "{{ $labels.alertname }}", "service": "{{ $labels.service }}"}, {"summary": "{{ $value }}"}),
        (
            {"alertname": "Late", "service": "{{ .Labels.service"},
            {"summary": "the {{ $labels.service }} service"},
        ),
        (MANY, {}),
        ({"alertname": "磁盘空间不足", "实例": "服务器一"}, {"summary": "节点磁盘已满请立即处理"}),
        ({"alertname": "Late"}, {"summary": "see https://wiki.example/cart-service/late"}),
        ({"alertname": "Late"}, {"summary": "see https://cart-service.example/late for more"}),
        ({"alertname": "Late", "link": "https://wiki.example/cart-service"}, {}),
        ({"alertname": "Late"}, {"runbook_url": "https://wiki.example/cart-service"}),
        ({"alertname": "Late"}, {"runbook": "Restart cart-service, then look at ledger-db."}),
        ({"alertname": "Late"}, {"description": "Such a thing was once caused by cart-service."}),
        ({"alertname": "Late", "pod": "\x00\ud800"}, {"summary": "\x00"}),
        ({"alertname": "Late", "team": "{{ $labels.team }}"}, {"summary": "team payments knows"}),
        ({"alertname": "延迟", "team": "值班"}, {}),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_an_alert_that_names_no_service_resolves_to_none(
    graph: Graph, labels: dict[str, str], notes: dict[str, str]
) -> None:
    found = await locate(graph.store, graph.embed, "t", signals_from_alerts([labels], [notes], []))
    assert found.certainty != "resolved", found.explanation
    assert found.owner == NOBODY, found.owner.says


@pytest.mark.parametrize(
    ("labels", "notes"),
    [
        ({"service": "checkout-api"}, {}),
        ({**MANY, "service": "checkout-api"}, {}),
        ({"service": "checkout-api", "alertname": "{{ $labels.x }}"}, {"summary": "{{ $labels.y }} is late"}),
        ({"alertname": "磁盘空间不足", "service": "checkout-api"}, {"summary": "节点磁盘已满"}),
        ({"alertname": "Late", "service": "checkout-api"}, {"runbook": "Restart cart-service."}),
        ({"alertname": "Late", "service": "checkout-api"}, {"dashboard": "https://x.example/d/cart-service"}),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_what_is_odd_beside_it_does_not_hide_the_service(
    graph: Graph, labels: dict[str, str], notes: dict[str, str]
) -> None:
    found = await locate(graph.store, graph.embed, "t", signals_from_alerts([labels], [notes], []))
    assert (found.certainty, names(found)[0]) == ("resolved", "checkout-api"), found.explanation


async def test_a_group_of_many_alerts_is_bounded(graph: Graph) -> None:
    labels = [{"alertname": f"Late{n}", "pod": f"pod-{n}", "service": "checkout-api"} for n in range(2_000)]
    found = await locate(graph.store, graph.embed, "t", signals_from_alerts(labels, [], []))
    assert (found.certainty, names(found)[0]) == ("resolved", "checkout-api")


async def test_another_tenants_services_are_not_found(graph: Graph) -> None:
    await graph.store.write("other", Facts("s", NOW, (NodeFact(Label.SERVICE, "secret-service"),)))
    found = await graph.alert(service="secret-service")
    assert "secret-service" not in names(found)


def like(*scores: tuple[str, float]) -> list[Hit]:
    return [Hit(node(name), score) for name, score in scores]


def judged(named: Sequence[Named], by_vector: Sequence[Hit], by_text: Sequence[Hit]) -> Resolution:
    cosines = {hit.node.id: hit.score for hit in by_vector}
    alike = Alike((*by_vector, *by_text), cosines, fuse([by_vector, by_text]))
    return judge([Said(named)], alike, THRESHOLDS, {})


@pytest.mark.parametrize(
    ("hits", "certainty"),
    [
        (like(("a", 0.60), ("b", 0.30)), "resolved"),
        (like(("a", 0.60), ("b", 0.55)), "ambiguous"),
        (like(("a", 0.44), ("b", 0.10)), "unresolved"),
        (like(("a", 0.60)), "resolved"),
        ([], "unresolved"),
    ],
)
def test_without_a_name_likeness_decides_only_when_it_is_high_and_clear(hits: list[Hit], certainty: str) -> None:
    assert judged([], hits, hits).certainty == certainty


def test_likeness_that_full_text_does_not_share_is_not_clear() -> None:
    by_vector = like(("a", 0.6), ("b", 0.3))
    assert judged([], by_vector, like(("b", 9.0), ("c", 1.0))).certainty == "ambiguous"


def test_a_weak_name_forbids_that_another_service_is_taken_for_its_likeness() -> None:
    weak = Named(node("b"), 0.4, "the text holds its name", "text")
    hits = like(("a", 0.9))
    assert judged([weak], hits, hits).certainty == "ambiguous"


weights = st.floats(0.05, 1)
named_nodes = st.builds(
    lambda name, weight, voice, claims: Named(node(name), weight, f"{voice} names it", voice, claims),
    st.sampled_from("abcd"),
    weights,
    st.sampled_from("uvwxyz"),
    st.booleans(),
)
hit_lists = st.lists(st.tuples(st.sampled_from("abcdef"), st.floats(-1, 1)), max_size=6, unique_by=lambda pair: pair[0])


@given(st.lists(named_nodes, max_size=6), hit_lists, hit_lists)
def test_the_judgement_is_sound_whatever_was_found(
    named: list[Named], vector: list[tuple[str, float]], text: list[tuple[str, float]]
) -> None:
    by_vector, by_text = (like(*sorted(pairs, key=lambda pair: -pair[1])) for pairs in (vector, text))
    location = judged(named, by_vector, by_text)
    scores = [each.score for each in location.candidates]

    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    claimed = {each.node.id for each in named if each.claims}
    if location.certainty == "resolved":
        best, *rest = location.candidates
        assert best.reasons
        assert best.parts["exact"] >= THRESHOLDS.named or best.parts["semantic"] >= THRESHOLDS.alike
        assert all(best.parts["exact"] > each.parts["exact"] or not each.parts["exact"] for each in rest), (
            "a service named as surely stands behind"
        )
        assert not (len(claimed) > 1 and best.parts["exact"] >= THRESHOLDS.named)
    reversed_order = judged(named[::-1], by_vector, by_text)
    assert reversed_order.certainty == location.certainty
    assert names(reversed_order) == names(location)
