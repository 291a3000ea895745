"""Cuts a page into passages: short enough to be read as one, each under the headings it stands below."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from graphrag.ingest.page import FENCE, HEADING, plain
from graphrag.ingest.sources.found import Found
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, PropertyValue, Ref

if TYPE_CHECKING:
    from llama_index.core.node_parser import SentenceSplitter

PASSAGE_WORDS = 180
"""Words in a passage at most, about 250 of a model's tokens: what one section of a runbook usually has."""
OVERLAP_WORDS = 20
MAX_PASSAGES = 400
"""Passages of one page at most. What is longer is a log or a dump, and its beginning is enough to find it by."""
_MAX_HEADINGS = 6
_LONGEST_WORD = 12
_BLANK_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a page. `headings` lead from the page's title down to the nearest one above it; `text` has
    Markdown's marks still in it, code blocks too. `ordinal` counts from 0."""

    ordinal: int
    headings: tuple[str, ...]
    text: str

    @property
    def digest(self) -> str:
        """The same for the same words below the same headings."""
        return hashlib.blake2b("\x1f".join((*self.headings, self.text)).encode(), digest_size=16).hexdigest()


def passages_of(body: str) -> list[Passage]:
    """The passages of a page's Markdown (`Page.body`) in order, at most `MAX_PASSAGES`."""
    passages: list[Passage] = []
    for headings, section in _sections(body):
        for part in _cut(section):
            if len(passages) == MAX_PASSAGES:
                return passages
            passages.append(Passage(len(passages), headings, part))
    return passages


def chunk_name(page: str, ordinal: int) -> str:
    """What a passage of the page of this name is called in the graph."""
    return f"{page}#{ordinal}"


def chunk_facts(page: Ref, title: str, passages: Sequence[Passage]) -> Found:
    """The passages as chunks of their page. Searches see a chunk by its summary: the headings above it and its text."""
    found = Found()
    for passage in passages:
        above = " > ".join(dict.fromkeys((title, *passage.headings)))
        properties: dict[str, PropertyValue] = {
            "source": page.name,
            "ordinal": passage.ordinal,
            "text": passage.text,
            "hash": passage.digest,
        }
        name = chunk_name(page.name, passage.ordinal)
        summary = f"{above}: {plain(passage.text)}"
        found.nodes.append(NodeFact(Label.CHUNK, name, summary, properties=properties))
        found.edges.append(EdgeFact(EdgeType.MENTIONS, Ref(Label.CHUNK, name), page))
    return found


def _sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Each stretch of text between two headings, with the headings above it. A `#` in a code block is no heading."""
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        mark = FENCE.match(line)
        heading = None if fence or mark else HEADING.match(line)
        if fence:
            fence = "" if mark and mark.group(1).startswith(fence) else fence
        elif mark:
            fence = mark.group(1)
        if heading is None:
            lines.append(line)
            continue
        yield _headings(above), "\n".join(lines)
        level, lines = len(heading.group(1)), []
        above = [each for each in above if each[0] < level] + [(level, plain(heading.group(2).rstrip("# \t")))]
    yield _headings(above), "\n".join(lines)


def _headings(above: list[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(text for _, text in above if text)[:_MAX_HEADINGS]


def _cut(section: str) -> list[str]:
    section = _BLANK_LINES.sub("\n\n", section).strip()
    if not any(character.isalnum() for character in section):
        return []
    if len(_words(section)) <= PASSAGE_WORDS:
        return [section]
    return [part for part in _splitter().split_text(section) if part.strip()]


def _words(text: str) -> list[str]:
    """The splitter's measure. A run of characters without a space (Chinese, a key, a table) counts as several words."""
    return [word[at : at + _LONGEST_WORD] for word in text.split() for at in range(0, len(word), _LONGEST_WORD)]


@cache
def _splitter() -> SentenceSplitter:
    from llama_index.core.node_parser import SentenceSplitter  # takes a second to import

    return SentenceSplitter(chunk_size=PASSAGE_WORDS, chunk_overlap=OVERLAP_WORDS, tokenizer=_words)
