"""What people teach about alerts: "it was service X", the rules that come of it, and how to take them back."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field

from agent.consult import locate_incident, signals_of
from agent.state import Incident, Located
from app.api import kept_of
from app.graph_api import Cursor, Limit, The
from app.graph_changes import LONGEST_NAME, LONGEST_REASON, add_alias
from app.graph_examples import ANSWERS, failures
from app.graph_names import Graph, find_service
from app.graph_reads import latest_first, paged
from app.graph_records import Learned, Ruled, ruled
from app.graph_views import Listed, named
from graphrag import label_rules
from graphrag.label_rules import ALERTNAME, Condition, LabelRule
from graphrag.label_uses import known_uses
from graphrag.lessons import Lesson, lesson_of, names_in
from graphrag.model import Label, Node
from graphrag.signals import MAX_VALUE, AlertSignals
from graphrag.stored import Listing, Place

router = APIRouter(tags=["graph changes"])


class _Asking(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Because(_Asking):
    """The label of its alerts that says so."""

    label: str = Field(min_length=1, max_length=LONGEST_NAME)


class ItWas(_Asking):
    """The service that an investigation was about, by name or id. `because` names the label of its alerts that says so,
    or `name`: the alert's name. Without it the one label that tells is looked for."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"service": "checkout-api"},
                {"service": "checkout-api", "because": {"label": "component"}, "reason": "the worker is part of it"},
            ]
        }
    )
    service: str = Field(min_length=1, max_length=LONGEST_NAME)
    because: Because | Literal["name"] | None = None
    reason: str = Field("", max_length=LONGEST_REASON, description="Why; kept with a rule.")


class NewRule(_Asking):
    """Alerts whose label has this value are about the service; with `alertname` only alerts of that name."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"label": "component", "value": "card-worker", "service": "checkout-api", "reason": "is part of it"}
            ]
        }
    )
    label: str = Field(min_length=1, max_length=LONGEST_NAME)
    value: str = Field(min_length=1, max_length=MAX_VALUE)
    alertname: str = Field("", max_length=MAX_VALUE)
    service: str = Field(min_length=1, max_length=LONGEST_NAME)
    reason: str = Field("", max_length=LONGEST_REASON, description="Why; kept with the rule.")


# What HTTP and the command line have in common ------------------------------------------------------------------------


async def add_rule(graph: Graph, condition: Condition, service: str, *, reason: str, by: str) -> LabelRule:
    """Raises `AppError` and `Refused`."""
    node = await find_service(graph, service)
    return await label_rules.add_rule(
        graph.store, graph.tenant, condition, node, reason=reason, by=by, now=datetime.now(UTC)
    )


async def lift_rule(graph: Graph, rule_id: str, by: str) -> LabelRule:
    """Raises `Refused`."""
    return await label_rules.lift_rule(graph.store, graph.tenant, rule_id, by=by, now=datetime.now(UTC))


async def rules(graph: Graph, limit: int, cursor: str | None = None) -> Listed[Ruled]:
    """A page of the rules, the latest first."""

    def place(rule: Ruled) -> Place:
        return latest_first(datetime.fromisoformat(rule.at), rule.id)

    found = map(ruled, await label_rules.all_rules(graph.store, graph.tenant))
    page = paged(Listing("rules", graph.tenant), found, place, limit, cursor)
    return Listed(items=tuple(page.items), more=page.more, cursor=page.cursor)


async def correct(graph: Graph, incident: Incident, it_was: ItWas, by: str) -> Learned:
    """Learn from an incident which service such alerts are about. Raises `AppError` and `Refused`."""
    service = await find_service(graph, it_was.service)
    lesson = await _lesson(graph, incident, it_was)
    same = await label_rules.rule_that_says_so(graph.store, graph.tenant, lesson.condition, service)
    if lesson.kind == "alias" and same is None:
        await add_alias(graph, service.id, lesson.condition.value)
        return await _learned(graph, incident, service, lesson.condition.value)
    rule = same or await label_rules.add_rule(
        graph.store,
        graph.tenant,
        lesson.condition,
        service,
        reason=it_was.reason.strip() or f"said of {incident.id}",
        by=by,
        now=datetime.now(UTC),
        investigation=incident.id,
    )
    return await _learned(graph, incident, service, rule)


async def _lesson(graph: Graph, incident: Incident, it_was: ItWas) -> Lesson:
    signals = signals_of(incident, graph.told)
    # Who asked about a service that is not known called it by a name, as a label does.
    alerts = signals.alerts or ((AlertSignals(signals.names),) if incident.service else ())
    chosen = it_was.because.label if isinstance(it_was.because, Because) else ALERTNAME if it_was.because else ""
    known = await graph.store.resolve(graph.tenant, names_in(alerts), [Label.SERVICE, Label.TEAM])
    return lesson_of(alerts, chosen, known, graph.told.over(await known_uses(graph.store, graph.tenant)))


async def _learned(graph: Graph, incident: Incident, service: Node, what: LabelRule | str) -> Learned:
    """`what`: the rule or the alias. The same alerts are located again, to say whether that is enough."""
    begun = time.monotonic()
    found = await locate_incident(graph.store, graph.embed, incident, lambda: time.monotonic() - begun, told=graph.told)
    if isinstance(what, LabelRule):
        learned = f"Alerts with {what.condition} are about {service.name} from now on"
        undo = f"DELETE /v1/rules/{what.id}"
    else:
        learned = f"{service.name} answers to {what} from now on"
        undo = f"DELETE /v1/entities/{service.id}/aliases/{quote(what, safe='')}"
    return Learned(
        service=named(service),
        alias=None if isinstance(what, LabelRule) else what,
        rule=ruled(what) if isinstance(what, LabelRule) else None,
        certainty=found.certainty,
        says=f"{learned}{_not_enough(found, service)}; undo it with {undo}.",
    )


def _not_enough(found: Located, service: Node) -> str:
    if found.certainty == "resolved" and found.candidates[0].id == service.id:
        return ""
    return f", but that alone does not settle such alerts ({found.explanation})"


# Routes ---------------------------------------------------------------------------------------------------------------


@router.post(
    "/v1/investigations/{investigation_id}/correction",
    summary="Say which service an investigation was about",
    responses=ANSWERS["learned"] | failures(404, 409, 422),
)
async def post_it_was(investigation_id: str, it_was: ItWas, request: Request, the: The) -> Learned:
    """The next such alert is located there. A label's value that is itself a name for the service becomes an alias,
    any other a rule. A value that already means another service is refused, and where several labels may be meant,
    name the one."""
    kept = await kept_of(request, investigation_id)
    return await correct(the.graph, kept.subject, it_was, the.by)


@router.post(
    "/v1/rules",
    summary="Say which service alerts of a label are about",
    responses=ANSWERS["rule"] | failures(404, 409, 422),
)
async def post_rule(asking: NewRule, the: The) -> Ruled:
    """It speaks louder than names in the alert. Only a label that plainly names another service contradicts it, and
    then the alert is ambiguous. The same rule again answers the one that stands."""
    condition = Condition(asking.label, asking.value, asking.alertname)
    return ruled(await add_rule(the.graph, condition, asking.service, reason=asking.reason, by=the.by))


@router.get("/v1/rules", summary="List the rules, the latest first", responses=ANSWERS["rules"] | failures(400, 422))
async def get_rules(the: The, limit: Limit = 50, cursor: Cursor = None) -> Listed[Ruled]:
    """Those that were lifted too. Take an id from here to lift one."""
    return await rules(the.graph, limit, cursor)


@router.delete("/v1/rules/{id}", summary="Take a rule back", responses=ANSWERS["rule-lifted"] | failures(404, 409, 422))
async def delete_rule(id: str, the: The) -> Ruled:
    """Alerts are located as if it had never been."""
    return ruled(await lift_rule(the.graph, id, the.by))
