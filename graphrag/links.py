"""The pages that links mean, by the names they may have in the graph. Pure: nothing is fetched."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import unquote, urlsplit

from graphrag.identity import name_key
from graphrag.model import Node

MAX_LINKS = 8
_MAX_DEPTH = 6
_MAX_LINK = 1_000
_LINK = re.compile(r"""[^\s<>()\[\]{}"'`,;|]{0,500}/[^\s<>()\[\]{}"'`,;|]{1,1000}""")
_PAGE = re.compile(r"\.(?:md|markdown|html?)$", re.IGNORECASE)
_INDEXES = ("README.md", "index.md")


def links_in(texts: Iterable[str]) -> tuple[str, ...]:
    """What stands there with a slash in it, addresses and paths, at most `MAX_LINKS`."""
    found = dict.fromkeys(link.rstrip(".:!?")[:_MAX_LINK] for text in texts for link in _LINK.findall(text))
    return tuple(found)[:MAX_LINKS]


def names_of(link: str) -> tuple[str, ...]:
    """The names that the page of this link may have, the likeliest first: the link itself, then its path and the ends
    of its path from the longest to the shortest, each with the endings that a site or a folder leaves out. Less than
    two names of a path tell no page, but for a file's own."""
    return tuple(dict.fromkeys((link, *_ends(link))))


def _ends(link: str) -> Iterator[str]:
    try:
        path = unquote(urlsplit(link).path)
    except ValueError:
        return
    segments = [segment for segment in path.split("/") if segment not in ("", ".", "..")]
    shortest = 1 if segments and _PAGE.search(segments[-1]) else 2
    for length in range(min(len(segments), _MAX_DEPTH), shortest - 1, -1):
        end = "/".join(segments[-length:])
        yield end
        yield f"{_PAGE.sub('', end)}.md"
        if not _PAGE.search(end):
            yield from (f"{end}/{index}" for index in _INDEXES)


def page_of(link: str, by_key: Mapping[str, Sequence[Node]]) -> Node | None:
    """The page that the link means, of those known by `name_key`; none where a name has several."""
    for name in names_of(link):
        if pages := by_key.get(name_key(name)):
            return pages[0] if len(pages) == 1 else None
    return None
