"""Reading with a model behind a real gateway, the LiteLLM proxy, whose models answer what the test says."""

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from graphrag.ingest.chunk import Passage
from graphrag.ingest.extract import Cut
from graphrag.ingest.model_extract import Gateway, extract_with_model
from graphrag.model import EdgeType, Label, Ref
from tests.conftest import started
from tests.servers import litellm_gateway as servers

PAGE = Ref(Label.RUNBOOK, "runbooks/checkout.md")
CUT = Cut(Passage(0, ("Checkout",), "checkout-api cannot work without ledger-db."), "runbooks/checkout.md#0", "chunk-0")
ANSWER = {
    "triplets": [
        {
            "subject": {"type": "SERVICE", "name": "checkout-api"},
            "relation": {"type": "DEPENDS_ON"},
            "object": {"type": "SERVICE", "name": "ledger-db"},
        }
    ]
}


@pytest.fixture(scope="module")
def gateway() -> Iterator[servers.Gateway]:
    with ExitStack() as stack:
        answers = {"good": json.dumps(ANSWER), "chatty": "Well, it depends."}
        yield started(servers.litellm_gateway(answers), stack)


async def test_a_relation_that_the_model_reads_becomes_an_edge(gateway: servers.Gateway) -> None:
    async with Gateway(gateway.base_url, gateway.key, "good") as ask:
        found = await extract_with_model(PAGE, [CUT], ask)
    (edge,) = [each for each in found.edges if each.type is EdgeType.DEPENDS_ON]
    assert (edge.source.name, edge.target.name, edge.chunks) == ("checkout-api", "ledger-db", ("chunk-0",))
    assert found.failures == []


@pytest.mark.parametrize(
    ("name", "key", "says"),
    [
        ("chatty", None, "not the JSON"),
        ("good", "sk-wrong-wrong-wrong", "answered 40"),
        ("no-such-model", None, "answered 4"),
    ],
)
async def test_each_failure_is_counted_in_one_line(
    gateway: servers.Gateway, name: str, key: str | None, says: str
) -> None:
    async with Gateway(gateway.base_url, key or gateway.key, name) as ask:
        found = await extract_with_model(PAGE, [CUT], ask)
    ((path, reason),) = found.failures
    assert path == PAGE.name
    assert reason.startswith("the model failed on 1 passage")
    assert says in reason
    assert "sk-" not in reason
