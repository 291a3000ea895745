"""Makes facts of CODEOWNERS files: which team owns the folder of a service."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from graphrag.identity import name_key
from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.found import Found, as_name
from graphrag.ingest.summarise import team_summary
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, Ref

_CONFIDENCE = 0.8
_MAX_LINES = 20_000
_MAX_LINE = 4_000
_PLACES = (".github", "", "docs", ".gitlab")  # where the hosts look, the first file wins
_SECTION = re.compile(r"\^?\[([^\]\n]{1,200})\](?:\[\d{1,3}\])?(.*)\Z")
_UNESCAPED_SPACE = re.compile(r"(?<!\\)\s+")
_TEAM = re.compile(r"@([\w.-]+(?:/[\w.-]+)+)\Z")
_EVERYTHING = frozenset({"", "*", "**", "**/*"})
_ABOUT_OTHERS = frozenset(
    "doc docs documentation test tests e2e spec specs runbook runbooks dashboard dashboards alerts rules .github"
    " .gitlab adr adrs examples".split()
)

_Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Rule:
    """`path` are the names of the folder that a rule is for, none of them for the whole repository. A rule `anywhere`
    is for every folder that ends so. One with a `pattern` is for some files only and covers no folder."""

    path: _Path
    anywhere: bool
    owners: tuple[str, ...]
    pattern: str = ""

    def covers(self, folder: _Path) -> bool:
        if self.pattern:
            return False
        if not self.anywhere:
            return folder[: len(self.path)] == self.path
        size = len(self.path)
        return any(folder[start : start + size] == self.path for start in range(len(folder) - size + 1))

    def covers_file(self, path: _Path) -> bool:
        if not self.pattern:
            return self.covers(path)
        where = path[-1:] if self.anywhere else path
        return fnmatchcase("/".join(where), self.pattern)


@dataclass(slots=True)
class _Section:
    """GitLab decides each section of a file by itself. `owners` are those of its rules that name none."""

    owners: tuple[str, ...] = ()
    rules: list[_Rule] = field(default_factory=list[_Rule])


def is_codeowners_file(path: str) -> bool:
    return path.rpartition("/")[2] == "CODEOWNERS"


def read_codeowners(
    files: Iterable[SourceFile], services: Mapping[str, str], teams: Mapping[str, str], repository: str = ""
) -> Found:
    """Who owns which service. `services`, `teams`: key of a name -> the service or team it means. `repository`: the
    name of the folder that `files` are paths in; of a repository inside it the name is its own folder's.

    A folder belongs to a service when it has its name, a repository likewise. The last rule that covers it counts. A
    team that nobody knows is made of the last part of `@organisation/team`; people are no teams.
    """
    found = Found()
    owned: dict[str, dict[str, None]] = defaultdict(dict)
    for base, file in _by_repository(files).items():
        sections = _sections(file, found)
        name = base.rpartition("/")[2] or repository
        for service, folder in _service_folders(sections, services, name):
            for section in sections:
                for owner in _owners(section, folder):
                    owned[service][owner] = None
    _add(found, owned, teams)
    return found


@dataclass(frozen=True, slots=True)
class Review:
    """The team that CODEOWNERS give a file to, and which of their rules does so: files of one `rule` go together."""

    team: str
    rule: tuple[str, int]


def reviews_of(files: Iterable[SourceFile], paths: Iterable[str], teams: Mapping[str, str]) -> dict[str, Review]:
    """By path, the one known team that CODEOWNERS name for the file. Where they name several, or people, or a team that
    nobody knows, there is none. `teams`: key of a name -> the team it means."""
    wanted = list(paths)
    if not wanted:
        return {}
    found: dict[str, Review] = {}
    for base, file in _by_repository(
        files
    ).items():  # of repositories within each other the inner one counts, it is later
        sections = _sections(file, Found())
        for path in wanted:
            if not base or path.startswith(f"{base}/"):
                parts = tuple(path[len(base) :].strip("/").split("/"))
                if (review := _review(base, sections, parts, teams)) is not None:
                    found[path] = review
    return found


def _review(base: str, sections: Sequence[_Section], path: _Path, teams: Mapping[str, str]) -> Review | None:
    chosen = [
        next(((at, rule) for at, rule in reversed(list(enumerate(section.rules))) if rule.covers_file(path)), None)
        for section in sections
    ]
    owners = {owner for each in chosen if each for owner in each[1].owners}
    if len(owners) != 1 or (match := _TEAM.match(owners.pop())) is None:
        return None
    team = teams.get(name_key(match.group(1))) or teams.get(name_key(match.group(1).rpartition("/")[2]))
    section, rule = next((number, each[0]) for number, each in enumerate(chosen) if each)
    return Review(team, (f"{base} {section}", rule)) if team else None


def _by_repository(files: Iterable[SourceFile]) -> dict[str, SourceFile]:
    """Of each repository the one file that counts."""
    ranked: dict[str, tuple[int, SourceFile]] = {}
    for file in files:
        folder = file.path.rpartition("/")[0]
        base, _, last = folder.rpartition("/")
        place = last if last in _PLACES else ""
        base = base if place else folder
        rank = _PLACES.index(place)
        if is_codeowners_file(file.path) and (base not in ranked or rank < ranked[base][0]):
            ranked[base] = (rank, file)
    return {base: file for base, (_, file) in sorted(ranked.items())}


def _sections(file: SourceFile, found: Found) -> list[_Section]:
    sections: dict[str, _Section] = {"": _Section()}
    current = sections[""]
    lines = file.text.split("\n")
    if len(lines) > _MAX_LINES:
        found.fail(file.path, f"has more than {_MAX_LINES:,} lines; the rest was not read")
    for number, line in enumerate(lines[:_MAX_LINES], 1):
        text = line.strip()
        if len(text) > _MAX_LINE:
            found.fail(file.path, f"line {number} is longer than {_MAX_LINE:,} characters; it was not taken")
        elif not text or text.startswith("#"):
            continue
        elif header := _SECTION.match(text):
            current = sections.setdefault(header.group(1).strip().lower(), _Section())
            current.owners = _owners_in(header.group(2).split()) or current.owners
        elif text.startswith("!"):
            found.fail(file.path, f"line {number} begins with `!`, which excludes nothing here; it was not taken")
        else:
            current.rules.append(_rule(text, current.owners))
    return list(sections.values())


def _owners_in(words: Sequence[str]) -> tuple[str, ...]:
    comment = next((index for index, word in enumerate(words) if word.startswith("#")), len(words))
    return tuple(words[:comment])


def _rule(text: str, default: tuple[str, ...]) -> _Rule:
    """A rule that is for some files only, such as `*.js`, says nothing about a folder as a whole."""
    pattern, *words = _UNESCAPED_SPACE.split(text)
    pattern = pattern.replace("\\ ", " ").replace("\\#", "#")
    owners = _owners_in(words) or default
    if pattern.strip("/") in _EVERYTHING:
        return _Rule((), anywhere=False, owners=owners)
    rooted = "/" in pattern.rstrip("/") and not pattern.startswith("**/")
    for end in ("/**", "/*", "/"):
        pattern = pattern.removesuffix(end)
    plain = pattern.removeprefix("**/").strip("/")
    if "*" in plain or "?" in plain:
        return _Rule((), not rooted, owners, plain)
    return _Rule(tuple(plain.split("/")), not rooted, owners)


def _service_folders(
    sections: Sequence[_Section], services: Mapping[str, str], repository: str
) -> list[tuple[str, _Path]]:
    """Each service with its folder: one that a rule is for and that has its name. Where there are several, those that
    hold something about it (its documents, its tests) are left out."""
    folders: dict[str, dict[_Path, None]] = defaultdict(dict)
    for section in sections:
        for rule in (each for each in section.rules if not each.pattern):
            name = rule.path[-1] if rule.path else repository
            if as_name(name) and (service := services.get(name_key(name))) is not None:
                folders[service][rule.path] = None
    chosen: list[tuple[str, _Path]] = []
    for service, paths in folders.items():
        own = [path for path in paths if _ABOUT_OTHERS.isdisjoint(name.lower() for name in path[:-1])]
        chosen += ((service, path) for path in own or paths)
    return chosen


def _owners(section: _Section, folder: _Path) -> tuple[str, ...]:
    return next((rule.owners for rule in reversed(section.rules) if rule.covers(folder)), ())


def _add(found: Found, owned: Mapping[str, Mapping[str, None]], teams: Mapping[str, str]) -> None:
    paths: dict[str, list[str]] = {}
    for service, owners in owned.items():
        paths[service] = [match.group(1) for owner in owners if (match := _TEAM.match(owner))]
    names = _team_names([path for each in paths.values() for path in each], teams)
    held: dict[str, list[str]] = defaultdict(list)
    for service, each in paths.items():
        for path in {names[path]: path for path in each}.values():
            held[path].append(service)
            source, target = Ref(Label.SERVICE, service), Ref(Label.TEAM, names[path])
            edge = EdgeFact(EdgeType.OWNED_BY, source, target, confidence=_CONFIDENCE)
            found.edges.append(edge)
    known = set(teams.values())
    for path, owns in held.items():
        if names[path] not in known:
            aliases = (path,) if names[path] != path else ()
            found.nodes.append(NodeFact(Label.TEAM, names[path], team_summary(names[path], "", owns), aliases))


def _team_names(paths: Iterable[str], teams: Mapping[str, str]) -> dict[str, str]:
    """`organisation/team` -> the team's name. Two unknown teams that only their organisations tell apart keep them."""
    same: dict[str, set[str]] = defaultdict(set)
    unique = list(dict.fromkeys(paths))
    for path in unique:
        same[name_key(path.rpartition("/")[2])].add(path)
    names: dict[str, str] = {}
    for path in unique:
        last = path.rpartition("/")[2]
        known = teams.get(name_key(path)) or teams.get(name_key(last))
        names[path] = known or (last if len(same[name_key(last)]) == 1 else path)
    return names
