"""Reads the names that a value may hold out of it: whole values, hosts, pods without their generated suffixes, and the
words of text one after another. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from graphrag.identity import name_key, name_words
from graphrag.label_keys import CLAIMING, NOTHING_LEARNT, Kind, Uses, kind_of
from graphrag.signals import Signal

TEXT = frozenset({"text", "description", "aside", "question"})
PHRASES = frozenset({"alertname", "__name__"})
WORDS = TEXT | PHRASES
"""Origins whose values are read word by word."""
_SPOKEN = PHRASES | {"text", "question"}
"""Where a name is said in passing, so that it may stand in the other number."""
_INFLECTED_FROM = 5
MAX_KEYS = 2_000
_MAX_WORDS_A_NAME = 4
_TOKEN = re.compile(r"[^\W_][\w]*(?:[-./:][^\W_][\w]*)*")
_PARTS = re.compile(r"[/:]+")
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_URL = re.compile(r"\b[a-z][a-z0-9+.-]*://([^\s/:?#]*)[^\s]*", re.IGNORECASE)
# Kubernetes makes suffixes of letters and digits that spell no words; a stricter pattern than "five characters" keeps
# `checkout-redis` from being read as a pod of `checkout`.
_RANDOM = "[bcdfghjklmnpqrstvwxz2456789]{5}"
_HASH = r"(?:[4-9bcdf]{6,10}|\d{8,10})"
_GENERATED = (
    re.compile(rf"-{_HASH}-{_RANDOM}$"),  # a Deployment's pod
    re.compile(rf"-{_RANDOM}$"),  # a DaemonSet's or a Job's pod
    re.compile(r"-\d+$"),  # a StatefulSet's pod
    re.compile(rf"-{_HASH}$"),  # a ReplicaSet
)
_NOUN = frozenset({"service", "services"})
_CLOSE = re.compile(r"[\s`'\"*]{1,2}")
_SET_OFF = re.compile(r":\s|[:\s]*[`'\"*]")


class Reading(NamedTuple):
    """A key a place may be looked up under, how many words of the text it takes, whether it is one ordinary word,
    whether the text itself calls it a service (`the ledger service`), whether the text says one where the key says
    several, or the other way round (`websocket` for `websockets`), and whether it is the host of a link."""

    key: str
    words: int = 1
    plain: bool = False
    called: bool = False
    inflected: bool = False
    linked: bool = False


Place = tuple[Reading, ...]


def origin_of(signal: Signal) -> str:
    """The signal's label, without the `matcher` before it."""
    return signal.origin.removeprefix("matcher ")


def readings_of(signal: Signal, uses: Uses = NOTHING_LEARNT) -> list[Place]:
    """What a value may be looked up under: its places in order, at each the longest reading first.

    A label is one place: the whole value, then, of what runs or is a service, a host's first label, and of what runs
    the name with generated suffixes taken off. Text has one place a word, and so have the words of an alert's or a
    metric's name.
    """
    origin = origin_of(signal)
    if origin in TEXT:
        places = _of_text(signal.value)
        return [_inflected(place) for place in places] if origin in _SPOKEN else places
    if origin in PHRASES:
        words = name_words(signal.value)
        return [
            _inflected(
                tuple(
                    Reading(name_key("".join(words[at : at + size])), size, size == 1, _calls(words, at, size))
                    for size in _sizes(words, at)
                )
            )
            for at in range(min(len(words), MAX_KEYS // _MAX_WORDS_A_NAME))
        ]
    kind = kind_of(origin, uses)
    forms = [signal.value]
    if kind in CLAIMING:
        host = _SCHEME.sub("", signal.value).partition("/")[0].partition(":")[0]
        first = host.partition(".")[0]
        forms += [host, first]
        if kind is Kind.RUNNING:
            forms += (*_without_suffixes(signal.value), *_without_suffixes(first))
    keys = dict.fromkeys(name_key(form) for form in forms if form)
    return [tuple(Reading(key, plain=len(name_words(signal.value)) == 1) for key in keys if key)]


def _inflected(place: Place) -> Place:
    """The readings, and after each the same with the other number of its last word, as far as an `s` makes it."""
    return tuple(each for reading in place for each in (reading, *_in_other_number(reading)))


def _in_other_number(reading: Reading) -> Iterator[Reading]:
    if other := _other_number(reading.key):
        yield reading._replace(key=other, inflected=True)


def _other_number(key: str) -> str:
    """Short words are left alone: an `s` makes another word of them more often than their plural."""
    if len(key) < _INFLECTED_FROM or not key[-1].isalpha() or key.endswith(("ss", "us", "is")):
        return ""
    return key[:-1] if key.endswith("s") else f"{key}s"


def _without_suffixes(value: str) -> Iterator[str]:
    for pattern in _GENERATED:
        stripped = pattern.sub("", value)
        if stripped != value:
            yield stripped


def _calls(words: Sequence[str], at: int, size: int) -> bool:
    end = at + size
    return (end < len(words) and words[end] in _NOUN) or (at == 0 and size > 1 and words[end - 1] in _NOUN)


def _sizes(words: Sequence[str], at: int) -> range:
    return range(min(_MAX_WORDS_A_NAME, len(words) - at), 0, -1)


def tokens_of(text: str) -> list[tuple[int, int]]:
    """Where each word of a text begins and ends: the n-th place of a text's `readings_of` begins with the n-th of
    them, and a reading takes as many as it says."""
    return [match.span() for match in _tokens(without_paths(text))]


def _tokens(text: str) -> list[re.Match[str]]:
    return list(_TOKEN.finditer(text))[: MAX_KEYS // _MAX_WORDS_A_NAME]


def without_paths(text: str) -> str:
    """Of an address only the host is read: a path names what the page is about, not what this is about. What is not
    read becomes space, so that everything else stays where it was."""

    def host_alone(match: re.Match[str]) -> str:
        start, end = (place - match.start() for place in match.span(1))
        return f"{' ' * start}{match[1]}{' ' * (len(match[0]) - end)}"

    return _URL.sub(host_alone, text)


def _of_text(text: str) -> list[Place]:
    links = [match.span(1) for match in _URL.finditer(text)]
    text = without_paths(text)
    found = _tokens(text)
    tokens = [match.group() for match in found]
    gaps = ["", *(text[one.end() : other.start()] for one, other in itertools.pairwise(found)), ""]
    places = [
        (*_phrases(tokens, gaps, at), *_inside(tokens[at], _called(tokens, gaps, at, 1))) for at in range(len(tokens))
    ]
    return [
        tuple(each._replace(linked=True) for each in place) if _lies_in(match.start(), links) else place
        for match, place in zip(found, places, strict=True)
    ]


def _lies_in(at: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)


def _phrases(tokens: Sequence[str], gaps: Sequence[str], at: int) -> Iterator[Reading]:
    for size in _sizes(tokens, at):
        key = name_key(" ".join(tokens[at : at + size]))
        plain = size == 1 and len(name_words(tokens[at])) == 1
        yield Reading(key, size, plain, _called(tokens, gaps, at, size))


def _called(tokens: Sequence[str], gaps: Sequence[str], at: int, size: int) -> bool:
    """`gaps[n]` stands before the n-th token. A template that was taken out leaves a wider gap than the words of one
    phrase have between them."""
    after = at + size
    if size > 1 and tokens[after - 1].casefold() in _NOUN and _CLOSE.fullmatch(gaps[after - 1]):
        return True
    if after < len(tokens) and tokens[after].casefold() in _NOUN and _CLOSE.fullmatch(gaps[after]):
        return True
    return at > 0 and tokens[at - 1].casefold() in _NOUN and bool(_SET_OFF.match(gaps[at]))


def _inside(token: str, called: bool) -> Iterator[Reading]:
    """Of `namespace/name`, `host:port` and a pod's name the part that may be a service. Hyphens are not taken apart:
    `checkout-api-canary` is not `checkout-api`."""
    parts = _PARTS.split(token)
    for part in parts if len(parts) > 1 else ():
        yield Reading(name_key(part), plain=len(name_words(part)) == 1, called=called)
    for part in parts:
        first = part.partition(".")[0]
        if first != part:
            yield Reading(name_key(first), plain=len(name_words(first)) == 1)
        pod = _GENERATED[0].sub("", part)
        if pod != part:
            yield Reading(name_key(pod))
