"""Turns an HTML page into the Markdown that `graphrag.ingest.page` reads: its outline, text, lists and links."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from graphrag.ingest.folder import Failure, SourceFile

MAX_TEXT = 1024 * 1024
_MAX_LINK = 1_500
_DROPPED = frozenset(
    "script style template noscript iframe object svg math nav form select button textarea canvas audio video".split()
)
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLOCKS = frozenset(
    "p div section article main header footer aside address figure figcaption details summary dl dt dd table thead"
    " tbody tfoot caption body html fieldset".split()
)
_ROW_ENDS = frozenset({"tr", "table", "thead", "tbody", "tfoot"})
_PIECE = re.compile(
    r"""<!--[\s\S]*?-->|(</?[A-Za-z](?:[^<>"']{0,500}(?:"[^"]{0,2000}"|'[^']{0,2000}')){0,30}[^<>"']{0,500}>)"""
    r"|<[!?][^<>]{0,500}>|<"
)
_MARKS = re.compile(r"\A(?:#{1,6}\s+|-{3,}\s*\Z|\.{3}\s*\Z|(?:```|~~~)+)+")
_NOT_IN_LINK = re.compile(r"[\[\]()<>\s]")
_MAX_DEPTH = 8


def read_html(file: SourceFile) -> tuple[SourceFile, list[Failure]]:
    """The same page with its text as Markdown."""
    failures: list[Failure] = []
    text = file.text
    if len(text) > MAX_TEXT:
        failures.append((file.path, f"is longer than {MAX_TEXT // 1024:,} Ki characters; the rest was not read"))
        text = text[:MAX_TEXT]
    return SourceFile(file.path, markdown_of(text)), failures


def markdown_of(html: str) -> str:
    """The page as Markdown: a first-level heading (else the title) first, code fenced, menus and scripts dropped."""
    reader = _Reader()
    reader.feed(_well_formed(html))
    reader.close()
    return reader.text()


def _well_formed(html: str) -> str:
    """The page with whole tags only: any other `<` becomes text; comments and declarations go. On what never closes,
    the parser's time grows with the square of the page, and worse."""
    closing = html.rfind("-->") + 1
    return _PIECE.sub(_kept, html[:closing] + html[closing:].replace("<!--", "&lt;!--"))


def _kept(match: re.Match[str]) -> str:
    return match.group(1) or ("" if match.group(0) != "<" else "&lt;")


def _row_of(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


@dataclass(slots=True)
class _List:
    ordered: bool
    number: int = 0


@dataclass(slots=True)
class _Line:
    """The text that is being read. `mark` is what its first line begins with, `indent` what the next ones do."""

    parts: list[str] = field(default_factory=list[str])
    mark: str = ""
    indent: str = ""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[str] = []
        self._title: list[str] = []
        self._line = _Line()
        self._lists: list[_List] = []
        self._row: list[str] | None = None
        self._link: tuple[str, int] | None = None
        self._code: list[str] | None = None
        self._dropped: list[str] = []
        self._in_title = False
        self._has_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = not self._title
            return
        self._in_title = False
        if self._dropped:
            if tag == self._dropped[-1] and tag not in _VOID:
                self._dropped.append(tag)
        elif tag in _DROPPED:
            self._dropped.append(tag)
        elif tag in ("ul", "ol"):
            self._end_line()
            self._lists.append(_List(tag == "ol"))
        else:
            self._open(tag, dict(attrs))

    def _open(self, tag: str, attrs: dict[str, str | None]) -> None:
        if tag in _HEADINGS:
            self._end_line()
            self._line.mark = f"{'#' * _HEADINGS[tag]} "
        elif tag == "li":
            self._end_line()
            self._begin_item()
        elif tag == "tr":
            self._end_row()
            self._end_line()
            self._row = []
        elif tag in ("td", "th"):
            self._end_cell() if self._row is not None else self._end_line()
        elif tag == "pre":
            self._end_line()
            self._code = []
        elif tag == "a":
            self._link = ((attrs.get("href") or "").strip(), len(self._line.parts))
        elif tag in ("br", "hr") or tag in _BLOCKS:
            self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        elif self._dropped:
            if tag == self._dropped[-1]:
                self._dropped.pop()
        else:
            self._close(tag)

    def _close(self, tag: str) -> None:
        if tag in ("ul", "ol"):
            self._end_line()
            if self._lists:
                self._lists.pop()
        elif tag == "pre":
            self._end_code()
        elif tag == "a":
            self._end_link()
        elif tag in _ROW_ENDS:
            self._end_row()
        elif tag in ("td", "th"):
            self._end_cell()
        elif tag == "li" or tag in _HEADINGS or tag in _BLOCKS:
            self._break(tag)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
        elif self._code is not None:
            self._code.append(data)
        elif not self._dropped:
            self._line.parts.append(data)

    def text(self) -> str:
        self._end_row()
        self._end_code()
        self._end_line()
        title = " ".join("".join(self._title).split())
        first = [f"# {title}", ""] if title and not self._has_heading else []
        # What begins with a rule would be taken for front matter.
        return "\n".join([*first, *self._lines]).strip("\n") + "\n"

    def _begin_item(self) -> None:
        depth = min(len(self._lists), _MAX_DEPTH) - 1
        listed = self._lists[-1] if self._lists else _List(ordered=False)
        listed.number = min(listed.number + 1, 999)
        margin = "  " * max(depth, 0)
        self._line = _Line(mark=f"{margin}{listed.number}. " if listed.ordered else f"{margin}- ", indent=f"{margin}  ")

    def _break(self, tag: str) -> None:
        """A block ends the line; inside a table's cell or before an item's first word it is no more than a space."""
        if self._row is not None or tag == "br":
            self._line.parts.append(" ")
        elif self._line.mark and not self._written():
            return
        elif self._lists and tag != "li":
            indent = self._line.indent
            self._end_line()
            self._line = _Line(indent=indent, mark=indent)
        else:
            self._end_line()

    def _written(self) -> str:
        return " ".join("".join(self._line.parts).split())

    def _end_line(self) -> None:
        if self._row:  # a list or a heading in a cell: the table only lays the page out
            self._lines.append(_row_of(self._row))
        self._row = None
        text = self._written()
        line, self._line, self._link = self._line, _Line(), None
        if not text:
            return
        if line.mark.startswith("#"):
            self._has_heading |= line.mark == "# "
            self._lines += ["", f"{line.mark}{text}", ""]
        elif line.mark:
            self._lines.append(f"{line.mark}{text}")
        elif text := _MARKS.sub("", text).strip():
            self._lines += [text, ""]

    def _end_cell(self) -> None:
        if self._row is not None:
            if text := self._written():
                self._row.append(text.replace("|", "\\|"))
            self._line, self._link = _Line(), None

    def _end_row(self) -> None:
        if self._row is not None:
            self._end_cell()
            if self._row:
                self._lines.append(_row_of(self._row))
            self._row = None

    def _end_link(self) -> None:
        if self._link is None:
            return
        target, start = self._link
        self._link = None
        text = " ".join("".join(self._line.parts[start:]).split())
        followable = target and not target.startswith(("#", "javascript:", "data:")) and len(target) <= _MAX_LINK
        if text and followable and not _NOT_IN_LINK.search(target) and not set("[]") & set(text):
            del self._line.parts[start:]
            self._line.parts.append(f"[{text}]({target})")

    def _end_code(self) -> None:
        if self._code is None:
            return
        code = "".join(self._code).strip("\n")
        self._code = None
        longest = max((len(run) for run in re.findall(r"`{3,}", code)), default=2)
        fence = "`" * (longest + 1)
        if code.strip():
            self._lines += ["", fence, code, fence, ""]
