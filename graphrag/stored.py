"""How the model's types look once stored, as far as every database agrees: lives as flat columns, cursors as text."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from graphrag.identity import name_key, name_words
from graphrag.model import Edge, EdgeType, Label, Life, Node, PropertyValue

Row = Mapping[str, Any]

_WORD = re.compile(r"[^\W_]+")
_LONGEST_QUERY = 10_000  # characters
_MOST_WORDS = 100


def life_columns(life: Life) -> dict[str, str | int | float | list[str] | None]:
    """Times become ISO 8601 text in UTC, always as long, so that text order is time order."""
    return {
        "valid_from": _text(life.valid_from),
        "valid_to": None if life.valid_to is None else _text(life.valid_to),
        "first_seen": _text(life.first_seen),
        "last_seen": _text(life.last_seen),
        "confirmations": life.confirmations,
        "sources": list(life.sources),
        "confidence": life.confidence,
    }


def life_of(row: Row, sources: Collection[str]) -> Life:
    """The life of a current fact."""
    return Life(
        valid_from=datetime.fromisoformat(row["valid_from"]),
        first_seen=datetime.fromisoformat(row["first_seen"]),
        last_seen=datetime.fromisoformat(row["last_seen"]),
        confirmations=row["confirmations"],
        sources=tuple(sources),
        confidence=row["confidence"],
    )


def node_of(row: Row, properties: Mapping[str, object], aliases: Collection[str], sources: Collection[str]) -> Node:
    return Node(
        id=row["id"],
        tenant=row["tenant"],
        label=Label(row["label"]),
        name=row["name"],
        life=life_of(row, sources),
        summary=row["summary"],
        aliases=tuple(aliases),
        properties=properties_of(properties),
    )


def edge_of(row: Row, properties: Mapping[str, object], sources: Collection[str]) -> Edge:
    return Edge(
        tenant=row["tenant"],
        type=EdgeType(row["type"]),
        source=row["source"],
        target=row["target"],
        life=life_of(row, sources),
        summary=row["summary"],
        properties=properties_of(properties),
    )


def properties_of(stored: Mapping[str, object]) -> dict[str, PropertyValue]:
    """Databases give lists where the model has tuples."""
    return {
        key: tuple(cast("list[str]", value)) if isinstance(value, list) else cast("PropertyValue", value)
        for key, value in stored.items()
    }


def search_words(node: Node) -> str:
    """Further spellings of a node's names for full text: their words apart (`payments api`) and run together."""
    names = (node.name, *node.aliases)
    return " ".join(dict.fromkeys(word for name in names for word in (*name_words(name), name_key(name))))


def query_words(text: str) -> list[str]:
    """The distinct words of free text that a full-text search looks for: letters and digits only, bounded."""
    kept = text[:_LONGEST_QUERY]
    plain = (word.casefold() for word in _WORD.findall(kept))
    return list(dict.fromkeys([*plain, *name_words(kept)]))[:_MOST_WORDS]


@dataclass(frozen=True, slots=True)
class Place:
    """A place in a list ordered by falling confirmations, then name, then id."""

    confirmations: int
    name: str
    id: str


class Listing:
    """The cursors of one list: opaque, and bound to what was asked, so that one from elsewhere is refused."""

    def __init__(self, tenant: str, labels: Collection[Label], query: str) -> None:
        asked = json.dumps([tenant, sorted(set(labels)), query])
        self._asked = hashlib.blake2b(asked.encode(), digest_size=8).hexdigest()

    def cursor(self, node: Node) -> str:
        text = json.dumps([self._asked, node.life.confirmations, node.name, node.id])
        return base64.urlsafe_b64encode(text.encode()).decode()

    def place(self, cursor: str) -> Place:
        try:
            match json.loads(base64.b64decode(cursor.encode(), altchars=b"-_", validate=True)):
                case [self._asked, int(confirmations), str(name), str(id)]:
                    return Place(confirmations, name, id)
                case _:
                    pass
        except (binascii.Error, UnicodeError, ValueError, RecursionError):
            pass
        raise ValueError("This cursor belongs to another list. Ask again without a cursor.")


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
