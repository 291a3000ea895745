"""Reads what a page tells of a past incident: when, how bad, what it affected, who responded, what it is related to.

Front matter comes first, then the text. Nothing is guessed: what the text does not support stays out, and what can be
read in two ways is not read.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import unquote

from graphrag.identity import name_key, name_words
from graphrag.ingest.incident_times import times
from graphrag.ingest.page import Page, plain
from graphrag.ingest.told import SENTENCE_END, Told, cells_of, items_of, told
from graphrag.ingest.yaml_documents import as_text, as_texts

INCIDENT_WORDS = ("postmortem", "postmortems", "post-mortem", "post-mortems", "incident", "incidents")
"""What a folder of past incidents is called, and what a page calls itself."""
INDEX_PAGES = ("readme", "index")
_SEVERITY = re.compile(
    r"(?<![\w-])(?:sev(?:erity)?(?:\s?-?\s?(?P<sev>\d))|(?P<letter>[sp])-?(?P<number>[0-5])|"
    r"(?P<word>critical|major|minor|severe|high|medium|moderate|low))(?![\w-])",
    re.IGNORECASE,
)
_SEVERITY_LINE = re.compile(r"\W{0,6}(?:severity|priority)\W{1,4}(.{1,20})$", re.IGNORECASE)
_SEV_IN_TITLE = re.compile(r"(?<![\w-])sev-?(\d)(?![\w-])", re.IGNORECASE)
_SPARED = re.compile(
    r"\bun(?:affected|impacted|touched|harmed)\b|\bno (?:[\w-]+ ){0,3}(?:impact|effect|affected|impacted)\b|"
    r"\b(?:not|never|n't) (?:[\w-]+ ){0,2}(?:affect|impact|touch|degrade|involve)\w{0,3}\b|"
    r"\b(?:stayed|remained|kept|continued|worked|healthy|normally|fine|except|other than|apart from)\b|n't ",
    re.IGNORECASE,
)
_HURT = re.compile(
    r"\b(?:fail\w{0,4}|error\w{0,2}|unavailab\w{0,6}|down|outage|degrad\w{0,6}|slow\w{0,4}|timeouts?|timed out|"
    r"affected|impacted|rejected|returned 5\w\w|5\d\d|5xx|lost|delayed|dropped|unreachable|offline|stopped|"
    r"crash\w{0,4}|could not|unable|broken|latency|unresponsive|hung)\b",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\b(?:because|due to|caused by|as a result of|owing to|after|when|while|since|until|triggered by|whose)\b",
    re.IGNORECASE,
)
_CODE = re.compile(r"`([^`\n]{1,100})`")
_LINK = re.compile(r"\[([^\[\]\n]{0,300})\]\(\s{0,3}<?([^()\s<>]{1,500})")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,98}\w")
_DISTINCT = re.compile(r"[a-zA-Z0-9][-_.][a-zA-Z0-9]|\d|[a-z][A-Z]")
_HEAD_END = re.compile(r"\s?[(:→]|\s[-\u2013\u2014]\s")
_AROUND = re.compile(r"^(?:the\s|@)|(?:\s(?:service|team|squad))$", re.IGNORECASE)
_LIKE = re.compile(
    r"\b(?:similar to|same (?:\w+ )?as|repeat of|recurrence of|duplicate of|related to)\b\W{0,4}(.{3,300})",
    re.IGNORECASE,
)
_UNLIKE = re.compile(r"\b(?:unrelated|unlike|not (?:\w+ ){0,2}(?:related|similar|same)|no relation)\b", re.IGNORECASE)
_TURNING = re.compile(r"\W{0,8}(?:previous|prev|next|back|up|home|index|newer|older)\b\W{0,8}\[", re.IGNORECASE)
_RELEASE = re.compile(
    r"[`*\s]{0,4}(?P<service>[\w.-]{1,100})`?[\s@:]{1,3}`?(?P<version>v?\d{1,6}(?:\.[\w+-]{1,20}){1,5})"
)
_QUOTES = "\"'\u201c\u201d\u2018\u2019"
_MAX_NAMES = 40
_MAX_TITLE_WORDS = 24


@dataclass(frozen=True, slots=True)
class Known:
    """What a page's names can mean. `services` and `teams`: key of a name -> the name of the one it means. `incidents`:
    path of a page -> the name of its incident; `titles`: key of that name -> the name."""

    services: Mapping[str, str] = field(default_factory=dict[str, str])
    teams: Mapping[str, str] = field(default_factory=dict[str, str])
    incidents: Mapping[str, str] = field(default_factory=dict[str, str])
    titles: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Story:
    """What is told of an incident, each part empty where nothing supports it. Times are aware and in UTC; a day alone
    is told as its midnight. `unread`: what the front matter says and cannot be read, in words."""

    started_at: datetime | None = None
    resolved_at: datetime | None = None
    severity: str = ""
    services: tuple[str, ...] = ()
    teams: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def read_story(page: Page, path: str, known: Known) -> Story:
    """What the page at `path` (relative to its folder) tells. Front matter's names are taken as they are; of the text,
    only names that are known, and links to pages that lie where incidents lie."""
    text = told(page.body)
    started, resolved, unread = times(page, path, text)
    return Story(
        started_at=started,
        resolved_at=resolved,
        severity=as_text(page.front.get("severity")) or _severity(page, text),
        services=_front_names(page, ("service", "services", "affected"), known.services) or _services(text, known),
        teams=_front_names(page, ("responders", "responded_by", "teams", "team"), known.teams) or _teams(text, known),
        related=_front_related(page, known) or _related(page, path, text, known),
        releases=_front_names(page, ("introduced_by", "release"), {}) or _releases(text, known),
        unread=unread,
    )


def tells_when(page: Page, path: str) -> bool:
    """Whether the page says on which day what it tells of began."""
    return times(page, path, told(page.body))[0] is not None


# What and who ---------------------------------------------------------------------------------------------------------


def _severity(page: Page, text: Told) -> str:
    """The one severity that is told; a template's choice of several tells none."""
    lines = (match.group(1) for line in text.lines[:200] if (match := _SEVERITY_LINE.match(line)))
    for value in (*text.fields.get("severity", ()), *lines):
        alone = value.strip(" .*_`")
        found = list(dict.fromkeys(map(_as_severity, _SEVERITY.finditer(value[:120].split("(")[0]))))
        if len(alone) == 1 and alone in "012345":
            return alone
        if len(found) == 1 or (len(found) == 2 and found[1].islower() != found[0].islower()):
            return found[0]
    title = _SEV_IN_TITLE.search(page.title)
    return f"SEV-{title.group(1)}" if title else ""


def _as_severity(match: re.Match[str]) -> str:
    if match["sev"]:
        return f"SEV-{match['sev']}"
    return match["word"].lower() if match["word"] else f"{match['letter'].upper()}{match['number']}"


def _front_names(page: Page, keys: Sequence[str], known: Mapping[str, str]) -> tuple[str, ...]:
    texts = (text for key in keys for text in as_texts(page.front.get(key)) if name_key(text))
    return tuple(dict.fromkeys(known.get(name_key(text), text) for text in texts))


def _services(text: Told, known: Known) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for value in text.fields.get("services", ()):
        rows = (line for line in value.split("\n") if not (cells_of(line) and _SPARED.search(line)))
        for item in items_of("\n".join(rows)):
            if not _SPARED.search(item[:300]):
                found |= dict.fromkeys(_listed(item, known.services))
    for line in (*text.impact, *text.fields.get("impact", ())):
        found |= dict.fromkeys(_hurt(line, known.services))
    return tuple(found)[:_MAX_NAMES]


def _listed(item: str, known: Mapping[str, str]) -> Iterator[str]:
    """What an entry of a list of names means: what it begins with, what is marked as code, what is plainly a name."""
    head = _HEAD_END.split(plain(item[:300]), maxsplit=1)[0].strip(" .,*_")
    for name in (head, _AROUND.sub("", _AROUND.sub("", head))):
        if meant := known.get(name_key(name)):
            yield meant
            return
    yield from _marked(item[:300], known)


def _marked(text: str, known: Mapping[str, str]) -> Iterator[str]:
    """The known names among what is marked as code, and among words that nobody writes but as a name."""
    words = [*(match.group(1) for match in _CODE.finditer(text))]
    words += (match.group() for match in _NAME.finditer(plain(text)) if _DISTINCT.search(match.group()))
    return (meant for word in words if (meant := known.get(name_key(word))))


def _hurt(line: str, known: Mapping[str, str]) -> Iterator[str]:
    """The services that a line about the impact says were hurt: not those that were spared, nor those it names as the
    cause."""
    if cells := cells_of(line):
        yield from _hurt_in(cells[0], known) if not _SPARED.search(line) else ()
        return
    for sentence in SENTENCE_END.split(line.lstrip(" -*+")):
        if not _SPARED.search(sentence) and (_HURT.search(sentence) or _HEAD_END.search(sentence)):
            told_first, _, rest = sentence.partition(", ")
            yield from _hurt_in(rest if _CAUSE.match(told_first) else _CAUSE.split(sentence, maxsplit=1)[0], known)


def _hurt_in(text: str, known: Mapping[str, str]) -> Iterator[str]:
    whole = not _HURT.search(text)
    return _marked(_HEAD_END.split(text, maxsplit=1)[0] if whole else text, known)


def _teams(text: Told, known: Known) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for value in text.fields.get("teams", ()):
        for item in items_of(value):
            for each in (item, item.rpartition("/")[2]):
                found |= dict.fromkeys(_listed(each, known.teams))
    return tuple(found)[:_MAX_NAMES]


def _releases(text: Told, known: Known) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for value in text.fields.get("releases", ()):
        match = _RELEASE.match(value)
        if match and (service := known.services.get(name_key(match["service"]))):
            found[f"{service} {match['version']}"] = None
    return tuple(found)[:_MAX_NAMES]


# Other incidents ------------------------------------------------------------------------------------------------------


def _front_related(page: Page, known: Known) -> tuple[str, ...]:
    names = _front_names(page, ("related", "related_to"), {})
    return tuple(dict.fromkeys(known.incidents.get(name, name) for name in names))


def _related(page: Page, path: str, text: Told, known: Known) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for line in text.lines:
        if _TURNING.match(line) or _UNLIKE.search(line):
            continue
        for link in _LINK.finditer(line):
            if name := _incident_at(link.group(2), path, known):
                found[name] = None
        if like := _LIKE.search(line[:600]):
            found |= dict.fromkeys(_titled(like.group(1), known))
    for value in text.fields.get("related", ()):
        for item in value.split("\n"):
            found |= dict.fromkeys(_titled(item, known))
    found.pop(known.incidents.get(path, page.title), None)
    return tuple(found)[:_MAX_NAMES]


def _incident_at(link: str, path: str, known: Known) -> str:
    """The incident whose page a relative link means: seen from the page, else from the folder. One that is still to be
    read goes by its path, as in front matter."""
    target = unquote(link.partition("#")[0].partition("?")[0])
    if not target or "://" in target:
        return ""
    for base in (posixpath.dirname(path), ""):
        place = posixpath.normpath(posixpath.join(base, target.lstrip("/") if not base else target))
        for ending in ("", ".md"):
            if place + ending in known.incidents:
                return known.incidents[place + ending]
    place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    return place if place != path and _holds_an_incident(place) else ""


def _holds_an_incident(path: str) -> bool:
    """Whether a page that nobody has read yet is an incident's by its place."""
    *folders, file = path.lower().split("/")
    stem, _, ending = file.rpartition(".")
    return ending in ("md", "markdown") and stem not in INDEX_PAGES and not set(folders).isdisjoint(INCIDENT_WORDS)


def _titled(text: str, known: Known) -> Iterator[str]:
    """The incident whose name the text begins with, the longest there is. A name of one word may be any word."""
    words = plain(text[:600]).strip(f" -*+.0123456789){_QUOTES}").split(" ")[:_MAX_TITLE_WORDS]
    for count in range(len(words), 0, -1):
        name = known.titles.get(name_key(" ".join(words[:count]).strip(f".,;:()*_{_QUOTES}")))
        if name and (count > 1 or len(name_words(name)) > 1 or len(words) == 1):
            yield name
            return
