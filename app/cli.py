"""The command `incident-graph`."""

from __future__ import annotations

import asyncio
import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from app.ingest_cli import run

    run(_settings(), folders, tenant, refit=refit, strict=strict, as_json=as_json)


@app.command()
def sync(
    tenant: Annotated[str, typer.Option(help="Whose data it is.")] = "default",
    strict: Annotated[bool, typer.Option(help="End with status 1 when a file was skipped.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the run report as JSON.")] = False,
) -> None:
    """Bring the graph up to date: every folder ingested before, and what the live systems say."""
    from app.ingest_cli import run

    run(_settings(), None, tenant, refit=False, strict=strict, as_json=as_json)


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
