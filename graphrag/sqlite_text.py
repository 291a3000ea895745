"""Full text in SQLite, by FTS5: a search scores a bounded number of texts, however large the graph.

A word that stands in every tenth text tells little apart and costs most: each text that has it is scored. So a search
begins with the rarest of its words and takes as many as lead to a bounded number of texts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
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


class WordCounts:
    """In how many texts words stand, remembered for all connections to a file while none sees that it has changed."""

    def __init__(self) -> None:
        self._of_index: dict[str, dict[str, int]] = {}

    def forget(self) -> None:
        self._of_index = {}

    def of(self, index: str) -> dict[str, int]:
        """Texts by word, what is known so far; to be added to."""
        counts = self._of_index.setdefault(index, {})
        if len(counts) > _WORDS_IN_MEMORY:
            counts.clear()
        return counts


class Reader(sqlite3.Connection):
    """A connection that shares what it learns of words with others to the same file."""

    def __init__(self, counts: WordCounts, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._counts = counts
        self._version = -1

    def counts_of(self, index: str) -> dict[str, int]:
        """Within the caller's transaction: see `WordCounts.of`."""
        version = self.execute("PRAGMA data_version").fetchone()[0]
        if version != self._version:
            self._version = version
            self._counts.forget()
        return self._counts.of(index)


class Found(NamedTuple):
    score: float
    name: str
    id: str


class Wanted(NamedTuple):
    """Nodes of these labels, for which the condition on a node `n` holds with its `values`."""

    labels: Collection[Label]
    condition: str
    values: Mapping[str, object]


def put(db: sqlite3.Connection, index: str, row: int, node: Node) -> None:
    db.execute(
        f"INSERT INTO {index} (rowid, name, words, aliases, summary) VALUES (?, ?, ?, ?, ?)",
        (row, node.name, search_words(node), " ".join(node.aliases), node.summary),
    )


def remove(db: sqlite3.Connection, index: str, row: int) -> None:
    db.execute(f"DELETE FROM {index} WHERE rowid = ?", (row,))


def search(db: Reader, words: Sequence[str], wanted: Wanted, limit: int) -> list[Found]:
    """At most `limit` of the nodes that any of the words stands in, best first."""
    indexes = sorted({text_index_of(label) for label in wanted.labels})
    return _best_first(each for index in indexes for each in _search(db, index, "node", words, wanted, limit))[:limit]


def search_past(db: Reader, words: Sequence[str], wanted: Wanted, limit: int) -> list[Found]:
    """As `search`, among closed intervals."""
    return _search(db, PAST, "past_node", words, wanted, limit)


def _search(db: Reader, index: str, table: str, words: Sequence[str], wanted: Wanted, limit: int) -> list[Found]:
    """Names of tables and columns are this module's own."""
    texts_with = _texts_with(db, index, words)
    kept = rarest(texts_with, MOST_TEXTS)
    if not kept or limit <= 0:
        return []
    crowded = sum(texts_with[word] for word in kept) > MOST_TEXTS
    return (_first if crowded else _best)(db, index, table, _any_of(kept), wanted, limit)


def _best(db: Reader, index: str, table: str, terms: str, wanted: Wanted, limit: int) -> list[Found]:
    """Whether a node is wanted costs as much as its score: this is asked of the best alone, and of more if need be."""
    scored = db.cursor()
    scored.row_factory = None
    scored.execute(
        f"SELECT rowid, {_score(index)} AS score FROM {index} WHERE {index} MATCH ? ORDER BY score DESC", (terms,)
    )
    sql = f"""SELECT n.row, n.name, n.id FROM json_each(:rows) AS r CROSS JOIN {table} AS n ON n.row = r.value
        WHERE n.label IN (SELECT value FROM json_each(:labels)) AND {wanted.condition}"""
    values = {**wanted.values, "labels": as_json(wanted.labels)}
    equals = groupby(scored, key=itemgetter(1))
    found: list[Found] = []
    while len(found) < limit and (scores := _next(equals, limit)):
        rows = db.execute(sql, {**values, "rows": as_json(scores)})
        found += _best_first(Found(scores[row], name, id) for row, name, id in rows)
    return found[:limit]


def _first(db: Reader, index: str, table: str, terms: str, wanted: Wanted, limit: int) -> list[Found]:
    """For a word that stands in too many texts: the best among the first of these."""
    rows = db.execute(
        f"""SELECT {_score(index)} AS score, n.name, n.id
        FROM {index} CROSS JOIN {table} AS n ON n.row = {index}.rowid
        WHERE {index} MATCH :terms AND n.label IN (SELECT value FROM json_each(:labels)) AND {wanted.condition}
        LIMIT :most""",
        {**wanted.values, "terms": terms, "labels": as_json(wanted.labels), "most": MOST_TEXTS},
    )
    return _best_first(Found(*row) for row in rows)[:limit]


def _next(equals: Iterator[tuple[float, Iterator[tuple[int, float]]]], count: int) -> dict[int, float]:
    """Scores by row, of so many more and of all that score as the last of them does."""
    rows: dict[int, float] = {}
    for _, group in equals:
        rows.update(group)
        if len(rows) >= count:
            break
    return rows


def _score(index: str) -> str:
    return f"-bm25({index}, {_WEIGHTS})"


def _best_first(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda each: (-each.score, each.name, each.id))


def _texts_with(db: Reader, index: str, words: Sequence[str]) -> dict[str, int]:
    """How many texts each word stands in, counted up to one more than a search looks at."""
    known = db.counts_of(index)
    counts = {word: count for word in words if (count := known.get(word))}
    if unknown := [word for word in words if word not in counts]:
        rows = db.execute(
            f"""SELECT value,
                (SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH '"' || value || '"' LIMIT ?))
            FROM json_each(?)""",
            (MOST_TEXTS + 1, as_json(unknown)),
        )
        # A word that stands nowhere yet is looked up anew: what a connection saw a moment ago must not hide it.
        found = {word: count for word, count in rows if count}
        known.update(found)
        counts.update(found)
    return counts


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
