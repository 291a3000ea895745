"""The databases' own words, read once. Fixed text: values reach it only as parameters."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import LiteralString, cast


@cache
def statements(file: str) -> tuple[LiteralString, ...]:
    """The statements of a file, in order, each ended by a semicolon."""
    bare = "\n".join(line for line in _text(file).splitlines() if not line.startswith(("--", "//")))
    return tuple(cast("LiteralString", part.strip()) for part in bare.split(";") if part.strip())


@cache
def named(file: str) -> dict[str, LiteralString]:
    """The queries of a file by name: each follows a line `// name: ...`."""
    parts = (part.partition("\n") for part in _text(file).split("// name: ")[1:])
    return {name.strip(): cast("LiteralString", text.strip()) for name, _, text in parts}


def _text(file: str) -> str:
    return (resources.files(__name__) / file).read_text(encoding="utf-8")
