"""A part of the graph read at once, from which a walk within it is answered as the store itself would answer.

For a store to which every question costs a round trip: a walk that says ahead how far it goes (`Forecast`) costs one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from graphrag.model import Direction, Edge, EdgeType, Node, Step
from graphrag.store import Ask, EdgesOf, Forecast, NodesOf, StepsFrom
from graphrag.stored import leaving, reaching, steps_over


class Surroundings:
    """What a forecast is about. `inner`: the ids of nodes whose edges of its types are all among `edges`, those that
    it starts from included; `nodes`: every node among them and at the edges' ends that its view sees; `edges`: in the
    order of `GraphStore.edges`."""

    def __init__(
        self, forecast: Forecast, inner: Iterable[str], nodes: Iterable[Node], edges: Collection[Edge]
    ) -> None:
        self._forecast = forecast
        self._inner = frozenset((*forecast.ids, *inner))
        self._nodes = {node.id: node for node in nodes}
        self._edges = edges
        self._known = self._inner.union(*((edge.source, edge.target) for edge in edges))

    def holds(self, ask: Ask) -> bool:
        """Whether the answer lies wholly within."""
        if ask.view != self._forecast.view:
            return False
        match ask:
            case NodesOf():
                return self._known.issuperset(ask.ids)
            case EdgesOf():
                return self._inner.issuperset(ask.ids) and self._follows(ask.types)
            case StepsFrom():
                return self._inner.issuperset(ask.frontier) and self._follows(ask.types)
            case Forecast():
                return False

    def answer(self, ask: Ask) -> Any:
        """For an ask that it holds."""
        match ask:
            case NodesOf():
                return {id: self._nodes[id] for id in ask.ids if id in self._nodes}
            case EdgesOf():
                return self._touching(ask.ids, ask)[: ask.limit]
            case StepsFrom():
                return self._steps(ask)
            case Forecast():
                return None

    def _follows(self, types: Collection[EdgeType]) -> bool:
        """Whether all edges of these types are here, and no others."""
        return types is self._forecast.types or set(types) == set(self._forecast.types)

    def _steps(self, ask: StepsFrom) -> tuple[list[Step], bool]:
        edges = self._touching(ask.frontier, ask)
        return steps_over(edges, self._nodes, ask), len(edges) > ask.limit

    def _touching(self, ids: Collection[str], ask: EdgesOf | StepsFrom) -> list[Edge]:
        here = frozenset(ids)
        if ask.direction is Direction.BOTH:
            return [edge for edge in self._edges if edge.source in here or edge.target in here]
        forward, backward = set(leaving(ask.types, ask.direction)), set(reaching(ask.types, ask.direction))
        return [
            edge
            for edge in self._edges
            if (edge.source in here and edge.type in forward) or (edge.target in here and edge.type in backward)
        ]
