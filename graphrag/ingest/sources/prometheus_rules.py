"""Makes facts of Prometheus rule files and PrometheusRule manifests: alerts, their runbooks and what they fire on."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import cast

import promql_parser as promql

from graphrag.identity import name_key
from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.found import Found, as_list, as_name, kind_of, shown, yaml_mappings
from graphrag.ingest.sources.matchers import is_service_label, matchers_of, services_named
from graphrag.ingest.sources.page_links import PageLinks
from graphrag.ingest.yaml_documents import as_mapping, as_text
from graphrag.label_keys import Use, Uses
from graphrag.label_uses import uses_of, values_by_key
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, PropertyValue, Ref

_GROUPS = re.compile(r"""\bgroups["']?\s*:""")
_RULE = re.compile(r"""\b(?:(?:alert|record)["']?\s*:|PrometheusRule\b)""")
_RUNBOOK_ANNOTATIONS = ("runbook_url", "runbook")
_TEXT_ANNOTATIONS = ("summary", "description", "message")
_MAX_PARSED = 4_000
"""The parser recurses: an expression that nests deeper than its stack would end the process."""
_MAX_EXPRESSION = 20_000
_MAX_TEXT = 600
_MAX_LABELS = 100
_STRING = re.compile(r"""("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)""")
_LIKELY = 0.8


@dataclass(slots=True)
class _Alert:
    """All rules of one name together."""

    name: str
    expressions: dict[str, None] = field(default_factory=dict[str, None])
    severities: dict[str, None] = field(default_factory=dict[str, None])
    labels: dict[str, None] = field(default_factory=dict[str, None])
    waits: dict[str, None] = field(default_factory=dict[str, None])
    text: str = ""
    runbooks: dict[str, None] = field(default_factory=dict[str, None])
    services: dict[str, float] = field(default_factory=dict[str, float])
    files: dict[str, None] = field(default_factory=dict[str, None])


@dataclass(slots=True)
class Rules:
    """What rule files say. `runbook_pages` are the folder's pages that a rule calls its runbook: whoever reads the
    pages has to make runbooks of them. `uses` says what the keys of labels are used for; `places` are the paths of the
    rule files, and then of the runbook pages, of each alert by its name."""

    found: Found = field(default_factory=Found)
    runbook_pages: set[str] = field(default_factory=set[str])
    uses: Uses = field(default_factory=dict[str, Use])
    places: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


def read_rules(
    files: Iterable[SourceFile],
    services: Mapping[str, str],
    pages: Collection[str],
    teams: Mapping[str, str] | None = None,
) -> Rules:
    """The alerts of a folder. `services`, `teams`: key of a name -> the service or team it means; `pages`: paths of its
    documents.

    Rules of one name are one alert, in whatever groups and files they are. A rule that fires on a service says so in
    its labels (surely, for `service` even when nobody knows the name) or else in its expression's matchers (likely).
    What each key of a label is used for is learnt from all of them first.
    """
    rules = Rules()
    read = [(file.path, body) for file in files for body in _rules(file, rules.found)]
    said = [(_texts(body.get("labels")).items(), _expression(body.get("expr"))) for _, body in read]
    rules.uses = uses_of(values_by_key(said), services, teams or {})
    alerts: dict[str, _Alert] = {}
    for path, body in read:
        name = as_name(body.get("alert"))
        if not name:
            rules.found.fail(path, f"has an alert whose name cannot be used: {shown(body.get('alert'))}")
            continue
        _take(alerts.setdefault(name_key(name), _Alert(name)), body, services, rules.uses, path, rules.found)
    links = PageLinks(pages)
    for alert in alerts.values():
        _add(rules, alert, links)
    return rules


def _rules(file: SourceFile, found: Found) -> Iterator[dict[str, object]]:
    """The alerting rules of a file; recording rules make no alert. Other YAML may have `groups:` too."""
    documents = yaml_mappings(file, _GROUPS, found) if _RULE.search(file.text) else []
    for line, document in documents:
        groups = document.get("groups")
        if as_text(document.get("kind")) == "PrometheusRule":
            groups = as_mapping(document.get("spec")).get("groups")
        if not isinstance(groups, list):
            found.fail(file.path, f"`groups` of the document on line {line} is {kind_of(groups)}, not a list")
            continue
        for group in as_list(cast("object", groups)):
            listed = as_mapping(group).get("rules")
            if not isinstance(listed, list):
                found.fail(file.path, f"a group of the document on line {line} has no list of rules")
                continue
            for rule in as_list(cast("object", listed)):
                body = as_mapping(rule)
                if "alert" in body:
                    yield body
                elif "record" not in body:
                    found.fail(file.path, f"a rule of the document on line {line} is neither `alert` nor `record`")


def _take(
    alert: _Alert, body: dict[str, object], services: Mapping[str, str], uses: Uses, path: str, found: Found
) -> None:
    expression = _expression(body.get("expr"))
    alert.files[path] = None
    if problem := _problem(expression):
        found.fail(path, f"the expression of {alert.name} {problem}; the alert was taken")
    if expression:
        alert.expressions[expression] = None
    labels = _texts(body.get("labels"))
    annotations = _texts(body.get("annotations"))
    if severity := labels.get("severity"):
        alert.severities[severity] = None
    alert.labels |= {f"{name}={value}": None for name, value in labels.items()}
    if wait := as_text(body.get("for")):
        alert.waits[wait] = None
    alert.text = alert.text or next((text for key in _TEXT_ANNOTATIONS if (text := annotations.get(key))), "")
    runbook = next((text for key in _RUNBOOK_ANNOTATIONS if (text := annotations.get(key))), "")
    if runbook and "{{" not in runbook and name_key(runbook):
        alert.runbooks[runbook] = None
    for service, confidence in _fires_on(labels, expression, services, uses).items():
        alert.services[service] = max(confidence, alert.services.get(service, 0.0))


def _expression(value: object) -> str:
    return value.strip()[:_MAX_EXPRESSION] if isinstance(value, str) else ""


def _problem(expression: str) -> str:
    """What is wrong with an expression, in words; empty when nothing is, or when it is too long to say."""
    if not expression:
        return "is missing"
    if len(expression) > _MAX_PARSED:
        return ""
    try:
        promql.parse(_STRING.sub(_plain_string, expression))
    except (ValueError, RecursionError) as error:
        return f"cannot be parsed ({' '.join(str(error).split())[:100]})"
    return ""


def _plain_string(match: re.Match[str]) -> str:
    """A raw string in backticks as an ordinary one, which is all that the parser takes."""
    text = match.group(0)
    return json.dumps(text[1:-1], ensure_ascii=False) if text.startswith("`") else text


def _texts(value: object) -> dict[str, str]:
    return {key: text for key, item in as_mapping(value).items() if (text := as_text(item))}


def _fires_on(labels: Mapping[str, str], expression: str, services: Mapping[str, str], uses: Uses) -> dict[str, float]:
    if named := services_named(labels.items(), services, uses):
        return dict.fromkeys(named, 1.0)
    told = [name for label, value in labels.items() if is_service_label(label) and (name := as_name(value))]
    if told:
        return dict.fromkeys(told, 1.0)
    return dict.fromkeys(services_named(matchers_of(expression), services, uses), _LIKELY)


def _add(rules: Rules, alert: _Alert, links: PageLinks) -> None:
    here = Ref(Label.ALERT, alert.name)
    properties: dict[str, PropertyValue] = {
        "expression": _joined(alert.expressions),
        "severity": ", ".join(alert.severities),
        "labels": tuple(sorted(alert.labels)[:_MAX_LABELS]),
        "for": ", ".join(alert.waits),
    }
    kept = {key: value for key, value in properties.items() if value}
    found = rules.found
    found.nodes.append(NodeFact(Label.ALERT, alert.name, _summary(alert), properties=kept))
    linked: list[str] = []
    for runbook in alert.runbooks:
        page = links.page_of(runbook)
        if page is not None:
            rules.runbook_pages.add(page)
            linked.append(page)
        else:
            found.nodes.append(_linked(runbook))
        found.edges.append(EdgeFact(EdgeType.HAS_RUNBOOK, here, Ref(Label.RUNBOOK, page or runbook)))
    rules.places[alert.name] = (*alert.files, *linked)
    found.edges += (
        EdgeFact(EdgeType.FIRES_ON, here, Ref(Label.SERVICE, service), confidence=confidence)
        for service, confidence in alert.services.items()
    )


def _joined(expressions: Iterable[str]) -> str:
    """One expression that holds whenever one of them does, of as many as there is room for."""
    kept: list[str] = []
    room = _MAX_EXPRESSION
    for expression in expressions:
        room -= len(expression)
        if room >= 0:
            kept.append(expression)
    if len(kept) < 2:
        return "".join(kept)
    # A comment at the end of an expression would swallow the parenthesis.
    return "\nor\n".join(f"({each}\n)" if "#" in each else f"({each})" for each in kept)


def _linked(target: str) -> NodeFact:
    place = "url" if "://" in target else "path"
    return NodeFact(Label.RUNBOOK, target, f"Runbook: {target}", properties={place: target, "title": target})


def _summary(alert: _Alert) -> str:
    on = f" Fires on {', '.join(alert.services)}." if alert.services else ""
    severity = f" of severity {', '.join(alert.severities)}" if alert.severities else ""
    text = f" {alert.text[:_MAX_TEXT]}" if alert.text else ""
    return f"Alert {alert.name}{severity}.{on}{text}"
