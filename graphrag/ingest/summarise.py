"""One paragraph an entity and one sentence an edge, by template: what an embedding is made of and what full-text search
looks through.

A summary says what its own element says and nothing that other sources may add or take away: two sources of one entity
would else write over each other, and every run would make vectors anew.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from graphrag.identity import name_key, name_words
from graphrag.model import SYMMETRIC, EdgeFact, EdgeType, Label, NodeFact, Properties

_MAX_DESCRIPTION = 600
_MAX_NAMES = 20
_MAX_SUMMARY = 1_600
_MAX_PROPERTY = 300
_ENDS = (".", "!", "?", "…")
UNSURE_BELOW = 0.7
"""A fact of less confidence is told with a reservation: it was read between the lines rather than stated."""
_SENTENCES: Mapping[EdgeType, str] = {
    EdgeType.DEPENDS_ON: "{source} depends on {target}",
    EdgeType.OWNED_BY: "{source} is owned by {target}",
    EdgeType.HAS_RUNBOOK: "{source} has the runbook {target}",
    EdgeType.DOCUMENTED_IN: "{source} is documented in {target}",
    EdgeType.AFFECTED: "The incident {source} affected {target}",
    EdgeType.RESPONDED_BY: "{target} responded to the incident {source}",
    EdgeType.RELATED_TO: "The incidents {source} and {target} are related",
    EdgeType.INTRODUCED_BY: "{target} is a release of {source}",
    EdgeType.FIRES_ON: "The alert {source} fires on {target}",
    EdgeType.MENTIONS: "{target} is mentioned in {source}",
    EdgeType.IN_COMMUNITY: "{source} belongs to {target}",
    EdgeType.OWNS: "{source} owns {target}",
    EdgeType.HAS_MODULE: "{source} has the module {target}",
    EdgeType.TOUCHES: "{source} touches {target}",
    EdgeType.EXPOSES: "The tool {source} exposes {target}",
    EdgeType.RELEVANT_TO: "{source} is relevant to {target}",
    EdgeType.RELATION: "{source} {verb} {target}",
    EdgeType.CO_OCCURS: "{source} and {target} are named together",
}
_INTRODUCED_AN_INCIDENT = "The incident {source} was introduced by {target}"
_KINDS: Mapping[Label, str] = {
    Label.INCIDENT: "past incident",
    Label.DOC: "document",
    Label.CHUNK: "passage",
    Label.ORG: "organisation",
}
_TOLD: Mapping[Label, Sequence[tuple[str, str]]] = {
    Label.SERVICE: (("{}", "description"),),
    Label.TEAM: (("{}", "description"),),
    Label.INCIDENT: (("Began {}", "started_at"), ("Severity {}", "severity"), ("{}", "signature")),
    Label.ALERT: (("Severity {}", "severity"), ("Fires when {}", "expression")),
    Label.RELEASE: (("Version {}", "version"), ("Released {}", "released_at"), ("By {}", "author")),
    Label.RUNBOOK: (("{}", "steps_summary"), ("{}", "url")),
    Label.DOC: (("{}", "url"),),
    Label.COMMUNITY: (("{}", "title"),),
}


def service_summary(name: str, kind: str, description: str, owner: str, needs: Sequence[str]) -> str:
    return _paragraph(
        f"{_spelt_out(name)}: {kind or 'service'}",
        description[:_MAX_DESCRIPTION],
        f"Owned by {owner}" if owner else "",
        f"Depends on {_list(needs)}" if needs else "",
    )


def team_summary(name: str, description: str, owned: Sequence[str]) -> str:
    return _paragraph(
        f"{_spelt_out(name)}: team", description[:_MAX_DESCRIPTION], f"Owns {_list(owned)}" if owned else ""
    )


def document_summary(
    kind: str, title: str, path: str, services: Sequence[str], sentences: str, headings: Sequence[str]
) -> str:
    place = " ".join(name_words(path.rpartition(".")[0]))
    return _paragraph(
        title,
        f"{kind} {place}",
        f"About {_list(services)}" if services else "",
        sentences[:_MAX_DESCRIPTION],
        f"Sections: {'; '.join(headings)}" if headings else "",
    )


def release_summary(service: str, version: str, released_at: str, author: str, notes: str) -> str:
    when = f" of {released_at[:10]}" if released_at else ""
    by = f" by {author}" if author else ""
    return _paragraph(f"Release {version} of {service}{when}{by}", notes[:_MAX_DESCRIPTION])


def node_summary(label: Label, name: str, properties: Properties) -> str:
    """A paragraph for an entity that nobody describes: its name, spelt out, what it is, and what its properties tell.
    A passage is its own text."""
    if label is Label.CHUNK and (text := _property(properties, "text", _MAX_SUMMARY)):
        return text
    title = _property(properties, "title", _MAX_PROPERTY)
    kind = _property(properties, "kind", _MAX_PROPERTY) if label is Label.ENTITY else ""
    told = ((words, _property(properties, key, _MAX_PROPERTY)) for words, key in _TOLD.get(label, ()))
    return _paragraph(
        f"{title or _spelt_out(name)}: {kind or _KINDS.get(label, label.value.lower())}",
        "" if not title or name_key(title) == name_key(name) else name,
        *(words.format(text) for words, text in told if text and text != title),
    )


def edge_summary(
    type: EdgeType,
    source_name: str,
    target_name: str,
    verb: str = "",
    confidence: float = 1.0,
    *,
    of: Label = Label.SERVICE,
    place: str = "",
) -> str:
    """A plain sentence that says what the edge says. `of` is the source's label; `place` is where it was read."""
    words = _INTRODUCED_AN_INCIDENT if type is EdgeType.INTRODUCED_BY and of is Label.INCIDENT else _SENTENCES[type]
    ends = (source_name, target_name)
    source, target = sorted(ends, key=lambda name: (name.casefold(), name)) if type in SYMMETRIC else ends
    sentence = words.format(source=source, target=target, verb=" ".join(verb.replace("_", " ").lower().split()))
    unsure = ", as far as can be told" if confidence < UNSURE_BELOW else ""
    where = f" ({place})" if place else ""
    return " ".join(f"{sentence}{unsure}{where}.".split())[:_MAX_SUMMARY]


def summarised(
    nodes: Sequence[NodeFact], edges: Sequence[EdgeFact], described: Container[str] = frozenset()
) -> tuple[list[NodeFact], list[EdgeFact]]:
    """The same facts, each with a summary. Nodes whose name's key is in `described` stay without: another source
    describes them better, and so does another of these facts about the same entity or relation."""
    told = {(fact.label, name_key(fact.name)) for fact in nodes if fact.summary}
    told_edges = {_same(fact) for fact in edges if fact.summary}

    def node(fact: NodeFact) -> NodeFact:
        key = name_key(fact.name)
        if fact.summary or (fact.label, key) in told or key in described:
            return fact
        return replace(fact, summary=node_summary(fact.label, fact.name, fact.properties))

    def edge(fact: EdgeFact) -> EdgeFact:
        if fact.summary or _same(fact) in told_edges:
            return fact
        source, target = fact.source, fact.target
        place = _property(fact.properties, "path", _MAX_PROPERTY)
        text = edge_summary(
            fact.type, source.name, target.name, fact.verb, fact.confidence, of=source.label, place=place
        )
        return replace(fact, summary=text)

    return [node(fact) for fact in nodes], [edge(fact) for fact in edges]


def _same(fact: EdgeFact) -> tuple[EdgeType, Label, str, Label, str, str]:
    """What two facts about one relation have in common."""
    source, target = fact.source, fact.target
    return fact.type, source.label, name_key(source.name), target.label, name_key(target.name), fact.verb


def _property(properties: Properties, key: str, most: int) -> str:
    """The property in words, on one line and cut to `most` characters; a moment to its minute."""
    value = properties.get(key, "")
    text = " ".join(str(value).split()) if not isinstance(value, tuple) else _list(value)
    if key.endswith("_at") and len(text) >= 16 and text[10] == "T":
        text = f"{text[:10]} {text[11:16]} UTC" if text.endswith("+00:00") else text
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _spelt_out(name: str) -> str:
    words = " ".join(name_words(name))
    return name if words == name.casefold() or not words else f"{name} ({words})"


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MAX_NAMES])
    return f"{shown} and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else shown


def _paragraph(*parts: str) -> str:
    sentences = [text if text.endswith(_ENDS) else f"{text}." for part in parts if (text := " ".join(part.split()))]
    return " ".join(sentences)[:_MAX_SUMMARY]
