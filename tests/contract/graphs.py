"""What the suites of the graph build their graphs from, and the stores they run on."""

from datetime import UTC, datetime, timedelta

from graphrag.identity import name_key
from graphrag.model import EdgeFact, EdgeType, Facts, Label, NodeFact, Ref, node_id

DIMENSIONS = 4
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
# The fixtures of the releases that every store's suite runs on; what no release can differ in runs on the first.
NEO4J, NEO4J_IDS = ("neo4j_lts_url", "neo4j_current_url"), ("neo4j-lts", "neo4j-current")


def service(name: str, *aliases: str, summary: str = "", **properties: str) -> NodeFact:
    return NodeFact(Label.SERVICE, name, summary, aliases, properties)


def depends(source: str, target: str) -> EdgeFact:
    return EdgeFact(EdgeType.DEPENDS_ON, Ref(Label.SERVICE, source), Ref(Label.SERVICE, target))


def run(*facts: NodeFact | EdgeFact, source: str = "catalogue", hour: int = 0, complete: bool = False) -> Facts:
    return Facts(
        source,
        NOON + timedelta(hours=hour),
        nodes=tuple(fact for fact in facts if isinstance(fact, NodeFact)),
        edges=tuple(fact for fact in facts if isinstance(fact, EdgeFact)),
        complete=complete,
    )


def id_of(tenant: str, name: str, label: Label = Label.SERVICE) -> str:
    return node_id(tenant, label, name_key(name))
