"""What a model reads in passages, with LlamaIndex's own in-memory model and with one that fails."""

import json

import httpx
import openai
import pytest
from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import MockLLM

from graphrag.ingest.chunk import Passage
from graphrag.ingest.extract import Cut
from graphrag.ingest.model_extract import CONFIDENCE, extract_with_model
from graphrag.ingest.sources.found import Found
from graphrag.model import EdgeType, Label, Ref

PAGE = Ref(Label.DOC, "docs/checkout.md")
TEXT = "checkout-api needs ledger-db. The Payments team looks after it. Its runbook is docs/run.md."


def cut(number: int, text: str = TEXT) -> Cut:
    return Cut(Passage(number, ("Checkout",), text), f"docs/checkout.md#{number}", f"chunk-{number}")


def triplet(subject: tuple[str, str], relation: str, target: tuple[str, str]) -> dict[str, object]:
    return {
        "subject": {"type": subject[0], "name": subject[1]},
        "relation": {"type": relation},
        "object": {"type": target[0], "name": target[1]},
    }


GOOD = triplet(("SERVICE", "checkout-api"), "DEPENDS_ON", ("SERVICE", "ledger-db"))
OWNED = triplet(("Service", "checkout-api"), "owned by", ("TEAM", "Payments team"))


class Canned(MockLLM):
    """LlamaIndex's stand-in for a model, with an answer of our own."""

    answer: str = ""

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: object) -> CompletionResponse:
        assert "DEPENDS_ON: Service -> Service" in prompt
        return CompletionResponse(text=self.answer)


def canned(*triplets: dict[str, object]) -> Canned:
    llm = Canned()
    llm.answer = f"Here you are:\n{json.dumps({'triplets': list(triplets)})}"
    return llm


def edges(found: Found) -> list[tuple[str, str, str]]:
    return [
        (edge.type.value, edge.source.name, edge.target.name)
        for edge in found.edges
        if edge.type is not EdgeType.MENTIONS
    ]


async def test_what_a_model_answers_becomes_facts_with_the_chunk_they_were_read_in() -> None:
    found = await extract_with_model(PAGE, [cut(0)], canned(GOOD, OWNED))
    assert edges(found) == [
        ("DEPENDS_ON", "checkout-api", "ledger-db"),
        ("OWNED_BY", "checkout-api", "Payments team"),
    ]
    assert {(fact.chunks, fact.confidence) for fact in (*found.nodes, *found.edges)} == {(("chunk-0",), CONFIDENCE)}
    assert {edge.target.name for edge in found.edges if edge.type is EdgeType.MENTIONS} == {
        "checkout-api",
        "ledger-db",
        "Payments team",
    }
    assert found.failures == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (triplet(("SERVICE", "checkout-api"), "DEPENDS_ON", ("TEAM", "Payments")), "DEPENDS_ON goes from Service"),
        (triplet(("SERVICE", "checkout-api"), "LIKES", ("SERVICE", "ledger-db")), "no relation 'LIKES'"),
        (triplet(("ROBOT", "checkout-api"), "DEPENDS_ON", ("SERVICE", "ledger-db")), "no kind 'ROBOT'"),
        (triplet(("SERVICE", "checkout-api"), "DEPENDS_ON", ("SERVICE", "made-up")), "what the passage does not"),
        (triplet(("SERVICE", "checkout-api"), "DEPENDS_ON", ("SERVICE", "Checkout API")), "to itself"),
    ],
)
async def test_what_does_not_fit_is_dropped_and_counted(answer: dict[str, object], says: str) -> None:
    found = await extract_with_model(PAGE, [cut(0), cut(1)], canned(GOOD, answer))
    assert edges(found) == [("DEPENDS_ON", "checkout-api", "ledger-db")] * 2
    ((path, reason),) = found.failures
    assert path == "docs/checkout.md"
    assert "2 cases" in reason
    assert says in reason


@pytest.mark.parametrize("answer", ["I see no relations.", '{"triplets": [{"subject": 1}]}', '{"triplets": [', ""])
async def test_an_answer_that_cannot_be_read_is_counted_and_costs_its_passage_only(answer: str) -> None:
    async def complete(prompt: str) -> str:
        return answer if "second" in prompt else json.dumps({"triplets": [GOOD]})

    found = await extract_with_model(PAGE, [cut(0), cut(1, "The second passage."), cut(2)], complete)
    assert len(edges(found)) == 2
    assert found.failures == [
        (
            "docs/checkout.md",
            "the model failed on 1 passage, first docs/checkout.md#1: its answer is not the JSON that was asked for",
        )
    ]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (openai.APIConnectionError(request=httpx.Request("POST", "http://x/")), "cannot be reached"),
        (openai.APITimeoutError(request=httpx.Request("POST", "http://x/")), "in time"),
        (RuntimeError("sk-secret"), "RuntimeError"),
    ],
)
async def test_each_failed_call_is_counted_and_named_without_its_secrets(error: Exception, says: str) -> None:
    async def complete(prompt: str) -> str:
        raise error

    found = await extract_with_model(PAGE, [cut(0), cut(1)], complete)
    assert (found.nodes, found.edges) == ([], [])
    ((_, reason),) = found.failures
    assert reason.startswith("the model failed on 2 passages, first docs/checkout.md#")
    assert says in reason
    assert "sk-" not in reason


async def test_braces_in_a_passage_are_text() -> None:
    found = await extract_with_model(PAGE, [cut(0, f"{TEXT} {{text}} {{}} {{0}}")], canned(GOOD))
    assert len(edges(found)) == 1
