"""How the service and the command read pages: secrets taken out first, and with the model where one is set."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agent.redact import redact
from app.settings import Settings
from graphrag.ingest.reading import Reading


@asynccontextmanager
async def open_reading(settings: Settings) -> AsyncGenerator[Reading]:
    """The way of reading that the settings ask for."""
    if not settings.model_base_url or not settings.ingest_with_model:
        yield Reading(redact)
        return
    from graphrag.ingest.model_extract import Gateway  # imports LlamaIndex

    key = settings.model_api_key.get_secret_value()
    async with Gateway(settings.model_base_url, key, settings.model_name, seconds=settings.model_seconds) as complete:
        yield Reading(redact, complete, settings.model_name)
