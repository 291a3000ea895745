"""What is read out of prose without a model."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag.identity import name_key
from graphrag.ingest.chunk import MAX_PASSAGES, Passage, passages_of
from graphrag.ingest.extract import MAX_PAIRS, Cut, extract
from graphrag.ingest.page import read_page
from graphrag.ingest.sources.found import Found
from graphrag.ingest.vocabulary import Vocabulary
from graphrag.model import EdgeType, Label, Ref
from graphrag.writing import check_edge
from tests.unit.graphrag.ingest.prose_pages import PAGES, SILENT, TELLING, WORDINGS, Told

PAGE = Ref(Label.DOC, "docs/page.md")
RELATIONS = (EdgeType.DEPENDS_ON, EdgeType.OWNED_BY, EdgeType.HAS_RUNBOOK)

CATALOGUE = Vocabulary(
    [
        (Label.SERVICE, "payments-api", ("payments",)),
        (Label.SERVICE, "ledger-api", ()),
        (Label.SERVICE, "web", ()),
        (Label.SERVICE, "cache", ()),
        (Label.TEAM, "payments-team", ("Core Payments",)),
        (Label.RUNBOOK, "runbooks/payments.md", ()),
        (Label.DOC, "docs/design.md", ()),
        (Label.INCIDENT, "Checkout outage", ()),
    ]
)


def read(text: str, vocabulary: Vocabulary | None = None, page: Ref = PAGE) -> Found:
    cuts = [Cut(each, f"page#{each.ordinal}", f"chunk-{each.ordinal}") for each in passages_of(read_page(text).body)]
    return extract(page, cuts, vocabulary or Vocabulary())


def edges(found: Found, *types: EdgeType) -> list[tuple[str, str, str]]:
    wanted = types or RELATIONS
    return sorted((e.type.value, e.source.name, e.target.name) for e in found.edges if e.type in wanted)


def named(found: Found, label: Label) -> dict[str, str]:
    """Each key that a node of the label goes by -> its name."""
    return {
        name_key(spelling): node.name
        for node in found.nodes
        if node.label is label
        for spelling in (node.name, *node.aliases)
    }


@pytest.mark.parametrize("told", TELLING.values(), ids=TELLING.keys())
def test_a_page_without_a_catalogue_yields_its_services_team_runbook_and_four_edges(told: Told) -> None:
    found = read(told.text)
    services, teams, runbooks = (named(found, label) for label in (Label.SERVICE, Label.TEAM, Label.RUNBOOK))
    assert {name_key(each) for each in (told.service, *told.needs)} <= services.keys()
    assert len(set(services.values())) == 3
    assert set(teams.values()) == {teams[name_key(told.team)]}
    assert list(runbooks.values()) == [told.runbook]
    service = services[name_key(told.service)]
    assert edges(found) == sorted(
        [
            *(("DEPENDS_ON", service, services[name_key(need)]) for need in told.needs),
            ("OWNED_BY", service, teams[name_key(told.team)]),
            ("HAS_RUNBOOK", service, str(told.runbook)),
        ]
    )


@pytest.mark.parametrize(("text", "needs", "owned", "runbooks"), WORDINGS)
def test_each_wording_tells_its_relations(text: str, needs: int, owned: int, runbooks: int) -> None:
    told = edges(read(f"# Runbook: checkout-api\n\n{text}"))
    counted = tuple(sum(type == each.value for type, *_ in told) for each in RELATIONS)
    assert counted == (needs, owned, runbooks)
    assert {source for _, source, _ in told} <= {"checkout-api", "inventory-api"}
    assert {target for type, _, target in told if type == "DEPENDS_ON"} <= {"inventory-api", "price-api", "order-db"}


@pytest.mark.parametrize(("text", "needs", "owned", "runbooks"), PAGES)
def test_each_page_tells_its_relations_about_three_services_at_most(
    text: str, needs: int, owned: int, runbooks: int
) -> None:
    found = read(text)
    told = edges(found)
    assert tuple(sum(type == each.value for type, *_ in told) for each in RELATIONS) == (needs, owned, runbooks)
    assert len({source for _, source, _ in told}) <= 1
    assert sum(node.label is Label.SERVICE for node in found.nodes) == (1 + needs if told else 0)


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT.keys())
def test_prose_that_states_no_relation_yields_none(text: str) -> None:
    assert edges(read(text), EdgeType.DEPENDS_ON, EdgeType.OWNED_BY) == []


def test_each_fact_says_where_it_was_read_and_is_less_sure_than_a_stated_one() -> None:
    found = read(TELLING["plain prose"].text)
    assert {each.chunks for each in (*found.nodes, *found.edges)} == {("chunk-0",)}
    assert all(0 < each.confidence < 0.8 for each in (*found.nodes, *found.edges))


def test_known_names_are_surer_than_new_ones() -> None:
    sure = read("# Notes\n\n`payments-api` depends on `ledger-api`.", CATALOGUE).edges
    new = read("# Notes\n\n`payments-api` depends on `ledger-api`.").edges
    confidence = [{e.type: e.confidence for e in each}[EdgeType.DEPENDS_ON] for each in (sure, new)]
    assert confidence[0] > confidence[1]


def test_known_names_are_resolved_and_no_node_is_made_for_them() -> None:
    found = read(
        "# Notes\n\nThe Payments service depends on `ledger_api`. It is owned by the Core Payments team.", CATALOGUE
    )
    assert edges(found) == [
        ("DEPENDS_ON", "payments-api", "ledger-api"),
        ("OWNED_BY", "payments-api", "payments-team"),
    ]
    assert found.nodes == []


def test_an_ordinary_word_is_a_service_only_where_the_text_says_so() -> None:
    silent = read("# Notes\n\nOpen the web page and clear the cache. The cache relies on the web.", CATALOGUE)
    assert edges(silent, *EdgeType) == []
    told = read("# Notes\n\nThe web service is slow, and so is `cache`.", CATALOGUE)
    assert edges(told, EdgeType.MENTIONS) == [("MENTIONS", "page#0", "cache"), ("MENTIONS", "page#0", "web")]


def test_mentions_leave_the_chunk_for_each_known_thing() -> None:
    prose = "See [design](docs/design.md): after the Checkout Outage `payments-api` was rebuilt."
    text = f"# Notes\n\n{prose}\n\n```\nrestart ledger-api\n```"
    found = read(text, CATALOGUE)
    assert [target for _, _, target in edges(found, EdgeType.MENTIONS)] == [
        "Checkout outage",
        "docs/design.md",
        "ledger-api",
        "payments-api",
    ]


def test_a_link_to_a_page_of_ours_is_that_page() -> None:
    text = "# payments-api\n\nIts runbook is [here](https://git.example.com/x/blob/main/runbooks/payments.md#slow)."
    found = read(text, CATALOGUE)
    assert edges(found) == [("HAS_RUNBOOK", "payments-api", "runbooks/payments.md")]
    assert found.nodes == []


def test_a_page_titled_as_a_runbook_is_one_unless_it_says_where_the_runbook_is() -> None:
    page = Ref(Label.RUNBOOK, "runbooks/till.md")
    assert edges(read("# Runbook: till-api\n\nRestart it.", page=page)) == [
        ("HAS_RUNBOOK", "till-api", "runbooks/till.md")
    ]
    elsewhere = read("# Runbook: till-api\n\nIts runbook lives at https://wiki.example.com/till.", page=page)
    assert edges(elsewhere) == [("HAS_RUNBOOK", "till-api", "https://wiki.example.com/till")]


def test_two_spellings_of_one_new_service_are_one() -> None:
    found = read("# Notes\n\nThe Ledger service needs `rates-api`. `ledger` is owned by the Books team.")
    assert edges(found) == [("DEPENDS_ON", "ledger", "rates-api"), ("OWNED_BY", "ledger", "Books")] or edges(found) == [
        ("DEPENDS_ON", "Ledger", "rates-api"),
        ("OWNED_BY", "Ledger", "Books"),
    ]


def test_where_a_catalogue_names_the_services_a_loose_word_makes_no_new_one() -> None:
    found = read("# Notes\n\n`payments-api` uses round-robin and `big-table`. It needs `jq` and `curl`.", CATALOGUE)
    assert edges(found) == []


def test_people_are_known_by_their_address() -> None:
    found = read(
        "# Notes\n\nAsk [Jo Doe](mailto:jo.doe@acme.example.org) or ops@acme.org, not git@acme.org; else sam@acme.org."
    )
    people = {node.name: node for node in found.nodes if node.label is Label.ENTITY}
    assert set(people) == {"jo.doe@acme.example.org", "sam@acme.org"}
    assert people["jo.doe@acme.example.org"].aliases == ("Jo Doe",)
    assert people["sam@acme.org"].identifiers == ("mailto:sam@acme.org",)
    assert people["sam@acme.org"].properties["kind"] == "person"


def test_tickets_are_found_and_standards_are_not() -> None:
    found = read("# Notes\n\nSee OPS-1234 and SHOP-77. We use UTF-8, SHA-256, ISO-8601 and a T-1000x.")
    assert sorted(node.name for node in found.nodes) == ["OPS-1234", "SHOP-77"]


def test_names_that_stand_together_co_occur_once_and_within_bounds() -> None:
    names = [f"svc-{number}-api" for number in range(40)]
    vocabulary = Vocabulary((Label.SERVICE, name, ()) for name in names)
    found = read("# Notes\n\n" + " then ".join(names), vocabulary)
    pairs = [each for each in found.edges if each.type is EdgeType.CO_OCCURS]
    assert len(pairs) == MAX_PAIRS
    assert all(each.properties == {"weight": 1.0} for each in pairs)
    both = read("# Notes\n\nsvc-1-api with svc-2-api.\n\nsvc-2-api with svc-1-api.", vocabulary)
    assert len(edges(both, EdgeType.CO_OCCURS)) == 1


def test_related_names_do_not_co_occur_as_well() -> None:
    found = read("# Notes\n\n`payments-api` depends on `ledger-api`.", CATALOGUE)
    assert edges(found, EdgeType.CO_OCCURS) == []


def test_a_fact_that_two_passages_tell_is_one_with_both_chunks() -> None:
    found = read("# Notes\n\n## A\n\n`a-api` depends on `b-api`.\n\n## B\n\n`a-api` calls `b-api`.")
    (edge,) = [each for each in found.edges if each.type is EdgeType.DEPENDS_ON]
    assert edge.chunks == ("chunk-0", "chunk-1")


def test_code_states_nothing_even_where_passages_cut_it() -> None:
    code = "\n".join(f"line-{number} says payments-api depends on ledger-api" for number in range(200))
    assert edges(read(f"# Notes\n\n```\n{code}\n```\n", CATALOGUE)) == []


def test_it_is_what_was_spoken_of_last() -> None:
    other = "## Other\n\nThis service needs `fraud-api`."
    found = read(f"# payments-api\n\nThe Books team owns ledger-api. It needs `rates-api`.\n\n{other}")
    assert edges(found, EdgeType.DEPENDS_ON) == [
        ("DEPENDS_ON", "ledger-api", "rates-api"),
        ("DEPENDS_ON", "payments-api", "fraud-api"),
    ]


WORDS = (
    "payments-api ledger-api `web` the and depends on relies uses owned by team Payments runbook is at it which , . : ;"
    " ( ) [x](docs/design.md) [[a]] https://a.example/x * - | > # ``` ** _ not if \n \n\n @a/b a@b.org 's"
    " service services"
).split(" ")


@settings(max_examples=150, deadline=None)
@given(st.one_of(st.text(max_size=400), st.lists(st.sampled_from(WORDS), max_size=80).map(" ".join)))
def test_any_text_is_read_without_error_and_every_edge_fits_its_type(text: str) -> None:
    for vocabulary in (CATALOGUE, Vocabulary()):
        found = extract(PAGE, [Cut(each, "c", "i") for each in passages_of(text)], vocabulary)
        for edge in found.edges:
            check_edge(edge)
            assert edge.source.name
            assert edge.target.name
            assert edge.chunks


HOSTILE = {
    "one word": "a" * 2_000_000,
    "hyphens": "a-" * 1_000_000,
    "brackets": "[" * 1_000_000 + "](" * 500_000,
    "backticks": "`a " * 660_000,
    "names": "payments-api " * 150_000,
    "commas": "`a-b`, " * 280_000,
    "verbs": "depends on " * 180_000,
    "pipes": "| a " * 500_000,
    "capitals": "Aa " * 660_000 + "team",
    "spaces": " " * 1_000_000 + "x" + " " * 1_000_000,
    "addresses": "a@" * 1_000_000,
    "parentheses": "payments-api (" * 140_000,
    "signs": "\ue000\uf000" * 1_000_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_page_of_two_megabytes_is_read_to_its_end(text: str) -> None:
    length = -(-len(text) // MAX_PASSAGES)
    parts = [text[at : at + length] for at in range(0, len(text), length)]
    found = extract(
        PAGE, [Cut(Passage(at, ("Notes",), part), f"c{at}", f"i{at}") for at, part in enumerate(parts)], CATALOGUE
    )
    assert len(found.edges) < 20 * MAX_PASSAGES
