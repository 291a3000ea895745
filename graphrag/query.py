"""What to look for in pages: the words of an alert or a question, each with how much it counts. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from graphrag.identity import name_words
from graphrag.links import links_in
from graphrag.signals import Signals

MAX_NAME_WORDS = 30
MAX_WORDS = 40
"""Of more words the later ones count least. The cost of a full-text search grows with each."""
MAX_ALERTS = 10
_MAX_TEXT = 4_000
_POINTER = re.compile(r"^(?!matcher ).*(?:runbook|playbook)", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W_]+")

_METRIC = "matcher __name__"
_ALERT = "alertname"
_ASIDE = "aside"
_NAMES = (_ALERT, "question")
_NOTES = ("text", "description")
_OF_NOTES = 0.4
_OF_METRICS = 0.4
_OF_LABELS = 0.2

# English words that hold sentences together. They are in every page, so they tell none apart and cost the search most.
_FUNCTION_WORDS = frozenset(
    """a about after all an and any are as at be because been before being but by can could did do does for from had has
    have how if in into is it its may might more most must no not of off on only or other our out over per should so
    some such than that the their them then there these they this those to too under up very was we were what when where
    which while who why will with would you your""".split()
)
_ENDINGS = ("ings", "ing", "edly", "ed", "es", "s")
_SHORTEST_ROOT = 3


@dataclass(frozen=True, slots=True)
class Query:
    """`name` are the words of what fired or was asked, `words` those and all others, in falling order of what they
    count. `weights` says, by root of a word, how much it counts, in (0, 1]. `alerts` are the names of what fired as
    they are written; `pointers` are the links of annotations that point elsewhere, `links` those of the other texts."""

    name: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    alerts: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    links: tuple[str, ...] = ()

    @property
    def spellings(self) -> tuple[str, ...]:
        """What a full-text search takes for the name: its words, each as it is and without its ending, and what is run
        together in an alert's name as the one word that stands in pages which quote it."""
        inflected = (form for word in self.name for form in (word, root(word)))
        return tuple(dict.fromkeys((*inflected, *(token for name in self.alerts for token in _run_together(name)))))


def query_of(signals: Signals) -> Query:
    """The query of a group of alerts or of a question. The alert's name says most of what is wrong, so it counts most;
    where there is none, its text takes that place, then its metrics, then its labels."""
    groups = [
        (1.0, _words_of(signals, _NAMES)),
        (_OF_NOTES, _words_of(signals, _NOTES)),
        (_OF_METRICS, _words_of(signals, (_METRIC,))),
        (_OF_LABELS, _words_of(signals, {each.origin for each in signals.names} - {*_NAMES, *_NOTES, _METRIC})),
    ]
    name = next((words for _, words in groups if words), ())[:MAX_NAME_WORDS]
    weights: dict[str, float] = {}
    for weight, words in ((1.0, name), *groups):
        for word in words:
            weights.setdefault(root(word), weight)
    words = tuple(dict.fromkeys((*name, *(word for _, group in groups for word in group))))[:MAX_WORDS]
    kept = {root(word) for word in words}
    return Query(
        name,
        words,
        {each: weight for each, weight in weights.items() if each in kept},
        alerts=_said(signals, lambda origin: origin == _ALERT)[:MAX_ALERTS],
        pointers=links_in(_said(signals, lambda origin: origin == _ASIDE or _POINTER.search(origin) is not None)),
        links=links_in(_said(signals, lambda origin: origin in (*_NAMES, *_NOTES))),
    )


def _said(signals: Signals, by: Callable[[str], bool]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(signal.value[:_MAX_TEXT] for signal in signals.names if by(signal.origin)))


def _words_of(signals: Signals, origins: Collection[str]) -> tuple[str, ...]:
    return telling(_said(signals, lambda origin: origin in origins))


def _run_together(name: str) -> tuple[str, ...]:
    """`SidekiqQueueTooLarge` is one word to a search that knows nothing of capitals within a word."""
    return tuple(token.casefold() for token in _TOKEN.findall(name) if len(name_words(token)) > 1)


def telling(texts: Iterable[str]) -> tuple[str, ...]:
    """The words that can tell one page from another, once each."""
    return tuple(dict.fromkeys(word for text in texts for word in name_words(text) if tells(word)))


def tells(word: str) -> bool:
    """Whether it can tell one page from another: no function word, no number, no single letter."""
    single = len(word) == 1 and word.isascii()
    return not single and not word.isnumeric() and word not in _FUNCTION_WORDS


def root(word: str) -> str:
    """The word without an English ending, so that `errors` meets `error` and `fetching` meets `fetches`."""
    if not word.endswith(_ENDINGS):
        return word  # as most do, and this is asked of every word of many pages
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_ROOT:
            return word[: -len(ending)]
    return word
