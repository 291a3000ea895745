"""Report to Block Kit. Pure. Everything that is not ours is escaped, and every limit of Slack is kept.

Limits (Slack's Block Kit reference): 50 blocks, 150 characters in a header, 3,000 in a section, 10 fields of 2,000,
10 elements in a context; and about 13,200 over all blocks, which Slack does not document.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from agent.reconcile import Conflict
from agent.report import NO_CHANNEL, NO_MODEL, Claim, ClaimKind, RelatedService, Report
from agent.suspects import Suspect
from connectors.slack import Message

MAX_TOTAL = 12_000
MAX_BLOCKS = 45
_MAX_SECTION = 2_900
_MAX_FIELD = 1_900
_MAX_HEADER = 150
_MAX_STEPS = 420
_SHOWN = 12
_MAX_NOTIFICATION = 2_900
_UNFINISHED = re.compile(r"(?:&[a-z]{0,3}|<[^<>]*)\Z")

Block = dict[str, Any]


def parent_message(report: Report, resolved_at: datetime | None = None, link: str = "") -> Message:
    """The one message of an incident in the channel: what is broken, who owns it, who else hurts, what changed, what
    to do, and what is proven. It is edited in place while the incident lives."""
    blocks = [_header(_headline(report, resolved_at)), _section(escape(report.verdict)), _fields(_who(report))]
    blocks += (_section(text) for text in _body(report))
    blocks.append(_context(_footer(report, resolved_at, link)))
    return Message(text=_notification(report, resolved_at), blocks=_bounded(blocks))


def detail_message(report: Report) -> Message:
    """The thread under it: every claim with its evidence, what was checked and what is not known."""
    blocks: list[Block] = []
    for title, lines in (
        ("Proven", [_claim(claim) for claim in report.claims]),
        ("Unproven", [escape(text) for text in report.unproven]),
        ("Checked", [_check_line(each.result, each.source, each.purpose) for each in report.checked]),
        ("Not known", [escape(gap) for gap in report.gaps]),
        ("Evidence", [_evidence(each.id, each.source, each.text, each.link) for each in _cited(report)]),
    ):
        if lines:
            blocks += (_section(text) for text in _sections(f"*{title}*", lines))
    return Message(text=f"Detail: {len(report.claims)} proven claims", blocks=_bounded(blocks))


def escape(text: str) -> str:
    """Slack's three control characters, so that no text of others can make a link, a mention or a command."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _headline(report: Report, resolved_at: datetime | None) -> str:
    sign = "✅ Resolved:" if resolved_at else "🔎" if report.status == "running" else "🔴"
    where = f" on {report.service.name}" if report.service.name else ""
    return f"{sign} {report.title}{where}"


def _notification(report: Report, resolved_at: datetime | None) -> str:
    owner = f" Owner: {report.owner.team}." if report.owner.team else ""
    return _cut(escape(f"{_headline(report, resolved_at)}. {report.verdict}{owner}"), _MAX_NOTIFICATION)


def _who(report: Report) -> Iterator[str]:
    found = report.service
    if found.name:
        yield f"*Service*\n{escape(found.name)}"
    else:
        names = ", ".join(escape(each.name) for each in found.candidates[:3])
        yield f"*Service*\nnot known{f', perhaps {names}' if names else ''}"
    channel = escape(report.owner.channel) if report.owner.channel else NO_CHANNEL
    likely = f"\nprobably, by {escape(report.owner.known_by)}" if report.owner.certainty == "likely" else ""
    yield f"*Owner*\n{escape(report.owner.team) if report.owner.team else 'not known'} ({channel}){likely}"
    yield f"*Since*\n{_moment(report.started_at)}"
    radius = report.blast_radius
    if found.name:
        yield f"*Blast radius*\n{radius.count}{'+' if radius.truncated else ''} services"


def _body(report: Report) -> Iterator[str]:
    """The parts in the order an engineer needs them; a part that has nothing to say is left out."""
    for title, lines in _parts(report):
        if lines:
            yield from _sections(title, lines)


def _parts(report: Report) -> Sequence[tuple[str, Sequence[str]]]:
    def claims(kind: ClaimKind, most: int) -> list[str]:
        return [_claim(claim) for claim in report.claims if claim.kind == kind][:most]

    of_live = [each for each in report.conflicts if each.winner == "live"]
    of_alerts = [each for each in report.conflicts if each.winner != "live"]
    return (
        ("⚠️ *Live contradicts the graph*", [_conflict(each) for each in of_live[:6]]),
        ("⚠️ *The alert contradicts the graph*", [_conflict(each) for each in of_alerts[:3]]),
        ("*Measured*", claims("measured", 4)),
        (f"*Reasoned by {escape(report.spend.model)}*", claims("model", 5)),
        ("*Suspects*", [_suspect(each) for each in report.suspects[:4]]),
        ("*Depends on*", _by_hop(report.dependencies, report.owner.team)),
        ("*Will hurt too*", _by_hop(report.dependents, report.owner.team)),
        ("*What to do*", [_runbook(each.title, each.path, each.summary) for each in report.runbooks[:3]]),
        ("*Seen before*", claims("history", 2)),
        ("*Unproven*", [escape(text) for text in report.unproven[:3]]),
        ("*Not known*", [escape(gap) for gap in report.gaps if gap != NO_MODEL][:4]),
    )


def _conflict(conflict: Conflict) -> str:
    if conflict.winner != "live":
        return (
            f"{escape(conflict.subject)}, {escape(conflict.fact)}: the graph says *{escape(conflict.graph)}*, "
            f"the alert {escape(conflict.live)}. The graph wins. {_ids(conflict.evidence[-1:])}"
        )
    return (
        f"{escape(conflict.subject)}, {escape(conflict.fact)}: live says *{escape(conflict.live)}*, "
        f"the graph said {escape(conflict.graph)}. Live wins. {_ids(conflict.evidence[:1])}"
    )


def _suspect(suspect: Suspect) -> str:
    return f"{escape(suspect.name)}: {escape('; '.join(suspect.reasons))} {_ids(suspect.evidence)}"


def _runbook(title: str, path: str, summary: str) -> str:
    is_link = path.startswith("https://") and "|" not in path
    where = f"<{escape(path)}|{escape(title)}>" if is_link else f"{escape(title)} ({escape(path)})"
    return f"{where}{f': {_cut(escape(summary), _MAX_STEPS)}' if summary else ''}"


def _by_hop(related: Sequence[RelatedService], team: str | None) -> list[str]:
    """`1 hop: a, b (their team)` and `2 hops: c`, each bounded, with what is only seen live marked."""
    lines: list[str] = []
    for hops in sorted({each.hops for each in related}):
        names = [f"{escape(each.name)}{_whose(each, team)}" for each in related if each.hops == hops]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        lines.append(f"{hops} hop{'s' if hops > 1 else ''}: {', '.join(names[:_SHOWN])}{more}")
    return lines


def _whose(related: RelatedService, team: str | None) -> str:
    if related.source == "live":
        return " (seen live)"
    return f" ({escape(related.owner)})" if related.owner and related.owner != team else ""


def _footer(report: Report, resolved_at: datetime | None, link: str) -> Iterator[str]:
    if resolved_at:
        yield f"Resolved {_moment(resolved_at)}"
    elif report.status == "running":
        yield "From the graph alone; live systems are being asked"
    asked = sum(1 for each in report.checked if each.result != "could not be checked")
    by = escape(report.spend.model) if report.spend.model else "the plan, no model"
    yield f"{asked} of {len(report.checked)} checks answered, {report.spend.seconds:.1f} s, by {by}"
    yield f"<{link}|{report.id}>" if link else f"`{report.id}`"


def _claim(claim: Claim) -> str:
    return f"{escape(claim.text)} {_ids(claim.evidence)}"


def _ids(evidence: Iterable[str]) -> str:
    return " ".join(f"`{escape(each)}`" for each in evidence)


def _cited(report: Report) -> list[Any]:
    cited = {each for claim in report.claims for each in claim.evidence}
    cited |= {each for conflict in report.conflicts for each in conflict.evidence}
    return [each for each in report.evidence if each.id in cited]


def _evidence(identity: str, source: str, text: str, link: str) -> str:
    where = f" <{escape(link)}|open>" if link.startswith(("https://", "http://")) and "|" not in link else ""
    return f"`{escape(identity)}` {escape(source)}: {escape(text[:300])}{where}"


def _check_line(result: str, source: str, purpose: str) -> str:
    sign = {"found": "✔", "empty": "∅"}.get(result, "✘")
    return f"{sign} {escape(source)}: {escape(purpose)}, {result}"


def _moment(moment: datetime) -> str:
    """Slack shows the reader's own time zone, and the fallback to who cannot."""
    utc = moment.astimezone(UTC)
    return f"<!date^{int(utc.timestamp())}^{{date_short_pretty}} {{time}}|{utc:%Y-%m-%d %H:%M} UTC>"


def _header(text: str) -> Block:
    shown = text if len(text) <= _MAX_HEADER else f"{text[: _MAX_HEADER - 1]}…"
    return {"type": "header", "text": {"type": "plain_text", "text": shown, "emoji": True}}


def _section(text: str) -> Block:
    return {"type": "section", "text": {"type": "mrkdwn", "text": _cut(text or "—", _MAX_SECTION)}}


def _fields(texts: Iterable[str]) -> Block:
    fields = [{"type": "mrkdwn", "text": _cut(text, _MAX_FIELD)} for text in texts]
    return {"type": "section", "fields": fields[:10]}


def _context(texts: Iterable[str]) -> Block:
    return {"type": "context", "elements": [{"type": "mrkdwn", "text": _cut(text, _MAX_FIELD)} for text in texts][:10]}


def _sections(title: str, lines: Sequence[str]) -> Iterator[str]:
    """The lines as bullet points under a title, in as many sections as their length needs."""
    text = title
    for line in lines:
        bullet = f"\n• {_cut(line, 700)}"
        if len(text) + len(bullet) > _MAX_SECTION:
            yield text
            text = f"{title} (continued)"
        text += bullet
    yield text


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters of mark-up, never ending inside an escape such as `&amp;` or inside a link."""
    return text if len(text) <= limit else _UNFINISHED.sub("", text[: limit - 1]) + "…"


def _bounded(blocks: Sequence[Block]) -> list[Block]:
    """As many blocks as fit under Slack's total, the footer always; what is left out is said."""
    kept: list[Block] = []
    total = _length(blocks[-1]) if blocks else 0
    for block in blocks[:-1]:
        total += _length(block)
        if total > MAX_TOTAL - 100 or len(kept) >= MAX_BLOCKS:
            kept.append(_section("_More than fits here; the whole report is at its address._"))
            break
        kept.append(block)
    return [*kept, *blocks[-1:]]


def _length(block: Block) -> int:
    texts = [block.get("text"), *block.get("fields", ()), *block.get("elements", ())]
    return sum(len(text["text"]) for text in texts if text)
