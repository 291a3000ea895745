"""What a walk over the facts of now reads in Neo4j: a hop of it, or all that it may come upon at once."""

from __future__ import annotations

from operator import itemgetter
from typing import Any, Protocol

from graphrag.model import Direction, Step
from graphrag.neo4j_facts import label_of, read_edge, read_node
from graphrag.store import Forecast, StepsFrom
from graphrag.stored import leaving, reaching
from graphrag.surroundings import Steps, Surroundings
from graphrag.writing import storable

_BY_ENDS = itemgetter("edge_type", "source", "target", "id")
_CONFIRMATIONS = itemgetter("confirmations")
_MOST_HOPS_AT_ONCE = 2  # what `surroundings` of read.cypher can


class Read(Protocol):
    """`Database.read`."""

    async def __call__(
        self, name: str, *, types: tuple[list[str], list[str]], far: int = 0, **values: Any
    ) -> list[dict[str, Any]]: ...


async def steps_now(read: Read, tenant: str, ask: StepsFrom) -> tuple[list[Step], bool]:
    rows = await read(
        "steps",
        tenant=tenant,
        scopes=list(ask.view.scopes),
        types=(leaving(ask.types, ask.direction), reaching(ask.types, ask.direction)),
        frontier=list(map(storable, ask.frontier)),
        limit=ask.limit + 1,
    )
    steps = [Step(ask.frontier[int(row["rank"])], row["there"], label_of(row["labels"]), row["name"]) for row in rows]
    return steps, sum(row["walked"] for row in rows) > ask.limit


async def foreseen(read: Read, tenant: str, ask: Forecast) -> Surroundings | Steps | None:
    """All that the walk may come upon; nothing where it is longer than one query goes, asks for the past, or would come
    upon too much: then it is read hop by hop."""
    if ask.view.as_of is not None or ask.hops < 1:
        return None
    if ask.direction is not Direction.BOTH:
        return await _all_steps(read, tenant, ask) if len(ask.view.scopes) == 1 else None
    return await _all_around(read, tenant, ask) if ask.hops <= _MOST_HOPS_AT_ONCE else None


async def _all_around(read: Read, tenant: str, ask: Forecast) -> Surroundings | None:
    both = leaving(ask.types, Direction.BOTH)
    found = await read(
        "surroundings",
        tenant=tenant,
        scopes=list(ask.view.scopes),
        types=(both, both),
        ids=sorted(set(map(storable, ask.ids))),
        hops=ask.hops,
        limit=ask.limit + 1,
    )
    for row in found:
        nodes = (read_node(each["node"], each["labels"]) for each in row["nodes"])
        edges = row["edges"]
        edges.sort(key=_BY_ENDS)
        edges.sort(key=_CONFIRMATIONS, reverse=True)
        return Surroundings(ask, row["inner"], nodes, list(map(read_edge, edges)))
    return None


async def _all_steps(read: Read, tenant: str, ask: Forecast) -> Steps | None:
    forward, backward = leaving(ask.types, ask.direction), reaching(ask.types, ask.direction)
    if forward and backward:  # a type that is walked both ways
        return None
    found = await read(
        "all_steps_out" if forward else "all_steps_in",
        tenant=tenant,
        scope=ask.view.scopes[0],
        types=(forward, backward),
        ids=sorted(set(map(storable, ask.ids))),
        far=ask.hops - 1,
        most=ask.cap + len(ask.ids),
        limit=ask.limit + 1,
    )
    for row in found:
        start = (read_node(each["node"], each["labels"]) for each in row["start"])
        ends = {id: (label_of(labels), name) for id, name, labels in row["ends"]}
        return Steps(ask, start, row["inner"], row["edges"], ends)
    return None
