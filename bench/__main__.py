"""`python -m bench [NAME]`: run all measurements, or the one that prints NAME, and print a line of JSON for each."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial

from bench import accept, finding, graph_reads, graph_writes, ingest, report, start
from bench.graph_stores import NEO4J, SQLITE
from bench.measure import Measured, note

BENCHES: dict[tuple[str, ...], Callable[[], Sequence[Measured]]] = {
    ("accept-rate", "accept-p99"): accept.updates,
    ("accept-storm-rate", "accept-storm-p99"): accept.openings,
    ("alert-to-report-p50", "alert-to-report-p95", "alert-to-report-extra-p95"): report.alert_to_report,
    ("start-to-ready", "idle-memory"): start.start,
    graph_writes.NAMES: graph_writes.writes,
    **{
        graph_reads.names(store, size): partial(graph_reads.reads, store, size)
        for store in (SQLITE, NEO4J)
        for size in graph_reads.SIZES
    },
    graph_reads.REL_MAP_SHARED_NAMES: graph_reads.rel_map_shared,
    **{graph_reads.growth_names(store): partial(graph_reads.growth, store) for store in (SQLITE, NEO4J)},
    **{
        finding.names(store, subject): partial(finding.finding, store, subject)
        for subject in (finding.REAL, *finding.SIZES)
        for store in (SQLITE, NEO4J)
    },
    **{finding.growth_names(store): partial(finding.growth, store) for store in (SQLITE, NEO4J)},
    ingest.SPEED_NAMES: ingest.speed,
    ingest.GROWTH_NAMES: ingest.memory,
    (ingest.COMMUNITIES_NAME,): ingest.community_refresh,
    **{graph_reads.mesh_names(store): partial(graph_reads.dense_mesh, store) for store in (SQLITE, NEO4J)},
}


def main(arguments: Sequence[str]) -> int:
    """Run what was asked for and return the exit status."""
    names = [name for group in BENCHES for name in group]
    wanted = set(arguments) or set(names)
    if unknown := wanted - set(names):
        note(f"No bench is called {', '.join(sorted(unknown))}; there are {', '.join(names)}.")
        return 2
    for variable in [name for name in os.environ if name.startswith("INCIDENT_GRAPH_")]:
        del os.environ[variable]  # the settings of somebody's real service stay out of it
    for group, run in BENCHES.items():
        if wanted & set(group):
            note(", ".join(group))
            for measured in run():
                if measured.bench in wanted:
                    print(measured.line(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
