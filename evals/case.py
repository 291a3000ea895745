"""An evaluation case: what comes in, and what may rightly come out. Pure but for reading and writing files of cases."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

_STARTED = "2025-04-01T00:00:00Z"
_STILL_FIRING = "0001-01-01T00:00:00Z"


class NoData(Exception):
    """What was asked for cannot be read; the message is one sentence that says what and where."""


class Expect(BaseModel):
    """Any of the names in a list is right; a list that is not there does not count. `community` is what an answer
    should cover, all of it. `abstain`: no service can be told from this, so naming one is wrong. `route` is what a
    question is about; of one about how two things hang together any `path` is right, by the names on it."""

    model_config = ConfigDict(frozen=True)

    service: tuple[str, ...] = ()
    team: tuple[str, ...] = ()
    runbook: tuple[str, ...] = ()
    root: tuple[str, ...] = ()
    community: tuple[str, ...] = ()
    abstain: bool = False
    route: Literal["", "point", "paths", "whole"] = ""
    path: tuple[tuple[str, ...], ...] = ()


class Case(BaseModel):
    """`webhook` is a body as Alertmanager sends it (version 4); a case has either it or a `question`."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(min_length=1)
    webhook: Mapping[str, Any] | None = None
    question: str = ""
    expect: Expect

    @property
    def body(self) -> bytes:
        """The webhook's body as it comes over the wire."""
        return json.dumps(self.webhook).encode()

    @model_validator(mode="after")
    def _has_one_input(self) -> Case:
        if (self.webhook is None) == (not self.question):
            raise ValueError("a case has either a webhook or a question")
        return self


def read_cases(file: Path) -> list[Case]:
    """The cases of a file, one a line. Raises `NoData` that names the first line which is none."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NoData(f"The cases in {file} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    cases: list[Case] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            cases.append(Case.model_validate_json(line))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            reason = f"{where}: {first['msg']}" if where else str(first["msg"])
            raise NoData(f"Line {number} of {file} is no case ({reason}).") from error
    if not cases:
        raise NoData(f"{file} holds no case.")
    return cases


def write_cases(file: Path, cases: Iterable[Case]) -> None:
    lines = (json.dumps(case.model_dump(exclude_defaults=True), ensure_ascii=False, sort_keys=True) for case in cases)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def with_own_ids(cases: Iterable[Case]) -> list[Case]:
    """The cases, each id its own: the second of one id gets `#2`."""
    seen: dict[str, int] = {}
    told: list[Case] = []
    for case in cases:
        count = seen[case.id] = seen.get(case.id, 0) + 1
        told.append(case.model_copy(update={"id": f"{case.id}#{count}"}) if count > 1 else case)
    return told


def alert(labels: Mapping[str, str], annotations: Mapping[str, str], expression: str) -> dict[str, Any]:
    """One firing alert of a webhook body."""
    printed = json.dumps(dict(labels), sort_keys=True)
    return {
        "status": "firing",
        "labels": dict(labels),
        "annotations": {key: value for key, value in annotations.items() if value},
        "startsAt": _STARTED,
        "endsAt": _STILL_FIRING,
        "generatorURL": f"http://prometheus.example/graph?g0.expr={quote(expression)}&g0.tab=1" if expression else "",
        "fingerprint": hashlib.sha256(printed.encode()).hexdigest()[:16],
    }


def webhook(alerts: Sequence[Mapping[str, Any]], group: Mapping[str, str]) -> dict[str, Any]:
    """The body that announces these alerts as one group."""
    return {
        "version": "4",
        "groupKey": f"{{}}:{json.dumps(dict(group), sort_keys=True)}",
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "incident-graph",
        "groupLabels": dict(group),
        "commonLabels": _common([each["labels"] for each in alerts]),
        "commonAnnotations": _common([each["annotations"] for each in alerts]),
        "externalURL": "http://alertmanager.example",
        "alerts": list(alerts),
    }


def _common(mappings: Sequence[Mapping[str, str]]) -> dict[str, str]:
    if not mappings:
        return {}
    first, *rest = mappings
    return {key: value for key, value in first.items() if all(each.get(key) == value for each in rest)}
