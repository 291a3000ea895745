"""From what people write to what the graph knows: names, kinds, times. What is none is refused in a sentence that says
what there is."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

from rapidfuzz import fuzz

from app.errors import AppError
from graphrag.errors import GraphError
from graphrag.identity import name_key
from graphrag.label_keys import NOTHING_TOLD, ToldKeys
from graphrag.model import NOW, Direction, EdgeType, Hit, Label, Node, View, node_id
from graphrag.retrieve import Embed, fuse
from graphrag.store import GraphStore
from graphrag.writing import storable

NEAREST = 5
_LOOKED_AT = 50
_ALIKE = 60.0
_LONGEST_QUOTE = 80
_LONGEST_SEARCH = 300
_SPACE_FOR_PLUS = re.compile(r"(T\S+) (\d\d:?\d\d)$")

Word = TypeVar("Word", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Graph:
    """One tenant's graph, how texts are embedded to be looked for in it, and which keys of labels the organisation says
    hold services and teams."""

    store: GraphStore
    embed: Embed
    tenant: str
    told: ToldKeys = NOTHING_TOLD


async def find_service(graph: Graph, text: str, view: View = NOW) -> Node:
    """The service of this name, alias or id. Raises `AppError` 404 with the nearest names."""
    return await find(graph, text, [Label.SERVICE], view)


async def find(graph: Graph, text: str, labels: Collection[Label] = (), view: View = NOW) -> Node:
    """The entity of this id, name or alias; no labels means any. Raises `AppError`: 404 with the nearest names, 409
    with the candidates when entities of several kinds share the name."""
    wanted = storable(text)
    key = name_key(wanted)
    by_id, by_name = await asyncio.gather(
        graph.store.nodes(graph.tenant, [wanted], view),
        graph.store.resolve(graph.tenant, [key] if key else [], labels, view),
    )
    known = by_id.get(wanted)
    found = [known] if known and known.label in (labels or Label) else by_name.get(key, [])
    if len(found) > 1:
        raise _ambiguous(wanted, found)
    if not found:
        raise await _unknown(graph, wanted, labels, view)
    return found[0]


async def nearest(graph: Graph, text: str, labels: Collection[Label], view: View = NOW) -> list[Node]:
    """The entities that `text` may mean, best first: names that read alike, then what full text and the embedding find
    together. Without the embedding full text alone decides."""
    wanted = text[:_LONGEST_SEARCH]
    by_text, by_vector = await asyncio.gather(
        graph.store.search_text(graph.tenant, wanted, _LOOKED_AT, labels, view),
        _by_vector(graph, wanted, labels, view),
    )
    scores = fuse([by_text, by_vector])
    nodes = {hit.node.id: hit.node for hit in (*by_text, *by_vector)}
    alike = {id: _reads_alike(wanted, node) for id, node in nodes.items()}
    ranked = sorted(nodes.values(), key=lambda node: (-alike[node.id], -scores[node.id], node.name))
    return ranked[:NEAREST]


async def _by_vector(graph: Graph, text: str, labels: Collection[Label], view: View) -> list[Hit]:
    try:
        (vector,) = await graph.embed([text])
        hits = await graph.store.search_vectors(graph.tenant, vector, _LOOKED_AT, labels, view)
    except GraphError:
        return []  # the answer is an error already: it is not to become another one
    return [hit for hit in hits if hit.score > 0]


def _reads_alike(text: str, node: Node) -> float:
    """From 0 to 100, and 0 for what does not: a slip of the hand is to be mended, not any name to be offered first."""
    names = (name_key(name) for name in (node.name, *node.aliases))
    return max(fuzz.ratio(name_key(text), name, score_cutoff=_ALIKE) for name in names)


def _ambiguous(text: str, found: Sequence[Node]) -> AppError:
    each = "; ".join(f"the {node.label} {node.name} ({node.id})" for node in found)
    candidates = [{"name": node.name, "label": node.label.value, "id": node.id} for node in found]
    return AppError(
        409,
        "ambiguous_name",
        f"{quoted(text)} is a name of {len(found)} things: {each}. Ask by the id of the one that is meant.",
        {"candidates": candidates},
    )


async def _unknown(graph: Graph, text: str, labels: Collection[Label], view: View) -> AppError:
    near, when = await asyncio.gather(nearest(graph, text, labels, view), _when_it_was(graph, text, labels, view))
    names = [node.name for node in near]
    kind = labels[0].lower() if isinstance(labels, list) and len(labels) == 1 else "entity"
    code = "unknown_service" if kind == "service" else "unknown_entity"
    then = "then" if view.as_of else "now"
    hint = f" The nearest names are {', '.join(names)}." if names else ""
    message = f"There is no {kind} {quoted(text)} {then}{when}.{hint}"
    return AppError(404, code, message, {"nearest": names})


async def _when_it_was(graph: Graph, text: str, labels: Collection[Label], view: View) -> str:
    """A name that leads nowhere may have led somewhere at another time."""
    lives = [node.life for node in await ever(graph, text, labels or list(Label))]
    moment = view.as_of or datetime.now(UTC)
    ended = max((life.valid_to for life in lives if life.valid_to and life.valid_to <= moment), default=None)
    if ended:
        return f", but there was until {ended:%Y-%m-%dT%H:%M:%SZ}: ask as of an earlier time"
    begun = min((life.valid_from for life in lives if life.valid_from > moment), default=None)
    return f", but there is since {begun:%Y-%m-%dT%H:%M:%SZ}: ask as of a later time" if begun else ""


async def ever(graph: Graph, text: str, labels: Collection[Label]) -> tuple[Node, ...]:
    """Every interval, closed ones too, of the entities that were first known by this name, have it now, or have this
    id."""
    key = name_key(storable(text))
    found = await graph.store.resolve(graph.tenant, [key] if key else [], labels)
    holders = {node.id for nodes in found.values() for node in nodes}
    ids = {storable(text), *holders, *(node_id(graph.tenant, label, key) for label in labels)}
    history = await graph.store.history(graph.tenant, ids)
    return tuple(node for node in history.nodes if node.id in ids and node.scope in NOW.scopes and node.label in labels)


def quoted(text: str) -> str:
    """Text of a caller in a sentence: short, and with nothing in it that turns or breaks a line."""
    return repr(text if len(text) <= _LONGEST_QUOTE else f"{text[:_LONGEST_QUOTE]}…")


def view_of(as_of: str | None) -> View:
    """The view of a moment in ISO 8601 with a zone; None or nothing is now. Raises `AppError` 422."""
    if not as_of:
        return NOW
    # In a query string a plus sign that is not percent-encoded arrives as a space.
    text = _SPACE_FOR_PLUS.sub(r"\1+\2", as_of.strip())
    try:
        moment = datetime.fromisoformat(text)
        zoned = moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        raise _invalid(
            f"as_of: {quoted(as_of)} is no time in ISO 8601; write it as 2026-03-01T12:00:00Z or "
            "2026-03-01T13:00:00+01:00 (the plus as %2B in a URL)."
        ) from None
    if zoned is None:
        raise _invalid(f"as_of: {quoted(as_of)} has no time zone; add Z for UTC or an offset such as +01:00.")
    return View(as_of=zoned)


def edge_types(texts: Iterable[str]) -> list[EdgeType]:
    """Types by their names, in any case, also several in one text with commas. Raises `AppError` 422."""
    return [_one_of(EdgeType, "type", word) for word in _words(texts)]


def labels_of(texts: Iterable[str]) -> list[Label]:
    """Labels, read as `edge_types` reads types."""
    return [_one_of(Label, "label", word) for word in _words(texts)]


def direction_of(text: str) -> Direction:
    return _one_of(Direction, "direction", text)


def _words(texts: Iterable[str]) -> list[str]:
    return [word for text in texts for word in re.split(r"[,\s]+", text) if word]


def _one_of(words: type[Word], what: str, text: str) -> Word:
    for word in words:
        if word.lower() == text.strip().lower():
            return word
    raise _invalid(f"{what}: there is no {quoted(text)}; there are {', '.join(words)}.")


def _invalid(message: str) -> AppError:
    return AppError(422, "invalid", message)
