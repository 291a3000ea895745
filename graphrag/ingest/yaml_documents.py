"""Reads YAML that strangers wrote: within bounds, and each scalar as it was written.

`version: 2.10` stays `2.10` and `name: on` stays `on`; only an empty value or `null` is None. Merge keys are not
expanded, for nested ones grow without bound.
"""

from __future__ import annotations

import itertools
import re
from typing import Any, ClassVar, cast

import yaml

MAX_ALIASES = 100
MAX_DEPTH = 50
_NULL = "tag:yaml.org,2002:null"
_NULLS = re.compile(r"(?:~|null|Null|NULL|)$")
_SEPARATOR = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_yaml: Any = yaml  # it has no types
_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class BrokenYaml(ValueError):
    """The text is no YAML, or more than is reasonable; the message says where and why."""


class _Loader(_Base):
    """A safe loader that gives nothing but null a meaning of its own."""

    yaml_implicit_resolvers: ClassVar = {first: [(_NULL, _NULLS)] for first in ("~", "n", "N", "")}


def split_documents(text: str) -> list[tuple[int, str]]:
    """The documents of a YAML file with the number of the line each starts on. They are told apart before they are
    parsed, so that a broken one costs no other: `---` at the start of a line is a separator wherever it stands."""
    starts = [0, *(match.start() for match in _SEPARATOR.finditer(text)), len(text)]
    documents: list[tuple[int, str]] = []
    line = 1
    for start, end in itertools.pairwise(starts):
        part = text[start:end]
        if part.strip():
            documents.append((line, part))
        line += part.count("\n")
    return documents


def parse_yaml(text: str, first_line: int = 1) -> object:
    """What one YAML document says, in dicts, lists, strings and None. Raises `BrokenYaml`."""
    try:
        _check_bounds(text)
        return cast(object, _yaml.load(text, Loader=_Loader))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        where = f" on line {mark.line + first_line}" if mark else ""
        raise BrokenYaml(f"broken YAML{where}: {error.problem or error.context or 'cannot be read'}") from error
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, BrokenYaml):
            raise
        raise BrokenYaml(f"broken YAML: {str(error).splitlines()[0] if str(error) else 'cannot be read'}") from error


def _check_bounds(text: str) -> None:
    aliases = depth = 0
    for event in _yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            aliases += 1
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if aliases > MAX_ALIASES:
            raise BrokenYaml(f"YAML with more than {MAX_ALIASES} aliases")
        if depth > MAX_DEPTH:
            raise BrokenYaml(f"YAML nested more than {MAX_DEPTH} deep")


def as_mapping(value: object) -> dict[str, object]:
    """The mapping with its text keys; empty for anything else."""
    if not isinstance(value, dict):
        return {}
    return {key: item for key, item in cast(dict[object, object], value).items() if isinstance(key, str)}


def as_text(value: object) -> str:
    """The scalar on one line; empty for anything else."""
    return " ".join(value.split()) if isinstance(value, str) else ""


def as_texts(value: object) -> tuple[str, ...]:
    """A list of scalars, or one scalar with commas in it, as texts without duplicates."""
    items = cast(list[object], value) if isinstance(value, list) else as_text(value).split(",")
    return tuple(dict.fromkeys(text for item in items if (text := as_text(item))))
