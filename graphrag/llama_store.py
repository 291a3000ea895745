"""The graph as a LlamaIndex `PropertyGraphStore`, so that its stock index and retrievers work on any of our stores.

Import it only where it is used: `llama_index.core` takes seconds to load.
"""

from __future__ import annotations

from asyncio import wrap_future
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

from anyio.from_thread import BlockingPortal, start_blocking_portal
from llama_index.core.graph_stores.types import LabelledNode, PropertyGraphStore, Relation, Triplet
from llama_index.core.vector_stores.types import VectorStoreQuery, VectorStoreQueryMode
from llama_index.core.vector_stores.utils import build_metadata_filter_fn

from graphrag.identity import name_key
from graphrag.llama_facts import edge_fact, entity_of, node_fact, shown, triplets_of
from graphrag.model import ENDS, Direction, EdgeType, Facts, Label, Node, utc_now
from graphrag.open_store import open_store
from graphrag.store import GraphStore
from graphrag.traverse import MAX_CAP, neighbourhood

SOURCE = "llama-index"
"""The source of every fact that is written through the face."""

_EVERY_EDGE = 1_000_000_000
_WALKED = frozenset(EdgeType) - {EdgeType.MENTIONS}  # stock stores keep a chunk's mentions out of their maps too


@contextmanager
def open_face(url: str, tenant: str, *, dimensions: int, refit: bool = False) -> Generator[GraphStoreFace]:
    """One tenant of the store at `url`, on an event loop in a thread of its own. Takes and raises what `open_store` and
    `GraphStore.open` do, and blocks until the store is open."""
    store = open_store(url, dimensions=dimensions, refit=refit)
    with start_blocking_portal(name="llama-index face") as portal:
        try:
            portal.call(store.open)
            yield GraphStoreFace(store, tenant, portal)
        finally:
            portal.call(store.close)


class GraphStoreFace(PropertyGraphStore):
    """A thin LlamaIndex face of one tenant of a store that is open on the portal's loop; see `open_face`.

    Reads see the facts that hold now. As everywhere in LlamaIndex, a node's id is its name; our own id, which tells
    two labels of one name apart, is its property `id`, and either may be asked for. The blocking methods work inside
    a running loop and outside; the `a` forms leave the caller's loop free.

    Writing asserts facts of the source `llama-index`. Labels and types are those of `graphrag.model`, an `Entity`
    needs its kind, and what names another raises ValueError; the fields of a fact's life are the store's own and are
    passed over. Deleting and query text raise NotImplementedError.
    """

    supports_structured_queries: bool = False
    supports_vector_queries: bool = True

    def __init__(self, store: GraphStore, tenant: str, portal: BlockingPortal) -> None:
        self._graph = _TenantGraph(store, tenant)
        self._portal = portal

    def get(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        """The nodes that have all of `properties`, among `ids` (or names) if given. Without `ids` it reads them all."""
        return self._portal.call(self._graph.get, properties, ids)

    async def aget(self, properties: dict[str, Any] | None = None, ids: list[str] | None = None) -> list[LabelledNode]:
        return await wrap_future(self._portal.start_task_soon(self._graph.get, properties, ids))

    def get_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        """The relations of these types that touch a node which matches all the rest; none when nothing is asked."""
        return self._portal.call(self._graph.get_triplets, entity_names, relation_names, properties, ids)

    async def aget_triplets(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> list[Triplet]:
        asked = (entity_names, relation_names, properties, ids)
        return await wrap_future(self._portal.start_task_soon(self._graph.get_triplets, *asked))

    def get_rel_map(
        self, graph_nodes: list[LabelledNode], depth: int = 2, limit: int = 30, ignore_rels: list[str] | None = None
    ) -> list[Triplet]:
        """At most `limit` relations within `depth` hops of the nodes, nearest first, then most confirmed."""
        return self._portal.call(self._graph.get_rel_map, graph_nodes, depth, limit, ignore_rels or ())

    async def aget_rel_map(
        self, graph_nodes: list[LabelledNode], depth: int = 2, limit: int = 30, ignore_rels: list[str] | None = None
    ) -> list[Triplet]:
        asked = (graph_nodes, depth, limit, ignore_rels or ())
        return await wrap_future(self._portal.start_task_soon(self._graph.get_rel_map, *asked))

    def vector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        """The nearest nodes that pass the filters and their cosines in [-1, 1], best first."""
        return self._portal.call(self._graph.vector_query, query)

    async def avector_query(self, query: VectorStoreQuery, **kwargs: Any) -> tuple[list[LabelledNode], list[float]]:
        return await wrap_future(self._portal.start_task_soon(self._graph.vector_query, query))

    def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        """Assert entities, all or none, and set the embeddings they bring."""
        self._portal.call(self._graph.upsert_nodes, nodes)

    async def aupsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        await wrap_future(self._portal.start_task_soon(self._graph.upsert_nodes, nodes))

    def upsert_relations(self, relations: list[Relation]) -> None:
        """Assert relations between nodes that are there, each end given by id or name."""
        self._portal.call(self._graph.upsert_relations, relations)

    async def aupsert_relations(self, relations: list[Relation]) -> None:
        await wrap_future(self._portal.start_task_soon(self._graph.upsert_relations, relations))

    def delete(
        self,
        entity_names: list[str] | None = None,
        relation_names: list[str] | None = None,
        properties: dict[str, Any] | None = None,
        ids: list[str] | None = None,
    ) -> NoReturn:
        raise NotImplementedError(
            "Facts are never deleted: one closes when a complete run of its source no longer sees it. Take it out of "
            "the source and ingest that again."
        )

    def structured_query(self, query: str, param_map: dict[str, Any] | None = None) -> NoReturn:
        raise NotImplementedError("The graph takes no query text. Use get, get_triplets, get_rel_map or vector_query.")

    def get_schema(self, refresh: bool = False) -> dict[str, Any]:
        """The labels, and for each type of relation the labels it may leave and reach. It never changes."""
        relations = {
            type.value: {"from": sorted(sources), "to": sorted(targets)} for type, (sources, targets) in ENDS.items()
        }
        return {"labels": [label.value for label in Label], "relations": relations}

    def get_schema_str(self, refresh: bool = False) -> str:
        """The schema as lines for a prompt."""
        lines = (
            f"{type}: {' or '.join(sorted(sources))} -> {' or '.join(sorted(targets))}"
            for type, (sources, targets) in ENDS.items()
        )
        return "\n".join([f"Labels: {', '.join(Label)}", *lines])

    async def aget_schema_str(self, refresh: bool = False) -> str:
        return self.get_schema_str(refresh)


class _TenantGraph:
    """What the face answers, wherever it runs."""

    def __init__(self, store: GraphStore, tenant: str) -> None:
        self._store = store
        self._tenant = tenant

    async def get(self, properties: Mapping[str, Any] | None, ids: Sequence[str] | None) -> list[LabelledNode]:
        return [entity_of(node) for node in await self._matching(properties, ids)]

    async def get_triplets(
        self,
        entity_names: Sequence[str] | None,
        relation_names: Sequence[str] | None,
        properties: Mapping[str, Any] | None,
        ids: Sequence[str] | None,
    ) -> list[Triplet]:
        types = [type for type in EdgeType if not relation_names or type in relation_names]
        if not types or not (entity_names or relation_names or properties or ids):
            return []
        start = {node.id for node in await self._matching(properties, ids or None)}
        if entity_names:
            start &= {node.id for node in await self._matching(None, entity_names)}
        edges = await self._store.edges(self._tenant, start, types, Direction.BOTH, _EVERY_EDGE)
        nodes = await self._store.nodes(self._tenant, {end for edge in edges for end in (edge.source, edge.target)})
        return triplets_of(edges, nodes)

    async def get_rel_map(
        self, graph_nodes: Sequence[LabelledNode], depth: int, limit: int, ignore_rels: Collection[str]
    ) -> list[Triplet]:
        asked = [str(node.properties.get("id", node.id)) for node in graph_nodes]
        start = {node.id for node in await self._matching(None, asked)}
        types = sorted(_WALKED.difference(ignore_rels))
        # Every node brings an edge, so that many nodes are enough.
        around = await neighbourhood(self._store, self._tenant, start, types, depth, min(limit, MAX_CAP))
        nearest = sorted(
            around.edges,
            key=lambda edge: (
                sorted((around.hops[edge.source], around.hops[edge.target])),
                -edge.life.confirmations,
                edge.id,
            ),
        )
        return triplets_of(nearest[:limit], around.nodes)

    async def vector_query(self, query: VectorStoreQuery) -> tuple[list[LabelledNode], list[float]]:
        if query.mode is not VectorStoreQueryMode.DEFAULT or query.doc_ids:
            raise NotImplementedError("A vector query here is by cosine: no mode but `default`, and no doc_ids.")
        if query.query_embedding is None:
            raise ValueError("A vector query needs a query_embedding.")
        top, limit = query.similarity_top_k, query.similarity_top_k
        while True:
            hits = await self._store.search_vectors(self._tenant, query.query_embedding, limit)
            entities = {hit.node.id: entity_of(hit.node) for hit in hits}
            fits = build_metadata_filter_fn(lambda id, of=entities: of[id].properties, query.filters)
            among = query.node_ids
            kept = [
                hit
                for hit in hits
                if (among is None or {hit.node.id, hit.node.name} & set(among)) and fits(hit.node.id)
            ]
            if len(kept) >= top or len(hits) < limit:
                return [entities[hit.node.id] for hit in kept[:top]], [hit.score for hit in kept[:top]]
            limit *= 4  # the filters left too few: look further

    async def upsert_nodes(self, nodes: Sequence[LabelledNode]) -> None:
        facts = [node_fact(node) for node in nodes]
        await self._store.write(self._tenant, Facts(SOURCE, utc_now(), nodes=tuple(facts)))
        vectors: dict[str, Sequence[float]] = {}
        for node, fact in zip(nodes, facts, strict=True):
            if node.embedding is not None:
                key = name_key(fact.name)
                (written,) = (await self._store.resolve(self._tenant, [key], [fact.label]))[key]
                vectors[written.id] = node.embedding
        if vectors:
            await self._store.set_vectors(self._tenant, vectors)

    async def upsert_relations(self, relations: Sequence[Relation]) -> None:
        named = await self._named({end for each in relations for end in (each.source_id, each.target_id)})
        facts = tuple(edge_fact(relation, named) for relation in relations)
        report = await self._store.write(self._tenant, Facts(SOURCE, utc_now(), edges=facts))
        if left_out := (*report.dangling, *report.denied):
            raise ValueError(
                f"The graph left out {', '.join(left_out)}: the two ends are one node, or an administrator's "
                "correction says otherwise. The other relations are written."
            )

    async def _matching(self, properties: Mapping[str, Any] | None, asked: Sequence[str] | None) -> list[Node]:
        if asked is None:
            nodes: Iterable[Node] = await self._store.all_nodes(self._tenant)
        else:
            named = await self._named(asked)
            nodes = {node.id: node for each in asked for node in named[each]}.values()
        return [node for node in nodes if not properties or properties.items() <= shown(node).items()]

    async def _named(self, asked: Collection[str]) -> dict[str, list[Node]]:
        """The nodes that each id or name stands for."""
        by_id = await self._store.nodes(self._tenant, asked)
        keys = {each: name_key(each) for each in asked if each not in by_id}
        by_key = await self._store.resolve(self._tenant, set(keys.values()), tuple(Label)) if keys else {}
        return {each: [by_id[each]] if each in by_id else by_key.get(keys[each], []) for each in asked}
