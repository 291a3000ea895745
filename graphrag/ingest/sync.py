"""Brings a tenant's graph up to date with folders, at the price of what has changed.

A folder's structured files are one source, `folder:NAME`; each page is a source of its own, `page:NAME/PATH`, so that a
page that changes or goes touches nobody else's facts. A file that is as it was costs its digest, and its facts are
confirmed without being read again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from graphrag.identity import name_key
from graphrag.ingest.chunk import Passage, chunk_facts, chunk_name
from graphrag.ingest.documents import Document, document_facts, incident_name, page_name, read_document
from graphrag.ingest.extract import Cut, extract
from graphrag.ingest.folder import Failure, Folder, SourceFile, is_page
from graphrag.ingest.hearsay import as_said, settled
from graphrag.ingest.ledger import (
    Ledger,
    PageRead,
    StatedRead,
    known_folders,
    load_ledger,
    remember_folders,
    save_ledger,
)
from graphrag.ingest.record import keep_progress
from graphrag.ingest.report import Progress, Tally, Tell
from graphrag.ingest.sources.git_history import list_tags
from graphrag.ingest.stated import Known, Stated, read_stated
from graphrag.ingest.summarise import summarised
from graphrag.ingest.vocabulary import Vocabulary
from graphrag.ingest.yaml_documents import BrokenYaml
from graphrag.model import Facts, Label, Node, Ref, node_id
from graphrag.store import GraphStore
from graphrag.writing import sentence

PAGES_AT_ONCE = 64
"""Pages that are read, written and noted in the ledger together: what a run that is killed may have to do again."""
_FOLDER, _PAGE = "folder:", "page:"


@dataclass(slots=True)
class _Visit:
    """One folder in one run.

    `known` and `tags` are what its structured `files` are read with. `names`: path -> what the page is called in the
    graph, if it is no incident; `moved`: path -> how the page was read where it was before; `incidents`: path -> name
    of those read so far.
    """

    folder: Folder
    name: str
    ledger: Ledger
    paths: list[str]
    files: list[SourceFile]
    known: Known = field(default_factory=Known)
    tags: str = ""
    tag_failures: list[Failure] = field(default_factory=list[Failure])
    names: dict[str, str] = field(default_factory=dict[str, str])
    moved: dict[str, PageRead] = field(default_factory=dict[str, PageRead])
    incidents: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def pages(self) -> list[str]:
        return [path for path in self.paths if is_page(path)]

    @property
    def source(self) -> str:
        return f"{_FOLDER}{self.name}"

    def page_source(self, path: str) -> str:
        return f"{_PAGE}{self.name}/{path}"


class LiveFacts(Protocol):
    """What live systems said, a part each, and which of them could not be asked."""

    @property
    def parts(self) -> Sequence[Facts]: ...
    @property
    def failures(self) -> Sequence[Failure]: ...


class Live(Protocol):
    """The systems that know what the folders do not say."""

    async def read(self, services: Sequence[Node], teams: Sequence[Node], now: datetime) -> LiveFacts: ...


@dataclass(frozen=True, slots=True)
class _Part:
    """A page's facts, and what the ledger says of it once they are written."""

    path: str
    facts: Facts
    read: PageRead


class Sync:
    """One run over some folders. `resumed`: the last run did not end, so the ledger may be behind the graph."""

    def __init__(self, store: GraphStore, tenant: str, now: datetime, tell: Tell, *, resumed: bool) -> None:
        self.tally = Tally()
        self._store = store
        self._tenant = tenant
        self._now = now
        self._tell = tell
        self._resumed = resumed
        self._services: dict[str, str] = {}
        self._teams: dict[str, str] = {}
        self._taken: set[tuple[str, str]] = set()
        self._vocabulary = Vocabulary()
        self._settled: set[str] = set()
        self._names_digest = ""

    async def run(self, folders: Sequence[Path], live: Live | None = None) -> None:
        """Read the folders, then ask `live` about what they named."""
        visits = await self._visits(folders)
        confirmed = [source for visit in visits for source in await self._state(visit)]
        await asyncio.to_thread(self._learn_names, visits)
        for visit in visits:
            confirmed += await self._pages(visit)
            await self._close_gone(visit)
        if live is not None:
            await self._ask(live)
        if confirmed:
            self.tally.confirmed += await self._store.confirm(self._tenant, confirmed, self._now)
        if self.tally.added:
            for visit in visits:
                await self._resolve_dangling(visit)
        for visit in visits:
            self._report(visit)
        await remember_folders(self._store, self._tenant, [visit.name for visit in visits])

    async def _visits(self, folders: Sequence[Path]) -> list[_Visit]:
        """The folders, those with a catalogue first, so that its names are known when the others are read."""
        resolved = list(dict.fromkeys(folder.resolve() for folder in folders))
        count = Counter(folder.name for folder in resolved)
        names = {path: path.name if count[path.name] == 1 else "/".join(path.parts[-2:]) for path in resolved}
        visits = [await self._visit(path, name) for path, name in names.items()]
        visits.sort(key=lambda visit: not any("backstage.io/" in file.text for file in visit.files))
        await self._know_others([visit.name for visit in visits])
        for visit in visits:
            await asyncio.to_thread(self._name_pages, visit)
        return visits

    async def _visit(self, path: Path, name: str) -> _Visit:
        folder = Folder(path)

        def look() -> tuple[list[str], list[SourceFile]]:
            paths = folder.paths()
            files = (folder.read(path) for path in paths if not is_page(path))
            return paths, [file for file in files if file is not None]

        paths, files = await asyncio.to_thread(look)
        ledger = await load_ledger(self._store, self._tenant, name)
        ledger.place = str(folder.root)
        return _Visit(folder, name, ledger, paths, files)

    async def _know_others(self, visited: Collection[str]) -> None:
        """The names that others than the visited folders define, and the page names that they use."""
        for node in await self._store.all_nodes(self._tenant, [Label.SERVICE, Label.TEAM]):
            if _is_defined_elsewhere(node, visited):
                names = self._services if node.label is Label.SERVICE else self._teams
                names |= {name_key(name): node.name for name in (*node.aliases, node.name)}
        for name in await known_folders(self._store, self._tenant):
            if name not in visited:
                ledger = await load_ledger(self._store, self._tenant, name)
                self._taken |= set(ledger.taken())
                self._settled |= set(ledger.stated.settled)

    async def _ask(self, live: Live) -> None:
        """What live systems say is written as they said it; one that did not answer closes nothing."""
        self._tell(Progress("asking live systems", 0, 1))
        nodes = await self._store.all_nodes(self._tenant, [Label.SERVICE, Label.TEAM])
        services = [node for node in nodes if node.label is Label.SERVICE]
        told = await live.read(services, [node for node in nodes if node.label is Label.TEAM], self._now)
        if told.parts:
            report = await self._store.write(self._tenant, *told.parts)
            self.tally.take(report)
            self.tally.leave_unresolved(report.dangling)
        self.tally.failures |= set(told.failures)

    def _learn_names(self, visits: Sequence[_Visit]) -> None:
        """What pages may speak of. Pages can be linked to; but one page more or less has no other read again."""
        self._names_digest = _digest(self._services, self._teams, sorted(self._settled))
        named = [(Label.SERVICE, *each) for each in _spellings(self._services)]
        named += [(Label.TEAM, *each) for each in _spellings(self._teams)]
        for visit in visits:
            for path, name in visit.names.items():
                label = self._label(visit, path)
                if label in (Label.RUNBOOK, Label.DOC):
                    named.append((Label(label), name, [path]))
        self._vocabulary = Vocabulary(named)

    def _label(self, visit: _Visit, path: str) -> str:
        """What a page is. One that nobody has read yet is looked at: links may lead to it from earlier ones."""
        known = visit.ledger.pages.get(path)
        if known is not None:
            return known.label
        if path in visit.ledger.stated.runbook_pages:
            return Label.RUNBOOK
        seen = len(visit.folder.failures)
        file = visit.folder.read(path)
        del visit.folder.failures[seen:]  # told when it is read for good
        try:
            return read_document(file, visit.name, is_runbook=False)[0].label if file is not None else ""
        except BrokenYaml:
            return ""

    # Pages' names -----------------------------------------------------------------------------------------------------

    def _name_pages(self, visit: _Visit) -> None:
        """A page keeps the name it has; one that was moved takes its name along, which its text proves; a new one is
        called by its path."""
        known = visit.ledger.pages
        self._taken |= set(visit.ledger.taken())
        visit.moved = self._moved(visit)
        visit.incidents = visit.ledger.incidents()
        taken = {key for label, key in self._taken if label in (Label.RUNBOOK, Label.DOC)}
        for path in visit.pages:
            before = known.get(path) or visit.moved.get(path)
            if before and before.label not in (Label.INCIDENT, Label.RELEASE):
                visit.names[path] = before.name
            else:
                visit.names[path] = page_name(path, visit.name, taken)
                taken.add(name_key(visit.names[path]))
        self._taken |= {(Label.DOC, key) for key in taken}

    def _moved(self, visit: _Visit) -> dict[str, PageRead]:
        gone = set(visit.ledger.pages) - set(visit.paths)
        if not gone or not visit.folder.complete:
            return {}
        by_content = {visit.ledger.pages[path].content: visit.ledger.pages[path] for path in sorted(gone)}
        moved: dict[str, PageRead] = {}
        for path in visit.pages:
            if path not in visit.ledger.pages and (file := visit.folder.read(path)) is not None:
                read = by_content.pop(file.digest, None)
                if read is not None:
                    moved[path] = read
        return moved

    # Structured files -------------------------------------------------------------------------------------------------

    async def _state(self, visit: _Visit) -> list[str]:
        """Write what the structured files state, and know their names from then on. Returns the source when nothing
        has changed, to be confirmed."""
        visit.tags, visit.tag_failures = await asyncio.to_thread(list_tags, visit.folder.root)
        visit.known = known = Known(dict(self._services), dict(self._teams))
        files = [(file.path, file.digest) for file in visit.files]
        content = _digest(files, visit.names, known.services, known.teams, visit.tags)
        unchanged = visit.ledger.stated.content == content and visit.folder.complete
        if not unchanged:
            await self._write_stated(visit, content)
        self._services |= visit.ledger.stated.services
        self._teams |= visit.ledger.stated.teams
        self._settled |= set(visit.ledger.stated.settled)
        return [visit.source] if unchanged else []

    async def _write_stated(self, visit: _Visit, content: str) -> None:
        stated = await asyncio.to_thread(read_stated, visit.files, visit.names, visit.name, visit.known, visit.tags)
        whole = stated.whole and visit.folder.complete
        facts = Facts(visit.source, self._now, stated.nodes, stated.edges, complete=whole)
        report = await self._store.write(self._tenant, facts)
        self.tally.take(report)
        dangling = (*stated.dangling, *report.dangling)
        visit.ledger.stated = _noted(stated, content if whole else "", dangling, visit.tag_failures)
        await save_ledger(self._store, self._tenant, visit.ledger)

    # Pages ------------------------------------------------------------------------------------------------------------

    async def _pages(self, visit: _Visit) -> list[str]:
        """Read the pages that have changed, batch by batch. Returns the sources that have not, to be confirmed."""
        confirmed: list[str] = []
        pages = visit.pages
        for start in range(0, len(pages), PAGES_AT_ONCE):
            progress = Progress(f"reading {visit.name}", start, len(pages))
            self._tell(progress)
            await keep_progress(self._store, self._tenant, self._now, progress)
            batch = pages[start : start + PAGES_AT_ONCE]
            parts, unchanged = await asyncio.to_thread(self._read_pages, visit, batch, again=False)
            confirmed += (visit.page_source(path) for path in unchanged)
            self.tally.unchanged += len(unchanged)
            self.tally.read += len(parts)
            await self._write_pages(visit, parts)
        self._tell(Progress(f"reading {visit.name}", len(pages), len(pages)))
        return confirmed

    def _read_pages(self, visit: _Visit, paths: Iterable[str], *, again: bool) -> tuple[list[_Part], list[str]]:
        """With `again`, whatever the ledger says."""
        parts: list[_Part] = []
        unchanged: list[str] = []
        for path in paths:
            file = visit.folder.read(path)
            if file is None:
                continue
            known = visit.ledger.pages.get(path)
            context = self._context(visit, path)
            if not again and known and (known.content, known.context) == (file.digest, context):
                unchanged.append(path)
            elif (part := self._read_page(visit, file, context)) is not None:
                parts.append(part)
        return parts, unchanged

    def _context(self, visit: _Visit, path: str) -> str:
        """All that a page's facts depend on beside its text."""
        runbook_of = visit.ledger.stated.runbook_pages.get(path)
        return _digest(visit.names[path], runbook_of, self._names_digest)

    def _read_page(self, visit: _Visit, file: SourceFile, context: str) -> _Part | None:
        runbook_of = visit.ledger.stated.runbook_pages.get(file.path)
        try:
            document, failures = read_document(file, visit.name, is_runbook=runbook_of is not None)
        except BrokenYaml as error:
            visit.folder.failures.append((file.path, f"front matter: {error}"))
            return None
        name = self._name(visit, document)
        found = document_facts(document, name, self._services, runbook_of or (), visit.incidents, self._teams)
        page, cuts = Ref(document.label, name), self._cuts(name, document.passages)
        said = as_said(extract(page, cuts, self._vocabulary), self._services, self._settled)
        for part in (chunk_facts(page, document.title, document.passages), said):
            found.nodes += part.nodes
            found.edges += part.edges
        nodes, edges = summarised(found.nodes, found.edges, self._services)
        facts = Facts(
            source=visit.page_source(file.path),
            seen_at=self._now,
            nodes=tuple(nodes),
            edges=tuple(edges),
            complete=self._resumed or file.path in visit.ledger.pages,
        )
        read = PageRead(file.digest, context, document.label, name, (), (*failures, *found.failures))
        return _Part(file.path, facts, read)

    def _cuts(self, page: str, passages: Sequence[Passage]) -> list[Cut]:
        names = [chunk_name(page, passage.ordinal) for passage in passages]
        ids = (node_id(self._tenant, Label.CHUNK, name_key(name)) for name in names)
        return [Cut(passage, name, id) for passage, name, id in zip(passages, names, ids, strict=True)]

    def _name(self, visit: _Visit, document: Document) -> str:
        if document.label is not Label.INCIDENT:
            return visit.names[document.path]
        known = visit.ledger.pages.get(document.path) or visit.moved.get(document.path)
        taken = {key for label, key in self._taken if label == Label.INCIDENT}
        if known and known.label == Label.INCIDENT:
            taken.discard(name_key(known.name))
        name = incident_name(document, taken)
        self._taken.add((Label.INCIDENT, name_key(name)))
        visit.incidents[document.path] = name
        return name

    async def _write_pages(self, visit: _Visit, parts: Sequence[_Part]) -> None:
        if not parts:
            return
        report = await self._store.write(self._tenant, *(part.facts for part in parts))
        self.tally.take(report)
        dangling = set(report.dangling)
        for part in parts:
            mine = tuple(dict.fromkeys(line for edge in part.facts.edges if (line := sentence(edge)) in dangling))
            visit.ledger.pages[part.path] = _with_dangling(part.read, mine)
        await save_ledger(self._store, self._tenant, visit.ledger)

    async def _close_gone(self, visit: _Visit) -> None:
        """A page that is no more closes what it alone said. What could not be seen is not taken for gone."""
        if not visit.folder.complete:
            return
        gone = sorted(set(visit.ledger.pages) - set(visit.paths))
        for batch in _batches(gone):
            parts = [Facts(visit.page_source(path), self._now, complete=True) for path in batch]
            self.tally.take(await self._store.write(self._tenant, *parts))
            for path in batch:
                del visit.ledger.pages[path]
            await save_ledger(self._store, self._tenant, visit.ledger)
        self.tally.gone += len(gone)

    async def _resolve_dangling(self, visit: _Visit) -> None:
        """Pages may speak of what a later page defines, in this run or in another, and rules of their runbooks."""
        confirmed = self.tally.confirmed
        if visit.ledger.stated.dangling:
            await self._write_stated(visit, visit.ledger.stated.content)
        waiting = [path for path, read in visit.ledger.pages.items() if read.dangling and path in visit.names]
        for batch in _batches(waiting):
            parts, _ = await asyncio.to_thread(self._read_pages, visit, batch, again=True)
            await self._write_pages(visit, parts)
        self.tally.confirmed = confirmed  # what was only written again was not seen again

    def _report(self, visit: _Visit) -> None:
        stated = visit.ledger.stated
        self.tally.failures |= {*visit.folder.failures, *stated.failures}
        self.tally.conflicts |= dict.fromkeys(stated.conflicts)
        self.tally.leave_unresolved(stated.dangling)
        for read in visit.ledger.pages.values():
            self.tally.failures |= set(read.failures)
            self.tally.leave_unresolved(read.dangling)


def _is_defined_elsewhere(node: Node, visited: Collection[str]) -> bool:
    """Whether something other than a page and the visited folders says that it exists. What a page alone speaks of
    defines no name, or the order of reading would matter."""
    return any(
        not source.startswith(_PAGE) and source.removeprefix(_FOLDER) not in visited for source in node.life.sources
    )


def _spellings(names: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Each entity by its name, with the keys of all its names."""
    keys: dict[str, list[str]] = {}
    for key, name in names.items():
        keys.setdefault(name, []).append(key)
    return list(keys.items())


def _noted(stated: Stated, content: str, dangling: Sequence[str], failures: Sequence[Failure]) -> StatedRead:
    return StatedRead(
        content=content,
        services=stated.names(Label.SERVICE),
        teams=stated.names(Label.TEAM),
        runbook_pages=stated.runbook_pages,
        settled=settled(stated.nodes, stated.edges),
        dangling=tuple(dict.fromkeys(dangling)),
        conflicts=stated.conflicts,
        failures=(*stated.failures, *failures),
    )


def _with_dangling(read: PageRead, dangling: tuple[str, ...]) -> PageRead:
    return PageRead(read.content, read.context, read.label, read.name, dangling, read.failures)


def _batches(paths: Sequence[str]) -> Iterable[Sequence[str]]:
    return (paths[start : start + PAGES_AT_ONCE] for start in range(0, len(paths), PAGES_AT_ONCE))


def _digest(*values: object) -> str:
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
