"""Makes webhook decisions durable before they are answered.

One task takes whatever deliveries are waiting, decides them in order and commits them together: one sync of the disk
for many answers, and no two decisions about one group at a time. Replicas on one PostgreSQL are kept apart by the
row lock on the open incident and by the unique index of one open incident a group.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Self

import sqlalchemy as sa
import structlog
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from app.database import deliveries, incidents, quarantine
from app.errors import unavailable
from app.metrics import Metrics
from app.webhook import Decision, OpenIncident, alert_facts, decide, facts_to_json, firing_set, title_of
from connectors.alertmanager import Notification, delivery_key, group_id

MAX_BATCH = 256
MAX_WAITING = 10_000
_MAX_QUARANTINED = 65_536
LATE_COPY = timedelta(minutes=1)
"""Alertmanager's replicas wait `--cluster.peer-timeout` (15 s) times their place for one another before each sends."""

log = structlog.get_logger()


@dataclass(frozen=True)
class Receipt:
    delivery_id: str
    group: str
    decision: Decision


@dataclass
class _Waiting:
    tenant: str
    notification: Notification
    answer: asyncio.Future[Receipt] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Intake:
    """`take` returns once the decision is on disk. `changed` is called after a commit that gave somebody work."""

    def __init__(self, engine: sa.Engine, metrics: Metrics, changed: Callable[[], None]) -> None:
        self._engine = engine
        self._metrics = metrics
        self._changed = changed
        self._waiting: asyncio.Queue[_Waiting] = asyncio.Queue(MAX_WAITING)
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="intake")
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run(), name="intake")
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._task:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._writer.shutdown()

    async def take(self, tenant: str, notification: Notification) -> Receipt:
        """Decide and keep one notification. Raises a 503 `AppError` when the database is down or too many wait."""
        waiting = _Waiting(tenant, notification)
        try:
            self._waiting.put_nowait(waiting)
        except asyncio.QueueFull:
            raise unavailable("The incident database") from None
        receipt = await waiting.answer
        self._metrics.deliveries.labels(receipt.decision.action).inc()
        return receipt

    async def quarantine(self, tenant: str, body: bytes, reason: str) -> str:
        """Keep a body nobody understood, cut to 64 KiB, for a person to look at."""
        delivery_id = hashlib.sha256(tenant.encode() + b"\0" + body).hexdigest()[:32]
        row: dict[str, object] = {
            "id": delivery_id,
            "tenant": tenant,
            "received_at": datetime.now(UTC),
            "reason": reason,
            "body": body[:_MAX_QUARANTINED].decode("utf-8", "replace").replace("\0", ""),
        }
        try:
            await asyncio.get_running_loop().run_in_executor(self._writer, self._keep_aside, row)
        except SQLAlchemyError as error:
            raise unavailable("The incident database") from error
        self._metrics.deliveries.labels("quarantined").inc()
        return delivery_id

    def _keep_aside(self, row: dict[str, object]) -> None:
        with self._engine.begin() as connection:
            known = connection.execute(sa.select(quarantine.c.id).where(quarantine.c.id == row["id"])).first()
            if known is None:
                connection.execute(quarantine.insert().values(row))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < MAX_BATCH and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            try:
                receipts = await loop.run_in_executor(self._writer, self._commit, batch)
            except asyncio.CancelledError:
                self._fail(batch)
                raise
            except Exception as error:
                # One that cannot be kept must not cost the others, and nothing may end this task.
                log.error("intake_failed", error=type(error).__name__, waiting=len(batch))
                receipts = [await self._alone(each) for each in batch]
            for waiting, receipt in zip(batch, receipts, strict=True):
                if receipt is not None and not waiting.answer.done():
                    waiting.answer.set_result(receipt)
            if any(receipt and receipt.decision.action in ("new", "update", "resolved") for receipt in receipts):
                self._changed()

    async def _alone(self, waiting: _Waiting) -> Receipt | None:
        """Commit one of a batch that failed; its own failure is answered 503, so that the sender tries again."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._writer, self._commit_one, waiting)
        except Exception as error:
            log.error("delivery_not_kept", error=type(error).__name__)
            self._fail([waiting])
            return None

    def _fail(self, batch: list[_Waiting]) -> None:
        for waiting in batch:
            if not waiting.answer.done():
                waiting.answer.set_exception(unavailable("The incident database"))

    def _commit(self, batch: list[_Waiting]) -> list[Receipt]:
        """The whole batch in one transaction; when another replica was quicker with one of them, one by one.

        Groups are locked in one order on every replica, else two that see them in opposite order wait for each other;
        within a group the order of arrival stays.
        """
        order = sorted(range(len(batch)), key=lambda at: group_id(batch[at].tenant, batch[at].notification))
        try:
            with self._engine.begin() as connection:
                taken = {at: take(connection, batch[at].tenant, batch[at].notification) for at in order}
        except IntegrityError:
            taken = {at: self._commit_one(batch[at]) for at in order}
        return [taken[at] for at in range(len(batch))]

    def _commit_one(self, waiting: _Waiting) -> Receipt:
        try:
            with self._engine.begin() as connection:
                return take(connection, waiting.tenant, waiting.notification)
        except IntegrityError:
            # The other replica has committed by now, so the second look sees what it wrote.
            with self._engine.begin() as connection:
                return take(connection, waiting.tenant, waiting.notification)


# Built once: building a statement costs more than running it, and every delivery runs three.
_TAKEN_BEFORE = sa.select(deliveries.c.incident_id, deliveries.c.received_at).where(
    deliveries.c.id == sa.bindparam("delivery")
)
_TAKEN_AGAIN = (
    deliveries.update().where(deliveries.c.id == sa.bindparam("delivery")).values(received_at=sa.bindparam("now"))
)
_OPEN_INCIDENT = (
    sa.select(incidents.c.id, incidents.c.firing, incidents.c.revision)
    .where(
        incidents.c.tenant == sa.bindparam("in_tenant"),
        incidents.c.group_id == sa.bindparam("in_group"),
        incidents.c.status == "open",
    )
    .with_for_update()
)
_KEEP_DELIVERY = deliveries.insert()
_KEEP_INCIDENT = incidents.insert()
_CHANGEABLE = ("status", "title", "alerts", "firing", "updated_at", "resolved_at", "revision")
_CHANGE_INCIDENT = (
    incidents.update()
    .where(incidents.c.id == sa.bindparam("incident"))
    .values({name: sa.bindparam(f"new_{name}") for name in _CHANGEABLE})
)


def take(connection: sa.Connection, tenant: str, notification: Notification) -> Receipt:
    """Decide one notification and write what the decision changes, inside the caller's transaction."""
    delivery_id = delivery_key(tenant, notification)
    group = group_id(tenant, notification)
    now = datetime.now(UTC)
    earlier = connection.execute(_TAKEN_BEFORE, {"delivery": delivery_id}).first()
    row = connection.execute(_OPEN_INCIDENT, {"in_tenant": tenant, "in_group": group}).first()
    known = OpenIncident(row.id, frozenset(json.loads(row.firing))) if row else None
    # The same news may be meant twice: a group that goes {A}, {A, B}, {A}; an alert that fires again and whose sender
    # tells no new start. A replica's copy comes soon after the first, so only what is recent is one.
    is_copy = earlier is not None and now - earlier.received_at <= LATE_COPY
    decision = decide(notification, known, is_copy, f"inc-{secrets.token_urlsafe(9)}")
    if earlier is not None:
        decision = Decision(decision.action, decision.reason, decision.incident_id or earlier.incident_id)
    if decision.action in ("new", "update", "resolved"):
        columns = _columns(decision, notification, now) | {"revision": row.revision + 1 if row else 1}
        if row is None:
            fixed = {"id": decision.incident_id, "tenant": tenant, "group_id": group, "opened_at": now}
            connection.execute(_KEEP_INCIDENT, {**columns, **fixed, "queued_revision": 0})
        else:
            changes = {f"new_{name}": value for name, value in columns.items()}
            connection.execute(_CHANGE_INCIDENT, {**changes, "incident": row.id})
    if earlier is not None and decision.action in ("new", "update", "resolved"):
        connection.execute(_TAKEN_AGAIN, {"delivery": delivery_id, "now": now})
    elif earlier is None and decision.action != "heartbeat":
        kept = {"id": delivery_id, "tenant": tenant, "received_at": now, "incident_id": decision.incident_id}
        connection.execute(_KEEP_DELIVERY, {**kept, "action": decision.action, "reason": decision.reason})
    return Receipt(delivery_id, group, decision)


def _columns(decision: Decision, notification: Notification, now: datetime) -> dict[str, object]:
    """What of an incident a notification says anew."""
    resolved = decision.action == "resolved"
    return {
        "status": "resolved" if resolved else "open",
        "title": title_of(notification),
        "alerts": facts_to_json(alert_facts(notification)),
        "firing": json.dumps(sorted(firing_set(notification.alerts))),
        "updated_at": now,
        "resolved_at": now if resolved else None,
    }
