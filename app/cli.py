"""The command `incident-graph`."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from app.graph_cli import app as graph

if TYPE_CHECKING:
    from app.settings import Settings

app = typer.Typer(
    no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, help="Incident response over a graph."
)
app.add_typer(graph, name="graph")
out = Console()
err = Console(stderr=True)


def main() -> None:
    app()


@app.command()
def serve() -> None:
    """Run the service with the settings of the environment."""
    # The start makes a great many objects that all stay; collecting among them takes a sixth of its time. Collecting
    # begins once the service is warm (`app.main`). So this comes before the settings, whose imports are large too.
    gc.disable()
    from app.serve import CannotStart, run

    try:
        run(_settings())
    except CannotStart as error:
        err.print(str(error), markup=False, soft_wrap=True)
        raise typer.Exit(1) from None


@app.command()
def demo(once: Annotated[bool, typer.Option("--once", help="End by itself once the report is shown.")] = False) -> None:
    """Show the main job on a sample organisation: an alert goes in, a report comes out."""
    from app.demo.run import run

    raise typer.Exit(run(once=once))


@app.command()
def ingest(
    folders: Annotated[list[Path], typer.Argument(help="Folders of an organisation's documents.")],
    tenant: Annotated[str, typer.Option(help="Whose data it is.")] = "default",
    refit: Annotated[bool, typer.Option(help="Fit the embedding anew and re-embed everything.")] = False,
    strict: Annotated[bool, typer.Option(help="End with status 1 when a file was skipped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the run report as JSON.")] = False,
) -> None:
    """Build or refresh the graph from an organisation's own files."""
    settings = _settings()
    missing = [str(folder) for folder in folders if not folder.is_dir()]
    if missing:
        err.print(f"No such folder: {', '.join(missing)}.", markup=False)
        raise typer.Exit(2)
    report = asyncio.run(_ingest(settings, folders, tenant, refit))
    if as_json:
        out.print_json(json.dumps(report, default=str))
    else:
        out.print(
            f"{report['seen']} facts seen: {report['added']} added, {report['confirmed']} confirmed, "
            f"{report['closed']} closed.",
            markup=False,
        )
        for line in report["dangling"]:
            out.print(f"  unresolved: {line}", markup=False)
        for line in report["denied"]:
            out.print(f"  kept out by a correction: {line}", markup=False)
        if report["proposals"]:
            out.print(
                f"{report['proposals']} pairs of names read alike and may be one thing: see GET /v1/proposals.",
                markup=False,
            )
        for path, reason in report["failures"]:
            err.print(f"  skipped {path}: {reason}", markup=False)
    if strict and report["failures"]:
        raise typer.Exit(1)


async def _ingest(settings: Settings, folders: list[Path], tenant: str, refit: bool) -> dict[str, Any]:
    from dataclasses import asdict

    from app.main import open_graph
    from graphrag.errors import GraphError
    from graphrag.ingest import ingest as run

    try:
        async with open_graph(settings, refit=refit) as (graph, embedding):
            report = await run(graph, embedding, tenant, folders, refit=refit, now=datetime.now(UTC))
    except GraphError as error:
        err.print(str(error), markup=False)
        raise typer.Exit(1) from error
    return asdict(report)


@app.command()
def doctor() -> None:
    """Check the settings against the real servers and say in plain words what is wrong."""
    from app.doctor import examine

    findings = asyncio.run(examine(_settings()))
    for finding in findings:
        sign = "[green]ok  [/green]" if finding.ok else "[red]bad [/red]"
        out.print(f"{sign} {finding.subject}: ", end="")
        out.print(finding.text, markup=False, highlight=False)
    raise typer.Exit(0 if all(finding.ok for finding in findings) else 1)


@app.command()
def replay(file: Path) -> None:
    """Rerun an investigation offline from its journal, and print the report."""
    from app.replay import replay as run

    try:
        report = run(json.loads(file.read_text(encoding="utf-8")))
    except OSError as error:
        err.print(f"{file} cannot be read: {error.strerror}.", markup=False)
        raise typer.Exit(2) from error
    except ValueError as error:
        err.print(f"{file} is not a journal of an investigation: {error}.", markup=False)
        raise typer.Exit(2) from error
    out.print_json(report.model_dump_json())


def _settings() -> Settings:
    from app.settings import SettingsError, load_settings

    try:
        return load_settings()
    except SettingsError as error:
        print(f"These settings cannot work:\n{error}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(2) from None
