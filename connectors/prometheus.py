"""Typed reads of Prometheus through an MCP server (the tools of PyPI's `prometheus-mcp-server`). Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from connectors.observations import DependencySeen, MetricSeen
from connectors.reading import Read, answered_json, objects, unreadable, web_link
from connectors.tool import ToolOutcome

SERVICE = "Prometheus"
SERVICE_GRAPH = "traces_service_graph_request_total"
_WINDOW = timedelta(hours=1)
_STEP = "30s"
MOST_CLIENTS = 50
_MAX_SERIES = 50
_RE2_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")


def alert_range(expression: str, at: datetime) -> Read:
    """The hour of an expression that ends at `at`, rounded up to the second: rounded down it could miss the very
    sample that made the alert fire."""
    last = math.ceil(at.timestamp())
    start, end = (
        datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for second in (last - int(_WINDOW.total_seconds()), last)
    )
    return "execute_range_query", {"query": expression, "start": start, "end": end, "step": _STEP}


def service_graph(names: Sequence[str]) -> Read:
    """Which servers these clients have called in the last five minutes, by the service graph made of traces."""
    return _execute(f"sum by (client, server) (rate({SERVICE_GRAPH}{{{_clients(names)}}}[5m])) > 0")


def calls_of_a_day(names: Sequence[str] = ()) -> Read:
    """Who has called whom in the last day, by the service graph made of traces: everybody, or at most `MOST_CLIENTS`
    clients."""
    matcher = f"{{{_clients(names)}}}" if names else ""
    return _execute(f"sum by (client, server, connection_type) (rate({SERVICE_GRAPH}{matcher}[1d])) > 0")


def _clients(names: Sequence[str]) -> str:
    clients = "|".join(_RE2_SPECIAL.sub(r"\\\g<0>", name) for name in names[:MOST_CLIENTS])
    return f"client=~{json.dumps(clients, ensure_ascii=False)}"


def _execute(query: str) -> Read:
    return "execute_query", {"query": query}


def read_metrics(outcome: ToolOutcome, expression: str) -> tuple[MetricSeen, ...]:
    """The series of an instant or a range query. Samples that are no finite number do not count."""
    answer = _answer(outcome)
    link = next((web_link(str(each.get("href", ""))) for each in objects(answer.get("links"))), "")
    seen = (_metric(series, expression, link) for series in _series(answer))
    return tuple(metric for metric in seen if metric is not None)


def read_service_graph(outcome: ToolOutcome) -> tuple[DependencySeen, ...]:
    """Who was seen calling whom; an edge without traffic is not seen."""
    seen: list[DependencySeen] = []
    for series in _series(_answer(outcome)):
        labels, samples = _labels(series), _samples(series)
        client, server = labels.get("client", ""), labels.get("server", "")
        if client and server and client != server and samples and samples[-1][1] > 0:
            seen.append(DependencySeen(client=client, server=server, at=samples[-1][0]))
    return tuple(seen)


def read_calls(outcome: ToolOutcome) -> tuple[Mapping[str, str], ...]:
    """The labels of each pair that was seen calling, all of them: `client`, `server`, `connection_type`."""
    rows = ((_labels(series), _samples(series)) for series in objects(_answer(outcome)["result"]))
    return tuple(labels for labels, samples in rows if samples and samples[-1][1] > 0)


def _answer(outcome: ToolOutcome) -> Mapping[str, Any]:
    """The answer with its `result`, also where a server passes on Prometheus' own envelope `{"data": ...}`."""
    answer = answered_json(outcome, SERVICE)
    if isinstance(answer, dict) and isinstance(cast("dict[str, Any]", answer).get("data"), dict):
        answer = cast("dict[str, Any]", answer)["data"]
    if isinstance(answer, list):
        return {"result": answer}
    if not isinstance(answer, dict) or not isinstance(cast("dict[str, Any]", answer).get("result"), list):
        raise unreadable(SERVICE, "there is no list of results")
    return cast("dict[str, Any]", answer)


def _series(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    if answer.get("resultType") in ("scalar", "string"):
        return [{"metric": {}, "value": answer["result"]}] if answer["resultType"] == "scalar" else []
    return objects(answer["result"])[:_MAX_SERIES]


def _metric(series: Mapping[str, Any], expression: str, link: str) -> MetricSeen | None:
    samples = _samples(series)
    if not samples:
        return None
    values = [value for _, value in samples]
    at, last = samples[-1]
    return MetricSeen(
        expression=expression,
        labels=_labels(series),
        last=last,
        lowest=min(values),
        highest=max(values),
        at=at,
        link=link,
    )


def _labels(series: Mapping[str, Any]) -> dict[str, str]:
    metric = series.get("metric")
    pairs = cast("dict[str, object]", metric) if isinstance(metric, dict) else {}
    return {name: value for name, value in pairs.items() if isinstance(value, str)}


def _samples(series: Mapping[str, Any]) -> list[tuple[datetime, float]]:
    values = series.get("values")
    raw = cast("list[object]", values) if isinstance(values, list) else [series.get("value")]
    return [sample for sample in map(_sample, raw) if sample is not None]


def _sample(raw: object) -> tuple[datetime, float] | None:
    try:
        moment, value = cast("Sequence[Any]", raw)
        at, number = datetime.fromtimestamp(float(moment), UTC), float(value)
    except (TypeError, ValueError, OverflowError, OSError):
        return None
    return (at, number) if math.isfinite(number) else None
