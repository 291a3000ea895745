"""A Markdown page's outline."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphrag.ingest.documents import Kind, kind_of
from graphrag.ingest.page import plain, read_page
from graphrag.ingest.yaml_documents import BrokenYaml


def test_the_outline_leaves_code_comments_and_tables_of_contents_out() -> None:
    page = read_page(
        "<!-- note -->\n# The *big* [title](x) ##\n\n**Table of Contents**\n- [One](#one)\n\n"
        "Some `code`, <b>bold</b>.\n"
        "```sh\n# not a heading\n1. not a step\n```\n"
        "## One\n1. First\n   goes on\n   - nested\n2) Second\n\n| a | b |\n"
    )
    assert (page.title, page.headings) == ("The big title", ["One"])
    assert (page.steps, page.bullets) == (["First goes on", "Second"], [])
    assert page.prose == "Some code, bold."
    assert page.has_code


def test_two_rules_with_text_between_are_no_front_matter() -> None:
    page = read_page("---\nJust a sentence\n---\n# Title\n")
    assert (page.front, page.title, page.prose) == ({}, "Title", "Just a sentence")


def test_front_matter_that_never_ends_is_text() -> None:
    assert read_page("---\ntitle: x\n# Heading\n").title == "Heading"


def test_the_page_itself_says_its_kind_before_its_folder_and_its_folder_before_its_looks() -> None:
    steps = "# Restart the till\n## Symptoms\n1. a\n2. b\n3. c\n"
    assert kind_of(read_page(f"---\ntype: Doc\n---\n{steps}"), "org/runbooks/x.md") is Kind.DOCUMENT
    assert kind_of(read_page("# X\n"), "org/Runbooks/x.md") is Kind.RUNBOOK
    assert kind_of(read_page("# X\n"), "org/postmortems/x.md") is Kind.POSTMORTEM
    assert kind_of(read_page("# X\n"), "org/incidents/README.md") is Kind.DOCUMENT
    assert kind_of(read_page(steps), "org/x.md") is Kind.RUNBOOK
    assert kind_of(read_page("# X\n\nProse.\n"), "org/x.md") is Kind.DOCUMENT


def test_a_page_whose_headings_and_text_tell_of_an_incident_is_a_postmortem_without_front_matter() -> None:
    told = "# The till was down\n\n{}\n\n## Impact\n\nNo sales.\n\n## Root cause\n\nWater.\n"
    assert kind_of(read_page(told.format("Date: 4 March 2026")), "org/x.md") is Kind.POSTMORTEM
    assert kind_of(read_page(told.format("Last updated: 4 March 2026")), "org/x.md") is Kind.DOCUMENT
    assert kind_of(read_page(told.format("")), "org/2026-03-04-till.md") is Kind.POSTMORTEM


def test_a_page_among_incidents_that_instructs_and_tells_of_no_day_is_a_runbook() -> None:
    steps = "# The till is down\n\n{}\n\n## Mitigation\n\n1. a\n2. b\n3. c\n"
    assert kind_of(read_page(steps.format("")), "org/incidents/till.md") is Kind.RUNBOOK
    assert kind_of(read_page(steps.format("Date: 4 March 2026")), "org/incidents/till.md") is Kind.POSTMORTEM


def test_hostile_pages_are_read_in_linear_time() -> None:
    for piece in ("<!--", "[", "[a](", "<a ", "# ", "#", "*", "_a", "`", "---\n", "1. a\n", "> ", "===\n", "a_b*"):
        read_page(piece * (1_000_000 // len(piece)))
        read_page("# " + piece * 100_000 + "\n")


@given(st.text())
def test_any_text_is_a_page_or_has_broken_front_matter(text: str) -> None:
    try:
        page = read_page(text)
    except BrokenYaml:
        assert text.startswith("---")
    else:
        assert "\n" not in page.title + page.prose + plain(text)
