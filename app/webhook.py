"""Alertmanager's webhook: bound the body, parse, decide, make the decision durable, answer 202. Nothing slow here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse

from agent.redact import redact, redact_values
from agent.state import AlertFacts
from app.auth import Caller
from app.errors import AppError, too_large
from connectors.alertmanager import (
    Alert,
    Meaningless,
    Notification,
    NotJson,
    alert_fingerprint,
    parse_notification,
    storable,
)
from connectors.expression import firing_expression

Action = Literal["new", "heartbeat", "update", "resolved", "ignored"]
MAX_KEPT_ALERTS = 200
"""Alerts an incident keeps whole. A storm's other alerts are counted in its title, not stored one by one."""


@dataclass(frozen=True)
class OpenIncident:
    """What is known of a group's open incident. `firing` holds `fingerprint@start` of each alert that fires."""

    id: str
    firing: frozenset[str]


@dataclass(frozen=True)
class Decision:
    """What to do with a notification, and why, in a phrase a person can read."""

    action: Action
    reason: str
    incident_id: str | None


def decide(notification: Notification, known: OpenIncident | None, taken_before: bool, new_id: str) -> Decision:
    """Decide what a notification means for its group. Pure: the caller says what is known.

    A body that hides alerts (`truncatedAlerts`) never closes an incident: a hidden one may still fire.
    """
    incident_id = known.id if known else None
    if not notification.alerts:
        return Decision("ignored", "the notification lists no alert", incident_id)
    if taken_before:
        return Decision("heartbeat", "the same news was taken before", incident_id)
    firing = firing_set(notification.alerts)
    if known is None:
        if firing:
            return Decision("new", f"{_count(len(firing))} and no incident of this group is open", new_id)
        return Decision("ignored", "everything is resolved and no incident of this group is open", None)
    if not firing:
        if notification.truncated_alerts:
            hidden = notification.truncated_alerts
            return Decision("heartbeat", f"what is shown is resolved, but {hidden} alerts are hidden", known.id)
        return Decision("resolved", "every alert of the group is resolved", known.id)
    if firing == known.firing:
        return Decision("heartbeat", f"still {_count(len(firing))}, nothing changed", known.id)
    more, fewer = len(firing - known.firing), len(known.firing - firing)
    return Decision("update", f"{more} more and {fewer} fewer alerts fire", known.id)


def firing_set(alerts: Sequence[Alert]) -> frozenset[str]:
    """Each firing alert as `fingerprint@start`, so that one which stopped and started again counts as news."""
    return frozenset(
        f"{alert_fingerprint(alert)}@{alert.starts_at.isoformat() if alert.starts_at else ''}"
        for alert in alerts
        if alert.firing
    )


def _count(alerts: int) -> str:
    return "1 alert fires" if alerts == 1 else f"{alerts} alerts fire"


def alert_facts(notification: Notification) -> tuple[AlertFacts, ...]:
    """The alerts as an investigation keeps them: firing first, secrets redacted, at most `MAX_KEPT_ALERTS`."""
    ordered = sorted(notification.alerts, key=lambda alert: not alert.firing)[:MAX_KEPT_ALERTS]
    return tuple(
        AlertFacts(
            status="firing" if alert.firing else "resolved",
            labels=redact_values(alert.labels),
            annotations=redact_values({**notification.common_annotations, **alert.annotations}),
            starts_at=alert.starts_at,
            expression=redact(storable(firing_expression(alert.generator_url) or "")),
            link=redact(alert.generator_url) if alert.generator_url.startswith(("http://", "https://")) else "",
        )
        for alert in ordered
    )


def title_of(notification: Notification) -> str:
    """The names of what fires, the commonest reading of a page: `HighErrorRate, SlowCheckout (5 alerts)`."""
    names = list(dict.fromkeys(alert.name for alert in notification.alerts if alert.name and alert.firing))
    names = names or list(dict.fromkeys(alert.name for alert in notification.alerts if alert.name))
    shown = ", ".join(names[:3]) or "An alert without a name"
    total = len(notification.alerts) + notification.truncated_alerts
    return redact(f"{shown} ({total} alerts)" if total > 1 else shown)[:300]


router = APIRouter()


@router.post("/webhooks/alertmanager", status_code=202, tags=["webhooks"])
async def alertmanager(request: Request) -> JSONResponse:
    """Take one notification, payload version 4 (older and partial ones too). The decision is on disk before the 202."""
    resources = request.app.state.resources
    caller = cast("Caller", request.state.caller)
    body = await _bounded_body(request, resources.settings.max_body_bytes)
    try:
        notification = parse_notification(body)
    except NotJson as error:
        raise AppError(400, "not_json", str(error)) from error
    except Meaningless as error:
        delivery_id = await resources.intake.quarantine(caller.tenant, body, str(error))
        decision = Decision("ignored", f"kept in quarantine: {error}", None)
        return JSONResponse(_receipt(delivery_id, "", decision), 202)
    receipt = await resources.intake.take(caller.tenant, notification)
    return JSONResponse(_receipt(receipt.delivery_id, receipt.group, receipt.decision), 202)


def _receipt(delivery_id: str, group: str, decision: Decision) -> dict[str, Any]:
    return {
        "delivery_id": delivery_id,
        "decisions": [
            {
                "group": group,
                "action": decision.action,
                "reason": decision.reason,
                "incident_id": decision.incident_id,
            }
        ],
    }


async def _bounded_body(request: Request, limit: int) -> bytes:
    """The body, read no further than the limit, whatever its Content-Length claims."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > limit:
            raise too_large(limit)
        parts.append(part)
    return b"".join(parts)


def facts_to_json(alerts: Sequence[AlertFacts]) -> str:
    return json.dumps([alert.model_dump(mode="json") for alert in alerts], ensure_ascii=False)


def facts_from_json(text: str) -> tuple[AlertFacts, ...]:
    return tuple(AlertFacts.model_validate(each) for each in json.loads(text))
