"""What a page is called and what that tells: where it lies, its title, whether it says that it is for trouble. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from graphrag.model import Label, Node
from graphrag.query import Query, telling

_FOR_TROUBLE = re.compile(r"troubleshoot|\balerts?\b", re.IGNORECASE)
_FOR_USE = re.compile(r"runbook|playbook", re.IGNORECASE)
_INDEX = frozenset({"readme", "index"})
_NO_SUBJECT = frozenset({"doc", "docs", "documentation"}) | _INDEX
_MAX_FOLDERS = 12
_SHORTEST_BEGINNING = 4
_MOSTLY = 0.6


def place_of(page: Node) -> str:
    """Its path, or what else it goes by."""
    return str(page.properties.get("path") or page.name)


def title_of(page: Node) -> str:
    return str(page.properties.get("title") or "")


def own_name(page: Node) -> str:
    """The page's file name without its ending; a folder's index page goes by the folder's name."""
    *folders, file = place_of(page).split("/")
    stem = file.rpartition(".")[0] or file
    return folders[-1] if folders and stem.casefold() in _INDEX else stem


def folders_of(path: str) -> list[str]:
    """The folders above, outermost first, each with its whole path and a slash at its end."""
    parts = path.split("/")[:-1][:_MAX_FOLDERS]
    return ["/".join((*parts[: end + 1], "")) for end in range(len(parts))]


def expected_help(page: Node) -> float:
    """How often a page of this kind may help, before it was ever offered: one that says it is for trouble was written
    for such a moment."""
    said = f"{title_of(page)} {own_name(page)}"
    if _FOR_TROUBLE.search(said):
        return 0.9
    if _FOR_USE.search(said):
        return 0.6
    return 0.4 if page.label is Label.RUNBOOK else 0.3


def said(page: Node, query: Query) -> float:
    """How much of what the page is called the query's name says, in [0, 1]: the mean of its title and its file name,
    or its folders where those two tell nothing. That a page is for trouble, or an index, is no subject.

    Every word counts alike. How rare each is would count the subject that many of the pages share least of all, and
    the page called by nothing else is the one that whoever looks for the subject opens first.
    """
    names = [words for name in (title_of(page), own_name(page)) if (words := subject((name,)))]
    shares = [_said_of(words, query) for words in names or [subject(place_of(page).split("/")[:-1])]]
    return sum(shares) / len(shares)


def _said_of(words: Collection[str], query: Query) -> float:
    likeness = (max((alike(word, other) for other in query.name), default=0.0) for word in words)
    return sum(likeness) / len(words) if words else 0.0


def subject(names: Iterable[str]) -> Collection[str]:
    """The words of these names that say what something is about."""
    return [
        word
        for word in telling(names)
        if word not in _NO_SUBJECT and not _FOR_TROUBLE.search(word) and not _FOR_USE.search(word)
    ]


def alike(word: str, other: str) -> float:
    """1 for the same word; for a common beginning its share of the longer word, if it is one of the words or most of
    both (`kube` and `kubernetes`); else 0."""
    if word == other:
        return 1.0
    if word[:_SHORTEST_BEGINNING] != other[:_SHORTEST_BEGINNING]:
        return 0.0
    shorter, longer = sorted((len(word), len(other)))
    common = next((at for at in range(shorter) if word[at] != other[at]), shorter)
    share = common / longer
    return share if common >= _SHORTEST_BEGINNING and (common == shorter or share >= _MOSTLY) else 0.0
