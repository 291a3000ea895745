"""Makes facts of an organisation's catalogue: teams, services, what they depend on, who owns them, and what else there
is (`belonging`)."""

from __future__ import annotations

import posixpath
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphrag.identity import name_key
from graphrag.ingest.backstage import SUPPLIER_KINDS, Entity, EntityRef, Link
from graphrag.ingest.belonging import ENTITY_KINDS, LABELS, Belonging
from graphrag.ingest.folder import Failure
from graphrag.ingest.summarise import service_summary, team_summary
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, PropertyValue, Ref

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The facts, and the pages that the catalogue calls the runbook of a service: path -> service names."""

    nodes: tuple[NodeFact, ...] = ()
    edges: tuple[EdgeFact, ...] = ()
    failures: tuple[Failure, ...] = ()
    dangling: tuple[str, ...] = ()
    runbook_pages: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])

    @property
    def service_names(self) -> dict[str, str]:
        """Every name and alias of a service, as its key, with the name of the service."""
        services = [fact for fact in self.nodes if fact.label is Label.SERVICE]
        return {name_key(name): fact.name for fact in services for name in (*fact.aliases, fact.name)}


def read_catalogue(entities: Sequence[Entity], pages: Collection[str]) -> Catalogue:
    """The facts of all entities of a folder. `pages` are the paths of its documents."""
    failures: list[Failure] = []
    kept = _without_clashing_aliases(_without_doubles(entities, failures), failures)
    edges, dangling = _dependencies(kept)
    belonging = Belonging(kept)
    relations = belonging.relations()
    nodes: list[NodeFact] = []
    links: dict[str, list[str]] = defaultdict(list)
    needs: dict[str, list[str]] = defaultdict(list)
    owned: dict[str, list[str]] = defaultdict(list)
    services = [entity for entity in kept if _label(entity) is Label.SERVICE]
    for edge in edges:
        needs[name_key(edge.source.name)].append(edge.target.name)
    for entity in services:
        if entity.owner and not belonging.person_owning(entity):
            owned[name_key(entity.owner.name)].append(entity.name)
            edges.append(_edge(EdgeType.OWNED_BY, entity.name, Label.TEAM, entity.owner.name))
        for link in entity.runbooks:
            path = _page_of(link, entity.path, pages)
            if path is not None:
                links[path].append(entity.name)
                continue
            nodes.append(_linked_runbook(link))
            edges.append(_edge(EdgeType.HAS_RUNBOOK, entity.name, Label.RUNBOOK, link.target))
    domains = {name_key(entity.name): entity.domain for entity in entities if entity.kind == "system"}
    nodes = [
        *(_team(entity, owned[name_key(entity.name)]) for entity in kept if _label(entity) is Label.TEAM),
        *(_service(entity, needs[name_key(entity.name)], domains) for entity in services),
        *belonging.nodes(relations),
        *nodes,
    ]
    return Catalogue(
        nodes=tuple(nodes),
        edges=(*edges, *relations),
        failures=tuple(failures),
        dangling=tuple(dangling),
        runbook_pages={path: tuple(names) for path, names in links.items()},
    )


def _label(entity: Entity) -> Label | None:
    return LABELS.get(entity.kind)


def _without_doubles(entities: Iterable[Entity], failures: list[Failure]) -> list[Entity]:
    """Two entities of one name would become one thing; the second is left out and said so."""
    first: dict[tuple[Label | str, str], Entity] = {}
    for entity in entities:
        known = first.setdefault((_label(entity) or entity.kind, name_key(entity.name)), entity)
        if known is not entity and (_label(entity) or entity.kind in ENTITY_KINDS):
            reason = f"{entity.kind} {entity.name} has the same name as {known.kind} {known.name} in {known.path}"
            failures.append((entity.path, reason))
    return list(first.values())


def _without_clashing_aliases(entities: Sequence[Entity], failures: list[Failure]) -> list[Entity]:
    """An alias that is another entity's name, or its alias already, would lead to the wrong one."""
    holders = {(_label(entity), name_key(entity.name)): entity for entity in entities}
    kept: list[Entity] = []
    for entity in entities:
        aliases: list[str] = []
        for alias in entity.aliases:
            holder = holders.setdefault((_label(entity), name_key(alias)), entity)
            if holder is entity:
                aliases.append(alias)
            else:
                failures.append((entity.path, f"the alias {alias} of {entity.name} already names {holder.name}"))
        kept.append(replace(entity, aliases=tuple(aliases)))
    return kept


def _dependencies(entities: Sequence[Entity]) -> tuple[list[EdgeFact], list[str]]:
    """Who needs whom, in one direction: from the one that needs to the one that is needed."""
    services = [entity for entity in entities if _label(entity) is Label.SERVICE]
    providers: dict[str, list[str]] = defaultdict(list)
    for entity in services:
        for api in entity.provides:
            providers[name_key(api.name)].append(entity.name)
    pairs: dict[tuple[str, str], None] = {}
    dangling: list[str] = []
    for entity in services:
        consumed = [*entity.consumes, *(ref for ref in entity.depends_on if ref.kind == "api")]
        for api in consumed:
            found = [name for name in providers[name_key(api.name)] if name != entity.name]
            pairs |= {(entity.name, name): None for name in found}
            if not providers[name_key(api.name)]:
                dangling.append(f"{EdgeType.DEPENDS_ON} {entity.name} -> api:{api.name}")
        pairs |= {(entity.name, ref.name): None for ref in _suppliers(entity.depends_on)}
        pairs |= {(ref.name, entity.name): None for ref in _suppliers(entity.dependency_of)}
    return [_edge(EdgeType.DEPENDS_ON, source, Label.SERVICE, target) for source, target in pairs], dangling


def _suppliers(refs: Iterable[EntityRef]) -> list[EntityRef]:
    return [ref for ref in refs if not ref.kind or ref.kind in SUPPLIER_KINDS]


def _edge(type: EdgeType, service: str, label: Label, target: str) -> EdgeFact:
    return EdgeFact(type, Ref(Label.SERVICE, service), Ref(label, target))


def _page_of(link: Link, entity_path: str, pages: Collection[str]) -> str | None:
    """The folder's page that a relative link means: seen from the folder, else from the entity's file."""
    if _URL.match(link.target):
        return None
    target = link.target.partition("#")[0].lstrip("/")
    for base in ("", posixpath.dirname(entity_path)):
        path = posixpath.normpath(posixpath.join(base, target))
        if path in pages:
            return path
    return None


def _linked_runbook(link: Link) -> NodeFact:
    place = "url" if _URL.match(link.target) else "path"
    title = link.title or link.target
    return NodeFact(
        Label.RUNBOOK, link.target, summary=f"{title}: {link.target}", properties={place: link.target, "title": title}
    )


def _team(entity: Entity, owned: Sequence[str]) -> NodeFact:
    properties = {"oncall_channel": entity.channel} if entity.channel else {}
    return NodeFact(
        Label.TEAM, entity.name, team_summary(entity.name, entity.description, owned), entity.aliases, properties
    )


def _service(entity: Entity, needs: Sequence[str], domains: Mapping[str, str]) -> NodeFact:
    properties: dict[str, PropertyValue] = {
        "repo": entity.repo,
        "tier": entity.tier,
        "system": entity.system,
        "domain": entity.domain or domains.get(name_key(entity.system), ""),
        "oncall_channel": entity.channel,
        "tags": entity.tags,
    }
    summary = service_summary(
        entity.name, entity.type or entity.kind, entity.description, entity.owner.name if entity.owner else "", needs
    )
    kept = {key: value for key, value in properties.items() if value}
    return NodeFact(Label.SERVICE, entity.name, summary, entity.aliases, kept)
