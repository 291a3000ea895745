"""Whose an alert is when its service does not say: on a real organisation of files, ingested into a SQLite store."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graphrag.embed import Embed, open_embedding
from graphrag.ingest import ingest
from graphrag.label_keys import NOTHING_TOLD, ToldKeys
from graphrag.model import Label, Life, Node, node_id
from graphrag.ownership import NOBODY, Claim, decide
from graphrag.retrieve import Location, locate
from graphrag.signals import Signals, signals_from_alerts
from graphrag.sqlite_store import SqliteStore

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LIFE = Life(NOW, NOW, NOW)
OWNED = {
    "till-front": "amber",
    "till-back": "amber",
    "grain-store": "birch",
    "grain-mill": "birch",
    "post-room": "cedar",
    "yard-gate": "cedar",
}
RULES = {
    "ops/rules/shared.yml": {
        "TillQueueLong": {"service": "till-front"},
        "GrainLate": {"service": "grain-store"},
        "MouseSeen": {},
        "LampOut": {"squad": "cedar"},
    },
    "ops/rules/mill/rules.yml": {"SackTorn": {}, "SackWet": {"service": "grain-mill"}},
    "ops/rules/desks.yml": {f"Desk{team.title()}": {"desk": team} for team in ("amber", "birch", "cedar")},
}
CODEOWNERS = """
/ops/rules/ @farm/amber
/ops/rules/mill/ @farm/birch
/ops/rules/desks.yml @farm/nobody-we-know
"""


def organisation(folder: Path) -> Path:
    teams = [
        f"apiVersion: backstage.io/v1alpha1\nkind: Group\nmetadata:\n  name: {team}\n"
        f'  annotations: {{slack.com/bot-notify: "#{team}-bell"}}\nspec: {{type: team, children: []}}\n'
        for team in sorted(set(OWNED.values()))
    ]
    services = [
        f"apiVersion: backstage.io/v1alpha1\nkind: Component\nmetadata: {{name: {name}}}\n"
        f"spec: {{type: service, lifecycle: production, owner: {team}}}\n"
        for name, team in OWNED.items()
    ]
    (folder / "catalog.yaml").write_text("---\n".join([*teams, *services]))
    (folder / "CODEOWNERS").write_text(CODEOWNERS)
    for path, alerts in RULES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        rules = [{"alert": name, "expr": "up == 0", "labels": labels} for name, labels in alerts.items()]
        (folder / path).write_text(f"groups: [{{name: all, rules: {rules!r}}}]")
    return folder


class Farm:
    def __init__(self, store: SqliteStore, embed: Embed) -> None:
        self.store = store
        self.embed = embed

    async def alert(self, *expressions: str, note: str = "", told: ToldKeys = NOTHING_TOLD, **labels: str) -> Location:
        signals = signals_from_alerts([labels], [{"summary": note}] if note else [], expressions, told)
        return await locate(self.store, self.embed, "t", signals, told=told)


@pytest.fixture(scope="module")
async def farm(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Farm]:
    store = SqliteStore(tmp_path_factory.mktemp("graph") / "graph.db", dimensions=64)
    await store.open()
    embedding = await open_embedding("hashed", store, dimensions=64)
    await ingest(store, embedding, "t", [organisation(tmp_path_factory.mktemp("farm"))], now=NOW)
    yield Farm(store, embedding.embed_queries)
    await store.close()


def team(location: Location) -> str | None:
    return location.owner.team.name if location.owner.team else None


@pytest.mark.parametrize("key", ["team", "squad", "owner", "label_team"])
async def test_a_label_that_names_a_team_says_whose_an_alert_of_no_service_is(farm: Farm, key: str) -> None:
    found = await farm.alert(alertname="Zzz", **{key: "Birch"})
    assert found.certainty == "unresolved"
    assert (team(found), found.owner.says) == ("birch", f"its label {key}=Birch")


@pytest.mark.parametrize(
    "labels",
    [
        {"team": "nobody-we-know"},
        {"team": "till-front"},
        {"severity": "birch"},
        {"colour": "birch"},
        {"env": "birch"},
    ],
    ids=str,
)
async def test_what_is_no_team_of_the_graph_or_stands_under_another_key_is_no_team(
    farm: Farm, labels: dict[str, str]
) -> None:
    found = await farm.alert(alertname="Zzz", **labels)
    assert found.owner == NOBODY


async def test_a_key_whose_values_are_learnt_to_be_teams_names_them(farm: Farm) -> None:
    found = await farm.alert(alertname="Zzz", desk="cedar")
    assert (team(found), found.owner.says) == ("cedar", "its label desk=cedar")


async def test_a_key_that_the_organisation_names_holds_its_teams(farm: Farm) -> None:
    assert (await farm.alert(alertname="Zzz", colour="birch")).owner == NOBODY
    told = ToldKeys(teams=("colour",))
    assert team(await farm.alert(alertname="Zzz", colour="birch", told=told)) == "birch"


async def test_two_labels_that_name_two_teams_name_nobody_and_it_says_so(farm: Farm) -> None:
    found = await farm.alert(alertname="Zzz", team="amber", squad="birch")
    assert team(found) is None
    assert "amber and birch" in found.owner.says


async def test_what_the_expression_asks_for_counts_where_the_alert_has_no_such_label(farm: Farm) -> None:
    expression = 'rate(x{team="birch"}[5m]) > 1'
    assert team(await farm.alert(expression, alertname="Zzz")) == "birch"
    assert team(await farm.alert(expression, alertname="Zzz", team="cedar")) == "cedar"


async def test_the_rules_own_label_counts_where_the_alert_lost_it(farm: Farm) -> None:
    found = await farm.alert(alertname="LampOut")
    assert (team(found), found.owner.says) == ("cedar", "the label squad=cedar of its rule")


async def test_codeowners_of_the_rules_file_stand_in_where_nothing_else_says_it(farm: Farm) -> None:
    found = await farm.alert(alertname="SackTorn")
    assert (team(found), found.owner.says) == ("birch", "the CODEOWNERS of its rule's file")


async def test_who_reviews_the_rules_of_other_teams_too_is_not_who_is_paged(farm: Farm) -> None:
    assert (await farm.alert(alertname="MouseSeen")).owner == NOBODY


async def test_services_of_one_team_that_are_named_alike_are_that_teams_whichever_is_meant(farm: Farm) -> None:
    found = await farm.alert(alertname="Zzz", service="grain-store", app="grain-mill", team="amber")
    assert found.certainty == "ambiguous"
    assert team(found) == "birch", "what the graph says goes before what the alert says of itself"
    assert "every service" in found.owner.says
    assert [claim.team.name for claim in found.claims] == ["amber"]


async def test_services_of_two_teams_are_nobodys_until_a_label_says(farm: Farm) -> None:
    assert (await farm.alert(alertname="Zzz", service="grain-store", app="till-front")).owner == NOBODY
    found = await farm.alert(alertname="Zzz", service="grain-store", app="till-front", team="cedar")
    assert team(found) == "cedar"


async def test_alerts_of_one_group_that_name_services_of_one_team_are_that_teams(farm: Farm) -> None:
    def group(*services: str) -> Signals:
        return signals_from_alerts([{"alertname": "Zzz", "service": name} for name in services], [], [])

    one = await locate(farm.store, farm.embed, "t", group("till-front", "till-back"))
    assert (one.certainty, team(one)) == ("ambiguous", "amber")
    names = group("till-front", "till-back", "post-room")
    two = await locate(farm.store, farm.embed, "t", names)
    assert (two.certainty, team(two)) == ("ambiguous", None)


async def test_a_label_that_the_organisation_names_weighs_like_service(farm: Farm) -> None:
    told = ToldKeys(services=("barn",))
    plain = await farm.alert(alertname="Zzz", barn="yard-gate.farm.local:80", told=NOTHING_TOLD)
    assert plain.certainty == "unresolved"
    found = await farm.alert(alertname="Zzz", barn="yard-gate.farm.local:80", told=told)
    assert (found.certainty, found.candidates[0].node.name) == ("resolved", "yard-gate")
    torn = await farm.alert(alertname="Zzz", barn="yard-gate", service="till-front", told=told)
    assert torn.certainty == "ambiguous"
    assert "contradict" in torn.explanation
    many = {f"a{number}": "x" for number in range(500)}
    assert (await farm.alert(alertname="Zzz", barn="yard-gate", told=told, **many)).certainty == "resolved"


# By hand --------------------------------------------------------------------------------------------------------------


def node(name: str, label: Label = Label.TEAM) -> Node:
    return Node(node_id("t", label, name), "t", label, name, LIFE)


AMBER, BIRCH = node("amber"), node("birch")


@pytest.mark.parametrize(
    ("shares", "owners", "alone", "named"),
    [
        ({"a": 0.3, "b": 0.3}, {"a": AMBER, "b": AMBER}, False, "amber"),
        ({"a": 0.3, "b": 0.1}, {"a": AMBER, "b": AMBER}, False, None),
        ({"a": 0.5, "b": 0.3}, {"a": AMBER, "b": BIRCH}, False, "amber"),
        ({"a": 0.5, "b": 0.4}, {"a": AMBER, "b": BIRCH}, False, None),
        ({"a": 0.5, "b": 0.4}, {"a": AMBER}, False, None),
        ({"a": 0.7}, {}, False, None),
        ({"a": 0.5, "b": 0.25, "c": 0.25}, {"a": AMBER, "b": AMBER, "c": BIRCH}, True, None),
        ({"a": 0.5, "b": 0.5}, {"a": AMBER, "b": AMBER}, True, "amber"),
    ],
)
def test_a_team_must_own_what_it_is_about_as_surely_as_a_service_must_be_named(
    shares: dict[str, float], owners: dict[str, Node], alone: bool, named: str | None
) -> None:
    found = decide(shares, owners, [], alone=alone)
    assert (found.team.name if found.team else None) == named


def test_the_louder_claim_names_the_team() -> None:
    claims = [Claim(AMBER, "rule", "the label team=amber of its rule"), Claim(BIRCH, "codeowners", "CODEOWNERS")]
    assert decide({}, {}, claims).team == AMBER
