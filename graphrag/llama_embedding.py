"""The default embedding as LlamaIndex sees it. Importing this imports LlamaIndex, which takes seconds: do it late."""

from __future__ import annotations

from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from pydantic import PrivateAttr

from graphrag.embed import HashedNgrams


class HashedEmbedding(BaseEmbedding):
    """`HashedNgrams` behind LlamaIndex's interface. It computes and never waits, so async is the same call."""

    _ngrams: HashedNgrams = PrivateAttr()

    def __init__(self, ngrams: HashedNgrams, **kwargs: Any) -> None:
        super().__init__(model_name="hashed-ngrams", embed_batch_size=256, **kwargs)
        self._ngrams = ngrams

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._ngrams.vector(text)

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._ngrams.vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._ngrams.vector(query)
