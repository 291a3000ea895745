"""Which team a rule is for by CODEOWNERS, where they can tell. Pure.

Who reviews the file that a rule is in may be paged for it, and may as well be whoever looks after the rules of
everybody. The services that rules of the same entry fire on show which: once one of them has another owner, the entry
says nothing of who is paged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from graphrag.identity import name_key
from graphrag.ingest.sources.codeowners import Review
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact
from graphrag.ownership import CODEOWNERS


def with_reviewers(
    nodes: Iterable[NodeFact],
    edges: Collection[EdgeFact],
    places: Mapping[str, Iterable[str]],
    reviews: Mapping[str, Review],
) -> list[NodeFact]:
    """The nodes, alerts among them with the team that CODEOWNERS give them to. `places`: an alert's name -> the paths
    of its rule files, then of its runbooks; `reviews`: by path. The first path that can tell is the one."""
    of_others = _entries_of_others(edges, places, reviews)
    given: dict[str, str] = {}
    for alert, paths in places.items():
        told = (review for path in paths if (review := reviews.get(path)) is not None and review.rule not in of_others)
        if (first := next(told, None)) is not None:
            given[alert] = first.team
    return [
        replace(node, properties={**node.properties, CODEOWNERS: given[node.name]})
        if node.label is Label.ALERT and node.name in given
        else node
        for node in nodes
    ]


def _entries_of_others(
    edges: Collection[EdgeFact], places: Mapping[str, Iterable[str]], reviews: Mapping[str, Review]
) -> set[tuple[str, int]]:
    """The entries of CODEOWNERS that cover a rule which fires on a service of another team."""
    owners: dict[str, set[str]] = defaultdict(set)
    fires_on: dict[str, set[str]] = defaultdict(set)
    for edge in edges:
        if edge.type is EdgeType.OWNED_BY:
            owners[name_key(edge.source.name)].add(name_key(edge.target.name))
        elif edge.type is EdgeType.FIRES_ON:
            fires_on[edge.source.name].add(name_key(edge.target.name))
    return {
        review.rule
        for alert, paths in places.items()
        for review in (reviews[path] for path in paths if path in reviews)
        if any(name_key(review.team) not in owners[service] for service in fires_on[alert] if owners[service])
    }
