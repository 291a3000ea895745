"""Fills in the variables of Compose files and `.env` files: `$A`, `${A}`, `${A:-else}`, `$$`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from graphrag.ingest.sources.hosts import MAX_VALUE

_ASSIGNMENT = re.compile(r"\s*(?:export\s+)?([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*\Z")
_QUOTED = re.compile(r"""(["'])(.*?)\1""")
_MAX_NESTING = 20
_COMMENT = re.compile(r"(?:\A|\s)#.*\Z")
_VARIABLE = re.compile(r"\$(?:\$|([A-Za-z_]\w*)|\{([A-Za-z_]\w*)(?:(:?[-?+])([^{}$]*(?:\$\{[^{}]*\}[^{}$]*)*))?\})")


def read_env(text: str) -> dict[str, str]:
    """The assignments of a `.env` file, not yet filled in. Lines that are none are passed over."""
    values: dict[str, str] = {}
    for line in text.split("\n"):
        if match := _ASSIGNMENT.match(line[:MAX_VALUE]):
            name, value = match.groups()
            quoted = _QUOTED.match(value)
            values[name] = quoted.group(2) if quoted else _COMMENT.sub("", value)
    return values


@dataclass(slots=True)
class Variables:
    """`values` may name one another. What goes round in a circle, or grows past any sane value, is empty."""

    values: Mapping[str, str]
    _filled: dict[str, str] = field(default_factory=dict[str, str])

    def value(self, name: str, depth: int = 0) -> str | None:
        """What a variable stands for; None when nobody sets it."""
        if name not in self.values:
            return None
        if name not in self._filled:
            self._filled[name] = ""  # what a circle finds
            self._filled[name] = self.fill(self.values[name], depth)
        return self._filled[name]

    def fill(self, text: str, depth: int = 0) -> str:
        if len(text) > MAX_VALUE or depth > _MAX_NESTING:
            return ""
        filled = _VARIABLE.sub(lambda match: self._of(match, depth + 1), text)
        return filled if len(filled) <= MAX_VALUE else ""

    def _of(self, match: re.Match[str], depth: int) -> str:
        name = match.group(1) or match.group(2)
        if not name:
            return "$"
        operator, other = match.group(3) or "", match.group(4) or ""
        value = self.value(name, depth)
        given = bool(value) if operator.startswith(":") else value is not None
        if operator.endswith("+"):
            return self.fill(other, depth) if given else ""
        if operator.endswith("-") and not given:
            return self.fill(other, depth)
        return value or ""
