"""Reads dates, times of day and durations as people write them. What can be read in two ways is not read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            *("jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july"),
            *("aug august", "sep sept september", "oct october", "nov november", "dec december"),
        ),
        1,
    )
    for name in names.split()
}
_HOURS = {
    **{"utc": 0, "gmt": 0, "z": 0, "wet": 0, "cet": 1, "cest": 2, "eet": 2, "eest": 3, "msk": 3, "sgt": 8, "hkt": 8},
    **{"jst": 9, "kst": 9, "aest": 10, "aedt": 11, "nzst": 12, "nzdt": 13},
    **{"est": -5, "edt": -4, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7},
}
_REGIONS = {"pt": "America/Los_Angeles", "et": "America/New_York"}
_SEVERAL = ("ist", "bst", "cst", "ast")  # each is the time of two or three places
_NAMED = "|".join(sorted((name.upper() for name in (*_HOURS, *_REGIONS, *_SEVERAL)), key=len, reverse=True))
_REGION = r"(?:Africa|America|Asia|Atlantic|Australia|Europe|Indian|Pacific|Etc)/[a-z_]{1,30}(?:/[a-z_]{1,30})?"
_OFFSET = r"\+\d\d:?\d\d(?!:?\d)|-\d{4}(?!\d)|(?:(?<=:\d\d:\d\d)|(?<=T\d\d:\d\d))-\d\d:\d\d(?!:?\d)"
_ZONE = rf"(?:utc|gmt)\s?[+-]\d{{1,2}}(?::?\d\d)?(?!:?\d)|{_OFFSET}|{_REGION}|(?:utc|gmt|z|(?-i:{_NAMED}))(?![\w-])"
_MONTH = "|".join(sorted(_MONTHS, key=len, reverse=True))
_PART = re.compile(
    rf"""
      (?<![\w.])(?P<y1>\d{{4}})(?P<s1>[-/.])(?P<m1>\d{{1,2}})(?P=s1)(?P<d1>\d{{1,2}})(?!\.?\d)
    | (?<!\w)(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\sof)?[\s-](?P<m2>{_MONTH})\.?,?[\s-](?P<y2>\d{{4}})(?!\w)
    | (?<!\w)(?P<m3>{_MONTH})\.?\s(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<y3>\d{{4}})(?!\w)
    | (?<![\w./-])(?P<a4>\d{{1,2}})(?P<s4>[-/.])(?P<b4>\d{{1,2}})(?P=s4)(?P<y4>\d{{4}})(?!\.?\d)
    | (?<![\d:.])(?P<hour>\d{{1,2}})
      (?: : (?P<minute>\d\d)(?: : (?P<second>\d\d)(?:[.,]\d{{1,9}})?)?(?!:?\d)(?:\s?(?P<half>[ap]\.?m(?!\w)\.?))?
        | \s?(?P<half_alone>[ap]m)(?!\w) )
      (?:\s?\(?(?P<zone>{_ZONE}))?
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ZONE_ALONE = re.compile(rf"(?<![\w/+-])(?P<zone>{_ZONE})", re.IGNORECASE)
_SHORT = re.compile(r"(?:utc|gmt)?\s?(?P<sign>[+-])(?P<hours>\d{1,2}):?(?P<minutes>\d\d)?$")
_AMOUNT = re.compile(
    r"(?P<amount>\d{1,5}(?:\.\d{1,2})?)\s?(?P<unit>d(?:ays?)?|h(?:(?:ou)?rs?)?|m(?:in(?:ute)?s?)?|s(?:ec(?:ond)?s?)?)"
    r"(?![a-z])\.?[\s,]{0,3}(?:and\s)?",
    re.IGNORECASE,
)
_UNITS = {"d": "days", "h": "hours", "m": "minutes", "s": "seconds"}
_CLOCKED = re.compile(r"(\d{1,3}):([0-5]\d):([0-5]\d)(?![:\d])")
_LONGEST = 400
_MOST = 20
YEARS = range(1970, 2_200)
"""Of a day that is read at all."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """A day, a time of day, or both, as far as they are said. `unclear`: the day, or the zone of the time, can be read
    in two ways. `start`: where in the text it begins."""

    day: date | None = None
    clock: time | None = None
    zone: tzinfo | None = None
    unclear: bool = False
    start: int = 0

    def at(self, day: date | None, zone: tzinfo | None) -> datetime | None:
        """The moment in UTC, with the day and the zone where the stamp itself says none. A time without any zone is
        taken as UTC, and a day without a time begins at midnight UTC."""
        on = self.day or day
        if on is None or self.unclear:
            return None
        if self.clock is None:
            return datetime.combine(on, time(), UTC)
        return datetime.combine(on, self.clock, self.zone or zone or UTC).astimezone(UTC)


def stamps(text: str) -> list[Stamp]:
    """The days and times of the beginning of `text`, in order. A time takes the day before it, else the one after it;
    of a range, the first time takes the zone of the second."""
    found: list[Stamp] = []
    day: Stamp | None = None
    alone = False
    for part in _parts(text[:_LONGEST]):
        if part.clock is not None:
            day_known = day or Stamp()
            start = day_known.start if alone else part.start
            found.append(replace(part, day=day_known.day, unclear=part.unclear or day_known.unclear, start=start))
            alone = False
            continue
        if day is not None and alone:
            found.append(day)
        alone = not (day is None and found)
        if not alone:
            found = [replace(each, day=part.day, unclear=each.unclear or part.unclear) for each in found]
        day = part
    if day is not None and alone:
        found.append(day)
    return _with_zones(found[:_MOST])


def zone_in(text: str) -> tuple[bool, tzinfo | None]:
    """The first time zone that the text names, and whether it names one: a name of several zones gives none."""
    match = _ZONE_ALONE.search(text[:_LONGEST])
    return (True, _zone(match["zone"])) if match else (False, None)


def duration(text: str) -> timedelta | None:
    """How long something lasted, where the text begins with that: `45 minutes`, `1h 20m`, `01:20:00`."""
    text = text.strip()[:_LONGEST]
    if clocked := _CLOCKED.match(text):
        hours, minutes, seconds = map(int, clocked.groups())
        return timedelta(hours=hours, minutes=minutes, seconds=seconds)
    amounts: dict[str, float] = {}
    end = 0
    while (match := _AMOUNT.match(text, end)) and (unit := _UNITS[match["unit"][0].lower()]) not in amounts:
        amounts[unit] = float(match["amount"])
        end = match.end()
    return timedelta(**amounts) if amounts else None


def _parts(text: str) -> Iterator[Stamp]:
    """Each day and each time of day by itself."""
    for match in _PART.finditer(text):
        part = match.groupdict()
        stamp = _clock(part) if part["hour"] else _day(part)
        if stamp is not None:
            yield replace(stamp, start=match.start())


def _day(part: Mapping[str, str | None]) -> Stamp | None:
    if part["y4"]:
        return _day_of_numbers(int(part["y4"]), int(part["a4"] or 0), int(part["b4"] or 0))
    year, month, day = next(
        (part[f"y{form}"] or "", part[f"m{form}"] or "", part[f"d{form}"] or "") for form in "123" if part[f"y{form}"]
    )
    return _stamp(int(year), _MONTHS.get(month.lower()) or int(month), int(day))


def _day_of_numbers(year: int, first: int, second: int) -> Stamp | None:
    """`25/12/2026` is one day. `03/04/2026` is one in America and another in Europe."""
    if first <= 12 and second <= 12 and first != second:
        return Stamp(unclear=True)
    return _stamp(year, min(first, second), max(first, second))


def _stamp(year: int, month: int, day: int) -> Stamp | None:
    try:
        return Stamp(date(year, month, day)) if year in YEARS else None
    except ValueError:
        return None


def _clock(part: Mapping[str, str | None]) -> Stamp | None:
    hour, minute, second = (int(part[name] or 0) for name in ("hour", "minute", "second"))
    if half := part["half"] or part["half_alone"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.lower().startswith("p") else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    zone = _zone(part["zone"]) if part["zone"] else None
    return Stamp(clock=time(hour, minute, second), zone=zone, unclear=bool(part["zone"]) and zone is None)


def _with_zones(found: list[Stamp]) -> list[Stamp]:
    later: tzinfo | None = None
    kept: list[Stamp] = []
    for each in reversed(found):
        if each.clock is not None and each.zone is None:
            each = replace(each, zone=later)
        later = each.zone or later
        kept.append(each)
    return kept[::-1]


def _zone(text: str) -> tzinfo | None:
    name = text.strip().lower()
    if name in _HOURS:
        return timezone(timedelta(hours=_HOURS[name]))
    if short := _SHORT.match(name):
        ahead = timedelta(hours=int(short["hours"]), minutes=int(short["minutes"] or 0))
        return timezone(ahead if short["sign"] == "+" else -ahead) if ahead < timedelta(hours=24) else None
    try:
        return ZoneInfo(_REGIONS.get(name) or text) if "/" in _REGIONS.get(name, text) else None
    except (KeyError, ValueError, OSError):
        return None
