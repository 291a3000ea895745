"""What live systems said, typed. Pure data: parsing is in the connector modules, judging is the agent's."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Observation(BaseModel):
    model_config = ConfigDict(frozen=True)
    link: str = ""


class MetricSeen(_Observation):
    """One time series of a query. Values are in the query's own unit; times are aware UTC."""

    kind: Literal["metric"] = "metric"
    expression: str
    labels: dict[str, str]
    last: float
    lowest: float
    highest: float
    at: datetime


class DependencySeen(_Observation):
    """Traffic seen from `client` to `server`, both as the monitoring names them."""

    kind: Literal["dependency"] = "dependency"
    client: str
    server: str
    at: datetime


class ReleaseSeen(_Observation):
    kind: Literal["release"] = "release"
    repo: str
    version: str
    released_at: datetime | None
    author: str = ""
    notes: str = ""


class ChangeSeen(_Observation):
    """A merged pull request or a commit."""

    kind: Literal["change"] = "change"
    repo: str
    reference: str
    title: str
    merged_at: datetime
    author: str = ""


class OwnersSeen(_Observation):
    """What a CODEOWNERS file says for the whole repository, as written (`@org/team`)."""

    kind: Literal["owners"] = "owners"
    repo: str
    owners: tuple[str, ...]


class MessageSeen(_Observation):
    """A chat message: evidence, never authority."""

    kind: Literal["message"] = "message"
    channel: str
    author: str
    text: str
    at: datetime | None


class PageSeen(_Observation):
    """A wiki page: evidence, never authority."""

    kind: Literal["page"] = "page"
    title: str
    excerpt: str


Observation = Annotated[
    MetricSeen | DependencySeen | ReleaseSeen | ChangeSeen | OwnersSeen | MessageSeen | PageSeen,
    Field(discriminator="kind"),
]
