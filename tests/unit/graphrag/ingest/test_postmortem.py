"""What a page tells of a past incident, in the many ways that people write it down."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag.identity import name_key
from graphrag.ingest.page import Page, read_page
from graphrag.ingest.postmortem import Known, Story, read_story, tells_when
from graphrag.ingest.yaml_documents import BrokenYaml

INCIDENTS = {
    "incidents/pool.md": "The pool ran dry",
    "incidents/2025/cache.md": "Cache evictions slowed the shop",
    "incidents/flood.md": "Flood",
}
KNOWN = Known(
    services={
        name_key(name): meant
        for name, meant in {
            "checkout-api": "checkout-api",
            "cash-desk": "checkout-api",
            "payments-api": "payments-api",
            "payments-db": "payments-db",
            "orders": "orders",
            "search": "search",
            "Storefront Web": "storefront-web",
        }.items()
    },
    teams={name_key(name): name for name in ("payments", "team-search", "Site Reliability")},
    incidents=INCIDENTS,
    titles={name_key(name): name for name in INCIDENTS.values()},
)


def utc(day: int, hour: int = 0, minute: int = 0, month: int = 3) -> datetime:
    return datetime(2026, month, day, hour, minute, tzinfo=UTC)


def story(text: str, path: str = "incidents/this.md") -> Story:
    return read_story(read_page(text), path, KNOWN)


FIELDS = """# Payments were down

Date: 2026-03-04
Severity: SEV-2
Started: 02:13 UTC
Duration: 45 minutes
Affected services: cash-desk, `payments-db`
Responders: payments, A. Person
Introduced by: cash-desk v2.2.0

## Root cause
A pool was too small.
"""
TABLE = """# Payments were down

| Field | Value |
|---|---|
| **Incident date** | 4 March 2026 |
| Start time (CET) | 03:13 |
| End time (CET) | 03:58 |
| Severity | P1 |
| Service(s) affected | payments-api |
| Owning team | @team-search |
"""
BULLETS = """# Payments were down

- **Date**: March 4th, 2026
- **Severity**: 1
- **Started**: 2:13 am
- **Resolved**: 2:58 am
- **Impacted systems**:
  - Orders: not one could be placed
  - payments-api (reads only)
  - search (not affected)
"""
TIMELINE = """# Payments were down

**Date:** 2026/03/04 **Severity:** critical

## Timeline (all times CEST)

- 23:40 Release of `search`
- **23:50** - impact starts
- 00:05 paged
* 00:10: not resolved by a restart
- 00:40 \u2013 mitigated by a rollback
- 01:20 \u2013 errors back to normal, incident resolved
- 09:00 review

## Action items

| Action | Owner |
|---|---|
| Alert on the pool | payments |

- Severity: SEV-1 drills
"""
TIMELINE_TABLE = """# Payments were down

## Chronology

| Time (UTC) | Event |
|---|---|
| 2026-03-04 02:13 | first alert |
| 02:58 | mitigated |
"""
SECTIONS = """Payments were down
==================

Date
----
4 Mar 2026, 02:13 UTC

Severity
--------
S1 (money)

Services affected
-----------------
* cash-desk
* the Storefront Web service

Team
----
the payments team
"""
PROSE = """# Payments were down

The incident started at 02:13 UTC on 4 March 2026 and was resolved at 02:58. The backup job started at 01:00.

## Impact

`orders` returned 503 for nine minutes. Requests to payments-api failed because payments-db was down, and orders waited.
Storefront Web was slow. payments-db was not affected. We met in search of an answer.
"""
RANGE = """# [SEV-3] Payments were down

**Time**: 2026-03-04 23:50 - 00:20 UTC
**Customer impact**: `checkout-api` was slow
"""
ONE_LINE = "# Down\n\nDate: 2026-03-04T02:13:00-01:00 | Severity: high | Duration: 1h 20m | Team: payments\n"
REGION = """# Down

Incident window: 2026-07-04 02:13 Europe/Berlin to 03:00 Europe/Berlin
Affected: `orders`
"""
FRONT = """---
title: Down
date: 2026-03-04
severity: bad
services: [cash-desk, unheard-of]
team: crew
related: [incidents/flood.md, Another]
---
Started 02:13 UTC
Lasted 10 minutes

Severity: SEV-2
Services: orders
"""
DAYS = """# Down

## Timeline (UTC)

**4 March 2026**

- 23:50: outage starts

### 5 March 2026

- [00:10 UTC] not mitigated
- [00:20 UTC] recovered
"""
UNITED = """# Down

**Date**: March 4, 2026
**Impact**: 12 % of checkouts failed; `payments-api` returned 5xx.
**Started**

### Timeline

2026-03-04 (all times JST)

- 14:44 deploy of cash-desk begins
- 14:51 **OUTAGE BEGINS**
- 15:36 **OUTAGE ENDS**

### Affected Services

| Service | Impact |
|---|---|
| cash-desk | down |
| search | none, unaffected |
"""
MINUTES = "# Down\n\nStarted 2026-03-04 02:13\nResolved at 02:58\nSeverity SEV-4\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param(
            FIELDS,
            Story(
                *(utc(4, 2, 13), utc(4, 2, 58), "SEV-2"),
                *(("checkout-api", "payments-db"), ("payments",), (), ("checkout-api v2.2.0",)),
            ),
            id="lines of key and value",
        ),
        pytest.param(
            TABLE,
            Story(utc(4, 2, 13), utc(4, 2, 58), "P1", ("payments-api",), ("team-search",)),
            id="a table of fields, with the zone beside the field",
        ),
        pytest.param(
            BULLETS,
            Story(utc(4, 2, 13), utc(4, 2, 58), "1", ("orders", "payments-api")),
            id="bullets, with a list below a field",
        ),
        pytest.param(
            TIMELINE,
            Story(utc(4, 21, 50), utc(4, 23, 20), "critical"),
            id="a timeline past midnight in its own zone",
        ),
        pytest.param(TIMELINE_TABLE, Story(utc(4, 2, 13), utc(4, 2, 58)), id="a timeline in a table"),
        pytest.param(
            SECTIONS,
            Story(utc(4, 2, 13), None, "S1", ("checkout-api", "storefront-web"), ("payments",)),
            id="a section a field",
        ),
        pytest.param(PROSE, Story(utc(4, 2, 13), utc(4, 2, 58), "", ("orders", "payments-api")), id="sentences"),
        pytest.param(
            RANGE, Story(utc(4, 23, 50), utc(5, 0, 20), "SEV-3", ("checkout-api",)), id="a range past midnight"
        ),
        pytest.param(
            ONE_LINE, Story(utc(4, 3, 13), utc(4, 4, 33), "high", (), ("payments",)), id="fields side by side"
        ),
        pytest.param(
            REGION,
            Story(utc(4, 0, 13, month=7), utc(4, 1, 0, month=7), "", ("orders",)),
            id="a window in a region's summer time",
        ),
        pytest.param(
            FRONT,
            Story(
                *(utc(4, 2, 13), utc(4, 2, 23), "bad", ("checkout-api", "unheard-of"), ("crew",), ("Flood", "Another"))
            ),
            id="front matter first, then the text",
        ),
        pytest.param(DAYS, Story(utc(4, 23, 50), utc(5, 0, 20)), id="a timeline of days"),
        pytest.param(
            UNITED,
            Story(utc(4, 5, 51), utc(4, 6, 36), "", ("checkout-api", "payments-api")),
            id="a timeline that begins with its day and zone, and a table of services",
        ),
        pytest.param(MINUTES, Story(utc(4, 2, 13), utc(4, 2, 58), "SEV-4"), id="lines without colons"),
    ],
)
def test_what_is_told_is_read_however_it_is_written(text: str, told: Story) -> None:
    assert story(text) == told


@pytest.mark.parametrize(
    "text",
    [
        "Date: 03/04/2026\nStarted: 02:13 UTC\n",
        "Date: [YYYY-MM-DD]\nSeverity: SEV-1 / SEV-2 / SEV-3\nServices: <names>\nTeam: TBD\n",
        "Started: about 02:13\nDuration: some minutes\n",
        "Date: March\nSeverity: unknown\nAffected services: none\n",
        "Date: 2026-13-45\nDate: 99:99\n",
        "## Action items\n\nDate: 2026-03-04\nSeverity: P1\nOwner: payments\n",
        "```\nDate: 2026-03-04\nSeverity: P1\n```\n",
        "## Impact\n\nOrders failed, and search as well. Everything but payments-api was fine.\n",
        "The payments-api deployment on 2026-03-04 was no incident.\n",
        "The incident lasted long.\n",
        "Last updated: 2026-03-04\nReview date: 2026-03-04\n",
    ],
)
def test_what_is_not_told_or_can_be_read_in_two_ways_stays_out(text: str) -> None:
    assert story(f"# What happened\n\n{text}") == Story()


def test_a_day_alone_is_told_as_its_midnight_and_nothing_is_reckoned_from_it() -> None:
    assert story("Date: 25/12/2026\nDuration: 45 minutes\n") == Story(started_at=utc(25, month=12))


def test_the_name_of_a_page_may_hold_its_day() -> None:
    timeline = "## Timeline\n\n- 02:13 paged\n- 02:58 all clear\n"
    assert story(timeline, "incidents/2026-03-04-pool.md") == Story(utc(4, 2, 13), utc(4, 2, 58))
    assert story(f"# 4 March 2026: the pool\n\n{timeline}") == Story(utc(4, 2, 13), utc(4, 2, 58))
    assert story(f"# 4 March 2026 and 5 March 2026\n\n{timeline}") == Story()


@pytest.mark.parametrize("zone", ["IST", "BST", "CST"])
def test_a_zone_that_several_places_use_leaves_the_day_alone(zone: str) -> None:
    assert story(f"Date: 2026-03-04\nStarted: 02:13 {zone}\n").started_at == utc(4)
    assert story(f"Date: 2026-03-04\n\n## Timeline (times in {zone})\n\n- 02:13 paged\n").started_at == utc(4)


def test_times_of_a_place_that_is_not_understood_are_not_taken_for_utc() -> None:
    text = "Date: 2026-03-04\n\n## Timeline\n\nAll times are in the office's local time.\n\n- 02:13 paged\n"
    assert story(text).started_at == utc(4)


def test_an_end_before_the_start_is_no_end() -> None:
    assert story("Started: 2026-03-04 02:13\nResolved: 2026-03-03 02:13\n") == Story(started_at=utc(4, 2, 13))


def test_front_matter_that_cannot_be_read_is_said_and_the_text_is_asked() -> None:
    told = story("---\nstarted_at: 03/04/2026\nresolved_at: soon\n---\nStarted: 2026-03-04 02:13\n")
    assert told.started_at == utc(4, 2, 13)
    assert [sentence.partition(" ")[0] for sentence in told.unread] == ["started_at", "resolved_at"]
    assert "(soon)" in told.unread[1]


@pytest.mark.parametrize(
    ("text", "related"),
    [
        ("It was similar to [the pool](pool.md#cause).", ("The pool ran dry",)),
        ("See [that one](/incidents/2025/cache.md) and [this](2025/cache).", ("Cache evictions slowed the shop",)),
        ("Similar to *Cache evictions slowed the shop* in spring.", ("Cache evictions slowed the shop",)),
        (
            "## Related incidents\n\n- The pool ran dry (March)\n- Flood\n- Nothing else\n",
            ("The pool ran dry", "Flood"),
        ),
        ("**Related**: “The pool ran dry”", ("The pool ran dry",)),
        ("Similar to [a later one](later.md), see [all](README.md).", ("incidents/later.md",)),
        ("See [the code](../code/later.md) and [out](../../incidents.md).", ()),
        ("This is unrelated to [the pool](pool.md).", ()),
        ("Previous: [the pool](pool.md)", ()),
        ("A flood of requests, related to flood control.", ()),
        ("[This page](this.md), [the code](https://git.example/incidents/pool.md), [us](../README.md)", ()),
        ("The title is The pool ran dry too, by chance.", ()),
    ],
)
def test_an_incident_is_related_where_the_text_links_or_likens_it(text: str, related: tuple[str, ...]) -> None:
    assert story(f"# What happened\n\n{text}\n").related == related


def test_an_incident_is_not_related_to_itself() -> None:
    assert story("[here](pool.md), [there](flood.md)", "incidents/pool.md").related == ("Flood",)


def test_a_word_that_is_also_a_service_counts_when_marked_as_code_or_listed() -> None:
    assert story("## Impact\n\nOrders failed.\n").services == ()
    assert story("## Impact\n\n`orders` failed.\n").services == ("orders",)
    assert story("## Affected services\n\nOrders\n").services == ("orders",)


def test_an_impact_names_what_was_hurt_and_neither_what_was_spared_nor_the_cause() -> None:
    text = "## Impact\n\nBecause payments-db was down, checkout-api failed. payments-api kept working.\n"
    assert story(text).services == ("checkout-api",)


def test_a_page_says_when_by_a_field_or_a_timeline_and_not_by_any_date_in_it() -> None:
    assert tells_when(read_page("Date: 4 March 2026\n"), "x.md")
    assert tells_when(read_page("## Timeline\n- 2026-03-04 02:13 paged\n"), "x.md")
    assert not tells_when(read_page("Last updated on 2026-03-04.\n"), "x.md")


def test_hostile_pages_are_read_in_linear_time() -> None:
    pieces = (
        *(
            "| a | ",
            "| 02:13 ",
            "`",
            "`a` ",
            "[a](",
            "[a](b) ",
            "**a",
            "Date: ",
            "a: ",
            "**A:** ",
            "- a, ",
            "2026-03-04 ",
        ),
        *("02:13 ", "1 hour ", "started at 1 ", "similar to ", "and ", "---\n", "a\n---\n", "# a\n", "- 02:13 a\n"),
        *("Severity: SEV-1 ", "not ", "a-", "a. ", "(", "- Service: a\n", "## Impact\n`orders` failed. ", "all times "),
    )
    for piece in pieces:
        for text in (
            piece * (2_000_000 // len(piece)),
            f"## Timeline\n{piece * 100_000}",
            f"## Impact\n{piece * 9_000}\n",
        ):
            read_story(Page(body=text), "incidents/this.md", KNOWN)


@given(
    st.lists(
        st.one_of(
            st.text(max_size=40),
            st.sampled_from(
                [
                    FIELDS,
                    TABLE,
                    BULLETS,
                    TIMELINE,
                    SECTIONS,
                    PROSE,
                    "Date: ",
                    "## Timeline\n",
                    "\n",
                    "23:59",
                    "| ",
                    "9999",
                ]
            ),
            st.datetimes().map(str),
            st.dates().map(str),
        ),
        max_size=12,
    ).map("".join)
)
@settings(max_examples=200)
def test_any_page_has_a_story_in_order_and_of_known_names(text: str) -> None:
    try:
        page = replace(read_page(text), front={})
    except BrokenYaml:
        return
    told = read_story(page, "incidents/x.md", KNOWN)
    assert set(told.services) <= set(KNOWN.services.values())
    assert set(told.teams) <= set(KNOWN.teams.values())
    assert set(told.related) <= set(KNOWN.titles.values())
    if told.started_at and told.resolved_at:
        assert told.started_at <= told.resolved_at


@given(st.dictionaries(st.sampled_from(["started_at", "date", "end", "severity", "services", "team"]), st.text()))
def test_any_front_matter_is_read_or_said_to_be_unreadable(front: dict[str, str]) -> None:
    told = read_story(Page(front=dict(front)), "x.md", KNOWN)
    assert all(moment is None or moment.tzinfo is UTC for moment in (told.started_at, told.resolved_at))
