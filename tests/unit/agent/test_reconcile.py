import pytest

from agent import reconcile
from agent.reconcile import AUTHORITY
from agent.suspects import rank
from connectors.observations import DependencySeen, MessageSeen, MetricSeen, OwnersSeen, PageSeen, ReleaseSeen
from tests.unit.agent.scene import (
    CHECKOUT,
    LEDGER,
    OPENED,
    PAYMENTS,
    RELEASE,
    START,
    STORAGE,
    answered,
    consulted,
    consulted_state,
    known,
    located,
    state,
)

NOBODY = state(located("unresolved", names=()), consulted(service=None, team=None))


def traffic(server: str, client: str = "checkout-api") -> DependencySeen:
    return DependencySeen(client=client, server=server, at=OPENED)


def owners(*names: str) -> OwnersSeen:
    return OwnersSeen(repo="acme/checkout", owners=names)


def release(version: str, released_at=START) -> ReleaseSeen:
    return ReleaseSeen(repo="acme/checkout", version=version, released_at=released_at)


ALL_KINDS = (traffic("fraud-check"), owners("@acme/storage"), release("2.0"))


@pytest.mark.parametrize("subject", [state(), NOBODY], ids=["not consulted", "no service"])
def test_without_a_service_nothing_can_be_contradicted(subject):
    subject = subject.after(answered("a@a", *ALL_KINDS))
    assert reconcile.conflicts(subject) == ()
    assert reconcile.live_dependencies(subject) == ()


def test_each_conflict_holds_both_sides_and_the_evidence_of_both():
    subject = consulted_state(answered("a@a", *ALL_KINDS), releases=(RELEASE,))
    told = {each.fact: (each.graph, each.live, each.evidence) for each in reconcile.conflicts(subject)}
    assert told == {
        "dependency": ("no dependency on fraud-check", "calls fraud-check", ("a@a", CHECKOUT.id)),
        "owner": ("payments", "@acme/storage", ("a@a", PAYMENTS.id)),
        "latest release": ("1.4.0", "2.0", ("a@a", RELEASE.id)),
    }


def test_live_wins_only_where_it_has_the_authority():
    found = reconcile.conflicts(consulted_state(answered("a@a", *ALL_KINDS)))
    assert {each.fact for each in found} == set(AUTHORITY)
    assert {(each.winner, each.subject) for each in found} == {("live", "checkout-api")}


def test_chat_pages_and_metrics_never_overrule_the_graph():
    seen = (
        MessageSeen(channel="#ops", author="ann", text="storage owns checkout-api now", at=START),
        PageSeen(title="Owners", excerpt="storage owns checkout-api"),
        MetricSeen(expression="up", labels={}, last=0, lowest=0, highest=1, at=START),
    )
    assert reconcile.conflicts(consulted_state(answered("a@a", *seen))) == ()


def test_what_the_graph_lacks_is_said_to_be_unknown():
    subject = consulted_state(answered("a@a", owners("@acme/storage"), release("2.0")), team=None, releases=())
    assert {each.fact: (each.graph, each.evidence) for each in reconcile.conflicts(subject)} == {
        "owner": ("no owner known", ("a@a", CHECKOUT.id)),
        "latest release": ("no release known", ("a@a", CHECKOUT.id)),
    }


def test_the_same_contradiction_is_told_once_with_the_first_evidence():
    subject = consulted_state(answered("a@a", traffic("fraud-check")), answered("b@b", traffic("fraud-check")))
    (conflict,) = reconcile.conflicts(subject)
    assert conflict.evidence == ("a@a", CHECKOUT.id)


@pytest.mark.parametrize(
    "seen",
    [
        traffic("ledger"),
        traffic("Ledger"),
        traffic("fraud-check", client="shop"),
        release("v1.4.0"),
        release("V1.4.0"),
        owners("@acme/payments"),
        owners("@someone", "@acme/Payments"),
        owners(),
    ],
)
def test_what_agrees_with_the_graph_or_is_about_another_service_is_no_conflict(seen):
    subject = consulted_state(answered("a@a", seen), releases=(RELEASE,))
    assert reconcile.conflicts(subject) == ()
    assert reconcile.live_dependencies(subject) == ()
    assert reconcile.live_owner(subject) is None


def test_a_supplier_two_hops_away_that_is_called_directly_is_news():
    subject = consulted_state(answered("a@a", traffic("vault")))
    assert reconcile.live_dependencies(subject) == (("vault", "a@a"),)
    assert [each.live for each in reconcile.conflicts(subject)] == ["calls vault"]


def test_aliases_count_on_both_ends_of_traffic():
    ledger = LEDGER.model_copy(update={"properties": {"aliases": ("books",)}})
    seen = (traffic("books", client="checkout"), traffic("fraud-check", client="checkout"))
    subject = consulted_state(answered("a@a", *seen), dependencies=(ledger,))
    assert reconcile.live_dependencies(subject) == (("fraud-check", "a@a"),)


def test_a_live_owner_is_the_graphs_team_of_that_name_where_there_is_one():
    assert reconcile.live_owner(consulted_state(answered("a@a", owners("@acme/storage")))) == (
        "@acme/storage",
        STORAGE,
        "a@a",
    )
    assert reconcile.live_owner(consulted_state(answered("a@a", owners("@ann")))) == ("@ann", None, "a@a")


def test_without_live_owners_the_graph_keeps_its_word():
    assert reconcile.live_owner(state(answered("a@a", owners("@acme/storage")))) is None
    assert reconcile.live_owner(consulted_state(answered("a@a", owners(), release("2.0")))) is None


def test_with_no_team_in_the_graph_any_live_owner_is_news():
    found = reconcile.live_owner(consulted_state(answered("a@a", owners("@acme/payments")), team=None))
    assert found == ("@acme/payments", PAYMENTS, "a@a")


def test_a_release_of_the_graph_without_a_version_is_no_known_release():
    nameless = known("some release", "Release")
    (conflict,) = reconcile.conflicts(consulted_state(answered("a@a", release("2.0")), releases=(nameless,)))
    assert (conflict.graph, conflict.evidence) == ("no release known", ("a@a", nameless.id))


def test_a_look_at_another_repository_is_no_contradiction_and_no_suspect():
    seen = ReleaseSeen(repo="acme/ledger", version="v9", released_at=START, author="bot")
    subject = consulted_state(answered("model-1-1@github", seen))
    assert reconcile.conflicts(subject) == ()
    assert [each for each in rank(subject) if each.kind == "release"] == []
