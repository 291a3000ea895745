"""Days, times and durations as people write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.ingest.moments import Stamp, duration, stamps, zone_in

days = st.dates(date(1970, 1, 1), date(2199, 12, 31))
clocks = st.times().map(lambda clock: clock.replace(microsecond=0))
offsets = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(days, st.sampled_from(["%Y-%m-%d", "%Y/%m/%d", "%d %B %Y", "%d %b %Y", "%B %d, %Y", "%A, %b %d, %Y"]))
def test_a_day_is_read_however_it_is_written(day: date, form: str) -> None:
    found = stamps(f"Date: {day.strftime(form)}.")
    assert [(each.day, each.clock) for each in found] == [(day, None)]


@given(days, st.sampled_from("/-."))
def test_a_day_in_numbers_is_read_only_where_it_is_one_day_everywhere(day: date, sign: str) -> None:
    american, european = day.strftime(f"%m{sign}%d{sign}%Y"), day.strftime(f"%d{sign}%m{sign}%Y")
    one = day.day > 12 or day.day == day.month
    for text in (american, european):
        (found,) = stamps(text)
        assert (found.day, found.unclear) == ((day, False) if one else (None, True))


@given(days, clocks, offsets)
def test_a_moment_in_iso_form_is_that_moment(day: date, clock: time, offset: timezone) -> None:
    moment = datetime.combine(day, clock, offset)
    (found,) = stamps(moment.isoformat())
    assert found.at(None, None) == moment
    (spaced,) = stamps(f"at {moment:%H:%M:%S UTC%z} on {day:%d %B %Y}")
    assert spaced.at(None, UTC) == moment


@given(clocks)
def test_a_time_of_twelve_hours_is_the_time_it_is(clock: time) -> None:
    (found,) = stamps(clock.strftime("%I:%M %p"))
    assert found.clock == clock.replace(second=0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("2026-03-04 02:13 - 03:00 UTC", [(date(2026, 3, 4), time(2, 13), UTC), (date(2026, 3, 4), time(3), UTC)]),
        ("02:13-03:00", [(None, time(2, 13), None), (None, time(3), None)]),
        ("02:13:00-03:00", [(None, time(2, 13), timezone(timedelta(hours=-3)))]),
        ("10:00 PST", [(None, time(10), timezone(timedelta(hours=-8)))]),
        ("10am", [(None, time(10), None)]),
        ("from 10.0.0.1:8080, version 1.2.2026.1, ratio 99:99, 2026-02-30", []),
    ],
)
def test_a_time_takes_its_day_and_its_zone_from_beside_it(
    text: str, told: list[tuple[date | None, time | None, timezone | None]]
) -> None:
    assert [(each.day, each.clock, each.zone.utcoffset(None) if each.zone else None) for each in stamps(text)] == [
        (day, clock, zone.utcoffset(None) if zone else None) for day, clock, zone in told
    ]


@given(st.text())
def test_any_text_is_read_without_a_moment_that_cannot_be_reckoned_with(text: str) -> None:
    for each in stamps(text):
        moment = each.at(date(2026, 3, 4), None)
        assert moment is None or moment.tzinfo is UTC
    assert (lasted := duration(text)) is None or lasted >= timedelta()
    zone_in(text)


def test_a_day_alone_begins_at_midnight_and_a_time_alone_needs_a_day() -> None:
    assert Stamp(date(2026, 3, 4)).at(None, None) == datetime(2026, 3, 4, tzinfo=UTC)
    assert Stamp(clock=time(2)).at(None, None) is None


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        *(("45 minutes", 45), ("1h 20m", 80), ("1 hour, and 20 min.", 80), ("2.5 hours", 150), ("01:20:00", 80)),
        *(("1 day", 1_440), ("90 seconds in all", 1.5), ("47 min (02:13 to 03:00)", 47)),
        *(("about 3 hours", None), ("30-45 minutes", None), ("3 metres", None), ("1:20", None), ("", None)),
    ],
)
def test_a_duration_is_read_where_the_text_begins_with_an_exact_one(text: str, minutes: float | None) -> None:
    assert duration(text) == (None if minutes is None else timedelta(minutes=minutes))
