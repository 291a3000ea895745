"""`incident-graph ingest` and `incident-graph sync`: a bar while it runs, a report when it is done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from app.settings import Settings
    from graphrag.ingest import IngestReport, Progress, Tell
    from graphrag.ingest.sync import Live
    from graphrag.store import GraphStore

_SHOWN = 40
out = Console()
err = Console(stderr=True)


def run(
    settings: Settings, folders: Sequence[Path] | None, tenant: str, *, refit: bool, strict: bool, as_json: bool
) -> None:
    """Ingest these folders, or with None every folder that was ingested before and what live systems say. Ends the
    program with status 1 when the graph fails, and with `strict` when a file was skipped; 2 for a folder that is not
    there."""
    from graphrag.errors import GraphError

    missing = [str(folder) for folder in folders or () if not folder.is_dir()]
    if missing:
        err.print(f"No such folder: {', '.join(missing)}.", markup=False)
        raise typer.Exit(2)
    try:
        report = asyncio.run(_run(settings, folders, tenant, refit))
    except GraphError as error:
        err.print(str(error), markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    if as_json:
        out.print_json(json.dumps(asdict(report)))
    else:
        _print(report)
    if strict and report.failures:
        raise typer.Exit(1)


async def _run(settings: Settings, folders: Sequence[Path] | None, tenant: str, refit: bool) -> IngestReport:
    from app.graph_open import open_graph
    from app.reading import open_reading
    from graphrag.ingest import ingest, known_places

    async with open_graph(settings, refit=refit) as (graph, embedding):
        if folders is None:
            folders = await known_places(graph, tenant)
            if not folders and not settings.servers:
                err.print("There is nothing to bring up to date yet: run `incident-graph ingest DIR` first.")
                raise typer.Exit(2)
            live = _live(settings, graph, tenant)
        else:
            live = _nothing_live()
        async with live as asked, open_reading(settings) as reading:
            now = datetime.now(UTC)
            with _bar() as tell:
                return await ingest(
                    graph, embedding, tenant, folders, refit=refit, now=now, live=asked, reading=reading, tell=tell
                )


@asynccontextmanager
async def _live(settings: Settings, graph: GraphStore, tenant: str) -> AsyncGenerator[Live | None]:
    if not settings.servers:
        yield None
        return
    from app.live_sources import LiveSources, owned_in
    from connectors.mcp import McpFleet

    async with McpFleet(settings.servers) as fleet:
        await fleet.wait_ready(settings.tool_seconds)
        yield LiveSources(fleet, settings.tool_seconds, owned_in(graph, tenant))


@asynccontextmanager
async def _nothing_live() -> AsyncGenerator[Live | None]:
    yield None


@contextmanager
def _bar() -> Generator[Tell]:
    """What a run tells, as a bar with counts and the time that is left; nothing where nobody looks."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    times = (TextColumn("elapsed"), TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    with Bar(*columns, *times, console=err, transient=True, disable=not err.is_terminal) as bar:
        tasks: dict[str, TaskID] = {}

        def tell(progress: Progress) -> None:
            if progress.stage not in tasks:
                tasks[progress.stage] = bar.add_task(progress.stage, total=progress.total)
            bar.update(tasks[progress.stage], completed=progress.done, total=progress.total)

        yield tell


def _print(report: IngestReport) -> None:
    documents = f"{report.read} read, {report.unchanged} unchanged, {report.gone} gone"
    facts = f"{report.seen} seen, {report.added} added, {report.confirmed} confirmed, {report.closed} closed"
    out.print(f"Documents: {documents}.", markup=False, highlight=False)
    out.print(f"Facts: {facts}.", markup=False, highlight=False)
    out.print(f"Communities: {report.communities}.", markup=False, highlight=False)
    _list("Conflicting, a person has to decide", report.conflicts)
    _list("Unresolved, nobody defines the name", report.dangling)
    _list("Kept out by a correction", report.denied)
    if report.proposals:
        out.print(
            f"{report.proposals} pairs of names read alike and may be one thing: see GET /v1/proposals.", markup=False
        )
    _list("Skipped, wholly or in part", [f"{path}: {reason}" for path, reason in report.failures], err)


def _list(what: str, lines: Sequence[str], console: Console = out) -> None:
    if not lines:
        return
    console.print(f"{what} ({len(lines)}):", markup=False, highlight=False)
    for line in lines[:_SHOWN]:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    if len(lines) > _SHOWN:
        console.print(f"  and {len(lines) - _SHOWN} more; --json lists them all.", markup=False, highlight=False)
