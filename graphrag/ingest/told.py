"""Takes a page of a past incident apart: what it tells in fields, and the lines that tell of its impact and its course.

`Severity: SEV-2`, `**Severity**: SEV-2`, `| Severity | SEV-2 |` and a section `## Severity` all tell one field.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from graphrag.ingest.page import FENCE, HEADING, plain

_WHAT = r"(?:incident|outage|impact|event)"
_FIELDS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "date": rf"(?:{_WHAT} )?date(?: of (?:the )?{_WHAT})?(?: ?(?:/|and|&) ?time(?: of (?:the )?{_WHAT})?)?|when|"
        r"occurred(?: on| at)?",
        "started": rf"(?:{_WHAT} )?(?:started|start|began|begin|onset)(?: at| on| time| date)?|(?:time|date) started|"
        rf"start of (?:the )?{_WHAT}",
        "resolved": rf"(?:{_WHAT} )?(?:resolved|ended|end|recovered|restored)(?: at| on| time| date)?|"
        rf"resolution (?:time|date)|end of (?:the )?{_WHAT}|(?:time|date) (?:resolved|ended)|all clear",
        "mitigated": r"mitigated(?: at| on)?|mitigation time|time mitigated",
        "duration": rf"(?:total )?(?:{_WHAT} )?duration(?: of (?:the )?{_WHAT})?|lasted|(?:total )?downtime",
        "time": rf"(?:{_WHAT} )?(?:times?|window|period)(?: of (?:the )?{_WHAT})?",
        "severity": rf"(?:{_WHAT} )?(?:severity|sev|priority)(?: level| rating)?",
        "services": r"(?:(?:directly )?(?:affected|impacted) )?(?:services?|systems?|components?|applications?)"
        r"(?: (?:affected|impacted))?|affected|impacted",
        "teams": r"responders?|responded by|respon(?:se|ding|der) teams?|(?:owning |on-?call |owner )?teams?"
        r"(?: involved| responsible| responding)?|(?:service )?owners?|owned by",
        "impact": r"(?:[a-z]+ )?impact",
        "related": r"(?:related|similar|previous|past|prior|linked|see also)"
        r"(?: (?:incidents?|post-?mortems?|outages?|to))?|(?:duplicate|recurrence|repeat) of",
        "releases": r"introduced by|(?:(?:culprit|causing|triggering|faulty|offending|bad) )?release|caused by release",
    }.items()
}
_IMPACT = re.compile(r"\bimpact\b", re.IGNORECASE)
_TIMELINE = re.compile(r"\btime ?line\b|\bchronology\b|\bsequence of events\b", re.IGNORECASE)
_ASIDE = re.compile(
    r"\b(?:actions?|follow[- ]?ups?|next steps|to-?dos?|lessons?|prevent\w{0,10}|corrective|recommendations?|"
    r"improvements?|glossary|references)\b",
    re.IGNORECASE,
)
_KEY = re.compile(r"\s{0,8}(?:[-*+]\s{1,4})?[*_]?([A-Za-z][A-Za-z /&()'-]{0,50}?)[*_]?\s?:(?!//)[*_]?(?:\s+|$)")
_BESIDE = re.compile(r"\s[|·•]\s|\s(?=\*\*[A-Z][A-Za-z /]{0,40}(?::\*\*|\*\*\s?:))")
_ITEM = re.compile(r"\s{0,12}(?:[-*+]|\d{1,3}[.)])\s{1,4}(?:\[[ x]\]\s)?")
_TABLE = re.compile(r"\s{0,3}\|")
_RULE = re.compile(r"[\s|:=-]{3,}$")
_ASIDE_IN_BRACKETS = re.compile(r"\([^()]{0,60}\)")
_BOLD_ALONE = re.compile(r"\s{0,3}\*\*([^*\n]{1,80})\*\*:?\s{0,4}$")
SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
_MAX_LINES = 10_000
_MAX_LINE = 2_000
_MAX_VALUES = 20
_MAX_VALUE_LINES = 100
_MAX_KEPT = 1_000


@dataclass(slots=True)
class Told:
    """`fields`: name -> the values told, each with its lines, Markdown's marks for code and links still in them.
    `impact`, `course` and `lines`: the lines below a heading that speaks of the impact, below one that speaks of the
    timeline (headings among them, each table row as it is), and all that are not about what is to be done next."""

    fields: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    impact: list[str] = field(default_factory=list[str])
    course: list[str] = field(default_factory=list[str])
    lines: list[str] = field(default_factory=list[str])

    def add(self, name: str, value: str) -> None:
        values = self.fields.setdefault(name, [])
        if value.strip() and len(values) < _MAX_VALUES:
            values.append(value)


@dataclass(slots=True)
class _Section:
    headings: tuple[str, ...]
    lines: list[str] = field(default_factory=list[str])


def told(body: str) -> Told:
    """What a page's Markdown (`graphrag.ingest.page.Page.body`) tells, read up to a bound of lines."""
    found = Told()
    for section in _sections(body):
        if any(_ASIDE.search(heading) for heading in section.headings):
            continue
        found.lines += section.lines[: _MAX_KEPT - len(found.lines)]
        heading = section.headings[-1] if section.headings else ""
        if any(_TIMELINE.search(each) for each in section.headings):
            found.course += (heading, *section.lines)[: _MAX_KEPT - len(found.course)]
            continue
        if any(_IMPACT.search(each) for each in section.headings):
            found.impact += section.lines[: _MAX_KEPT - len(found.impact)]
        if name := _field_of(_bare(heading)):
            found.add(name, "\n".join(section.lines[:_MAX_VALUE_LINES]))
        _add_fields(found, section.lines)
    return found


def items_of(value: str) -> Iterator[str]:
    """The entries of a list: lines, rows by their first cell, and what stands between commas."""
    for line in value.split("\n"):
        if cells := cells_of(line):
            yield cells[0]
            continue
        for part in re.split(r"[,;]\s|,(?=\S)|\s(?:and|&)\s", line[_item_start(line) :]):
            if part.strip():
                yield part.strip()


def cells_of(line: str) -> list[str]:
    """The cells of a table's row that holds something; none for any other line."""
    if not _TABLE.match(line) or _RULE.match(line):
        return []
    return [cell.strip() for cell in line.strip().strip("|").split("|")[:12]]


def _sections(body: str) -> list[_Section]:
    """The lines outside of code by the headings above them. A line in bold alone is the lowest heading."""
    above: list[tuple[int, str]] = []
    sections = [_Section(())]
    fence = ""
    for whole_line in islice(_lines(body), _MAX_LINES):
        line = whole_line[:_MAX_LINE]
        mark = FENCE.match(line)
        if fence:
            fence = "" if mark and mark.group(1).startswith(fence) else fence
        elif mark:
            fence = mark.group(1)
        elif heading := _heading(line, sections[-1].lines):
            level, text = heading
            above = [*(each for each in above if each[0] < level), (level, text)]
            sections.append(_Section(tuple(each for _, each in above)))
        elif line.strip():
            sections[-1].lines.append(line)
    return sections


def _lines(body: str) -> Iterator[str]:
    start = 0
    while (end := body.find("\n", start)) >= 0:
        yield body[start:end]
        start = end + 1
    yield body[start:]


def _heading(line: str, before: list[str]) -> tuple[int, str] | None:
    if match := HEADING.match(line):
        return len(match.group(1)), plain(match.group(2))[:200]
    if match := _BOLD_ALONE.match(line):
        return 7, plain(match.group(1))
    underlined = len(line) >= 3 and line.strip() and not line.strip().strip("-=")
    if underlined and before and len(before[-1]) <= 120 and not re.match(r"\s*[|>*+-]", before[-1]):
        return (1 if line[0] == "=" else 2), plain(before.pop())
    return None


def _bare(heading: str) -> str:
    """Without marks, numbering and signs before it."""
    return re.sub(r"^[^A-Za-z]{1,12}(?=[A-Za-z])", "", plain(heading).strip("# \t:"))[:200] or heading[:200]


def _add_fields(found: Told, lines: list[str]) -> None:
    for number, line in enumerate(lines):
        cells = cells_of(line)
        if len(cells) == 2:
            _add_field(found, cells[0], cells[1])
        elif not cells:
            _add_from_line(found, line, lines[number + 1 : number + 1 + _MAX_VALUE_LINES])


def _add_from_line(found: Told, line: str, below: list[str]) -> None:
    """`Key: value`, several of them side by side, or a key with a list below it."""
    for whole_part in _BESIDE.split(line):
        part = whole_part.replace("**", "").replace("__", "")
        match = _KEY.match(part)
        if match is None:
            continue
        value = part[match.end() :].strip()
        if not value:
            value = "\n".join(_list_at(below))
        _add_field(found, match.group(1), value)


def _list_at(lines: list[str]) -> Iterator[str]:
    for line in lines:
        key = _KEY.match(line.replace("**", ""))
        if not _ITEM.match(line) or (key and _field_of(_bare(key.group(1)))):
            return
        yield line


def _add_field(found: Told, key: str, value: str) -> None:
    if name := _field_of(_bare(key)):
        zone = _ASIDE_IN_BRACKETS.search(key.replace("(s)", ""))
        found.add(name, f"{value} {zone.group()}" if zone and "\n" not in value else value)


def _field_of(key: str) -> str:
    """The field that a key or a heading names; empty for any other."""
    bare = " ".join(_ASIDE_IN_BRACKETS.sub(" ", key.replace("(s)", "s")).split()).strip(" :*_")
    return next((name for name, pattern in _FIELDS.items() if pattern.fullmatch(bare)), "")


def _item_start(line: str) -> int:
    match = _ITEM.match(line)
    return match.end() if match else 0
