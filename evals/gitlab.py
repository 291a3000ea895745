"""GitLab.com's runbooks as an organisation's folder and cases (the data's README says what it holds)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.case import Case, Expect, NoData, with_own_ids, write_cases
from evals.forms import Rule, as_written, bears, expression_only, live, text_only
from evals.organisation import Service, Team, copy_files, fresh_folder, write_catalogue
from evals.reading import data_folder, read_json, read_json_lines, read_yaml

LABEL = "type"
"""The label in which GitLab's alerts say whose they are."""
_CATALOGUE = "services/service-catalog.yml"
_TEAMS = "services/teams.yml"
_TO_RUNBOOK = "truth/alert_to_runbook.json"
_TO_SERVICE = "truth/alert_to_service.jsonl"
_DEPENDENCIES = "truth/service_dependencies.json"
_OWN_PAGE = re.compile(r"https://gitlab\.com/gitlab-com/runbooks/-/(?:blob|tree)/master/([^?#]+)")


@dataclass(frozen=True)
class Pair:
    """An alert and whose it is."""

    rule: Rule
    service: str
    owner: str


def convert(data: Path, out: Path) -> dict[str, int]:
    """Write `out/org` and the files of cases; returns how many cases each file holds. Raises `NoData`."""
    data_folder(data, _CATALOGUE)
    try:
        return _convert(data, out)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NoData(f"{data} is not laid out as expected ({type(error).__name__}: {error}).") from error


def _convert(data: Path, out: Path) -> dict[str, int]:
    catalogue = read_yaml(data / _CATALOGUE)["services"]
    dependencies = read_json(data / _DEPENDENCIES) if (data / _DEPENDENCIES).is_file() else []
    teams = read_yaml(data / _TEAMS)["teams"] if (data / _TEAMS).is_file() else []
    files: dict[str, list[Case]] = {}
    if (data / _TO_RUNBOOK).is_file():
        files["runbook"] = runbook_cases(read_json(data / _TO_RUNBOOK))
    if (data / _TO_SERVICE).is_file():
        pairs = [pair_of(row) for row in read_json_lines(data / _TO_SERVICE)]
        files |= service_cases(pairs, {entry["name"]: aliases_of(entry) for entry in catalogue})
    folder = fresh_folder(out)
    pages = copy_files(data, folder, lambda path: path.suffix == ".md" or path.as_posix() == "CODEOWNERS")
    write_catalogue(folder, map(team_of, teams), services_of(catalogue, dependencies, pages))
    for name, cases in files.items():
        write_cases(out / f"{name}.jsonl", cases)
    return {f"{name}.jsonl": len(cases) for name, cases in files.items()}


# The organisation (pure) ----------------------------------------------------------------------------------------------


def team_of(entry: Mapping[str, Any]) -> Team:
    return Team(entry["name"], entry.get("slack_alerts_channel") or entry.get("slack_channel") or "")


def services_of(
    catalogue: Iterable[Mapping[str, Any]], dependencies: Iterable[Mapping[str, Any]], pages: Collection[str]
) -> list[Service]:
    """The services of the catalogue, and those that only the metrics catalogue has an entry of."""
    needs = {entry["type"]: _needs(entry) for entry in dependencies}
    services = [
        Service(
            name=entry["name"],
            owner=entry.get("owner") or "",
            tier=entry.get("tier") or "",
            description=_description(entry),
            aliases=aliases_of(entry),
            needs=needs.pop(entry["name"], ()),
            runbooks=_guides(entry, pages),
        )
        for entry in catalogue
    ]
    return [*services, *(Service(name, needs=others) for name, others in needs.items())]


def aliases_of(entry: Mapping[str, Any]) -> tuple[str, ...]:
    """The service's label in the issue tracker and the name people call it by."""
    label = (entry.get("label") or "").removeprefix("Service::")
    return tuple(dict.fromkeys(name for name in (label, entry.get("friendly_name")) if name and name != entry["name"]))


def _needs(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(name for name, true in entry["deps"].items() if true is True and name != entry["type"])


def _description(entry: Mapping[str, Any]) -> str:
    parts = (entry.get("technical") or {}).get("sub_components") or []
    names = ", ".join(part for part in parts if isinstance(part, str))
    return ". ".join(text for text in (entry.get("friendly_name"), names and f"Consists of {names}") if text)


def _guides(entry: Mapping[str, Any], pages: Collection[str]) -> tuple[str, ...]:
    """The page of this folder that the catalogue calls the service's guide; of a directory, its README."""
    match = _OWN_PAGE.match(((entry.get("technical") or {}).get("documents") or {}).get("sre_guide") or "")
    path = match[1].rstrip("/") if match else ""
    return tuple(page for page in (path, f"{path}/README.md") if page in pages)


# The cases (pure) -----------------------------------------------------------------------------------------------------


def rule_of(row: Mapping[str, Any]) -> Rule:
    notes = {"title": row.get("title") or "", "description": row.get("description") or ""}
    return Rule(row["alert"], {key: str(value) for key, value in row["labels"].items()}, notes, row["expr"])


def pair_of(row: Mapping[str, Any]) -> Pair:
    return Pair(rule_of(row), row["truth_service"], row.get("truth_owner") or "")


def runbook_cases(rows: Iterable[Mapping[str, Any]]) -> list[Case]:
    return with_own_ids(
        Case(id=row["alert"], webhook=as_written(rule_of(row)), expect=Expect(runbook=(row["truth_runbook"],)))
        for row in rows
    )


def service_cases(pairs: Sequence[Pair], aliases: Mapping[str, Sequence[str]]) -> dict[str, list[Case]]:
    """File -> cases. In the text form an alert whose name several services share is a case of its own kind."""
    sharing: dict[str, dict[str, None]] = defaultdict(dict)
    for pair in pairs:
        sharing[pair.rule.name][pair.service] = None
    alone = [pair for pair in pairs if len(sharing[pair.rule.name]) == 1]
    shared = [pair for pair in pairs if len(sharing[pair.rule.name]) > 1]

    def names(pair: Pair) -> tuple[str, ...]:
        return (pair.service, *aliases.get(pair.service, ()))

    def text(pair: Pair) -> dict[str, Any]:
        return text_only(pair.rule, LABEL, names(pair))

    files = {
        "service-live": [_case(pair, live(pair.rule, LABEL, pair.service)) for pair in pairs],
        "service-expression": [_case(pair, expression_only(pair.rule, LABEL)) for pair in pairs],
        "service-text": [_case(pair, text(pair)) for pair in alone],
        "service-shared-names": list(_shared_cases([(pair, text(pair), names(pair)) for pair in shared], sharing)),
    }
    return {name: with_own_ids(cases) for name, cases in files.items() if cases}


def _case(pair: Pair, body: Mapping[str, Any]) -> Case:
    team = (pair.owner,) if pair.owner else ()
    return Case(id=f"{pair.rule.name}/{pair.service}", webhook=body, expect=Expect(service=(pair.service,), team=team))


def _shared_cases(
    texts: Sequence[tuple[Pair, Mapping[str, Any], Sequence[str]]], sharing: Mapping[str, Collection[str]]
) -> Iterator[Case]:
    """One case for each body that can be told from the others. Where the words name the service after all it is the
    answer; else any of the services that share the name may be meant, and none may be named."""
    worded: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for pair, _, _ in texts:
        worded[_words(pair.rule)].add(pair.service)
    seen: set[str] = set()
    for pair, body, names in texts:
        key = repr(body)
        if key in seen:
            continue
        seen.add(key)
        words = _words(pair.rule)
        if len(worded[words]) == 1 and bears(" ".join(words[1:]), names):
            yield Case(id=f"{pair.rule.name}/{pair.service}", webhook=body, expect=Expect(service=(pair.service,)))
        else:
            expect = Expect(service=tuple(sharing[pair.rule.name]), abstain=True)
            yield Case(id=pair.rule.name, webhook=body, expect=expect)


def _words(rule: Rule) -> tuple[str, ...]:
    return (rule.name, *rule.annotations.values())
