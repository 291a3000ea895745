"""Makes facts of an organisation's pages: runbooks, past incidents, releases and other documents."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from graphrag.identity import name_key, name_words
from graphrag.ingest.chunk import Passage, passages_of
from graphrag.ingest.folder import Failure, SourceFile
from graphrag.ingest.page import Page, read_page
from graphrag.ingest.postmortem import INCIDENT_WORDS, INDEX_PAGES, Known, read_story, tells_when
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.html_pages import read_html
from graphrag.ingest.summarise import document_summary, release_summary
from graphrag.ingest.yaml_documents import as_text, as_texts
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, PropertyValue, Ref

_MAX_STEPS = 900
_SENTENCE_END = re.compile(r"(?<=[^.]\w[.!?])\s+(?=[A-Z])")
_MAX_TITLE = 200


class Kind(StrEnum):
    """What a page is. The value is the word that its summary uses."""

    RUNBOOK = "runbook"
    POSTMORTEM = "past incident"
    RELEASE = "release"
    DOCUMENT = "document"


_WORDS = {
    Kind.RUNBOOK: ("runbook", "runbooks", "playbook", "playbooks"),
    Kind.POSTMORTEM: INCIDENT_WORDS,
    Kind.RELEASE: ("release", "releases"),
    Kind.DOCUMENT: ("doc", "document", "documentation", "guide"),
}
_KIND_OF_WORD = {word: kind for kind, words in _WORDS.items() for word in words}
_SEGMENTS = {word: kind for word, kind in _KIND_OF_WORD.items() if kind is not Kind.DOCUMENT}
_RUNBOOK_TITLE = re.compile(r"\b(runbook|playbook|troubleshoot\w*|alerts?|how to|recover\w*)\b", re.IGNORECASE)
_RUNBOOK_HEADING = re.compile(
    r"\b(symptoms?|mitigat\w+|resolution|remediat\w+|troubleshoot\w*|diagnos\w+|procedure|roll ?back|steps)\b",
    re.IGNORECASE,
)
_POSTMORTEM_HEADING = re.compile(r"\b(root cause|timeline|impact|lessons learned|what went wrong)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Document:
    """A page as read, before it is known what it is called in the graph."""

    path: str
    kind: Kind
    page: Page
    title: str

    @property
    def label(self) -> Label:
        return _LABELS[self.kind]

    @property
    def passages(self) -> list[Passage]:
        """What is kept of it piece by piece. A release is its note already."""
        return [] if self.kind is Kind.RELEASE else passages_of(self.page.body)


_LABELS = {
    Kind.RUNBOOK: Label.RUNBOOK,
    Kind.POSTMORTEM: Label.INCIDENT,
    Kind.RELEASE: Label.RELEASE,
    Kind.DOCUMENT: Label.DOC,
}


def read_document(file: SourceFile, folder_name: str, *, is_runbook: bool) -> tuple[Document, list[Failure]]:
    """A page, and what was left out of it. With `is_runbook` something else calls it one, whatever it looks like.

    Raises `BrokenYaml` when its front matter cannot be read.
    """
    failures: list[Failure] = []
    if file.is_html:
        file, failures = read_html(file)
    page = read_page(file.text)
    kind = Kind.RUNBOOK if is_runbook else kind_of(page, f"{folder_name}/{file.path}")
    stem = file.path.rpartition("/")[2].rpartition(".")[0]
    title = (page.title or " ".join(name_words(stem)) or stem)[:_MAX_TITLE]
    return Document(file.path, kind, page, title), failures


def document_facts(
    document: Document,
    name: str,
    services: Mapping[str, str],
    runbook_of: Sequence[str],
    incidents: Mapping[str, str],
    teams: Mapping[str, str],
) -> Found:
    """What a page says by its place, its front matter and its outline, under `name`.

    `services` and `teams`: key of a name -> the service or team it means. `runbook_of`: the services whose runbook
    others say it is. `incidents`: path -> name of the past incidents that are known so far.
    """
    found = Found()
    if document.kind is Kind.RELEASE:
        _add_release(found, document, services)
    elif document.kind is Kind.POSTMORTEM:
        titles = {name_key(title): title for title in incidents.values()}
        _add_incident(found, document, name, Known(services, teams, incidents, titles))
    else:
        _add_page(found, document, name, _linked_services(document, services, runbook_of))
    return found


def incident_name(document: Document, taken: Container[str]) -> str:
    """An incident is called by its title, and with its path beside it where another has that title."""
    key = name_key(document.title)
    return document.title if key and key not in taken else f"{document.title} ({document.path})"


def page_name(path: str, folder_name: str, taken: Container[str]) -> str:
    """A page is called by its path, with the folder before it where another folder has the same path."""
    return path if name_key(path) not in taken else f"{folder_name}/{path}"


def kind_of(page: Page, path: str) -> Kind:
    """What the page says it is, else what its folders say, nearest first, else what it looks like."""
    for key in ("kind", "type"):
        told = _KIND_OF_WORD.get(as_text(page.front.get(key)).lower().replace(" ", "-"))
        if told:
            return told
    *folders, file = path.lower().split("/")
    placed = next((_SEGMENTS[folder] for folder in reversed(folders) if folder in _SEGMENTS), None)
    if placed is Kind.RUNBOOK:
        return placed
    looks = _looks_like(page, path)
    if placed is Kind.POSTMORTEM and file.partition(".")[0] not in INDEX_PAGES:
        # What to do in an incident lies in such a folder too. It instructs, and tells of no day.
        return looks if looks is Kind.RUNBOOK and not tells_when(page, path) else placed
    return looks


def _looks_like(page: Page, path: str) -> Kind:
    """A page under `releases/` that names no service and version speaks of releasing; it is no release."""
    if _services_in(page) and as_text(page.front.get("version")):
        return Kind.RELEASE
    if sum(bool(_POSTMORTEM_HEADING.search(heading)) for heading in page.headings) >= 2:
        return Kind.POSTMORTEM if tells_when(page, path) else Kind.DOCUMENT
    named = f"{page.title} {' '.join(name_words(path.rpartition('/')[2]))}"
    instructs = len(page.steps) >= 3 or page.has_code
    if _RUNBOOK_TITLE.search(named) or any(_RUNBOOK_HEADING.search(heading) for heading in page.headings):
        return Kind.RUNBOOK if instructs or len(page.bullets) >= 3 else Kind.DOCUMENT
    return Kind.RUNBOOK if len(page.steps) >= 3 and page.has_code else Kind.DOCUMENT


def _first(page: Page, *keys: str) -> object:
    return next((value for key in keys if (value := page.front.get(key))), None)


def _named(texts: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if name_key(text))


def _services_in(page: Page) -> tuple[str, ...]:
    values = (page.front.get(key) for key in ("service", "services", "affected"))
    return tuple(dict.fromkeys(name for value in values for name in _named(as_texts(value))))


def _canonical(page: Page, services: Mapping[str, str]) -> tuple[str, ...]:
    """The services that the front matter names, by their own names where they are known."""
    return tuple(dict.fromkeys(services.get(name_key(name), name) for name in _services_in(page)))


def _linked_services(each: Document, services: Mapping[str, str], runbook_of: Sequence[str]) -> tuple[str, ...]:
    """The services a page is about: by its front matter, by the catalogue, and by the names in its path."""
    *folders, file = each.path.split("/")
    in_path = (services.get(name_key(part)) for part in (*folders, file.rpartition(".")[0]))
    told = (*_canonical(each.page, services), *runbook_of)
    return tuple(dict.fromkeys((*told, *(name for name in in_path if name))))


def _add_page(found: Found, each: Document, name: str, services: Sequence[str]) -> None:
    label, type = (
        (Label.RUNBOOK, EdgeType.HAS_RUNBOOK) if each.kind is Kind.RUNBOOK else (Label.DOC, EdgeType.DOCUMENTED_IN)
    )
    properties: dict[str, PropertyValue] = {"path": each.path, "title": each.title}
    if url := as_text(each.page.front.get("url")):
        properties["url"] = url
    if each.kind is Kind.RUNBOOK and (steps := steps_summary(each.page)):
        properties["steps_summary"] = steps
    found.nodes.append(NodeFact(label, name, _summary(each, services), properties=properties))
    found.edges += (EdgeFact(type, Ref(Label.SERVICE, service), Ref(label, name)) for service in services)


def _summary(each: Document, services: Sequence[str]) -> str:
    page = each.page
    sentences = page.prose or " ".join(page.steps or page.bullets)
    return document_summary(each.kind.value, each.title, each.path, services, sentences, page.headings)


def steps_summary(page: Page) -> str:
    """The first sentence of each step, in one line: of the numbered items, else the bullets, else the sections."""
    items = page.steps or page.bullets or page.headings
    sentences = (_SENTENCE_END.split(item, maxsplit=1)[0].rstrip(".:") for item in items)
    text = " ".join(f"{number}. {sentence}." for number, sentence in enumerate(sentences, 1))
    return text if len(text) <= _MAX_STEPS else f"{text[: _MAX_STEPS - 1].rstrip()}…"


def _add_incident(found: Found, each: Document, name: str, known: Known) -> None:
    story = read_story(each.page, each.path, known)
    found.failures += ((each.path, sentence) for sentence in story.unread)
    optional = {
        "started_at": story.started_at.isoformat() if story.started_at else "",
        "resolved_at": story.resolved_at.isoformat() if story.resolved_at else "",
        "severity": story.severity,
        "url": as_text(each.page.front.get("url")),
    }
    told = {key: value for key, value in optional.items() if value}
    properties: dict[str, PropertyValue] = {"path": each.path, "title": each.title, "status": "resolved", **told}
    found.nodes.append(NodeFact(Label.INCIDENT, name, _summary(each, story.services), properties=properties))
    here = Ref(Label.INCIDENT, name)
    for type, label, others in (
        (EdgeType.AFFECTED, Label.SERVICE, story.services),
        (EdgeType.RESPONDED_BY, Label.TEAM, story.teams),
        (EdgeType.RELATED_TO, Label.INCIDENT, story.related),
        (EdgeType.INTRODUCED_BY, Label.RELEASE, story.releases),
    ):
        found.edges += (EdgeFact(type, here, Ref(label, other)) for other in others)


def _add_release(found: Found, each: Document, services_known: Mapping[str, str]) -> None:
    page = each.page
    version, author = as_text(page.front.get("version")), as_text(page.front.get("author"))
    services = _canonical(page, services_known)
    if not services or not version:
        found.failures.append((each.path, "is a release, but its front matter has no service or no version"))
        return
    released_at = _time(found, each.path, "released_at", as_text(_first(page, "released_at", "date")))
    optional = {"released_at": released_at, "author": author, "url": as_text(page.front.get("url"))}
    properties = {"version": version, "path": each.path} | {key: value for key, value in optional.items() if value}
    notes = " ".join((page.prose, *page.bullets))
    for service in services:
        name = f"{service} {version}"
        summary = release_summary(service, version, released_at, author, notes)
        found.nodes.append(NodeFact(Label.RELEASE, name, summary, properties=properties))
        found.edges.append(EdgeFact(EdgeType.INTRODUCED_BY, Ref(Label.SERVICE, service), Ref(Label.RELEASE, name)))


def _time(found: Found, path: str, key: str, text: str) -> str:
    """The moment in ISO 8601 and UTC; a time without a zone is taken as UTC. Empty, with a failure, if it is none."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        found.failures.append((path, f"{key} is no ISO 8601 time ({text[:40]}); the rest was taken"))
        return ""
