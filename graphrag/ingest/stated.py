"""What a folder's structured files state: its catalogue, manifests, rules, owners, dashboards and tags, as facts.

No model and no guess: what each format means is written down by its makers. The order matters, because later sources
are read with the names that earlier ones define.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphrag.identity import name_key
from graphrag.ingest.backstage import Entity, read_entities
from graphrag.ingest.catalogue import read_catalogue
from graphrag.ingest.folder import Failure, SourceFile
from graphrag.ingest.reviewers import with_reviewers
from graphrag.ingest.sources.codeowners import read_codeowners, reviews_of
from graphrag.ingest.sources.compose import read_compose
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.git_history import read_releases, read_tags
from graphrag.ingest.sources.grafana import read_dashboard
from graphrag.ingest.sources.kubernetes import read_manifests
from graphrag.ingest.sources.prometheus_rules import read_rules
from graphrag.ingest.summarise import summarised
from graphrag.model import EdgeFact, EdgeType, EntityKind, Label, NodeFact, PropertyValue, Ref

Names = Mapping[str, str]
"""The key of a name -> the name of the entity it means."""

_UNRESOLVED = {
    EdgeType.DEPENDS_ON: ("depends on", EntityKind.SYSTEM),
    EdgeType.OWNED_BY: ("is owned by", EntityKind.ORGANISATION),
}


@dataclass(frozen=True, slots=True)
class Known:
    """The names that are defined outside of a folder."""

    services: Names = field(default_factory=dict[str, str])
    teams: Names = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Stated:
    """The facts, and what reading the folder's pages needs: `runbook_pages` are the pages that something calls a
    runbook, each with the services it is the runbook of; `defined` are the nodes that pages may speak of.

    `dangling` names what nobody here defines. `conflicts` are claims of two sources that cannot both hold. `whole` is
    false when a part could not be read: then what is missing is not taken for gone.
    """

    nodes: tuple[NodeFact, ...] = ()
    edges: tuple[EdgeFact, ...] = ()
    failures: tuple[Failure, ...] = ()
    dangling: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    runbook_pages: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    whole: bool = True

    def names(self, label: Label) -> dict[str, str]:
        """The key of every name and alias of such a thing -> its name."""
        return _names(self.nodes, label)


def read_stated(
    files: Sequence[SourceFile], pages: Mapping[str, str], folder_name: str, known: Known, tags: str = ""
) -> Stated:
    """The facts of all structured files of a folder. `pages`: path -> name in the graph of each of its documents;
    `tags`: the folder's git tags, as `list_tags` gives them."""
    yaml = [file for file in files if file.is_yaml]
    entities, found = _entities(yaml)
    catalogue = read_catalogue(entities, pages)
    found.failures += catalogue.failures
    services = described = {**known.services, **catalogue.service_names}
    teams = {**known.teams, **_names(catalogue.nodes, Label.TEAM)}

    # `described`: a person's words, here or elsewhere, stand before what a template makes of a manifest.
    manifests = [read_compose(yaml, {file.path: file.text for file in files if file.is_env}), read_manifests(yaml)]
    for each in manifests:
        services = {**_names(each.nodes, Label.SERVICE), **services}
    rules = read_rules(yaml, services, pages, teams)
    repository = services.get(name_key(folder_name), "")
    others = [*manifests, rules.found, read_codeowners(files, services, teams, folder_name)]
    others += (read_dashboard(file, services, rules.uses) for file in files if file.is_json)
    others += (_releases(file, services) for file in files if _holds_releases(file))
    others.append(read_tags(tags, repository, services))

    whole = replace(found, nodes=list(catalogue.nodes), edges=list(catalogue.edges))
    for each in others:
        _join(whole, each.yielding_to(described))
    places = {path for each in rules.places.values() for path in each}
    reviews = reviews_of(files, places, {**_names(whole.nodes, Label.TEAM), **teams})
    whole.nodes = with_reviewers(whole.nodes, whole.edges, rules.places, reviews)
    conflicts = _conflicts(whole.edges)
    edges = [_with_page_names(edge, pages) for edge in _one_owner(catalogue.edges, whole.edges)]
    entities_named = _names(whole.nodes, Label.ENTITY)
    unresolved = _unresolved(edges, services, {**_names(whole.nodes, Label.TEAM), **teams}, entities_named)
    nodes, edges = summarised([*whole.nodes, *unresolved.nodes], [*edges, *unresolved.edges], known.services)
    return Stated(
        nodes=tuple(nodes),
        edges=tuple(edges),
        failures=tuple(whole.failures),
        dangling=catalogue.dangling,
        conflicts=tuple(conflicts),
        runbook_pages={**dict.fromkeys(sorted(rules.runbook_pages), ()), **catalogue.runbook_pages},
        whole=whole.whole,
    )


def _entities(files: Iterable[SourceFile]) -> tuple[list[Entity], Found]:
    entities: list[Entity] = []
    found = Found()
    for file in files:
        read, failures = read_entities(file)
        entities += read
        found.failures += failures
        found.whole &= not failures
    return entities, found


def _names(nodes: Iterable[NodeFact], label: Label) -> dict[str, str]:
    chosen = [fact for fact in nodes if fact.label is label]
    return {name_key(name): fact.name for fact in chosen for name in (*fact.aliases, fact.name)}


def _holds_releases(file: SourceFile) -> bool:
    return file.path.rpartition("/")[2].lower() == "releases.json"


def _releases(file: SourceFile, services: Names) -> Found:
    """A list of releases lies in the folder of its service."""
    folder = file.path.rpartition("/")[0].rpartition("/")[2]
    return read_releases(file, services.get(name_key(folder), ""), services)


def _join(whole: Found, part: Found) -> None:
    whole.nodes += part.nodes
    whole.edges += part.edges
    whole.failures += part.failures
    whole.whole &= part.whole


def _with_page_names(edge: EdgeFact, pages: Mapping[str, str]) -> EdgeFact:
    """Readers name a page by its path; in the graph it may have another name, where another folder has that path."""
    name = pages.get(edge.target.name, edge.target.name) if edge.type is EdgeType.HAS_RUNBOOK else edge.target.name
    return edge if name == edge.target.name else replace(edge, target=Ref(edge.target.label, name))


def _unresolved(edges: Iterable[EdgeFact], services: Names, teams: Names, entities: Names) -> Found:
    """What nobody defines is kept for what it is: a name that somebody needs. It is no service, so it enters no blast
    radius; once somebody defines it, the next run makes the edge. Of the `entities` that are something else, such as a
    person or a system, it says nothing new but who needs them."""
    found = Found()
    for edge in edges:
        names = {EdgeType.DEPENDS_ON: services, EdgeType.OWNED_BY: teams}.get(edge.type)
        if names is None or name_key(edge.target.name) in names or name_key(edge.source.name) not in services:
            continue
        verb, kind = _UNRESOLVED[edge.type]
        summary = f"{edge.target.name}: nobody defines this name, which {edge.source.name} {verb}."
        properties: dict[str, PropertyValue] = {"kind": kind.value, "unresolved": True}
        if name_key(edge.target.name) not in entities:
            found.nodes.append(
                NodeFact(Label.ENTITY, edge.target.name, summary, properties=properties, confidence=edge.confidence)
            )
        target = Ref(Label.ENTITY, edge.target.name)
        found.edges.append(EdgeFact(EdgeType.RELATION, edge.source, target, verb=verb, confidence=edge.confidence))
    return found


def _one_owner(catalogue: Iterable[EdgeFact], edges: Iterable[EdgeFact]) -> list[EdgeFact]:
    """Without the owners that other files give to a service whose owner the catalogue names: who reviews a change is
    not always who is paged."""
    owned = {name_key(edge.source.name): edge for edge in catalogue if edge.type is EdgeType.OWNED_BY}
    return [
        edge
        for edge in edges
        if edge.type is not EdgeType.OWNED_BY or owned.get(name_key(edge.source.name), edge).target == edge.target
    ]


def _conflicts(edges: Iterable[EdgeFact]) -> list[str]:
    """Services with more than one owner: an incident needs one."""
    owners: dict[str, dict[str, EdgeFact]] = defaultdict(dict)
    for edge in edges:
        if edge.type is EdgeType.OWNED_BY:
            owners[name_key(edge.source.name)].setdefault(name_key(edge.target.name), edge)
    return [_double_owner(list(claims.values())) for claims in owners.values() if len(claims) > 1]


def _double_owner(claims: Sequence[EdgeFact]) -> str:
    return f"{claims[0].source.name} is owned by {' and by '.join(edge.target.name for edge in claims)}"
