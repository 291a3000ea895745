"""What a label's key says of its value, and how that is learnt from the rules in a graph."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graphrag.label_keys import LIKELY, Use, claims, weight_of
from graphrag.label_uses import known_uses, refresh
from graphrag.model import Facts, Label, NodeFact
from graphrag.sqlite_store import SqliteStore

NOW = datetime(2026, 11, 30, tzinfo=UTC)
SERVICES = ("cart-api", "ledger-db", "mail-out", "till-web")
TEAMS = ("amber", "birch", "cedar")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await store.open()
    yield store
    await store.close()


@pytest.mark.parametrize(
    ("stronger", "weaker"),
    [("service", "job"), ("job", "cluster_name"), ("cluster_name", "pod"), ("pod", "component"), ("component", "team")],
)
def test_keys_that_are_known_to_name_services_count_more(stronger: str, weaker: str) -> None:
    assert weight_of(stronger) > weight_of(weaker) > 0


def test_a_severity_names_nothing() -> None:
    assert weight_of("severity") == 0


@pytest.mark.parametrize("key", ["exported_service", "label_app_kubernetes_io_name", "service_name", "k8s_app"])
def test_what_exporters_put_before_a_key_changes_nothing(key: str) -> None:
    assert weight_of(key) == weight_of("service")
    assert claims(key)


async def test_keys_whose_values_are_services_or_teams_are_learnt_from_the_rules(store: SqliteStore) -> None:
    rules = [
        NodeFact(
            Label.ALERT,
            f"Alert{at}",
            properties={
                "labels": (f"desk={team}", f"colour=c{at}", "few=cart-api"),
                "expression": f'errors{{what="{service}"}} > 1',
            },
        )
        for at, (service, team) in enumerate(zip(SERVICES, (*TEAMS, TEAMS[0]), strict=True))
    ]
    known = [*(NodeFact(Label.SERVICE, name) for name in SERVICES), *(NodeFact(Label.TEAM, name) for name in TEAMS)]
    await store.write("t", Facts("rules", NOW, (*known, *rules)))
    await refresh(store, "t")
    uses = await known_uses(store, "t")
    assert uses["what"] == Use(services=4, teams=0, values=4)
    assert (weight_of("what", uses), claims("what", uses)) == (LIKELY, True)
    assert weight_of("desk", uses) < weight_of("desk")
    assert weight_of("colour", uses) < weight_of("colour")
    assert (weight_of("few", uses), claims("few", uses)) == (weight_of("few"), False), "one value teaches nothing"
    assert weight_of("service", uses) == weight_of("service"), "what a key means everywhere is not learnt"


async def test_a_graph_without_rules_teaches_nothing(store: SqliteStore) -> None:
    assert await known_uses(store, "t") == {}
    await refresh(store, "t")
    assert await known_uses(store, "t") == {}
    assert await known_uses(store, "another") == {}
