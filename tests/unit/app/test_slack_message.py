import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.evidence import Evidence
from agent.reconcile import Conflict
from agent.report import (
    NO_MODEL,
    BlastRadius,
    Check,
    Claim,
    Owner,
    RelatedService,
    Report,
    RunbookFound,
    ServiceFound,
    Spend,
)
from agent.state import CandidateService
from agent.suspects import Suspect
from app.slack_message import MAX_BLOCKS, MAX_TOTAL, detail_message, escape, parent_message
from connectors.slack import Message

STARTED = datetime(2026, 3, 2, 2, 13, tzinfo=UTC)
OURS = re.compile(r"<!date\^\d+\^\{date_short_pretty\} \{time\}\|[\d :-]+ UTC>|<https?://[^<>]*\|[^<>|]*>")
"""The only mark-up in angle brackets that we write ourselves: dates and links."""

HOSTILE = st.sampled_from(
    [
        "<!channel>",
        "<@U123>",
        "<#C1|x>",
        "<https://evil|ok>",
        "<!date^1^{date}|x>",
        "&lt;!here&gt;",
        "&",
        "<",
        ">",
        "|",
        "https://evil/a|b>",
        "`*_~",
        "\n",
        "x" * 900,
        "&" * 900,
        "🔥" * 200,
    ]
)
TEXT = st.lists(HOSTILE | st.text(max_size=30), max_size=4).map("".join)
LINK = TEXT.map(lambda text: f"https://{text}") | TEXT
IDS = st.lists(TEXT, min_size=1, max_size=3).map(tuple)


def many(built: st.SearchStrategy[Any], most: int = 6) -> st.SearchStrategy[Any]:
    return st.lists(built, max_size=most).map(tuple)


MOMENT = st.datetimes(datetime(1971, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))
RELATED = st.builds(RelatedService, name=TEXT, hops=st.integers(1, 4), source=st.sampled_from(["graph", "live"]))
CANDIDATE = st.builds(CandidateService, id=TEXT, name=TEXT, score=st.floats(0, 1))
REPORTS = st.builds(
    Report,
    id=st.from_regex(r"inc-[A-Za-z0-9_-]{12}", fullmatch=True),
    status=st.sampled_from(["running", "complete"]),
    title=TEXT,
    started_at=MOMENT,
    verdict=TEXT,
    service=st.builds(ServiceFound, name=st.none() | TEXT, certainty=st.just("ambiguous"), candidates=many(CANDIDATE)),
    owner=st.builds(
        Owner,
        team=st.none() | TEXT,
        channel=st.none() | TEXT,
        certainty=st.sampled_from(["certain", "likely", "unknown"]),
        known_by=TEXT,
    ),
    dependencies=many(RELATED, 30),
    dependents=many(RELATED, 30),
    blast_radius=st.builds(BlastRadius, count=st.integers(0, 500), truncated=st.booleans()),
    runbooks=many(st.builds(RunbookFound, title=TEXT, path=LINK, summary=TEXT)),
    suspects=many(
        st.builds(Suspect, name=TEXT, kind=st.just("release"), score=st.floats(0, 1), reasons=IDS, evidence=IDS)
    ),
    claims=many(
        st.builds(
            Claim, text=TEXT, evidence=IDS, kind=st.sampled_from(["measured", "model", "history", "known", "said"])
        ),
        20,
    ),
    unproven=many(TEXT),
    conflicts=many(
        st.builds(
            Conflict,
            subject=TEXT,
            fact=TEXT,
            graph=TEXT,
            live=TEXT,
            winner=st.sampled_from(["live", "graph"]),
            evidence=IDS,
        )
    ),
    checked=many(
        st.builds(Check, source=TEXT, purpose=TEXT, result=st.sampled_from(["found", "empty", "could not be checked"]))
    ),
    gaps=many(TEXT),
    evidence=many(st.builds(Evidence, id=TEXT, source=TEXT, entity=TEXT, time=st.none(), link=LINK, text=TEXT)),
    spend=st.builds(Spend, model=TEXT, seconds=st.floats(0, 900)),
)


def texts(message: Message) -> list[dict[str, str]]:
    """Every text object of a message."""
    found = [[each.get("text"), *each.get("fields", ()), *each.get("elements", ())] for each in message.blocks]
    return [text for block in found for text in block if text]


def shown(message: Message) -> str:
    return "\n".join(text["text"] for text in texts(message))


def keeps_every_limit(message: Message) -> None:
    assert len(message.blocks) <= 50
    assert len(message.text) <= 4_000
    assert sum(len(text["text"]) for text in texts(message)) <= 13_200
    for block in message.blocks:
        if block["type"] == "header":
            assert 0 < len(block["text"]["text"]) <= 150
            assert block["text"]["type"] == "plain_text"
        elif block["type"] == "context":
            assert 0 < len(block["elements"]) <= 10
        elif "fields" in block:
            assert 0 < len(block["fields"]) <= 10
            assert all(0 < len(field["text"]) <= 2_000 for field in block["fields"])
        else:
            assert 0 < len(block["text"]["text"]) <= 3_000


def only_our_own_markup(message: Message) -> None:
    for text in (message.text, *(each["text"] for each in texts(message) if each["type"] == "mrkdwn")):
        rest = OURS.sub("", text)
        assert "<" not in rest, rest
        assert ">" not in rest, rest
        assert not re.search(r"&(?!amp;|lt;|gt;)", rest), rest


@settings(max_examples=50, deadline=None)
@given(REPORTS, st.none() | MOMENT, st.sampled_from(["", "https://incidents.example/v1/investigations/x"]))
def test_whatever_a_report_holds_the_message_keeps_slacks_limits_and_only_our_own_markup(report, resolved, link):
    for message in (parent_message(report, resolved, link), detail_message(report)):
        keeps_every_limit(message)
        only_our_own_markup(message)


def report(**changes: Any) -> Report:
    fields: dict[str, Any] = {
        "id": "inc-1",
        "status": "complete",
        "title": "HighErrorRate",
        "started_at": STARTED,
        "verdict": "HighErrorRate on checkout-api.",
        "service": ServiceFound(name="checkout-api", certainty="resolved"),
    }
    return Report(**{**fields, **changes})


@pytest.mark.parametrize("said", ["<!channel>", "<@U0123ABC>", "<#C1>", "<https://evil|click>", "&lt;!here&gt;"])
def test_no_text_of_others_can_call_anybody(said: str):
    message = parent_message(report(verdict=said, gaps=(said,), owner=Owner(team=said, channel=said)))
    assert said not in message.text
    assert said not in "".join(each["text"] for each in texts(message) if each["type"] == "mrkdwn")
    assert escape(said) in shown(message)


def test_a_message_says_what_is_broken_who_owns_it_who_hurts_and_what_to_do():
    message = parent_message(
        report(
            owner=Owner(team="payments", channel="#payments-oncall"),
            dependencies=(
                RelatedService(name="redis", hops=1, source="live"),
                RelatedService(name="vault", hops=2),
            ),
            dependents=(RelatedService(name="shop", hops=1),),
            blast_radius=BlastRadius(services=("shop",), count=1, truncated=True),
            runbooks=(
                RunbookFound(title="Errors", path="https://wiki/errors", summary="Roll back."),
                RunbookFound(title="Other", path="runbooks/other.md"),
            ),
            conflicts=(
                Conflict(subject="checkout-api", fact="owner", graph="payments", live="storage", evidence=("o@g",)),
            ),
            spend=Spend(model="a-model", seconds=2),
        ),
        link="https://incidents.example/inc-1",
    )
    text = shown(message)
    for part in (
        "🔴 HighErrorRate on checkout-api",
        "*Owner*\npayments (#payments-oncall)",
        "*Blast radius*\n1+ services",
        "1 hop: redis (seen live)",
        "2 hops: vault",
        "*Will hurt too*\n• 1 hop: shop",
        "<https://wiki/errors|Errors>: Roll back.",
        "Other (runbooks/other.md)",
        "live says *storage*, the graph said payments. Live wins. `o@g`",
        "by a-model",
        "<https://incidents.example/inc-1|inc-1>",
    ):
        assert part in text
    assert message.text == "🔴 HighErrorRate on checkout-api. HighErrorRate on checkout-api. Owner: payments."


def test_an_owner_that_is_only_likely_is_told_with_what_says_so():
    owner = Owner(team="storage", channel="#storage", certainty="likely", known_by="its label team=<storage>")
    text = shown(parent_message(report(service=ServiceFound(name=None, certainty="unresolved"), owner=owner)))
    assert "*Owner*\nstorage (#storage)\nprobably, by its label team=&lt;storage&gt;" in text


def test_an_alert_that_names_another_team_than_the_services_owner_is_told_beside_it():
    conflict = Conflict(
        subject="checkout-api",
        fact="owner",
        graph="payments",
        live="storage by its label team=storage",
        winner="graph",
        evidence=("team-storage", "team-payments"),
    )
    text = shown(parent_message(report(conflicts=(conflict,))))
    assert "*The alert contradicts the graph*" in text
    assert "the graph says *payments*, the alert storage by its label team=storage. The graph wins." in text
    assert "Live contradicts the graph" not in text


def test_an_unknown_service_is_said_to_be_unknown_with_what_it_may_be():
    candidates = (CandidateService(id="1", name="auth", score=1), CandidateService(id="2", name="oauth", score=1))
    found = ServiceFound(name=None, certainty="ambiguous", candidates=candidates)
    assert "not known, perhaps auth, oauth" in shown(parent_message(report(service=found)))
    nothing = ServiceFound(name=None, certainty="unresolved")
    text = shown(parent_message(report(service=nothing)))
    assert "*Service*\nnot known\n" in text
    assert "Blast radius" not in text


def test_the_message_shows_its_stage():
    assert "live systems are being asked" in shown(parent_message(report(status="running")))
    resolved = shown(parent_message(report(), STARTED + timedelta(hours=1)))
    assert "✅ Resolved:" in resolved
    assert "|2026-03-02 03:13 UTC>" in resolved


@pytest.mark.parametrize("length", range(680, 720))
def test_what_is_cut_never_ends_inside_a_link_or_an_escape(length: int):
    long = RunbookFound(title="Errors & more", path=f"https://wiki/{'x' * length}")
    only_our_own_markup(parent_message(report(runbooks=(long,), gaps=("y" * length + "&&&&",))))


@pytest.mark.parametrize("length", range(2_890, 2_900))
def test_the_notification_is_cut_between_its_characters(length: int):
    message = parent_message(report(title="", verdict="&" * 600 + "x" * (length % 10) + "&" * 600))
    only_our_own_markup(message)
    assert len(message.text) <= 2_900
    assert message.text.endswith("…")


def test_a_runbook_whose_address_could_forge_a_label_is_no_link():
    text = shown(parent_message(report(runbooks=(RunbookFound(title="Errors", path="https://evil|Payroll"),))))
    assert "Errors (https://evil|Payroll)" in text


def test_a_long_title_is_cut_in_the_header_as_plain_text():
    header = texts(parent_message(report(title=f"p99 < 5 s {'x' * 500}")))[0]["text"]
    assert header.startswith("🔴 p99 < 5 s xxx")
    assert header.endswith("x…")


def test_no_model_is_told_in_the_detail_and_not_in_the_channel():
    plain = report(gaps=(NO_MODEL, "No runbook."))
    assert NO_MODEL not in shown(parent_message(plain))
    assert "No runbook." in shown(parent_message(plain))
    assert NO_MODEL in shown(detail_message(plain))


def test_a_long_list_of_services_is_cut_and_counted():
    names = tuple(RelatedService(name=f"s{number}", hops=1) for number in range(40))
    assert "s11 and 28 more" in shown(parent_message(report(dependents=names)))


def test_the_detail_shows_each_claim_with_the_evidence_it_cites_and_no_other():
    cited = Evidence(id="m@p", source="prometheus", entity="x", time=None, link="https://p/graph", text="errors = 1")
    other = Evidence(id="other", source="graph", entity="x", time=None)
    text = shown(
        detail_message(
            report(
                claims=(Claim(text="It is 1.", evidence=("m@p",)),),
                unproven=("Perhaps the moon.",),
                checked=(
                    Check(source="prometheus", purpose="the rate", result="found"),
                    Check(source="github", purpose="releases", result="empty"),
                    Check(source="slack", purpose="chat", result="could not be checked"),
                ),
                evidence=(cited, other),
            )
        )
    )
    for part in (
        "It is 1. `m@p`",
        "Perhaps the moon.",
        "✔ prometheus: the rate, found",
        "∅ github: releases, empty",
        "✘ slack: chat, could not be checked",
        "`m@p` prometheus: errors = 1 <https://p/graph|open>",
    ):
        assert part in text
    assert "`other`" not in text


def test_a_report_too_long_for_a_message_says_that_there_is_more_and_keeps_its_footer():
    huge = report(gaps=tuple("y" * 690 for _ in range(200)), unproven=tuple("x" * 690 for _ in range(200)))
    message = detail_message(huge)
    assert "More than fits here" in shown(message)
    assert sum(len(text["text"]) for text in texts(message)) <= MAX_TOTAL + 3_000
    assert len(message.blocks) <= MAX_BLOCKS + 2


def test_a_report_without_anything_to_detail_has_no_blocks():
    assert detail_message(report()).blocks == []
