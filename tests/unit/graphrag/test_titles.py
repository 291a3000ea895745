from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.model import Label, Life, Node
from graphrag.query import Query, query_of
from graphrag.signals import signals_from_alerts, signals_from_question
from graphrag.titles import alike, expected_help, folders_of, own_name, said

NOW = datetime(2026, 11, 30, tzinfo=UTC)
words = st.text("abcdef", min_size=1, max_size=12)


def fired(alertname: str) -> Query:
    return query_of(signals_from_alerts([{"alertname": alertname}], [], []))


def node(title: str, path: str, label: Label = Label.DOC) -> Node:
    return Node("n", "t", label, path, Life(NOW, NOW, NOW), properties={"path": path, "title": title})


@pytest.mark.parametrize(
    ("better", "worse"),
    [
        (node("Troubleshooting the till", "a.md"), node("The till", "a.md")),
        (node("Till", "till-runbook.md"), node("Till", "till.md", Label.RUNBOOK)),
        (node("Till alerts", "a.md"), node("Alertness", "a.md")),
        (node("Till alerts", "a.md"), node("Till runbook", "a.md")),
        (node("Till", "a.md", Label.RUNBOOK), node("Till", "a.md")),
    ],
)
def test_a_page_that_says_it_is_for_trouble_is_expected_to_help_more(better: Node, worse: Node) -> None:
    assert 0 <= expected_help(worse) < expected_help(better) <= 1


def test_a_page_whose_title_or_file_name_is_all_said_is_told_from_one_of_which_a_part_is() -> None:
    said_of = {
        place: said(node(title, place), fired("TillQueueGrows"))
        for title, place in (
            ("Till queue grows", "notes.md"),
            ("", "till.md"),
            ("Till queue", "migration.md"),
            ("Till queue migration", "till-queue-migration.md"),
            ("Holidays", "holidays.md"),
        )
    }
    assert said_of["till.md"] == 1
    assert said_of["notes.md"] == 0.5, "its title is, its file name is not"
    assert said_of["migration.md"] == 0.5
    assert said_of["till-queue-migration.md"] == pytest.approx(2 / 3)
    assert said_of["holidays.md"] == 0


def test_that_a_page_is_for_trouble_or_an_index_is_no_subject() -> None:
    plain = said(node("Till", "till.md"), fired("TillDown"))
    assert plain == 1
    for title, place in (
        ("Troubleshooting the till", "till-alerts.md"),
        ("Runbook: till", "till/README.md"),
        ("Till docs", "till.md"),
    ):
        assert said(node(title, place), fired("TillDown")) == plain


def test_a_page_called_by_its_kind_only_is_called_by_its_folders() -> None:
    page = node("Troubleshooting", "docs/till/troubleshooting/README.md")
    assert said(page, fired("TillDown")) == 1
    assert said(page, fired("LedgerDown")) == 0
    assert said(node("Runbook", "docs/runbook.md"), fired("TillDown")) == 0


def test_the_folders_of_a_page_with_a_subject_of_its_own_do_not_count_against_it() -> None:
    assert said(node("Till", "far/away/till.md"), fired("TillDown")) == said(node("Till", "till.md"), fired("TillDown"))


def test_an_index_page_goes_by_its_folders_name() -> None:
    assert own_name(node("", "docs/till/README.md")) == "till"
    assert own_name(node("", "docs/till/index.md")) == "till"
    assert own_name(node("", "README.md")) == "README"
    assert own_name(node("", "docs/slow.till.md")) == "slow.till"


def test_folders_come_outermost_first() -> None:
    assert folders_of("docs/till/slow.md") == ["docs/", "docs/till/"]
    assert folders_of("slow.md") == []


@pytest.mark.parametrize(
    ("word", "other", "likeness"),
    [
        ("kube", "kubernetes", 0.4),
        ("elastic", "elasticsearch", 7 / 13),
        ("saturation", "saturated", 0.7),
        ("till", "till", 1.0),
        ("tea", "team", 0.0),
        ("payments", "paint", 0.0),
        ("", "", 1.0),
        ("", "till", 0.0),
    ],
)
def test_words_with_a_common_beginning_are_alike_by_how_much_of_the_longer_it_is(
    word: str, other: str, likeness: float
) -> None:
    assert alike(word, other) == pytest.approx(likeness)


@given(words, words)
def test_likeness_works_both_ways_and_lies_between_zero_and_one(word: str, other: str) -> None:
    assert alike(word, other) == alike(other, word)
    assert 0 <= alike(word, other) <= 1


@given(st.text(max_size=30), st.text(max_size=30), st.text(max_size=60))
def test_any_page_is_said_by_any_question_to_a_share_between_zero_and_one(title: str, place: str, asked: str) -> None:
    assert 0 <= said(node(title, place), query_of(signals_from_question(asked))) <= 1
