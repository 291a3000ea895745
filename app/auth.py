"""Who may call what. Everything is denied unless it is listed here, for the whole app at once."""

from __future__ import annotations

import base64
import binascii
import hmac
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from app.errors import AppError, forbidden, unauthorized
from app.responses import error_response
from app.settings import Role, Token

PUBLIC = frozenset({"/healthz", "/readyz", "/metrics", "/openapi.json"})
"""Paths without a token: they name no service, no person and no incident."""

_ALLOWED: tuple[tuple[str, str, frozenset[Role]], ...] = (
    ("POST", "/webhooks/", frozenset({"webhook", "admin"})),
    ("GET", "/v1/", frozenset({"reader", "agent", "admin"})),
    ("POST", "/v1/investigations", frozenset({"reader", "agent", "admin"})),
    ("*", "/v1/", frozenset({"admin"})),
)
"""Method, path (or its start, where it ends in a slash), roles: the first line that fits decides; no line means no."""


class Caller(NamedTuple):
    role: Role
    tenant: str


def authenticate(authorization: str, tokens: Sequence[Token]) -> Caller | None:
    """The caller a header proves; compares with every token in constant time so that timing tells nothing."""
    presented = _presented(authorization).encode()
    found: Caller | None = None
    for token in tokens:
        if hmac.compare_digest(presented, token.token.get_secret_value().encode()):
            found = Caller(token.role, token.tenant)
    return found


def _presented(authorization: str) -> str:
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value.strip(), validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return ""
    return ""


def allows(role: Role, method: str, path: str) -> bool:
    method = "GET" if method == "HEAD" else method
    for rule_method, rule, roles in _ALLOWED:
        fits = path.startswith(rule) if rule.endswith("/") else path == rule
        if rule_method in ("*", method) and fits:
            return role in roles
    return False


def first_token(data_dir: Path) -> Token:
    """The admin token of an installation that was given none: made once, kept readable by its owner only."""
    path = data_dir / "token"
    if not path.exists() or not path.read_text(encoding="utf-8").strip():
        data_dir.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"token.{secrets.token_hex(4)}")
        beside.touch(mode=0o600)
        beside.write_text(secrets.token_urlsafe(32), encoding="utf-8")
        beside.replace(path)
    return Token(token=SecretStr(path.read_text(encoding="utf-8").strip()), role="admin")


class RequireToken:
    """ASGI middleware in front of everything, so that a forgotten route is closed and not open."""

    def __init__(self, app: ASGIApp, tokens: Sequence[Token]) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] in PUBLIC:
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self._app(scope, receive, send)
        else:
            await error_response(refusal)(scope, receive, send)

    def _refusal(self, scope: Scope) -> AppError | None:
        caller = authenticate(Headers(scope=scope).get("authorization", ""), self._tokens)
        if caller is None:
            return unauthorized()
        if not allows(caller.role, scope["method"], scope["path"]):
            return forbidden(caller.role)
        scope.setdefault("state", {})["caller"] = caller
        return None
