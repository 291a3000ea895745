"""The names that are known when a text is read, and where a text speaks of them."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from graphrag.identity import name_key
from graphrag.ingest.sources.page_links import PageLinks
from graphrag.model import Label, Ref

MAX_ATOMS = 12
"""Words that a name may be made of to be found in a text."""
_ATOM = re.compile(r"[^\W_]+[+#]*|[&@]")
_JOIN = re.compile(r"[ \t\n]{1,3}|[-_.:/\\]|")
_TIGHT = ("-", "_")
_START = 4
_MARK = re.compile(r"[-_.&@+#/\d]|(?<=[a-z])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])")
_SPLIT = re.compile(r"[\s\-_.:/\\]+")
_PAGES = frozenset({Label.RUNBOOK, Label.DOC})


@dataclass(frozen=True, slots=True)
class Match:
    """Where a text has a known name: `text[start:end]`. `refs` are what the name can mean, one for each label.

    `ordinary` says that it is written like any word (`checkout`, `Web`, `error tracking`), so that only what stands
    around it can tell whether the thing is meant.
    """

    start: int
    end: int
    refs: tuple[Ref, ...]
    ordinary: bool


@dataclass(frozen=True, slots=True)
class _Entry:
    refs: tuple[Ref, ...]
    compound: bool
    spellings: frozenset[str]


class Vocabulary:
    """Known names with their other spellings.

    `named`: (label, the entity's own name, its aliases). Where two entities of one label share a spelling, the one
    whose own name it is comes first, else the first in the alphabet: the same whatever the order given.
    """

    def __init__(self, named: Iterable[tuple[Label, str, Iterable[str]]] = ()) -> None:
        told = sorted({(label, name, tuple(sorted(set(aliases)))) for label, name, aliases in named})
        lines = ("\x1f".join((label, name, *aliases)) for label, name, aliases in told)
        self.digest = hashlib.blake2b("\x1e".join(lines).encode("utf-8", "replace"), digest_size=16).hexdigest()
        """The same for the same names, whatever their order."""
        self._entries = _entries(told)
        self._keys = sorted(self._entries)
        self._starts = frozenset(key[:length] for key in self._keys for length in range(1, _START + 1))
        self._pages = {name: Ref(label, name) for label, name, _ in told if label in _PAGES}
        self._links = PageLinks(self._pages)
        self.labels = frozenset(label for label, _, _ in told)

    def named(self, name: str) -> tuple[Ref, ...]:
        """What a name can mean, one for each label."""
        entry = self._entries.get(name_key(name))
        return entry.refs if entry else ()

    def page_of(self, link: str) -> Ref | None:
        """The page that a link or a path means; None when it is none of ours."""
        page = self._links.page_of(link)
        return self._pages[page] if page is not None else None

    def find(self, text: str) -> list[Match]:
        """The known names in a text, from left to right, the longest where several begin at one place.

        A name is found whole: `payments-api` is not in `payments-api-v2`. One pass: each word costs one look-up
        unless a name begins like it.
        """
        atoms = [match.span() for match in _ATOM.finditer(text)]
        starts, folded = self._starts, text.lower() if text.isascii() else ""
        matches: list[Match] = []
        past = 0
        for at, (start, end) in enumerate(atoms):
            begins = folded[start : min(end, start + _START)] if folded else name_key(text[start:end])[:_START]
            if at >= past and begins in starts and (found := self._longest(text, atoms, at)):
                match, past = found
                matches.append(match)
        return matches

    def _longest(self, text: str, atoms: list[tuple[int, int]], first: int) -> tuple[Match, int] | None:
        start = atoms[first][0]
        if _begun_before(text, start):
            return None
        longest: tuple[int, _Entry] | None = None
        for last, key in self._keys_from(text, atoms, first):
            entry = self._entries.get(key)
            if entry is not None and not _goes_on(text, atoms[last][1]):
                longest = (last, entry)
        if longest is None:
            return None
        last, entry = longest
        end = atoms[last][1]
        return Match(start, end, entry.refs, _ordinary(text[start:end], entry)), last + 1

    def _keys_from(self, text: str, atoms: list[tuple[int, int]], first: int) -> Iterator[tuple[int, str]]:
        """The keys of one word, two words and so on, for as long as some name begins so."""
        key, before = "", atoms[first][0]
        for at in range(first, min(first + MAX_ATOMS, len(atoms))):
            start, end = atoms[at]
            if not _JOIN.fullmatch(text, before, start):
                return
            atom = text[start:end]
            folded = atom.lower() if atom.isascii() else name_key(atom)
            key += f"-{folded}" if start > before and key[-1:].isdigit() and folded[:1].isdigit() else folded
            if not self._begins(key):
                return
            yield at, key
            before = end

    def _begins(self, key: str) -> bool:
        place = bisect_left(self._keys, key)
        return place < len(self._keys) and self._keys[place].startswith(key)


def _entries(told: list[tuple[Label, str, tuple[str, ...]]]) -> dict[str, _Entry]:
    refs: dict[str, dict[Label, Ref]] = {}
    spellings: dict[str, set[str]] = {}
    own = [(label, name, name) for label, name, _ in told]
    others = [(label, name, alias) for label, name, aliases in told for alias in aliases]
    for label, name, spelling in (*own, *others):
        key = name_key(spelling)
        if key:
            refs.setdefault(key, {}).setdefault(label, Ref(label, name))
            spellings.setdefault(key, set()).add(spelling.strip())
    return {
        key: _Entry(
            refs=tuple(refs[key][label] for label in sorted(refs[key])),
            compound=any(_SPLIT.search(each) or _MARK.search(each) for each in spellings[key]),
            spellings=frozenset(spellings[key]),
        )
        for key in refs
    }


def _begun_before(text: str, start: int) -> bool:
    before = text[max(start - 2, 0) : start]
    return before[-1:] in _TIGHT if before[-1:] != "." else before[:1].isalnum()


def _goes_on(text: str, end: int) -> bool:
    """Whether the word goes on over a joint: what begins like a name is another one then."""
    following = text[end : end + 2]
    if following[:1] in _TIGHT:
        return following[1:].isalnum()
    return following[:1] == "." and following[1:].isalnum()


def _ordinary(spelt: str, entry: _Entry) -> bool:
    if _MARK.search(spelt):
        return not entry.compound
    words = spelt.split()
    if len(words) > 1:
        return not all(word[0].isupper() for word in words)
    return not (spelt in entry.spellings and len(spelt) > 1 and spelt.isupper() and spelt.isalpha())
