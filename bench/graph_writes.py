"""How fast facts get into Neo4j, ours beside LlamaIndex's stock store, each on a server of its own of the same kind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bench.graph_data import TENANT, Estate, facts, sparse
from bench.graph_stores import APOC, DIMENSIONS, neo4j_store, server, stock_store
from bench.measure import Measured, note
from graphrag.model import EdgeFact, NodeFact
from graphrag.store import GraphStore

if TYPE_CHECKING:
    from llama_index.core.graph_stores.types import EntityNode, Relation
    from llama_index.graph_stores.neo4j import Neo4jPropertyGraphStore

EDGES = 15_000
EMBEDDED_EDGES = 6_000
WARM_UPS = 3
ROUNDS = 5
STOCK = "stock LlamaIndex Neo4jPropertyGraphStore"
NAMES = ("graph-write-nodes", "graph-write-edges", "graph-write-embedded-nodes")


def writes() -> list[Measured]:
    """New nodes and then new edges between them, and nodes with embeddings, in rounds in turn."""
    return asyncio.run(_measure())


async def _measure() -> list[Measured]:
    async with contextlib.AsyncExitStack() as stack:
        # Two servers: the full-text index of our layout would slow stock writes to the same database.
        ours = await stack.enter_async_context(neo4j_store(stack.enter_context(server(APOC))))
        stock = stack.enter_context(stock_store(stack.enter_context(server(APOC))))
        our_rates: dict[str, list[float]] = defaultdict(list)
        stock_rates: dict[str, list[float]] = defaultdict(list)
        for number in range(-WARM_UPS, ROUNDS):
            plain = sparse(EDGES, prefix=f"round{number + WARM_UPS}")
            embedded = sparse(EMBEDDED_EDGES, prefix=f"embedded{number + WARM_UPS}")
            our_round = await _ours(ours, plain, embedded)
            stock_round = await _stock(stock, plain, embedded)
            for name, rate in our_round.items():
                note(f"  {name}: {rate:.0f}/s, stock {stock_round[name]:.0f}/s{' (warm-up)' if number < 0 else ''}")
                if number >= 0:
                    our_rates[name].append(rate)
                    stock_rates[name].append(stock_round[name])
    # Of equal amounts of work, the harmonic mean is all the work by all the time.
    return [
        Measured(name, _mean(our_rates[name]), f"{name.rpartition('-')[2]}/s", STOCK, _mean(stock_rates[name]))
        for name in NAMES
    ]


async def _ours(store: GraphStore, plain: Estate, embedded: Estate) -> dict[str, float]:
    nodes, edges, carriers = plain.node_facts(), plain.edge_facts(), embedded.node_facts()
    vectors = dict(zip(embedded.ids, _vectors(embedded), strict=True))
    gc.collect()
    times = [time.perf_counter()]
    written = await store.write(TENANT, facts(nodes=nodes))
    times.append(time.perf_counter())
    related = await store.write(TENANT, facts(edges=edges))
    times.append(time.perf_counter())
    await store.write(TENANT, facts(nodes=carriers))
    await store.set_vectors(TENANT, vectors)
    times.append(time.perf_counter())
    if (written.added, related.added) != (len(nodes), len(edges)):
        raise RuntimeError(f"our store added {written.added} nodes and {related.added} edges")
    return _rates(times, nodes, edges, carriers)


async def _stock(stock: Neo4jPropertyGraphStore, plain: Estate, embedded: Estate) -> dict[str, float]:
    nodes, edges, carriers = plain.node_facts(), plain.edge_facts(), embedded.node_facts()
    entities, relations = [_entity(fact) for fact in nodes], [_relation(fact) for fact in edges]
    with_vectors = [_entity(fact, vector) for fact, vector in zip(carriers, _vectors(embedded), strict=True)]
    before = _counts(stock)
    gc.collect()
    times = [time.perf_counter()]
    await asyncio.to_thread(stock.upsert_nodes, entities)
    times.append(time.perf_counter())
    await asyncio.to_thread(stock.upsert_relations, relations)
    times.append(time.perf_counter())
    await asyncio.to_thread(stock.upsert_nodes, with_vectors)
    times.append(time.perf_counter())
    after = _counts(stock)
    if (after[0] - before[0], after[1] - before[1]) != (len(nodes) + len(carriers), len(edges)):
        raise RuntimeError(f"the stock store went from {before} to {after} nodes and relations")
    return _rates(times, nodes, edges, carriers)


def _entity(fact: NodeFact, vector: list[float] | None = None) -> EntityNode:
    from llama_index.core.graph_stores.types import EntityNode  # takes seconds to import

    properties = {"summary": fact.summary, "aliases": list(fact.aliases), **fact.properties}
    return EntityNode(name=fact.name, label=fact.label.value, properties=properties, embedding=vector)


def _relation(fact: EdgeFact) -> Relation:
    from llama_index.core.graph_stores.types import Relation  # takes seconds to import

    properties = {"summary": fact.summary, **fact.properties}
    return Relation(
        label=fact.type.value, source_id=fact.source.name, target_id=fact.target.name, properties=properties
    )


def _vectors(estate: Estate) -> list[list[float]]:
    return np.random.default_rng(3).standard_normal((estate.services, DIMENSIONS)).tolist()


def _counts(stock: Neo4jPropertyGraphStore) -> tuple[int, int]:
    [row] = stock.structured_query(
        "RETURN COUNT { MATCH (:__Entity__) } AS nodes, COUNT { MATCH (:__Entity__)-->(:__Entity__) } AS edges"
    )
    return row["nodes"], row["edges"]


def _rates(times: Sequence[float], *written: Sequence[object]) -> dict[str, float]:
    seconds = [after - before for before, after in itertools.pairwise(times)]
    return {name: len(facts) / took for name, facts, took in zip(NAMES, written, seconds, strict=True)}


def _mean(rates: Sequence[float]) -> float:
    return len(rates) / sum(1 / rate for rate in rates)
