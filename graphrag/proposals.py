"""What may be one thing under two names: similarity proposes, a person decides.

A proposal is a pending SAME_AS, kept beside the graph. It changes no fact and joins nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from graphrag.identity import name_words
from graphrag.model import History, Label, Record, Rewrite, utc_now
from graphrag.store import GraphStore

ALIKE = 0.85
"""The likeness from which two names are proposed: twice what they share in order, by the lengths of both."""
MOST = 1_000
SAME_AS = "same_as"
"""The kind of record that holds a proposal."""
LABELS = (Label.SERVICE, Label.TEAM)

_ALL_WITH_ALL = 10_000
_COMMON = 500
_PREFIX = 4
_CHUNK = 256
_WAITING = 1_000_000
_BETWEEN = re.compile(r"[\s\-_.:/\\]+")

_Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Alike:
    """Two nodes, by id, that may be one, and the two names that say so, the first of them in order being the left
    one's. `likeness` is in [0, 1]."""

    left: str
    right: str
    names: tuple[str, str]
    likeness: float
    reason: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """A pair that waits for a person since `since`."""

    id: str
    alike: Alike
    since: datetime


class UnknownProposal(LookupError):
    """No proposal of this id is pending."""


def propose(names: Mapping[str, Sequence[str]], most: int = MOST, *, all_with_all: int = _ALL_WITH_ALL) -> list[Alike]:
    """The pairs among nodes of one label, given by id with all their names, that may be one: those with names that
    read at least `ALIKE` alike, and those where the words of one name are a run of the words of another. Most alike
    first, then by names, at most `most`.

    Missed: a name that more than 500 others contain, which is a general word; and, of more than `all_with_all` names,
    those that share neither a word nor their first four letters with each other, or only such as more than 500 names
    share.
    """
    spellings = sorted({_Spelling(name, id) for id, each in names.items() for name in each if name.strip()})
    forms = [_form(spelling.name) for spelling in spellings]
    words = [name_words(spelling.name) for spelling in spellings]
    blocks = [np.arange(len(forms))] if len(forms) <= all_with_all else _blocks(forms, words)
    number = {id: place for place, id in enumerate(names)}
    owners = np.array([number[spelling.id] for spelling in spellings], np.int64)
    best = _Best(owners, most)
    best.add(_contained(forms, words))
    for block in blocks:
        best.add(_reading_alike(forms, block))
    return [_alike(spellings[a], spellings[b], likeness) for a, b, likeness in best.pairs()]


async def refresh_proposals(store: GraphStore, tenant: str, now: datetime) -> int:
    """Bring the pending proposals up to what the graph's services and teams are called now. What a person rejected
    stays rejected and is not proposed again; a pair that is no longer there, or no longer alike, is forgotten. `now` is
    aware. Returns how many are pending."""
    known = {record.id: record.body for record in await store.records(tenant, SAME_AS)}
    rejected = {id for id, body in known.items() if body["status"] == "rejected"}
    found: dict[str, Alike] = {}
    for label in LABELS:
        names = {node.id: (node.name, *node.aliases) for node in await store.all_nodes(tenant, [label])}
        pairs = await asyncio.to_thread(propose, names, MOST + len(rejected))
        fresh = [(id, each) for each in pairs if (id := proposal_id(each.left, each.right)) not in rejected]
        found |= dict(fresh[:MOST])
    bodies = {id: _body(each, known.get(id, {}).get("since", now.isoformat())) for id, each in found.items()}
    # What stays as it is is not written, so that it cannot undo what a person decides meanwhile.
    changed = tuple(Record(SAME_AS, id, body) for id, body in bodies.items() if known.get(id) != body)
    gone = tuple((SAME_AS, id) for id in known if id not in bodies and id not in rejected)
    await _keep(store, tenant, changed, gone)
    return len(found)


async def proposals(store: GraphStore, tenant: str) -> list[Proposal]:
    """The pending ones, most alike first, then by names."""
    records = await store.records(tenant, SAME_AS)
    pending = [_read(record) for record in records if record.body["status"] == "pending"]
    return sorted(pending, key=lambda each: (-each.alike.likeness, each.alike.names, each.id))


async def reject(store: GraphStore, tenant: str, id: str, by: str, reason: str, now: datetime | None = None) -> None:
    """Keep that `by` says the two are different things, and why. Raises `UnknownProposal` when none of this id is
    pending, ValueError without a name and a reason."""
    if not by.strip() or not reason.strip():
        raise ValueError("To reject a proposal, say who rejects it and why.")
    bodies = {record.id: record.body for record in await store.records(tenant, SAME_AS)}
    if bodies.get(id, {}).get("status") != "pending":
        raise UnknownProposal(f"No proposal {id!r} is pending. List the proposals for those that are.")
    decided = {"status": "rejected", "by": by, "because": reason, "at": (now or utc_now()).isoformat()}
    await _keep(store, tenant, (Record(SAME_AS, id, {**bodies[id], **decided}),), ())


def proposal_id(one: str, other: str) -> str:
    """One id for one pair of node ids, whichever comes first."""
    return f"same-as-{hashlib.blake2b(chr(31).join(sorted((one, other))).encode(), digest_size=10).hexdigest()}"


async def _keep(
    store: GraphStore, tenant: str, records: tuple[Record, ...], forget: tuple[tuple[str, str], ...]
) -> None:
    if records or forget:
        await store.rewrite(tenant, [], lambda _: Rewrite(facts=History(), records=records, forget=forget))


def _body(alike: Alike, since: str) -> dict[str, Any]:
    return {
        "status": "pending",
        "left": alike.left,
        "right": alike.right,
        "names": list(alike.names),
        "likeness": alike.likeness,
        "reason": alike.reason,
        "since": since,
    }


def _read(record: Record) -> Proposal:
    body = record.body
    left, right = body["names"]
    alike = Alike(body["left"], body["right"], (left, right), body["likeness"], body["reason"])
    return Proposal(record.id, alike, datetime.fromisoformat(body["since"]))


class _Spelling(NamedTuple):
    name: str
    id: str


class _Hits(NamedTuple):
    """Pairs of spellings by number, the lower first, with the likeness of each in hundredths."""

    one: _Numbers
    other: _Numbers
    likeness: NDArray[np.float32]

    def at(self, places: NDArray[np.int64] | NDArray[np.bool_]) -> _Hits:
        return _Hits(self.one[places], self.other[places], self.likeness[places])


class _Best:
    """The best of all pairs so far, one for two nodes. However many come in, few are held."""

    def __init__(self, owners: _Numbers, most: int) -> None:
        self._owners = owners
        self._most = most
        self._best = _hits([], [], [])
        self._waiting: list[_Hits] = []
        self._count = 0

    def add(self, hits: Iterable[_Hits]) -> None:
        for each in hits:
            promising = self._promising(each)
            if len(promising.one):
                self._waiting.append(promising)
                self._count += len(promising.one)
            if self._count > _WAITING:
                self._cut()

    def pairs(self) -> list[tuple[int, int, float]]:
        self._cut()
        one, other, likeness = self._best
        return list(zip(one.tolist(), other.tolist(), likeness.tolist(), strict=True))

    def _promising(self, hits: _Hits) -> _Hits:
        keep = self._owners[hits.one] != self._owners[hits.other]
        if len(self._best.one) >= self._most > 0:
            worst, last = self._best.likeness[-1], self._best.one[-1]
            keep &= (hits.likeness > worst) | ((hits.likeness == worst) & (hits.one <= last))
        return hits.at(keep)

    def _cut(self) -> None:
        parts = [self._best, *self._waiting]
        hits = _Hits(
            np.concatenate([part.one for part in parts]),
            np.concatenate([part.other for part in parts]),
            np.concatenate([part.likeness for part in parts]),
        )
        hits = hits.at(np.lexsort((hits.other, hits.one, -hits.likeness)))
        ends = self._owners[hits.one], self._owners[hits.other]
        pair = np.minimum(*ends) * len(self._owners) + np.maximum(*ends)
        first = np.unique(pair, return_index=True)[1]
        self._best = hits.at(np.sort(first)[: self._most])
        self._waiting, self._count = [], 0


def _hits(one: Sequence[int], other: Sequence[int], likeness: Sequence[float]) -> _Hits:
    return _Hits(np.array(one, np.int64), np.array(other, np.int64), np.array(likeness, np.float32))


def _form(name: str) -> str:
    """The name as it is read aloud: without regard to case, and with any separator as a space."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return _BETWEEN.sub(" ", folded).strip() or folded


def _blocks(forms: Sequence[str], words: Sequence[tuple[str, ...]]) -> Iterator[_Numbers]:
    """Names that share a word or how they begin, unless too many share it to say anything."""
    sharing: defaultdict[tuple[str, bool], list[int]] = defaultdict(list)
    for place, (form, own) in enumerate(zip(forms, words, strict=True)):
        for key in {(form[:_PREFIX], True), *((word, False) for word in own)}:
            sharing[key].append(place)
    return (np.array(places, np.int64) for places in sharing.values() if 1 < len(places) <= _COMMON)


def _reading_alike(forms: Sequence[str], block: _Numbers) -> Iterator[_Hits]:
    """The pairs within a block, its numbers rising."""
    texts = [forms[place] for place in block.tolist()]
    for start in range(0, len(texts), _CHUNK):
        rows, rest = texts[start : start + _CHUNK], texts[start:]
        found = process.cdist(rows, rest, scorer=fuzz.ratio, score_cutoff=100 * ALIKE, dtype=np.float32)
        row, column = np.nonzero(np.triu(found, 1))
        yield _Hits(block[start + row], block[start + column], found[row, column])


def _contained(forms: Sequence[str], words: Sequence[tuple[str, ...]]) -> Iterator[_Hits]:
    whole: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, own in enumerate(words):
        if own:
            whole[own].append(place)
    lengths = sorted({len(own) for own in whole})
    around: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, own in enumerate(words):
        runs = {own[at : at + length] for length in lengths for at in range(len(own) - length + 1) if length < len(own)}
        for run in runs & whole.keys():
            around[run].append(place)
    for run, outer in around.items():
        if len(outer) <= _COMMON:
            pairs = [(min(a, b), max(a, b)) for a in whole[run] for b in outer]
            one, other = zip(*pairs, strict=True)
            yield _hits(one, other, [fuzz.ratio(forms[a], forms[b]) for a, b in pairs])


def _alike(left: _Spelling, right: _Spelling, hundredths: float) -> Alike:
    likeness = round(hundredths / 100, 4)
    if likeness >= ALIKE:
        reason = f'"{left.name}" and "{right.name}" read {likeness:.2f} alike.'
    else:
        inner, outer = sorted((left.name, right.name), key=lambda name: len(name_words(name)))
        reason = f'"{inner}" is a part of the name "{outer}".'
    return Alike(left.id, right.id, (left.name, right.name), likeness, reason)
