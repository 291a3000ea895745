"""How well a handful of texts answer a query, word by word: BM25 over the texts that the searches brought up. Pure.

The stores' own full text finds candidates among millions. Here these are compared again by what a store cannot weigh:
the alert's name counts more than its labels, inflected words meet, and a page's passages count together.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import TypeVar

from graphrag.identity import name_words
from graphrag.query import Query, root, tells

K1 = 1.2
B = 0.75
"""The constants of Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009)."""
_TOKEN = re.compile(r"[^\W_]{1,80}")
_MAX_CHARACTERS = 40_000
_OF_PAIRS = 0.5
_TOKENS_IN_MEMORY = 100_000

_Term = str | tuple[str, str]
"""A word's root, or two that follow each other."""
Term = TypeVar("Term", bound=_Term)


def relevance(query: Query, texts: Mapping[str, str]) -> dict[str, float]:
    """The BM25 score of each text, at least 0; how rare a word is, is counted among these texts. Two words that follow
    each other in the query and in the text count once more, as a word of their own."""
    weights: dict[_Term, float] = {**query.weights}
    roots = [root(word) for word in query.words]
    for pair in pairwise(roots):
        weights[pair] = _OF_PAIRS * min(query.weights[each] for each in pair)
    read = {id: _roots_in(text) for id, text in texts.items()}
    counts = {id: _counted(each, weights) for id, each in read.items()}
    rare = rarity(counts.values())
    average = sum(map(len, read.values())) / max(1, len(read)) or 1.0
    return {
        id: math.fsum(
            weights[term] * rare[term] * count * (K1 + 1) / (count + K1 * _length_norm(len(read[id]) / average))
            for term, count in each.items()
        )
        for id, each in counts.items()
    }


def _counted(roots: Sequence[str], weights: Mapping[_Term, float]) -> dict[_Term, int]:
    found: Counter[_Term] = Counter(filter(weights.__contains__, roots))
    found.update(filter(weights.__contains__, pairwise(roots)))
    return found


def _length_norm(relative: float) -> float:
    return 1 - B + B * relative


def _roots_in(text: str) -> list[str]:
    if len(_ROOTS) > _TOKENS_IN_MEMORY:
        _ROOTS.clear()
    return list(chain.from_iterable(map(_ROOTS.__getitem__, _TOKEN.findall(text[:_MAX_CHARACTERS]))))


class _Roots(dict[str, tuple[str, ...]]):
    """The roots of the words run together in one token (`QueueTooLarge`). Texts repeat few words very often, and a
    cache that also kept the order of use would cost more than most of the look-ups."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        words = name_words(token)
        told = words if len(words) == 1 else dict.fromkeys(words)
        roots = self[token] = tuple([root(word) for word in told if tells(word)])
        return roots


_ROOTS = _Roots()


def rarity(texts: Collection[Iterable[Term]]) -> dict[Term, float]:
    """The inverse document frequency of each word among these texts, above 0."""
    seen = Counter(word for words in texts for word in set(words))
    return {word: math.log(1 + (len(texts) - count + 0.5) / (count + 0.5)) for word, count in seen.items()}
