"""When an incident began and when it was over, as far as the page about it says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo

from graphrag.ingest.moments import YEARS, Stamp, duration, stamps, zone_in
from graphrag.ingest.page import Page
from graphrag.ingest.told import SENTENCE_END, Told
from graphrag.ingest.yaml_documents import as_text

_FRONT = {
    "started": ("started_at", "started", "start"),
    "date": ("date",),
    "resolved": ("resolved_at", "resolved", "ended_at", "end"),
}
_ABOUT = re.compile(
    r"\W{0,6}(?:(?:the|this|our)\s)?(?:(?:incident|outage|impact|disruption|degradation|downtime)\s)?(?:was\s)?"
    r"(?=(?:started|began|resolved|ended|mitigated|recovered|lasted)\s)",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?P<verb>started|began|resolved|ended|mitigated|recovered|lasted)(?:\s(?:at|on|for))?\s(?=\d)", re.IGNORECASE
)
_FIELD_OF_VERB = {"began": "started", "ended": "resolved", "recovered": "resolved", "lasted": "duration"}
_ENTRY = re.compile(r"\s{0,12}(?:[-*+]\s{1,4}|\d{1,3}[.)]\s{1,4}|#{1,6}\s)?[\s|*_`\[(]{0,8}")
_BEGINS = re.compile(
    r"\b(?:(?:incident|outage|impact|errors?|degradation|disruption)\s(?:starts?|started|begins?|began)|"
    r"start of (?:the )?(?:incident|outage|impact))\b",
    re.IGNORECASE,
)
_OVER = re.compile(
    r"\b(?:resolved(?! to\b)|recovered|all[- ]clear|back to normal|(?:fully|service|traffic) restored|end of (?:the )?"
    r"(?:incident|outage|impact)|incident closed|(?:incident|outage|impact)\s(?:ends|ended|over))\b",
    re.IGNORECASE,
)
_MITIGATED = re.compile(r"\bmitigated\b", re.IGNORECASE)
_NOT_YET = re.compile(r"\b(?:not|isn't|wasn't|never|nor|partially|partly|almost|nearly)\b", re.IGNORECASE)
_TIMES_ARE = re.compile(
    r"\btimes?\b[^.\n]{0,40}?\b(?:in|are)\s|\btimes?\s?\(|\btime ?line\b|\btime\s{0,3}\(", re.IGNORECASE
)
_TIMES_ELSEWHERE = re.compile(r"\ball times\b|\btimes are\b|\blocal time\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Clock:
    """How the page's times are meant where they do not say so themselves. `lost`: in a zone nobody can tell."""

    zone: tzinfo | None
    lost: bool

    def at(self, stamp: Stamp, day: date | None) -> datetime | None:
        if stamp.clock is not None and stamp.zone is None and self.lost:
            return None
        return stamp.at(day, self.zone)


def times(page: Page, path: str, text: Told) -> tuple[datetime | None, datetime | None, tuple[str, ...]]:
    """When it began, when it was over, and what of the front matter cannot be read, in words. `path` ends in the page's
    name, which may hold a day."""
    fields = {name: [stamps(value) for value in values] for name, values in text.fields.items() if name in _STAMPED}
    front, unread = _front_times(page)
    for name, stamp in front.items():
        fields[name] = [[stamp], *fields.get(name, [])]
    told_in_prose = _in_prose(text)
    for name, value in told_in_prose:
        if name in _STAMPED:
            fields.setdefault(name, []).append(stamps(value)[:1])
    clock = _zone_of(text)
    day = _day(fields, text, page, path)
    course = _course(text, day, clock)
    started = _started(fields, course, day, clock)
    durations = (duration(value) for value in (*text.fields.get("duration", ()), *_values(told_in_prose, "duration")))
    lasted = next((each for each in durations if each), None)
    resolved = _resolved(fields, course, started, clock, lasted)
    return started.moment, resolved, unread


_STAMPED = ("date", "started", "resolved", "mitigated", "time", "duration")


@dataclass(frozen=True, slots=True)
class _Start:
    """`to_the_minute` is false where only the day is known. `day` is the day as the page says it, in its own zone."""

    moment: datetime | None
    to_the_minute: bool
    day: date | None


def _front_times(page: Page) -> tuple[dict[str, Stamp], tuple[str, ...]]:
    found: dict[str, Stamp] = {}
    unread: list[str] = []
    for name, keys in _FRONT.items():
        key, text = next(((key, text) for key in keys if (text := as_text(page.front.get(key)))), ("", ""))
        if not text:
            continue
        stamp = _iso(text) or next(iter(stamps(text)), None)
        if stamp is None or stamp.unclear or (stamp.day is None and name != "resolved"):
            unread.append(f"{key} is no time that can be read in one way ({text[:40]}); the rest was taken")
        else:
            found[name] = stamp
    return found, tuple(unread)


def _iso(text: str) -> Stamp | None:
    """`fromisoformat` knows forms that people do not write. Of years far away no zone can be reckoned with."""
    try:
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        return None
    if moment.year not in YEARS:
        return None
    return Stamp(moment.date(), None if len(text) <= 10 else moment.time(), moment.tzinfo)


def _in_prose(text: Told) -> list[tuple[str, str]]:
    """`The incident started at 02:13 UTC and was resolved at 03:00`: field and value, of sentences about the incident
    itself."""
    found: list[tuple[str, str]] = []
    for line in text.lines[:200]:
        for sentence in SENTENCE_END.split(line[:600]):
            if not (about := _ABOUT.match(sentence)):
                continue
            verbs = list(_VERB.finditer(sentence, about.end()))
            ends = [*(each.start() for each in verbs[1:]), len(sentence)]
            for verb, following in zip(verbs, ends[: len(verbs)], strict=True):
                name = verb["verb"].lower()
                found.append((_FIELD_OF_VERB.get(name, name), sentence[verb.end() : following]))
    return found


def _values(pairs: Iterable[tuple[str, str]], name: str) -> Iterator[str]:
    return (value for key, value in pairs if key == name)


def _zone_of(text: Told) -> _Clock:
    for whole_line in (*text.course[:40], *text.lines[:200]):
        line = whole_line[:300]
        elsewhere = _TIMES_ELSEWHERE.search(line)
        if not (elsewhere or _TIMES_ARE.search(line)) or any(each.clock for each in stamps(line)):
            continue
        said, zone = zone_in(line)
        if said or elsewhere:
            return _Clock(zone, lost=zone is None)
    return _Clock(None, lost=False)


def _day(fields: Mapping[str, list[list[Stamp]]], text: Told, page: Page, path: str) -> date | None:
    """The day that times without one are of: what the fields say, else the timeline, else the page's title or name."""
    told_days = (
        each for name in ("started", "date", "time", "duration") for values in fields.get(name, ()) for each in values
    )
    if any(each.unclear and each.day is None for values in fields.get("date", ()) for each in values):
        told_days = (each for each in told_days if each.day)
    day = next((each.day for each in told_days if each.day and not each.unclear), None)
    if day is None:
        entries = (each.day for line in text.course[:100] for each in stamps(_entry(line))[:1] if each.start == 0)
        day = next((each for each in entries if each), None)
    for name in (page.title, path.rpartition("/")[2]) if day is None else ():
        days = {each.day for each in stamps(name) if each.day and not each.unclear}
        if len(days) == 1:
            return days.pop()
    return day


def _entry(line: str) -> str:
    """A timeline's line from where its time would stand."""
    match = _ENTRY.match(line)
    return line[match.end() :] if match else line


def _course(text: Told, day: date | None, clock: _Clock) -> list[tuple[datetime, date, str]]:
    """The timeline's entries: moment, day and words. An entry more than twelve hours before the one above it is of the
    next day, where nothing says which."""
    found: list[tuple[datetime, date, str]] = []
    for line in text.course:
        entry = _entry(line)
        stamp = next(iter(stamps(entry[:80])), None)
        if stamp is None or stamp.start > 0:
            continue
        day = stamp.day or day
        if stamp.clock is None or (moment := clock.at(stamp, day)) is None or day is None:
            continue
        if not stamp.day and found and found[-1][0] - moment > timedelta(hours=12):
            day += timedelta(days=1)
            moment += timedelta(days=1)
        found.append((moment, day, entry))
    return found


def _started(
    fields: Mapping[str, list[list[Stamp]]],
    course: Sequence[tuple[datetime, date, str]],
    day: date | None,
    clock: _Clock,
) -> _Start:
    for name in ("started", "time", "date", "duration"):
        for values in fields.get(name, ()):
            first = next((each for each in values if each.clock is not None), None)
            if first and (first.day or day) == day and (moment := clock.at(first, day)):
                return _Start(moment, to_the_minute=True, day=day)
    begun = next((each for each in course if _BEGINS.search(each[2])), next(iter(course), None))
    if begun and begun[1] == day:
        return _Start(begun[0], to_the_minute=True, day=day)
    return _Start(Stamp(day).at(None, None) if day else None, to_the_minute=False, day=day)


def _resolved(
    fields: Mapping[str, list[list[Stamp]]],
    course: Sequence[tuple[datetime, date, str]],
    started: _Start,
    clock: _Clock,
    lasted: timedelta | None,
) -> datetime | None:
    """The first of what is told that does not come before the start."""
    told_ends = [*_ends(fields, "resolved", started, clock)]
    told_ends += (
        each for name in ("time", "date", "duration") for each in _ends(fields, name, started, clock, of_a_range=True)
    )
    told_ends += [moment for moment, _, words in course if _says(words, _OVER)][-1:]
    if lasted and started.moment and started.to_the_minute:
        told_ends.append(started.moment + lasted)
    told_ends += _ends(fields, "mitigated", started, clock)
    told_ends += [moment for moment, _, words in course if _says(words, _MITIGATED)][-1:]
    return next((each for each in told_ends if started.moment is None or each >= started.moment), None)


def _ends(
    fields: Mapping[str, list[list[Stamp]]], name: str, started: _Start, clock: _Clock, *, of_a_range: bool = False
) -> Iterator[datetime]:
    for values in fields.get(name, ()):
        for stamp in values[1:2] if of_a_range else values[:1]:
            moment = clock.at(stamp, started.day)
            if moment is None or (of_a_range and stamp.clock is None):
                continue
            same_day = stamp.day is None or (of_a_range and stamp.day == started.day)
            if same_day and started.to_the_minute and started.moment and moment < started.moment:
                moment += timedelta(days=1)  # past midnight
            yield moment


def _says(words: str, what: re.Pattern[str]) -> bool:
    match = what.search(words[:500])
    return bool(match) and not _NOT_YET.search(words[max(match.start() - 25, 0) : match.start()])
