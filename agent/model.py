"""The language model: one method, what it is asked for and what it answers."""

from __future__ import annotations

import json
from typing import Any, Protocol, cast

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
