"""Errors the HTTP API answers with: a status, a code for machines and a sentence that says what to do."""

from __future__ import annotations


class AppError(Exception):
    """Something a caller can act on. Answered as `{"code", "message"}` with `status`."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message


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
