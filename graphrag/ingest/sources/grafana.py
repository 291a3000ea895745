"""Makes facts of Grafana dashboards (their JSON): the dashboard as a document, and the services it is about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from graphrag.identity import name_key, name_words
from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.found import MAX_NAME, Found, as_list, shown
from graphrag.ingest.sources.matchers import matchers_of, services_named
from graphrag.ingest.summarise import document_summary
from graphrag.ingest.yaml_documents import as_mapping, as_text, as_texts
from graphrag.label_keys import NOTHING_LEARNT, Uses
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, PropertyValue, Ref

_LOOKS_LIKE_ONE = re.compile(r'"(?:panels|rows)"\s*:')
_MAX_PANELS = 2_000
_MAX_QUERIES = 5_000
_PART = re.compile(r"\s*[/|:,()\[\]–—]\s*|\s+-\s+")  # noqa: RUF001
_FILLERS = frozenset("dashboard dashboards metrics monitoring overview service services slo slos status".split())
_LIKELY = 0.8


def read_dashboard(file: SourceFile, services: Mapping[str, str], uses: Uses = NOTHING_LEARNT) -> Found:
    """The dashboard of one file, if it is one; other JSON is passed over silently.

    `services`: key of a name -> the service it means. A dashboard is about a service when its title or a tag is that
    name (surely), or a variable or a matcher of its queries is (likely). `uses`: what keys of labels are used for.
    """
    found = Found()
    if not _LOOKS_LIKE_ONE.search(file.text):
        return found
    try:
        value: object = json.loads(file.text)
    except (ValueError, RecursionError) as error:
        found.lose(file.path, f"broken JSON: {str(error)[:100]}")
        return found
    whole = as_mapping(value)
    dashboard = as_mapping(whole.get("dashboard")) or whole
    if not isinstance(dashboard.get("panels", dashboard.get("rows")), list):
        return found
    title = as_text(dashboard.get("title"))[:MAX_NAME]
    if not title:
        found.fail(file.path, f"is a dashboard, but its title is {shown(dashboard.get('title'))}")
        return found
    queries = list(_queries(dashboard, file.path, found))
    about = _about(title, dashboard, queries, services, uses)
    _add(found, file.path, title, dashboard, as_mapping(whole.get("meta")), about)
    return found


def _about(
    title: str, dashboard: dict[str, object], queries: list[str], services: Mapping[str, str], uses: Uses
) -> dict[str, float]:
    named = {services[key]: 1.0 for key in _keys_of_title(title) if key in services}
    for tag in _texts(dashboard.get("tags")):
        for key in (name_key(tag), name_key(re.split(r"[:=]", tag)[-1])):
            if key in services:
                named[services[key]] = 1.0
    matchers = [matcher for query in queries for matcher in matchers_of(query)]
    for service in services_named([*_variables(dashboard), *matchers], services, uses):
        named.setdefault(service, _LIKELY)
    return named


def _keys_of_title(title: str) -> list[str]:
    """The keys of the title and of its parts, each also without words such as `dashboard`."""
    keys: list[str] = []
    for part in (title, *_PART.split(title)):
        words = list(name_words(part))
        keys += (name_key(part), name_key(" ".join(word for word in words if word not in _FILLERS)))
    return [key for key in dict.fromkeys(keys) if key]


def _variables(dashboard: dict[str, object]) -> list[tuple[str, str]]:
    """Each variable with the value it had when the dashboard was saved, and those of a fixed list with all."""
    values: list[tuple[str, str]] = []
    for item in _variable_list(dashboard):
        name = as_text(item.get("name"))
        chosen = as_mapping(item.get("current")).get("value")
        texts = [chosen] if isinstance(chosen, str) else as_list(chosen)
        if as_text(item.get("type")) in ("constant", "custom", "textbox"):
            texts = [*texts, *as_texts(item.get("query"))]
        values += ((name, text) for each in texts if (text := as_text(each)))
    return values


def _variable_list(dashboard: dict[str, object]) -> list[dict[str, object]]:
    return [as_mapping(item) for item in as_list(as_mapping(dashboard.get("templating")).get("list"))]


def _queries(dashboard: dict[str, object], path: str, found: Found) -> Iterator[str]:
    """The query texts of all panels, rows opened up, and of the variables."""
    for item in _variable_list(dashboard):
        query = item.get("query")
        yield as_text(query) or as_text(as_mapping(query).get("query"))
    waiting = [*as_list(dashboard.get("panels")), *as_list(dashboard.get("rows"))]
    panels = queries = 0
    while waiting:
        panel = as_mapping(waiting.pop())
        panels += 1
        if panels > _MAX_PANELS or queries > _MAX_QUERIES:
            found.fail(path, f"has more than {_MAX_PANELS:,} panels or {_MAX_QUERIES:,} queries; not all were read")
            return
        waiting += as_list(panel.get("panels"))
        for target in as_list(panel.get("targets")):
            queries += 1
            yield as_text(as_mapping(target).get("expr"))


def _texts(value: object) -> tuple[str, ...]:
    return tuple(text for item in as_list(value) if 0 < len(text := as_text(item)) <= MAX_NAME)


def _add(
    found: Found,
    path: str,
    title: str,
    dashboard: dict[str, object],
    meta: dict[str, object],
    about: Mapping[str, float],
) -> None:
    properties: dict[str, PropertyValue] = {
        "path": path,
        "title": title,
        "source": "grafana",
        "uid": as_text(dashboard.get("uid")),
        "url": as_text(dashboard.get("url")) or as_text(meta.get("url")),
        "tags": _texts(dashboard.get("tags")),
    }
    panels = [as_mapping(panel) for panel in as_list(dashboard.get("panels"))[:40]]
    headings = list(dict.fromkeys(text for panel in panels if (text := as_text(panel.get("title")))))
    summary = document_summary("dashboard", title, path, list(about), as_text(dashboard.get("description")), headings)
    kept = {key: value for key, value in properties.items() if value}
    found.nodes.append(NodeFact(Label.DOC, path, summary, properties=kept))
    found.edges += (
        EdgeFact(EdgeType.DOCUMENTED_IN, Ref(Label.SERVICE, service), Ref(Label.DOC, path), confidence=confidence)
        for service, confidence in about.items()
    )
