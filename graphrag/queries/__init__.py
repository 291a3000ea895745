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


@cache
def filled(query: LiteralString, **names: str) -> LiteralString:
    """The query with its placeholders (`__TYPE__`) filled in with names of our own closed lists, which must never come
    from outside: a type or a label cannot be a parameter.

    Cypher has dynamic types (`$any($types)`), but Neo4j 2026.08 was seen to answer them with relations of other nodes
    when a type was asked for that no relation has yet.
    """
    text: str = query
    for placeholder, name in names.items():
        text = text.replace(placeholder, name)
    return cast("LiteralString", text)


def _text(file: str) -> str:
    return (resources.files(__name__) / file).read_text(encoding="utf-8")
