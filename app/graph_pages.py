"""What people say of the pages that an investigation offered them: whether one helped."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from app.api import kept_of
from app.graph_api import The
from app.graph_changes import LONGEST_NAME
from app.graph_examples import ANSWERS, failures
from app.graph_names import find
from app.graph_records import PageSaid
from app.graph_views import named
from graphrag import helpfulness
from graphrag.pages import PAGES

router = APIRouter(tags=["graph changes"])


class Helped(BaseModel):
    """A page by its path, name or id, and whether it helped with this incident."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"page": "runbooks/checkout-errors.md", "helped": True}]}
    )
    page: str = Field(min_length=1, max_length=LONGEST_NAME)
    helped: bool = True


@router.post(
    "/v1/investigations/{investigation_id}/page",
    summary="Say whether a page helped",
    responses=ANSWERS["page-said"] | failures(404, 409, 422),
)
async def post_page(investigation_id: str, said: Helped, request: Request, the: The) -> PageSaid:
    """Pages that helped are offered before others the next time. Saying it again of the same investigation and page
    replaces what was said."""
    kept = await kept_of(request, investigation_id)
    page = await find(the.graph, said.page, PAGES)
    usage = await helpfulness.say(
        the.graph.store, the.graph.tenant, page, kept.subject.id, helped=said.helped, by=the.by, now=datetime.now(UTC)
    )
    return PageSaid(page=named(page), offered=usage.offered, helped=usage.helped)
