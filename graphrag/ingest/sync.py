"""Brings a tenant's graph up to date with folders, at the price of what has changed.

A folder's structured files are one source, `folder:NAME`; each page is a source of its own, `page:NAME/PATH`, so that a
page that changes or goes touches nobody else's facts. A file that is as it was costs its digest, and its facts are
confirmed without being read again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from graphrag.identity import name_key
from graphrag.ingest.folder import Failure, Folder, SourceFile, is_page
from graphrag.ingest.hearsay import settled
from graphrag.ingest.ledger import PageRead, StatedRead, known_folders, load_ledger, remember_folders, save_ledger
from graphrag.ingest.reading import PageFacts, PageReader, Reading, digest
from graphrag.ingest.record import keep_progress
from graphrag.ingest.report import Progress, Tally, Tell
from graphrag.ingest.sources.git_history import list_tags
from graphrag.ingest.stated import Known, Stated, read_stated
from graphrag.ingest.visit import FOLDER, PAGE, Taken, Visit
from graphrag.ingest.yaml_documents import BrokenYaml
from graphrag.model import Facts, Label, Node
from graphrag.store import GraphStore
from graphrag.writing import sentence

PAGES_AT_ONCE = 64
"""Pages that are read, written and noted in the ledger together: what a run that is killed may have to do again."""


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
    """A page as read, and what the ledger says of it once it is written."""

    path: str
    source: str
    facts: PageFacts
    read: PageRead
    complete: bool


class Sync:
    """One run over some folders. `resumed`: the last run did not end, so the ledger may be behind the graph."""

    def __init__(
        self, store: GraphStore, tenant: str, now: datetime, reading: Reading, tell: Tell, *, resumed: bool
    ) -> None:
        self.tally = Tally()
        self._reading = reading
        self._store = store
        self._tenant = tenant
        self._now = now
        self._tell = tell
        self._resumed = resumed
        self._services: dict[str, str] = {}
        self._teams: dict[str, str] = {}
        self._settled: set[str] = set()
        self._taken = Taken()

    async def run(self, folders: Sequence[Path], live: Live | None = None) -> None:
        """Read the folders, then ask `live` about what they named."""
        visits = await self._visits(folders)
        confirmed = [source for visit in visits for source in await self._state(visit)]
        reader = await self._learn(visits)
        for visit in visits:
            confirmed += await self._pages(visit, reader)
            await self._close_gone(visit)
        if live is not None:
            await self._ask(live)
        if confirmed:
            self.tally.confirmed += await self._store.confirm(self._tenant, confirmed, self._now)
        if self.tally.added:
            for visit in visits:
                await self._resolve_dangling(visit, reader)
        for visit in visits:
            self._report(visit)
        await remember_folders(self._store, self._tenant, [visit.name for visit in visits])

    async def _visits(self, folders: Sequence[Path]) -> list[Visit]:
        """The folders, those with a catalogue first, so that its names are known when the others are read."""
        resolved = list(dict.fromkeys(folder.resolve() for folder in folders))
        count = Counter(folder.name for folder in resolved)
        names = {path: path.name if count[path.name] == 1 else "/".join(path.parts[-2:]) for path in resolved}
        visits = [await self._visit(path, name) for path, name in names.items()]
        visits.sort(key=lambda visit: not any("backstage.io/" in file.text for file in visit.files))
        await self._know_others([visit.name for visit in visits])
        for visit in visits:
            await asyncio.to_thread(visit.name_pages, self._taken)
        return visits

    async def _visit(self, path: Path, name: str) -> Visit:
        folder = Folder(path)

        def look() -> tuple[list[str], list[SourceFile]]:
            paths = folder.paths()
            files = (folder.read(path) for path in paths if not is_page(path))
            return paths, [file for file in files if file is not None]

        paths, files = await asyncio.to_thread(look)
        ledger = await load_ledger(self._store, self._tenant, name)
        ledger.place = str(folder.root)
        return Visit(folder, name, ledger, paths, files)

    async def _know_others(self, visited: Collection[str]) -> None:
        """The names that others than the visited folders define, and the page names that they use."""
        for node in await self._store.all_nodes(self._tenant, [Label.SERVICE, Label.TEAM]):
            if _is_defined_elsewhere(node, visited):
                names = self._services if node.label is Label.SERVICE else self._teams
                names |= {name_key(name): node.name for name in (*node.aliases, node.name)}
        for name in await known_folders(self._store, self._tenant):
            if name not in visited:
                ledger = await load_ledger(self._store, self._tenant, name)
                self._taken.add(ledger.taken())
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

    async def _learn(self, visits: Sequence[Visit]) -> PageReader:
        def reader() -> PageReader:
            named = [page for visit in visits for page in visit.linkable()]
            return PageReader(self._tenant, self._services, self._teams, self._settled, named, self._reading)

        return await asyncio.to_thread(reader)

    # Structured files -------------------------------------------------------------------------------------------------

    async def _state(self, visit: Visit) -> list[str]:
        """Write what the structured files state, and know their names from then on. Returns the source when nothing
        has changed, to be confirmed."""
        visit.tags, visit.tag_failures = await asyncio.to_thread(list_tags, visit.folder.root)
        visit.known = known = Known(dict(self._services), dict(self._teams))
        files = [(file.path, file.digest) for file in visit.files]
        content = digest(files, visit.names, known.services, known.teams, visit.tags)
        unchanged = visit.ledger.stated.content == content and visit.folder.complete
        if not unchanged:
            await self._write_stated(visit, content)
        self._services |= visit.ledger.stated.services
        self._teams |= visit.ledger.stated.teams
        self._settled |= set(visit.ledger.stated.settled)
        return [visit.source] if unchanged else []

    async def _write_stated(self, visit: Visit, content: str) -> None:
        stated = await asyncio.to_thread(read_stated, visit.files, visit.names, visit.name, visit.known, visit.tags)
        whole = stated.whole and visit.folder.complete
        facts = Facts(visit.source, self._now, stated.nodes, stated.edges, complete=whole)
        report = await self._store.write(self._tenant, facts)
        self.tally.take(report)
        dangling = (*stated.dangling, *report.dangling)
        visit.ledger.stated = _noted(stated, content if whole else "", dangling, visit.tag_failures)
        await save_ledger(self._store, self._tenant, visit.ledger)

    # Pages ------------------------------------------------------------------------------------------------------------

    async def _pages(self, visit: Visit, reader: PageReader) -> list[str]:
        """Read the pages that have changed, batch by batch. Returns the sources that have not, to be confirmed."""
        confirmed: list[str] = []
        pages = visit.pages
        for start in range(0, len(pages), PAGES_AT_ONCE):
            progress = Progress(f"reading {visit.name}", start, len(pages))
            self._tell(progress)
            await keep_progress(self._store, self._tenant, self._now, progress)
            batch = pages[start : start + PAGES_AT_ONCE]
            parts, unchanged = await asyncio.to_thread(self._read_pages, visit, reader, batch, again=False)
            confirmed += (visit.page_source(path) for path in unchanged)
            self.tally.unchanged += len(unchanged)
            self.tally.read += len(parts)
            await self._write_pages(visit, [await self._with_model(part, reader) for part in parts])
        self._tell(Progress(f"reading {visit.name}", len(pages), len(pages)))
        return confirmed

    def _read_pages(
        self, visit: Visit, reader: PageReader, paths: Iterable[str], *, again: bool
    ) -> tuple[list[_Part], list[str]]:
        """The pages that have changed, and the paths of those that have not. With `again`, all have."""
        parts: list[_Part] = []
        unchanged: list[str] = []
        for path in paths:
            file = visit.folder.read(path)
            if file is None:
                continue
            known = visit.ledger.pages.get(path)
            # All that a page's facts depend on beside its text.
            context = digest(visit.names[path], visit.runbook_of(path), reader.digest)
            if not again and known and (known.content, known.context) == (file.digest, context):
                unchanged.append(path)
                continue
            try:
                facts = reader.read(
                    file,
                    visit.name,
                    visit.runbook_of(path),
                    lambda document: visit.name_of(document, self._taken),
                    visit.incidents,
                )
            except BrokenYaml as error:
                visit.folder.failures.append((path, f"front matter: {error}"))
            else:
                page = PageRead(file.digest, context, facts.page.label, facts.page.name, (), facts.failures)
                complete = self._resumed or path in visit.ledger.pages
                parts.append(_Part(path, visit.page_source(path), facts, page, complete))
        return parts, unchanged

    async def _with_model(self, part: _Part, reader: PageReader) -> _Part:
        facts = await reader.with_model(part.facts)
        return replace(part, facts=facts, read=replace(part.read, failures=facts.failures))

    async def _write_pages(self, visit: Visit, parts: Sequence[_Part]) -> None:
        if not parts:
            return
        written = (
            Facts(part.source, self._now, part.facts.nodes, part.facts.edges, complete=part.complete) for part in parts
        )
        report = await self._store.write(self._tenant, *written)
        self.tally.take(report)
        dangling = set(report.dangling)
        for part in parts:
            mine = tuple(dict.fromkeys(line for edge in part.facts.edges if (line := sentence(edge)) in dangling))
            visit.ledger.pages[part.path] = replace(part.read, dangling=mine)
        await save_ledger(self._store, self._tenant, visit.ledger)

    async def _close_gone(self, visit: Visit) -> None:
        """A page that is no more closes what it alone said."""
        gone = visit.gone
        for batch in _batches(gone):
            parts = [Facts(visit.page_source(path), self._now, complete=True) for path in batch]
            self.tally.take(await self._store.write(self._tenant, *parts))
            for path in batch:
                del visit.ledger.pages[path]
            await save_ledger(self._store, self._tenant, visit.ledger)
        self.tally.gone += len(gone)

    async def _resolve_dangling(self, visit: Visit, reader: PageReader) -> None:
        """Pages may speak of what a later page defines, in this run or in another, and rules of their runbooks."""
        confirmed = self.tally.confirmed
        if visit.ledger.stated.dangling:
            await self._write_stated(visit, visit.ledger.stated.content)
        waiting = [path for path, read in visit.ledger.pages.items() if read.dangling and path in visit.names]
        for batch in _batches(waiting):
            parts, _ = await asyncio.to_thread(self._read_pages, visit, reader, batch, again=True)
            await self._write_pages(visit, parts)
        self.tally.confirmed = confirmed  # what was only written again was not seen again

    def _report(self, visit: Visit) -> None:
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
        not source.startswith(PAGE) and source.removeprefix(FOLDER) not in visited for source in node.life.sources
    )


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


def _batches(paths: Sequence[str]) -> Iterable[Sequence[str]]:
    return (paths[start : start + PAGES_AT_ONCE] for start in range(0, len(paths), PAGES_AT_ONCE))
