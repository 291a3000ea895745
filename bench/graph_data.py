"""Made-up estates of services: who depends on whom, and the same as facts for a store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphrag.identity import name_key
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Ref, node_id

TENANT = "bench"
OUT_DEGREE = 3
_FACTS_A_WRITE = 20_000


@dataclass(frozen=True)
class Estate:
    """Service `sources[i]` depends on service `targets[i]`; no edge comes twice or leads to itself.

    Services are numbers that sort as their names do. `prefix` begins the names, so that estates share none.
    """

    services: int
    sources: NDArray[np.int64]
    targets: NDArray[np.int64]
    prefix: str = "service"

    @cached_property
    def names(self) -> list[str]:
        return [f"{self.prefix}-{number:07}" for number in range(self.services)]

    @cached_property
    def ids(self) -> list[str]:
        """The ids that a store gives these services."""
        return [node_id(TENANT, Label.SERVICE, name_key(name)) for name in self.names]

    def node_facts(self) -> list[NodeFact]:
        return [_service(number, name) for number, name in enumerate(self.names)]

    def edge_facts(self, start: int = 0, stop: int | None = None) -> list[EdgeFact]:
        """The edges numbered from `start` to before `stop`."""
        return [
            _dependency(self.names[source], self.names[target])
            for source, target in zip(self.sources[start:stop].tolist(), self.targets[start:stop].tolist(), strict=True)
        ]

    def writes(self) -> Iterator[Facts]:
        """All services, then all edges, in portions that one transaction carries."""
        nodes = self.node_facts()
        for start in range(0, len(nodes), _FACTS_A_WRITE):
            yield facts(nodes=nodes[start : start + _FACTS_A_WRITE])
        for start in range(0, len(self.sources), _FACTS_A_WRITE):
            yield facts(edges=self.edge_facts(start, start + _FACTS_A_WRITE))


def sparse(edges: int, prefix: str = "service", seed: int = 1) -> Estate:
    """About `edges` edges. Each service depends on three others drawn at random, however many services there are: a
    larger estate has no larger neighbourhoods."""
    return _drawn(edges // OUT_DEGREE, OUT_DEGREE, prefix, seed)


def shared(edges: int, seed: int = 4) -> Estate:
    """About `edges` edges with degrees as estates have them: one service in a hundred is shared, as a gateway or a
    queue is, and each service depends on one of these and on two others. Of the shared ones the n-th is drawn with
    weight 1 / sqrt(n): at 100,000 edges the first has about a thousand dependents and the hundredth ninety."""
    services = edges // OUT_DEGREE
    draw = np.random.default_rng(seed)
    hubs = draw.permutation(services)[: max(services // 100, 1)]
    weights = 1 / np.sqrt(np.arange(1, hubs.size + 1))
    on_hubs = draw.choice(hubs, services, p=weights / weights.sum())
    others = draw.integers(0, services, services * (OUT_DEGREE - 1))
    sources = np.concatenate([np.arange(services), np.repeat(np.arange(services), OUT_DEGREE - 1)])
    pairs = np.unique(sources * services + np.concatenate([on_hubs, others]))
    apart = pairs // services != pairs % services
    return Estate(services, pairs[apart] // services, pairs[apart] % services)


def grouped(services: int, group: int = 25, out_degree: int = 2, outside: float = 0.15, seed: int = 3) -> Estate:
    """Each service depends on up to `out_degree` others: most of its own group of so many services, and with the
    chance `outside` on any. `services` are a multiple of `group`."""
    draw = np.random.default_rng(seed)
    sources = np.repeat(np.arange(services), out_degree)
    within = sources - sources % group + (sources + draw.integers(1, group, sources.size)) % group
    anywhere = (sources + draw.integers(1, services, sources.size)) % services
    targets = np.where(draw.random(sources.size) < outside, anywhere, within)
    pairs = np.unique(sources * services + targets)
    return Estate(services, pairs // services, pairs % services)


def mesh(services: int, out_degree: int) -> Estate:
    """Each service depends on exactly `out_degree` others drawn at random."""
    lots = np.random.default_rng(2).random((services, services - 1))
    steps = 1 + np.argpartition(lots, out_degree, axis=1)[:, :out_degree]
    sources = np.repeat(np.arange(services), out_degree)
    return Estate(services, sources, (sources + steps.ravel()) % services)


def facts(nodes: list[NodeFact] | None = None, edges: list[EdgeFact] | None = None) -> Facts:
    """As one run of one source says them."""
    return Facts("bench", datetime.now(UTC), nodes=tuple(nodes or ()), edges=tuple(edges or ()))


def _drawn(services: int, out_degree: int, prefix: str, seed: int) -> Estate:
    draw = np.random.default_rng(seed)
    # Steps round a ring lead from each service to others and never to itself; sorted, equal ones stand together.
    steps = np.sort(draw.integers(1, services, size=(services, out_degree)), axis=1)
    first = np.ones(steps.shape, dtype=bool)
    first[:, 1:] = steps[:, 1:] != steps[:, :-1]
    sources, column = np.nonzero(first)
    return Estate(services, sources, (sources + steps[sources, column]) % services, prefix)


def _service(number: int, name: str) -> NodeFact:
    return NodeFact(
        Label.SERVICE,
        name,
        summary=f"Handles part {number} of the shop: takes requests, checks them and keeps what is asked for.",
        aliases=(f"part {number} {name.partition('-')[0]}",),
        properties={"tier": number % 3, "language": "python", "repository": f"https://git.example/{name}"},
    )


def _dependency(source: str, target: str) -> EdgeFact:
    return EdgeFact(
        EdgeType.DEPENDS_ON,
        Ref(Label.SERVICE, source),
        Ref(Label.SERVICE, target),
        summary="calls it over HTTP",
        properties={"protocol": "http", "timeout_ms": 500},
    )
