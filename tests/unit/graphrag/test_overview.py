from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.communities import refresh
from graphrag.embed import EmbeddingUnavailable
from graphrag.model import EdgeFact, EdgeType, Facts, Label, Life, Node, NodeFact, Ref
from graphrag.overview import Limits, Part, fill, length, overview
from graphrag.rank import fuse
from graphrag.sqlite_store import SqliteStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TENANT = "default"
LIFE = Life(NOON, NOON, NOON)


def service(name: str) -> Ref:
    return Ref(Label.SERVICE, name)


def group(hub: str, *others: str) -> tuple[EdgeFact, ...]:
    return tuple(EdgeFact(EdgeType.DEPENDS_ON, service(other), service(hub)) for other in others)


SERVICES = {
    "ledger-db": "A relational database for bookings.",
    "bookings": "Writes bookings.",
    "invoices": "Writes invoices.",
    "event-bus": "Carries messages.",
    "mailer": "Sends letters.",
    "sms": "Sends short messages.",
    "depot": "Keeps files.",
    "thumbs": "Makes small pictures.",
    "gallery": "Shows pictures.",
}
FACTS = (
    *(NodeFact(Label.SERVICE, name, summary=summary) for name, summary in SERVICES.items()),
    NodeFact(Label.TEAM, "finance", summary="Looks after money."),
    NodeFact(Label.TEAM, "media"),
    NodeFact(Label.RUNBOOK, "restore.md", summary="How to restore a backup of photographs."),
    NodeFact(Label.INCIDENT, "outage 1", properties={"title": "Bookings were late", "started_at": "2026-01-01"}),
)
EDGES = (
    *group("ledger-db", "bookings", "invoices"),
    *group("event-bus", "mailer", "sms"),
    *group("depot", "thumbs", "gallery"),
    EdgeFact(EdgeType.OWNED_BY, service("bookings"), Ref(Label.TEAM, "finance")),
    EdgeFact(EdgeType.OWNED_BY, service("depot"), Ref(Label.TEAM, "media")),
    EdgeFact(EdgeType.HAS_RUNBOOK, service("depot"), Ref(Label.RUNBOOK, "restore.md")),
    EdgeFact(EdgeType.AFFECTED, Ref(Label.INCIDENT, "outage 1"), service("bookings")),
)


async def no_vectors(texts: Sequence[str]) -> list[list[float]]:
    raise EmbeddingUnavailable("it is away")


async def flat(texts: Sequence[str]) -> list[list[float]]:
    return [[0.0, 0.0] for _ in texts]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await store.open()
    yield store
    await store.close()


@pytest.fixture
async def known(store: SqliteStore) -> SqliteStore:
    await store.write(TENANT, Facts("catalog", NOON, FACTS, EDGES))
    await refresh(store, TENANT, NOON)
    return store


def told(parts: Sequence[Part]) -> list[list[str]]:
    return [[service.name for service in part.services] for part in parts]


async def test_the_community_that_a_question_fits_comes_first_with_the_services_that_matter(known: SqliteStore) -> None:
    found = await overview(known, no_vectors, TENANT, "Which services write bookings?")
    first = found.parts[0]
    assert first.services[0].name == "bookings"
    assert {"mailer", "depot"}.isdisjoint(told(found.parts)[0])
    assert "Owned by finance: bookings" in first.text
    assert "Past incidents: Bookings were late" in first.text


async def test_a_page_counts_for_the_service_it_belongs_to(known: SqliteStore) -> None:
    found = await overview(known, flat, TENANT, "What do we know about photographs?")
    assert told(found.parts)[0] == ["depot"]


async def test_a_team_counts_for_what_it_owns(known: SqliteStore) -> None:
    found = await overview(known, flat, TENANT, "What is there for money?")
    assert told(found.parts)[0] == ["bookings"]


async def test_a_community_that_fits_by_what_is_said_of_it_names_its_most_critical_services(store: SqliteStore) -> None:
    await store.write(TENANT, Facts("catalog", NOON, FACTS, EDGES))
    await refresh(
        store,
        TENANT,
        NOON,
        lambda made: "Telescopes." if any(each.name == "depot" for each in made.members) else "Else.",
    )
    (part,) = (await overview(store, flat, TENANT, "What do we know about telescopes?")).parts
    assert 1 <= len(part.services) <= 3
    assert {service.name for service in part.services} <= {"depot", "thumbs", "gallery"}


async def test_a_question_about_everything_is_told_of_every_community(known: SqliteStore) -> None:
    found = await overview(known, flat, TENANT, "Give me an overview of everything")
    assert len(found.parts) >= 3
    assert {name for names in told(found.parts) for name in names} == set(SERVICES)


async def test_what_is_left_out_is_counted(known: SqliteStore) -> None:
    question = "Give me an overview of everything"
    everything = await overview(known, flat, TENANT, question)
    cut = await overview(known, flat, TENANT, question, Limits(parts=2))
    assert cut.parts == everything.parts[:2]
    assert cut.left_out == len(everything.parts) - 2


async def test_what_nothing_fits_has_no_parts(known: SqliteStore) -> None:
    assert (await overview(known, flat, TENANT, "zzqx vvkj")).parts == ()


async def test_an_empty_graph_has_no_parts(store: SqliteStore) -> None:
    assert (await overview(store, flat, TENANT, "What is there?")).parts == ()
    assert (await overview(store, flat, TENANT, "Which services write bookings?")).parts == ()


async def test_another_tenants_communities_are_not_told_of(known: SqliteStore) -> None:
    assert (await overview(known, flat, "other", "Which services write bookings?")).parts == ()


# Filling an answer ----------------------------------------------------------------------------------------------------


def node(name: str, label: Label = Label.SERVICE) -> Node:
    return Node(id=f"{label}-{name}", tenant=TENANT, label=label, name=name, life=LIFE)


PARTS = st.lists(st.integers(1, 12), min_size=1, max_size=6).map(
    lambda sizes: [
        Part(
            node(f"community {place}", Label.COMMUNITY),
            tuple(node(f"service-{place}-{number}") for number in range(size)),
            others=place,
            owners={f"Service-service-{place}-0": node("team", Label.TEAM)},
            suppliers=(node("shared"),),
        )
        for place, size in enumerate(sizes)
    ]
)


@given(PARTS, st.integers(0, 2_000), st.randoms(use_true_random=False))
def test_an_answer_never_exceeds_its_length_and_says_breadth_before_depth(
    parts: list[Part], characters: int, draw: Random
) -> None:
    scores = {service.id: draw.random() for part in parts for service in part.services}
    filled = fill(parts, scores, characters)
    assert sum(map(length, filled)) <= characters
    said_once = fill([replace(part, services=part.services[:1]) for part in parts], {}, characters)
    assert [part.community for part in filled] == [part.community for part in said_once]
    for part in filled:
        whole = next(each for each in parts if each.community is part.community)
        assert set(told([part])[0]) <= set(told([whole])[0])
        assert part.services[0] is whole.services[0]


@given(PARTS)
def test_with_room_enough_nothing_is_left_out(parts: list[Part]) -> None:
    filled = fill(parts, {}, 1_000_000)
    assert [set(names) for names in told(filled)] == [set(names) for names in told(parts)]
    assert [part.others for part in filled] == [part.others for part in parts]


def test_what_several_lists_agree_on_comes_first() -> None:
    scores = fuse([["a", "b"], ["b", "c"]])
    assert max(scores, key=lambda id: scores[id]) == "b"
