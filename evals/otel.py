"""The OpenTelemetry demo shop as an organisation's folder and cases (the data's README says what it holds)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evals.case import Case, Expect, NoData, alert, webhook, with_own_ids, write_cases
from evals.organisation import Service, copy_files, fresh_folder, write_catalogue
from evals.reading import data_folder, read_json, read_yaml

LABEL = "service_name"
"""OpenTelemetry's `service.name`, as Prometheus spells it."""
_COMPOSE = "compose.yaml"
_DEPENDENCIES = "truth/service_dependencies.json"
_FAULTS = "truth/rootcause_cases.json"


def convert(data: Path, out: Path) -> dict[str, int]:
    """Write `out/org` and `out/root.jsonl`; returns how many cases each file holds. Raises `NoData`."""
    data_folder(data, _COMPOSE)
    try:
        return _convert(data, out)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise NoData(f"{data} is not laid out as expected ({type(error).__name__}: {error}).") from error


def _convert(data: Path, out: Path) -> dict[str, int]:
    composed = [read_yaml(file) for file in sorted(data.glob("compose*.y*ml"))]
    edges = read_json(data / _DEPENDENCIES) if (data / _DEPENDENCIES).is_file() else []
    cases = root_cases(read_json(data / _FAULTS)) if (data / _FAULTS).is_file() else []
    folder = fresh_folder(out)
    copy_files(data, folder, _is_ordinary)
    write_catalogue(folder, (), services_of(composed, edges))
    if not cases:
        return {}
    write_cases(out / "root.jsonl", cases)
    return {"root.jsonl": len(cases)}


def _is_ordinary(path: Path) -> bool:
    """Compose files with the variables they use, and pages."""
    return path.name == ".env" or path.suffix == ".md" or (path.suffix in (".yaml", ".yml") and "compose" in path.name)


def services_of(composed: Iterable[Mapping[str, Any]], edges: Iterable[Sequence[str]]) -> list[Service]:
    """The services that run, and those that only an edge of their own speaks of."""
    names = dict.fromkeys(name for file in composed for name in file.get("services") or {})
    needs: dict[str, list[str]] = {name: [] for name in names}
    for source, target in edges:
        if source != target:
            needs.setdefault(source, []).append(target)
    return [Service(name, needs=tuple(others)) for name, others in needs.items()]


def root_cases(faults: Iterable[Mapping[str, Any]]) -> list[Case]:
    """A fault a case: its alerts arrive as one group."""
    return with_own_ids(
        Case(
            id=fault["id"],
            webhook=webhook([_alert(name, service) for name, service in fault["alerts"]], {"namespace": "otel-demo"}),
            expect=Expect(root=tuple(fault["root_services"])),
        )
        for fault in faults
        if fault["alerts"] and fault["root_services"]
    )


def _alert(name: str, service: str | None) -> dict[str, Any]:
    labels = {"alertname": name, "namespace": "otel-demo"}
    return alert(labels | ({LABEL: service} if service else {}), {}, "")
