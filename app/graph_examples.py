"""Examples of what the graph's routes answer, for /openapi.json. A test holds them to the models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel


class Failure(BaseModel):
    """What every error looks like. Some carry more: `nearest` names, or `candidates` with name, label and id."""

    code: str
    message: str


_LIFE: Mapping[str, Any] = {
    "valid_from": "2026-03-01T06:00:00Z",
    "valid_to": None,
    "first_seen": "2026-03-01T06:00:00Z",
    "last_seen": "2026-10-12T06:00:00Z",
    "confirmations": 225,
    "sources": ["folder:catalogue"],
    "confidence": 1.0,
}
_CHECKOUT = {"id": "service-2c1f0a9d7be64f8a11d3", "label": "Service", "name": "checkout-api"}
_LEDGER = {"id": "service-77d0c3b5a2914e0f6c8b", "label": "Service", "name": "ledger-db"}
_GATEWAY = {"id": "service-9b3e5d1c4f7a42e08d66", "label": "Service", "name": "payments-gateway"}
_TEAM = {"id": "team-1d2c3b4a5f6e47809a1b", "label": "Team", "name": "payments"}


def _related(to: Mapping[str, Any], type: str, direction: str = "out", **properties: Any) -> dict[str, Any]:
    edge = {"type": type, "direction": direction, "verb": "", "summary": "", "says": ""}
    return {**to, **edge, "properties": properties, "chunks": [], **_LIFE}


def _page(*items: Any, **more: Any) -> dict[str, Any]:
    return {"items": list(items), "more": False, "cursor": None, **more}


_RUNBOOK = {
    "id": "runbook-0f1e2d3c4b5a49688776",
    "label": "Runbook",
    "name": "runbooks/checkout-api-high-error-rate.md",
}
_STOREFRONT = {"id": "service-5a6b7c8d9e0f41a2b3c4", "label": "Service", "name": "storefront"}
_RADIUS = {"services": ["storefront"], "count": 1, "truncated": False}
_ENTITY = {
    **_LEDGER,
    "aliases": ["ledger"],
    "summary": "Books every payment.",
    "properties": {"tier": "1"},
    "life": _LIFE,
}
_ALIASED = {**_CHECKOUT, "aliases": ["checkout", "co-api"]}
_MERGED = {
    "id": "merge-1f2e3d4c5b6a7988",
    "keep": _LEDGER["id"],
    "drop": "service-8c9d0e1f2a3b4c5d6e7f",
    "names": ["ledger-db", "ledger-postgres"],
    "reason": "ledger-postgres is what Terraform calls it",
    "by": "admin of default",
    "at": "2026-10-12T09:30:00.000000+00:00",
    "undone_at": "",
    "undone_by": "",
}
_CORRECTED = {
    "id": "correction-0a1b2c3d4e5f6071",
    "action": "retire",
    "type": "DEPENDS_ON",
    "source": _CHECKOUT["id"],
    "target": _LEDGER["id"],
    "verb": "",
    "names": ["checkout-api", "ledger-db"],
    "reason": "goes through payments-gateway since v2.4",
    "by": "admin of default",
    "at": "2026-10-12T09:30:00.000000+00:00",
    "lifted_at": "",
    "lifted_by": "",
}
_RULED = {
    "id": "rule-4b5c6d7e8f901a2b",
    "label": "component",
    "value": "card-worker",
    "alertname": "",
    "service": _CHECKOUT["id"],
    "name": "checkout-api",
    "reason": "the card worker is part of checkout-api",
    "by": "admin of default",
    "at": "2026-10-12T09:30:00.000000+00:00",
    "investigation": "inc-GUJjNQcE2mIy",
    "lifted_at": "",
    "lifted_by": "",
}
_NO_FACTS: Mapping[str, Any] = {"count": 0, "shown": []}

EXAMPLES: Mapping[str, Any] = {
    "service": {
        "id": _CHECKOUT["id"],
        "name": "checkout-api",
        "aliases": ["checkout"],
        "summary": "checkout-api takes orders.",
        "properties": {"tier": "1", "repo": "example/checkout-api"},
        "criticality": {"score": 0.09, "basis": "dependents"},
        "owner": {"team": "payments", "channel": "#payments-oncall", "fact": _related(_TEAM, "OWNED_BY")},
        "further_owners": [],
        "runbooks": _page(_related(_RUNBOOK, "HAS_RUNBOOK", path="runbooks/checkout-api-high-error-rate.md")),
        "documents": _page(),
        "dependencies": _page(_related(_GATEWAY, "DEPENDS_ON", tier="1")),
        "dependents": _page(_related(_STOREFRONT, "DEPENDS_ON", "in", tier="1")),
        "blast_radius": _RADIUS,
        "incidents": _page(),
        "releases": _page(),
        "relations": _page(),
        "life": _LIFE,
        "as_of": None,
    },
    "dependencies": _page(_related(_GATEWAY, "DEPENDS_ON"), service="checkout-api", as_of=None),
    "dependents": _page(_related(_STOREFRONT, "DEPENDS_ON", "in"), service="checkout-api", as_of=None),
    "blast-radius": {
        "service": "payments-gateway",
        "hops": 5,
        "services": [
            {"id": _CHECKOUT["id"], "name": "checkout-api", "hops": 1, "path": ["payments-gateway", "checkout-api"]}
        ],
        "count": 1,
        "truncated": False,
        "as_of": None,
    },
    "history": _page(
        {
            "fact": "checkout-api depends on ledger-db",
            "type": "DEPENDS_ON",
            "other": _LEDGER,
            "direction": "out",
            "says": "",
            **_LIFE,
            "valid_to": "2026-09-30T06:00:00Z",
        },
        service="checkout-api",
        as_of=None,
    ),
    "paths": {
        "from": _CHECKOUT,
        "to": _LEDGER,
        "hops": 6,
        "length": 1,
        "paths": [
            {
                "nodes": [_CHECKOUT, _LEDGER],
                "steps": [
                    {
                        "from": "checkout-api",
                        "to": "ledger-db",
                        "type": "DEPENDS_ON",
                        "verb": "",
                        "direction": "out",
                        "fact": "checkout-api depends on ledger-db",
                        **_LIFE,
                    }
                ],
            }
        ],
        "truncated": False,
        "as_of": None,
    },
    "entities": _page(_ENTITY),
    "entity": {**_ENTITY, "related": _page(_related(_CHECKOUT, "DEPENDS_ON", "in")), "as_of": None},
    "alias": _ALIASED,
    "alias-removed": {**_ALIASED, "aliases": ["checkout"]},
    "preview": {
        "token": "5d41402abc4b2a76b9719d911017c592a1b2c3d4e5f60718",
        "keep": _LEDGER,
        "drop": {"id": "service-8c9d0e1f2a3b4c5d6e7f", "label": "Service", "name": "ledger-postgres"},
        "gained": ["ledger-postgres"],
        "moved": {
            "count": 1,
            "shown": [
                {
                    "fact": "payments-gateway depends on ledger-postgres",
                    "type": "DEPENDS_ON",
                    "scope": "world",
                    "life": _LIFE,
                }
            ],
        },
        "combined": _NO_FACTS,
        "ended": _NO_FACTS,
        "conflicts": [{"about": "owner", "keep": "payments", "drop": "platform"}],
        "blast_radius": {
            "keep_before": {"services": ["checkout-api"], "count": 1, "truncated": False},
            "drop_before": {"services": ["payments-gateway"], "count": 1, "truncated": False},
            "after": {"services": ["checkout-api", "payments-gateway"], "count": 2, "truncated": False},
        },
    },
    "merge": _MERGED,
    "merges": _page(_MERGED),
    "undone": {**_MERGED, "undone_at": "2026-10-12T09:41:00.000000+00:00", "undone_by": "admin of default"},
    "correction": _CORRECTED,
    "corrections": _page(_CORRECTED),
    "proposals": _page(
        {
            "id": "same-as-3f2a1b0c9d8e7f605142",
            "left": _LEDGER,
            "right": {"id": "service-8c9d0e1f2a3b4c5d6e7f", "label": "Service", "name": "ledger-dbs"},
            "names": ["ledger-db", "ledger-dbs"],
            "likeness": 0.9474,
            "reason": '"ledger-db" and "ledger-dbs" read 0.95 alike.',
            "since": "2026-10-12T06:00:00Z",
        }
    ),
    "rejected": {
        "id": "same-as-3f2a1b0c9d8e7f605142",
        "by": "admin of default",
        "reason": "one is the cluster, the other its replica set",
    },
    "learned": {
        "service": _CHECKOUT,
        "alias": None,
        "rule": _RULED,
        "certainty": "resolved",
        "says": "Alerts with component=card-worker are about checkout-api from now on; undo it with"
        " DELETE /v1/rules/rule-4b5c6d7e8f901a2b.",
    },
    "page-said": {
        "page": {"id": "runbook-1c2d3e4f5a6b7c8d9e0f", "label": "Runbook", "name": "runbooks/checkout-errors.md"},
        "offered": 4,
        "helped": 3,
    },
    "rule": {**_RULED, "investigation": ""},
    "rules": _page(_RULED),
    "rule-lifted": {**_RULED, "lifted_at": "2026-10-12T10:02:00.000000+00:00", "lifted_by": "admin of default"},
    "lifted": {**_CORRECTED, "lifted_at": "2026-10-12T10:02:00.000000+00:00", "lifted_by": "admin of default"},
}

_FAILURES: Mapping[int, tuple[str, Mapping[str, Any]]] = {
    400: (
        "The cursor belongs to another list.",
        {"code": "bad_cursor", "message": "This cursor belongs to another list. Ask again without a cursor."},
    ),
    404: (
        "There is nothing of this name or id.",
        {
            "code": "unknown_service",
            "message": "There is no service 'chekout' now. The nearest names are checkout-api.",
            "nearest": ["checkout-api"],
        },
    ),
    409: (
        "It contradicts what there is: a name of two things, a preview that is stale, a conflict.",
        {
            "code": "ambiguous_name",
            "message": "'payments' is a name of 2 things: … Ask by the id of the one that is meant.",
            "candidates": [_TEAM, {"id": "service-6f5e4d3c2b1a40918273", "label": "Service", "name": "payments"}],
        },
    ),
    422: (
        "A parameter or a field is none that can be used; the sentence names what can.",
        {"code": "invalid", "message": "hops: must be from 0 to 10."},
    ),
    503: (
        "The graph does not answer; try again shortly.",
        {"code": "graph_unavailable", "message": "The graph does not answer; try again shortly."},
    ),
}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors of a route with these statuses, and that the graph may be away, as OpenAPI has them."""
    return {
        status: {
            "model": Failure,
            "description": _FAILURES[status][0],
            "content": {"application/json": {"example": _FAILURES[status][1]}},
        }
        for status in (*statuses, 503)
    }


def _answer(example: Any) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {"application/json": {"example": example}}}}


ANSWERS = {name: _answer(example) for name, example in EXAMPLES.items()}
