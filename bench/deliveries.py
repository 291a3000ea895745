"""Webhook bodies of version 4, as Alertmanager sends them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

SERVICE = "checkout-api"
_EXPRESSION = quote(f'errors_ratio{{service="{SERVICE}"}} > 0.05')


def delivery(group: str, alerts: Sequence[str], began: datetime) -> bytes:
    """One notification of a group; each alert is a pod's name, and the n-th one fired n seconds after `began`."""
    labels = {"alertname": "HighErrorRate", "service": SERVICE, "severity": "critical"}
    body = {
        "version": "4",
        "groupKey": f'{{}}:{{alertname="HighErrorRate", zone="{group}"}}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "incident-graph",
        "groupLabels": {"alertname": "HighErrorRate", "zone": group},
        "commonLabels": {**labels, "zone": group},
        "commonAnnotations": {"summary": f"More than 5 % of the requests to {SERVICE} fail"},
        "externalURL": "http://alertmanager.example:9093",
        "alerts": [
            _alert({**labels, "zone": group, "pod": pod}, began + timedelta(seconds=number))
            for number, pod in enumerate(alerts)
        ],
    }
    return json.dumps(body).encode()


def _alert(labels: dict[str, str], started: datetime) -> dict[str, Any]:
    return {
        "status": "firing",
        "labels": labels,
        "annotations": {"summary": f"More than 5 % of the requests to {SERVICE} fail"},
        "startsAt": started.isoformat(),
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": f"http://prometheus.example:9090/graph?g0.expr={_EXPRESSION}&g0.tab=1",
        "fingerprint": hashlib.sha256(json.dumps(labels, sort_keys=True).encode()).hexdigest()[:16],
    }


def opening(group: str) -> bytes:
    """A delivery that opens an incident of this group: its first alert."""
    return delivery(group, ["pod-first"], _two_minutes_ago())


def update(group: str, number: int) -> bytes:
    """A delivery that changes the open incident of this group: another second alert for each number."""
    return delivery(group, ["pod-first", f"pod-{number}"], _two_minutes_ago())


def _two_minutes_ago() -> datetime:
    return datetime.now(UTC) - timedelta(minutes=2)
