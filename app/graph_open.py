"""Opens the graph of the settings, apart from the service, so that a command need not wait for all of that."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import structlog

from app.settings import Settings
from graphrag.embed import Embedding, open_embedding
from graphrag.errors import GraphUnavailable
from graphrag.open_store import open_store
from graphrag.store import GraphStore

log = structlog.get_logger()


@asynccontextmanager
async def open_graph(
    settings: Settings, *, refit: bool = False, may_be_down: bool = False
) -> AsyncGenerator[tuple[GraphStore, Embedding]]:
    """The graph and the embedding its vectors were made with.

    `refit` says that the vectors are about to be made anew, so that those of another dimension may go. With
    `may_be_down` a graph that does not answer yet is given all the same, to be opened later: an alert must be taken
    while the graph is away. Raises `GraphError`.
    """
    graph = open_store(settings.graph_database, dimensions=settings.embedding_dimensions, refit=refit)
    embedding = await open_embedding(
        settings.embedding,
        graph,
        dimensions=settings.embedding_dimensions,
        base_url=settings.embedding_base_url,
        api_key=settings.embedding_api_key.get_secret_value(),
    )
    try:
        try:
            await graph.open()
        except GraphUnavailable as error:
            if not may_be_down:
                raise
            log.error("graph_unavailable", error=str(error))
        yield graph, embedding
    finally:
        await graph.close()
