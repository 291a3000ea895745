"""Makes facts of an organisation's pages: runbooks, past incidents, releases and other documents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from graphrag.identity import name_key, name_words
from graphrag.ingest.chunk import passages_of
from graphrag.ingest.folder import Failure, SourceFile
from graphrag.ingest.page import Page, plain, read_page
from graphrag.ingest.summarise import document_summary, release_summary
from graphrag.ingest.yaml_documents import BrokenYaml, as_text, as_texts
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, PropertyValue, Ref

_MAX_STEPS = 900
_SENTENCE_END = re.compile(r"(?<=[^.]\w[.!?])\s+(?=[A-Z])")
_INDEX = ("readme", "index")
_MAX_TITLE = 200


class Kind(StrEnum):
    """What a page is. The value is the word that its summary uses."""

    RUNBOOK = "runbook"
    POSTMORTEM = "past incident"
    RELEASE = "release"
    DOCUMENT = "document"


_WORDS = {
    Kind.RUNBOOK: ("runbook", "runbooks", "playbook", "playbooks"),
    Kind.POSTMORTEM: ("postmortem", "postmortems", "post-mortem", "post-mortems", "incident", "incidents"),
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


@dataclass(slots=True)
class Documents:
    """What the pages say so far."""

    nodes: list[NodeFact] = field(default_factory=list[NodeFact])
    edges: list[EdgeFact] = field(default_factory=list[EdgeFact])
    failures: list[Failure] = field(default_factory=list[Failure])


@dataclass(frozen=True, slots=True)
class _Read:
    path: str
    kind: Kind
    page: Page
    title: str


def read_documents(
    files: Sequence[SourceFile],
    folder_name: str,
    services: Mapping[str, str],
    runbook_pages: Mapping[str, Sequence[str]],
    taken: set[str],
) -> Documents:
    """The facts of a folder's pages.

    `services`: key of a name -> the service it means. `runbook_pages`: path -> the services whose runbook the
    catalogue says it is. `taken`: keys of the page names of earlier folders, added to here.
    """
    found = Documents()
    pages = _unique(_read_all(files, folder_name, runbook_pages, found), found)
    incidents = _incident_names([each for each in pages if each.kind is Kind.POSTMORTEM])
    for each in pages:
        if each.kind is Kind.RELEASE:
            _add_release(found, each, services)
        elif each.kind is Kind.POSTMORTEM:
            _add_incident(found, each, incidents, services)
        else:
            _add_page(
                found, each, _untaken(each.path, folder_name, taken), _linked_services(each, services, runbook_pages)
            )
    return found


def _read_all(
    files: Sequence[SourceFile], folder_name: str, runbook_pages: Mapping[str, Sequence[str]], found: Documents
) -> list[_Read]:
    pages: list[_Read] = []
    for file in files:
        try:
            page = read_page(file.text)
        except BrokenYaml as error:
            found.failures.append((file.path, f"front matter: {error}"))
            continue
        kind = Kind.RUNBOOK if file.path in runbook_pages else kind_of(page, f"{folder_name}/{file.path}")
        stem = file.path.rpartition("/")[2].rpartition(".")[0]
        pages.append(_Read(file.path, kind, page, (page.title or " ".join(name_words(stem)) or stem)[:_MAX_TITLE]))
    return pages


def _unique(pages: Sequence[_Read], found: Documents) -> list[_Read]:
    """Pages are named by their path; paths that differ in separators only would become one thing."""
    first: dict[str, _Read] = {}
    for each in pages:
        known = first.setdefault(name_key(each.path), each)
        if known is not each:
            found.failures.append((each.path, f"has the same name as {known.path} but for separators or case"))
    return list(first.values())


def _untaken(path: str, folder_name: str, taken: set[str]) -> str:
    """The page's name: its path, with the folder before it where an earlier folder has the same path."""
    name = path if name_key(path) not in taken else f"{folder_name}/{path}"
    taken.add(name_key(name))
    return name


def kind_of(page: Page, path: str) -> Kind:
    """What the page says it is, else what its folders say, nearest first, else what it looks like."""
    for key in ("kind", "type"):
        told = _KIND_OF_WORD.get(as_text(page.front.get(key)).lower().replace(" ", "-"))
        if told:
            return told
    *folders, file = path.lower().split("/")
    placed = next((_SEGMENTS[folder] for folder in reversed(folders) if folder in _SEGMENTS), None)
    if placed is Kind.RUNBOOK or (placed is Kind.POSTMORTEM and file.partition(".")[0] not in _INDEX):
        return placed
    return _looks_like(page, path)


def _looks_like(page: Page, path: str) -> Kind:
    """A page under `releases/` that names no service and version speaks of releasing; it is no release."""
    if _services_in(page) and as_text(page.front.get("version")):
        return Kind.RELEASE
    if sum(bool(_POSTMORTEM_HEADING.search(heading)) for heading in page.headings) >= 2:
        return Kind.POSTMORTEM if as_text(_first(page, *_STARTED)) else Kind.DOCUMENT
    named = f"{page.title} {' '.join(name_words(path.rpartition('/')[2]))}"
    instructs = len(page.steps) >= 3 or page.has_code
    if _RUNBOOK_TITLE.search(named) or any(_RUNBOOK_HEADING.search(heading) for heading in page.headings):
        return Kind.RUNBOOK if instructs or len(page.bullets) >= 3 else Kind.DOCUMENT
    return Kind.RUNBOOK if len(page.steps) >= 3 and page.has_code else Kind.DOCUMENT


_STARTED = ("started_at", "started", "start", "date")
_RESOLVED = ("resolved_at", "resolved", "ended_at", "end")


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


def _linked_services(
    each: _Read, services: Mapping[str, str], runbook_pages: Mapping[str, Sequence[str]]
) -> tuple[str, ...]:
    """The services a page is about: by its front matter, by the catalogue, and by the names in its path."""
    *folders, file = each.path.split("/")
    in_path = (services.get(name_key(part)) for part in (*folders, file.rpartition(".")[0]))
    told = (*_canonical(each.page, services), *runbook_pages.get(each.path, ()))
    return tuple(dict.fromkeys((*told, *(name for name in in_path if name))))


def _add_page(found: Documents, each: _Read, name: str, services: Sequence[str]) -> None:
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
    _add_chunks(found, each, Ref(label, name))


def _add_chunks(found: Documents, each: _Read, page: Ref) -> None:
    """A chunk a passage: its summary is what the searches see, its text what is shown."""
    for passage in passages_of(each.page.body):
        name = f"{page.name}#{passage.ordinal}"
        above = " > ".join((each.title, *passage.headings))
        properties: dict[str, PropertyValue] = {
            "source": page.name,
            "ordinal": passage.ordinal,
            "text": passage.text,
            "hash": passage.digest,
        }
        found.nodes.append(NodeFact(Label.CHUNK, name, f"{above}: {plain(passage.text)}", properties=properties))
        found.edges.append(EdgeFact(EdgeType.MENTIONS, Ref(Label.CHUNK, name), page))


def _summary(each: _Read, services: Sequence[str]) -> str:
    page = each.page
    sentences = page.prose or " ".join(page.steps or page.bullets)
    return document_summary(each.kind.value, each.title, each.path, services, sentences, page.headings)


def steps_summary(page: Page) -> str:
    """The first sentence of each step, in one line: of the numbered items, else the bullets, else the sections."""
    items = page.steps or page.bullets or page.headings
    sentences = (_SENTENCE_END.split(item, maxsplit=1)[0].rstrip(".:") for item in items)
    text = " ".join(f"{number}. {sentence}." for number, sentence in enumerate(sentences, 1))
    return text if len(text) <= _MAX_STEPS else f"{text[: _MAX_STEPS - 1].rstrip()}…"


def _incident_names(pages: Sequence[_Read]) -> dict[str, str]:
    """Path -> the incident's name: its title, and its path beside it where another has the same title."""
    count = Counter(name_key(each.title) for each in pages)
    return {
        each.path: each.title
        if name_key(each.title) and count[name_key(each.title)] == 1
        else f"{each.title} ({each.path})"
        for each in pages
    }


def _add_incident(found: Documents, each: _Read, names: Mapping[str, str], services_known: Mapping[str, str]) -> None:
    page, name = each.page, names[each.path]
    properties: dict[str, PropertyValue] = {"path": each.path, "title": each.title, "status": "resolved"}
    for key, spellings in (("started_at", _STARTED), ("resolved_at", _RESOLVED)):
        if time := _time(found, each.path, key, as_text(_first(page, *spellings))):
            properties[key] = time
    for key in ("severity", "url"):
        if text := as_text(page.front.get(key)):
            properties[key] = text
    here = Ref(Label.INCIDENT, name)
    services = _canonical(page, services_known)
    teams = _named(as_texts(_first(page, "responders", "responded_by", "teams", "team")))
    related = _named(as_texts(_first(page, "related", "related_to")))
    releases = _named(as_texts(_first(page, "introduced_by", "release")))
    found.nodes.append(NodeFact(Label.INCIDENT, name, _summary(each, services), properties=properties))
    _add_chunks(found, each, here)
    found.edges += (EdgeFact(EdgeType.AFFECTED, here, Ref(Label.SERVICE, service)) for service in services)
    found.edges += (EdgeFact(EdgeType.RESPONDED_BY, here, Ref(Label.TEAM, team)) for team in teams)
    found.edges += (
        EdgeFact(EdgeType.RELATED_TO, here, Ref(Label.INCIDENT, names.get(other, other))) for other in related
    )
    found.edges += (EdgeFact(EdgeType.INTRODUCED_BY, here, Ref(Label.RELEASE, release)) for release in releases)


def _add_release(found: Documents, each: _Read, services_known: Mapping[str, str]) -> None:
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


def _time(found: Documents, path: str, key: str, text: str) -> str:
    """The moment in ISO 8601 and UTC; a time without a zone is taken as UTC. Empty, with a failure, if it is none."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        found.failures.append((path, f"{key} is no ISO 8601 time ({text[:40]}); the rest was taken"))
        return ""
