"""Reads a Markdown page: its front matter, title, headings, steps and the plain text of its paragraphs.

Line by line rather than by a full parser: an organisation has thousands of pages, and only the outline is needed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from graphrag.ingest.yaml_documents import as_mapping, as_text, parse_yaml

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r" {0,3}(```+|~~~+)")
HEADING = re.compile(r" {0,3}(#{1,6})\s+(\S.*)$")
_UNDERLINE = re.compile(r" {0,3}=+\s*$")
_NUMBERED = re.compile(r" ?\d{1,3}[.)]\s+(\S.*)")
_BULLET = re.compile(r" ?[-*+]\s+(\S.*)")
_NESTED = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s")
_HTML = (
    "a|b|br|center|code|details|div|em|h[1-6]|hr|i|img|kbd|li|ol|p|pre|span|strong|sub|summary|sup|table|td|th|tr|ul"
)
_TAG = re.compile(rf"</?(?:{_HTML})(?:\s[^<>\n]{{0,300}})?/?>", re.IGNORECASE)
_LINK = re.compile(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,2000}\)")
_MARKS = re.compile(r"\*\*|__|`")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?=\S)([^*_\n]{1,300}?)\1(?!\w)")
_NOT_PROSE = re.compile(
    r"\s*(?:\||>|\[TOC\]|\[\[_TOC_\]\]|\*?\**Table of Contents\b|\*generated with|\[[^\]]+\]:|[-*_=]{3,}\s*$)"
)
_TO_A_SECTION = re.compile(r"\[[^\[\]]*\]\(#[^()]*\)\s*$")
_MAX_ITEMS = 40
_MAX_ITEM = 500
_MAX_LINE = 2_000
_MAX_PROSE = 1_200


@dataclass(slots=True)
class Page:
    """`body` is the text below the front matter, comments taken out; `prose` is its first paragraphs on one line;
    `steps` are the numbered items, in order."""

    front: dict[str, object] = field(default_factory=dict[str, object])
    body: str = ""
    title: str = ""
    headings: list[str] = field(default_factory=list[str])
    steps: list[str] = field(default_factory=list[str])
    bullets: list[str] = field(default_factory=list[str])
    prose: str = ""
    has_code: bool = False


def read_page(text: str) -> Page:
    """Raises `BrokenYaml` when there is front matter and it cannot be read."""
    match = _FRONT_MATTER.match(text)
    page = Page()
    body = text
    if match and match.group(1).strip():
        value = parse_yaml(match.group(1), 2)
        if isinstance(value, dict):  # else it is two rules with text between them
            page.front = as_mapping(value)  # pyright: ignore[reportUnknownArgumentType]
            body = text[match.end() :]
    elif match:
        body = text[match.end() :]
    page.body = _without_comments(body)
    _read_body(page)
    page.title = as_text(page.front.get("title")) or page.title
    return page


def _without_comments(text: str) -> str:
    """The text without HTML comments; one that does not end is left. Searched by hand: a pattern would start over at
    each of a million openings."""
    kept: list[str] = []
    start = 0
    while (opening := text.find("<!--", start)) >= 0 and (closing := text.find("-->", opening + 4)) >= 0:
        kept.append(text[start:opening])
        start = closing + 3
    return "".join((*kept, text[start:]))


def _read_body(page: Page) -> None:
    reader = _Reader(page)
    fence = ""
    for whole_line in page.body.split("\n"):
        line = whole_line[:_MAX_LINE]
        mark = FENCE.match(line)
        if fence:
            fence = "" if mark and mark.group(1).startswith(fence) else fence
        elif mark:
            fence = mark.group(1)
            page.has_code = True
        else:
            reader.read(line)
    page.prose = " ".join(reader.prose)[:_MAX_PROSE]


@dataclass(slots=True)
class _Reader:
    """Takes one line after another outside of code. `items` is the list that an indented line goes on with; `length`
    counts the characters of `prose`."""

    page: Page
    prose: list[str] = field(default_factory=list[str])
    items: list[str] | None = None
    length: int = 0

    def read(self, line: str) -> None:
        if heading := HEADING.match(line):
            self._head(len(heading.group(1)), plain(heading.group(2).rstrip("# \t")))
        elif _UNDERLINE.match(line) and self.prose and not self.page.title:
            self.page.title = self.prose.pop()
        elif numbered := _NUMBERED.match(line):
            self._add(self.page.steps, numbered.group(1))
        elif bullet := _BULLET.match(line):
            self._add(self.page.bullets, bullet.group(1))
        elif line.startswith("  ") and self.items is not None:
            self._go_on(line)
        elif line.strip():
            self.items = None
            if self.length < _MAX_PROSE and not _NOT_PROSE.match(line):
                self.prose.append(plain(line))
                self.length += len(self.prose[-1])

    def _head(self, level: int, text: str) -> None:
        self.items = None
        if level == 1 and not self.page.title:
            self.page.title = text
        elif text and len(self.page.headings) < _MAX_ITEMS:
            self.page.headings.append(text)

    def _add(self, items: list[str], text: str) -> None:
        if not _TO_A_SECTION.match(text) and len(items) < _MAX_ITEMS:
            items.append(plain(text))
            self.items = items

    def _go_on(self, line: str) -> None:
        if self.items and line.strip() and not _NESTED.match(line) and len(self.items[-1]) < _MAX_ITEM:
            self.items[-1] += f" {plain(line)}"


def plain(text: str) -> str:
    """Markdown's marks taken off: of a link its text stays."""
    text = _MARKS.sub("", _TAG.sub("", _LINK.sub(r"\1", text)))
    return " ".join(_EMPHASIS.sub(r"\2", text).split())
