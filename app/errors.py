"""Errors the HTTP API answers with: a status, a code for machines and a sentence that says what to do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphrag.errors import Refused


class AppError(Exception):
    """Something a caller can act on. Answered with `status` as `{"code", "message"}`, and beside these the fields of
    `extra`, plain JSON that a machine can act on."""

    def __init__(self, status: int, code: str, message: str, extra: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.extra = extra or {}


def unauthorized() -> AppError:
    return AppError(401, "unauthorized", "Send a valid token as 'Authorization: Bearer TOKEN' (or as basic password).")


def forbidden(role: str) -> AppError:
    return AppError(403, "forbidden", f"A token with the role {role!r} may not do this; use one whose role may.")


def too_large(limit: int) -> AppError:
    return AppError(
        413, "too_large", f"The body is larger than {limit} bytes; raise INCIDENT_GRAPH_MAX_BODY_BYTES or send less."
    )


def unavailable(what: str) -> AppError:
    return AppError(503, "unavailable", f"{what} does not answer; try again shortly.")


def refused(error: Refused) -> AppError:
    """What the graph refuses: there is no such thing (404), something is missing (422), or it contradicts what there
    is (409)."""
    if error.code.startswith("unknown_"):
        status = 404
    else:
        status = 422 if error.code.endswith("_missing") else 409
    return AppError(status, error.code, str(error))
