import json
from collections.abc import AsyncIterator
from contextlib import suppress
from enum import StrEnum

import httpx
import pytest
import respx
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from agent.gateway import GatewayModel
from agent.model import Answer, Completion, DraftClaim, ModelError, WantedCall, parse_answer, strict_schema

ANSWER = Answer(
    calls=(WantedCall(server="prometheus", tool="execute_query", arguments='{"query": "up"}', purpose="is it up"),),
    verdict="It is the release.",
    claims=(DraftClaim(text="1.4.0 came first", evidence=("release-1",)),),
)
URL = "https://gateway.example.org/v1"
ENDPOINT = f"{URL}/chat/completions"


def completion(content: str | None, **changes) -> dict:
    message = {"role": "assistant", "content": content}
    return {
        "id": "c-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 70, "completion_tokens": 7, "total_tokens": 77},
        **changes,
    }


@pytest.fixture
async def model() -> AsyncIterator[GatewayModel]:
    model = GatewayModel(URL, "a-key", "m")
    yield model
    await model.close()


# Reading a reply ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{}", "```json\n{}\n```", "```\n{}\n```", "  \n{}\n "])
def test_an_answer_is_read_with_or_without_a_fence(form):
    assert parse_answer(form.replace("{}", ANSWER.model_dump_json())) == ANSWER


def test_an_answer_may_leave_out_what_it_has_nothing_to_say_about():
    assert parse_answer("{}") == Answer()


@pytest.mark.parametrize("content", ["", "I think so.", "[]", "null", '{"claims": "x"}', "```", "[" * 100_000])
def test_anything_else_is_a_model_error(content):
    with pytest.raises(ModelError, match="not the JSON it was asked for"):
        parse_answer(content)


@given(st.text())
def test_no_reply_breaks_the_reader(content):
    with suppress(ModelError):
        assert isinstance(parse_answer(content), Answer)


def test_the_schema_is_strict_in_every_part():
    schema = strict_schema(Answer)
    parts = [schema, *schema["$defs"].values()]
    assert {part["title"] for part in parts} == {"Answer", "WantedCall", "DraftClaim"}
    for part in parts:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])
        assert all("default" not in field for field in part["properties"].values())


def test_a_part_that_is_no_object_stays_as_it_is():
    class Colour(StrEnum):
        RED = "red"

    class Painted(BaseModel):
        colour: Colour = Colour.RED

    schema = strict_schema(Painted)
    assert schema["required"] == ["colour"]
    assert "additionalProperties" not in schema["$defs"]["Colour"]


# The gateway ----------------------------------------------------------------------------------------------------------


@respx.mock
async def test_a_completion_brings_the_answer_and_what_it_cost(model):
    route = respx.post(ENDPOINT).respond(json=completion(ANSWER.model_dump_json()))
    assert await model.complete("be brief", "the material", 5) == Completion(
        answer=ANSWER, input_tokens=70, output_tokens=7
    )
    request = route.calls.last.request
    body = json.loads(request.content)
    assert request.headers["authorization"] == "Bearer a-key"
    assert body["model"] == model.name == "m"
    assert [(each["role"], each["content"]) for each in body["messages"]] == [
        ("system", "be brief"),
        ("user", "the material"),
    ]
    assert body["response_format"]["json_schema"]["schema"] == strict_schema(Answer)


@respx.mock
async def test_a_gateway_that_does_not_count_tokens_costs_nothing_we_know_of(model):
    respx.post(ENDPOINT).respond(json=completion("{}", usage=None))
    assert await model.complete("", "", 5) == Completion(answer=Answer())


@pytest.mark.parametrize("body", [completion(None), completion("Sorry, I cannot.")], ids=["none", "prose"])
@respx.mock
async def test_a_reply_without_an_answer_is_a_model_error(model, body):
    respx.post(ENDPOINT).respond(json=body)
    with pytest.raises(ModelError, match="not the JSON it was asked for"):
        await model.complete("", "", 5)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
@respx.mock
async def test_a_refusal_is_told_by_its_status_and_without_the_gateways_words(model, status):
    respx.post(ENDPOINT).respond(status, json={"error": {"message": "key a-key is wrong"}})
    with pytest.raises(ModelError, match=f"^the model's gateway answered {status}$"):
        await model.complete("", "", 5)


@pytest.mark.parametrize(
    "body",
    [
        "<html>hello</html>",
        "[]",
        "null",
        "{}",
        '{"choices": []}',
        '{"choices": "none"}',
        '{"choices": [{}]}',
        '{"choices": [null]}',
        '{"choices": [{"message": "hello"}]}',
        '{"choices": [{"message": {"content": ["hello"]}}]}',
    ],
)
@respx.mock
async def test_a_gateway_that_answers_something_else_altogether_is_a_model_error(model, body):
    respx.post(ENDPOINT).respond(200, text=body, headers={"content-type": "application/json"})
    with pytest.raises(ModelError):
        await model.complete("", "", 5)


@pytest.mark.parametrize("usage", [{}, {"prompt_tokens": None}])
@respx.mock
async def test_tokens_that_are_not_counted_are_none_we_know_of(model, usage):
    respx.post(ENDPOINT).respond(json=completion("{}", usage=usage))
    completed = await model.complete("", "", 5)
    assert (completed.input_tokens, completed.output_tokens) == (0, 0)


@respx.mock
async def test_a_gateway_that_answers_a_web_page_is_a_model_error(model):
    respx.post(ENDPOINT).respond(200, html="<html>sign in</html>")
    with pytest.raises(ModelError):
        await model.complete("", "", 5)


@respx.mock
async def test_a_busy_gateway_is_asked_once_more(model):
    busy = httpx.Response(503, headers={"retry-after-ms": "1"})
    route = respx.post(ENDPOINT).mock(side_effect=[busy, httpx.Response(200, json=completion("{}"))])
    assert (await model.complete("", "", 5)).answer == Answer()
    assert route.call_count == 2


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (httpx.ReadTimeout("slow"), "m did not answer within 5 s"),
        (httpx.ConnectError("refused"), "the model's gateway cannot be reached"),
    ],
)
async def test_a_gateway_that_does_not_answer_is_a_model_error(error, message):
    model = GatewayModel(URL, "", "m")
    with respx.mock:
        respx.post(ENDPOINT).mock(side_effect=error)
        with pytest.raises(ModelError, match=message):
            await model.complete("", "", 5)
    await model.close()
