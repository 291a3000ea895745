"""Parts of the graph read at once, from which a walk within one is answered as the store itself would answer.

For a store to which every question costs a round trip: a walk that says ahead how far it goes (`Forecast`) costs one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from graphrag.model import Direction, Edge, EdgeType, Label, Node, Step, View
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


class Steps:
    """What a forecast of a walk in one direction is about. `start`: those of its nodes that its view sees; `inner`: the
    ids of nodes whose edges on the way are all among `edges`, each as where one stands and where it leads; `ends`:
    label and name, by id, of the nodes there that the view sees."""

    def __init__(
        self,
        forecast: Forecast,
        start: Iterable[Node],
        inner: Iterable[str],
        edges: Iterable[tuple[str, str]],
        ends: Mapping[str, tuple[Label, str]],
    ) -> None:
        self._forecast = forecast
        self._start = {node.id: node for node in start}
        self._inner = frozenset((*forecast.ids, *inner))
        self._ends = ends
        self._leading: dict[str, list[str]] = {}
        for here, there in edges:
            self._leading.setdefault(here, []).append(there)

    def holds(self, ask: Ask) -> bool:
        """Whether the answer lies wholly within."""
        match ask:
            case NodesOf(ids, view):
                return view == self._forecast.view and set(self._forecast.ids).issuperset(ids)
            case StepsFrom(frontier, types, direction, _, view):
                asked = set(types), direction, view
                return self._inner.issuperset(frontier) and asked == self._asked()
            case _:
                return False

    def answer(self, ask: Ask) -> Any:
        """For an ask that it holds."""
        match ask:
            case NodesOf():
                return {id: self._start[id] for id in ask.ids if id in self._start}
            case StepsFrom():
                return self._steps(ask)
            case _:
                return None

    def _asked(self) -> tuple[set[EdgeType], Direction, View]:
        return set(self._forecast.types), self._forecast.direction, self._forecast.view

    def _steps(self, ask: StepsFrom) -> tuple[list[Step], bool]:
        found: dict[str, Step] = {}
        walked = 0
        for here in dict.fromkeys(ask.frontier):
            leading = self._leading.get(here, ())
            walked += len(leading)
            for there in leading:
                if there in self._ends and there not in found:
                    found[there] = Step(here, there, *self._ends[there])
        return list(found.values()), walked > ask.limit
