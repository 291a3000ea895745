"""Full text in SQLite, by FTS5: a search scores a bounded number of texts, however large the graph.

A word that stands in every tenth text tells little apart and costs most: each text that has it is scored. So a search
begins with the rarest of its words and takes as many as lead to a bounded number of texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from graphrag.model import Label, Node
from graphrag.sqlite_rows import as_json
from graphrag.stored import search_words, text_index_of

MOST_TEXTS = 4_000
"""So many texts a search of one kind scores; 2 microseconds each. A graph with fewer loses nothing."""
PAST = "past_node_text"
_WORDS_IN_MEMORY = 20_000
_WEIGHTS = "4.0, 4.0, 4.0, 1.0"
"""Of the columns name, words, aliases and summary: what a thing is called counts more than what is said of it."""


class Reader(sqlite3.Connection):
    """A connection that remembers in how many texts words stand, for as long as nobody changes the file."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._version = -1
        self._counts: dict[str, dict[str, int]] = {}

    def counts_of(self, index: str) -> dict[str, int]:
        """Texts by word, what is known so far; to be added to."""
        version = self.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._version, self._counts = version, {}
        counts = self._counts.setdefault(index, {})
        if len(counts) > _WORDS_IN_MEMORY:
            counts.clear()
        return counts


class Found(NamedTuple):
    score: float
    name: str
    id: str


def put(db: sqlite3.Connection, index: str, row: int, node: Node) -> None:
    db.execute(
        f"INSERT INTO {index} (rowid, name, words, aliases, summary) VALUES (?, ?, ?, ?, ?)",
        (row, node.name, search_words(node), " ".join(node.aliases), node.summary),
    )


def remove(db: sqlite3.Connection, index: str, row: int) -> None:
    db.execute(f"DELETE FROM {index} WHERE rowid = ?", (row,))


def search(
    db: Reader, words: Sequence[str], labels: Collection[Label], seen: str, values: dict[str, object]
) -> list[Found]:
    """What any of the words stands in, best first. `seen` is the condition for a node `n`, with its `values`."""
    indexes = {text_index_of(label) for label in labels}
    found = [each for index in sorted(indexes) for each in _search(db, index, "node", words, labels, seen, values)]
    return sorted(found, key=lambda each: (-each.score, each.name, each.id))


def search_past(
    db: Reader, words: Sequence[str], labels: Collection[Label], seen: str, values: dict[str, object]
) -> list[Found]:
    """As `search`, among closed intervals."""
    return _search(db, PAST, "past_node", words, labels, seen, values)


def _search(
    db: Reader,
    index: str,
    table: str,
    words: Sequence[str],
    labels: Collection[Label],
    seen: str,
    values: dict[str, object],
) -> list[Found]:
    """Names of tables and columns are this module's own."""
    kept = rarest(_texts_with(db, index, words), MOST_TEXTS)
    if not kept:
        return []
    # The limit holds for a search of common words alone, too.
    sql = f"""SELECT -bm25({index}, {_WEIGHTS}) AS score, n.name, n.id
        FROM {index} CROSS JOIN {table} AS n ON n.row = {index}.rowid
        WHERE {index} MATCH :terms AND n.label IN (SELECT value FROM json_each(:labels)) AND {seen} LIMIT :most"""
    asked = {**values, "terms": _any_of(kept), "labels": as_json(labels), "most": MOST_TEXTS}
    rows = db.execute(f"SELECT * FROM ({sql}) ORDER BY score DESC, name, id LIMIT :limit", asked)
    return [Found(*row) for row in rows]


def _texts_with(db: Reader, index: str, words: Sequence[str]) -> dict[str, int]:
    """How many texts each word stands in, counted up to one more than a search looks at."""
    known = db.counts_of(index)
    if unknown := [word for word in words if word not in known]:
        rows = db.execute(
            f"""SELECT value,
                (SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH '"' || value || '"' LIMIT ?))
            FROM json_each(?)""",
            (MOST_TEXTS + 1, as_json(unknown)),
        )
        known.update(map(tuple, rows))
    return {word: known[word] for word in words}


def rarest(texts_with: dict[str, int], most: int) -> list[str]:
    """The rarest of the words that stand in any text, in as many texts together as `most`; at least one word."""
    kept: list[str] = []
    together = 0
    for word, texts in sorted(texts_with.items(), key=lambda item: item[1]):
        together += texts
        if together > most and kept:
            break
        if texts:
            kept.append(word)
    return kept


def _any_of(words: Collection[str]) -> str:
    """FTS5 for any of the words, each quoted, so that nothing in them is syntax."""
    return " OR ".join(f'"{word}"' for word in words)
