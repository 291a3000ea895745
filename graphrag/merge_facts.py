"""What a merge makes of the facts of two entities, and what undoing it makes of them: decided here without I/O."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from graphrag.errors import Refused
from graphrag.identity import name_key
from graphrag.model import SYMMETRIC, Edge, EdgeType, History, Label, Life, Node, interval

_Fact = TypeVar("_Fact", Node, Edge)


@dataclass(frozen=True, slots=True)
class Conflict:
    """What the two say differently of which there can be one only: `about` is `owner` or `repository`."""

    about: str
    kept: str
    dropped: str


def merged(history: History, kept_id: str, dropped_id: str) -> History:
    """Every fact of the two as facts of the kept one. Facts that both have become one, intervals that overlap too."""
    kept, dropped = both(history, kept_id, dropped_id)
    nodes = [replace(node, id=kept_id) for node in history.nodes if node.life.valid_to is not None]
    edges = (moved(edge, kept_id, dropped_id) for edge in history.edges)
    return History(
        nodes=tuple(_coalesced([_one_node(kept, dropped), *nodes])),
        edges=tuple(_coalesced(edge for edge in edges if edge is not None)),
        vectors={key: vector for key, vector in history.vectors.items() if key == kept_id},
    )


def unmerged(history: History, before: History, kept_id: str, dropped_id: str) -> History:
    """The facts before a merge, with what has happened to them since: if nothing has, exactly those."""
    after = merged(before, kept_id, dropped_id)
    was = {interval(fact): fact for fact in (*after.nodes, *after.edges)}
    nodes, images = _restored(history.nodes, before.nodes, was, lambda node: replace(node, id=kept_id))
    edges, more = _restored(history.edges, before.edges, was, lambda edge: moved(edge, kept_id, dropped_id))
    images |= more
    new_nodes = [node for node in history.nodes if (node.id, node.life.valid_from) not in images]
    new_edges = [edge for edge in history.edges if (edge.id, edge.life.valid_from) not in images]
    names = {name_key(name) for node in nodes if node.id == dropped_id for name in (node.name, *node.aliases)}
    nodes = [_without_names(node, names) if node.id == kept_id else node for node in nodes]
    vectors = {**before.vectors, **{key: each for key, each in history.vectors.items() if key == kept_id}}
    return History((*nodes, *new_nodes), (*edges, *new_edges), vectors)


def _restored(
    now: Iterable[_Fact],
    before: Iterable[_Fact],
    was: Mapping[str, Node | Edge],
    image_of: Callable[[_Fact], _Fact | None],
) -> tuple[list[_Fact], set[tuple[str, datetime]]]:
    """Each fact as before, brought up to date by what became of its image; and the intervals that are images."""
    found = {(fact.id, fact.life.valid_from): fact for fact in now}
    images: set[tuple[str, datetime]] = set()
    restored: list[_Fact] = []
    for fact in before:
        image = image_of(fact)
        then = None if image is None else _covering(image, was.values())
        if then is None:
            restored.append(fact)
            continue
        key = (then.id, then.life.valid_from)
        images.add(key)
        restored.append(_progressed(fact, then, found.get(key)))
    return restored, images


def _covering(image: Node | Edge, facts: Iterable[Node | Edge]) -> Node | Edge | None:
    """The interval of the merged graph that an image went into."""
    for fact in facts:
        if fact.id == image.id and fact.life.valid_from <= image.life.valid_from:
            if fact.life.valid_to is None or fact.life.valid_to > image.life.valid_from:
                return fact
            if fact.life == image.life:
                return fact
    return None


def _progressed(fact: _Fact, then: Node | Edge, now: Node | Edge | None) -> _Fact:
    """`fact` with what happened to the fact it was part of, from right after the merge (`then`) until `now`."""
    if now is None or now == then or fact.life.valid_to is not None:
        return fact
    since = tuple(source for source in now.life.sources if source not in then.life.sources)
    life = replace(
        fact.life,
        last_seen=max(fact.life.last_seen, now.life.last_seen),
        confirmations=fact.life.confirmations + now.life.confirmations - then.life.confirmations,
        sources=(*fact.life.sources, *since),
        valid_to=now.life.valid_to,
    )
    changed = {key: value for key, value in now.properties.items() if value != then.properties.get(key)}
    properties = {**fact.properties, **changed} if fact.id == now.id else fact.properties
    if isinstance(fact, Edge):
        return replace(fact, life=life, properties=properties)
    assert isinstance(now, Node)
    assert isinstance(then, Node)
    if fact.id != now.id:
        return replace(fact, life=life)
    gained = tuple(alias for alias in now.aliases if alias not in then.aliases)
    return replace(
        fact,
        life=life,
        properties=properties,
        aliases=(*fact.aliases, *gained),
        summary=fact.summary if now.summary == then.summary else now.summary,
    )


def _without_names(node: Node, keys: Collection[str]) -> Node:
    aliases = tuple(alias for alias in node.aliases if name_key(alias) not in keys)
    return node if aliases == node.aliases else replace(node, aliases=aliases)


def both(history: History, kept_id: str, dropped_id: str) -> tuple[Node, Node]:
    current = {node.id: node for node in history.nodes if node.life.valid_to is None}
    kept, dropped = current.get(kept_id), current.get(dropped_id)
    if kept is None or dropped is None:
        missing = kept_id if kept is None else dropped_id
        raise Refused("unknown_entity", f"There is no entity {missing!r} now; name two that are there.")
    if kept.id == dropped.id:
        raise Refused("same_entity", f"Both names are of {kept.name} already.")
    if (kept.label, kept.scope) != (dropped.label, dropped.scope):
        raise Refused(
            "different_kinds",
            f"{kept.name} is a {kept.label} and {dropped.name} a {dropped.label}: they cannot be one.",
        )
    return kept, dropped


def _one_node(kept: Node, dropped: Node) -> Node:
    return replace(
        kept,
        life=_joined(kept.life, dropped.life),
        summary=kept.summary or dropped.summary,
        aliases=(*kept.aliases, *gained(kept, dropped)),
        properties={**dropped.properties, **kept.properties},
        identifiers=tuple(dict.fromkeys((*kept.identifiers, *dropped.identifiers))),
        chunks=tuple(dict.fromkeys((*kept.chunks, *dropped.chunks))),
    )


def gained(kept: Node, dropped: Node) -> tuple[str, ...]:
    known = {name_key(name) for name in (kept.name, *kept.aliases)}
    gained = {name_key(name): name for name in reversed((dropped.name, *dropped.aliases))}
    return tuple(name for key, name in reversed(gained.items()) if key not in known)


def moved(edge: Edge, kept_id: str, dropped_id: str) -> Edge | None:
    """The edge with the kept entity in the dropped one's place; None for an edge between the two."""
    source, target = (kept_id if end == dropped_id else end for end in (edge.source, edge.target))
    if source == target:
        return None
    if edge.type in SYMMETRIC and target < source:
        source, target = target, source
    return replace(edge, source=source, target=target)


def _coalesced(facts: Iterable[_Fact]) -> list[_Fact]:
    """One fact for those of one id whose intervals overlap; what the first of them says is kept."""
    by_id: dict[str, list[_Fact]] = {}
    for fact in facts:
        by_id.setdefault(fact.id, []).append(fact)
    joined: list[_Fact] = []
    for same in by_id.values():
        same.sort(key=lambda fact: fact.life.valid_from)
        run: list[_Fact] = []
        for fact in same:
            last = run[-1] if run else None
            if last is not None and (last.life.valid_to is None or last.life.valid_to > fact.life.valid_from):
                first, second = (fact, last) if fact.life.valid_to is None and last.life.valid_to else (last, fact)
                run[-1] = replace(first, life=_joined(first.life, second.life))
            else:
                run.append(fact)
        joined += run
    return joined


def _joined(one: Life, other: Life) -> Life:
    """One life for two. Confirmations are not added: one run may have confirmed both."""
    return Life(
        valid_from=min(one.valid_from, other.valid_from),
        first_seen=min(one.first_seen, other.first_seen),
        last_seen=max(one.last_seen, other.last_seen),
        valid_to=None if one.valid_to is None or other.valid_to is None else max(one.valid_to, other.valid_to),
        confirmations=max(one.confirmations, other.confirmations),
        sources=tuple(dict.fromkeys((*one.sources, *other.sources))),
        confidence=max(one.confidence, other.confidence),
    )


def conflicts(kept: Node, dropped: Node, history: History, teams: Mapping[str, str]) -> Iterable[Conflict]:
    owners = [
        {edge.target for edge in history.edges if _owns(edge, node.id)} if node.label is Label.SERVICE else set[str]()
        for node in (kept, dropped)
    ]
    if owners[0] and owners[1] and owners[0] != owners[1]:
        yield Conflict("owner", *(", ".join(sorted(teams.get(id, id) for id in each)) for each in owners))
    repositories = [str(node.properties.get("repo", "")) for node in (kept, dropped)]
    if repositories[0] and repositories[1] and repositories[0] != repositories[1]:
        yield Conflict("repository", *repositories)


def _owns(edge: Edge, service_id: str) -> bool:
    return edge.type is EdgeType.OWNED_BY and edge.source == service_id and edge.life.valid_to is None
