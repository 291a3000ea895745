"""What the graph knows, as an investigation carries it: entities, candidates, and the parts of a broad answer."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)


class Known(Frozen):
    """An entity of the graph and how surely it is known. `path` names the way to it from the service, ends included;
    `owner` and `runbooks` are read for suppliers. What a search found has a `score`, which `parts` add up to."""

    id: str
    label: str
    name: str
    summary: str = ""
    hops: int = 0
    path: tuple[str, ...] = ()
    owner: str = ""
    runbooks: tuple[str, ...] = ()
    properties: Mapping[str, str | int | float | bool | tuple[str, ...]] = {}
    last_seen: datetime | None = None
    confirmations: int = 1
    sources: tuple[str, ...] = ()
    score: float = 0.0
    parts: Mapping[str, float] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The name and every alias."""
        aliases = self.properties.get("aliases", ())
        return (self.name, *aliases) if isinstance(aliases, tuple) else (self.name,)

    def text(self, key: str) -> str:
        """The property as text; empty when it is absent or a list."""
        value = self.properties.get(key, "")
        return "" if isinstance(value, tuple) else str(value)


class CandidateService(Frozen):
    """A service the incident may be about. `score` is comparable within one incident; `parts` say what made it."""

    id: str
    name: str
    score: float
    reasons: tuple[str, ...] = ()
    parts: Mapping[str, float] = {}


class TeamClaim(Frozen):
    """Something says that the incident is this team's: `by` what (an alert's label, its rule, CODEOWNERS), in words in
    `says`, which ends the sentence "known by …"."""

    team: Known
    by: str
    says: str


Certainty = Literal["resolved", "ambiguous", "unresolved"]
Route = Literal["point", "paths", "whole"]
"""What an investigation is about: one service, how two things hang together, or the whole."""


class Part(Frozen):
    """What one community has to say to a question about the whole. `services` are those of its members that matter,
    each with its owner; `suppliers` are what they share. `text` says it all without a model."""

    community: Known
    title: str
    text: str
    services: tuple[Known, ...] = ()
    suppliers: tuple[Known, ...] = ()
    incidents: tuple[Known, ...] = ()


class Way(Frozen):
    """A path from one named thing to another: everything on it, ends included, and a sentence that walks it."""

    nodes: tuple[Known, ...]
    text: str
