"""What Alertmanager sends (webhook payload version 4), read leniently, and the keys by which we know it again.

Senders in the wild leave out almost everything, so only `alerts` is required. Pure: no I/O, no clock.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, NoReturn, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

_UNSET_YEARS = 1970
"""Go's zero time is year 1 and Unix's is 1970: both are how senders say "no time"."""


class NotJson(ValueError):
    """The body is not JSON; sending it again cannot help."""


class Meaningless(ValueError):
    """The body is JSON but no notification: there is nothing to act on, yet it must not be lost."""


def storable(text: str) -> str:
    """Text that any database takes: JSON may carry NUL and half surrogates, which PostgreSQL and UTF-8 refuse."""
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return storable(value)
    return "" if value is None else storable(json.dumps(value, ensure_ascii=False))


def _as_labels(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        return {}
    return {_as_text(name): _as_text(each) for name, each in cast("dict[str, object]", value).items()}


def _as_time(value: object) -> datetime | None:
    """An aware UTC time from RFC 3339 text (up to 9 digits of a second, any zone), None when there is none."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value.strip())
        moment = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year > _UNSET_YEARS else None


def _as_count(value: object) -> int:
    if isinstance(value, int):
        return min(max(value, 0), 10**9)
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else 0


def _as_status(value: object) -> str:
    """`firing` unless the sender clearly says `resolved`: an alert that says nothing must not be closed."""
    return "resolved" if _as_text(value).strip().lower() == "resolved" else "firing"


Text = Annotated[str, BeforeValidator(_as_text)]
Labels = Annotated[Mapping[str, str], BeforeValidator(_as_labels)]
Time = Annotated[datetime | None, BeforeValidator(_as_time)]
Status = Annotated[str, BeforeValidator(_as_status)]


class _Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Alert(_Lenient):
    """One alert. `status` is `firing` or `resolved`; times are aware UTC; `ends_at` is None while it fires."""

    status: Status = "firing"
    labels: Labels = Field(default_factory=dict[str, str])
    annotations: Labels = Field(default_factory=dict[str, str])
    starts_at: Time = Field(default=None, alias="startsAt")
    ends_at: Time = Field(default=None, alias="endsAt")
    generator_url: Text = Field(default="", alias="generatorURL")
    fingerprint: Text = ""

    @property
    def firing(self) -> bool:
        return self.status == "firing"

    @property
    def name(self) -> str:
        return self.labels.get("alertname", "")


class Notification(_Lenient):
    """One webhook body. `skipped` counts entries of `alerts` that were no objects.

    With `truncated_alerts` above zero the body hides alerts, so `status` and `common_*` speak only of those shown.
    """

    version: Text = ""
    receiver: Text = ""
    status: Status = "firing"
    alerts: tuple[Alert, ...]
    group_key: Text = Field(default="", alias="groupKey")
    group_labels: Labels = Field(default_factory=dict[str, str], alias="groupLabels")
    common_labels: Labels = Field(default_factory=dict[str, str], alias="commonLabels")
    common_annotations: Labels = Field(default_factory=dict[str, str], alias="commonAnnotations")
    external_url: Text = Field(default="", alias="externalURL")
    truncated_alerts: Annotated[int, BeforeValidator(_as_count)] = Field(default=0, alias="truncatedAlerts")
    skipped: int = 0


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


def parse_notification(body: bytes) -> Notification:
    """The notification in a webhook body.

    Raises:
        NotJson: the bytes are not JSON (answer 400).
        Meaningless: it is JSON, but holds no list of alerts (keep it in quarantine, answer 202).
    """
    try:
        payload: Any = json.loads(body, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise NotJson("The body is not JSON. Send Alertmanager's webhook payload as application/json.") from error
    if not isinstance(payload, dict):
        raise Meaningless("The body is JSON but no object; a notification is an object with a list `alerts`.")
    fields = cast("dict[str, object]", payload)
    entries = fields.get("alerts")
    if not isinstance(entries, list):
        raise Meaningless("The body has no list `alerts`; a notification is an object with a list `alerts`.")
    return _notification(fields, cast("list[object]", entries))


def _notification(fields: dict[str, object], entries: list[object]) -> Notification:
    objects = [cast("dict[str, object]", entry) for entry in entries if isinstance(entry, dict)]
    if entries and not objects:
        raise Meaningless("No entry of `alerts` is an object; an alert is an object with labels and a status.")
    group_status = {"status": fields["status"]} if "status" in fields else {}
    alerts = tuple(Alert.model_validate({**group_status, **entry}) for entry in objects)
    status = fields.get("status", "firing" if not alerts or any(alert.firing for alert in alerts) else "resolved")
    skipped = len(entries) - len(objects)
    return Notification.model_validate({**fields, "status": status, "alerts": alerts, "skipped": skipped})


def _digest(*parts: object) -> str:
    """A stable digest. JSON keeps the parts apart, so that no two lists of parts read the same."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def alert_fingerprint(alert: Alert) -> str:
    """The sender's fingerprint, else one made of the sorted labels: the same alert, whenever and by whomever sent."""
    return alert.fingerprint or _digest("labels", dict(alert.labels))


def delivery_key(tenant: str, notification: Notification) -> str:
    """The same for every sending of the same news, in any order and by any replica of Alertmanager.

    Annotations change on each send, and `endsAt` moves while an alert fires, so neither takes part.
    """
    alerts = sorted(
        (
            alert_fingerprint(alert),
            alert.status,
            alert.starts_at.isoformat() if alert.starts_at else "",
            alert.ends_at.isoformat() if alert.ends_at and not alert.firing else "",
        )
        for alert in notification.alerts
    )
    return _digest(tenant, notification.receiver, notification.group_key, notification.truncated_alerts, alerts)


def group_id(tenant: str, notification: Notification) -> str:
    """Which group the news is about: by `groupKey`, else by the group's labels, else by the alerts themselves.

    The last keeps senders that name no group from having all they ever send taken for one.
    """
    group: object = notification.group_key or dict(notification.group_labels)
    if not group:
        group = sorted({alert_fingerprint(alert) for alert in notification.alerts})
    return _digest("group", tenant, notification.receiver, group)
