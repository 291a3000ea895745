"""Reads the graph for a question about more than one service: paths between two things, or the communities."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from agent.known import Known, Part, Way
from agent.state import Consulted
from graphrag import overview
from graphrag.embed import Embed
from graphrag.model import SAID, Direction, Edge, EdgeType, Node
from graphrag.store import GraphStore
from graphrag.traverse import Path, Paths, paths

MAX_WAYS = 5
HOPS = 6

_ALONG = tuple(type for type in EdgeType if type not in (EdgeType.MENTIONS, EdgeType.IN_COMMUNITY, EdgeType.CO_OCCURS))

Elapsed = Callable[[], float]


def known(node: Node, hops: int = 0, path: tuple[str, ...] = ()) -> Known:
    """A node as an investigation carries it."""
    return Known(
        id=node.id,
        label=node.label.value,
        name=node.name,
        summary=node.summary,
        hops=hops,
        path=path,
        properties={**node.properties, "aliases": node.aliases},
        last_seen=node.life.last_seen,
        confirmations=node.life.confirmations,
        sources=node.life.sources,
    )


async def consult_paths(store: GraphStore, tenant: str, ends: tuple[Known, ...], elapsed: Elapsed) -> Consulted:
    """How two things hang together: by what the one needs, else by what the other needs, else by any facts. Raises
    `GraphError`."""
    first, last = (end.id for end in ends)
    found = Paths((), truncated=False)
    for types, direction in (
        ((EdgeType.DEPENDS_ON,), Direction.OUT),
        ((EdgeType.DEPENDS_ON,), Direction.IN),
        (_ALONG, Direction.BOTH),
    ):
        found = await paths(store, tenant, first, last, types, direction, HOPS, MAX_WAYS)
        if found.paths:
            break
    return Consulted(
        at=datetime.now(UTC),
        seconds=elapsed(),
        ways=tuple(_way(path) for path in found.paths),
        more_ways=found.truncated,
    )


def _way(path: Path) -> Way:
    names = {node.id: node.name for node in path.nodes}
    return Way(
        nodes=tuple(known(node) for node in path.nodes),
        text="; ".join(_fact(edge, names) for edge in path.edges) + ".",
    )


def _fact(edge: Edge, names: dict[str, str]) -> str:
    return f"{names[edge.source]} {edge.verb or SAID[edge.type]} {names[edge.target]}"


async def consult_whole(store: GraphStore, embed: Embed, tenant: str, question: str, elapsed: Elapsed) -> Consulted:
    """What each community that has to do with the question has to say. Raises `GraphError`."""
    found = await overview.overview(store, embed, tenant, question)
    return Consulted(
        at=datetime.now(UTC),
        seconds=elapsed(),
        parts=tuple(_part(part) for part in found.parts),
        more_parts=found.left_out,
    )


def _part(part: overview.Part) -> Part:
    owners = {service: owner.name for service, owner in part.owners.items()}
    return Part(
        community=known(part.community),
        title=part.title,
        text=part.text,
        services=tuple(
            known(service).model_copy(update={"owner": owners.get(service.id, "")}) for service in part.services
        ),
        suppliers=tuple(known(each) for each in part.suppliers),
        incidents=tuple(known(each) for each in part.incidents),
    )
