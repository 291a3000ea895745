"""What it costs to build the graph from documents, beside LlamaIndex's own ingest without a model, and to keep it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from bench.graph_data import TENANT, grouped
from bench.graph_stores import sqlite_store
from bench.ingest_run import Cost
from bench.measure import Measured, note
from bench.organisation import write_organisation
from graphrag import communities
from graphrag.clustering import SEED
from graphrag.communities import WEIGHTS
from graphrag.model import EdgeType
from tests.servers.process import ROOT, temporary_home

VARIABLE = "BENCH_DOCUMENTS"
DOCUMENTS = 300
ROUNDS = 3
FEW, MORE = 250, 4
COMMUNITY_NODES = 100_000
LLAMA = "LlamaIndex PropertyGraphIndex with ImplicitPathExtractor, no model, in memory"
SPEED_NAMES = ("ingest-cold-documents", "ingest-cold-facts", "ingest-unchanged-share")
GROWTH_NAMES = ("ingest-memory-growth", "ingest-own-memory-growth")
COMMUNITIES_NAME = "communities-100k"


def speed() -> list[Measured]:
    """Cold, unchanged and LlamaIndex's in turn, each in a process of its own; the medians of the rounds."""
    cold: list[Cost] = []
    unchanged: list[Cost] = []
    llama: list[Cost] = []
    with _documents(DOCUMENTS) as folder:
        for _ in range(ROUNDS):
            with temporary_home("bench-ingest") as home:
                cold.append(_run("ours", folder, home))
                unchanged.append(_run("ours", folder, home))
                llama.append(_run("llama", folder, home))
            if unchanged[-1].facts or unchanged[-1].documents != cold[-1].documents:
                raise RuntimeError(f"a second run over the same files added {unchanged[-1].facts} facts")
    documents, facts = "documents/CPU s", "facts/CPU s"
    return [
        Measured(SPEED_NAMES[0], _median_rate(cold, "documents"), documents, LLAMA, _median_rate(llama, "documents")),
        Measured(SPEED_NAMES[1], _median_rate(cold, "facts"), facts, LLAMA, _median_rate(llama, "facts")),
        Measured(
            SPEED_NAMES[2],
            statistics.median(each.cpu for each in unchanged),
            "CPU s",
            "the cold run",
            statistics.median(each.cpu for each in cold),
        ),
    ]


def memory() -> list[Measured]:
    """`ratio` is the growth of a cold run's memory when there are `MORE` times as many documents."""
    if os.environ.get(VARIABLE):
        note(f"  on made-up documents: {VARIABLE} names one folder, and this needs two sizes of the same")
    small, large = (_cold(FEW), _cold(FEW * MORE))
    reference = f"a quarter of the documents ({small.documents})"
    return [
        Measured(GROWTH_NAMES[0], large.resident, "MB", reference, small.resident),
        Measured(GROWTH_NAMES[1], large.own, "MB", reference, small.own),
    ]


def community_refresh() -> list[Measured]:
    """All communities of an estate of many services, from nothing, beside the clustering library alone on the same
    edges, which finds one level and writes nothing."""
    return [asyncio.run(_community_refresh())]


async def _community_refresh() -> Measured:
    import graspologic_native

    estate = grouped(COMMUNITY_NODES)
    async with sqlite_store() as store:
        for facts in estate.writes():
            await store.write(TENANT, facts)
        cpu, wall = time.process_time(), time.perf_counter()
        report = await communities.refresh(store, TENANT, datetime.now(UTC))
        ours, waited = time.process_time() - cpu, time.perf_counter() - wall
    weight = WEIGHTS[EdgeType.DEPENDS_ON]
    ends = zip(estate.sources.tolist(), estate.targets.tolist(), strict=True)
    edges = [(estate.names[source], estate.names[target], weight) for source, target in ends]
    cpu = time.process_time()
    _, found = graspologic_native.leiden(edges, None, iterations=5, seed=SEED)
    theirs = time.process_time() - cpu
    note(
        f"  {estate.services:,} nodes, {len(edges):,} edges: {report.communities:,} communities on {report.levels} "
        f"levels in {ours:.1f} CPU s ({waited:.1f} s waited); leiden alone: {len(set(found.values())):,}"
    )
    return Measured(COMMUNITIES_NAME, ours, "CPU s", "graspologic-native's leiden alone, one level", theirs)


def _median_rate(costs: list[Cost], what: str) -> float:
    """So many a processor second."""
    return statistics.median(getattr(each, what) / each.cpu for each in costs)


@contextlib.contextmanager
def _documents(count: int) -> Iterator[Path]:
    """The folder that the environment names, else a made-up one."""
    if named := os.environ.get(VARIABLE):
        yield Path(named).resolve()
        return
    with temporary_home("bench-documents") as home:
        write_organisation(home / "organisation", count)
        yield home / "organisation"


def _cold(documents: int) -> Cost:
    with temporary_home("bench-documents") as home:
        write_organisation(home / "organisation", documents)
        return _run("ours", home / "organisation", home)


def _run(subject: str, folder: Path, home: Path) -> Cost:
    command = [sys.executable, "-m", "bench.ingest_run", subject, str(folder), str(home)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, timeout=900)
    cost = Cost(**json.loads(done.stdout.splitlines()[-1]))
    note(
        f"  {subject}: {cost.documents:,} documents, {cost.facts:,} facts in {cost.cpu:.2f} CPU s ({cost.wall:.2f} s "
        f"waited), {cost.resident:.0f} MB resident, {cost.own:.0f} MB its own, {cost.before:.0f} MB before"
    )
    return cost
