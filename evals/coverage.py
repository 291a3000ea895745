"""Measures what an answer about the whole covers: the services and the communities it should name, against plain vector
retrieval that may say as much."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from evals.case import Case
from graphrag.embed import Embed
from graphrag.identity import name_key
from graphrag.model import Label, Node
from graphrag.overview import Limits, coarsest, overview
from graphrag.routing import mentions, route
from graphrag.store import GraphStore

LENGTHS = (300, 600, 1_200, 2_000)
"""Characters an answer may have."""
WAYS = ("communities", "vectors", "vectors of services")
_MOST_HITS = 200


@dataclass(frozen=True)
class Covered:
    """What one answer of one way covers, as shares in [0, 1] of what it should. `missed` are the services it did not
    name."""

    case: str
    way: str
    characters: int
    services: float
    communities: float
    missed: tuple[str, ...]


@dataclass(frozen=True)
class Coverage:
    """Of all questions: how many were routed to the communities, and what each answer covers."""

    questions: int
    routed: int
    answers: tuple[Covered, ...]

    def recall(self, way: str, characters: int) -> tuple[float, float]:
        """The mean over the questions, of services and of communities."""
        found = [each for each in self.answers if (each.way, each.characters) == (way, characters)]
        return fmean(each.services for each in found), fmean(each.communities for each in found)


async def measure(
    store: GraphStore, embed: Embed, tenant: str, cases: Sequence[Case], lengths: Sequence[int] = LENGTHS
) -> Coverage:
    """Answer every question in each way at each length. Raises `GraphError`."""
    routed = 0
    answers: list[Covered] = []
    for case in cases:
        routed += route(case.question, await mentions(store, tenant, case.question)).kind == "whole"
        areas = await _areas(store, tenant, case.expect.community)
        for characters in lengths:
            texts = {
                "communities": await _by_communities(store, embed, tenant, case.question, characters),
                "vectors": await _by_vectors(store, embed, tenant, case.question, characters, ()),
                "vectors of services": await _by_vectors(
                    store, embed, tenant, case.question, characters, [Label.SERVICE]
                ),
            }
            answers += (covered(case, way, characters, text, areas) for way, text in texts.items())
    return Coverage(len(cases), routed, tuple(answers))


def covered(case: Case, way: str, characters: int, text: str, areas: Mapping[str, Collection[str]]) -> Covered:
    """Judge one text. A community counts when the text names one of the expected services that it holds. Pure."""
    expected = case.expect.community
    said = {name for name in expected if is_named(name, text)}
    return Covered(
        case.id,
        way,
        characters,
        fmean(name in said for name in expected),
        fmean(not said.isdisjoint(names) for names in areas.values()) if areas else 0.0,
        tuple(name for name in expected if name not in said),
    )


def is_named(name: str, text: str) -> bool:
    """Whether the name stands in the text by itself: `redis` does not stand in `redis-sidekiq`. Pure."""
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE) is not None


async def _areas(store: GraphStore, tenant: str, expected: Sequence[str]) -> dict[str, set[str]]:
    """The expected services by the coarsest community that holds them."""
    found = await store.resolve(tenant, [name_key(name) for name in expected], [Label.SERVICE])
    ids = {node.id: name for name in expected for node in found.get(name_key(name), ())}
    areas: dict[str, set[str]] = {}
    for id, community in (await coarsest(store, tenant, ids)).items():
        if id in ids:
            areas.setdefault(community, set()).add(ids[id])
    return areas


async def _by_communities(store: GraphStore, embed: Embed, tenant: str, question: str, characters: int) -> str:
    found = await overview(store, embed, tenant, question, Limits(characters=characters))
    return "".join(f"{part.title}: {part.text}" for part in found.parts)


async def _by_vectors(
    store: GraphStore, embed: Embed, tenant: str, question: str, characters: int, labels: Collection[Label]
) -> str:
    """The nearest nodes' names and summaries, one after another, as far as the length goes."""
    vector = (await embed([question]))[0]
    hits = await store.search_vectors(tenant, vector, _MOST_HITS, labels) if any(vector) else []
    return "\n".join(_texts(hit.node for hit in hits))[:characters]


def _texts(nodes: Iterable[Node]) -> Iterator[str]:
    for node in nodes:
        yield f"{node.name}: {node.summary or node.properties.get('text', '')}"


def page(found: Mapping[str, Coverage]) -> str:
    """The recall of every organisation as a table in Markdown."""
    lines = [
        "| organisation | characters | " + " | ".join(f"services, {way}" for way in WAYS) + " | "
        "" + " | ".join(f"communities, {way}" for way in WAYS) + " |",
        "|---" * (2 + 2 * len(WAYS)) + "|",
    ]
    for organisation, each in found.items():
        for characters in sorted({answer.characters for answer in each.answers}):
            recalls = [each.recall(way, characters) for way in WAYS]
            row = [*(services for services, _ in recalls), *(communities for _, communities in recalls)]
            lines.append(f"| {organisation} | {characters:,} | " + " | ".join(f"{share:.2f}" for share in row) + " |")
    told = [f"{organisation}: {each.routed} of {each.questions} routed so" for organisation, each in found.items()]
    return "\n".join([*lines, "", f"Questions about the whole: {'; '.join(told)}."])


def misses(found: Coverage) -> str:
    """A line for each answer that does not name all it should."""
    return "\n".join(
        f"{each.case}: {each.way}, {each.characters:,} characters: {', '.join(each.missed)} not named"
        for each in found.answers
        if each.missed
    )
