"""Checks a configuration against the real servers and says in plain words what is wrong and how to mend it."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import httpx
import openai
import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from app.database import open_engine
from app.main import open_graph
from app.settings import Settings
from connectors.errors import ConnectorError
from connectors.mcp import McpFleet
from connectors.slack import SlackSink
from graphrag.errors import GraphError
from graphrag.model import Label

SECONDS = 20.0


class Finding(NamedTuple):
    subject: str
    ok: bool
    text: str


async def examine(settings: Settings) -> list[Finding]:
    """One finding a part, in the order an alert meets them."""
    findings = [_tokens(settings), await asyncio.to_thread(_database, settings), *await _graph(settings)]
    findings += await _mcp(settings)
    findings += [await _slack(settings), await _model(settings), await _opik(settings)]
    return findings


def _tokens(settings: Settings) -> Finding:
    if not settings.tokens:
        where = settings.data_dir / "token"
        return Finding("tokens", True, f"none set; the service makes an admin token and keeps it in {where}.")
    if not any(token.role in ("webhook", "admin") for token in settings.tokens):
        return Finding(
            "tokens", False, "no token may post alerts; add one with the role webhook to INCIDENT_GRAPH_TOKENS."
        )
    return Finding("tokens", True, f"{len(settings.tokens)} set.")


def _database(settings: Settings) -> Finding:
    url = sa.make_url(settings.app_database)
    shown = url.render_as_string(hide_password=True)
    engine = open_engine(settings.app_database)
    try:
        with engine.connect() as connection:
            connection.execute(sa.text("SELECT 1"))
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", error)).partition("\n")[0]
        return Finding(
            "database", False, f"{shown} does not answer ({reason}); check INCIDENT_GRAPH_DATABASE_URL and the server."
        )
    finally:
        engine.dispose()
    return Finding("database", True, f"{shown} answers.")


async def _graph(settings: Settings) -> list[Finding]:
    try:
        async with asyncio.timeout(SECONDS), open_graph(settings) as (graph, embedding):
            vectors = await embedding.embed(["a test"])
            tenants = {token.tenant for token in settings.tokens} or {"default"}
            counts = {
                tenant: len((await graph.list_nodes(tenant, [Label.SERVICE], limit=100)).nodes) for tenant in tenants
            }
    except GraphError as error:
        return [Finding("graph", False, f"{error}")]
    except TimeoutError:
        return [Finding("graph", False, f"does not answer within {SECONDS:g} s; check INCIDENT_GRAPH_GRAPH_URL.")]
    except Exception as error:
        return [Finding("embedding", False, f"{error}; check INCIDENT_GRAPH_EMBEDDING.")]
    empty = [tenant for tenant, count in counts.items() if not count]
    if empty:
        names = ", ".join(empty)
        return [Finding("graph", False, f"answers, but knows no service of {names}; run incident-graph ingest DIR.")]
    known = ", ".join(
        f"{'100 or more' if count == 100 else count} services of {tenant}" for tenant, count in counts.items()
    )
    return [Finding("graph", True, f"answers; knows {known}; vectors have {len(vectors[0])} dimensions.")]


async def _mcp(settings: Settings) -> list[Finding]:
    if not settings.servers:
        return [
            Finding(
                "mcp", True, "no server set; reports will stand on the graph alone. Set INCIDENT_GRAPH_MCP_SERVERS."
            )
        ]
    findings: list[Finding] = []
    async with McpFleet(settings.servers) as fleet:
        await fleet.wait_ready(SECONDS)
        for status in fleet.status():
            if status.state == "ready" and status.tools:
                findings.append(Finding(f"mcp {status.name}", True, f"offers {', '.join(status.tools)}."))
            elif status.state == "ready":
                text = "answers, but offers no tool we may call; name its read-only tools in its allowedTools."
                findings.append(Finding(f"mcp {status.name}", False, text))
            else:
                last = status.stderr_tail.strip().rpartition("\n")[2]
                said = f" Its last words: {last[:300]}" if last else ""
                text = f"{status.error or f'did not come up within {SECONDS:g} s.'}{said}"
                findings.append(Finding(f"mcp {status.name}", False, text))
    return findings


async def _slack(settings: Settings) -> Finding:
    token = settings.slack_token.get_secret_value()
    if not token:
        return Finding(
            "slack", True, "no token set; reports go to the console and to files. Set INCIDENT_GRAPH_SLACK_TOKEN."
        )
    try:
        sink = SlackSink(token, settings.slack_base_url)
        team = await sink.check()
        # Looking for a message needs the channel, the app in it and the scopes that finding again needs.
        await sink.find(settings.slack_default_channel, "doctor")
    except ConnectorError as error:
        return Finding("slack", False, f"{error} (default channel {settings.slack_default_channel})")
    return Finding("slack", True, f"the token is good for {team}; {settings.slack_default_channel} can be read.")


async def _model(settings: Settings) -> Finding:
    if not settings.model_base_url:
        return Finding("model", True, "none set; the plan that needs no model does the work.")
    client = openai.AsyncOpenAI(
        base_url=settings.model_base_url,
        api_key=settings.model_api_key.get_secret_value() or "none",
        max_retries=0,
        timeout=SECONDS,
    )
    try:
        await client.chat.completions.create(
            model=settings.model_name, messages=[{"role": "user", "content": "Reply with ok."}], max_tokens=5
        )
    except openai.AuthenticationError:
        return Finding("model", False, "the gateway refuses the key; check INCIDENT_GRAPH_MODEL_API_KEY.")
    except openai.NotFoundError:
        return Finding("model", False, f"the gateway knows no {settings.model_name}; check INCIDENT_GRAPH_MODEL_NAME.")
    except openai.APIConnectionError:
        return Finding("model", False, "the gateway cannot be reached; check INCIDENT_GRAPH_MODEL_BASE_URL.")
    except openai.OpenAIError as error:
        return Finding("model", False, f"the gateway failed: {type(error).__name__}; its own log says more.")
    finally:
        await client.close()
    return Finding("model", True, f"{settings.model_name} answers.")


async def _opik(settings: Settings) -> Finding:
    if not settings.opik_url:
        return Finding("opik", True, "none set; nothing is traced.")
    try:
        async with httpx.AsyncClient(timeout=SECONDS) as client:
            answer = await client.get(f"{settings.opik_url.rstrip('/')}/is-alive/ping")
    except httpx.HTTPError as error:
        text = f"{settings.opik_url} does not answer ({type(error).__name__}); check INCIDENT_GRAPH_OPIK_URL."
        return Finding("opik", False, text)
    if answer.status_code >= 400:
        text = f"{settings.opik_url} answers {answer.status_code}; it must be Opik's API address, such as …/api."
        return Finding("opik", False, text)
    return Finding("opik", True, f"{settings.opik_url} answers.")
