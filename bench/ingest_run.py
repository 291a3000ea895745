"""One ingest in a process of its own: `python -m bench.ingest_run SUBJECT FOLDER HOME` prints what it cost as JSON.

SUBJECT is `ours`, which keeps its graph in HOME and so finds it again at the next run, or `llama`, LlamaIndex's own.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import psutil

from bench.graph_data import TENANT
from bench.graph_stores import DIMENSIONS

SAMPLE_SECONDS = 0.005
Done = tuple[int, int]
"""Documents and facts."""


@dataclass(frozen=True)
class Cost:
    """Of one ingest without its imports: processor and wall seconds, and MB of memory. `resident` is the most that was
    resident, pages of files that are mapped included, which the system takes back when it needs them; `own` is the
    most without those, looked at every 5 ms. Both hold what is imported, which `before` is."""

    documents: int
    facts: int
    cpu: float
    wall: float
    resident: float
    own: float
    before: float


class _Memory(threading.Thread):
    """Looks again and again at how much memory is the process's own."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process()
        self._ended = threading.Event()
        self.before = self.most = self._now()

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_SECONDS):
            self.most = max(self.most, self._now())

    def end(self) -> None:
        self._ended.set()
        self.join()

    def _now(self) -> float:
        held = self._process.memory_info()
        return (held.rss - getattr(held, "shared", 0)) / 1e6


def measured(work: Callable[[], Done]) -> Cost:
    """What `work` costs this process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # what the imports needed for a moment does not count
    memory = _Memory()
    memory.start()
    wall, cpu = time.perf_counter(), time.process_time()
    documents, facts = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    memory.end()
    return Cost(documents, facts, cpu, wall, _most_resident(), memory.most, memory.before)


def ours(folder: Path, home: Path) -> Cost:
    """Facts are those that the run added."""
    from graphrag.embed import open_embedding
    from graphrag.ingest import ingest
    from graphrag.sqlite_store import SqliteStore

    _import_splitter()

    async def run() -> Done:
        store = SqliteStore(home / "graph.sqlite", dimensions=DIMENSIONS)
        await store.open()
        try:
            embedding = await open_embedding("hashed", store, dimensions=DIMENSIONS)
            report = await ingest(store, embedding, TENANT, [folder], now=datetime.now(UTC))
        finally:
            await store.close()
        return report.read + report.unchanged, report.added

    return measured(lambda: asyncio.run(run()))


def llama(folder: Path) -> Cost:
    """Chunks of the same size with the same embedding, and the edges between them, in a graph in memory."""
    from llama_index.core import Document, PropertyGraphIndex
    from llama_index.core.graph_stores import SimplePropertyGraphStore
    from llama_index.core.indices.property_graph import ImplicitPathExtractor
    from llama_index.core.llms import MockLLM
    from llama_index.core.node_parser import SentenceSplitter

    from graphrag.embed import HashedNgrams
    from graphrag.ingest.chunk import OVERLAP_WORDS, PASSAGE_WORDS
    from graphrag.ingest.folder import Folder, is_page
    from graphrag.llama_embedding import HashedEmbedding

    _import_splitter()

    def run() -> Done:
        files = Folder(folder)
        pages = [page for path in files.paths() if is_page(path) and (page := files.read(path)) is not None]
        graph = SimplePropertyGraphStore()
        PropertyGraphIndex.from_documents(
            [Document(id_=page.path, text=page.text, metadata={"path": page.path}) for page in pages],
            llm=MockLLM(),
            kg_extractors=[ImplicitPathExtractor()],
            embed_model=HashedEmbedding(HashedNgrams(DIMENSIONS)),
            property_graph_store=graph,
            transformations=[
                SentenceSplitter(chunk_size=PASSAGE_WORDS, chunk_overlap=OVERLAP_WORDS, tokenizer=str.split)
            ],
            use_async=False,
        )
        return len(pages), len(graph.graph.nodes) + len(graph.graph.relations)

    return measured(run)


def _import_splitter() -> None:
    """It takes seconds, half of them at its first text, and is paid once a process by both."""
    from llama_index.core.node_parser import SentenceSplitter

    SentenceSplitter(chunk_size=9, chunk_overlap=0, tokenizer=str.split).split_text("Two sentences are cut. " * 9)


def _most_resident() -> float:
    """In MB. The kernel's own count: that of `getrusage` may be the parent's."""
    status = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:")) * 1_024 / 1e6


def main(subject: str, folder: str, home: str) -> None:
    cost = llama(Path(folder)) if subject == "llama" else ours(Path(folder), Path(home))
    print(json.dumps(asdict(cost)))


if __name__ == "__main__":
    main(*sys.argv[1:])
