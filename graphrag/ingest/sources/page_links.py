"""Finds the page of a folder that a link means: `https://git.example/org/books/blob/main/docs/till.md#slow` means the
folder's `docs/till.md`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from urllib.parse import unquote, urlsplit

_EXTENSIONS = (".md", ".markdown", ".html", ".htm")
_INDEX = frozenset({"readme", "index"})
_MAX_LINK = 2_000
_MAX_DEPTH = 12

_Segments = tuple[str, ...]


class PageLinks:
    """The pages of a folder, to be looked up by link."""

    def __init__(self, pages: Collection[str]) -> None:
        self._pages = frozenset(pages)
        self._by_end: dict[_Segments, list[str]] = defaultdict(list)
        for page in sorted(pages):
            segments = _segments(page)
            for end in _ends(segments):
                self._by_end[end].append(page)
            if len(segments) == 1 and segments[0] not in _INDEX:
                self._by_end[segments].append(page)

    def page_of(self, link: str) -> str | None:
        """The page whose path ends as the link's does, with or without its extension. They have to share two names,
        or all of the page's path and its extension; where two pages fit equally well, none is taken."""
        path = _path(link)
        if path in self._pages and "://" not in link:
            return path
        wanted = _segments(path)
        for end in _ends(wanted):
            if end in self._by_end:
                return self._by_end[end][0] if len(self._by_end[end]) == 1 else None
        last = path.rpartition("/")[2].lower()
        alone = [page for page in self._by_end.get(wanted[-1:], ()) if page.lower() == last]
        return alone[0] if len(alone) == 1 else None


def _ends(segments: _Segments) -> list[_Segments]:
    """The last names of a path, longest first, down to two."""
    return [segments[start:] for start in range(max(len(segments) - _MAX_DEPTH, 0), len(segments) - 1)]


def _path(link: str) -> str:
    try:
        return unquote(urlsplit(link[:_MAX_LINK]).path).strip("/")
    except ValueError:
        return ""


def _segments(path: str) -> _Segments:
    """The path's names, lower-case, without the extension; a folder's index page goes by the folder's name."""
    segments = [segment.lower() for segment in path.split("/") if segment not in ("", ".")]
    if segments:
        segments[-1] = next(
            (segments[-1].removesuffix(end) for end in _EXTENSIONS if segments[-1].endswith(end)), segments[-1]
        )
    if len(segments) > 1 and segments[-1] in _INDEX:
        segments.pop()
    return tuple(segments)
