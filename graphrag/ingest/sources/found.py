"""What a reader of a source hands back, and what all of them mean by a name."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from graphrag.identity import name_key
from graphrag.ingest.folder import Failure, SourceFile
from graphrag.ingest.yaml_documents import BrokenYaml, as_mapping, as_text, parse_yaml, split_documents
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, Ref

MAX_NAME = 200
_TEMPLATE = re.compile(r"\{\{|\{%|<%|\$[{(]")
_MAX_SHOWN = 40
_MAX_DOCUMENTS = 2_000


@dataclass(slots=True)
class Found:
    """The facts of a source and what could not be read of it. An edge to a name that no node has is kept: whether
    anybody defines it, the store says. `whole` is false when something may be missing that was there before."""

    nodes: list[NodeFact] = field(default_factory=list[NodeFact])
    edges: list[EdgeFact] = field(default_factory=list[EdgeFact])
    failures: list[Failure] = field(default_factory=list[Failure])
    whole: bool = True

    def lose(self, path: str, reason: str) -> None:
        """A file, or a part of one, that could not be read at all."""
        self.fail(path, reason)
        self.whole = False

    def fail(self, path: str, reason: str) -> None:
        self.failures.append((path, reason))

    def yielding_to(self, described: Container[str]) -> Found:
        """The same, without the summary of each node whose key another source describes better: a catalogue's
        sentences are a person's, a manifest's are made of its names."""
        nodes = [replace(fact, summary="") if name_key(fact.name) in described else fact for fact in self.nodes]
        return replace(self, nodes=nodes)


@dataclass(slots=True)
class Dependencies:
    """Who needs whom, each pair once and as sure as its surest reason. Nobody needs itself."""

    _needs: dict[str, dict[str, tuple[str, str, float]]] = field(
        default_factory=dict[str, dict[str, tuple[str, str, float]]]
    )

    def add(self, source: str, target: str, confidence: float) -> None:
        source_key, target_key = name_key(source), name_key(target)
        if source_key == target_key:
            return
        needs = self._needs.setdefault(source_key, {})
        first, second, known = needs.get(target_key, (source, target, 0.0))
        needs[target_key] = (first, second, max(known, confidence))

    def of(self, source: str) -> list[str]:
        """The names that `source` needs, in the order they were found."""
        return [target for _, target, _ in self._needs.get(name_key(source), {}).values()]

    def edges(self) -> list[EdgeFact]:
        return [
            EdgeFact(EdgeType.DEPENDS_ON, Ref(Label.SERVICE, source), Ref(Label.SERVICE, target), confidence=confidence)
            for needs in self._needs.values()
            for source, target, confidence in needs.values()
        ]


def as_name(value: object) -> str:
    """The text where it can name something; empty for anything else. A template stands for a name and is none."""
    text = as_text(value)
    return text if name_key(text) and len(text) <= MAX_NAME and not _TEMPLATE.search(text) else ""


def shown(name: object) -> str:
    """What stands where a name should, as a failure quotes it: short, and on one line."""
    return repr(as_text(name)[:_MAX_SHOWN]) if isinstance(name, str) else kind_of(name)


def kind_of(value: object) -> str:
    """What a value is, in words that give none of it away: settings hold secrets."""
    if isinstance(value, str):
        return "text"
    return "missing" if value is None else "a mapping" if isinstance(value, dict) else "a list"


def as_list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def yaml_mappings(file: SourceFile, looks_like: re.Pattern[str], found: Found) -> list[tuple[int, dict[str, object]]]:
    """The documents of a file that look like what is sought, each with its first line. Others may be anything, and
    are not even parsed."""
    documents: list[tuple[int, dict[str, object]]] = []
    if not looks_like.search(file.text):
        return documents
    parts: Sequence[tuple[int, str]] = split_documents(file.text)
    if len(parts) > _MAX_DOCUMENTS:
        found.lose(file.path, f"holds more than {_MAX_DOCUMENTS:,} documents; the rest was not read")
    for line, text in parts[:_MAX_DOCUMENTS]:
        if not looks_like.search(text):
            continue
        try:
            value = parse_yaml(text, line)
        except BrokenYaml as error:
            found.lose(file.path, str(error))
            continue
        if isinstance(value, dict):
            documents.append((line, as_mapping(cast("dict[object, object]", value))))
        elif value is not None:
            found.fail(file.path, f"the document on line {line} is {kind_of(value)}, not a mapping")
    return documents
