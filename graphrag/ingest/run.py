"""Ingests folders: reads, decides what they say, writes one run of facts a folder, and embeds what changed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from graphrag import criticality, label_uses
from graphrag.identity import name_key
from graphrag.ingest.backstage import Entity, read_entities
from graphrag.ingest.catalogue import read_catalogue
from graphrag.ingest.documents import read_documents
from graphrag.ingest.folder import Failure, SourceFile, read_folder
from graphrag.model import Facts, Label, Node, WriteReport
from graphrag.proposals import refresh_proposals
from graphrag.store import GraphStore

_BATCH = 256


class Embedder(Protocol):
    """What ingestion needs of an embedding: `graphrag.embed.Embedding` is one."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]: ...

    async def fit(self, texts: Sequence[str], *, refit: bool = False) -> bool: ...


@dataclass(frozen=True, slots=True)
class IngestReport:
    """What a run did, in facts (nodes and edges). `dangling` are edges whose end nobody defines, `denied` those that a
    correction keeps out, `proposals` how many pairs of names wait for a person to say whether they are one thing, and
    `failures` the files (relative to their folder) that were skipped wholly or in part, each with the reason."""

    seen: int
    added: int
    confirmed: int
    closed: int
    dangling: tuple[str, ...]
    denied: tuple[str, ...]
    proposals: int
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder as read. `complete` is false when a part of its catalogue could not be read: then what is missing
    is not taken for gone."""

    source: str
    name: str
    pages: tuple[SourceFile, ...]
    entities: tuple[Entity, ...]
    failures: tuple[Failure, ...]
    complete: bool


async def ingest(
    store: GraphStore,
    embedding: Embedder,
    tenant: str,
    folders: Sequence[Path],
    *,
    refit: bool = False,
    now: datetime,
) -> IngestReport:
    """Bring a tenant's graph up to date with these folders. Raises `GraphError` when the graph fails.

    Each folder is a source of its own: what it said before and does not say now is closed. `refit` fits the
    embedding's weights anew and makes every vector again.
    """
    before = {node.id: node for node in await store.all_nodes(tenant)}
    read = await asyncio.to_thread(_read_all, folders)
    facts, failures, dangling = await asyncio.to_thread(_facts_of, read, _service_names(before), now)
    # A run that ends between writing and embedding leaves nodes without vectors; the next one then makes all of them.
    unfinished = f"ingest-unfinished:{tenant}"
    interrupted = await store.get_meta(unfinished) == b"yes"
    await store.put_meta(unfinished, b"yes")
    reports = [await store.write(tenant, each) for each in facts]
    await _embed(store, embedding, tenant, {} if interrupted else before, refit=refit)
    await criticality.refresh(store, tenant)
    await label_uses.refresh(store, tenant)
    pending = await refresh_proposals(store, tenant, now)
    await store.put_meta(unfinished, b"no")
    return _report(facts, reports, dangling, failures, pending)


def _read_all(folders: Sequence[Path]) -> list[_Folder]:
    """The folders, those with a catalogue first, so that the services are known when other folders' pages are read."""
    resolved = list(dict.fromkeys(folder.resolve() for folder in folders))
    count = Counter(folder.name for folder in resolved)
    read = [
        _read(folder, folder.name if count[folder.name] == 1 else "/".join(folder.parts[-2:])) for folder in resolved
    ]
    return sorted(read, key=lambda folder: not folder.entities)


def _read(folder: Path, name: str) -> _Folder:
    contents = read_folder(folder)
    entities: list[Entity] = []
    broken: list[Failure] = []
    for file in contents.files:
        if file.is_yaml:
            found, failures = read_entities(file)
            entities += found
            broken += failures
    return _Folder(
        source=f"folder:{name}",
        name=name,
        pages=tuple(file for file in contents.files if not file.is_yaml),
        entities=tuple(entities),
        failures=(*contents.failures, *broken),
        complete=contents.complete and not broken,
    )


def _facts_of(
    folders: Sequence[_Folder], known: Mapping[str, str], now: datetime
) -> tuple[list[Facts], list[Failure], list[str]]:
    services = dict(known)
    taken: set[str] = set()
    facts: list[Facts] = []
    failures: list[Failure] = []
    dangling: list[str] = []
    for folder in folders:
        catalogue = read_catalogue(folder.entities, {page.path for page in folder.pages})
        services |= catalogue.service_names
        documents = read_documents(folder.pages, folder.name, services, catalogue.runbook_pages, taken)
        facts.append(
            Facts(
                source=folder.source,
                seen_at=now,
                nodes=(*catalogue.nodes, *documents.nodes),
                edges=(*catalogue.edges, *documents.edges),
                complete=folder.complete,
            )
        )
        failures += (*folder.failures, *catalogue.failures, *documents.failures)
        dangling += catalogue.dangling
    return facts, failures, dangling


def _service_names(nodes: Mapping[str, Node]) -> dict[str, str]:
    services = [node for node in nodes.values() if node.label is Label.SERVICE]
    return {name_key(name): node.name for node in services for name in (*node.aliases, node.name)}


async def _embed(
    store: GraphStore, embedding: Embedder, tenant: str, before: Mapping[str, Node], *, refit: bool
) -> None:
    """Make the vectors of new and changed nodes, or of all when the weights were fitted."""
    nodes = await store.all_nodes(tenant)
    if not nodes:
        return
    everything = await embedding.fit([_text(node) for node in nodes], refit=refit)
    stale = [
        node for node in nodes if everything or (known := before.get(node.id)) is None or _text(known) != _text(node)
    ]
    for start in range(0, len(stale), _BATCH):
        batch = stale[start : start + _BATCH]
        vectors = await embedding.embed([_text(node) for node in batch])
        await store.set_vectors(tenant, {node.id: vector for node, vector in zip(batch, vectors, strict=True)})


def _text(node: Node) -> str:
    return node.summary or node.name


def _report(
    facts: Sequence[Facts],
    reports: Sequence[WriteReport],
    dangling: Sequence[str],
    failures: Sequence[Failure],
    proposals: int,
) -> IngestReport:
    return IngestReport(
        seen=sum(len(each.nodes) + len(each.edges) for each in facts),
        added=sum(report.added for report in reports),
        confirmed=sum(report.confirmed for report in reports),
        closed=sum(report.closed for report in reports),
        dangling=tuple(dict.fromkeys((*dangling, *(line for report in reports for line in report.dangling)))),
        denied=tuple(dict.fromkeys(line for report in reports for line in report.denied)),
        proposals=proposals,
        failures=tuple(sorted(failures)),
    )
