"""Writes an organisation's folder in ordinary formats: Backstage entities, and files copied under their own paths."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from evals.case import NoData

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")
_ANSWERS = "truth"
_CATALOGUE = Path("org", "catalog", "services.yaml")


@dataclass(frozen=True)
class Team:
    """`channel` is a Slack channel without its `#`; empty when none is known."""

    name: str
    channel: str = ""


@dataclass(frozen=True)
class Service:
    """`needs` are names of services, defined or not; `runbooks` are paths in the folder."""

    name: str
    owner: str = ""
    tier: str = ""
    description: str = ""
    aliases: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    runbooks: tuple[str, ...] = ()


def fresh_folder(out: Path) -> Path:
    """`OUT/org`, empty. An earlier conversion there is replaced; anything else is left alone with `NoData`."""
    if out.exists() and not out.is_dir():
        raise NoData(f"{out} is no folder; name another with --out.")
    if out.exists() and any(out.iterdir()):
        if not (out / _CATALOGUE).is_file():
            raise NoData(f"{out} holds something else already; name an empty folder with --out.")
        shutil.rmtree(out / "org")
        for file in out.glob("*.jsonl"):
            file.unlink()
    (out / "org").mkdir(parents=True)
    return out / "org"


def write_catalogue(folder: Path, teams: Iterable[Team], services: Iterable[Service]) -> None:
    """`catalog/teams.yaml`, if there are teams, and `catalog/services.yaml`, one document an entity."""
    written = {"teams.yaml": [team_entity(team) for team in teams], "services.yaml": [*map(service_entity, services)]}
    (folder / "catalog").mkdir()
    for name, entities in written.items():
        if entities:
            text = yaml.safe_dump_all(entities, sort_keys=False, allow_unicode=True)
            (folder / "catalog" / name).write_text(text, encoding="utf-8")


def team_entity(team: Team) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": entity_name(team.name)}
    if team.channel:
        metadata["annotations"] = {"slack.com/bot-notify": f"#{team.channel.removeprefix('#')}"}
    return _entity("Group", metadata | _aliases(metadata, [team.name]), {"type": "team", "children": []})


def service_entity(service: Service) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": entity_name(service.name)}
    if service.description:
        metadata["description"] = service.description
    if service.tier:
        metadata["labels"] = {"tier": service.tier}
    metadata |= _aliases(metadata, [service.name, *service.aliases])
    if service.runbooks:
        metadata["links"] = [{"url": path, "title": "Guide", "type": "runbook"} for path in service.runbooks]
    spec: dict[str, Any] = {"type": "service", "lifecycle": "production"}
    if service.owner:
        spec["owner"] = f"group:default/{entity_name(service.owner)}"
    if service.needs:
        spec["dependsOn"] = [f"component:default/{entity_name(name)}" for name in service.needs]
    return _entity("Component", metadata, spec)


def entity_name(name: str) -> str:
    """The name with what Backstage allows in one: letters, digits and `-_.`."""
    return _NOT_IN_A_NAME.sub("-", name).strip("-_.")


def copy_files(data: Path, folder: Path, wanted: Callable[[Path], bool]) -> list[str]:
    """Copy the files of `data` that are wanted, the answers never; returns their paths, sorted."""
    paths = sorted(path.relative_to(data) for path in data.rglob("*") if path.is_file())
    copied = [path for path in paths if path.parts[0] != _ANSWERS and wanted(path)]
    for path in copied:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes((data / path).read_bytes())  # not its mode: the source may be read-only
    return [path.as_posix() for path in copied]


def _aliases(metadata: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The annotations with the other names; one with a comma cannot be written in a list with commas."""
    others = [name for name in dict.fromkeys(names) if name and name != metadata["name"] and "," not in name]
    if not others:
        return {}
    return {"annotations": {**metadata.get("annotations", {}), "incident-graph/aliases": ", ".join(others)}}


def _entity(kind: str, metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": "backstage.io/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec}
