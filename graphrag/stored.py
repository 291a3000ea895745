"""How the model's types look once stored, as far as every database agrees: lives as flat columns, cursors as text."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, total_ordering
from typing import Any, cast

from graphrag.identity import name_key, name_words
from graphrag.model import (
    SYMMETRIC,
    Direction,
    Edge,
    EdgeType,
    Label,
    Life,
    Neighbour,
    NeighbourPage,
    Node,
    Page,
    PropertyValue,
    Step,
    View,
)
from graphrag.store import StepsFrom

Row = Mapping[str, Any]

TEXT_INDEXES: Mapping[str, tuple[Label, ...]] = {
    "service_text": (Label.SERVICE,),
    "page_text": (Label.RUNBOOK, Label.DOC, Label.INCIDENT),
    "passage_text": (Label.CHUNK,),
    "other_text": tuple(
        label for label in Label if label not in (Label.SERVICE, Label.RUNBOOK, Label.DOC, Label.INCIDENT, Label.CHUNK)
    ),
}
"""The full-text indexes of current nodes, each with the kinds it holds. One for each kind of search keeps what services
are called from drowning in what pages say: a word is rare or common, and found or not, within its kind."""
_TEXT_INDEX_OF = {label: index for index, labels in TEXT_INDEXES.items() for label in labels}

_WORD = re.compile(r"[^\W_]+")
_LONGEST_QUERY = 10_000  # characters
_MOST_WORDS = 100


def life_columns(life: Life) -> dict[str, str | int | float | list[str] | None]:
    """Times become ISO 8601 text in UTC, always as long, so that text order is time order."""
    return {
        "valid_from": time_text(life.valid_from),
        "valid_to": None if life.valid_to is None else time_text(life.valid_to),
        "first_seen": time_text(life.first_seen),
        "last_seen": time_text(life.last_seen),
        "confirmations": life.confirmations,
        "sources": list(life.sources),
        "confidence": life.confidence,
    }


def life_of(row: Row, sources: Collection[str]) -> Life:
    ended = row["valid_to"]
    return Life(
        valid_from=_moment(row["valid_from"]),
        valid_to=None if ended is None else _moment(ended),
        first_seen=_moment(row["first_seen"]),
        last_seen=_moment(row["last_seen"]),
        confirmations=row["confirmations"],
        sources=tuple(sources),
        confidence=row["confidence"],
    )


def node_of(row: Row, properties: Mapping[str, object]) -> Node:
    """`row` has the lists as lists."""
    return Node(
        id=row["id"],
        tenant=row["tenant"],
        label=Label(row["label"]),
        name=row["name"],
        life=life_of(row, row["sources"]),
        summary=row["summary"],
        aliases=tuple(row["aliases"]),
        properties=properties_of(properties),
        scope=row["scope"],
        identifiers=tuple(row["identifiers"]),
        chunks=tuple(row["chunks"]),
    )


def edge_of(row: Row, properties: Mapping[str, object]) -> Edge:
    """`row` has the lists as lists."""
    return Edge(
        tenant=row["tenant"],
        type=EdgeType(row["type"]),
        source=row["source"],
        target=row["target"],
        life=life_of(row, row["sources"]),
        summary=row["summary"],
        properties=properties_of(properties),
        verb=row["verb"],
        scope=row["scope"],
        chunks=tuple(row["chunks"]),
    )


def properties_of(stored: Mapping[str, object]) -> dict[str, PropertyValue]:
    """Databases give lists where the model has tuples."""
    return {
        key: tuple(cast("list[str]", value)) if isinstance(value, list) else cast("PropertyValue", value)
        for key, value in stored.items()
    }


def search_words(node: Node) -> str:
    """Further spellings of a node's names for full text."""
    return words_of_names((node.name, *node.aliases))


def words_of_names(names: Iterable[str]) -> str:
    """The words of names apart (`payments api`) and run together."""
    return " ".join(dict.fromkeys(word for name in names for word in (*name_words(name), name_key(name))))


def text_index_of(label: Label) -> str:
    """The full-text index that holds nodes of this kind."""
    return _TEXT_INDEX_OF[label]


def query_words(text: str) -> list[str]:
    """The distinct words of free text that a full-text search looks for: letters and digits only, bounded."""
    kept = text[:_LONGEST_QUERY]
    plain = (word.casefold() for word in _WORD.findall(kept))
    return list(dict.fromkeys([*plain, *name_words(kept)]))[:_MOST_WORDS]


@dataclass(frozen=True, slots=True)
@total_ordering
class Place:
    """A place in a list ordered by falling confirmations, then name, then id (of the edge, in a list of edges)."""

    confirmations: int
    name: str
    id: str

    def __lt__(self, other: Place) -> bool:
        return (-self.confirmations, self.name, self.id) < (-other.confirmations, other.name, other.id)


def place_of(listed: Node | Neighbour) -> Place:
    if isinstance(listed, Node):
        return Place(listed.life.confirmations, listed.name, listed.id)
    return Place(listed.edge.life.confirmations, listed.node.name, listed.edge.id)


class Listing:
    """The cursors of one list: opaque, and bound to what was asked, so that one from elsewhere is refused. They name
    a place, not a count, so they survive what is inserted between two pages."""

    def __init__(self, *asked: object) -> None:
        self._asked = hashlib.blake2b(json.dumps(asked, default=str).encode(), digest_size=8).hexdigest()

    def cursor(self, place: Place) -> str:
        text = json.dumps([self._asked, place.confirmations, place.name, place.id])
        return base64.urlsafe_b64encode(text.encode()).decode()

    def place(self, cursor: str | None) -> Place | None:
        """Where to go on; None for the beginning."""
        if not cursor:
            return None
        try:
            match json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)):
                case [self._asked, int(confirmations), str(name), str(id)]:
                    return Place(confirmations, name, id)
                case _:
                    pass
        except (binascii.Error, UnicodeError, ValueError, RecursionError):
            pass
        raise ValueError("This cursor belongs to another list. Ask again without a cursor.")


def node_listing(tenant: str, labels: Collection[Label], query: str, view: View) -> Listing:
    return Listing("nodes", tenant, sorted(set(labels)), query, _asked(view))


def neighbour_listing(tenant: str, id: str, types: Collection[EdgeType], direction: Direction, view: View) -> Listing:
    return Listing("neighbours", tenant, id, sorted(set(types)), direction, _asked(view))


def node_page(listing: Listing, nodes: Sequence[Node], limit: int) -> Page:
    """`nodes`: one more than the page holds, where there are more."""
    kept = tuple(nodes[:limit])
    last = kept[-1] if kept and len(nodes) > limit else None
    return Page(kept, last and listing.cursor(place_of(last)))


def neighbour_page(listing: Listing, found: Sequence[Neighbour], limit: int) -> NeighbourPage:
    """`found`: one more than the page holds, where there are more."""
    kept = tuple(found[:limit])
    last = kept[-1] if kept and len(found) > limit else None
    return NeighbourPage(kept, last and listing.cursor(place_of(last)))


def moment_of(view: View) -> str | None:
    """The moment of a view as text that compares with stored times."""
    return None if view.as_of is None else time_text(view.as_of)


def leaving(types: Collection[EdgeType], direction: Direction) -> list[str]:
    """The types that are followed from source to target."""
    return sorted(type.value for type in set(types) if direction is not Direction.IN or type in SYMMETRIC)


def reaching(types: Collection[EdgeType], direction: Direction) -> list[str]:
    """The types that are followed from target to source."""
    return sorted(type.value for type in set(types) if direction is not Direction.OUT or type in SYMMETRIC)


def steps_over(edges: Iterable[Edge], nodes: Mapping[str, Node], ask: StepsFrom) -> list[Step]:
    """The steps that edges touching the frontier allow, to those of their ends that are among `nodes`."""
    rank = {id: at for at, id in reversed(list(enumerate(ask.frontier)))}
    forward, backward = set(leaving(ask.types, ask.direction)), set(reaching(ask.types, ask.direction))
    first: dict[str, int] = {}
    for edge in edges:
        for here, there, walked in ((edge.source, edge.target, forward), (edge.target, edge.source, backward)):
            if edge.type in walked and here in rank and there in nodes:
                first[there] = min(rank[here], first.get(there, rank[here]))
    return [Step(ask.frontier[at], there, nodes[there].label, nodes[there].name) for there, at in first.items()]


def _asked(view: View) -> list[object]:
    return [moment_of(view), sorted(view.scopes)]


@lru_cache(maxsize=4_096)
def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


@lru_cache(maxsize=4_096)
def time_text(moment: datetime) -> str:
    if moment.tzinfo is None:
        raise ValueError("A moment needs a time zone, for instance 2026-03-01T12:00:00Z.")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
