"""Takes a passage's Markdown apart: paragraphs, list items, table rows, labelled lines and code, each on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from graphrag.ingest.page import FENCE

_MAX_TEXT = 40_000
"""Characters of a passage that are read: a passage has some 180 words, and what is longer is no prose."""
_MAX_CELLS = 12
_ITEM = re.compile(r"\s{0,12}(?:[-*+]|\d{1,3}[.)])\s{1,4}(?:\[[ xX]\]\s)?(?=\S)")
_RULE = re.compile(r"[\s|:*_=-]+\Z")
_LABEL = re.compile(
    r"[*_`\s]{0,4}(?P<label>[A-Za-z][A-Za-z ’'/-]{1,38}?)[*_`\s]{0,4}(?::|\s[-–—=]\s)[*_`]{0,3}(?P<value>\s.*|$)"
)
_SPACES = re.compile(r"\s+")


class Form(Enum):
    PARAGRAPH = auto()
    ITEM = auto()
    ROW = auto()  # of a table; the first row of each table is its head
    HEAD = auto()
    CODE = auto()


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a passage that is read by itself. Marks of Markdown are still in it. `cells` are a row's; of a
    paragraph or item such as "Owner: ..." they are the label and what it says."""

    form: Form
    text: str
    cells: tuple[str, ...] = ()


class Blocks:
    """Reads the passages of one page in turn. A block of code that a passage leaves open goes on in the next."""

    def __init__(self) -> None:
        self._fence = ""

    def of(self, passage: str) -> list[Block]:
        return list(self._read(passage[:_MAX_TEXT].split("\n")))

    def _read(self, lines: list[str]) -> Iterator[Block]:
        gathered: list[str] = []
        form, in_table = Form.PARAGRAPH, False
        if self._fence and any(_opens(line) for line in lines[:1]):
            self._fence = ""
        for line in lines:
            mark = FENCE.match(line)
            if mark or self._fence:
                yield from _joined(form, gathered)
                gathered, form, in_table = [], Form.PARAGRAPH, False
                yield from self._code(line, mark)
                continue
            text = line.strip().lstrip(">").strip()
            starts, kind = _start_of(line, text)
            if starts or not text:
                yield from _joined(form, gathered)
                gathered, form = [], kind
            if kind is Form.ROW and text:
                yield from _row(text, in_table)
                in_table = True
                continue
            in_table = False
            if text:
                gathered.append(text if kind is not Form.ITEM else _ITEM.sub("", line, count=1).strip())
        yield from _joined(form, gathered)

    def _code(self, line: str, mark: re.Match[str] | None) -> Iterator[Block]:
        if self._fence:
            if mark and mark.group(1).startswith(self._fence):
                self._fence = ""
            else:
                yield Block(Form.CODE, line)
        elif mark:
            self._fence = mark.group(1)


def _opens(line: str) -> bool:
    """Whether the line can only open a block of code, as it names the language."""
    mark = FENCE.match(line)
    return bool(mark and line[mark.end() :].strip())


def _start_of(line: str, text: str) -> tuple[bool, Form]:
    """Whether a line begins a block of its own, and of which form."""
    if text.startswith("|") or (text.count("|") >= 2 and text.endswith("|")):
        return True, Form.ROW
    if _ITEM.match(line):
        return True, Form.ITEM
    return _LABEL.match(text) is not None, Form.PARAGRAPH


def _joined(form: Form, lines: list[str]) -> Iterator[Block]:
    text = _SPACES.sub(" ", " ".join(lines)).strip()
    if not text or _RULE.match(text):
        return
    labelled = _LABEL.match(text)
    yield Block(form, text, (labelled["label"].strip(), labelled["value"].strip()) if labelled else ())


def _row(text: str, in_table: bool) -> Iterator[Block]:
    if _RULE.match(text):
        return
    cells = tuple(cell.strip() for cell in text.strip("|").split("|")[:_MAX_CELLS])
    yield Block(Form.ROW if in_table else Form.HEAD, " | ".join(cells), cells)
