"""One incident that many tests look at: checkout-api of the team payments fails, and what the graph knows around it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from agent.state import (
    AlertFacts,
    CandidateService,
    Consulted,
    Equipped,
    Event,
    Incident,
    Known,
    Located,
    ModelClaim,
    ModelFailed,
    ModelReplied,
    State,
    ToolAnswered,
    ToolFailed,
)
from connectors.observations import Observation
from connectors.tool import ToolCall, ToolSpec

START = datetime(2026, 3, 2, 2, 13, tzinfo=UTC)
OPENED = START + timedelta(seconds=30)


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)


ALERT = AlertFacts(
    labels={"alertname": "HighErrorRate", "service": "checkout-api"},
    annotations={"summary": "5xx on checkout"},
    starts_at=START,
    expression='rate(errors_total{service="checkout-api"}[5m]) > 0.1',
)
INCIDENT = Incident(id="inc-1", tenant="default", opened_at=OPENED, title="HighErrorRate", alerts=(ALERT,))


def known(name: str, label: str = "Service", **changes: Any) -> Known:
    return Known(**{"id": f"{label.lower()}-{name}", "label": label, "name": name, **changes})


CHECKOUT = known(
    "checkout-api",
    summary="Takes the money.",
    properties={"aliases": ("checkout",), "repo": "https://github.com/acme/checkout"},
    sources=("catalog",),
    confirmations=3,
    last_seen=START - timedelta(days=1),
)
PAYMENTS = known("payments", "Team", properties={"oncall_channel": "#payments-oncall"})
STORAGE = known("storage", "Team", properties={"oncall_channel": "#storage"})
LEDGER = known("ledger", hops=1, path=("checkout-api", "ledger"))
VAULT = known("vault", hops=2, path=("checkout-api", "ledger", "vault"))
SHOP = known("shop", hops=1, path=("shop", "checkout-api"))
RUNBOOK = known("errors", "Runbook", properties={"title": "Checkout errors", "path": "runbooks/errors.md"})
RELEASE = known(
    "checkout 1.4.0",
    "Release",
    properties={"version": "1.4.0", "released_at": (START - timedelta(hours=2)).isoformat()},
)
PAST = known(
    "last time", "Incident", properties={"title": "Checkout was slow", "started_at": "2026-01-05T10:00:00+00:00"}
)


def located(certainty: str = "resolved", names: Sequence[str] = ("checkout-api",), **changes: Any) -> Located:
    candidates = tuple(
        CandidateService(id=f"service-{name}", name=name, score=1.0 - rank / 10) for rank, name in enumerate(names)
    )
    fields = {
        "at": OPENED,
        "certainty": certainty,
        "candidates": candidates,
        "explanation": "checkout-api by its label",
    }
    return Located.model_validate({**fields, **changes})


def consulted(**changes: Any) -> Consulted:
    fields: dict[str, Any] = {
        "at": OPENED + timedelta(seconds=1),
        "service": CHECKOUT,
        "team": PAYMENTS,
        "teams": (PAYMENTS, STORAGE),
        "dependencies": (LEDGER, VAULT),
        "dependents": (SHOP,),
        "runbooks": (RUNBOOK,),
    }
    return Consulted(**{**fields, **changes})


PROMETHEUS = ToolSpec(server="prometheus", name="execute_range_query")
RELEASES = ToolSpec(server="github", name="get_latest_release")


def equipped(*tools: ToolSpec, unreachable: dict[str, str] | None = None) -> Equipped:
    return Equipped(at=OPENED + timedelta(seconds=2), tools=tools, unreachable=unreachable or {})


def call(identity: str = "alert-expression-1@prometheus", server: str = "prometheus", tool: str = "") -> ToolCall:
    return ToolCall(id=identity, server=server, tool=tool or "execute_range_query", arguments={}, purpose="the rate")


def answered(made: ToolCall | str, *seen: Observation, text: str = "ok", at: datetime | None = None) -> ToolAnswered:
    made = call(made, made.rpartition("@")[2]) if isinstance(made, str) else made
    return ToolAnswered(at=at or OPENED + timedelta(seconds=3), call=made, text=text, observations=seen)


def failed(made: ToolCall | str, error: str = "no answer within 15 s") -> ToolFailed:
    made = call(made, made.rpartition("@")[2]) if isinstance(made, str) else made
    return ToolFailed(at=OPENED + timedelta(seconds=3), call=made, error=error)


def replied(*calls: ToolCall, verdict: str = "", claims: Sequence[ModelClaim] = (), tokens: int = 10) -> ModelReplied:
    return ModelReplied(
        at=OPENED + timedelta(seconds=4), calls=calls, verdict=verdict, claims=tuple(claims), input_tokens=tokens
    )


def model_failed(error: str = "the model's gateway cannot be reached") -> ModelFailed:
    return ModelFailed(at=OPENED + timedelta(seconds=4), error=error)


def state(*events: Event, **changes: Any) -> State:
    return State(**{"incident": INCIDENT, "events": events, **changes})


def consulted_state(*events: Event, **changes: Any) -> State:
    """A state that found its service; `changes` go to what the graph said."""
    return state(located(), consulted(**changes), *events)
