"""How errors look on the wire."""

from __future__ import annotations

from starlette.responses import JSONResponse

from app.errors import AppError


def error_response(error: AppError) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else None
    return JSONResponse({"code": error.code, "message": error.message}, error.status, headers)
