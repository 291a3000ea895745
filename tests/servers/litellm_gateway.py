"""The LiteLLM proxy, with models that answer a fixed text: a real OpenAI-compatible gateway without a provider."""

import contextlib
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import yaml

from tests.servers.process import (
    SERVERS,
    ServerMissing,
    ServerProcess,
    answers_http,
    free_port,
    running,
    temporary_home,
)

# The models of every suite, so that one gateway serves them all, and what each of them always answers.
ANSWERS = {
    "mock": "The gateway answered.",
    "chatty": "Well, it depends.",
    "good": json.dumps(
        {
            "calls": [],
            "verdict": "The new release broke it.",
            "claims": [{"text": "v2.4.1 went out at 02:10.", "evidence": ["latest-release@live"]}],
        }
    ),
    "unfounded": json.dumps(
        {
            "calls": [],
            "verdict": "checkout-api is overloaded.",
            "claims": [
                {"text": "It is owned by payments.", "evidence": []},
                {"text": "The moon is full.", "evidence": ["service-no-such-id"]},
            ],
        }
    ),
}


@dataclass(frozen=True)
class Gateway:
    """A running gateway: `base_url` ends in /v1, `key` is its bearer token, `models` are the names it serves."""

    base_url: str
    key: str
    models: tuple[str, ...]
    process: ServerProcess


@contextlib.contextmanager
def litellm_gateway(answers: Mapping[str, str] = ANSWERS) -> Iterator[Gateway]:
    """Runs the proxy with one model for each entry of `answers` (name -> the text that it always answers)."""
    binary = SERVERS / "litellm" / "bin" / "litellm"
    if not binary.exists():
        raise ServerMissing("the LiteLLM proxy is not in .servers/")
    with temporary_home("litellm") as home:
        (home / "config.yaml").write_text(yaml.safe_dump(_config(answers)))
        port, key = free_port(), f"sk-{secrets.token_urlsafe(32)}"
        url = f"http://127.0.0.1:{port}"
        argv = [binary, "--config", home / "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
        env = {
            "LITELLM_MASTER_KEY": key,
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks the internet for prices
            "LITELLM_TELEMETRY": "False",
            "HOME": str(home),
            "PATH": f"{binary.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        }
        ready_url = f"{url}/health/readiness"
        with running("litellm", argv, ready=lambda: answers_http(ready_url), timeout=120, cwd=home, env=env) as process:
            yield Gateway(f"{url}/v1", key, tuple(answers), process)


def _config(answers: Mapping[str, str]) -> dict[str, object]:
    def model(name: str, text: str) -> dict[str, object]:
        parameters = {"model": f"openai/{name}", "api_key": "unused", "mock_response": text}
        return {"model_name": name, "litellm_params": parameters}

    return {
        "model_list": [model(name, text) for name, text in answers.items()],
        "litellm_settings": {"telemetry": False},
    }
