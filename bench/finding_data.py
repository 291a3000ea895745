"""A made-up organisation of any size as facts with vectors, and alerts about it: for measuring how things are found.

Of its entities a tenth are services, a tenth pages, and most of the others the pages' passages. Words are drawn as in
prose, few of them very often and most seldom (Zipf), from a vocabulary that grows with the text (Heaps).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from agent.state import AlertFacts, Incident
from bench.graph_data import TENANT, facts
from graphrag.embed import HashedNgrams
from graphrag.identity import name_key
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Ref, node_id

_WORDS_A_PASSAGE = 90
_WORDS_A_SUMMARY = 12
_OUT_DEGREE = 3
_PAGES_A_WRITE = 500
_WORD = re.compile(r"[a-z0-9]+")
_SYMPTOMS = ("HighErrorRate", "LatencyTooHigh", "QueueGrowing", "Down", "DiskFull", "Restarting", "ReplicationLag")
_ONSETS = ("b", "br", "c", "d", "dr", "f", "g", "gr", "h", "k", "l", "m", "n", "p", "pl", "r", "s", "st", "t", "v")
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ou")


@dataclass(frozen=True)
class Organisation:
    """Of `entities` nodes. The same size gives the same organisation."""

    entities: int

    @property
    def services(self) -> int:
        return self.entities // 10

    @property
    def pages(self) -> int:
        return self.entities // 10

    @property
    def teams(self) -> int:
        return self.entities // 100

    @property
    def passages(self) -> int:
        return self.entities - self.services - self.pages - self.teams

    @cached_property
    def vocabulary(self) -> list[str]:
        """Words from the most frequent to the rarest; as many as Heaps' law gives, about 20 times the root of the
        running words (Manning, Raghavan and Schütze, Introduction to Information Retrieval, 5.1.1: 30 to 100)."""
        wanted = int(20 * (self.passages * _WORDS_A_PASSAGE) ** 0.5)
        draw = np.random.default_rng(7)
        words: dict[str, None] = {}
        while len(words) < wanted:
            syllables = draw.integers(2, 5)
            parts = (
                _ONSETS[draw.integers(len(_ONSETS))] + _VOWELS[draw.integers(len(_VOWELS))] for _ in range(syllables)
            )
            words.setdefault("".join(parts))
        return list(words)

    @cached_property
    def service_names(self) -> list[str]:
        """Two words and, where that name is taken, a number: a few services share each of their words."""
        draw = np.random.default_rng(11)
        common = len(self.vocabulary)
        pairs = draw.integers(50, common, size=(self.services, 2))
        taken: dict[str, int] = {}
        names: list[str] = []
        for first, second in pairs.tolist():
            name = f"{self.vocabulary[first]}-{self.vocabulary[second]}"
            taken[name] = taken.get(name, 0) + 1
            names.append(name if taken[name] == 1 else f"{name}-{taken[name]}")
        return names

    def writes(self, dimensions: int) -> Iterator[Portion]:
        """All of it in portions that one transaction carries."""
        texts = _Texts(self.vocabulary)
        vectors = _Vectors(dimensions)
        draw = np.random.default_rng(13)
        teams = [f"team-{number:05}" for number in range(self.teams)]
        yield _portion(vectors, [NodeFact(Label.TEAM, team) for team in teams])
        services = self.service_names
        for start in range(0, self.services, 5_000):
            names = services[start : start + 5_000]
            yield _portion(
                vectors, [NodeFact(Label.SERVICE, name, texts.prose(draw, _WORDS_A_SUMMARY)) for name in names]
            )
        for start in range(0, self.services, 5_000):
            edges: list[EdgeFact] = []
            for number in range(start, min(start + 5_000, self.services)):
                service = Ref(Label.SERVICE, services[number])
                needs = {*draw.integers(0, self.services, _OUT_DEGREE).tolist()} - {number}
                edges += (EdgeFact(EdgeType.DEPENDS_ON, service, Ref(Label.SERVICE, services[each])) for each in needs)
                edges.append(EdgeFact(EdgeType.OWNED_BY, service, Ref(Label.TEAM, teams[number % len(teams)])))
            yield _portion(vectors, [], edges)
        for start in range(0, self.pages, _PAGES_A_WRITE):
            nodes, edges = self._pages(start, min(start + _PAGES_A_WRITE, self.pages), texts, draw)
            yield _portion(vectors, nodes, edges)

    def _pages(
        self, start: int, stop: int, texts: _Texts, draw: np.random.Generator
    ) -> tuple[list[NodeFact], list[EdgeFact]]:
        nodes: list[NodeFact] = []
        edges: list[EdgeFact] = []
        for page in range(start, stop):
            service = self.service_names[page % self.services]
            runbook = page % 2 == 0
            label, type = (Label.RUNBOOK, EdgeType.HAS_RUNBOOK) if runbook else (Label.DOC, EdgeType.DOCUMENTED_IN)
            path = f"docs/{service}/{texts.prose(draw, 2).replace(' ', '-')}-{page}.md"
            nodes.append(NodeFact(label, path, f"{service}: {texts.prose(draw, 30)}", properties={"path": path}))
            edges.append(EdgeFact(type, Ref(Label.SERVICE, service), Ref(label, path)))
            for place in range(page, self.passages, self.pages):
                name = f"{path}#{place // self.pages}"
                text = f"{service} {texts.prose(draw, _WORDS_A_PASSAGE)}"
                nodes.append(NodeFact(Label.CHUNK, name, text, properties={"source": path}))
                edges.append(EdgeFact(EdgeType.MENTIONS, Ref(Label.CHUNK, name), Ref(Label.SERVICE, service)))
        return nodes, edges

    def incidents(self, count: int) -> list[Incident]:
        """One alert each, of services at random: of three, one names its service in a label, one in a pod's name,
        one in the alert's name alone. All have a sentence or two of text."""
        texts = _Texts(self.vocabulary)
        draw = np.random.default_rng(17)
        return [self._incident(number, texts, draw) for number in range(count)]

    def _incident(self, number: int, texts: _Texts, draw: np.random.Generator) -> Incident:
        service = self.service_names[int(draw.integers(self.services))]
        spoken = "".join(word.capitalize() for word in service.split("-"))
        symptom = _SYMPTOMS[number % len(_SYMPTOMS)]
        named: dict[str, str] = ({"job": service}, {"pod": f"{service}-7d9f5c6b8-x2x4z"}, {})[number % 3]
        now = datetime.now(UTC)
        alert = AlertFacts(
            labels={"alertname": f"{spoken}{symptom}", "severity": "critical", **named},
            annotations={"summary": texts.prose(draw, 10), "description": texts.prose(draw, 25)},
            expression="sum(rate(http_requests_total[5m])) > 5",
            starts_at=now,
        )
        return Incident(id=f"incident-{number}", tenant=TENANT, opened_at=now, title=alert.name, alerts=(alert,))


@dataclass(frozen=True)
class Portion:
    """Facts, and the vectors of the nodes among them by id."""

    facts: Facts
    vectors: dict[str, list[float]]


def _portion(vectors: _Vectors, nodes: list[NodeFact], edges: list[EdgeFact] | None = None) -> Portion:
    of_nodes = {
        node_id(TENANT, node.label, name_key(node.name)): vectors.of(f"{node.name} {node.summary}") for node in nodes
    }
    return Portion(facts(nodes, edges), of_nodes)


class _Texts:
    """Prose of the vocabulary."""

    def __init__(self, vocabulary: list[str]) -> None:
        self._words = np.array(vocabulary, dtype=object)
        chance = 1 / (np.arange(len(vocabulary)) + 10)
        self._cumulated = np.cumsum(chance / chance.sum())

    def prose(self, draw: np.random.Generator, words: int) -> str:
        picked = np.minimum(np.searchsorted(self._cumulated, draw.random(words)), len(self._words) - 1)
        return " ".join(self._words[picked])


class _Vectors:
    """Of a text the sum of its words' vectors: what the hashed embedding gives but for its damping of words that come
    again, in a hundredth of the time."""

    def __init__(self, dimensions: int) -> None:
        embedding = HashedNgrams(dimensions)
        self._of_word: Callable[[str], NDArray[np.float32]] = lru_cache(maxsize=None)(
            lambda word: np.array(embedding.vector(word), dtype=np.float32)
        )

    def of(self, text: str) -> list[float]:
        total = np.sum([self._of_word(word) for word in _WORD.findall(text)], axis=0)
        return (total / np.linalg.norm(total)).tolist()
