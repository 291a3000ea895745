"""What administrators change in the graph over HTTP: names, merges, corrections, and the proposals they decide on."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Literal

import structlog
from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from app.errors import AppError
from app.graph_api import Cursor, Limit, The
from app.graph_examples import ANSWERS, failures
from app.graph_names import Graph, edge_types, find, quoted
from app.graph_reads import latest_first, paged
from app.graph_records import (
    Aliased,
    Corrected,
    Merged,
    Previewed,
    Proposed,
    Rejected,
    aliased,
    corrected,
    merged,
    previewed,
    proposed,
)
from app.graph_views import Listed
from graphrag import corrections, criticality, merging, proposals
from graphrag.errors import GraphError, Refused
from graphrag.model import ENDS, SYMMETRIC, Edge, EdgeType, Label, Node, View
from graphrag.stored import Listing, Place
from graphrag.writing import storable

LONGEST_NAME = 300
LONGEST_REASON = 2_000

router = APIRouter(tags=["graph changes"])
log = structlog.get_logger()

Name = Field(min_length=1, max_length=LONGEST_NAME)
Reason = Field("", max_length=LONGEST_REASON, description="Why; kept with the change.")


class _Asking(BaseModel):
    model_config = ConfigDict(extra="forbid")


class NewAlias(_Asking):
    model_config = ConfigDict(json_schema_extra={"examples": [{"alias": "checkout"}]})
    alias: str = Name


class Pair(_Asking):
    """Two entities that are one, each by name or id. The names of `drop` become aliases of `keep`."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"keep": "event-bus", "drop": "kafka"}]})
    keep: str = Name
    drop: str = Name


class Confirmation(Pair):
    """The pair, and the token of the preview."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"keep": "event-bus", "drop": "kafka", "token": "5f0c…", "reason": "kafka is its old name"}]
        }
    )
    token: str = Field("", max_length=200)
    reason: str = Reason
    force: bool = Field(False, description="Merge although the two contradict each other.")


class Why(_Asking):
    model_config = ConfigDict(json_schema_extra={"examples": [{"reason": "they are two shards"}]})
    reason: str = Reason


class Claim(_Asking):
    """An edge that does not hold (`retire`) or does (`assert`). Ends are names or ids; only a RELATION has a verb."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "action": "retire",
                    "type": "DEPENDS_ON",
                    "from": "checkout-api",
                    "to": "fraud-scoring",
                    "reason": "the call was removed in v2.4",
                }
            ]
        }
    )
    action: Literal["retire", "assert"]
    type: str
    source: str = Field(alias="from", min_length=1, max_length=LONGEST_NAME)
    target: str = Field(alias="to", min_length=1, max_length=LONGEST_NAME)
    verb: str = Field("", max_length=LONGEST_NAME)
    reason: str = Reason


# What HTTP and the command line have in common ------------------------------------------------------------------------


async def add_alias(graph: Graph, text: str, alias: str) -> Node:
    """Let the entity answer to a further name. Raises `AppError` and `Refused`."""
    if len(alias) > LONGEST_NAME:
        raise AppError(422, "invalid", f"alias: a name has at most {LONGEST_NAME} characters.")
    return await corrections.add_alias(graph.store, graph.tenant, await find(graph, text), storable(alias))


async def remove_alias(graph: Graph, text: str, alias: str) -> Node:
    """Take a name away. Raises `AppError` and `Refused`."""
    return await corrections.remove_alias(graph.store, graph.tenant, await find(graph, text), alias)


async def preview(graph: Graph, keep: str, drop: str) -> Previewed:
    """What a merge would do, and the token that confirms it. Raises `AppError` and `Refused`."""
    kept, dropped = await _pair(graph, keep, drop)
    seen = await merging.preview(graph.store, graph.tenant, kept.id, dropped.id)
    edges = (*seen.moved, *seen.combined, *seen.ended)
    return previewed(seen, await _ends(graph, edges))


async def merge(graph: Graph, keep: str, drop: str, *, token: str, reason: str, force: bool, by: str) -> merging.Merge:
    """Do what was previewed, and score anew. Raises `AppError` and `Refused`."""
    if not token:
        raise AppError(422, "token_missing", "A merge needs the token of its preview: preview it first.")
    kept, dropped = await _pair(graph, keep, drop)
    done = await merging.confirm(
        graph.store,
        graph.tenant,
        kept.id,
        dropped.id,
        token=token,
        reason=reason,
        by=by,
        now=datetime.now(UTC),
        force=force,
    )
    await _score_anew(graph)
    return done


async def merges(graph: Graph, limit: int, cursor: str | None = None) -> Listed[Merged]:
    """A page of the merges, the latest first."""
    found = map(merged, await merging.merges(graph.store, graph.tenant))
    page = paged(Listing("merges", graph.tenant), found, _decided, limit, cursor)
    return Listed(items=tuple(page.items), more=page.more, cursor=page.cursor)


async def undo(graph: Graph, merge_id: str, by: str) -> merging.Merge:
    """Take a merge back, and score anew. Raises `Refused`."""
    undone = await merging.undo(graph.store, graph.tenant, merge_id, by=by, now=datetime.now(UTC))
    await _score_anew(graph)
    return undone


async def correct(graph: Graph, claim: Claim, by: str) -> corrections.Correction:
    """Retire or assert an edge, and score anew. Raises `AppError` and `Refused`."""
    (type,) = edge_types([claim.type]) or _no_type()
    if bool(claim.verb.strip()) != (type is EdgeType.RELATION):
        raise AppError(422, "invalid", "verb: a RELATION needs a verb, and no other type has one.")
    source, target = await asyncio.gather(
        _end(graph, claim.source, type, ENDS[type][0]), _end(graph, claim.target, type, ENDS[type][1])
    )
    if type in SYMMETRIC and target.id < source.id:
        source, target = target, source
    act = corrections.retire if claim.action == "retire" else corrections.assert_edge
    done = await act(
        graph.store,
        graph.tenant,
        type,
        source,
        target,
        verb=claim.verb.strip(),
        reason=claim.reason,
        by=by,
        now=datetime.now(UTC),
    )
    await _score_anew(graph)
    return done


async def lift(graph: Graph, correction_id: str, by: str) -> corrections.Correction:
    """Take a correction back, and score anew. Raises `Refused`."""
    lifted = await corrections.lift(graph.store, graph.tenant, correction_id, by=by, now=datetime.now(UTC))
    await _score_anew(graph)
    return lifted


async def pending(graph: Graph, limit: int, cursor: str | None) -> Listed[Proposed]:
    """A page of the proposals that wait for a person, most alike first."""
    found = await proposals.proposals(graph.store, graph.tenant)
    ends = await graph.store.nodes(graph.tenant, {id for each in found for id in (each.alike.left, each.alike.right)})
    # A merge may have taken an end away since they were made.
    there = [each for each in found if each.alike.left in ends and each.alike.right in ends]

    def place(each: proposals.Proposal) -> Place:
        return Place(int(each.alike.likeness * 10_000), " ".join(each.alike.names), each.id)

    page = paged(Listing("proposals", graph.tenant), there, place, limit, cursor)
    items = tuple(proposed(each, ends) for each in page.items)
    return Listed(items=items, more=page.more, cursor=page.cursor)


async def reject(graph: Graph, proposal_id: str, reason: str, by: str) -> Rejected:
    """Raises `Refused`."""
    if not reason.strip():
        raise Refused("reason_missing", "Say why the two are different things: rejecting needs a reason.")
    try:
        await proposals.reject(graph.store, graph.tenant, proposal_id, by, reason.strip())
    except proposals.UnknownProposal as error:
        raise Refused("unknown_proposal", str(error)) from error
    return Rejected(id=proposal_id, by=by, reason=reason.strip())


def _decided(record: Merged | Corrected) -> Place:
    return latest_first(datetime.fromisoformat(record.at), record.id)


async def _pair(graph: Graph, keep: str, drop: str) -> tuple[Node, Node]:
    return await find(graph, keep), await find(graph, drop)


async def _end(graph: Graph, text: str, type: EdgeType, labels: frozenset[Label]) -> Node:
    """An end of an edge among the kinds that its type allows."""
    allowed = sorted(labels)
    try:
        return await find(graph, text, allowed)
    except AppError as unknown:
        if unknown.status != 404 or len(labels) == len(Label):
            raise
        other = await find(graph, text)  # raises the better error where there is nothing of any kind
        kinds = " or ".join(allowed)
        raise AppError(422, "invalid", f"{quoted(text)} is a {other.label}; this end of {type} is a {kinds}.") from None


def _no_type() -> list[EdgeType]:
    raise AppError(422, "invalid", f"type: name one of {', '.join(EdgeType)}.")


async def _ends(graph: Graph, edges: tuple[Edge, ...]) -> dict[str, Node]:
    scopes = tuple({*View().scopes, *(edge.scope for edge in edges)})
    ids = {end for edge in edges for end in (edge.source, edge.target)}
    return await graph.store.nodes(graph.tenant, ids, View(scopes=scopes))


async def _score_anew(graph: Graph) -> None:
    """The change itself is made: that the scores lag behind is no reason to call it failed."""
    try:
        await criticality.refresh(graph.store, graph.tenant)
    except GraphError as error:
        log.warning("criticality_not_refreshed", error=str(error))


# Routes ---------------------------------------------------------------------------------------------------------------


@router.post(
    "/v1/entities/{id:path}/aliases",
    summary="Let an entity answer to a further name",
    responses=ANSWERS["alias"] | failures(404, 409, 422),
)
async def post_alias(id: str, asking: NewAlias, the: The) -> Aliased:
    """From now on searches, alerts and sources that use the name mean this entity. A name that is another entity's of
    its kind is refused: if the two are one thing, merge them."""
    return aliased(await add_alias(the.graph, id, asking.alias))


@router.delete(
    "/v1/entities/{id:path}/aliases/{alias:path}",
    summary="Take a name from an entity",
    responses=ANSWERS["alias-removed"] | failures(404, 409, 422),
)
async def delete_alias(id: str, alias: str, the: The) -> Aliased:
    """A source that still gives the name brings it back with its next run: mend it there too."""
    return aliased(await remove_alias(the.graph, id, alias))


@router.post(
    "/v1/merges/preview",
    summary="See what a merge would do, and get the token that confirms it",
    responses=ANSWERS["preview"] | failures(404, 409, 422),
)
async def post_preview(pair: Pair, the: The) -> Previewed:
    """Changes nothing. Read the conflicts and the blast radii before confirming: a wrong merge makes both wrong."""
    return await preview(the.graph, pair.keep, pair.drop)


@router.post(
    "/v1/merges",
    summary="Merge two entities as previewed",
    responses=ANSWERS["merge"] | failures(404, 409, 422),
)
async def post_merge(asking: Confirmation, the: The) -> Merged:
    """Needs the preview's token and a reason, and `force` where there are conflicts. When the graph has changed since
    the preview, preview again. The answer's id undoes it."""
    done = await merge(
        the.graph,
        asking.keep,
        asking.drop,
        token=asking.token,
        reason=asking.reason,
        force=asking.force,
        by=the.by,
    )
    return merged(done)


@router.get("/v1/merges", summary="List the merges, the latest first", responses=ANSWERS["merges"] | failures(400, 422))
async def get_merges(the: The, limit: Limit = 50, cursor: Cursor = None) -> Listed[Merged]:
    """Those that were undone too. Take an id from here to undo one."""
    return await merges(the.graph, limit, cursor)


@router.post("/v1/merges/{id}/undo", summary="Take a merge back", responses=ANSWERS["undone"] | failures(404, 409, 422))
async def post_undo(id: str, the: The) -> Merged:
    """Both are as they were. What runs have seen since stays with the kept one. Undo later merges of either first."""
    return merged(await undo(the.graph, id, the.by))


@router.post(
    "/v1/corrections",
    summary="State that a fact is wrong or missing",
    responses=ANSWERS["correction"] | failures(404, 409, 422),
)
async def post_correction(claim: Claim, the: The) -> Corrected:
    """`retire` closes an edge and keeps it closed although its source goes on asserting it; `assert` states one that
    no source knows. Both hold until lifted."""
    return corrected(await correct(the.graph, claim, the.by))


@router.get(
    "/v1/corrections",
    summary="List the corrections, the latest first",
    responses=ANSWERS["corrections"] | failures(400, 422),
)
async def get_corrections(the: The, limit: Limit = 50, cursor: Cursor = None) -> Listed[Corrected]:
    """Those that were lifted too. Take an id from here to lift one."""
    found = map(corrected, await corrections.corrections(the.graph.store, the.graph.tenant))
    page = paged(Listing("corrections", the.graph.tenant), found, _decided, limit, cursor)
    return Listed(items=tuple(page.items), more=page.more, cursor=page.cursor)


@router.post(
    "/v1/corrections/{id}/lift",
    summary="Take a correction back",
    responses=ANSWERS["lifted"] | failures(404, 409, 422),
)
async def post_lift(id: str, the: The) -> Corrected:
    """What it closed opens again; what stood on it alone closes."""
    return corrected(await lift(the.graph, id, the.by))


@router.get(
    "/v1/proposals",
    summary="List entities that may be one",
    responses=ANSWERS["proposals"] | failures(400, 422),
)
async def get_proposals(the: The, limit: Limit = 50, cursor: Cursor = None) -> Listed[Proposed]:
    """Pairs whose names are alike, most alike first. Nothing is merged by itself: preview a merge, or reject."""
    return await pending(the.graph, limit, cursor)


@router.post(
    "/v1/proposals/{id}/reject",
    summary="Say that two entities are different things",
    responses=ANSWERS["rejected"] | failures(404, 422),
)
async def post_reject(id: str, asking: Why, the: The) -> Rejected:
    """The pair is not proposed again."""
    return await reject(the.graph, id, asking.reason, the.by)
