"""Names the service of an alert that names none surely, where its pages point to one and the alert itself agrees.

Of which service the pages are that read most like the alert is right often, but not often enough to wake somebody by:
an alert about any service is explained on a page of whoever runs the platform. So it is one voice more for that
service, too quiet to decide alone. Something of another kind must join in: a label or a rule that counts too little by
itself, all words of a longer name, a page that the alert links or that goes by its name, the one team that it is for. A
word that may be the service's name is nothing of another kind, for it is what its pages were found by. What contradicts
leaves it undecided.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace

from graphrag.evidence import PARTS, PROSE, beliefs
from graphrag.identity import name_key, name_words
from graphrag.label_keys import NOTHING_TOLD, Kind, ToldKeys, Uses, claims, kind_of
from graphrag.label_uses import known_uses
from graphrag.links import names_of
from graphrag.model import Direction, Edge, EdgeType, Label, Node
from graphrag.ownership import decide
from graphrag.pages import FoundPage
from graphrag.query import Query, root
from graphrag.readings import TEXT, WORDS, origin_of, without_paths
from graphrag.resolve import Candidate, Thresholds, convincing
from graphrag.retrieve import Location
from graphrag.signals import AlertSignals, Signals
from graphrag.store import EdgesOf, Exploration, GraphStore, NodesOf
from graphrag.titles import own_name, title_of

BEST = 10
"""So many of the pages that read most like the alert are asked whose they are."""
_SHARE = 0.3
_LEAD = 1.5
_PAGES = 0.4
_OWN_PAGE = 0.35
_APART = 0.3
_TEAM = 0.3
"""Where the team owns nothing else; of several services it may be any, and a wrong guess is likely one of them."""
_OF_OTHERS = 0.4
"""What is left of a rival's weight when the alert is for the team of the one that the pages point to."""
_SHORTEST = 3
_MAX_EDGES = 500
_ABOUT = (EdgeType.HAS_RUNBOOK, EdgeType.DOCUMENTED_IN)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the graph knows around pages that were found. `about`: id of a page -> the services it is of; `owners`: id
    of a service -> the teams that own it; `owned`: id of a team -> how many services it owns, as far as they were
    counted."""

    services: Mapping[str, Node] = field(default_factory=dict[str, Node])
    about: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    owners: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    owned: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class Voice:
    """Something that speaks for the one service which the pages point to: a weight in [0, 1], and why."""

    part: str
    weight: float
    reason: str


async def settle(
    store: GraphStore,
    tenant: str,
    signals: Signals,
    query: Query,
    location: Location,
    pages: Sequence[FoundPage],
    told: ToldKeys = NOTHING_TOLD,
) -> Location:
    """The location, resolved where the pages found and the alert itself agree on one service; else as it was. Nothing
    is read of the graph for one that is decided already. Raises `GraphError`."""
    if not location.undecided or not signals.alerts or not pages:
        return location
    uses = told.over(await known_uses(store, tenant))
    if any(says_what_it_is_about(alert, uses) for alert in signals.alerts):
        return location
    best = most_alike(pages)
    rivals = [each.node.id for each in location.candidates if each.parts["exact"]]
    teams = [claim.team.id for claim in location.claims if claim.by == "label"]
    around = await store.explore(tenant, _surroundings([page.node.id for page in best], rivals, teams))
    return settled(signals, query, location, best, around)


def _surroundings(pages: Sequence[str], rivals: Sequence[str], teams: Sequence[str]) -> Exploration[Surroundings]:
    about: list[Edge]
    owned: list[Edge]
    about, owned = yield [
        EdgesOf(pages, _ABOUT, Direction.IN, _MAX_EDGES),
        EdgesOf(teams, (EdgeType.OWNED_BY,), Direction.IN, _MAX_EDGES),
    ]
    ids = sorted({edge.source for edge in about})
    nodes: dict[str, Node]
    owners: list[Edge]
    nodes, owners = yield [
        NodesOf(ids),
        EdgesOf([*ids, *rivals], (EdgeType.OWNED_BY,), Direction.OUT, _MAX_EDGES),
    ]
    services = {id: node for id, node in nodes.items() if node.label is Label.SERVICE}
    of_team = _by((edge.target, edge.source) for edge in owned)
    return Surroundings(
        services,
        _by((edge.target, edge.source) for edge in about if edge.source in services),
        _by((edge.source, edge.target) for edge in owners),
        {team: len(each) for team, each in of_team.items()},
    )


def _by(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for key, value in pairs:
        found[key].add(value)
    return found


# Judging (pure) -------------------------------------------------------------------------------------------------------


def says_what_it_is_about(alert: AlertSignals, uses: Uses) -> bool:
    """Whether a label says what the alert is about: a service by a name that nobody knows, or a pod, a host, a job, a
    place that its text speaks of. Such an alert may be about anything, and the pages that explain it do not tell what
    it is about now."""
    if any(_holds_a_thing(key, uses) for key in alert.templated):
        return True
    text = "\n".join(signal.value for signal in alert.names if signal.origin in TEXT)
    labels = [each for each in alert.names if each.origin not in WORDS and each.origin == origin_of(each)]
    return any(
        _holds_services(each.origin, uses)
        or (_holds_a_thing(each.origin, uses) and len(each.value) >= _SHORTEST and each.value in text)
        for each in labels
    )


def _holds_services(key: str, uses: Uses) -> bool:
    return claims(key, uses) and kind_of(key, uses) in (Kind.SERVICE, Kind.OTHER)


def _holds_a_thing(key: str, uses: Uses) -> bool:
    return claims(key, uses) or kind_of(key, uses) is Kind.PLACE


def most_alike(pages: Iterable[FoundPage]) -> list[FoundPage]:
    """The best by words and meaning alone: how near a page is to what was named already must not count twice."""
    return sorted(pages, key=lambda page: (-_likeness(page), page.node.id))[:BEST]


def _likeness(page: FoundPage) -> float:
    return page.parts["text"] + page.parts["semantic"]


def settled(
    signals: Signals, query: Query, location: Location, best: Sequence[FoundPage], around: Surroundings
) -> Location:
    """What `settle` decides. `best`: what `most_alike` gave."""
    id = favourite(best, around.about)
    teams = {claim.team.id for claim in location.claims if claim.by == "label" and around.owned.get(claim.team.id)}
    if id is None or _is_of_others(around.owners.get(id, ()), teams):
        return location
    voices = [
        Voice("pages", _PAGES, "most of the pages that read like it are of this service"),
        *_of_page(query, id, best, around),
        *_of_words(signals, around.services[id]),
        *_of_team(id, teams, around),
    ]
    named = {each.node.id: each for each in location.candidates}
    found = named.get(id) or Candidate(around.services[id], 0.0, {"exact": 0.0, "semantic": 0.0, "fused": 0.0})
    believed = beliefs({**_rivals(location, around, teams), id: _support(found, voices)})
    ranked = sorted(believed.values(), reverse=True)
    if believed[id] < ranked[0] or not convincing(ranked, Thresholds()):
        return location
    first = replace(
        found,
        score=round(believed[id], 4),
        parts={**found.parts, **{voice.part: round(voice.weight, 4) for voice in voices}},
        reasons=(*(voice.reason for voice in voices), *found.reasons),
    )
    others = [
        replace(each, score=round(believed.get(each.node.id, min(each.score, believed[id])), 4))
        for each in location.candidates
        if each.node.id != id
    ]
    return replace(
        location,
        certainty="resolved",
        candidates=(first, *sorted(others, key=lambda each: -each.score)),
        explanation=f"{first.node.name}: {'; '.join(first.reasons[:3])}",
        owner=decide({}, {}, location.claims),
        undecided=False,
    )


def favourite(best: Sequence[FoundPage], about: Mapping[str, Collection[str]]) -> str | None:
    """The service that most of what the pages score goes to, if it is enough and clearly more than the next one's.
    Pages of nobody count, as what nobody's pages explain may be anybody's."""
    of_service: dict[str, float] = defaultdict(float)
    for page in best:
        services = about.get(page.node.id, ())
        for id in services:
            of_service[id] += _likeness(page) / len(services)
    whole = sum(map(_likeness, best))
    ranked = sorted(of_service.items(), key=lambda item: (-item[1], item[0]))
    if not ranked or whole <= 0 or ranked[0][1] < _SHARE * whole:
        return None
    if len(ranked) > 1 and ranked[0][1] < _LEAD * ranked[1][1]:
        return None
    return ranked[0][0]


def _of_page(query: Query, service: str, best: Iterable[FoundPage], around: Surroundings) -> Iterator[Voice]:
    """Whoever wrote the alert linked the page, or whoever wrote the page called it by the alert."""
    linked = {name_key(name) for link in query.pointers for name in names_of(link)}
    called = {name_key(name) for name in query.alerts}
    for page in (each.node for each in best):
        if service not in around.about.get(page.id, ()):
            continue
        if not linked.isdisjoint(map(name_key, (page.name, *page.aliases))):
            yield Voice("page", _OWN_PAGE, f"the page that it links, {page.name}, is one of this service")
            return
        if not called.isdisjoint(map(name_key, (own_name(page), title_of(page)))):
            yield Voice("page", _OWN_PAGE, f"the page of the alert's name, {page.name}, is one of this service")
            return


def _of_words(signals: Signals, service: Node) -> Iterator[Voice]:
    """All words of a name of several, apart from each other."""
    name = {root(word) for word in name_words(service.name)}
    said = [each.value for each in signals.names if origin_of(each) in WORDS and each.origin != "aside"]
    if len(name) > 1 and name <= {root(word) for text in said for word in name_words(without_paths(text))}:
        yield Voice("words", _APART, "all words of its name stand in it")


def _of_team(id: str, teams: Set[str], around: Surroundings) -> Iterator[Voice]:
    services = sum(around.owned[team] for team in teams)
    if not teams.isdisjoint(around.owners.get(id, ())):
        yield Voice("team", _TEAM / services, "its owner is the team that the alert is for")


def _support(found: Candidate, voices: Iterable[Voice]) -> float:
    """What the voices and all that names it but words add up to, as `graphrag.evidence.support` adds up names."""
    named = (found.parts[part] for part in PARTS if part not in PROSE and part in found.parts)
    return 1 - math.prod(1 - weight for weight in (*named, *(voice.weight for voice in voices)))


def _rivals(location: Location, around: Surroundings, teams: Set[str]) -> dict[str, float]:
    """What speaks for each service that is named, by id: less for one of another team than the alert is for."""
    named = {each.node.id: each.parts["exact"] for each in location.candidates if each.parts["exact"]}
    return {
        id: weight * (_OF_OTHERS if _is_of_others(around.owners.get(id, ()), teams) else 1.0)
        for id, weight in named.items()
    }


def _is_of_others(owners: Collection[str], teams: Set[str]) -> bool:
    return bool(teams) and bool(owners) and teams.isdisjoint(owners)
