"""Makes facts of Kubernetes manifests: what runs, by which names it is reached, and whom its settings name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from graphrag.identity import name_key
from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.found import Dependencies, Found, as_list, as_name, shown, yaml_mappings
from graphrag.ingest.sources.hosts import MAX_VALUE, named_hosts
from graphrag.ingest.summarise import service_summary
from graphrag.ingest.yaml_documents import as_mapping, as_text
from graphrag.model import Label, NodeFact, PropertyValue

_LOOKS_LIKE_ONE = re.compile(
    r"""\bkind["']?\s*:\s*["']?(?:Deployment|StatefulSet|DaemonSet|CronJob|Job|Service|(?:\w+)?List)\b"""
)
_WORKLOADS = frozenset({"Deployment", "StatefulSet", "DaemonSet", "CronJob", "Job"})
_NAME_LABELS = ("app.kubernetes.io/name", "app")
_REFERENCE = re.compile(r"\$\(([\w.-]{1,200})\)")
_MAX_ITEMS = 5_000
_NAMED_AS_HOST = 0.7


@dataclass(slots=True)
class _Workload:
    kind: str
    name: str
    namespace: str
    labels: frozenset[tuple[str, str]]
    other_names: tuple[str, ...]
    hosts: list[str] = field(default_factory=list[str])
    images: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class _Front:
    """A Service object: a name in the cluster's DNS, and the labels of the pods behind it."""

    name: str
    namespace: str
    selector: frozenset[tuple[str, str]]

    def leads_to(self, workload: _Workload) -> bool:
        return self.selector <= workload.labels and _together(self.namespace, workload.namespace)


def read_manifests(files: Iterable[SourceFile]) -> Found:
    """The workloads of a folder. One name in several namespaces is one service, as everywhere in the graph.

    A Service object's name and the application labels become other names of the workload, where they are of one
    only. A host in a container's environment that is such a name is a likely dependency; one that ends in `.svc` is
    kept even when nothing here has its name.
    """
    found = Found()
    workloads: list[_Workload] = []
    fronts: list[_Front] = []
    for file in files:
        for body in _objects(file, found):
            kind = as_text(body.get("kind"))
            if kind in _WORKLOADS or kind == "Service":
                metadata = as_mapping(body.get("metadata"))
                name = as_name(metadata.get("name"))
                if not name:
                    found.fail(file.path, f"the {kind} has a name that cannot be used: {shown(metadata.get('name'))}")
                elif kind == "Service":
                    selector = _pairs(as_mapping(body.get("spec")).get("selector"))
                    fronts.append(_Front(name, as_text(metadata.get("namespace")), selector))
                else:
                    workloads.append(_workload(kind, name, metadata, _pod(kind, body)))
    _add(found, workloads, fronts)
    return found


def _objects(file: SourceFile, found: Found) -> Iterator[dict[str, object]]:
    """Each object, those of lists too."""
    for line, document in yaml_mappings(file, _LOOKS_LIKE_ONE, found):
        if not as_text(document.get("apiVersion")):
            continue
        if not as_text(document.get("kind")).endswith("List"):
            yield document
            continue
        items = as_list(document.get("items"))
        if len(items) > _MAX_ITEMS:
            found.fail(file.path, f"the list on line {line} has more than {_MAX_ITEMS:,} items; the rest was not read")
        yield from map(as_mapping, items[:_MAX_ITEMS])


def _pod(kind: str, body: dict[str, object]) -> dict[str, object]:
    """The pod template."""
    spec = as_mapping(body.get("spec"))
    if kind == "CronJob":
        spec = as_mapping(as_mapping(spec.get("jobTemplate")).get("spec"))
    return as_mapping(spec.get("template"))


def _workload(kind: str, name: str, metadata: dict[str, object], pod: dict[str, object]) -> _Workload:
    pod_labels = as_mapping(as_mapping(pod.get("metadata")).get("labels"))
    both = (as_mapping(metadata.get("labels")), pod_labels)
    others = [text for labels in both for key in _NAME_LABELS if (text := as_name(labels.get(key)))]
    spec = as_mapping(pod.get("spec"))
    containers = [as_mapping(item) for key in ("containers", "initContainers") for item in as_list(spec.get(key))]
    workload = _Workload(kind, name, as_text(metadata.get("namespace")), _pairs(pod_labels), tuple(others))
    for container in containers:
        workload.hosts += _hosts(container.get("env"))
    workload.images = [
        text for item in as_list(spec.get("containers")) if (text := as_text(as_mapping(item).get("image")))
    ]
    return workload


def _hosts(value: object) -> list[str]:
    """The hosts in a container's environment, where `$(A)` stands for a variable before it."""
    known: dict[str, str] = {}
    hosts: list[str] = []
    for item in map(as_mapping, as_list(value)):
        name, text = as_text(item.get("name")), as_text(item.get("value"))
        filled = _REFERENCE.sub(lambda match: known.get(match.group(1), match.group(0)), text[:MAX_VALUE])
        known[name] = filled if len(filled) <= MAX_VALUE else ""
        hosts += named_hosts(name, known[name])
    return hosts


def _pairs(value: object) -> frozenset[tuple[str, str]]:
    return frozenset((key, text) for key, item in as_mapping(value).items() if (text := as_text(item)))


def _together(left: str, right: str) -> bool:
    """Manifests often leave the namespace to whoever applies them."""
    return not left or not right or left == right


def _add(found: Found, workloads: Sequence[_Workload], fronts: Sequence[_Front]) -> None:
    behind = _behind(workloads, fronts)
    reach = _reachable(workloads, behind)
    needs = Dependencies()
    for workload in workloads:
        for host in dict.fromkeys(workload.hosts):
            for target in _targets(host, workload.namespace, reach):
                needs.add(workload.name, target, _NAMED_AS_HOST)
    same: dict[str, list[_Workload]] = defaultdict(list)
    for workload in workloads:
        same[name_key(workload.name)].append(workload)
    aliases = _aliases(workloads, behind, same)
    for key, each in same.items():
        properties: dict[str, PropertyValue] = {
            "namespace": ", ".join(dict.fromkeys(workload.namespace for workload in each if workload.namespace)),
            "workload": ", ".join(dict.fromkeys(workload.kind for workload in each)),
            "image": next((image for workload in each for image in workload.images), ""),
        }
        name = each[0].name
        summary = service_summary(name, "service", "", "", needs.of(name))
        kept = {key: value for key, value in properties.items() if value}
        found.nodes.append(NodeFact(Label.SERVICE, name, summary, tuple(aliases[key]), kept))
    found.edges += needs.edges()


def _behind(workloads: Sequence[_Workload], fronts: Sequence[_Front]) -> dict[_Front, list[_Workload]]:
    """Each Service object with the workloads it selects: none, where it has no selector."""
    labelled: dict[tuple[str, str], list[_Workload]] = defaultdict(list)
    for workload in workloads:
        for pair in workload.labels:
            labelled[pair].append(workload)
    return {
        front: [each for each in labelled.get(min(front.selector, default=("", "")), []) if front.leads_to(each)]
        for front in fronts
    }


def _aliases(
    workloads: Sequence[_Workload], behind: Mapping[_Front, list[_Workload]], same: Mapping[str, object]
) -> dict[str, list[str]]:
    """Key of a workload's name -> its other names. A name that two workloads share is neither's."""
    holders: dict[str, dict[str, str]] = defaultdict(dict)
    for workload in workloads:
        for other in workload.other_names:
            holders[name_key(other)].setdefault(name_key(workload.name), other)
    for front, reached in behind.items():
        for workload in reached:
            holders[name_key(front.name)].setdefault(name_key(workload.name), front.name)
    aliases: dict[str, list[str]] = defaultdict(list)
    for other, held in holders.items():
        if len(held) == 1 and other not in same:
            ((holder, spelling),) = held.items()
            aliases[holder].append(spelling)
    return aliases


_Reach = dict[str, list[tuple[str, str]]]
"""Host name -> namespace and workload, of each that may answer to it."""


def _reachable(workloads: Sequence[_Workload], behind: Mapping[_Front, list[_Workload]]) -> _Reach:
    reach: _Reach = defaultdict(list)
    for front, reached in behind.items():
        reach[front.name.lower()] += ((front.namespace or each.namespace, each.name) for each in reached)
    for workload in workloads:
        if workload.name.lower() not in reach:
            reach[workload.name.lower()].append((workload.namespace, workload.name))
    return dict(reach)


def _targets(host: str, namespace: str, reach: _Reach) -> list[str]:
    """The workloads that a host means: `name`, `name.namespace`, `name.namespace.svc` and on."""
    name, _, rest = host.partition(".")
    place, _, rest = rest.partition(".")
    of_cluster = rest == "svc" or rest.startswith("svc.")
    if rest and not of_cluster:
        return []
    answering = reach.get(name, [])
    found = [target for other, target in answering if _together(other, place or namespace)]
    return found or ([name] if of_cluster else [])
