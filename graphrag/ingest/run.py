"""Ingests folders: one run from files to facts, communities and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Protocol

from graphrag import communities, criticality, helpfulness, label_uses
from graphrag.errors import GraphError
from graphrag.ingest.exclusive import exclusive
from graphrag.ingest.reading import Reading
from graphrag.ingest.record import keep_begun, keep_ended, keep_failed
from graphrag.ingest.report import IngestReport, Progress, Tally, Tell, tell_nobody
from graphrag.ingest.sync import Live, Sync
from graphrag.model import Label, Node, utc_now
from graphrag.proposals import proposals, refresh_proposals
from graphrag.pruning import prune
from graphrag.store import GraphStore

_BATCH = 256
_NO_CHUNKS = frozenset(Label) - {Label.CHUNK}
_MOST_TO_FIT = 10_000
"""Texts that the embedding's weights are fitted to at most: which words are rare is known long before."""


class Embedder(Protocol):
    """What ingestion needs of an embedding: `graphrag.embed.Embedding` is one."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]: ...

    async def is_fitted(self) -> bool: ...

    async def fit(self, texts: Sequence[str], *, refit: bool = False) -> bool: ...


async def ingest(
    store: GraphStore,
    embedding: Embedder,
    tenant: str,
    folders: Sequence[Path],
    *,
    refit: bool = False,
    now: datetime,
    live: Live | None = None,
    reading: Reading | None = None,
    tell: Tell = tell_nobody,
) -> IngestReport:
    """Bring a tenant's graph up to date with these folders, at the price of what has changed in them.

    Each folder is a source of its own: what it said before and does not say now is closed. `refit` fits the
    embedding's weights anew and makes every vector again. `live` is asked after the folders; `reading` says how pages
    are read. A run that is killed is gone on with by the next one; `record.last_run` tells how the last one went.
    Raises `AlreadyRunning` beside another run, and `GraphError` when the graph fails.
    """
    async with exclusive(store, tenant):
        await keep_begun(store, tenant, now)
        try:
            report = await _run(store, embedding, tenant, folders, refit, now, live, reading or Reading(), tell)
        except BaseException as error:
            said = str(error) if isinstance(error, GraphError) else f"a bug or a stop ended it ({type(error).__name__})"
            with suppress(GraphError):
                await keep_failed(store, tenant, now, utc_now(), said)
            raise
        await keep_ended(store, tenant, now, utc_now(), report)
        return report


async def _run(
    store: GraphStore,
    embedding: Embedder,
    tenant: str,
    folders: Sequence[Path],
    refit: bool,
    now: datetime,
    live: Live | None,
    reading: Reading,
    tell: Tell,
) -> IngestReport:
    # A run that ends before its vectors leaves nodes without any; the next one then makes all of them.
    unfinished = f"ingest-unfinished:{tenant}"
    resumed = await store.get_meta(unfinished) == b"yes"
    await store.put_meta(unfinished, b"yes")
    sync = Sync(store, tenant, now, reading, tell, resumed=resumed)
    await sync.run(folders, live)
    tally = sync.tally
    if tally.changed or resumed or refit:
        tell(Progress("looking at the whole", 0, 1))
        pruned = await prune(store, tenant, now)
        tally.closed += pruned.closed_edges + pruned.closed_nodes
        await criticality.refresh(store, tenant)
        await label_uses.refresh(store, tenant)
        await helpfulness.refresh(store, tenant)
        found = await communities.refresh(store, tenant, now, _in_words(reading, tally))
        pending = await refresh_proposals(store, tenant, now)
        told = dict.fromkeys((*tally.told, *found.told))
        await _embed(store, embedding, tenant, None if resumed else list(told), tell, refit=refit)
        await store.put_meta(f"communities-count:{tenant}", str(found.communities).encode())
    else:
        pending = len(await proposals(store, tenant))
    await store.put_meta(unfinished, b"no")
    return tally.report(int(await store.get_meta(f"communities-count:{tenant}") or b"0"), pending)


def _in_words(reading: Reading, tally: Tally) -> communities.Summarise:
    """How communities are summarised: in the model's words where there is one and it answers, else by the template."""
    complete = reading.complete
    if complete is None:
        return communities.template

    async def summarise(outline: communities.Outline) -> str:
        from graphrag.ingest.model_summarise import Element, summaries

        told = communities.template(outline)
        first = outline.members[0].name
        passages = tuple(node.summary for node in outline.members if node.summary)
        (words,), failures = await summaries(
            [Element(f"{first} and what hangs together with it", told, passages)], complete
        )
        tally.failures |= {(f"community of {first}", f"summary by the model: {line}") for line in failures}
        return words or told

    return summarise


async def _embed(
    store: GraphStore, embedding: Embedder, tenant: str, told: list[str] | None, tell: Tell, *, refit: bool
) -> None:
    """Make the vectors of the nodes that are told of otherwise, or of all when the weights were fitted or nobody knows
    which those are."""
    everything = told is None
    if refit or not await embedding.is_fitted():
        everything |= await embedding.fit(await _texts_to_fit(store, tenant, told or []), refit=refit)
    ids = await _all_ids(store, tenant) if everything or told is None else told
    for start in range(0, len(ids), _BATCH):
        tell(Progress("embedding", start, len(ids)))
        nodes = list((await store.nodes(tenant, ids[start : start + _BATCH])).values())
        vectors = await embedding.embed([_text(node) for node in nodes])
        await store.set_vectors(tenant, {node.id: vector for node, vector in zip(nodes, vectors, strict=True)})
    tell(Progress("embedding", len(ids), len(ids)))


async def _texts_to_fit(store: GraphStore, tenant: str, told: Sequence[str]) -> list[str]:
    """Of a large graph every n-th text, so that no kind of it is left out. Chunks are too many and too long to be read
    all at once."""
    nodes = await store.all_nodes(tenant, _NO_CHUNKS)
    texts = [_text(node) for node in nodes[:: 1 + len(nodes) // _MOST_TO_FIT]]
    for start in range(0, min(len(told), _MOST_TO_FIT), _BATCH):
        read = (await store.nodes(tenant, told[start : start + _BATCH])).values()
        texts += (_text(node) for node in read if node.label is Label.CHUNK)
    return texts


async def _all_ids(store: GraphStore, tenant: str) -> list[str]:
    ids: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list_nodes(tenant, limit=_BATCH, cursor=cursor)
        ids += (node.id for node in page.nodes)
        cursor = page.cursor
        if cursor is None:
            return ids


def _text(node: Node) -> str:
    return node.summary or node.name
