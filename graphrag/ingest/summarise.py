"""One paragraph an entity, by template: what its embedding is made of and what full-text search looks through."""

from __future__ import annotations

from collections.abc import Sequence

from graphrag.identity import name_words

_MAX_DESCRIPTION = 600
_MAX_NAMES = 20
_MAX_SUMMARY = 1_600
_ENDS = (".", "!", "?", "…")


def service_summary(name: str, kind: str, description: str, owner: str, needs: Sequence[str]) -> str:
    return _paragraph(
        f"{_spelt_out(name)}: {kind or 'service'}",
        description[:_MAX_DESCRIPTION],
        f"Owned by {owner}" if owner else "",
        f"Depends on {_list(needs)}" if needs else "",
    )


def team_summary(name: str, description: str, owned: Sequence[str]) -> str:
    return _paragraph(
        f"{_spelt_out(name)}: team", description[:_MAX_DESCRIPTION], f"Owns {_list(owned)}" if owned else ""
    )


def document_summary(
    kind: str, title: str, path: str, services: Sequence[str], sentences: str, headings: Sequence[str]
) -> str:
    place = " ".join(name_words(path.rpartition(".")[0]))
    return _paragraph(
        title,
        f"{kind} {place}",
        f"About {_list(services)}" if services else "",
        sentences[:_MAX_DESCRIPTION],
        f"Sections: {'; '.join(headings)}" if headings else "",
    )


def release_summary(service: str, version: str, released_at: str, author: str, notes: str) -> str:
    when = f" of {released_at[:10]}" if released_at else ""
    by = f" by {author}" if author else ""
    return _paragraph(f"Release {version} of {service}{when}{by}", notes[:_MAX_DESCRIPTION])


def _spelt_out(name: str) -> str:
    words = " ".join(name_words(name))
    return name if words == name.casefold() or not words else f"{name} ({words})"


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMES])
    return f"{shown} and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else shown


def _paragraph(*parts: str) -> str:
    sentences = [
        text if text.endswith((".", "!", "?", "…")) else f"{text}." for part in parts if (text := part.strip())
    ]
    return " ".join(sentences)[:_MAX_SUMMARY]
