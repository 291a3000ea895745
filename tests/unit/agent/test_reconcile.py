from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.reconcile import AUTHORITY, conflicts, latest_release, live_dependencies, live_owner
from connectors.observations import DependencySeen, MessageSeen, OwnersSeen, PageSeen, ReleaseSeen
from tests.unit.agent.scene import (
    CHECKOUT,
    OPENED,
    PAYMENTS,
    RELEASE,
    START,
    STORAGE,
    answered,
    consulted_state,
    known,
    state,
)


def calls(server: str, client: str = "checkout-api") -> DependencySeen:
    return DependencySeen(client=client, server=server, at=OPENED)


def owners(*names: str) -> OwnersSeen:
    return OwnersSeen(repo="acme/checkout", owners=names)


def release(version: str, hours: float | None = 1) -> ReleaseSeen:
    when = None if hours is None else START - timedelta(hours=hours)
    return ReleaseSeen(repo="acme/checkout", version=version, released_at=when)


def test_nothing_conflicts_while_no_service_is_known():
    seen = answered("a@x", calls("redis"))
    for subject in (state(seen), consulted_state(seen, service=None)):
        assert conflicts(subject) == ()
        assert live_dependencies(subject) == ()


def test_a_supplier_only_traffic_shows_is_a_conflict_that_live_wins():
    subject = consulted_state(answered("graph@prometheus", calls("redis")))
    (conflict,) = conflicts(subject)
    assert (conflict.fact, conflict.winner) == ("dependency", "live")
    assert conflict.live == "calls redis"
    assert conflict.evidence == ("graph@prometheus", CHECKOUT.id)
    assert live_dependencies(subject) == (("redis", "graph@prometheus"),)


@pytest.mark.parametrize("server", ["ledger", "Ledger", "LEDGER"])
def test_a_supplier_the_graph_knows_is_no_conflict_however_it_is_spelled(server):
    assert conflicts(consulted_state(answered("a@x", calls(server)))) == ()


def test_a_supplier_known_only_at_the_second_hop_is_still_news_when_called_directly():
    assert [each.live for each in conflicts(consulted_state(answered("a@x", calls("vault"))))] == ["calls vault"]


def test_traffic_of_another_client_says_nothing_about_the_service():
    subject = consulted_state(answered("a@x", calls("redis", client="shop")))
    assert conflicts(subject) == ()
    assert live_dependencies(subject) == ()


def test_traffic_under_an_alias_is_the_services_own():
    assert len(conflicts(consulted_state(answered("a@x", calls("redis", client="checkout"))))) == 1


def test_the_same_conflict_seen_twice_is_told_once():
    subject = consulted_state(answered("a@x", calls("redis")), answered("b@y", calls("redis")))
    assert [each.evidence[0] for each in conflicts(subject)] == ["a@x"]


@pytest.mark.parametrize("version", ["1.4.0", "v1.4.0", "V1.4.0"])
def test_the_release_the_graph_knows_is_no_conflict_with_or_without_its_v(version):
    assert conflicts(consulted_state(answered("a@x", release(version)), releases=(RELEASE,))) == ()


def test_another_release_is_a_conflict():
    (conflict,) = conflicts(consulted_state(answered("a@x", release("1.5.0")), releases=(RELEASE,)))
    assert (conflict.graph, conflict.live, conflict.evidence) == ("1.4.0", "1.5.0", ("a@x", RELEASE.id))


def test_a_release_where_the_graph_knows_none_is_a_conflict_with_that():
    (conflict,) = conflicts(consulted_state(answered("a@x", release("1.5.0"))))
    assert (conflict.graph, conflict.evidence) == ("no release known", ("a@x", CHECKOUT.id))


def test_another_owner_is_a_conflict_and_the_graphs_team_of_that_name_is_found():
    subject = consulted_state(answered("owners@github", owners("@acme/Storage")))
    (conflict,) = conflicts(subject)
    assert (conflict.fact, conflict.graph, conflict.live) == ("owner", "payments", "@acme/Storage")
    assert conflict.evidence == ("owners@github", PAYMENTS.id)
    assert live_owner(subject) == ("@acme/Storage", STORAGE, "owners@github")


def test_a_live_owner_the_graph_has_no_team_for_stays_as_written():
    assert live_owner(consulted_state(answered("a@x", owners("@alice")))) == ("@alice", None, "a@x")


def test_an_owner_where_the_graph_knows_none_is_a_conflict_with_that():
    (conflict,) = conflicts(consulted_state(answered("a@x", owners("@acme/storage")), team=None))
    assert (conflict.graph, conflict.evidence) == ("no owner known", ("a@x", CHECKOUT.id))


@pytest.mark.parametrize("names", [(), ("@acme/payments",), ("@bob", "@acme/Payments")])
def test_no_owner_or_the_known_one_among_several_is_no_conflict(names):
    subject = consulted_state(answered("a@x", owners(*names)))
    assert conflicts(subject) == ()
    assert live_owner(subject) is None


def test_nobody_owns_anything_before_the_graph_was_consulted():
    assert live_owner(state(answered("a@x", owners("@acme/storage")))) is None


@given(st.text(max_size=50))
def test_chat_and_pages_never_win_over_the_graph(text: str):
    said = MessageSeen(channel="#ops", author="bob", text=f"checkout-api is owned by storage now {text}", at=OPENED)
    wrote = PageSeen(title="Owners", excerpt=f"checkout-api: storage {text}")
    assert conflicts(consulted_state(answered("a@x", said, wrote))) == ()


def test_each_kind_of_conflict_has_its_authority_written_down():
    seen = answered("a@x", calls("redis"), release("9"), owners("@acme/storage"))
    assert {each.fact for each in conflicts(consulted_state(seen))} == set(AUTHORITY)


def test_the_latest_release_is_the_one_with_the_latest_date():
    subject = state(answered("a@x", release("1", 5), release("0", None)), answered("b@y", release("2", 1)))
    assert latest_release(subject) == ("2", "b@y")


def test_without_dates_the_first_release_told_is_the_latest():
    assert latest_release(state(answered("a@x", release("1", None), release("2", None)))) == ("1", "a@x")


def test_no_release_told_is_no_latest_release():
    assert latest_release(state(answered("a@x", calls("redis")))) is None


def test_other_entities_with_the_same_key_do_not_matter_without_a_release():
    assert conflicts(consulted_state(answered("a@x", release("")), releases=(known("r", "Release"),))) == ()
