"""One folder in one run: what is there, what the ledger says of it, and what its pages are called in the graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from graphrag.identity import name_key
from graphrag.ingest.documents import Document, incident_name, page_name, read_document
from graphrag.ingest.folder import Failure, Folder, SourceFile, is_page
from graphrag.ingest.ledger import Ledger, PageRead
from graphrag.ingest.stated import Known
from graphrag.ingest.yaml_documents import BrokenYaml
from graphrag.model import Label

FOLDER, PAGE = "folder:", "page:"
"""How the sources of facts begin: a folder's structured files, and each of its pages."""
_NAMED_OTHERWISE = (Label.INCIDENT, Label.RELEASE)


class Taken:
    """The names that pages have in the graph, by label."""

    def __init__(self) -> None:
        self._keys: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, names: Iterable[tuple[str, str]]) -> None:
        """Names as label and key."""
        for label, key in names:
            self._keys["page" if label in (Label.RUNBOOK, Label.DOC) else label].add(key)

    @property
    def pages(self) -> set[str]:
        return self._keys["page"]

    @property
    def incidents(self) -> set[str]:
        return self._keys[Label.INCIDENT]


@dataclass(slots=True)
class Visit:
    """`known` and `tags` are what its structured `files` are read with. `names`: path -> what the page is called in
    the graph, if it is no incident; `moved`: path -> how the page was read where it was before; `incidents`: path ->
    name of those read so far."""

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
    def gone(self) -> list[str]:
        """The pages that are no more. What could not be seen is not taken for gone."""
        return sorted(set(self.ledger.pages) - set(self.paths)) if self.folder.complete else []

    @property
    def source(self) -> str:
        return f"{FOLDER}{self.name}"

    def page_source(self, path: str) -> str:
        return f"{PAGE}{self.name}/{path}"

    def runbook_of(self, path: str) -> tuple[str, ...] | None:
        """The services whose runbook something calls this page; None when nothing calls it a runbook."""
        return self.ledger.stated.runbook_pages.get(path)

    def name_pages(self, taken: Taken) -> None:
        """A page keeps the name it has; one that was moved takes its name along, which its text proves; a new one is
        called by its path."""
        taken.add(self.ledger.taken())
        self.moved = self._moved()
        self.incidents = self.ledger.incidents()
        for path in self.pages:
            before = self._before(path)
            if before and before.label not in _NAMED_OTHERWISE:
                self.names[path] = before.name
            else:
                self.names[path] = page_name(path, self.name, taken.pages)
                taken.add([(Label.DOC, name_key(self.names[path]))])

    def name_of(self, document: Document, taken: Taken) -> str:
        """What a page is called, now that it is known what it is."""
        if document.label is not Label.INCIDENT:
            return self.names[document.path]
        before = self._before(document.path)
        own = name_key(before.name) if before and before.label == Label.INCIDENT else ""
        name = incident_name(document, taken.incidents - {own})
        taken.add([(Label.INCIDENT, name_key(name))])
        self.incidents[document.path] = name
        return name

    def linkable(self) -> list[tuple[Label, str, list[str]]]:
        """The pages that others may link to, as label, name and path."""
        labelled = ((self._label(path), name, [path]) for path, name in self.names.items())
        return [(Label(label), name, paths) for label, name, paths in labelled if label in (Label.RUNBOOK, Label.DOC)]

    def _label(self, path: str) -> str:
        """What a page is. One that nobody has read yet is looked at: links may lead to it from earlier ones."""
        known = self.ledger.pages.get(path)
        if known is not None:
            return known.label
        if self.runbook_of(path) is not None:
            return Label.RUNBOOK
        told = len(self.folder.failures)
        file = self.folder.read(path)
        del self.folder.failures[told:]  # told when it is read for good
        try:
            return read_document(file, self.name, is_runbook=False)[0].label if file is not None else ""
        except BrokenYaml:
            return ""

    def _before(self, path: str) -> PageRead | None:
        return self.ledger.pages.get(path) or self.moved.get(path)

    def _moved(self) -> dict[str, PageRead]:
        by_content = {self.ledger.pages[path].content: self.ledger.pages[path] for path in self.gone}
        moved: dict[str, PageRead] = {}
        for path in self.pages if by_content else ():
            if path not in self.ledger.pages and (file := self.folder.read(path)) is not None:
                read = by_content.pop(file.digest, None)
                if read is not None:
                    moved[path] = read
        return moved
