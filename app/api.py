"""What people and platforms ask over HTTP: investigations, and whether the service is well."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Annotated, Any, cast

from fastapi import APIRouter, Header, Request
from fastapi.responses import JSONResponse, PlainTextResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from pydantic import BaseModel, ConfigDict, Field, model_validator

from agent.redact import redact
from agent.report import Report
from agent.state import Incident
from app.auth import Caller
from app.errors import AppError
from app.journal import EVENT, Kept, bundle

STREAM_POLL_SECONDS = 0.2
_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")

router = APIRouter()


class Ask(BaseModel):
    """What to investigate: a question in free text, or the name of a service."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"question": "Why is checkout slow?"}, {"service": "checkout-api"}]},
    )
    question: str = Field("", max_length=4_000)
    service: str = Field("", max_length=300)

    @model_validator(mode="after")
    def _one_of_both(self) -> Ask:
        if bool(self.question.strip()) == bool(self.service.strip()):
            raise ValueError('send either {"question": "…"} or {"service": "…"}')
        return self


@router.post(
    "/v1/investigations",
    tags=["investigations"],
    response_model=Report,
    responses={202: {"description": "Begun; ask for it by its id."}},
)
async def investigate(
    ask: Ask,
    request: Request,
    prefer: Annotated[str, Header()] = "",
    accept: Annotated[str, Header()] = "",
) -> Any:
    """Run an investigation: the same loop as for an alert. Waits for the report, or answers at once with
    `Prefer: respond-async`, or streams its events with `Accept: text/event-stream`."""
    resources = request.app.state.resources
    question, service = redact(ask.question.strip()), redact(ask.service.strip())
    subject = Incident(
        id=f"inv-{secrets.token_urlsafe(9)}",
        tenant=cast("Caller", request.state.caller).tenant,
        opened_at=datetime.now(UTC),
        title=(question or service)[:300],
        question=question,
        service=service,
    )
    running = await resources.incidents.start(subject)
    if "respond-async" in prefer.lower():
        return JSONResponse({"id": subject.id}, 202, {"Location": f"/v1/investigations/{subject.id}"})
    if "text/event-stream" in accept.lower():
        return StreamingResponse(_stream(resources, subject, running), media_type="text/event-stream")
    await running
    kept = await asyncio.to_thread(resources.journal.investigation, subject.id, subject.tenant)
    return JSONResponse(kept.report.model_dump(mode="json"))


@router.get("/v1/investigations/{investigation_id}", tags=["investigations"], response_model=Report)
async def investigation(investigation_id: str, request: Request) -> Any:
    """The report of an investigation or an incident; while it runs, its id and status."""
    kept = await kept_of(request, investigation_id)
    if kept.report is None:
        return JSONResponse({"id": investigation_id, "status": kept.status})
    return JSONResponse(kept.report.model_dump(mode="json"))


@router.get("/v1/investigations/{investigation_id}/journal", tags=["investigations"])
async def investigation_journal(investigation_id: str, request: Request) -> Any:
    """Everything that happened, as one file that `incident-graph replay` reruns offline."""
    kept = await kept_of(request, investigation_id)
    events = await asyncio.to_thread(request.app.state.resources.journal.events, investigation_id)
    return JSONResponse(bundle(kept, events))


async def kept_of(request: Request, investigation_id: str) -> Kept:
    """An investigation of the caller's tenant. Raises `AppError` 404."""
    tenant = cast("Caller", request.state.caller).tenant
    kept = None
    if _ID.fullmatch(investigation_id):
        kept = await asyncio.to_thread(request.app.state.resources.journal.investigation, investigation_id, tenant)
    if kept is None:
        raise AppError(
            404, "unknown_investigation", f"There is no investigation {investigation_id!r}; use the id you were given."
        )
    return kept


async def _stream(resources: Any, subject: Incident, running: asyncio.Task[None]) -> AsyncGenerator[str]:
    """Server-sent events: each journal event as it happens, and the report last. Read from the journal, so that it is
    the same whichever replica does the work."""
    sent = 0
    yield _sse("started", {"id": subject.id})
    while True:
        ended = running.done()
        for event in await asyncio.to_thread(resources.journal.events, subject.id, sent):
            yield _sse(event.kind, EVENT.dump_python(event, mode="json"))
            sent += 1
        if ended:
            break
        await asyncio.wait([running], timeout=STREAM_POLL_SECONDS)
    kept = await asyncio.to_thread(resources.journal.investigation, subject.id, subject.tenant)
    if kept and kept.report:
        yield _sse("report", kept.report.model_dump(mode="json"))
    else:
        yield _sse("error", {"code": "no_report", "message": "The investigation ended without a report; ask again."})


def _sse(name: str, data: Any) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


@router.get("/healthz", tags=["service"])
async def healthz() -> PlainTextResponse:
    """The process lives."""
    return PlainTextResponse("ok\n")


@router.get("/readyz", tags=["service"])
async def readyz(request: Request) -> PlainTextResponse:
    """The service can take alerts and questions: databases open, embedding warm."""
    resources = getattr(request.app.state, "resources", None)
    if resources is None or not resources.ready:
        return PlainTextResponse("starting\n", 503)
    return PlainTextResponse("ok\n")


@router.get("/metrics", tags=["service"])
async def metrics(request: Request) -> PlainTextResponse:
    """Prometheus metrics of the service itself."""
    return PlainTextResponse(
        generate_latest(request.app.state.resources.metrics.registry), media_type=CONTENT_TYPE_LATEST
    )
