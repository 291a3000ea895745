"""Which names may mean one thing, against a comparison of all with all, and what is kept of it in a real store."""

import itertools
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from graphrag.model import Facts, Label, NodeFact, node_id
from graphrag.proposals import (
    Alike,
    UnknownProposal,
    proposal_id,
    proposals,
    propose,
    refresh_proposals,
    reject,
)
from graphrag.sqlite_store import SqliteStore

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)
TENANT = "acme"

words = st.sampled_from(["auth", "oauth", "checkout", "api", "cache", "caches", "1", "2"])
spelled = st.lists(words, min_size=1, max_size=4).map("-".join)


def dealt(names: list[str], nodes: int) -> dict[str, list[str]]:
    """No two nodes have a name in common, as in any graph."""
    return {str(node): names[node::nodes] for node in range(min(nodes, len(names)))}


estates = st.builds(dealt, st.lists(spelled, max_size=20, unique=True), st.integers(1, 12))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "graph.db", dimensions=2)
    await opened.open()
    yield opened
    await opened.close()


def one_each(*names: str) -> dict[str, list[str]]:
    return {f"id of {name}": [name] for name in names}


def named(found: Sequence[Alike]) -> list[tuple[str, str]]:
    return [each.names for each in found]


def likeness(one: str, other: str) -> float:
    return fuzz.ratio(one.replace("-", " "), other.replace("-", " ")) / 100


def is_part(one: str, other: str) -> bool:
    return one != other and f"-{one}-" in f"-{other}-"


def brute(names: Mapping[str, Sequence[str]]) -> dict[frozenset[str], float]:
    """Every pair of nodes that may be one, with the likeness of their likest names that say so."""
    found: dict[frozenset[str], float] = {}
    for (a, of_a), (b, of_b) in itertools.combinations(names.items(), 2):
        for one, other in itertools.product(of_a, of_b):
            like = likeness(one, other)
            if like >= 0.85 or is_part(one, other) or is_part(other, one):
                found[frozenset((a, b))] = max(like, found.get(frozenset((a, b)), 0))
    return found


@given(estates)
def test_every_pair_that_reads_alike_or_holds_the_other_is_proposed_once(names: dict[str, list[str]]) -> None:
    found = propose(names)
    expected = brute(names)
    assert {frozenset((each.left, each.right)): each.likeness for each in found} == pytest.approx(expected, abs=1e-4)
    assert len(found) == len(expected)
    assert [(-each.likeness, each.names) for each in found] == sorted((-each.likeness, each.names) for each in found)
    for each in found:
        assert each.names[0] in names[each.left]
        assert each.names[1] in names[each.right]


@given(estates, st.integers(1, 5))
def test_a_cap_keeps_the_first_of_the_whole_list(names: dict[str, list[str]], most: int) -> None:
    assert propose(names, most) == propose(names)[:most]


@given(estates)
def test_too_many_names_to_compare_all_are_compared_where_they_share_a_word_or_a_beginning(
    names: dict[str, list[str]],
) -> None:
    near = {
        frozenset((a, b))
        for (a, of_a), (b, of_b) in itertools.combinations(names.items(), 2)
        for one, other in itertools.product(of_a, of_b)
        if (likeness(one, other) >= 0.85 and (set(one.split("-")) & set(other.split("-")) or one[:4] == other[:4]))
        or is_part(one, other)
        or is_part(other, one)
    }
    assert {frozenset((each.left, each.right)) for each in propose(names, all_with_all=0)} == near


def test_a_proposal_says_why() -> None:
    found = propose(one_each("kafka-consumer-1", "Kafka Consumer 2", "checkout", "checkout-api", "ledger"))
    assert [(each.names, each.reason) for each in found] == [
        (
            ("Kafka Consumer 2", "kafka-consumer-1"),
            '"Kafka Consumer 2" and "kafka-consumer-1" read 0.94 alike.',
        ),
        (("checkout", "checkout-api"), '"checkout" is a part of the name "checkout-api".'),
    ]
    assert found[0].left == "id of Kafka Consumer 2"


def test_words_that_stand_apart_in_the_other_name_are_no_part_of_it() -> None:
    assert propose(one_each("redis-cache", "redis-cluster-cache")) == []
    assert named(propose(one_each("redis-cluster", "my-redis-cluster-cache"))) == [
        ("my-redis-cluster-cache", "redis-cluster")
    ]


def test_part_of_a_word_is_no_part_of_a_name() -> None:
    assert propose(one_each("check", "checkout-api")) == []


def test_symbols_tell_names_apart() -> None:
    assert propose(one_each("c", "c++", "++")) == []


def test_a_nodes_own_names_are_not_proposed_to_be_one() -> None:
    names = {"x": ["checkout", "checkout-api"], "y": ["ledger"]}
    assert propose(names) == []


def test_of_a_million_alike_the_cap_keeps_the_likest_and_then_the_first_by_name() -> None:
    likest = ("zebra-crossing-controller-of-the-north-1", "zebra-crossing-controller-of-the-north-2")
    consumers = [f"kafka-consumer-of-orders-{number:04}" for number in range(1_600)]
    first = [(consumers[0], consumers[number]) for number in (1, 2, 3)]
    assert named(propose(one_each(*likest, *reversed(consumers)), most=4)) == [likest, *first]


def test_the_likest_names_of_two_nodes_speak_for_them() -> None:
    found = propose({"x": ["checkout", "payments-gateway"], "y": ["checkout-api", "payment-gateway"]})
    assert named(found) == [("payment-gateway", "payments-gateway")]


def test_a_name_that_hundreds_contain_is_a_general_word() -> None:
    around = [f"api {chr(0x4E00 + number) * 12}" for number in range(501)]
    assert len(propose(one_each("api", *around[:500]))) == 500
    assert propose(one_each("api", *around)) == []


def test_a_word_that_hundreds_share_does_not_bring_them_together_among_too_many_to_compare() -> None:
    names = one_each(*(f"kafka-consumer-{number:03}" for number in range(501)))
    assert propose(names, all_with_all=500) == []
    assert len(propose(names, most=2_000)) == 2_000


async def write(store: SqliteStore, *names: str, moment: datetime = NOON, label: Label = Label.SERVICE) -> None:
    nodes = tuple(NodeFact(label, name) for name in names)
    await store.write(TENANT, Facts(f"catalogue of {label}", moment, nodes, complete=True))


async def pending(store: SqliteStore) -> list[tuple[str, str]]:
    return [each.alike.names for each in await proposals(store, TENANT)]


async def test_services_and_teams_are_proposed_each_among_themselves(store: SqliteStore) -> None:
    await write(store, "checkout", "checkout-api", "auth-service", "oauth-service")
    await write(store, "checkout-team", "checkouts-team", label=Label.TEAM)
    await write(store, "checkout-docs", "checkout-doc", label=Label.DOC)
    await store.write("another", Facts("catalogue", NOON, (NodeFact(Label.SERVICE, "checkout-apis"),)))
    assert await refresh_proposals(store, TENANT, NOON) == 3
    assert await pending(store) == [
        ("checkout-team", "checkouts-team"),
        ("auth-service", "oauth-service"),
        ("checkout", "checkout-api"),
    ]
    assert await proposals(store, "another") == []


async def test_a_proposal_is_kept_as_a_record_and_changes_no_fact(store: SqliteStore) -> None:
    await write(store, "auth-service", "oauth-service")
    before = await store.history(TENANT, None)
    await refresh_proposals(store, TENANT, NOON)
    left, right = (node_id(TENANT, Label.SERVICE, key) for key in ("authservice", "oauthservice"))
    (record,) = await store.records(TENANT, "same_as")
    assert record.id == proposal_id(left, right) == proposal_id(right, left)
    assert record.body == {
        "status": "pending",
        "left": left,
        "right": right,
        "names": ["auth-service", "oauth-service"],
        "likeness": 0.96,
        "reason": '"auth-service" and "oauth-service" read 0.96 alike.',
        "since": NOON.isoformat(),
    }
    assert await store.history(TENANT, None) == before


async def test_a_pending_proposal_keeps_the_time_since_when_it_waits(store: SqliteStore) -> None:
    await write(store, "checkout", "checkout-api")
    await refresh_proposals(store, TENANT, NOON)
    await write(store, "checkout", "checkout-api", "checkout-web", moment=LATER)
    assert await refresh_proposals(store, TENANT, LATER) == 2
    assert {each.alike.names: each.since for each in await proposals(store, TENANT)} == {
        ("checkout", "checkout-api"): NOON,
        ("checkout", "checkout-web"): LATER,
    }


async def test_what_a_person_rejected_is_never_proposed_again(store: SqliteStore) -> None:
    await write(store, "checkout", "checkout-api")
    await refresh_proposals(store, TENANT, NOON)
    (proposal,) = await proposals(store, TENANT)
    await reject(store, TENANT, proposal.id, "ada", "two services", LATER)
    assert await refresh_proposals(store, TENANT, LATER) == 0
    assert await pending(store) == []
    await write(store, "checkout", moment=LATER)
    await refresh_proposals(store, TENANT, LATER)
    await write(store, "checkout", "checkout-api", moment=LATER + timedelta(hours=1))
    assert await refresh_proposals(store, TENANT, LATER) == 0
    (record,) = await store.records(TENANT, "same_as")
    decided = {key: record.body[key] for key in ("status", "by", "because", "at", "since")}
    assert decided == {
        "status": "rejected",
        "by": "ada",
        "because": "two services",
        "at": LATER.isoformat(),
        "since": NOON.isoformat(),
    }


async def test_a_proposal_goes_with_what_it_was_about(store: SqliteStore) -> None:
    await write(store, "checkout", "checkout-api")
    await refresh_proposals(store, TENANT, NOON)
    await write(store, "checkout", moment=LATER)
    assert await refresh_proposals(store, TENANT, LATER) == 0
    assert await store.records(TENANT, "same_as") == []


async def test_only_a_pending_proposal_can_be_rejected_and_by_someone_for_a_reason(store: SqliteStore) -> None:
    await write(store, "checkout", "checkout-api")
    await refresh_proposals(store, TENANT, NOON)
    (proposal,) = await proposals(store, TENANT)
    with pytest.raises(ValueError, match="who rejects it and why"):
        await reject(store, TENANT, proposal.id, "ada", " ")
    with pytest.raises(UnknownProposal, match="same-as-unknown"):
        await reject(store, TENANT, "same-as-unknown", "ada", "two services")
    await reject(store, TENANT, proposal.id, "ada", "two services")
    with pytest.raises(UnknownProposal):
        await reject(store, TENANT, proposal.id, "bob", "two services")
