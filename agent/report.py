"""From the final state to the report: claims that cite evidence, the rest printed as unproven. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Literal

from agent import parts, reconcile
from agent.evidence import Evidence, collect
from agent.owner import Owner, owner_of
from agent.parts import PartTold
from agent.planner import is_miss
from agent.reconcile import Conflict
from agent.state import Budget, CandidateService, Certainty, Frozen, Known, State, ToolAnswered, ToolFailed
from agent.suspects import Suspect, rank
from connectors.observations import MessageSeen, MetricSeen
from connectors.tool import ToolCall

ClaimKind = Literal["measured", "suspect", "known", "history", "said", "model"]

NO_CHANNEL = "no channel known"
NO_MODEL = "No model is configured; this report was made by the plan alone."
MAX_PAGES = 5
_PAGES = ("Runbook", "Doc")
_WORTH_SHOWING = 0.5
_MAX_EXPRESSION = 160
_NEAR = timedelta(hours=1)


class ServiceFound(Frozen):
    name: str | None
    certainty: Certainty
    candidates: tuple[CandidateService, ...] = ()


class RelatedService(Frozen):
    """A service on the way to or from the failing one. `source` is `graph` or `live`; suppliers from the graph come
    with their owner and the paths of their runbooks."""

    name: str
    hops: int
    path: tuple[str, ...] = ()
    source: str = "graph"
    owner: str | None = None
    runbooks: tuple[str, ...] = ()


class BlastRadius(Frozen):
    services: tuple[str, ...] = ()
    count: int = 0
    truncated: bool = False


class RunbookFound(Frozen):
    """A page that says what to do. `score` is what `parts` add up to; 0 for one that only the service's entry names."""

    title: str
    path: str
    summary: str = ""
    score: float = 0.0
    parts: Mapping[str, float] = {}


class Claim(Frozen):
    """A sentence and the ids of the evidence that proves it. `kind` says where it comes from."""

    text: str
    evidence: tuple[str, ...]
    kind: ClaimKind = "known"


class Check(Frozen):
    """A source that was asked. `result` is `found`, `empty` or `could not be checked`."""

    source: str
    purpose: str
    result: str
    detail: str = ""


class Spend(Frozen):
    """What the investigation used, of which budget. `seconds` is wall time from the first event to the last."""

    model: str = ""
    turns: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    budget: Budget = Budget()


class Report(Frozen):
    """What an investigation found. Names are those outsiders rely on."""

    id: str
    status: str
    title: str
    started_at: datetime
    alerts: tuple[str, ...] = ()
    verdict: str
    service: ServiceFound
    owner: Owner = Owner()
    dependencies: tuple[RelatedService, ...] = ()
    dependents: tuple[RelatedService, ...] = ()
    blast_radius: BlastRadius = BlastRadius()
    runbooks: tuple[RunbookFound, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    claims: tuple[Claim, ...] = ()
    unproven: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    checked: tuple[Check, ...] = ()
    gaps: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    parts: tuple[PartTold, ...] = ()
    spend: Spend = Spend()


def build(state: State, *, status: str, reason: str = "") -> Report:
    """The report of a state, finished or not. `status` is `running` or `complete`; `reason` says why the loop ended.

    May be called as soon as the graph was consulted: the first card is the same report with less in it.
    """
    evidence = collect(state)
    known_ids = {each.id for each in evidence}
    claims, unproven = _sentences(state, known_ids)
    consulted = state.consulted
    suspects = rank(state)
    return Report(
        id=state.incident.id,
        status=status,
        title=state.incident.title,
        started_at=state.incident.started_at,
        alerts=tuple(alert.name for alert in state.incident.alerts),
        verdict=_verdict(state, suspects, status),
        service=_service(state),
        owner=owner_of(state),
        dependencies=_dependencies(state),
        dependents=tuple(_related(each) for each in consulted.dependents) if consulted else (),
        blast_radius=_blast_radius(state),
        runbooks=_runbooks(state),
        suspects=suspects,
        claims=claims,
        unproven=unproven,
        conflicts=reconcile.conflicts(state),
        checked=_checked(state),
        gaps=_gaps(state, status, reason),
        evidence=evidence,
        parts=parts.parts_told(state),
        spend=_spend(state),
    )


def _service(state: State) -> ServiceFound:
    located = state.located
    if located is None:
        return ServiceFound(name=None, certainty="unresolved")
    return ServiceFound(
        name=located.service.name if located.service else None,
        certainty=located.certainty,
        candidates=located.candidates[:5],
    )


def _dependencies(state: State) -> tuple[RelatedService, ...]:
    consulted = state.consulted
    if consulted is None or consulted.service is None:
        return ()
    from_graph = tuple(_related(each) for each in consulted.dependencies)
    service = consulted.service.name
    live = tuple(
        RelatedService(name=name, hops=1, path=(service, name), source="live")
        for name, _ in reconcile.live_dependencies(state)
    )
    return live + from_graph


def _related(known: Known) -> RelatedService:
    return RelatedService(
        name=known.name, hops=known.hops, path=known.path, owner=known.owner or None, runbooks=known.runbooks
    )


def _blast_radius(state: State) -> BlastRadius:
    consulted = state.consulted
    if consulted is None:
        return BlastRadius()
    names = tuple(each.name for each in consulted.dependents)
    return BlastRadius(services=names, count=len(names), truncated=consulted.truncated)


def _runbooks(state: State) -> tuple[RunbookFound, ...]:
    """The pages that speak most of this incident, whosever they are and runbooks or not, then the other runbooks of
    the service."""
    consulted = state.consulted
    pages = [each for each in state.located.documents if each.label in _PAGES] if state.located else []
    least = _WORTH_SHOWING * max((each.score for each in pages), default=0.0)
    best = [each for each in pages if each.score >= least][:MAX_PAGES]
    ranked = {each.id: each for each in pages}
    own = [ranked.get(each.id, each) for each in _most_relevant(state, consulted.runbooks)] if consulted else []
    found = (*best, *(each for each in own if each not in best))
    return tuple(
        RunbookFound(
            title=each.text("title") or each.name,
            path=each.text("path") or each.text("url") or each.name,
            summary=each.text("steps_summary"),
            score=each.score,
            parts=each.parts,
        )
        for each in found
    )


def _most_relevant(state: State, known: tuple[Known, ...]) -> tuple[Known, ...]:
    """The same entities in the order in which the search for this incident found them; the rest as they were."""
    ranks = {each.id: rank for rank, each in enumerate(state.located.documents if state.located else ())}
    return tuple(sorted(known, key=lambda each: ranks.get(each.id, len(ranks))))


def _verdict(state: State, suspects: tuple[Suspect, ...], status: str) -> str:
    located = state.located
    if located is None:
        return "The investigation has not found its place in the graph yet."
    if located.error:
        return "I don't know which service this is about: the graph does not answer."
    if broad := parts.verdict(state):
        return broad
    if located.certainty == "ambiguous":
        names = ", ".join(each.name for each in located.candidates[:3])
        return f"I don't know which service this is about. It may be one of: {names}."
    if located.service is None:
        return "I don't know which service this is about: nothing in it names a service the graph knows."
    model_says = next((reply.verdict for reply in reversed(state.replies) if reply.verdict), "")
    if model_says:
        return model_says
    name = located.service.name
    what = state.incident.alerts[0].name if state.incident.alerts else ""
    lead = f"{what} on {name}." if what else f"This is about {name}."
    if not suspects and status == "running":
        return f"{lead} This is what the graph knows; live systems are being asked."
    if not suspects:
        return f"{lead} Nothing that was checked points to a cause."
    first = suspects[0]
    return f"{lead} First suspect: {first.name}, {first.reasons[0]}."


def _sentences(state: State, known_ids: set[str]) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """All sentences, parted into those whose evidence exists and those that are unproven."""
    claims: list[Claim] = []
    unproven: list[str] = []
    for claim in (*_facts(state), *_model_sentences(state)):
        if claim.evidence and known_ids.issuperset(claim.evidence):
            claims.append(claim)
        else:
            unproven.append(claim.text)
    return tuple(claims), tuple(unproven)


def _facts(state: State) -> Iterator[Claim]:
    """What the events themselves say, in our own words."""
    for call, seen in state.observations:
        if isinstance(seen, MetricSeen):
            yield Claim(text=_metric_sentence(call, seen), evidence=(call.id,), kind="measured")
    for suspect in rank(state):
        text = f"Suspect: {suspect.name} ({'; '.join(suspect.reasons)})."
        yield Claim(text=text, evidence=suspect.evidence, kind="suspect")
    yield from _known_facts(state)
    for call, seen in state.observations:
        near = isinstance(seen, MessageSeen) and seen.at and abs(seen.at - state.incident.started_at) <= _NEAR
        if isinstance(seen, MessageSeen) and near:
            yield Claim(text=f"{seen.author} wrote: {seen.text[:200]}", evidence=(call.id,), kind="said")


def _known_facts(state: State) -> Iterator[Claim]:
    yield from (Claim(text=text, evidence=evidence) for text, evidence in parts.sentences(state))
    consulted, located = state.consulted, state.located
    if located and located.owner and owner_of(state).certainty == "likely":
        text = f"This is probably for {located.owner.name}, says {located.owner_known_by}."
        yield Claim(text=text, evidence=(located.owner.id,))
    if consulted is None or consulted.service is None or located is None:
        return
    name = consulted.service.name
    yield Claim(text=f"This is about {located.explanation}.", evidence=(consulted.service.id,))
    if consulted.team:
        yield Claim(text=f"{name} is owned by {consulted.team.name}, says the graph.", evidence=(consulted.team.id,))
    for past in _most_relevant(state, consulted.incidents)[:3]:
        started = past.text("started_at")[:10]
        text = f"{name} was hit before: {past.text('title') or past.name}{f', on {started}' if started else ''}."
        yield Claim(text=text, evidence=(past.id,), kind="history")


def _metric_sentence(call: ToolCall, seen: MetricSeen) -> str:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(seen.labels.items()) if key != "__name__")
    what = "The alert's expression" if call.id.startswith("alert-expression") else "A query"
    expression = seen.expression
    shown = expression if len(expression) <= _MAX_EXPRESSION else f"{expression[:_MAX_EXPRESSION]}…"
    return (
        f"{what} is {number(seen.last)}{f' for {labels}' if labels else ''} "
        f"({number(seen.lowest)} to {number(seen.highest)} in the time asked for): {shown}"
    )


def _model_sentences(state: State) -> Iterator[Claim]:
    reply = next((each for each in reversed(state.replies) if each.claims), None)
    for claim in (*(claim for part in state.part_answers for claim in part.claims), *(reply.claims if reply else ())):
        yield Claim(text=claim.text, evidence=claim.evidence, kind="model")


def _checked(state: State) -> tuple[Check, ...]:
    checks: list[Check] = []
    consulted = state.consulted
    if consulted:
        result = "could not be checked" if consulted.error else "found" if consulted.found else "empty"
        checks.append(Check(source="graph", purpose="what is known", result=result, detail=consulted.error))
    for event in state.tool_events:
        match event:
            case ToolAnswered():
                # An answer we cannot type still is an answer; only a typed read can be known to be empty.
                empty = not event.observations and not event.call.id.startswith("model-")
                result, detail = ("empty" if empty else "found"), ""
            case ToolFailed():
                result, detail = ("empty" if is_miss(event) else "could not be checked"), event.error
        checks.append(Check(source=event.call.server, purpose=event.call.purpose, result=result, detail=detail))
    return tuple(checks)


def _gaps(state: State, status: str, reason: str) -> tuple[str, ...]:
    """What the report does not know, each with the reason."""
    gaps = [f"The server {name} could not be asked: {why}" for name, why in state.unreachable.items()]
    gaps += [
        f"{event.call.server} did not tell {event.call.purpose}: {event.error}"
        for event in state.tool_events
        if isinstance(event, ToolFailed) and not is_miss(event)
    ]
    consulted = state.consulted
    if consulted and consulted.error:
        gaps.append(f"The graph could not be read: {consulted.error}")
    elif consulted and consulted.service:
        gaps += _unknown_facts(consulted.service.name, consulted.team, bool(_runbooks(state)), owner_of(state))
    elif consulted and state.located and state.located.route == "point":
        gaps += _unknown_owner(owner_of(state))
    if consulted and consulted.truncated:
        gaps.append("The blast radius was cut off at its cap: there are more services than shown.")
    if consulted and consulted.suppliers_truncated:
        gaps.append("The list of suppliers was cut off at its cap: there are more than shown.")
    gaps += parts.gaps(state)
    if state.equipped and not state.tools and not state.unreachable:
        gaps.append("No live system was asked: no MCP server is configured. All of this is the graph's word.")
    if state.model_failure:
        gaps.append(f"The model failed ({state.model_failure.error}); the plan that needs no model finished the job.")
    elif not state.model and status == "complete":
        gaps.append(NO_MODEL)
    if "budget" in reason:
        gaps.append(f"The investigation stopped early: {reason}.")
    return tuple(gaps)


def _unknown_facts(service: str, team: Known | None, has_runbook: bool, owner: Owner) -> Iterator[str]:
    if team is None:
        yield f"The graph knows no owner of {service}."
    if owner.channel is None:
        yield f"There is {NO_CHANNEL} for {owner.team or service}."
    if not has_runbook:
        yield f"The graph knows no runbook of {service}."


def _unknown_owner(owner: Owner) -> Iterator[str]:
    """Whose it is, where no service is sure."""
    if owner.team is None:
        why = f": {owner.known_by}" if owner.known_by else ", and nothing else in it names a team that the graph knows"
        yield f"No owner is known, as no service is{why}."
    elif owner.channel is None:
        yield f"There is {NO_CHANNEL} for {owner.team}."


def _spend(state: State) -> Spend:
    events = state.events
    return Spend(
        model=state.model,
        turns=len(state.replies),
        tool_calls=len(state.tool_events),
        input_tokens=sum(each.input_tokens for each in (*state.replies, *state.part_answers)),
        output_tokens=sum(each.output_tokens for each in (*state.replies, *state.part_answers)),
        budget=state.budget,
        seconds=round((events[-1].at - events[0].at).total_seconds() + events[0].seconds, 3) if events else 0.0,
    )


def number(value: float) -> str:
    """A measured value in at most four significant digits, without an exponent where a person expects none."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
