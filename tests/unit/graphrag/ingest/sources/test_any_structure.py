"""Whatever a file holds, it becomes facts that can be written, and failures that name it: never an exception."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.codeowners import read_codeowners
from graphrag.ingest.sources.compose import read_compose
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.git_history import read_releases, read_tags
from graphrag.ingest.sources.grafana import read_dashboard
from graphrag.ingest.sources.kubernetes import read_manifests
from graphrag.ingest.sources.prometheus_rules import read_rules
from graphrag.ingest.sources.service_graph import read_service_graph
from graphrag.lives import Run
from graphrag.model import Facts
from graphrag.writing import decide_edges, decide_nodes, fact_keys

PATH = "compose.yaml"
NAMES = {"till": "till", "books": "books"}
WORDS = st.sampled_from(
    "till books services depends_on environment env_file links image container_name networks aliases << groups rules"
    " alert record expr labels annotations runbook_url for severity service kind apiVersion metadata name namespace"
    " spec template containers env value selector items Deployment CronJob Service List PrometheusRule app title panels"
    " rows targets tags templating list query current type constant dashboard tag_name published_at author login draft"
    ' v1.2 client server http://books:1 books:80 ${A} $A {{x}} up{job="till"} $(X) path'.split()
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=8) | st.dates()
STRUCTURES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.integers() | st.text(max_size=5), inner, max_size=5)
    ),
    max_leaves=25,
)
BODIES = st.dictionaries(WORDS, STRUCTURES, max_size=6)
COMPOSE = st.builds(
    lambda body: {"services": body}, st.dictionaries(WORDS, BODIES | STRUCTURES, max_size=4) | STRUCTURES
)
RULES = st.builds(
    lambda rules, labels: {"groups": [{"rules": [{"alert": "Slow", "labels": labels}, *rules]}]},
    st.lists(
        st.fixed_dictionaries({"alert": STRUCTURES}, optional={"expr": STRUCTURES, "labels": STRUCTURES}) | STRUCTURES
    ),
    STRUCTURES,
)
MANIFESTS = st.fixed_dictionaries(
    {"apiVersion": st.just("v1"), "kind": st.sampled_from(["Deployment", "CronJob", "Service", "List"])},
    optional={
        "metadata": st.fixed_dictionaries({"name": STRUCTURES}, optional={"labels": STRUCTURES}) | STRUCTURES,
        "spec": st.fixed_dictionaries({"template": BODIES, "selector": STRUCTURES}) | STRUCTURES,
        "items": STRUCTURES,
    },
)
DASHBOARDS = st.fixed_dictionaries(
    {"title": STRUCTURES, "panels": st.lists(BODIES | STRUCTURES)},
    optional={"templating": STRUCTURES, "tags": STRUCTURES, "meta": STRUCTURES},
)

Reader = Callable[[SourceFile], Found]
OF_YAML: dict[str, Reader] = {
    "compose": lambda file: read_compose([file], {".env": file.text}),
    "rules": lambda file: read_rules([file], NAMES, ["till/books.md", file.path]).found,
    "manifests": lambda file: read_manifests([file]),
}
OF_JSON: dict[str, Reader] = {
    "dashboard": lambda file: read_dashboard(file, NAMES),
    "releases": lambda file: read_releases(file, "till", NAMES),
}
OF_TEXT: dict[str, Reader] = {
    "codeowners": lambda file: read_codeowners([SourceFile("CODEOWNERS", file.text)], NAMES, {}),
    "tags": lambda file: read_tags(file.text, "till", NAMES),
}
READERS = OF_YAML | OF_JSON | OF_TEXT


def check_writable(found: Found) -> None:
    facts = Facts("test", datetime(2026, 1, 1, tzinfo=UTC), tuple(found.nodes), tuple(found.edges))
    run = Run([facts])
    fact_keys(run)
    nodes = decide_nodes("tenant", run, {}, {})
    for line in decide_edges("tenant", run, nodes, {}).dangling:
        assert not line.endswith("(itself)")
    for path, reason in found.failures:
        assert path
        assert reason
        assert "\n" not in reason


@pytest.mark.parametrize("reader", OF_YAML.values(), ids=OF_YAML)
@given(structure=STRUCTURES | COMPOSE | RULES | MANIFESTS)
@settings(max_examples=80, deadline=None)
def test_any_yaml_structure_is_read(reader: Reader, structure: object) -> None:
    check_writable(reader(SourceFile(PATH, yaml.safe_dump(structure, allow_unicode=True))))


@pytest.mark.parametrize("reader", OF_JSON.values(), ids=OF_JSON)
@given(structure=STRUCTURES | DASHBOARDS | st.lists(BODIES))
@settings(max_examples=60, deadline=None)
def test_any_json_structure_is_read(reader: Reader, structure: object) -> None:
    check_writable(reader(SourceFile(PATH, json.dumps(structure, default=str))))


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@given(pieces=st.lists(WORDS | st.sampled_from(list(':\n -{}[]"#\x1f@/*&')) | st.text(max_size=4)))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read(reader: Reader, pieces: list[str]) -> None:
    check_writable(reader(SourceFile(PATH, "".join(pieces))))


@given(st.lists(st.dictionaries(WORDS, STRUCTURES), max_size=5))
@settings(max_examples=40, deadline=None)
def test_any_rows_are_read(rows: list[dict[str, object]]) -> None:
    check_writable(read_service_graph(rows))


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    "text",
    [
        "services:\n" + "  ? " * 3_000 + "x",
        "services: &a {till: *a}\ngroups: &b [*b]\nalert: x\nkind: List\napiVersion: v1\nitems: &c [*c]\n",
        "services: &a {till: &t {depends_on: *t, environment: *t, <<: *t, networks: *t}}\n",
        "kind: List\napiVersion: v1\nitems: [" + "{}," * 50_000 + "]\n",
        "groups:\n" + "- rules:\n  - alert: A\n" * 20_000,
        "groups:" * 200_000,
        "services:\n" * 100_000,
        "kind: " + "x" * 1_000_000 + "List",
        '{"panels": ' * 900 + "1" + "}" * 900,
        "---\nkind: Service\n" * 10_000,
    ],
    ids=range(10),
)
def test_what_is_huge_or_holds_itself_is_read(reader: Reader, text: str) -> None:
    check_writable(reader(SourceFile(PATH, text)))
