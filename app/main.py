"""Wires the service in one visible place: settings in, an ASGI app out."""

from __future__ import annotations

import asyncio
import functools
import gc
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog
from dbos import DBOS, DBOSConfig
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from agent.model import Model
from agent.state import Budget
from agent.tools import Fleet, NoServers, World
from app import api, graph_api, graph_changes, graph_pages, graph_rules, sync, webhook
from app.auth import RequireToken, first_token
from app.database import metadata, open_engine, prepare_work_file, work_url
from app.delivery import Delivery
from app.errors import AppError, refused, unavailable
from app.graph_open import open_graph
from app.incidents import WORK_VERSION, Incidents
from app.intake import Intake
from app.journal import SETTLE, Journal
from app.metrics import Metrics
from app.replicas import Replicas, new_replica_id
from app.responses import error_response
from app.settings import Settings
from app.sync import Syncing
from app.tracing import Tracer
from connectors.slack import Sink, SlackSink
from connectors.slack_offline import ConsoleSink, FileSink
from graphrag.embed import Embedding
from graphrag.errors import GraphError, Refused
from graphrag.store import GraphStore

SWEEP_SECONDS = 5.0
"""How often changes without a workflow are looked for: after a crash, or when the database was away."""
QUIET_SECONDS = 0.05
BURST_SECONDS = 1.0
"""A burst of alerts is taken in before its work begins: work waits until none came for `QUIET_SECONDS`, and no longer
than `BURST_SECONDS`."""
STOP_SECONDS = 10
_LONGEST_FIELD = 100

log = structlog.get_logger()


@dataclass
class Resources:
    """What requests need, built once by the lifespan."""

    settings: Settings
    graph: GraphStore
    embedding: Embedding
    journal: Journal
    intake: Intake
    incidents: Incidents
    syncing: Syncing
    metrics: Metrics
    ready: bool = False


def create_app(settings: Settings) -> FastAPI:
    """The service for these settings. Before the lifespan starts nothing is opened but the file of the first token."""
    tokens = settings.tokens or (first_token(settings.data_dir),)
    app = FastAPI(
        title="incident-graph",
        description="Incident response over a graph of production: alerts in, one proven report out.",
        version="0.1.0",
        lifespan=_lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = settings
    app.include_router(webhook.router)
    app.include_router(api.router)
    app.include_router(graph_api.router)
    app.include_router(graph_changes.router)
    app.include_router(graph_rules.router)
    app.include_router(graph_pages.router)
    app.include_router(sync.router)
    app.add_middleware(RequireToken, tokens=tokens)
    app.add_exception_handler(AppError, _app_error)
    app.add_exception_handler(GraphError, _graph_error)
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(SQLAlchemyError, _database_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _bug)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncGenerator[None]:
    async with AsyncExitStack() as stack:
        app.state.resources = await open_resources(app.state.settings, stack)
        yield
        app.state.resources.ready = False


async def open_resources(settings: Settings, stack: AsyncExitStack) -> Resources:
    """Open everything, each closed by the stack in the reverse order. Raises what the first failure raises."""
    metrics = Metrics()
    engine = await asyncio.to_thread(_open_database, settings)
    stack.callback(engine.dispose)
    graph, embedding = await stack.enter_async_context(open_graph(settings, may_be_down=True))
    fleet = await _fleet(settings, stack)
    model = _model(settings, stack)
    tracer = Tracer(settings)
    stack.callback(tracer.close)
    incidents = Incidents(
        world=World(
            graph,
            embedding.embed_queries,
            fleet,
            model,
            settings.tool_seconds,
            settings.model_seconds,
            weights=settings.rank_weights,
            told=settings.told_keys,
        ),
        journal=Journal(engine),
        delivery=Delivery(engine, *_sinks(settings), settings.slack_default_channel, metrics),
        metrics=metrics,
        tracer=tracer,
        budget=Budget(
            turns=settings.investigation_turns,
            tokens=settings.investigation_tokens,
            seconds=settings.investigation_seconds,
        ),
        public_url=settings.public_url.rstrip("/"),
    )
    syncing = Syncing(graph, embedding, fleet, settings)
    await _start_work(settings, engine, incidents, syncing, stack)
    changed = asyncio.Event()
    intake = await stack.enter_async_context(Intake(engine, metrics, changed.set))
    await _in_background(stack, _queue_changes(incidents, changed))
    resources = Resources(settings, graph, embedding, Journal(engine), intake, incidents, syncing, metrics)
    await _in_background(stack, _warm(resources))
    return resources


def _open_database(settings: Settings) -> Engine:
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    engine = open_engine(settings.app_database)
    metadata.create_all(engine)
    prepare_work_file(work_url(settings.app_database))
    return engine


async def _fleet(settings: Settings, stack: AsyncExitStack) -> Fleet:
    if not settings.servers:
        return NoServers()
    from connectors.mcp import McpFleet

    return await stack.enter_async_context(McpFleet(settings.servers))


def _model(settings: Settings, stack: AsyncExitStack) -> Model | None:
    if not settings.model_base_url:
        return None
    from agent.gateway import GatewayModel

    model = GatewayModel(settings.model_base_url, settings.model_api_key.get_secret_value(), settings.model_name)
    stack.push_async_callback(model.close)
    return model


def _sinks(settings: Settings) -> tuple[Sink, Sink]:
    """Where reports go, and where they are kept when that refuses them for good."""
    files = FileSink(settings.data_dir / "reports")
    token = settings.slack_token.get_secret_value()
    return (SlackSink(token, settings.slack_base_url) if token else ConsoleSink(files)), files


async def _start_work(
    settings: Settings, engine: Engine, incidents: Incidents, syncing: Syncing, stack: AsyncExitStack
) -> None:
    """Start the durable queue and the nightly schedule, and look after the work of replicas that are gone."""
    replica_id = settings.replica_id or new_replica_id()
    config: DBOSConfig = {
        "name": "incident-graph",
        "system_database_url": work_url(settings.app_database),
        "application_version": WORK_VERSION,
        "executor_id": replica_id,
        "log_level": "WARNING",
        "enable_otlp": False,
    }
    keeper = Replicas(engine, replica_id, alone=settings.app_database.startswith("sqlite"))
    stack.callback(keeper.leave)  # the last thing: before our work has stopped nobody may take it over
    DBOS(config=config)
    incidents.register()
    syncing.register()
    DBOS.launch()
    DBOS.logger.setLevel("ERROR")  # a step that is tried again is told by ours, in a line
    stack.push_async_callback(_stop_work)
    await incidents.listen(settings.concurrency)
    await syncing.schedule(settings.sync_schedule)
    await _in_background(stack, keeper.run())


async def _stop_work() -> None:
    """Let running workflows come to their end for a while; what is left goes on from its last step elsewhere."""
    stop = functools.partial(DBOS.destroy, destroy_registry=True, workflow_completion_timeout_sec=STOP_SECONDS)
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, thread_name_prefix="stop") as thread:
        await loop.run_in_executor(thread, stop)
    # DBOS lends the loop its own threads and takes them along; what is still to be closed needs some.
    loop.set_default_executor(ThreadPoolExecutor(thread_name_prefix="asyncio"))


async def _queue_changes(incidents: Incidents, changed: asyncio.Event) -> None:
    while True:
        changed.clear()
        pause = SWEEP_SECONDS
        try:
            if await incidents.queue_changes():
                pause = SETTLE.total_seconds()
        except Exception as error:
            # Whatever it was, the change is on disk and the next sweep queues it.
            log.error("queueing_failed", error=type(error).__name__)
        try:
            async with asyncio.timeout(pause):
                await changed.wait()
        except TimeoutError:
            continue
        await burst_over(changed, QUIET_SECONDS, BURST_SECONDS)


async def burst_over(changed: asyncio.Event, quiet: float, longest: float) -> None:
    """Return once `changed` has not been set for `quiet` seconds, or after `longest` seconds of a burst."""
    loop = asyncio.get_running_loop()
    until = loop.time() + longest
    while (left := until - loop.time()) > 0:
        changed.clear()
        # Looking now and then, not waking for each change, leaves the loop to those who are being answered.
        await asyncio.sleep(min(quiet, left))
        if not changed.is_set():
            return


async def _warm(resources: Resources) -> None:
    """Do the slow first times (importing LlamaIndex, a graph that was down) before anybody is told we are ready."""
    while not resources.ready:
        try:
            await resources.graph.open()
            await resources.embedding.warm()
        except Exception as error:
            log.error("not_ready", error=str(error))
            gc.enable()
            await asyncio.sleep(SWEEP_SECONDS)
        else:
            gc.freeze()  # what the start made stays: no later collection need look at it
            gc.enable()
            resources.ready = True


async def _in_background(stack: AsyncExitStack, work: Any) -> None:
    task = asyncio.create_task(work)

    async def stop() -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    stack.push_async_callback(stop)


async def _app_error(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AppError)
    return error_response(error)


async def _graph_error(_: Request, error: Exception) -> JSONResponse:
    return error_response(AppError(503, "graph_unavailable", str(error)))


async def _refused(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Refused)
    return error_response(refused(error))


async def _database_error(request: Request, error: Exception) -> JSONResponse:
    log.error("database_failed", path=request.url.path, error=type(error).__name__)
    return error_response(unavailable("The incident database"))


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place, *within = first["loc"]
    parts = within if place in ("body", "query", "path", "header") else first["loc"]
    where = ".".join(str(part) for part in parts)[:_LONGEST_FIELD]
    says = str(first["msg"]).removeprefix("Value error, ").rstrip(".")
    return error_response(AppError(422, "invalid", f"{where or 'The body'}: {says}."))


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    messages = {
        404: f"There is nothing at {request.url.path}; see /openapi.json for what there is.",
        405: f"{request.method} is not for {request.url.path}; see /openapi.json.",
    }
    codes = {404: "not_found", 405: "method_not_allowed"}
    code = codes.get(error.status_code, "refused")
    return error_response(AppError(error.status_code, code, messages.get(error.status_code, str(error.detail))))


async def _bug(request: Request, error: Exception) -> JSONResponse:
    log.exception("request_failed", path=request.url.path, error=type(error).__name__)
    return error_response(AppError(500, "bug", "This is our mistake; the log says more. Trying again may help."))
