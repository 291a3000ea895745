"""Summaries by template: one for every kind of node and edge, and none where somebody describes the thing better."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.identity import name_key
from graphrag.ingest.summarise import UNSURE_BELOW, edge_summary, node_summary, summarised
from graphrag.model import SYMMETRIC, EdgeFact, EdgeType, EntityKind, Label, NodeFact, Ref

names = st.text(min_size=1, max_size=20).filter(name_key)


@pytest.mark.parametrize(
    ("summary", "sentence"),
    [
        (edge_summary(EdgeType.DEPENDS_ON, "checkout-api", "payments-api"), "checkout-api depends on payments-api."),
        (
            edge_summary(EdgeType.DEPENDS_ON, "checkout-api", "payments-api", place="compose.yaml"),
            "checkout-api depends on payments-api (compose.yaml).",
        ),
        (
            edge_summary(EdgeType.DEPENDS_ON, "checkout-api", "payments-api", confidence=0.5),
            "checkout-api depends on payments-api, as far as can be told.",
        ),
        (edge_summary(EdgeType.OWNED_BY, "payments-api", "payments"), "payments-api is owned by payments."),
        (edge_summary(EdgeType.RESPONDED_BY, "Flood", "payments"), "payments responded to the incident Flood."),
        (
            edge_summary(EdgeType.INTRODUCED_BY, "till", "till 2.1"),
            "till 2.1 is a release of till.",
        ),
        (
            edge_summary(EdgeType.INTRODUCED_BY, "Flood", "till 2.1", of=Label.INCIDENT),
            "The incident Flood was introduced by till 2.1.",
        ),
        (edge_summary(EdgeType.RELATION, "till", "vault", "STORES_KEYS_IN"), "till stores keys in vault."),
        (edge_summary(EdgeType.CO_OCCURS, "vault", "{source}"), "vault and {source} are named together."),
    ],
)
def test_an_edge_is_told_in_a_sentence(summary: str, sentence: str) -> None:
    assert summary == sentence


@given(st.sampled_from(EdgeType), names, names, st.floats(0, 1))
def test_every_edge_has_a_sentence_that_names_both_ends(
    type: EdgeType, source: str, target: str, confidence: float
) -> None:
    sentence = edge_summary(type, source, target, "needs", confidence)
    assert " ".join(source.split()) in sentence
    assert " ".join(target.split()) in sentence
    assert ("as far as can be told" in sentence) == (confidence < UNSURE_BELOW)
    other_way = edge_summary(type, target, source, "needs", confidence)
    assert (sentence == other_way) == (type in SYMMETRIC or source.split() == target.split())


@pytest.mark.parametrize(
    ("summary", "paragraph"),
    [
        (node_summary(Label.ENTITY, "PayDay", {"kind": EntityKind.EVENT.value}), "PayDay (pay day): event."),
        (
            node_summary(Label.ALERT, "TillDown", {"severity": "page", "expression": "up == 0"}),
            "TillDown (till down): alert. Severity page. Fires when up == 0.",
        ),
        (
            node_summary(
                Label.INCIDENT, "Flood", {"title": "Flood", "started_at": "2026-03-04T02:13:00+00:00", "severity": "S1"}
            ),
            "Flood: past incident. Began 2026-03-04 02:13 UTC. Severity S1.",
        ),
        (
            node_summary(Label.RUNBOOK, "runbooks/till.md", {"title": "The till", "steps_summary": "1. Look."}),
            "The till: runbook. runbooks/till.md. 1. Look.",
        ),
        (node_summary(Label.CHUNK, "x 1", {"text": "The till\nleaks."}), "The till leaks."),
        (node_summary(Label.TOOL, "query_range", {}), "query_range (query range): tool."),
    ],
)
def test_a_node_is_told_by_its_name_its_kind_and_its_properties(summary: str, paragraph: str) -> None:
    assert summary == paragraph


@given(
    st.sampled_from(Label),
    names,
    st.dictionaries(
        st.sampled_from(["title", "kind", "text", "severity", "started_at", "url", "version", "steps_summary"]),
        st.one_of(st.text(), st.integers(), st.lists(st.text(max_size=5), max_size=3).map(tuple)),
    ),
)
def test_every_node_has_a_summary_on_one_line(
    label: Label, name: str, properties: dict[str, str | int | tuple[str, ...]]
) -> None:
    summary = node_summary(label, name, properties)
    assert summary
    assert len(summary) <= 1_600
    assert "\n" not in summary


def test_only_what_has_no_summary_is_given_one() -> None:
    nodes = [
        NodeFact(Label.SERVICE, "till", "Takes money."),
        NodeFact(Label.ENTITY, "Bob", properties={"kind": "person"}),
    ]
    till, vault, books = (Ref(Label.SERVICE, name) for name in ("till", "vault", "books"))
    edges = [
        EdgeFact(EdgeType.DEPENDS_ON, till, vault, "The till keeps its keys there."),
        EdgeFact(EdgeType.DEPENDS_ON, till, books, properties={"path": "compose.yaml"}),
    ]
    told_nodes, told_edges = summarised(nodes, edges)
    assert [fact.summary for fact in told_nodes] == ["Takes money.", "Bob: person."]
    assert [fact.summary for fact in told_edges] == [
        "The till keeps its keys there.",
        "till depends on books (compose.yaml).",
    ]
    assert summarised(told_nodes, told_edges) == (told_nodes, told_edges)


def test_what_is_described_elsewhere_is_left_to_that_description() -> None:
    nodes = [
        NodeFact(Label.SERVICE, "Till"),
        NodeFact(Label.SERVICE, "vault"),
        NodeFact(Label.SERVICE, "Vault", "Keeps keys."),
        NodeFact(Label.TEAM, "vault"),
    ]
    edge = EdgeFact(EdgeType.DEPENDS_ON, Ref(Label.SERVICE, "till"), Ref(Label.SERVICE, "vault"))
    told, edges = summarised(nodes, [edge, replace(edge, summary="For keys.")], described={name_key("till")})
    assert [fact.summary for fact in told] == ["", "", "Keeps keys.", "vault: team."]
    assert [fact.summary for fact in edges] == ["", "For keys."]
