"""Prometheus rules become alerts with their runbooks and the services they fire on."""

from __future__ import annotations

import promql_parser
import pytest

from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.page_links import PageLinks
from graphrag.ingest.sources.prometheus_rules import Rules, read_rules
from graphrag.model import EdgeType, NodeFact

SERVICES = {"till": "till", "books": "books", "ledger": "books", "payments": "payments"}


def read(*texts: str, pages: tuple[str, ...] = ()) -> Rules:
    return read_rules([SourceFile(f"{number}.yaml", text) for number, text in enumerate(texts)], SERVICES, pages)


def rule(name: str = "Slow", expr: str = "up == 0", labels: str = "{}", annotations: str = "{}") -> str:
    return f"""
groups:
  - name: g
    rules:
      - alert: {name}
        expr: {expr}
        labels: {labels}
        annotations: {annotations}
"""


def edges(rules: Rules, type: EdgeType) -> dict[tuple[str, str], float]:
    return {(edge.source.name, edge.target.name): edge.confidence for edge in rules.found.edges if edge.type is type}


def fires_on(rules: Rules) -> dict[str, float]:
    return {service: confidence for (_, service), confidence in edges(rules, EdgeType.FIRES_ON).items()}


def alert(rules: Rules) -> NodeFact:
    (node,) = rules.found.nodes
    return node


def test_a_rule_is_an_alert_with_what_it_watches() -> None:
    found = read("""
groups:
  - name: till
    rules:
      - record: till:errors
        expr: rate(errors[5m])
      - alert: TillSlow
        expr: |
          latency > 1
        for: 5m
        labels: {severity: page, service: till}
        annotations: {summary: The till is slow.}
""")
    assert alert(found).name == "TillSlow"
    assert alert(found).properties == {
        "expression": "latency > 1",
        "severity": "page",
        "labels": ("service=till", "severity=page"),
        "for": "5m",
    }
    assert alert(found).summary == "Alert TillSlow of severity page. Fires on till. The till is slow."
    assert found.found.failures == []


def test_rules_of_one_name_are_one_alert_whose_expression_holds_when_one_of_theirs_does() -> None:
    found = read(
        rule(expr='"a > 1 # odd"', labels="{severity: page, service: till}"),
        rule(expr="b > 2", labels="{severity: warn, service: ledger}") + rule(expr="b > 2").replace("groups:\n", ""),
    )
    assert alert(found).properties["severity"] == "page, warn"
    assert fires_on(found) == {"till": 1.0, "books": 1.0}
    expression = str(alert(found).properties["expression"])
    assert expression.count("b > 2") == 1
    promql_parser.parse(expression)


def test_of_a_thousand_rules_of_one_name_as_many_are_shown_as_there_is_room_for() -> None:
    rules = "".join(
        f"  - {{alert: Slow, expr: 'up{{a=\"{number:090}\"}}', labels: {{l{number}: x}}}}\n" for number in range(1_000)
    )
    found = alert(read(f"groups:\n- rules:\n{rules}"))
    assert str(found.properties["expression"]).count("up{") == 20_000 // len(f'up{{a="{0:090}"}}')
    assert len(str(found.properties["labels"])) < 2_000


def test_a_manifest_holds_rules_too() -> None:
    text = """
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: x}
spec: {groups: [{name: g, rules: [{alert: Slow, expr: up}]}]}
"""
    assert alert(read(text)).name == "Slow"


@pytest.mark.parametrize(
    ("labels", "expr", "services"),
    [
        ("{service: till}", "up", {"till": 1.0}),
        ("{app: ledger}", "up", {"books": 1.0}),
        ("{anything: till}", "up", {"till": 1.0}),
        ("{service: till, app: books}", "up", {"till": 1.0}),
        ("{team: payments}", "up", {}),
        ("{service: nobody}", "up", {"nobody": 1.0}),
        ("{app: nobody}", "up", {}),
        ("{}", "'up{job=\"till\"}'", {"till": 0.8}),
        ("{}", "'up{job=~\"till|books|other\"}'", {"till": 0.8, "books": 0.8}),
        ("{}", "'up{job=~\"til.*\"}'", {}),
        ("{}", "'up{job!=\"till\"}'", {}),
        ("{}", '\'sum(a{peer="books", service="till"})\'', {"till": 0.8}),
        ("{service: books}", "'up{job=\"till\"}'", {"books": 1.0}),
        ("{service: '{{ $labels.job }}'}", "'up{job=\"till\"}'", {"till": 0.8}),
    ],
)
def test_it_fires_on_the_service_that_its_labels_name_or_else_its_matchers(
    labels: str, expr: str, services: dict[str, float]
) -> None:
    assert fires_on(read(rule(expr=expr, labels=labels))) == services


def test_a_runbook_is_the_page_that_the_link_ends_in_or_else_the_link() -> None:
    pages = ("docs/till/slow.md", "README.md")
    found = read(
        rule("A", annotations="{runbook_url: 'https://git.example/o/r/-/blob/main/docs/till/slow.md#steps'}"),
        rule("B", annotations="{runbook: docs/till/slow.md}"),
        rule("C", annotations="{runbook_url: 'https://wiki.example/README.md'}"),
        rule("D", annotations="{runbook_url: 'https://wiki.example/{{ $labels.alertname }}'}"),
        pages=pages,
    )
    assert set(edges(found, EdgeType.HAS_RUNBOOK)) == {
        ("A", "docs/till/slow.md"),
        ("B", "docs/till/slow.md"),
        ("C", "https://wiki.example/README.md"),
    }
    assert found.runbook_pages == {"docs/till/slow.md"}
    (linked,) = [node for node in found.found.nodes if node.name.startswith("https")]
    assert linked.properties["url"] == "https://wiki.example/README.md"


@pytest.mark.parametrize(
    ("link", "page"),
    [
        ("docs/a/b.md", "docs/a/b.md"),
        ("/docs/a/b.md?plain=1#x", "docs/a/b.md"),
        ("https://x.example/docs/a/b", "docs/a/b.md"),
        ("https://x.example/blob/main/a/b.md", "docs/a/b.md"),
        ("https://x.example/docs/A/B.html", "docs/a/b.md"),
        ("https://x.example/tree/main/docs/c/", "docs/c/README.md"),
        ("https://x.example/blob/main/top.md", "top.md"),
        ("https://x.example/b.md", None),
        ("https://x.example/top", None),
        ("https://x.example/same/page", None),
        ("https://x.example/", None),
        ("https://[broken/docs/a/b.md", None),
        ("", None),
    ],
)
def test_a_page_is_found_by_the_end_of_its_path(link: str, page: str | None) -> None:
    pages = ["docs/a/b.md", "docs/c/README.md", "top.md", "README.md", "one/same/page.md", "two/same/page.md"]
    assert PageLinks(pages).page_of(link) == page


def test_a_rule_whose_expression_cannot_be_parsed_is_kept_and_said() -> None:
    found = read(rule(expr="sum(up", labels="{service: till}"))
    assert alert(found).properties["expression"] == "sum(up"
    assert fires_on(found) == {"till": 1.0}
    ((path, reason),) = found.found.failures
    assert path == "0.yaml"
    assert reason.startswith("the expression of Slow cannot be parsed")


def test_raw_strings_and_huge_expressions_are_no_mistakes() -> None:
    deep = "(" * 50_000 + "1" + ")" * 50_000
    assert read(rule(expr="'up{a=`b`} > 1'"), rule(expr=f"'{deep}'")).found.failures == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("groups:\n - alert: [", "broken YAML on line"),
        ("groups: {alert: x}", "`groups` of the document on line 1 is a mapping, not a list"),
        ("kind: PrometheusRule\ngroups: []", "`groups` of the document on line 1 is missing, not a list"),
        ("groups: [{rules: {alert: x}}]", "a group of the document on line 1 has no list of rules"),
        ("groups: [7, {rules: [{alert: x, expr: up}]}]", "a group of the document on line 1 has no list of rules"),
        ("groups: [{rules: [{alert: x, expr: up}, y]}]", "is neither `alert` nor `record`"),
        ("groups: [{rules: [{alert: [x], expr: up}]}]", "an alert whose name cannot be used: a list"),
        ("groups: [{rules: [{alert: '{{ x }}', expr: up}]}]", "an alert whose name cannot be used: '{{ x }}'"),
        ("groups: [{rules: [{alert: x, expr: [up]}]}]", "the expression of x is missing"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file(text: str, reason: str) -> None:
    ((path, said),) = read(text).found.failures
    assert path == "0.yaml"
    assert reason in said


def test_other_yaml_with_groups_is_passed_over() -> None:
    found = read("groups: {dev: [a]}\n", "updates: [{groups: {all: x}}]\n", "groups: [{name: admins, members: [x]}]\n")
    assert found == Rules()


def test_what_a_label_is_used_for_is_learnt_from_all_the_rules_before_one_is_read() -> None:
    known = {name: name for name in ("till", "books", "payments", "shelf")}
    texts = [rule(f"Late{name}", labels=f"{{counter: {name}, colour: {name}-red}}") for name in known]
    texts += [rule("Odd", 'up{job="books"}', "{counter: till, colour: shelf}")]
    files = [SourceFile(f"{number}.yaml", text) for number, text in enumerate(texts)]
    rules = read_rules(files, known, ())
    assert rules.uses["counter"].holds_services
    assert rules.uses["colour"].holds_others
    assert {service for alert, service in edges(rules, EdgeType.FIRES_ON) if alert == "Odd"} == {"till"}


def test_the_files_of_an_alert_and_then_its_runbooks_are_where_its_reviewers_are_looked_for() -> None:
    rules = read(
        rule(), rule(annotations="{runbook_url: 'https://git.example/a/books/till.md'}"), pages=("books/till.md",)
    )
    assert rules.places == {"Slow": ("0.yaml", "1.yaml", "books/till.md")}
