from graphrag.ingest.hearsay import as_said, settled
from graphrag.ingest.sources.found import Found
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, Ref


def service(name: str) -> Ref:
    return Ref(Label.SERVICE, name)


def needs(source: str, target: str) -> EdgeFact:
    return EdgeFact(EdgeType.DEPENDS_ON, service(source), service(target))


def owned(source: str, team: str) -> EdgeFact:
    return EdgeFact(EdgeType.OWNED_BY, service(source), Ref(Label.TEAM, team))


STATED = settled([NodeFact(Label.SERVICE, "till"), NodeFact(Label.SERVICE, "vault")], [needs("till", "vault")])
SERVICES = {"till": "till", "vault": "vault", "scale": "scale"}


def test_who_lists_the_suppliers_of_one_service_settles_them_for_all_it_defines() -> None:
    assert STATED == ("DEPENDS_ON till", "DEPENDS_ON vault")
    assert settled([NodeFact(Label.SERVICE, "till")], []) == ()


def test_a_sentence_about_what_is_settled_is_kept_as_what_was_said() -> None:
    said = as_said(Found(edges=[needs("vault", "scale"), owned("vault", "crew")]), SERVICES, STATED)
    assert [(edge.type, edge.verb) for edge in said.edges] == [
        (EdgeType.RELATION, "is said to depend on"),
        (EdgeType.OWNED_BY, ""),
    ]


def test_a_sentence_about_what_nobody_stated_counts() -> None:
    assert as_said(Found(edges=[needs("scale", "vault")]), SERVICES, STATED).edges == [needs("scale", "vault")]


def test_beside_defined_services_a_name_that_only_prose_knows_is_a_thing_and_no_service() -> None:
    chunk = Ref(Label.CHUNK, "page#0")
    mention = EdgeFact(EdgeType.MENTIONS, chunk, service("ghost"))
    found = Found([NodeFact(Label.SERVICE, "ghost")], [needs("scale", "ghost"), owned("ghost", "crew"), mention])
    said = as_said(found, SERVICES, STATED)
    (thing,) = said.nodes
    assert (thing.label, thing.properties) == (Label.ENTITY, {"kind": "system", "unresolved": True})
    assert [(edge.source, edge.verb or edge.type, edge.target) for edge in said.edges] == [
        (service("scale"), "is said to depend on", Ref(Label.ENTITY, "ghost")),
        (Ref(Label.ENTITY, "ghost"), "is said to be owned by", Ref(Label.TEAM, "crew")),
        (chunk, EdgeType.MENTIONS, Ref(Label.ENTITY, "ghost")),
    ]


def test_where_nothing_is_defined_prose_makes_the_services() -> None:
    found = Found([NodeFact(Label.SERVICE, "ghost")], [needs("ghost", "vault")])
    assert as_said(found, {}, ()) == found
