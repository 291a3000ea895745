"""Reads Backstage entities (https://backstage.io/docs/features/software-catalog/descriptor-format) from YAML files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from graphrag.identity import name_key
from graphrag.ingest.folder import Failure, SourceFile
from graphrag.ingest.yaml_documents import BrokenYaml, as_mapping, as_text, as_texts, parse_yaml, split_documents

_MAX_NAME = 200
_LOOKS_LIKE_ONE = re.compile(r"""apiVersion["']?\s*:\s*["']?backstage\.io/""")
_CHANNEL_ANNOTATIONS = ("slack.com/bot-notify", "incident-graph/slack-channel")
_LOCATIONS = ("backstage.io/source-location", "backstage.io/managed-by-location")
_EMAIL = re.compile(r"[^\s@<>]{1,64}@[^\s@<>]{1,255}")
SUPPLIER_KINDS = frozenset({"component", "resource"})


@dataclass(frozen=True, slots=True)
class EntityRef:
    """Another entity as it is referred to: `[kind:][namespace/]name`. `kind` is lower-case, empty when not given."""

    kind: str
    name: str


@dataclass(frozen=True, slots=True)
class Link:
    """A runbook link as written: a URL, or a path that is relative to the folder or to the entity's file."""

    target: str
    title: str


@dataclass(frozen=True, slots=True)
class Entity:
    """A Backstage entity with the fields that say something about production. `kind` is lower-case.

    `title` is what people read instead of the name. `member_of` are the groups of a user, `members` the users of a
    group; `parent` is what a group, or a domain, belongs to, and `children` are the groups that belong to a group.
    """

    kind: str
    name: str
    path: str
    description: str = ""
    type: str = ""
    owner: EntityRef | None = None
    system: str = ""
    domain: str = ""
    tier: str = ""
    repo: str = ""
    channel: str = ""
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    runbooks: tuple[Link, ...] = ()
    depends_on: tuple[EntityRef, ...] = ()
    dependency_of: tuple[EntityRef, ...] = ()
    provides: tuple[EntityRef, ...] = ()
    consumes: tuple[EntityRef, ...] = ()
    title: str = ""
    email: str = ""
    member_of: tuple[EntityRef, ...] = ()
    members: tuple[EntityRef, ...] = ()
    parent: EntityRef | None = None
    children: tuple[EntityRef, ...] = ()


def read_entities(file: SourceFile) -> tuple[list[Entity], list[Failure]]:
    """The entities of one file. YAML that is no Backstage entity is passed over silently: it may be anything."""
    entities: list[Entity] = []
    failures: list[Failure] = []
    if not _LOOKS_LIKE_ONE.search(file.text):
        return entities, failures
    for line, text in split_documents(file.text):
        if not _LOOKS_LIKE_ONE.search(text):
            continue
        try:
            document = as_mapping(parse_yaml(text, line))
        except BrokenYaml as error:
            failures.append((file.path, str(error)))
            continue
        if not as_text(document.get("apiVersion")).startswith("backstage.io/"):
            continue
        name = as_text(as_mapping(document.get("metadata")).get("name"))
        if not name_key(name) or len(name) > _MAX_NAME:
            reason = "has no metadata.name" if not name else f"has a name that cannot be used: {name[:40]!r}"
            failures.append((file.path, f"the entity on line {line} {reason}"))
            continue
        entities.append(_entity(document, name, file.path))
    return entities, failures


def _entity(document: dict[str, object], name: str, path: str) -> Entity:
    metadata, spec = as_mapping(document.get("metadata")), as_mapping(document.get("spec"))
    annotations = as_mapping(metadata.get("annotations"))
    profile = as_mapping(spec.get("profile"))
    return Entity(
        kind=as_text(document.get("kind")).lower(),
        name=name,
        path=path,
        description=as_text(metadata.get("description")),
        type=as_text(spec.get("type")),
        owner=_ref(as_text(spec.get("owner"))),
        system=_name_of(spec.get("system")),
        domain=_name_of(spec.get("domain")),
        tier=_tier(metadata, spec),
        repo=_repo(annotations),
        channel=next((text for key in _CHANNEL_ANNOTATIONS if (text := as_text(annotations.get(key)))), ""),
        tags=as_texts(metadata.get("tags")),
        aliases=tuple(alias for alias in as_texts(annotations.get("incident-graph/aliases")) if name_key(alias)),
        runbooks=_runbooks(metadata.get("links")),
        depends_on=_refs(spec.get("dependsOn")),
        dependency_of=_refs(spec.get("dependencyOf")),
        provides=_refs(spec.get("providesApis")),
        consumes=_refs(spec.get("consumesApis")),
        title=as_text(profile.get("displayName")) or as_text(metadata.get("title")),
        email=_email(as_text(profile.get("email"))),
        member_of=_refs(spec.get("memberOf")),
        members=_refs(spec.get("members")),
        parent=_ref(as_text(spec.get("parent"))) or _ref(as_text(spec.get("subdomainOf"))),
        children=_refs(spec.get("children")),
    )


def _ref(text: str) -> EntityRef | None:
    kind, colon, rest = text.rpartition(":")
    name = rest.rpartition("/")[2].strip()
    return EntityRef(kind.strip().lower() if colon else "", name) if name_key(name) else None


def _refs(value: object) -> tuple[EntityRef, ...]:
    return tuple(dict.fromkeys(ref for text in as_texts(value) if (ref := _ref(text)) is not None))


def _name_of(value: object) -> str:
    ref = _ref(as_text(value))
    return ref.name if ref else ""


def _email(text: str) -> str:
    return text.lower() if _EMAIL.fullmatch(text) else ""


def _tier(metadata: dict[str, object], spec: dict[str, object]) -> str:
    """Backstage has no field for it; people keep it in a label, an annotation or the spec."""
    for fields in (as_mapping(metadata.get("labels")), as_mapping(metadata.get("annotations")), spec):
        for key, value in fields.items():
            if key.rpartition("/")[2].lower() == "tier" and as_text(value):
                return as_text(value)
    return ""


def _repo(annotations: dict[str, object]) -> str:
    """`owner/name` on GitHub. On another host the host stands before it, so that GitHub is not asked for it."""
    slug = as_text(annotations.get("github.com/project-slug"))
    if slug:
        return slug
    for key in _LOCATIONS:
        try:
            url = urlsplit(as_text(annotations.get(key)).removeprefix("url:"))
            host = url.hostname or ""
        except ValueError:
            continue
        segments = [segment for segment in url.path.partition("/-/")[0].split("/") if segment]
        if host and len(segments) >= 2:
            path = "/".join(segments[:2]).removesuffix(".git")
            return path if "github" in host else f"{host}/{path}"
    return ""


def _runbooks(value: object) -> tuple[Link, ...]:
    if not isinstance(value, list):
        return ()
    links = [as_mapping(item) for item in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return tuple(
        Link(target, as_text(link.get("title")))
        for link in links
        if as_text(link.get("type")).lower() == "runbook" and (target := as_text(link.get("url")))
    )
