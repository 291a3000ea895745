"""The model behind any OpenAI-compatible gateway. Importing this costs a second: done only where a model is set."""

from __future__ import annotations

from typing import cast

import openai
from openai.types.chat import ChatCompletion

from agent.model import Answer, Completion, ModelError, parse_answer, strict_schema


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
        except ValueError as error:
            raise ModelError("the model's gateway did not answer with JSON") from error
        # What is no completion (a proxy's web page, another service) comes back as whatever it was.
        if not isinstance(cast("object", reply), ChatCompletion):
            raise ModelError("the model's gateway did not answer with a completion")
        content = reply.choices[0].message.content if reply.choices else None
        usage = reply.usage
        return Completion(
            answer=parse_answer(content or ""),
            input_tokens=usage.prompt_tokens if usage else 0,
            output_tokens=usage.completion_tokens if usage else 0,
        )

    async def close(self) -> None:
        await self._client.close()
