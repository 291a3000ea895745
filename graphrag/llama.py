"""The LlamaIndex face of the graph. Import it only where it is used: `llama_index.core` takes seconds to load."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import cast

from llama_index.core.graph_stores.types import PropertyGraphStore
from llama_index.core.indices.property_graph import BasePGRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from graphrag.model import EdgeType, Hit, Label
from graphrag.store import GraphStore
from graphrag.traverse import neighbourhood

Embed = Callable[[str], Awaitable[Sequence[float]]]


class GraphRetriever(BasePGRetriever):
    """Nearest entities of one tenant as LlamaIndex nodes, each with the relations around it in its text.

    Truly asynchronous; the blocking `retrieve` works only where no event loop runs, and only with a store that is not
    bound to another loop. Raises what the store raises.
    """

    def __init__(
        self,
        store: GraphStore,
        embed: Embed,
        *,
        tenant: str,
        limit: int = 8,
        labels: Collection[Label] = (),
        types: Collection[EdgeType] = tuple(EdgeType),
    ) -> None:
        self._store = store
        self._embed = embed
        self._tenant = tenant
        self._limit = limit
        self._labels = labels
        self._types = types
        # The base class asks for a stock store only to add source text, which is switched off.
        super().__init__(graph_store=cast("PropertyGraphStore", None), include_text=False)

    async def aretrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        vector = query_bundle.embedding or await self._embed(query_bundle.query_str)
        hits = await self._store.search_vectors(self._tenant, vector, self._limit, self._labels)
        sentences = await self._sentences([hit.node.id for hit in hits])
        return [NodeWithScore(node=_text_node(hit, sentences[hit.node.id]), score=hit.score) for hit in hits]

    def retrieve_from_graph(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return asyncio.run(self.aretrieve_from_graph(query_bundle))

    async def _sentences(self, ids: Sequence[str]) -> dict[str, list[str]]:
        around = await neighbourhood(self._store, self._tenant, ids, self._types, hops=1)
        sentences: dict[str, list[str]] = {id: [] for id in ids}
        for edge in around.edges:
            sentence = f"{around.nodes[edge.source].name} {edge.type} {around.nodes[edge.target].name}"
            for end in {edge.source, edge.target} & sentences.keys():
                sentences[end].append(sentence)
        return sentences


def _text_node(hit: Hit, sentences: Sequence[str]) -> TextNode:
    node = hit.node
    return TextNode(
        id_=node.id,
        text="\n".join([f"{node.name} ({node.label})", *([node.summary] if node.summary else []), *sentences]),
        metadata={"label": node.label.value, "name": node.name},
    )
