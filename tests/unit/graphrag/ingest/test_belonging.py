"""People, APIs, systems and domains of a catalogue, and who belongs where."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from graphrag.identity import name_key
from graphrag.ingest.backstage import read_entities
from graphrag.ingest.catalogue import Catalogue, read_catalogue
from graphrag.ingest.folder import SourceFile
from graphrag.ingest.stated import Known, read_stated
from graphrag.lives import Run
from graphrag.model import EdgeType, Facts, Label, NodeFact
from graphrag.open_store import open_store
from graphrag.store import GraphStore
from graphrag.traverse import blast_radius
from graphrag.writing import decide_edges, decide_nodes

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[GraphStore]:
    store = open_store(f"sqlite:///{tmp_path / 'graph.db'}", dimensions=2)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def document(kind: str, name: str, spec: str = "") -> str:
    return f"apiVersion: backstage.io/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n---\n"


def catalogue(*documents: str) -> Catalogue:
    entities, failures = read_entities(SourceFile("catalog.yaml", "".join(documents)))
    assert failures == []
    return read_catalogue(entities, [])


def relations(found: Catalogue) -> set[tuple[str, str, str]]:
    return {(edge.source.name, edge.verb, edge.target.name) for edge in found.edges if edge.verb}


def entity(found: Catalogue, name: str) -> NodeFact:
    (fact,) = (fact for fact in found.nodes if (fact.label, fact.name) == (Label.ENTITY, name))
    return fact


CREW = document("Group", "crew")
JANE = document(
    "User", "jane", "profile: {displayName: Jane D, email: Jane@Dock.example}, memberOf: [group:default/crew]"
)


def test_a_user_is_a_person_known_by_display_name_and_address() -> None:
    jane = entity(catalogue(CREW, JANE), "jane")
    assert (jane.properties, jane.aliases, jane.identifiers) == (
        {"kind": "person"},
        ("Jane D",),
        ("mailto:jane@dock.example",),
    )
    assert jane.summary == "Jane D (jane): user. Member of crew."


def test_a_member_is_one_whichever_side_says_so() -> None:
    said_by_user = catalogue(CREW, JANE)
    said_by_group = catalogue(document("Group", "crew", "members: [jane]"), document("User", "jane"))
    assert relations(said_by_user) == relations(said_by_group) == {("jane", "member of", "crew")}


def test_what_is_no_address_identifies_nobody() -> None:
    for address in ("ask at the desk", "'@dock'", "'Jane <jane@dock.example>'"):
        assert entity(catalogue(document("User", "jane", f"profile: {{email: {address}}}")), "jane").identifiers == ()


def test_two_people_who_are_called_alike_stay_two() -> None:
    alike = "profile: {displayName: Jane D}"
    found = catalogue(document("User", "jane", alike), document("User", "jane2", alike))
    assert (entity(found, "jane").aliases, entity(found, "jane2").aliases) == (("Jane D",), ())
    assert found.failures == ()


def test_a_display_name_never_takes_the_name_of_something_else() -> None:
    found = catalogue(document("User", "jane", "profile: {displayName: Shop}"), document("System", "shop"))
    assert entity(found, "jane").aliases == ()
    assert entity(found, "shop").properties == {"kind": "system"}


def test_an_api_says_who_provides_and_who_consumes_it() -> None:
    found = catalogue(
        CREW,
        document("API", "rates", "type: openapi, owner: crew, system: shop"),
        document("System", "shop", "owner: crew, domain: trade"),
        document("Domain", "trade", "owner: crew, subdomainOf: all"),
        document("Domain", "all"),
        document("Component", "books", "providesApis: [rates], system: shop"),
        document("Component", "till", "consumesApis: [rates], system: other"),
        document("Component", "desk", "dependsOn: ['api:default/rates']"),
    )
    assert relations(found) == {
        ("books", "provides", "rates"),
        ("till", "consumes", "rates"),
        ("desk", "consumes", "rates"),
        ("rates", "owned by", "crew"),
        ("rates", "part of", "shop"),
        ("books", "part of", "shop"),
        ("shop", "owned by", "crew"),
        ("shop", "part of", "trade"),
        ("trade", "owned by", "crew"),
        ("trade", "part of", "all"),
    }
    assert entity(found, "rates").properties == {"kind": "product"}
    assert entity(found, "rates").summary == (
        "rates: openapi. Part of shop. Owned by crew. Provided by books. Consumed by till, desk."
    )
    needs = {(edge.source.name, edge.target.name) for edge in found.edges if edge.type is EdgeType.DEPENDS_ON}
    assert needs == {("till", "books"), ("desk", "books")}


def test_kinds_of_one_name_are_things_of_their_own() -> None:
    found = catalogue(
        document("API", "shop"),
        document("System", "shop"),
        document("Component", "shop", "providesApis: [shop], system: shop"),
        document("User", "shop"),
    )
    kinds = {fact.name: fact.properties["kind"] for fact in found.nodes if fact.label is Label.ENTITY}
    assert kinds == {"shop": "system", "shop (api)": "product", "shop (user)": "person"}
    edges = {(edge.source.label, edge.verb, edge.target.name) for edge in found.edges}
    assert edges == {(Label.SERVICE, "provides", "shop (api)"), (Label.SERVICE, "part of", "shop")}
    assert found.failures == ()


def test_two_of_one_kind_and_name_are_one_and_said() -> None:
    found = catalogue(document("User", "jane"), document("User", "Jane"))
    assert found.failures == (("catalog.yaml", "user Jane has the same name as user jane in catalog.yaml"),)


def test_a_service_that_a_person_owns_has_no_team_for_it() -> None:
    found = catalogue(JANE, CREW, document("Component", "till", "owner: user:default/jane"))
    assert ("till", "owned by", "jane") in relations(found)
    assert not [edge for edge in found.edges if edge.type is EdgeType.OWNED_BY]


async def test_people_and_teams_that_nobody_defines_are_reported(store: GraphStore) -> None:
    found = catalogue(
        document("User", "jane", "memberOf: [ghosts]"),
        document("Group", "crew", "members: [nobody, shop], parent: above"),
        document("System", "shop"),
        document("Component", "till", "owner: user:someone, dependsOn: [scale]"),
    )
    report = await store.write("t", Facts("folder", NOW, found.nodes, found.edges))
    assert set(report.dangling) == {
        "member of jane -> ghosts",
        "member of nobody -> crew",
        "member of shop (user) -> crew",
        "part of crew -> above",
        "OWNED_BY till -> someone",
        "DEPENDS_ON till -> scale",
    }


def test_an_entity_that_somebody_takes_for_a_service_stays_what_it_is() -> None:
    text = document("System", "shop") + document("Component", "till", "dependsOn: ['component:shop']")
    stated = read_stated([SourceFile("catalog.yaml", text)], {}, "org", Known())
    (shop,) = (fact for fact in stated.nodes if fact.label is Label.ENTITY)
    assert shop.properties == {"kind": "system"}
    assert ("till", "depends on", "shop") in {(e.source.name, e.verb, e.target.name) for e in stated.edges}


async def test_circles_of_ownership_and_of_parents_do_no_harm(store: GraphStore) -> None:
    found = catalogue(
        document("Group", "alpha", "parent: beta, children: [beta], members: [jane]"),
        document("Group", "beta", "parent: alpha, children: [alpha, beta]"),
        document("Group", "self", "parent: self, children: [self]"),
        document("User", "jane", "memberOf: [alpha, beta]"),
        document("Domain", "trade", "subdomainOf: trade, owner: alpha"),
        document("System", "shop", "domain: trade, system: shop, owner: user:jane"),
        document("Component", "till", "owner: alpha, system: shop, dependsOn: [books]"),
        document("Component", "books", "owner: beta, system: shop, dependsOn: [till]"),
    )
    report = await store.write("t", Facts("folder", NOW, found.nodes, found.edges, complete=True))
    again = await store.write("t", Facts("folder", NOW.replace(hour=13), found.nodes, found.edges, complete=True))
    assert (report.dangling, again.added, again.closed) == ((), 0, 0)
    assert {("alpha", "part of", "beta"), ("beta", "part of", "alpha")} <= relations(found)
    (till,) = (await store.resolve("t", [name_key("till")], [Label.SERVICE]))[name_key("till")]
    assert [member.name for member in (await blast_radius(store, "t", till.id)).members] == ["books"]


WORDS = st.sampled_from(["till", "Till", "shop", "shop (api)", "user:shop", "api:till", "group:default/shop", "-", ""])
SPECS = st.dictionaries(
    st.sampled_from(
        "owner system domain subdomainOf parent children members memberOf providesApis consumesApis dependsOn"
        " dependencyOf type profile".split()
    ),
    WORDS
    | st.lists(WORDS | st.none() | st.lists(WORDS), max_size=3)
    | st.fixed_dictionaries({}, optional={"displayName": WORDS, "email": WORDS | st.just("a@b")}),
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "apiVersion": st.just("backstage.io/v1alpha1"),
        "kind": st.sampled_from("Component Resource API System Domain User Group Location".split()),
        "metadata": st.fixed_dictionaries({"name": WORDS}, optional={"title": WORDS}),
        "spec": SPECS,
    }
)


@given(st.lists(DOCUMENTS, max_size=8))
def test_whatever_a_catalogue_holds_can_be_written_and_each_kind_stays_its_own(documents: list[object]) -> None:
    entities, _ = read_entities(SourceFile("catalog.yaml", yaml.safe_dump_all(documents)))
    found = read_catalogue(entities, [])
    run = Run([Facts("folder", NOW, found.nodes, found.edges)])
    nodes = decide_nodes("t", run, {}, {})
    decide_edges("t", run, nodes, {})
    named = [(fact.label, name_key(fact.name)) for fact in found.nodes if fact.label is not Label.RUNBOOK]
    assert len(nodes.put) == len(found.nodes)
    assert len(set(named)) == len(named)
