"""What people read in the graph over HTTP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, cast

from fastapi import APIRouter, Depends, Query, Request
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from app import graph_reads as reads
from app.auth import Caller
from app.graph_examples import ANSWERS, failures
from app.graph_names import Graph, direction_of, edge_types, labels_of, view_of
from app.graph_views import Entity, EntityPage, HistoryPage, Listed, Profile, Radius, RelatedPage, Ways
from graphrag.model import Direction, EdgeType, Label, View
from graphrag.traverse import MAX_CAP, MAX_HOPS, MAX_PATHS

LONGEST_PAGE = 500

router = APIRouter(tags=["graph"])


@dataclass(frozen=True, slots=True)
class Within:
    """Bounds of a number, of which one sentence names both."""

    least: int
    most: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "minimum": self.least, "maximum": self.most}

    def _checked(self, number: int) -> int:
        if not self.least <= number <= self.most:
            raise ValueError(f"must be from {self.least} to {self.most}")
        return number


class Asked(NamedTuple):
    """The graph of the caller's tenant, and who asks, for the records."""

    graph: Graph
    by: str


def asked(request: Request) -> Asked:
    caller = cast("Caller", request.state.caller)
    resources = request.app.state.resources
    graph = Graph(
        resources.graph, resources.embedding.embed_queries, caller.tenant, request.app.state.settings.told_keys
    )
    return Asked(graph, f"{caller.role} of {caller.tenant}")


def moment(
    as_of: Annotated[
        str | None,
        Query(
            description="What held at this time: ISO 8601 with a zone, for instance 2026-03-01T12:00:00Z.",
            examples=["2026-03-01T12:00:00Z"],
        ),
    ] = None,
) -> View:
    return view_of(as_of)


def types(
    types: Annotated[
        list[str], Query(description=f"Only edges of these types: {', '.join(EdgeType)}.", examples=[["DEPENDS_ON"]])
    ] = [],  # noqa: B006  FastAPI copies it
) -> list[EdgeType]:
    return edge_types(types)


def direction(
    direction: Annotated[str, Query(description="Walk edges `out` (as they point), `in` or `both` ways.")] = "both",
) -> Direction:
    return direction_of(direction)


def labels(
    label: Annotated[
        list[str], Query(description=f"Only entities of these kinds: {', '.join(Label)}.", examples=[["Service"]])
    ] = [],  # noqa: B006
) -> list[Label]:
    return labels_of(label)


The = Annotated[Asked, Depends(asked)]
When = Annotated[View, Depends(moment)]
Types = Annotated[list[EdgeType], Depends(types)]
Cursor = Annotated[str | None, Query(description="The `cursor` of the page before, to go on from there.")]
Limit = Annotated[int, Within(1, LONGEST_PAGE)]
Hops = Annotated[int, Within(0, MAX_HOPS)]
Cap = Annotated[int, Within(0, MAX_CAP)]
Most = Annotated[int, Within(1, MAX_PATHS)]


@router.get(
    "/v1/services/{name:path}/dependencies",
    summary="List what a service needs, to look for the cause",
    responses=ANSWERS["dependencies"] | failures(400, 404, 422),
)
async def dependencies(name: str, the: The, when: When, limit: Limit = 50, cursor: Cursor = None) -> RelatedPage:
    """Direct suppliers, most confirmed first: where the cause may lie."""
    return await reads.beside(the.graph, name, Direction.OUT, limit, cursor, when)


@router.get(
    "/v1/services/{name:path}/dependents",
    summary="List what needs a service directly",
    responses=ANSWERS["dependents"] | failures(400, 404, 422),
)
async def dependents(name: str, the: The, when: When, limit: Limit = 50, cursor: Cursor = None) -> RelatedPage:
    """Direct dependents, most confirmed first. For those further away ask for the blast radius."""
    return await reads.beside(the.graph, name, Direction.IN, limit, cursor, when)


@router.get(
    "/v1/services/{name:path}/blast-radius",
    summary="Ask who hurts when a service fails",
    responses=ANSWERS["blast-radius"] | failures(404, 422),
)
async def blast_radius(name: str, the: The, when: When, hops: Hops = reads.HOPS, cap: Cap = reads.CAP) -> Radius:
    """The services whose chains of DEPENDS_ON reach this one, nearest first, each with such a chain as the reason."""
    return await reads.radius(the.graph, name, hops, cap, when)


@router.get(
    "/v1/services/{name:path}/history",
    summary="See what changed about a service, and when",
    responses=ANSWERS["history"] | failures(400, 404, 422),
)
async def history(
    name: str,
    the: The,
    when: When,
    type: Annotated[list[str], Query(description="Only facts of these edge types.")] = [],  # noqa: B006
    other: Annotated[str, Query(alias="with", description="Only facts with this entity: a name or an id.")] = "",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> HistoryPage:
    """Every interval of the service and of its edges, closed ones too, what changed last first. A service that is
    gone has a history as well."""
    return await reads.history(the.graph, name, edge_types(type), other, limit, cursor, when)


@router.get(
    "/v1/services/{name:path}",
    summary="Read all that is known about a service",
    responses=ANSWERS["service"] | failures(404, 422),
)
async def service(name: str, the: The, when: When) -> Profile:
    """By its name or any alias: owner and channel, runbooks, what it needs and who needs it, criticality, incidents
    and releases, each fact with its sources. Lists are first pages; the routes below this one give the rest."""
    return await reads.profile(the.graph, name, when)


@router.get(
    "/v1/paths",
    summary="Ask how two things hang together",
    responses=ANSWERS["paths"] | failures(404, 409, 422),
)
async def paths(
    the: The,
    when: When,
    start: Annotated[str, Query(alias="from", description="A name or an id.", examples=["checkout-api"])],
    end: Annotated[str, Query(alias="to", description="A name or an id.", examples=["ledger-db"])],
    types: Types,
    direction: Annotated[Direction, Depends(direction)],
    hops: Hops = reads.PATH_HOPS,
    limit: Most = reads.PATHS,
) -> Ways:
    """The shortest paths between two entities of any kind. Without `types` all edges count but MENTIONS, IN_COMMUNITY
    and CO_OCCURS."""
    return await reads.ways(the.graph, start, end, types, direction, hops, limit, when)


@router.get(
    "/v1/entities",
    summary="Search entities by a part of their name",
    responses=ANSWERS["entities"] | failures(400, 422),
)
async def entities(
    the: The,
    when: When,
    labels: Annotated[list[Label], Depends(labels)],
    q: Annotated[str, Query(description="A part of a name or alias; empty lists all.", examples=["check"])] = "",
    limit: Limit = 50,
    cursor: Cursor = None,
) -> Listed[Entity]:
    """Entities of any kind whose name or alias contains `q`, most confirmed first."""
    return await reads.listing(the.graph, q, labels, limit, cursor, when)


@router.get(
    "/v1/entities/{id:path}",
    summary="Read one entity and what is related to it",
    responses=ANSWERS["entity"] | failures(400, 404, 409, 422),
)
async def entity(id: str, the: The, when: When, types: Types, limit: Limit = 50, cursor: Cursor = None) -> EntityPage:
    """By id, or by a name that only one entity has. `related` is a page over all its edges, either way."""
    return await reads.whole(the.graph, id, types, limit, cursor, when)
