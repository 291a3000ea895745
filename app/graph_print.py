"""The graph's answers for a terminal: lines that fit 100 columns, in which nothing that was read is taken for markup or
for a command to the terminal."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from app.graph_records import Facts, Merged, Previewed, Ruled
from app.graph_views import HistoryPage, Listed, Lived, Owner, Profile, Radius, Related, Ways

WIDEST = 100
_JOINER = "\u200d"
"""Holds the parts of one emoji together; no other character without a glyph is printed."""
_SHOWN_FACTS = 10
_SHOWN_NAMES = 12


def console(*, stderr: bool = False) -> Console:
    found = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    return Console(
        stderr=stderr,
        highlight=False,
        markup=False,
        emoji=False,
        width=min(found.width, WIDEST) if found.is_terminal else WIDEST,
    )


def plain(text: str) -> str:
    """Text on one line without what moves a cursor or turns the direction of writing."""
    return "".join(
        each if each.isprintable() or each == _JOINER else " " if each.isspace() else "\ufffd" for each in text
    )


def profile_lines(found: Profile) -> RenderableType:
    grid = _grid()
    _row(grid, "also called", ", ".join(found.aliases))
    for index, owner in enumerate((found.owner, *found.further_owners)):
        _row(grid, "owner" if index == 0 else "", _owner(owner))
    for key, value in sorted(found.properties.items()):
        if key != "oncall_channel":
            _row(grid, key, ", ".join(value) if isinstance(value, tuple) else str(value))
    if found.criticality:
        _row(grid, "criticality", f"{found.criticality.score:.2f} of 1, counted by {found.criticality.basis}")
    _row(grid, "blast radius", _counted(found.blast_radius.services, found.blast_radius.truncated))
    _row(grid, "known", f"since {_day(found.life.valid_from)}; {_life(found.life, found.life.sources)}")

    def seen(each: Lived) -> str:
        # Where all comes from one place, to say so once is enough.
        return _life(each, () if each.sources == found.life.sources else each.sources)

    parts: list[RenderableType] = [Text(plain(found.name), "bold")]
    parts += [Text(plain(found.summary))] if found.summary else []
    parts += [grid]
    parts += _section("needs", found.dependencies, seen)
    parts += _section("needed by", found.dependents, seen)
    parts += _section("runbooks", found.runbooks, _place)
    parts += _section("documents", found.documents, _place)
    parts += _section("incidents", found.incidents, _incident)
    parts += _section("releases", found.releases, _release)
    parts += _section("also said of it, which settles nothing", found.relations, _said)
    return Group(*parts, *_as_of(found.as_of))


def history_lines(found: HistoryPage) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading, folded in (("from", False), ("until", False), ("fact", True), ("seen", False), ("by", True)):
        table.add_column(heading, no_wrap=not folded, overflow="fold", header_style="bold")
    for each in found.items:
        until = _minute(each.valid_to) if each.valid_to else "holds"
        fact, sources = Text(plain(each.fact)), Text(plain(", ".join(each.sources)))
        table.add_row(_minute(each.valid_from), until, fact, _times(each.confirmations), sources)
    parts = [table, *_rest(found.more)]
    return Group(Text(f"What is known of {plain(found.service)}, latest change first", "bold"), *parts)


def radius_lines(found: Radius) -> RenderableType:
    count = f"{found.count} service{'' if found.count == 1 else 's'}"
    tree = Tree(Text(plain(found.service), "bold"), guide_style="dim")
    branches: dict[tuple[str, ...], Tree] = {(found.service,): tree}
    for each in found.services:
        above = branches.get(each.path[:-1], tree)
        branches[each.path] = above.add(Text(plain(each.name)))
    title = f"{count} hurt within {found.hops} hops when {plain(found.service)} fails; each needs the one above it."
    if not found.count:
        return Group(Text(f"No service is known to need {plain(found.service)}."), *_as_of(found.as_of))
    cut = [Text("The cap cut this: there are more. Ask with a higher --cap.", "yellow")] if found.truncated else []
    return Group(Text(title), tree, *cut, *_as_of(found.as_of))


def ways_lines(found: Ways) -> RenderableType:
    ends = f"{plain(found.start.name)} and {plain(found.end.name)}"
    if found.length is None:
        more = " A cap cut the search, so there may be one." if found.truncated else ""
        return Group(Text(f"No path of at most {found.hops} edges joins {ends}.{more}"), *_as_of(found.as_of))
    if found.length == 0:
        return Text(f"Both are {plain(found.start.name)}.")
    grid = _grid()
    for number, each in enumerate(found.paths, start=1):
        for index, step in enumerate(each.steps):
            grid.add_row("" if index else f"{number}.", Text(plain(step.fact)))
    edges = "one edge" if found.length == 1 else f"{found.length} edges"
    title = Text(f"{_plural(len(found.paths), 'shortest path')} of {edges} between {ends}")
    return Group(title, grid, *_rest(found.truncated), *_as_of(found.as_of))


def preview_lines(seen: Previewed) -> RenderableType:
    grid = _grid()
    _row(grid, "new names", ", ".join(seen.gained))
    _row(grid, "moves", _facts(seen.moved))
    _row(grid, "joins", _facts(seen.combined))
    _row(grid, "ends", _facts(seen.ended))
    now, then = seen.blast_radius.keep_before, seen.blast_radius.after
    if now.count or then.count:
        _row(grid, "blast radius", f"{_plural(now.count, 'service')} now, {then.count} then")
        _row(grid, "newly in it", _some([name for name in then.services if name not in now.services]))
    title = f"{seen.drop.name} would become a name of {seen.keep.name} ({seen.keep.label}). Nothing has changed yet."
    parts: list[RenderableType] = [Text(plain(title), "bold"), grid]
    conflicts = (f"They contradict each other: {one.about} is {one.keep} and {one.drop}." for one in seen.conflicts)
    parts += [Text(plain(conflict), "red") for conflict in conflicts]
    return Group(*parts)


def confirmation(seen: Previewed, command: Sequence[str]) -> str:
    """What confirms a merge, to be copied; `command` is what asked for the preview."""
    words = [*command, "--token", seen.token, *(["--force"] if seen.conflicts else [])]
    return f"{' '.join(shlex.quote(plain(word)) for word in words)} --reason 'WHY'"


def merge_lines(done: Merged) -> RenderableType:
    kept, dropped = map(plain, done.names)
    if done.undone_at:
        return Text(f"Undone: {kept} and {dropped} are two again.")
    return Text(f"{dropped} is a name of {kept} now. The merge is {done.id}; --undo takes it back.")


def merges_lines(found: Listed[Merged]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading, folded in (("id", False), ("at", False), ("what", True), ("by", True), ("why", True)):
        table.add_column(heading, no_wrap=not folded, overflow="fold", header_style="bold")
    for each in found.items:
        kept, dropped = each.names
        undone = f" (undone {each.undone_at[:10]})" if each.undone_at else ""
        what, by, why = (Text(plain(text)) for text in (f"{dropped} into {kept}{undone}", each.by, each.reason))
        table.add_row(each.id, each.at[:16].replace("T", " "), what, by, why)
    return Group(table, *_rest(found.more)) if found.items else Text("Nothing was merged.")


def rule_lines(rule: Ruled) -> RenderableType:
    if rule.lifted_at:
        return Text(plain(f"Lifted: {_condition(rule)} says nothing of {rule.name} any more."))
    return Text(plain(f"Alerts with {_condition(rule)} are about {rule.name}. The rule is {rule.id}; lift it by that."))


def rules_lines(found: Listed[Ruled]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading, folded in (("id", False), ("at", False), ("what", True), ("by", True), ("why", True)):
        table.add_column(heading, no_wrap=not folded, overflow="fold", header_style="bold")
    for each in found.items:
        lifted = f" (lifted {each.lifted_at[:10]})" if each.lifted_at else ""
        said = f"{_condition(each)} is {each.name}{lifted}"
        what, by, why = (Text(plain(text)) for text in (said, each.by, each.reason))
        table.add_row(each.id, each.at[:10], what, by, why)
    return Group(table, *_rest(found.more)) if found.items else Text("There are no rules.")


def _condition(rule: Ruled) -> str:
    return f"{rule.label}={rule.value}" + (f" of the alert {rule.alertname}" if rule.alertname else "")


def _grid() -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    return grid


def _row(grid: Table, heading: str, text: str) -> None:
    """Add what there is, and leave out what there is not."""
    if text:
        grid.add_row(Text(plain(heading)), Text(plain(text)))


def _section(heading: str, found: Listed[Related], note: Callable[[Related], str]) -> list[RenderableType]:
    if not found.items:
        return []
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="fold", max_width=56)
    table.add_column(overflow="fold", style="dim")
    for each in found.items:
        table.add_row(Text(plain(_title(each))), Text(plain(note(each))))
    more = " (the first; there are more)" if found.more else ""
    return [Text(f"{heading}{more}", "bold"), Padding(table, (0, 0, 0, 2))]


def _said(found: Related) -> str:
    return f"{found.verb}; nobody defines this name" if found.properties.get("unresolved") else found.verb


def _title(found: Related) -> str:
    title = found.properties.get("title")
    return str(title) if title else found.name


def _place(found: Related) -> str:
    return str(found.properties.get("path") or found.properties.get("url") or "")


def _incident(found: Related) -> str:
    parts = (found.properties.get(key) for key in ("started_at", "severity", "status"))
    return ", ".join(str(part)[:10] for part in parts if part)


def _release(found: Related) -> str:
    return str(found.properties.get("released_at", ""))[:10]


def _owner(owner: Owner) -> str:
    who = " in ".join(part for part in (owner.team, owner.channel) if part)
    return who or "nobody is known to own it"


def _life(found: Lived, sources: Sequence[str]) -> str:
    by = f" by {', '.join(sources)}" if sources else ""
    return f"seen {_times(found.confirmations)}{by}, last {_day(found.last_seen)}"


def _counted(names: Sequence[str], truncated: bool) -> str:
    return f"{'more than ' if truncated else ''}{_plural(len(names), 'service')}{': ' if names else ''}{_some(names)}"


def _some(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + rest


def _facts(facts: Facts) -> str:
    if not facts.count:
        return ""
    rest = f"; and {facts.count - _SHOWN_FACTS} more" if facts.count > _SHOWN_FACTS else ""
    return "; ".join(each.fact for each in facts.shown[:_SHOWN_FACTS]) + rest


def _rest(more: bool) -> list[RenderableType]:
    return [Text("There are more than these.", "yellow")] if more else []


def _as_of(moment: datetime | None) -> list[RenderableType]:
    return [Text(f"As of {_minute(moment)} UTC.", "dim")] if moment else []


def _plural(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _day(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d}"


def _minute(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
