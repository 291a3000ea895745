"""Reads one page for all it says: by its place and outline, by its prose, and with a model where there is one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from graphrag.identity import name_key
from graphrag.ingest.chunk import Passage, chunk_facts, chunk_name
from graphrag.ingest.documents import Document, document_facts, read_document
from graphrag.ingest.extract import Cut, extract
from graphrag.ingest.folder import Failure, SourceFile
from graphrag.ingest.hearsay import as_said
from graphrag.ingest.sources.found import Found
from graphrag.ingest.summarise import summarised
from graphrag.ingest.vocabulary import Vocabulary
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, Ref, node_id

Complete = Callable[[str], Awaitable[str]]

_MOST_CHUNKS = 5


def _as_it_is(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Reading:
    """How pages are read. `redact` takes secrets out of a page's text before anything else sees it. `complete` is a
    model's answer to a prompt, None without a model; `model` is its name: another model reads every page again."""

    redact: Callable[[str], str] = _as_it_is
    complete: Complete | None = None
    model: str = ""


@dataclass(frozen=True, slots=True)
class PageFacts:
    """What a page says, under the name of its node."""

    page: Ref
    cuts: tuple[Cut, ...]
    nodes: tuple[NodeFact, ...]
    edges: tuple[EdgeFact, ...]
    failures: tuple[Failure, ...]


class PageReader:
    """Reads pages with the names that are defined. `named` are the pages that others may link to, as label, name and
    paths; one page more or less does not change the `digest`, or every page would be read again."""

    def __init__(
        self,
        tenant: str,
        services: Mapping[str, str],
        teams: Mapping[str, str],
        settled: Collection[str],
        named: Iterable[tuple[Label, str, Iterable[str]]],
        reading: Reading,
    ) -> None:
        self._tenant = tenant
        self._services = services
        self._teams = teams
        self._settled = settled
        self._reading = reading
        self._vocabulary = Vocabulary(
            [
                *((Label.SERVICE, *each) for each in _spellings(services)),
                *((Label.TEAM, *each) for each in _spellings(teams)),
                *named,
            ]
        )
        self.digest = digest(services, teams, sorted(settled), reading.model)

    def read(
        self,
        file: SourceFile,
        folder: str,
        runbook_of: Sequence[str] | None,
        name_of: Callable[[Document], str],
        incidents: Mapping[str, str],
    ) -> PageFacts:
        """`runbook_of`: the services whose runbook others say it is, None when nobody says it is one. Raises
        `BrokenYaml`."""
        file = SourceFile(file.path, self._reading.redact(file.text))
        document, failures = read_document(file, folder, is_runbook=runbook_of is not None)
        page, passages = Ref(document.label, name_of(document)), document.passages
        cuts = self._cuts(page.name, passages)
        found = document_facts(document, page.name, self._services, runbook_of or (), incidents, self._teams)
        if document.label is Label.INCIDENT:  # of which the text tells what its front matter does not
            found = replace(found, edges=self._where_named(found.edges, page, cuts))
        said = as_said(extract(page, cuts, self._vocabulary), self._services, self._settled)
        return self._joined(page, cuts, [found, chunk_facts(page, document.title, passages), said], failures)

    async def with_model(self, facts: PageFacts) -> PageFacts:
        """The same with what a model reads in it, and its summaries in the model's words. Where the model fails, what
        was read without it stays, and the failure is told."""
        complete = self._reading.complete
        if complete is None or not facts.cuts:
            return facts
        from graphrag.ingest.model_extract import extract_with_model  # imports LlamaIndex

        found = await extract_with_model(facts.page, facts.cuts, complete)
        said = as_said(found, self._services, self._settled)
        known = Found([*facts.nodes], [*facts.edges])
        joined = self._joined(facts.page, facts.cuts, [known, said], [*facts.failures])
        return await _in_its_words(joined, complete)

    def _joined(self, page: Ref, cuts: Sequence[Cut], parts: Sequence[Found], failures: Sequence[Failure]) -> PageFacts:
        nodes, edges = summarised(
            [fact for part in parts for fact in part.nodes],
            [fact for part in parts for fact in part.edges],
            self._services,
        )
        told = (*failures, *(failure for part in parts for failure in part.failures))
        return PageFacts(page, tuple(cuts), tuple(nodes), tuple(edges), tuple(dict.fromkeys(told)))

    def _where_named(self, edges: Sequence[EdgeFact], page: Ref, cuts: Sequence[Cut]) -> list[EdgeFact]:
        """With the passages that name the other end. What only the front matter names was read in none."""
        named: dict[Ref, list[str]] = {}
        for cut in cuts:
            text = "\n".join((*cut.passage.headings, cut.passage.text))
            for ref in {ref for match in self._vocabulary.find(text) for ref in match.refs}:
                named.setdefault(ref, []).append(cut.id)
        others = (edge.target if edge.source == page else edge.source for edge in edges)
        return [
            replace(edge, chunks=edge.chunks or tuple(named.get(other, ())[:_MOST_CHUNKS]))
            for edge, other in zip(edges, others, strict=True)
        ]

    def _cuts(self, page: str, passages: Sequence[Passage]) -> list[Cut]:
        names = [chunk_name(page, passage.ordinal) for passage in passages]
        ids = (node_id(self._tenant, Label.CHUNK, name_key(name)) for name in names)
        return [Cut(passage, name, id) for passage, name, id in zip(passages, names, ids, strict=True)]


async def _in_its_words(facts: PageFacts, complete: Complete) -> PageFacts:
    """With the summaries of entities and relations in a model's words. A chunk's is its text already, and that it
    mentions something says nothing more."""
    from graphrag.ingest.model_summarise import Element, summaries

    nodes = [fact for fact in facts.nodes if fact.label is not Label.CHUNK and fact.summary]
    edges = [fact for fact in facts.edges if fact.type not in (EdgeType.MENTIONS, EdgeType.CO_OCCURS)]
    texts = {cut.id: cut.passage.text for cut in facts.cuts}
    first = tuple(cut.passage.text for cut in facts.cuts)

    def passages(chunks: Sequence[str]) -> tuple[str, ...]:
        return tuple(texts[id] for id in chunks if id in texts) or first

    elements = [Element(fact.name, fact.summary, passages(fact.chunks)) for fact in nodes]
    elements += (
        Element(f"{fact.source.name} -> {fact.target.name}", fact.summary, passages(fact.chunks)) for fact in edges
    )
    words, failures = await summaries(elements, complete)
    said = {id(fact): text for fact, text in zip([*nodes, *edges], words, strict=True) if text}
    return replace(
        facts,
        nodes=tuple(replace(fact, summary=said.get(id(fact), fact.summary)) for fact in facts.nodes),
        edges=tuple(replace(fact, summary=said.get(id(fact), fact.summary)) for fact in facts.edges),
        failures=(*facts.failures, *((facts.page.name, f"summary by the model: {line}") for line in failures)),
    )


def _spellings(names: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Each entity by its name, with the keys of all its names."""
    keys: dict[str, list[str]] = {}
    for key, name in names.items():
        keys.setdefault(name, []).append(key)
    return list(keys.items())


def digest(*values: object) -> str:
    """The same for the same values of plain JSON."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
