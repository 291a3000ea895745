"""Kubernetes manifests become services, their other names and what they need."""

from __future__ import annotations

import pytest

from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.kubernetes import read_manifests
from graphrag.model import EdgeType


def read(*texts: str) -> Found:
    return read_manifests([SourceFile(f"{number}.yaml", text) for number, text in enumerate(texts)])


def workload(
    name: str, env: str = "[]", *, kind: str = "Deployment", namespace: str = "", labels: str = "", own: str = "{}"
) -> str:
    place = f", namespace: {namespace}" if namespace else ""
    return f"""
apiVersion: apps/v1
kind: {kind}
metadata: {{name: {name}{place}, labels: {own}}}
spec:
  template:
    metadata: {{labels: {{{labels}}}}}
    spec: {{containers: [{{name: main, image: "dock/{name}:1", env: {env}}}]}}
"""


def service(name: str, selector: str, namespace: str = "") -> str:
    place = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}{place}}}\nspec: {{selector: {{{selector}}}}}\n"


def needs(found: Found) -> dict[tuple[str, str], float]:
    assert {edge.type for edge in found.edges} <= {EdgeType.DEPENDS_ON}
    return {(edge.source.name, edge.target.name): edge.confidence for edge in found.edges}


def aliases(found: Found) -> dict[str, tuple[str, ...]]:
    return {node.name: node.aliases for node in found.nodes}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet", "Job"])
def test_a_workload_is_a_service_with_its_namespace(kind: str) -> None:
    (node,) = read(workload("till", kind=kind, namespace="shop")).nodes
    assert node.name == "till"
    assert node.properties == {"namespace": "shop", "workload": kind, "image": "dock/till:1"}


def test_a_cron_job_has_its_pod_a_level_deeper() -> None:
    text = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec: {jobTemplate: {spec: {template: {spec: {containers: [{env: [{name: A, value: "books:1"}]}]}}}}}
"""
    assert needs(read(text, workload("books"))) == {("nightly", "books"): 0.7}


def test_application_labels_are_other_names_unless_two_workloads_share_them() -> None:
    found = read(
        workload("till-v2", own="{app.kubernetes.io/name: till, app: shop}"),
        workload("books", labels="app: shop, other: ledger"),
        workload("scale", labels="app: books"),
    )
    assert aliases(found) == {"till-v2": ("till",), "books": (), "scale": ()}


def test_a_service_object_is_another_name_of_what_it_selects() -> None:
    found = read(
        workload("till-v2", labels="run: till, tier: web"),
        service("checkout", "run: till"),
        service("far", "run: till", "elsewhere"),
        service("nothing", ""),
        workload("a", labels="run: twin"),
        workload("b", labels="run: twin"),
        service("twins", "run: twin"),
    )
    assert aliases(found) == {"till-v2": ("checkout", "far"), "a": (), "b": ()}


def test_a_service_object_selects_in_its_own_namespace() -> None:
    found = read(
        workload("till", labels="run: x", namespace="one"),
        workload("books", labels="run: x", namespace="two"),
        service("front", "run: x", "two"),
    )
    assert aliases(found) == {"till": (), "books": ("front",)}


@pytest.mark.parametrize(
    "host", ["ledger", "ledger.shop", "ledger.shop.svc", "http://ledger.shop.svc.cluster.local:80/x"]
)
def test_a_host_in_the_environment_is_a_likely_dependency(host: str) -> None:
    found = read(
        workload("till", f'[{{name: LEDGER_URL, value: "{host}"}}]', namespace="shop"),
        workload("books", labels="run: books", namespace="shop") + "---\n" + service("ledger", "run: books", "shop"),
    )
    assert needs(found) == {("till", "books"): 0.7}


def test_a_name_in_another_namespace_or_domain_is_another_thing() -> None:
    others = ("books.other:1", "https://books.shop.example", "till:1")
    env = "[" + ", ".join(f"{{name: A, value: '{host}'}}" for host in others) + "]"
    assert needs(read(workload("till", env, namespace="shop"), workload("books", namespace="shop"))) == {}


def test_a_host_of_the_cluster_that_nobody_defines_stays_an_edge() -> None:
    env = '[{name: A, value: "http://nobody.far.svc.cluster.local"}, {name: B, value: "stranger:1"}]'
    assert needs(read(workload("till", env))) == {("till", "nobody"): 0.7}


def test_earlier_variables_are_filled_in() -> None:
    env = '[{name: HOST, value: books}, {name: ADDR, value: "$(HOST)-db:1"}]'
    assert needs(read(workload("till", env), workload("books-db"))) == {("till", "books-db"): 0.7}
    bomb = ", ".join(f'{{name: A{n}, value: "$(A{n - 1})$(A{n - 1})"}}' for n in range(1, 60))
    assert needs(read(workload("till", f"[{{name: A0, value: xx}}, {bomb}]"))) == {}


def test_one_name_in_two_namespaces_is_one_service_with_both() -> None:
    (node,) = read(workload("till", namespace="test"), workload("till", namespace="live")).nodes
    assert node.properties["namespace"] == "test, live"


def test_lists_are_opened_and_other_objects_passed_over() -> None:
    text = """
apiVersion: v1
kind: List
items:
  - {apiVersion: apps/v1, kind: Deployment, metadata: {name: till}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}}
  - 7
---
kind: Deployment
metadata: {name: of-another-tool}
---
apiVersion: v1
kind: Secret
metadata: {name: Service}
"""
    found = read(text)
    assert [node.name for node in found.nodes] == ["till"]
    assert found.failures == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("apiVersion: apps/v1\nkind: Deployment\nmetadata: ]", "broken YAML on line 3"),
        (
            "kind: Deployment\napiVersion: v1\nmetadata: {name: [x]}",
            "the Deployment has a name that cannot be used: a list",
        ),
        ("kind: Service\napiVersion: v1", "the Service has a name that cannot be used: missing"),
        ("kind: Job\napiVersion: v1\nmetadata: {name: '{{ x }}'}", "the Job has a name that cannot be used: '{{ x }}'"),
        ("kind: Job\napiVersion: v1\nmetadata: {name: '${APP}'}", "the Job has a name that cannot be used: '${APP}'"),
        ("- kind: Job\n", "the document on line 1 is a list, not a mapping"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file(text: str, reason: str) -> None:
    ((path, said),) = read(text).failures
    assert path == "0.yaml"
    assert reason in said
