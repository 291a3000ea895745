"""How errors look on the wire."""

from __future__ import annotations

from starlette.responses import JSONResponse

from app.errors import AppError


def error_response(error: AppError) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
    # A message may repeat what came in, and a lone surrogate from an escape in JSON cannot be encoded.
    message = error.message.encode("utf-8", "replace").decode()
    return JSONResponse({"code": error.code, "message": message, **error.extra}, error.status, headers)
