import base64
import stat
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from app.auth import PUBLIC, RequireToken, allows, authenticate, first_token
from app.settings import Token

HOOK = Token(token=SecretStr("hook-12345"), role="webhook", tenant="acme")
READER = Token(token=SecretStr("reader-12345"), role="reader")
OLD, NEW = (Token(token=SecretStr(f"{age}-admin-token"), role="admin") for age in ("old", "new"))
TOKENS = (HOOK, READER, OLD, NEW)


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("header", ["Bearer hook-12345", "bearer hook-12345 ", basic("anyone:hook-12345")])
def test_a_token_proves_its_role_and_its_tenant(header):
    assert authenticate(header, TOKENS) == ("webhook", "acme")


@pytest.mark.parametrize(
    "header",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer hook-1234",
        "Bearer hook-123456",
        "Digest hook-12345",
        "hook-12345",
        "Basic !!!",
        "Basic /w==",
        basic("hook-12345"),
        basic(""),
        "Bearer höök",
    ],
)
def test_anything_else_proves_nothing(header):
    assert authenticate(header, TOKENS) is None


def test_two_tokens_of_a_role_live_at_once():
    assert authenticate("Bearer old-admin-token", TOKENS) == authenticate("Bearer new-admin-token", TOKENS)


def test_with_no_token_set_nobody_is_let_in():
    assert authenticate("Bearer ", ()) is None


@pytest.mark.parametrize(
    ("method", "path", "roles"),
    [
        ("POST", "/webhooks/alertmanager", {"webhook", "admin"}),
        ("GET", "/webhooks/alertmanager", set()),
        ("GET", "/v1/investigations/x", {"reader", "agent", "admin"}),
        ("HEAD", "/v1/investigations/x", {"reader", "agent", "admin"}),
        ("POST", "/v1/investigations", {"reader", "agent", "admin"}),
        ("POST", "/v1/merges", {"admin"}),
        ("DELETE", "/v1/services/x", {"admin"}),
        ("GET", "/docs", set()),
        ("GET", "/", set()),
        ("GET", "/v1", set()),
    ],
)
def test_a_role_may_only_what_is_listed(method, path, roles):
    assert {role for role in ("webhook", "reader", "agent", "admin") if allows(role, method, path)} == roles


def test_the_paths_that_need_no_token_are_these_and_no_other():
    assert PUBLIC == {"/healthz", "/readyz", "/metrics", "/openapi.json"}


@given(
    st.sampled_from(["webhook", "reader", "agent", "admin"]),
    st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "get", ""]),
    st.text(max_size=20).map("/".__add__) | st.sampled_from(["//v1/x", "/V1/x", "/webhooks", "/../v1/x", "v1/x"]),
)
def test_an_address_outside_what_is_listed_is_closed_to_every_role(role, method, path):
    if not path.startswith(("/v1/", "/webhooks/")):
        assert not allows(role, method, path)


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
@pytest.mark.parametrize("path", ["/v1/investigations", "/webhooks/alertmanager"])
def test_a_role_nobody_knows_may_do_nothing(method, path):
    assert not allows("auditor", method, path)


def test_the_first_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path):
    folder = tmp_path / "data"
    made = first_token(folder)
    assert made.role == "admin"
    assert len(made.token.get_secret_value()) >= 32
    assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600
    assert first_token(folder) == made


def test_a_token_file_left_empty_by_a_crash_is_written_anew(tmp_path: Path):
    (tmp_path / "token").touch()
    assert len(first_token(tmp_path).token.get_secret_value()) >= 32


@pytest.fixture
async def client():
    async def whoami(request: Request) -> PlainTextResponse:
        caller = getattr(request.state, "caller", None)
        return PlainTextResponse(f"{caller.role} of {caller.tenant}" if caller else "anybody")

    app = Starlette(routes=[Route("/{path:path}", whoami, methods=["GET", "POST"])])
    transport = httpx.ASGITransport(RequireToken(app, TOKENS))
    async with httpx.AsyncClient(transport=transport, base_url="http://app") as client:
        yield client


@pytest.mark.parametrize("path", sorted(PUBLIC))
async def test_public_paths_need_no_token(client: httpx.AsyncClient, path: str):
    assert (await client.get(path)).text == "anybody"


async def test_a_known_caller_reaches_the_app(client: httpx.AsyncClient):
    answer = await client.post("/webhooks/alertmanager", headers={"Authorization": "Bearer hook-12345"})
    assert answer.text == "webhook of acme"


@pytest.mark.parametrize("path", ["/webhooks/alertmanager", "/a/route/nobody/listed", "/healthz/"])
async def test_without_a_token_every_other_path_is_closed(client: httpx.AsyncClient, path: str):
    answer = await client.get(path)
    assert answer.status_code == 401
    assert answer.json()["code"] == "unauthorized"
    assert "Authorization" in answer.json()["message"]


async def test_the_wrong_role_is_told_so(client: httpx.AsyncClient):
    answer = await client.post("/webhooks/alertmanager", headers={"Authorization": "Bearer reader-12345"})
    assert answer.status_code == 403
    assert "reader" in answer.json()["message"]
