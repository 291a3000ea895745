"""The model behind any OpenAI-compatible gateway. Importing this costs a second: done only where a model is set."""

from __future__ import annotations

import openai
from pydantic import Field, ValidationError

from agent.model import Answer, Completion, ModelError, parse_answer, strict_schema
from agent.state import Frozen


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
            raw = await self._client.chat.completions.with_raw_response.create(
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
        return _completion(raw.text)

    async def close(self) -> None:
        await self._client.close()


class _Message(Frozen):
    content: str | None = None


class _Choice(Frozen):
    message: _Message


class _Usage(Frozen):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class _Reply(Frozen):
    """What we need of a chat completion. The library's own type is filled unchecked, so its fields prove nothing."""

    choices: tuple[_Choice, ...] = Field(min_length=1)
    usage: _Usage | None = None


def _completion(body: str) -> Completion:
    try:
        reply = _Reply.model_validate_json(body)
    except ValidationError as error:
        raise ModelError("the model's gateway did not answer with a completion") from error
    usage = reply.usage or _Usage()
    return Completion(
        answer=parse_answer(reply.choices[0].message.content or ""),
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
    )
