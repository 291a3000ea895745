"""The model's adapter against a real gateway, the LiteLLM proxy, whose model answers what the test says."""

from collections.abc import Callable

import pytest

from agent.gateway import GatewayModel
from agent.model import ModelError
from tests.servers.litellm_gateway import Gateway
from tests.servers.process import free_port


@pytest.fixture
def model(litellm_gateway: Gateway) -> Callable[..., GatewayModel]:
    def make(name: str, *, base_url: str = litellm_gateway.base_url, key: str = litellm_gateway.key) -> GatewayModel:
        return GatewayModel(base_url, key, name)

    return make


async def test_the_answer_comes_back_typed_with_its_spend(model: Callable[..., GatewayModel]) -> None:
    good = model("good")
    completion = await good.complete("Reply with JSON.", "material", 20)
    await good.close()
    assert completion.answer.verdict == "The new release broke it."
    assert completion.answer.claims[0].evidence == ("latest-release@live",)
    assert completion.input_tokens > 0
    assert completion.output_tokens > 0


@pytest.mark.parametrize(
    ("name", "changed", "says"),
    [
        ("chatty", {}, "not the JSON"),
        ("good", {"key": "sk-wrong-wrong-wrong"}, "answered 40"),
        ("no-such-model", {}, "answered 4"),
        ("good", {"base_url": f"http://127.0.0.1:{free_port()}/v1"}, "cannot be reached"),
    ],
)
async def test_each_failure_is_one_sentence_without_a_secret(
    model: Callable[..., GatewayModel], name: str, changed: dict[str, str], says: str
) -> None:
    failing = model(name, **changed)
    with pytest.raises(ModelError, match=says) as raised:
        await failing.complete("Reply with JSON.", "material", 20)
    await failing.close()
    assert "sk-" not in str(raised.value)
