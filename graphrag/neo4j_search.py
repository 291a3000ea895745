"""Searches in Neo4j's vector and full-text indexes, which know neither tenants nor scopes.

An index is quick at its best few and slow at all of one tenant's. So it is asked for some more than are wanted, what is
others' is left out, and only where others crowd a search is it made again within the tenant.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import Any

from graphrag.model import Label, View
from graphrag.neo4j_facts import search_scope
from graphrag.neo4j_layout import ALL_VECTORS, VECTORS_OF
from graphrag.stored import moment_of, text_index_of

Read = Callable[..., Awaitable[list[dict[str, Any]]]]
"""Runs a named query of read.cypher (`Database.read`)."""
Rows = list[dict[str, Any]]
_EVERY = 2**31 - 1


async def nearest(
    read: Read, tenant: str, vector: Sequence[float], limit: int, labels: Collection[Label], view: View
) -> Rows:
    """The nodes nearest to a vector that is not zero, best first, each with its `score`: the cosine."""
    asked = _asked(tenant, limit, labels, view) | {"vector": vector}
    if view.as_of is not None:
        return await read("scan_vectors_at", at=moment_of(view), **asked)
    own = [VECTORS_OF[label] for label in labels if label in VECTORS_OF]
    indexes = own if len(own) == len(labels) else [ALL_VECTORS]
    for fetch in (_some_more(limit), 10 * _some_more(limit)):
        *rows, told = await read("search_vectors", indexes=indexes, fetch=fetch, **asked)
        if len(rows) == limit or told["looked_at"] < fetch:
            return rows
    return await read("scan_vectors", of=labels, **asked)


async def with_any_word(
    read: Read, tenant: str, words: Sequence[str], limit: int, labels: Collection[Label], view: View
) -> Rows:
    """The nodes in whose text any of the words stands, best first, each with its `score`."""
    asked = _asked(tenant, limit, labels, view) | {"indexes": sorted({text_index_of(label) for label in labels})}
    of_tenant = f"+(search_scope:{search_scope(tenant)})^0 +({_any_of(words)})"  # which adds nothing to the score
    if view.as_of is not None:
        return await read("search_text_at", lucene=of_tenant, at=moment_of(view), **asked)
    *rows, told = await read("search_text", lucene=_any_of(words), fetch=_some_more(limit), **asked)
    if len(rows) < limit and told["looked_at"] >= _some_more(limit):
        *rows, _ = await read("search_text", lucene=of_tenant, fetch=_EVERY, **asked)
    return rows


def _asked(tenant: str, limit: int, labels: Collection[Label], view: View) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "scopes": list(view.scopes),
        "labels": sorted(label.value for label in labels),
        "limit": limit,
    }


def _some_more(limit: int) -> int:
    return 2 * limit + 50


def _any_of(words: Iterable[str]) -> str:
    """Lucene's syntax for any of the words, each quoted, so that nothing in them is syntax."""
    return " ".join(f'"{word}"' for word in words)
