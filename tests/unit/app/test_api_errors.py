"""Whatever goes wrong, a caller gets a status, a code for machines and a sentence. The tables are real, on SQLite."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from fastapi import FastAPI
from pydantic import SecretStr

from agent.state import Incident
from app.database import metadata, open_engine, quarantine
from app.intake import Intake
from app.journal import Journal
from app.main import create_app
from app.metrics import Metrics
from app.settings import Settings, Token
from graphrag.errors import GraphMisconfigured, GraphUnavailable
from tests.unit.agent.scene import INCIDENT

MAX_BODY = 2_048
ALERT = {"alerts": [{"status": "firing", "labels": {"alertname": "Slow"}}]}


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[FastAPI]:
    """The service's routes and handlers on real tables, without the graph and without the durable queue."""
    tokens = (
        Token(token=SecretStr("admin-token"), role="admin"),
        Token(token=SecretStr("reader-token"), role="reader"),
        Token(token=SecretStr("other-token"), role="reader", tenant="other"),
    )
    app = create_app(Settings(data_dir=tmp_path, tokens=tokens, max_body_bytes=MAX_BODY))
    engine = open_engine(app.state.settings.app_database)
    metadata.create_all(engine)
    metrics = Metrics()
    async with Intake(engine, metrics, lambda: None) as intake:
        app.state.resources = SimpleNamespace(
            settings=app.state.settings,
            intake=intake,
            journal=Journal(engine),
            metrics=metrics,
            engine=engine,
            ready=True,
        )
        yield app
    engine.dispose()


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"Authorization": "Bearer admin-token"}
    async with httpx.AsyncClient(transport=transport, base_url="http://app", headers=headers) as client:
        yield client


def error_of(answer: httpx.Response, status: int) -> tuple[str, str]:
    """The code and the sentence of an error, once its form is checked."""
    assert answer.status_code == status
    assert set(answer.json()) == {"code", "message"}
    assert answer.json()["message"].endswith((".", ")"))
    return answer.json()["code"], answer.json()["message"]


async def test_without_a_token_the_answer_says_how_to_send_one(client: httpx.AsyncClient):
    answer = await client.get("/v1/investigations/x", headers={"Authorization": ""})
    code, message = error_of(answer, 401)
    assert code == "unauthorized"
    assert "Authorization: Bearer" in message
    assert answer.headers["www-authenticate"] == "Bearer"


async def test_a_role_that_may_not_is_named(client: httpx.AsyncClient):
    answer = await client.post("/webhooks/alertmanager", headers={"Authorization": "Bearer reader-token"}, json=ALERT)
    code, message = error_of(answer, 403)
    assert code == "forbidden"
    assert "'reader'" in message


async def test_an_address_that_is_not_there_points_to_those_that_are(client: httpx.AsyncClient):
    code, message = error_of(await client.get("/v1/nothing"), 404)
    assert code == "not_found"
    assert "/openapi.json" in message


async def test_a_method_that_is_not_for_an_address_is_named(client: httpx.AsyncClient):
    _, message = error_of(await client.delete("/v1/investigations/inc-1"), 405)
    assert message.startswith("DELETE is not for /v1/investigations/inc-1")


async def test_an_unknown_investigation_is_named(client: httpx.AsyncClient):
    for path in ("/v1/investigations/inc-9", "/v1/investigations/inc-9/journal"):
        code, message = error_of(await client.get(path), 404)
        assert code == "unknown_investigation"
        assert "inc-9" in message


async def test_another_tenants_investigation_reads_as_unknown(app: FastAPI, client: httpx.AsyncClient):
    app.state.resources.journal.begin(INCIDENT)
    ours = await client.get(f"/v1/investigations/{INCIDENT.id}")
    assert ours.json() == {"id": INCIDENT.id, "status": "running"}
    theirs = await client.get(f"/v1/investigations/{INCIDENT.id}", headers={"Authorization": "Bearer other-token"})
    assert error_of(theirs, 404)[0] == "unknown_investigation"


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({}, "send either"),
        ({"question": "why?", "service": "checkout"}, "send either"),
        ({"question": "  "}, "send either"),
        ({"question": "x" * 4_001}, "question: "),
        ({"service": "x" * 301}, "service: "),
        ({"question": 7}, "question: "),
        ({"question": "why?", "colour": "red"}, "colour: "),
        ([], "The body: "),
    ],
)
async def test_a_question_that_is_none_is_refused_with_the_field_that_is_wrong(client: httpx.AsyncClient, body, says):
    code, message = error_of(await client.post("/v1/investigations", json=body), 422)
    assert code == "invalid"
    assert says in message
    assert "xxx" not in message


@pytest.mark.parametrize(
    "body", [b"", b"{", b"\xff\xfe", b'{"question": "\\ud800"}', b'{"question": NaN}', b"[" * 9_000]
)
async def test_no_body_of_a_question_is_a_fault_of_ours(client: httpx.AsyncClient, body: bytes):
    answer = await client.post("/v1/investigations", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert set(answer.json()) == {"code", "message"}


async def test_a_webhook_that_is_not_json_is_refused_and_says_what_to_send(client: httpx.AsyncClient):
    code, message = error_of(await client.post("/webhooks/alertmanager", content=b"alert!"), 400)
    assert code == "not_json"
    assert "application/json" in message


async def test_a_webhook_without_alerts_is_kept_for_a_person_and_answered_202(app: FastAPI, client: httpx.AsyncClient):
    answers = [await client.post("/webhooks/alertmanager", json={"hello": "world"}) for _ in range(2)]
    for answer in answers:
        assert answer.status_code == 202
        assert answer.json()["decisions"][0]["action"] == "ignored"
    assert answers[0].json() == answers[1].json()
    with app.state.resources.engine.connect() as connection:
        (row,) = connection.execute(sa.select(quarantine)).all()
    assert json.loads(row.body) == {"hello": "world"}
    assert row.id == answers[0].json()["delivery_id"]


async def test_a_body_past_the_limit_is_refused_whatever_its_length_claims(client: httpx.AsyncClient):
    async def dribble() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" " * 1_000

    for content in (b" " * (MAX_BODY + 1), dribble()):
        code, message = error_of(await client.post("/webhooks/alertmanager", content=content), 413)
        assert code == "too_large"
        assert "INCIDENT_GRAPH_MAX_BODY_BYTES" in message
    largest = json.dumps(ALERT).encode().ljust(MAX_BODY)
    assert (await client.post("/webhooks/alertmanager", content=largest)).status_code == 202


async def test_a_database_that_is_gone_is_a_503_that_may_be_tried_again(app: FastAPI, client: httpx.AsyncClient):
    metadata.drop_all(app.state.resources.engine)
    for answer in (
        await client.post("/webhooks/alertmanager", json=ALERT),
        await client.post("/webhooks/alertmanager", json={}),
        await client.get("/v1/investigations/inc-1"),
    ):
        code, message = error_of(answer, 503)
        assert code == "unavailable"
        assert "try again" in message
        assert "no such table" not in message


def raising(app: FastAPI, error: Exception) -> None:
    @app.get("/v1/raises")
    async def raises() -> None:  # pyright: ignore[reportUnusedFunction]
        raise error


@pytest.mark.parametrize("error", [GraphUnavailable("The graph is away."), GraphMisconfigured("Run ingest.")])
async def test_a_graph_that_fails_is_a_503_in_its_own_words(app: FastAPI, client: httpx.AsyncClient, error: Exception):
    raising(app, error)
    assert error_of(await client.get("/v1/raises"), 503) == ("graph_unavailable", str(error))


async def test_a_mistake_of_ours_says_so_and_tells_no_more(app: FastAPI, client: httpx.AsyncClient):
    raising(app, RuntimeError("password=hunter2"))
    code, message = error_of(await client.get("/v1/raises"), 500)
    assert code == "bug"
    assert "hunter2" not in message


async def test_readiness_follows_the_resources_and_health_does_not(app: FastAPI, client: httpx.AsyncClient):
    assert (await client.get("/readyz")).status_code == 200
    app.state.resources.ready = False
    assert (await client.get("/readyz")).status_code == 503
    del app.state.resources
    assert (await client.get("/readyz")).status_code == 503
    assert (await client.get("/healthz")).status_code == 200


async def test_a_delivery_is_counted_by_its_decision(client: httpx.AsyncClient):
    for _ in range(2):
        await client.post("/webhooks/alertmanager", json=ALERT)
    counted = (await client.get("/metrics", headers={"Authorization": ""})).text
    assert 'incident_graph_deliveries_total{action="new"} 1.0' in counted
    assert 'incident_graph_deliveries_total{action="heartbeat"} 1.0' in counted


async def test_a_journal_is_given_as_one_file(app: FastAPI, client: httpx.AsyncClient):
    subject: Incident = INCIDENT
    app.state.resources.journal.begin(subject)
    given: dict[str, Any] = (await client.get(f"/v1/investigations/{subject.id}/journal")).json()
    assert given == {"subject": subject.model_dump(mode="json"), "events": [], "report": None}
