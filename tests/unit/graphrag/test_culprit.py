"""Which of several alerting services is at fault, by who depends on whom."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.culprit import Needs, Symptom, blame, symptom_of

FAILING, ITSELF, STARVED, UNKNOWN = Symptom.FAILING, Symptom.ITSELF, Symptom.STARVED, Symptom.UNKNOWN


def chain(*ids: str) -> dict[str, Needs]:
    """Each needs the next."""
    return {id: Needs({other: hops for hops, other in enumerate(ids[at + 1 :], 1)}) for at, id in enumerate(ids)}


def sure_of(symptoms: dict[str, list[Symptom]], needs: dict[str, Needs]) -> list[str]:
    return [id for id, each in blame(symptoms, needs).items() if each.sure]


@pytest.mark.parametrize(
    ("name", "symptom"),
    [
        ("HighRequestErrorRate", FAILING),
        ("CheckoutLatencyP99", FAILING),
        ("NoRequestsReceived", STARVED),
        ("CartServiceTrafficAbsent", STARVED),
        ("NoActiveInstance", UNKNOWN),
        ("KubePodCrashLooping", ITSELF),
        ("LedgerDown", ITSELF),
        ("", UNKNOWN),
        ("磁盘已满", UNKNOWN),
    ],
)
def test_the_name_of_an_alert_tells_the_symptom(name: str, symptom: Symptom) -> None:
    assert symptom_of(name) is symptom


def test_the_supplier_on_which_all_other_failing_services_depend_is_at_fault() -> None:
    symptoms = {"web": [FAILING], "api": [FAILING], "db": [FAILING]}
    assert sure_of(symptoms, chain("web", "api", "db")) == ["db"]


def test_a_service_that_gets_no_traffic_is_neither_at_fault_nor_in_need_of_an_explanation() -> None:
    symptoms = {"web": [FAILING], "api": [FAILING], "mail": [STARVED]}
    assert sure_of(symptoms, chain("web", "api", "mail")) == ["api"]


def test_among_services_that_do_not_depend_on_each_other_none_is_at_fault() -> None:
    assert sure_of({"a": [FAILING], "b": [FAILING]}, {}) == []


def test_in_a_cycle_nobody_is_at_fault() -> None:
    both = {"a": Needs({"b": 1, "a": 2}), "b": Needs({"a": 1, "b": 2})}
    assert sure_of({"a": [FAILING], "b": [FAILING]}, both) == []


def test_many_silent_suppliers_make_it_unsure_unless_the_service_itself_is_in_trouble() -> None:
    many = frozenset(f"s{n}" for n in range(8))
    needs = {"web": Needs(dict.fromkeys(many, 2) | {"api": 1}), "api": Needs(dict.fromkeys(many, 1))}
    assert sure_of({"web": [FAILING], "api": [FAILING]}, needs) == []
    assert blame({"web": [FAILING], "api": [FAILING]}, needs)["api"].silent == 8
    assert sure_of({"web": [FAILING], "api": [ITSELF]}, needs) == ["api"]


def test_alerts_that_name_no_symptom_put_nobody_at_fault() -> None:
    assert sure_of({"web": [UNKNOWN], "api": [UNKNOWN]}, chain("web", "api")) == []


@given(
    st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from(Symptom), min_size=1, max_size=3)),
    st.sets(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"))),
)
def test_at_most_one_is_surely_at_fault_and_every_share_is_one(
    symptoms: dict[str, list[Symptom]], edges: set[tuple[str, str]]
) -> None:
    needs = {id: Needs({b: 1 for a, b in edges if a == id}) for id in "abcd"}
    blamed = blame(symptoms, needs)
    assert blamed.keys() == symptoms.keys()
    assert sum(each.sure for each in blamed.values()) <= 1
    assert all(0 <= each.confidence <= each.explains <= 1 for each in blamed.values())


def test_what_everything_reports_to_makes_no_cycle_of_failures() -> None:
    """The collector needs the proxy, and every service needs the collector, which is well."""
    needs = {
        "proxy": Needs({"web": 1, "collector": 1, "cart": 2}),
        "web": Needs({"cart": 1, "collector": 1, "proxy": 2}),
        "cart": Needs({"collector": 1, "proxy": 2, "web": 3}),
    }
    assert sure_of({id: [FAILING] for id in needs}, needs) == ["cart"]


def test_of_two_ways_over_silent_services_the_shorter_counts() -> None:
    needs = {"a": Needs({"x": 1, "b": 2}), "b": Needs({"y": 1, "x": 2, "a": 3})}
    assert sure_of({"a": [FAILING], "b": [FAILING]}, needs) == ["b"]
