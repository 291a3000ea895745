"""The commands `incident-graph graph …`: what the graph says, and what administrators mend in it."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn, TypeVar

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel
    from rich.console import RenderableType

    from app.graph_names import Graph
    from graphrag.model import History, View

T = TypeVar("T")
Answer = TypeVar("Answer", bound="BaseModel")

app = typer.Typer(no_args_is_help=True, help="Ask the graph, and mend it.")
rule = typer.Typer(no_args_is_help=True, help="Say which service alerts of a label are about.")
app.add_typer(rule, name="rule")

Name = Annotated[str, typer.Argument(help="A name, an alias or an id.")]
Tenant = Annotated[str, typer.Option(help="Whose data it is.")]
AsOf = Annotated[str, typer.Option("--as-of", metavar="TIME", help="What held then: 2026-03-01T12:00:00Z.")]
Json = Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")]


@app.command()
def show(
    name: Name,
    history: Annotated[bool, typer.Option("--history", help="Show what changed about it, and when.")] = False,
    tenant: Tenant = "default",
    as_of: AsOf = "",
    as_json: Json = False,
) -> None:
    """Show what is known about a service: owner, runbooks, what it needs and who needs it."""
    from app import graph_print as lines
    from app import graph_reads as reads

    if history:
        past = _ask(tenant, as_of, lambda graph, view: reads.history(graph, name, (), "", 100, None, view))
        _print(past, lines.history_lines, as_json)
    else:
        _print(_ask(tenant, as_of, lambda graph, view: reads.profile(graph, name, view)), lines.profile_lines, as_json)


@app.command("blast-radius")
def blast_radius(
    name: Name,
    hops: Annotated[int, typer.Option(min=0, max=10, help="How far chains of needs are followed.")] = 5,
    cap: Annotated[int, typer.Option(min=0, max=5000, help="The most services.")] = 500,
    tenant: Tenant = "default",
    as_of: AsOf = "",
    as_json: Json = False,
) -> None:
    """Show who hurts when a service fails, and through whom."""
    from app import graph_print as lines
    from app import graph_reads as reads

    found = _ask(tenant, as_of, lambda graph, view: reads.radius(graph, name, hops, cap, view))
    _print(found, lines.radius_lines, as_json)


@app.command()
def path(
    start: Annotated[str, typer.Argument(metavar="A", help="A name, an alias or an id.")],
    end: Annotated[str, typer.Argument(metavar="B", help="Another one.")],
    types: Annotated[list[str] | None, typer.Option(help="Only edges of this type; may be given again.")] = None,
    hops: Annotated[int, typer.Option(min=0, max=10, help="The longest path, in edges.")] = 6,
    tenant: Tenant = "default",
    as_of: AsOf = "",
    as_json: Json = False,
) -> None:
    """Show how two things hang together: the shortest paths between them."""
    from app import graph_print as lines
    from app import graph_reads as reads
    from app.graph_names import edge_types

    async def ask(graph: Graph, view: View) -> reads.Ways:
        return await reads.ways(graph, start, end, edge_types(types or ()), hops=hops, view=view)

    _print(_ask(tenant, as_of, ask), lines.ways_lines, as_json)


@app.command()
def alias(
    name: Name,
    other: Annotated[str, typer.Argument(metavar="ALIAS", help="The further name.")],
    remove: Annotated[bool, typer.Option("--remove", help="Take the name away instead.")] = False,
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Let an entity answer to a further name."""
    from app import graph_changes as changes
    from app.graph_print import console, plain
    from app.graph_records import aliased

    act = changes.remove_alias if remove else changes.add_alias
    node = _ask(tenant, "", lambda graph, _: act(graph, name, other))
    if as_json:
        typer.echo(aliased(node).model_dump_json(indent=2))
        return
    names = ", ".join(node.aliases) or "no other name"
    console().print(plain(f"{node.name} ({node.label}) answers to {names}."))


@app.command()
def merge(
    keep: Annotated[str, typer.Argument(help="What stays: a name or an id.")] = "",
    drop: Annotated[str, typer.Argument(help="What becomes a name of it.")] = "",
    token: Annotated[str, typer.Option(help="The preview's token: without it nothing changes.")] = "",
    reason: Annotated[str, typer.Option(help="Why the two are one; kept with the merge.")] = "",
    force: Annotated[bool, typer.Option("--force", help="Merge although the two contradict each other.")] = False,
    undo: Annotated[str, typer.Option(metavar="ID", help="Take this merge back.")] = "",
    listed: Annotated[bool, typer.Option("--list", help="List the merges.")] = False,
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Make one entity of two that are one thing. The first call shows what would happen and how to confirm it."""
    from app import graph_changes as changes
    from app import graph_print as lines
    from app.graph_records import merged

    if [bool(keep and drop), bool(undo), listed].count(True) != 1 or bool(keep) != bool(drop):
        _end("Give two entities, KEEP and DROP, or --undo ID, or --list.", 2)
    if listed:
        _print(_ask(tenant, "", lambda graph, _: changes.merges(graph, 500)), lines.merges_lines, as_json)
    elif undo:
        undone = merged(_ask(tenant, "", lambda graph, _: changes.undo(graph, undo, _me())))
        _print(undone, lines.merge_lines, as_json)
    elif token:

        async def confirm(graph: Graph, _: View) -> changes.merging.Merge:
            return await changes.merge(graph, keep, drop, token=token, reason=reason, force=force, by=_me())

        _print(merged(_ask(tenant, "", confirm)), lines.merge_lines, as_json)
    else:
        command = [
            "incident-graph",
            "graph",
            "merge",
            keep,
            drop,
            *(["--tenant", tenant] if tenant != "default" else []),
        ]
        seen = _ask(tenant, "", lambda graph, _: changes.preview(graph, keep, drop))
        _print(seen, lines.preview_lines, as_json)
        if not as_json:
            # Not folded as other lines are: it is there to be copied.
            typer.echo(f"To merge them:\n  {lines.confirmation(seen, command)}")


@rule.command("add")
def rule_add(
    condition: Annotated[str, typer.Argument(metavar="KEY=VALUE", help="A label of alerts and its value.")],
    service: Annotated[str, typer.Argument(help="The service they are about: a name, an alias or an id.")],
    alert: Annotated[str, typer.Option(metavar="NAME", help="Only alerts of this name.")] = "",
    reason: Annotated[str, typer.Option(help="Why; kept with the rule.")] = "",
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Let alerts with a label be about a service. To correct an investigation, post to
    /v1/investigations/ID/correction."""
    from app import graph_print as lines
    from app import graph_rules as rules
    from app.graph_records import ruled
    from graphrag.label_rules import Condition

    label, _, value = condition.partition("=")

    async def add(graph: Graph, _: View) -> rules.LabelRule:
        return await rules.add_rule(graph, Condition(label, value, alert), service, reason=reason, by=_me())

    _print(ruled(_ask(tenant, "", add)), lines.rule_lines, as_json)


@rule.command("list")
def rule_list(tenant: Tenant = "default", as_json: Json = False) -> None:
    """List the rules, the latest first."""
    from app import graph_print as lines
    from app import graph_rules as rules

    _print(_ask(tenant, "", lambda graph, _: rules.rules(graph, 500)), lines.rules_lines, as_json)


@rule.command("lift")
def rule_lift(
    id: Annotated[str, typer.Argument(help="The rule's id, from the list.")],
    tenant: Tenant = "default",
    as_json: Json = False,
) -> None:
    """Take a rule back."""
    from app import graph_print as lines
    from app import graph_rules as rules
    from app.graph_records import ruled

    _print(ruled(_ask(tenant, "", lambda graph, _: rules.lift_rule(graph, id, _me()))), lines.rule_lines, as_json)


@app.command()
def export(
    form: Annotated[str, typer.Option("--format", help="json (everything) or graphml (what holds).")] = "json",
    output: Annotated[Path | None, typer.Option(help="A file; without it the export is printed.")] = None,
    tenant: Tenant = "default",
    as_of: AsOf = "",
) -> None:
    """Write the whole graph of a tenant to a file."""
    from graphrag.export import as_graphml, as_json

    forms = {"json": as_json, "graphml": as_graphml}
    if form not in forms:
        _end(f"There is no format {form!r}; there are json and graphml.", 2)

    async def read(graph: Graph, view: View) -> History:
        history = await graph.store.history(graph.tenant, None)
        return _held(history, view) if view.as_of else history

    text = forms[form](_ask(tenant, as_of, read)).encode()
    if output is None:
        typer.echo(text, nl=False)
        return
    try:
        output.write_bytes(text)
    except OSError as error:
        _end(f"{output} cannot be written: {error.strerror}.", 1)


def _held(history: History, view: View) -> History:
    """The facts that held at a time, as open as they were then."""
    moment = view.as_of
    assert moment is not None
    nodes = (each for each in history.nodes if each.life.holds_at(moment))
    edges = (each for each in history.edges if each.life.holds_at(moment))
    return replace(
        history,
        nodes=tuple(replace(each, life=replace(each.life, valid_to=None)) for each in nodes),
        edges=tuple(replace(each, life=replace(each.life, valid_to=None)) for each in edges),
    )


def _ask(tenant: str, as_of: str, ask: Callable[[Graph, View], Awaitable[T]]) -> T:
    """What `ask` finds in the tenant's graph. What a person can mend ends the command with a sentence."""
    from app.errors import AppError, refused
    from app.graph_names import Graph, view_of
    from app.graph_open import open_graph
    from app.settings import SettingsError, load_settings
    from graphrag.errors import GraphError, Refused

    async def run() -> T:
        view = view_of(as_of)
        settings = load_settings()
        async with open_graph(settings) as (store, embedding):
            return await ask(Graph(store, embedding.embed_queries, tenant, settings.told_keys), view)

    try:
        return asyncio.run(run())
    except SettingsError as error:
        _end(f"These settings cannot work:\n{error}", 2)
    except GraphError as error:
        _end(str(error), 1)
    except Refused as error:
        answer = refused(error)
        _end(answer.message, 2 if answer.status == 422 else 1)
    except AppError as error:
        _end(error.message, 2 if error.status == 422 else 1)


def _print(answer: Answer, lines: Callable[[Answer], RenderableType], as_json: bool) -> None:
    from app.graph_print import console

    if as_json:
        typer.echo(answer.model_dump_json(indent=2, by_alias=True))
    else:
        console().print(lines(answer))


def _end(sentence: str, status: int) -> NoReturn:
    from app.graph_print import console

    console(stderr=True).print(sentence, soft_wrap=True)
    raise typer.Exit(status)


def _me() -> str:
    """Who asks, for the records: tokens have no part here, so it is the user of the machine."""
    try:
        return f"{getpass.getuser()} at the command line"
    except (KeyError, OSError):
        return "the command line"
