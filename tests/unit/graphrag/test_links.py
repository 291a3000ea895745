from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.identity import name_key
from graphrag.links import MAX_LINKS, links_in, names_of, page_of
from graphrag.model import Label, Life, Node

NOW = datetime(2026, 11, 30, tzinfo=UTC)


def known(*paths: str) -> dict[str, list[Node]]:
    found: dict[str, list[Node]] = {}
    for path in paths:
        found.setdefault(name_key(path), []).append(Node(path, "t", Label.RUNBOOK, path, Life(NOW, NOW, NOW)))
    return found


def meant(link: str, *paths: str) -> str | None:
    page = page_of(link, known(*paths))
    return page.name if page else None


@pytest.mark.parametrize(
    "link",
    [
        "https://git.example/org/books/-/blob/main/docs/till/slow.md#mitigation",
        "https://git.example/org/books/blob/main/docs/till/slow.md?plain=1",
        "https://docs.example/docs/till/slow",
        "https://docs.example/docs/till/slow.html",
        "https://docs.example/docs/till/slow/",
        "docs/till/slow.md",
        "./docs/till/slow.md",
    ],
)
def test_a_link_means_the_page_whose_path_it_ends_with(link: str) -> None:
    assert meant(link, "docs/till/slow.md", "docs/till/fast.md", "slow.md") == "docs/till/slow.md"


def test_a_link_to_a_folder_means_its_index_page() -> None:
    assert meant("https://git.example/org/books/tree/main/docs/till", "docs/till/README.md") == "docs/till/README.md"
    assert meant("https://docs.example/docs/till/", "docs/till/index.md") == "docs/till/index.md"


def test_a_page_that_goes_by_its_address_is_meant_by_it() -> None:
    assert meant("https://wiki.example/pages/17", "https://wiki.example/pages/17") == "https://wiki.example/pages/17"


def test_the_last_name_alone_means_a_page_only_where_it_is_a_files() -> None:
    assert meant("https://docs.example/x/slow.md", "slow.md") == "slow.md"
    assert meant("https://docs.example/x/slow", "slow") is None


def test_a_name_of_two_pages_means_none() -> None:
    assert meant("https://docs.example/docs/till-slow.md", "docs/till-slow.md", "docs/till_slow.md") is None


def test_links_stand_anywhere_in_a_text() -> None:
    text = "See [the page](https://docs.example/a/b.md), `docs/c.md` or <https://docs.example/d>. Then wait."
    assert links_in([text]) == ("https://docs.example/a/b.md", "docs/c.md", "https://docs.example/d")


def test_of_many_links_the_first_are_taken() -> None:
    assert links_in([f"https://docs.example/{n}" for n in range(50)]) == tuple(
        f"https://docs.example/{n}" for n in range(MAX_LINKS)
    )


@given(st.text(max_size=300))
def test_any_text_gives_few_names_to_look_up(text: str) -> None:
    links = links_in([text, f"https://{text}", f"https://[{text}/{text}"])
    assert len(links) <= MAX_LINKS
    for link in links:
        assert len(names_of(link)) <= 25
        assert page_of(link, {}) is None
