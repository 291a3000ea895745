"""The language model: one method, and the adapter that speaks to any OpenAI-compatible gateway."""

from __future__ import annotations

import json
from typing import Any, Protocol, cast

import openai
from pydantic import BaseModel, ValidationError

from agent.state import Frozen


class ModelError(Exception):
    """The model did not give a usable answer; the message says why, in one sentence."""


class WantedCall(Frozen):
    """A tool the model wants called. `arguments` is a JSON object as text, since strict schemas allow no free maps."""

    server: str
    tool: str
    arguments: str = "{}"
    purpose: str = ""


class DraftClaim(Frozen):
    text: str
    evidence: tuple[str, ...] = ()


class Answer(Frozen):
    """What the model is asked to reply with."""

    calls: tuple[WantedCall, ...] = ()
    verdict: str = ""
    claims: tuple[DraftClaim, ...] = ()


class Completion(Frozen):
    answer: Answer
    input_tokens: int = 0
    output_tokens: int = 0


class Model(Protocol):
    @property
    def name(self) -> str: ...

    async def complete(self, instructions: str, material: str, seconds: float) -> Completion:
        """One turn: our instructions, and the material as untrusted data. Raises `ModelError`."""
        ...


class GatewayModel:
    """Any endpoint that speaks OpenAI's chat completions: OpenAI, Gemini's compatible address, LiteLLM, vLLM, Ollama.

    Structured output is asked for by JSON schema; a gateway that ignores the schema is caught by validation.
    """

    def __init__(self, base_url: str, api_key: str, name: str) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key or "none", max_retries=1)
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    async def complete(self, instructions: str, material: str, seconds: float) -> Completion:
        try:
            reply = await self._client.chat.completions.create(
                model=self._name,
                messages=[{"role": "system", "content": instructions}, {"role": "user", "content": material}],
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": True, "schema": strict_schema(Answer)},
                },
                timeout=seconds,
            )
        except openai.APITimeoutError as error:
            raise ModelError(f"{self._name} did not answer within {seconds:g} s") from error
        except openai.APIConnectionError as error:
            raise ModelError("the model's gateway cannot be reached") from error
        except openai.APIStatusError as error:
            raise ModelError(f"the model's gateway answered {error.status_code}") from error
        except openai.OpenAIError as error:
            raise ModelError(f"the model's gateway failed: {type(error).__name__}") from error
        content = reply.choices[0].message.content if reply.choices else None
        usage = reply.usage
        return Completion(
            answer=parse_answer(content or ""),
            input_tokens=usage.prompt_tokens if usage else 0,
            output_tokens=usage.completion_tokens if usage else 0,
        )

    async def close(self) -> None:
        await self._client.close()


def parse_answer(content: str) -> Answer:
    """The answer in a reply's text, with or without a code fence around it. Raises `ModelError`."""
    text = content.strip()
    if text.startswith("```"):
        text = text.partition("\n")[2].rpartition("```")[0]
    try:
        return Answer.model_validate(json.loads(text))
    except (ValueError, ValidationError, RecursionError) as error:
        raise ModelError("its reply is not the JSON it was asked for") from error


def strict_schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model as strict structured output wants it: each property required, no others allowed."""
    schema = model.model_json_schema()
    for part in (schema, *cast("dict[str, Any]", schema.get("$defs", {})).values()):
        if part.get("type") == "object":
            part["additionalProperties"] = False
            part["required"] = list(part.get("properties", {}))
        for field in part.get("properties", {}).values():
            field.pop("default", None)
    return schema
