"""Finds the pages that help with an alert or a question: runbooks, documents, past incidents.

Passages and whole pages are searched by full text and by vectors; passages count for their page. What was matched
spreads through the graph to what it hangs together with, and the pages of the services in question come in too. The
lists are fused by reciprocal rank, and the best are ranked by graph boost (`graphrag.rank`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from graphrag.activation import Link, spread
from graphrag.bm25 import relevance
from graphrag.embed import Embed, EmbeddingUnavailable
from graphrag.identity import name_key
from graphrag.links import names_of, page_of
from graphrag.model import Direction, Edge, EdgeType, Hit, Label, Node
from graphrag.query import Query
from graphrag.rank import Terms, Weights, breakdown, confirmed, fuse, prior, recency, scaled
from graphrag.store import EdgesOf, Exploration, GraphStore, NodesOf
from graphrag.titles import expected_help, folders_of, own_name, place_of, said

PAGES = (Label.RUNBOOK, Label.DOC, Label.INCIDENT)
MAX_PASSAGES = 100
MAX_HITS = 50
MAX_ANCHORS = 10
MAX_CANDIDATES = 60
_MAX_EDGES = 500
_SPREADING = 40
"""So many of the matched pages spread their activation: further down there is mostly chance."""
_FURTHER_PASSAGES = (1.0, 0.3, 0.1)
"""What a page's best passages add to it, best first: a page that is about it says so more than once."""
_SPOKEN_OF = 0.5
_MAX_LINKED = 50
_TO_SERVICE = 0.5
_TO_LINKED = 0.5
_ABOUT = (EdgeType.HAS_RUNBOOK, EdgeType.DOCUMENTED_IN)


class Anchor(NamedTuple):
    """A service that it may be about, and how sure that is, in [0, 1]."""

    node: Node
    certainty: float


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page with its score and what each term adds to it. `passage` is the text that matched best, empty where only
    the graph led here."""

    node: Node
    score: float
    parts: Mapping[str, float]
    terms: Terms
    passage: str = ""


async def find_pages(
    store: GraphStore,
    embed: Embed,
    tenant: str,
    query: Query,
    anchors: Sequence[Anchor] = (),
    weights: Weights | None = None,
    *,
    now: datetime,
) -> tuple[FoundPage, ...]:
    """The pages that help, best first, at most `MAX_CANDIDATES`. Three round trips, whatever the size of the graph.
    Raises `GraphError` when the graph does not answer."""
    anchors = anchors[:MAX_ANCHORS]
    if not query.words and not anchors:
        return ()
    matches, rules = await asyncio.gather(
        _search(store, embed, tenant, query),
        _resolved(store, tenant, query.alerts, (Label.ALERT,)),
    )
    fired = [rule.id for each in rules.values() for rule in each]
    named = (*matches.sources, *(name for link in (*query.pointers, *query.links) for name in names_of(link)))
    by_key, (mentions, of_anchors, of_rules) = await asyncio.gather(
        _resolved(store, tenant, named, PAGES),
        store.explore(tenant, _first_hop([hit.node.id for hit in matches.passages], anchors, fired)),
    )
    matched = _Matched.of(matches, by_key)
    linked = pointed_at(query, by_key, of_rules)
    spreading = sorted(matched.text, key=lambda id: (-matched.text[id], id))[:_SPREADING]
    further = {_page_end(edge) for edge in of_anchors} | {edge.target for edge in mentions} | linked.keys()
    about, more = await store.explore(tenant, _second_hop(spreading, further - matched.nodes.keys()))
    pages = matched.nodes | {id: node for id, node in more.items() if node.label in PAGES}
    near = proximity(anchors, of_anchors, pages)
    woken = activation(
        {id: matched.text[id] for id in spreading}, pages, [*about, *of_anchors], _linked(mentions, matched)
    )
    active = without_others(woken, anchors, about)
    ranked = fuse([*matched.lists, _best_first(near), _best_first(active), _best_first(linked)])
    ordered = sorted((id for id in ranked if id in pages), key=lambda id: (-linked.get(id, 0.0), -ranked[id], id))
    chosen = ordered[:MAX_CANDIDATES]
    told = scaled(relevance(query, {id: matched.texts.get(id, pages[id].summary) for id in chosen}))
    found: list[FoundPage] = []
    for id in chosen:
        page = pages[id]
        terms = Terms(
            semantic=matched.semantic.get(id, 0.0),
            text=max((matched.text.get(id, 0.0) + told[id] + said(page, query)) / 3, linked.get(id, 0.0)),
            graph=max((near.get(id, 0.0) + active.get(id, 0.0)) / 2, linked.get(id, 0.0)),
            recent=recency(page.life.last_seen, now),
            usage=prior(page.properties, expected_help(page)),
            confirm=confirmed(page.life.confirmations),
        )
        parts = breakdown(terms, weights or Weights())
        found.append(FoundPage(page, sum(parts.values()), parts, terms, matched.passages.get(id, "")))
    return tuple(sorted(found, key=lambda each: (-each.score, each.node.name, each.node.id)))


# What is read -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Matches:
    """What the searches brought up: lists of passages and lists of pages, each best first."""

    text_passages: tuple[list[Hit], ...] = ()
    text_pages: tuple[list[Hit], ...] = ()
    vector_passages: tuple[list[Hit], ...] = ()
    vector_pages: tuple[list[Hit], ...] = ()

    @property
    def passages(self) -> Iterator[Hit]:
        for hits in (*self.text_passages, *self.vector_passages):
            yield from hits

    @property
    def sources(self) -> Iterator[str]:
        """The names of the pages that the passages are of."""
        return (str(hit.node.properties.get("source", "")) for hit in self.passages)


async def _search(store: GraphStore, embed: Embed, tenant: str, query: Query) -> _Matches:
    """Each list is bounded. Without words nothing is searched; without an embedding only full text is."""
    if not query.words:
        return _Matches()
    name, all_words = " ".join(query.spellings), " ".join(query.words)
    by_name, by_all, pages, (vector_passages, vector_pages) = await asyncio.gather(
        store.search_text(tenant, name, MAX_PASSAGES, [Label.CHUNK]),
        store.search_text(tenant, all_words, MAX_PASSAGES, [Label.CHUNK]),
        store.search_text(tenant, name, MAX_HITS, PAGES),
        _search_vectors(store, embed, tenant, all_words),
    )
    return _Matches((by_name, by_all), (pages,), vector_passages, vector_pages)


async def _search_vectors(
    store: GraphStore, embed: Embed, tenant: str, text: str
) -> tuple[tuple[list[Hit], ...], tuple[list[Hit], ...]]:
    try:
        vector = (await embed([text]))[0]
    except EmbeddingUnavailable:
        return (), ()
    if not any(vector):
        return (), ()
    passages, pages = await asyncio.gather(
        store.search_vectors(tenant, vector, MAX_PASSAGES, [Label.CHUNK]),
        store.search_vectors(tenant, vector, MAX_HITS, PAGES),
    )
    return (passages,), (pages,)


async def _resolved(
    store: GraphStore, tenant: str, names: Iterable[str], labels: Sequence[Label]
) -> dict[str, list[Node]]:
    keys = {name_key(name) for name in names}
    return await store.resolve(tenant, keys, labels) if keys else {}


def _first_hop(
    passages: Sequence[str], anchors: Sequence[Anchor], rules: Sequence[str]
) -> Exploration[tuple[list[Edge], list[Edge], list[Edge]]]:
    """What the passages mention, the pages of the anchors, and those that the rules name."""
    ids = [anchor.node.id for anchor in anchors]
    mentions: list[Edge]
    owned: list[Edge]
    hit: list[Edge]
    named: list[Edge]
    mentions, owned, hit, named = yield [
        EdgesOf(list(dict.fromkeys(passages)), (EdgeType.MENTIONS,), Direction.OUT, 2 * _MAX_EDGES),
        EdgesOf(ids, _ABOUT, Direction.OUT, _MAX_EDGES),
        EdgesOf(ids, (EdgeType.AFFECTED,), Direction.IN, _MAX_EDGES),
        EdgesOf(rules, (EdgeType.HAS_RUNBOOK,), Direction.OUT, _MAX_LINKED),
    ]
    return mentions, [*owned, *hit], named


def _second_hop(pages: Sequence[str], further: Iterable[str]) -> Exploration[tuple[list[Edge], dict[str, Node]]]:
    """Which services the matched pages are about, and the pages that only the graph led to."""
    about: list[Edge]
    hit: list[Edge]
    nodes: dict[str, Node]
    about, hit, nodes = yield [
        EdgesOf(pages, _ABOUT, Direction.IN, _MAX_EDGES),
        EdgesOf(pages, (EdgeType.AFFECTED,), Direction.OUT, _MAX_EDGES),
        NodesOf(sorted(further)),
    ]
    return [*about, *hit], nodes


def _page_end(edge: Edge) -> str:
    return edge.source if edge.type is EdgeType.AFFECTED else edge.target


# What it says (pure) ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Matched:
    """The pages that were matched. `text` and `semantic` are in [0, 1], the best page having 1; `texts` hold what of a
    page was matched, its summary with it; `lists` are ids, best first; `page_of` says of a passage whose it is."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    page_of: dict[str, str] = field(default_factory=dict[str, str])
    text: dict[str, float] = field(default_factory=dict[str, float])
    semantic: dict[str, float] = field(default_factory=dict[str, float])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    passages: dict[str, str] = field(default_factory=dict[str, str])
    lists: tuple[list[str], ...] = ()

    @classmethod
    def of(cls, matches: _Matches, by_key: Mapping[str, Sequence[Node]]) -> _Matched:
        nodes = {hit.node.id: hit.node for hits in (*matches.text_pages, *matches.vector_pages) for hit in hits}
        page_of = {id: id for id in nodes}
        texts: dict[str, dict[str, str]] = defaultdict(dict)
        for hit in matches.passages:
            page = next(iter(by_key.get(name_key(str(hit.node.properties.get("source", ""))), ())), None)
            if page is not None:
                nodes[page.id] = page
                page_of[hit.node.id] = page.id
                texts[page.id][hit.node.id] = hit.node.summary
        by_text = [rolled_up(hits, page_of) for hits in (*matches.text_passages, *matches.text_pages)]
        by_vector = [rolled_up(hits, page_of) for hits in (*matches.vector_passages, *matches.vector_pages)]
        return cls(
            nodes=nodes,
            page_of=page_of,
            text=scaled(_summed(by_text)),
            semantic=scaled(_summed(by_vector)),
            texts={id: " ".join((node.summary, *texts[id].values())) for id, node in nodes.items()},
            passages=_best_passages(matches, page_of),
            lists=tuple(_best_first(scores) for scores in (*by_text, *by_vector)),
        )


def rolled_up(hits: Sequence[Hit], page_of: Mapping[str, str]) -> dict[str, float]:
    """The score of each page in one list: of its best hits, as shares of the list's best one."""
    scores = scaled({hit.node.id: hit.score for hit in hits})
    of_page: dict[str, list[float]] = defaultdict(list)
    for id, score in scores.items():
        if id in page_of:
            of_page[page_of[id]].append(score)
    return {
        page: sum(a * b for a, b in zip(sorted(each, reverse=True), _FURTHER_PASSAGES, strict=False))
        for page, each in of_page.items()
    }


def _summed(lists: Iterable[Mapping[str, float]]) -> dict[str, float]:
    total: dict[str, float] = defaultdict(float)
    for scores in lists:
        for id, score in scores.items():
            total[id] += score
    return total


def _best_first(scores: Mapping[str, float]) -> list[str]:
    return sorted((id for id, score in scores.items() if score > 0), key=lambda id: (-scores[id], id))


def _best_passages(matches: _Matches, page_of: Mapping[str, str]) -> dict[str, str]:
    """The text of each page's first passage in the first list that has one."""
    found: dict[str, str] = {}
    for hit in matches.passages:
        if hit.node.id in page_of:
            found.setdefault(page_of[hit.node.id], str(hit.node.properties.get("text", "")))
    return found


# What it hangs together with (pure) -------------------------------------------------------------------------------


def pointed_at(query: Query, by_key: Mapping[str, Sequence[Node]], of_rules: Sequence[Edge]) -> dict[str, float]:
    """The pages that the alert itself names, by id: 1 where it carries the link to be followed or its rule does, less
    where rules of that name have several pages, a half where its text speaks of the page. Whoever wrote the alert knew
    what to read."""
    pages = {edge.target for edge in of_rules}
    found = {page: 1 / len(pages) for page in pages}
    for share, links in ((1.0, query.pointers), (_SPOKEN_OF, query.links)):
        for link in links:
            if page := page_of(link, by_key):
                found[page.id] = max(share, found.get(page.id, 0.0))
    return found


def proximity(anchors: Sequence[Anchor], edges: Sequence[Edge], pages: Mapping[str, Node]) -> dict[str, float]:
    """Inverse hops from the anchors, times how sure each is: a page of a service is one hop from it, and the page that
    goes by the service's own name stands where the service does."""
    by_id = {anchor.node.id: anchor for anchor in anchors}
    near: dict[str, float] = {}
    for edge in edges:
        page = pages.get(_page_end(edge))
        anchor = by_id.get(edge.other_end(_page_end(edge)))
        if page is None or anchor is None:
            continue
        keys = {name_key(name) for name in (anchor.node.name, *anchor.node.aliases)}
        hops = 0 if name_key(own_name(page)) in keys else 1
        near[page.id] = max(near.get(page.id, 0.0), min(1.0, max(0.0, anchor.certainty)) / (1 + hops))
    return near


def activation(
    start: Mapping[str, float], pages: Mapping[str, Node], about: Sequence[Edge], linked: Sequence[Link]
) -> dict[str, float]:
    """What of the matched pages' activation reaches each page, in [0, 1]: over the services that pages are about, over
    what they mention, and over the folders they lie in, as an organisation puts together what belongs together."""
    links = [Link(edge.source, edge.target, _TO_SERVICE) for edge in about]
    reached = spread(start, [*links, *linked, *_folder_links(start, pages)])
    return scaled({id: reached[id] for id in pages if id in reached})


def without_others(active: Mapping[str, float], anchors: Sequence[Anchor], about: Sequence[Edge]) -> dict[str, float]:
    """The activation without that of pages about other services only, the more the surer one of the anchors is."""
    doubt = 1 - max((min(1.0, max(0.0, anchor.certainty)) for anchor in anchors), default=0.0)
    in_question = {anchor.node.id for anchor in anchors}
    services: dict[str, set[str]] = defaultdict(set)
    for edge in about:
        services[_page_end(edge)].add(edge.other_end(_page_end(edge)))
    return {
        id: value * doubt if services.get(id) and in_question.isdisjoint(services[id]) else value
        for id, value in active.items()
    }


def _folder_links(start: Mapping[str, float], pages: Mapping[str, Node]) -> Iterator[Link]:
    """Of a page to each folder above it. A folder that holds all that was matched tells nothing; the way to a folder
    and back down counts by the share of the matched pages outside of it."""
    above = {id: folders_of(place_of(page)) for id, page in pages.items()}
    held: dict[str, int] = defaultdict(int)
    for id in start:
        for folder in above.get(id, ()):
            held[folder] += 1
    for id, folders in above.items():
        for folder in folders:
            if held[folder]:
                yield Link(id, folder, (1 - held[folder] / len(start)) ** 0.5)


def _linked(mentions: Sequence[Edge], matched: _Matched) -> list[Link]:
    """From a matched page to the others that its passages mention, the weaker the more they are."""
    targets: dict[str, set[str]] = defaultdict(set)
    for edge in mentions:
        page = matched.page_of.get(edge.source)
        if page and edge.target != page:
            targets[page].add(edge.target)
    return [
        Link(page, target, _TO_LINKED / len(each) ** 0.5) for page, each in targets.items() for target in sorted(each)
    ]
