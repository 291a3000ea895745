"""Makes facts of what a catalogue tells beside services: people, APIs, systems and domains, and who belongs where.

They are entities, not services: nothing here enters a blast radius, whatever circles the files describe.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from graphrag.identity import name_key
from graphrag.ingest.backstage import Entity, EntityRef
from graphrag.model import EdgeFact, EdgeType, EntityKind, Label, NodeFact, Ref

LABELS = {"component": Label.SERVICE, "resource": Label.SERVICE, "group": Label.TEAM}
ENTITY_KINDS = {
    "system": EntityKind.SYSTEM,
    "domain": EntityKind.SYSTEM,
    "api": EntityKind.PRODUCT,
    "user": EntityKind.PERSON,
}
"""The kinds that become an `Entity`. In this order they take a name that several of them have."""

_SEEN_FROM_IT = {"provides": "provided by", "consumes": "consumed by", "part of": "holds", "owned by": "owns"}
_MAX_DESCRIPTION = 600
_MAX_TOLD = 20


class Belonging:
    """The things of one catalogue, found by kind and name. `entities` holds each of them once."""

    def __init__(self, entities: Sequence[Entity]) -> None:
        self._entities = [entity for entity in entities if entity.kind in ENTITY_KINDS or entity.kind in LABELS]
        self._refs = _refs(self._entities)
        self._taken = {name_key(ref.name) for ref in self._refs.values() if ref.label is Label.ENTITY}

    def person_owning(self, entity: Entity) -> Ref | None:
        """None when the owner is a team, as one of no kind is by Backstage's rules, or nobody defines it."""
        owner = entity.owner
        return self._find("user", owner) if owner and owner.kind == "user" else None

    def relations(self) -> list[EdgeFact]:
        """Who belongs to what. A person or a team that the catalogue does not define is named all the same, so that it
        is reported as dangling; an API, a system or a domain that it does not define is no more than a name."""
        found: dict[tuple[Ref, str, Ref], None] = {}
        for entity in self._entities:
            me = self._refs[entity.kind, name_key(entity.name)]
            found |= dict.fromkeys((me, verb, target) for verb, target in self._said_by(entity))
            if entity.kind == "group":
                found |= dict.fromkeys((self._team(child), "part of", me) for child in entity.children)
                found |= dict.fromkeys((self._person(member), "member of", me) for member in entity.members)
        return [
            EdgeFact(EdgeType.RELATION, source, target, verb=verb)
            for source, verb, target in found
            if source != target  # nobody belongs to itself
        ]

    def nodes(self, relations: Iterable[EdgeFact]) -> list[NodeFact]:
        """The entities, each with its `relations` in its summary."""
        told: dict[Ref, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
        for edge in relations:
            told[edge.source][edge.verb].append(edge.target.name)
            told[edge.target][_SEEN_FROM_IT.get(edge.verb, edge.verb)].append(edge.source.name)
        taken = set(self._taken)
        found = ((entity, self._refs[entity.kind, name_key(entity.name)]) for entity in self._entities)
        return [_node(entity, ref.name, told[ref], taken) for entity, ref in found if ref.label is Label.ENTITY]

    def _said_by(self, entity: Entity) -> Iterator[tuple[str, Ref]]:
        """What one entity says that it is a part of. Whose a service is, OWNED_BY says, unless it is a person's."""
        system = EntityRef("system", entity.system) if entity.system else None
        domain = EntityRef("domain", entity.domain) if entity.domain and entity.kind == "system" else None
        parent = entity.parent if entity.kind == "domain" else None
        consumed = (*entity.consumes, *(ref for ref in entity.depends_on if ref.kind == "api"))
        if LABELS.get(entity.kind) is Label.SERVICE:
            yield from (("provides", ref) for each in entity.provides if (ref := self._find("api", each)))
            yield from (("consumes", ref) for each in consumed if (ref := self._find("api", each)))
        for kind, each in (("system", system), ("domain", domain), ("domain", parent)):
            if each and (ref := self._find(kind, each)):
                yield "part of", ref
        if entity.kind == "group" and entity.parent:
            yield "part of", self._team(entity.parent)
        if entity.kind == "user":
            yield from (("member of", self._team(group)) for group in entity.member_of)
        if person := self.person_owning(entity):
            yield "owned by", person
        elif entity.owner and entity.kind in ENTITY_KINDS:
            yield "owned by", self._team(entity.owner)

    def _find(self, kind: str, ref: EntityRef) -> Ref | None:
        return self._refs.get((kind, name_key(ref.name)))

    def _team(self, ref: EntityRef) -> Ref:
        return self._find("group", ref) or Ref(Label.TEAM, ref.name)

    def _person(self, ref: EntityRef) -> Ref:
        unknown = f"{ref.name} (user)" if name_key(ref.name) in self._taken else ref.name
        return self._find("user", ref) or Ref(Label.ENTITY, unknown)


def _refs(entities: Iterable[Entity]) -> dict[tuple[str, str], Ref]:
    """The node of each kind and key of a name. Backstage tells `system:shop` and `api:shop` apart by their kinds, while
    the graph has one key space for both: the later kind takes its kind into its name."""
    refs: dict[tuple[str, str], Ref] = {}
    taken: set[str] = set()
    order = (*LABELS, *ENTITY_KINDS)
    for entity in sorted(entities, key=lambda each: order.index(each.kind)):
        key = name_key(entity.name)
        if entity.kind in LABELS:
            refs[entity.kind, key] = Ref(LABELS[entity.kind], entity.name)
        else:
            name = entity.name
            while name_key(name) in taken:
                name = f"{name} ({entity.kind})"
            taken.add(name_key(name))
            refs[entity.kind, key] = Ref(Label.ENTITY, name)
    return refs


def _node(entity: Entity, name: str, told: Mapping[str, Sequence[str]], taken: set[str]) -> NodeFact:
    """`taken`: the keys that lead to somebody already; an alias takes its own. Two people may be called alike."""
    aliases: list[str] = []
    for alias in (entity.title, *entity.aliases):
        if name_key(alias) and name_key(alias) not in taken:
            taken.add(name_key(alias))
            aliases.append(alias)
    called = f"{entity.title} ({name})" if entity.title and entity.title != name else name
    sentences = [
        f"{called}: {entity.type or entity.kind}",
        entity.description[:_MAX_DESCRIPTION].rstrip(". "),
        *(f"{verb.capitalize()} {', '.join(names[:_MAX_TOLD])}" for verb, names in told.items()),
    ]
    return NodeFact(
        Label.ENTITY,
        name,
        " ".join(f"{sentence}." for sentence in sentences if sentence),
        tuple(aliases),
        {"kind": ENTITY_KINDS[entity.kind].value},
        identifiers=(f"mailto:{entity.email}",) if entity.email else (),
    )
