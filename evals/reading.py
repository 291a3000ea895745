"""Reads the data's files: what is missing or broken there is told in one sentence that names the file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

from evals.case import NoData


def data_folder(data: Path, needed: str) -> Path:
    """The folder, which must hold `needed`."""
    if not data.is_dir():
        raise NoData(f"There is no data in {data}: no such folder.")
    if not (data / needed).is_file():
        raise NoData(f"{data} is not laid out as expected: it has no {needed}.")
    return data


def read_json(file: Path) -> Any:
    try:
        return json.loads(_text(file))
    except ValueError as error:
        raise NoData(f"{file} is no JSON ({error}).") from error


def read_json_lines(file: Path) -> list[Any]:
    try:
        return [json.loads(line) for line in _text(file).split("\n") if line.strip()]
    except ValueError as error:
        raise NoData(f"{file} is not one JSON value a line ({error}).") from error


def read_yaml(file: Path) -> Any:
    try:
        return yaml.safe_load(_text(file))
    except yaml.YAMLError as error:
        raise NoData(f"{file} is no YAML that can be read.") from error


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise NoData(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
