"""What live systems said, made facts: metrics, releases and CODEOWNERS state some, pages and messages none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.redact import MASK
from app.live_facts import (
    MOST_LINES,
    call_facts,
    chat_facts,
    names_of,
    page_address,
    page_facts,
    repositories,
    repository_owners,
    repository_releases,
    services_named,
)
from connectors.observations import MessageSeen, PageSeen, ReleaseSeen
from graphrag.ingest.sources.found import Found
from graphrag.model import EdgeType, Label, Life, Node, PropertyValue

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
SECRET = "password=hunter2"
NAMES = {"checkout": "checkout", "checkoutapi": "checkout-api", "api": "api", "shard1": "shard-1", "cash": "till"}


def node(name: str, *aliases: str, label: Label = Label.SERVICE, **properties: PropertyValue) -> Node:
    life = Life(valid_from=NOW, first_seen=NOW, last_seen=NOW, sources=("catalog",), confidence=1.0)
    return Node(f"id-{name}", "t", label, name, life, aliases=aliases, properties=properties)


def pairs(found: Found, type: EdgeType) -> set[tuple[str, str]]:
    return {(edge.source.name, edge.target.name) for edge in found.edges if edge.type is type}


def test_a_call_is_a_dependency_without_secrets_in_its_names() -> None:
    found = call_facts([{"client": "till", "server": "books"}, {"client": "till", "server": f"db {SECRET}"}])
    assert pairs(found, EdgeType.DEPENDS_ON) == {("till", "books"), ("till", f"db password={MASK}")}


def test_services_of_one_repository_are_found_together_in_any_spelling() -> None:
    services = [
        node("till", repo="Dock/Shop"),
        node("books", repo="https://github.com/dock/shop.git"),
        node("elsewhere", repo="git.example/dock/shop"),
        node("nowhere"),
    ]
    assert {repo: [each.name for each in held] for repo, held in repositories(services).items()} == {
        "dock/shop": ["till", "books"]
    }


def release(version: str, **fields: str) -> ReleaseSeen:
    return ReleaseSeen(repo="dock/shop", version=version, released_at=NOW, **fields)


def test_a_repository_with_one_service_releases_that_service() -> None:
    found = repository_releases(
        "dock/shop", [release("v1.2", author="ann", link="https://g/1", notes=SECRET)], [node("till")]
    )
    assert pairs(found, EdgeType.INTRODUCED_BY) == {("till", "till v1.2")}
    (fact,) = found.nodes
    assert fact.properties == {"version": "v1.2", "released_at": NOW.isoformat(), "author": "ann", "url": "https://g/1"}
    assert fact.summary == f"Release v1.2 of till of 2026-11-30 by ann. password={MASK}."


def test_a_repository_with_several_services_releases_what_its_tags_or_its_name_say() -> None:
    several = [node("till"), node("books")]
    assert pairs(
        repository_releases("dock/mono", [release("till-v1"), release("v2")], several), EdgeType.INTRODUCED_BY
    ) == {("till", "till v1")}
    assert pairs(repository_releases("dock/books", [release("v2")], several), EdgeType.INTRODUCED_BY) == {
        ("books", "books v2")
    }


def test_only_services_without_an_owner_get_one_from_codeowners() -> None:
    till, books = node("till"), node("books")
    text = "* @dock/crew\n/books/ @dock/readers\n"
    both = repository_owners("dock/till", "CODEOWNERS", text, [till, books], [till, books], {"crew": "The Crew"})
    assert pairs(both, EdgeType.OWNED_BY) == {("till", "The Crew"), ("books", "readers")}
    one = repository_owners("dock/till", "CODEOWNERS", text, [till, books], [books], {"crew": "The Crew"})
    assert pairs(one, EdgeType.OWNED_BY) == {("books", "readers")}
    assert [each.name for each in one.nodes] == ["readers"]


def test_the_owners_of_a_whole_repository_own_its_one_service_whatever_it_is_called() -> None:
    storefront = node("storefront")
    found = repository_owners("dock/web", ".github/CODEOWNERS", "* @dock/crew\n", [storefront], [storefront], {})
    assert pairs(found, EdgeType.OWNED_BY) == {("storefront", "crew")}


@pytest.mark.parametrize(
    ("title", "named"),
    [
        ("Checkout API limits", ("checkout-api",)),
        ("How checkout works", ("checkout",)),
        ("CheckoutAPI and checkout", ("checkout-api", "checkout")),
        ("Shard 1 is full", ("shard-1",)),
        ("Shard 11 is full", ()),
        ("Cash, counted", ("till",)),
        ("Checkouts", ()),
        ("", ()),
    ],
)
def test_a_title_names_a_service_by_whole_words_and_the_longest_name_counts(title: str, named: tuple[str, ...]) -> None:
    assert services_named(title, NAMES) == named


@given(st.text(), st.dictionaries(st.text(min_size=1), st.text(min_size=1), max_size=3))
def test_no_title_names_what_nobody_is_called(title: str, names: dict[str, str]) -> None:
    assert set(services_named(title, names)) <= set(names.values())


@pytest.mark.parametrize(
    ("link", "address"),
    [
        ("https://w.example/pages/7/Pool?search=1#top", "https://w.example/pages/7/Pool"),
        ("https://w.example/viewpage.action?pageId=7&src=x", "https://w.example/viewpage.action?pageId=7"),
        ("https://me:hunter2@w.example/p", f"https://{MASK}@w.example/p"),
        ("https://w.example/" + "x" * 500, ""),
        ("https://[broken", ""),
        ("", ""),
    ],
)
def test_a_page_is_called_by_what_stays_the_same_in_its_link(link: str, address: str) -> None:
    assert page_address(link) == address


def test_a_page_is_a_document_and_its_title_alone_says_of_what() -> None:
    pages = [
        PageSeen(title="Checkout API limits", excerpt=f"It needs api. {SECRET}", link="https://w.example/7?a=1"),
        PageSeen(title="Checkout API limits", excerpt="", link="https://w.example/7?a=2"),
        PageSeen(title="Lunch", excerpt="checkout-api depends on payments", link="https://w.example/8"),
        PageSeen(title="Nowhere", excerpt=""),
    ]
    found = page_facts(pages, NAMES)
    assert [fact.name for fact in found.nodes] == ["https://w.example/7", "https://w.example/8"]
    assert found.nodes[0].properties == {
        "source": "confluence",
        "url": "https://w.example/7",
        "title": "Checkout API limits",
    }
    assert found.nodes[0].summary == (
        f"Checkout API limits. wiki page. About checkout-api. It needs api. password={MASK}."
    )
    assert [(edge.type, edge.source.name) for edge in found.edges] == [(EdgeType.DOCUMENTED_IN, "checkout-api")]


def message(text: str, minute: int, author: str = "ann") -> MessageSeen:
    return MessageSeen(channel="#ops", author=author, text=text, at=NOW + timedelta(minutes=minute))


def test_a_channel_is_a_document_of_the_newest_first_lines_and_states_nothing() -> None:
    messages = [message(f"till is down {number}\nand more", number, "somebody") for number in range(15)]
    messages.append(message(f"{SECRET} " + "x" * 500, 20))
    found = chat_facts("#ops", ["crew"], messages)
    (fact,) = found.nodes
    assert (fact.label, fact.name, fact.properties) == (
        Label.DOC,
        "slack:#ops",
        {"source": "slack", "title": "Recent messages in #ops"},
    )
    lines = fact.summary.partition(": ")[2].split(" / ")
    assert len(lines) == MOST_LINES
    assert lines[0].startswith(f"password={MASK} xxx")
    assert lines[1] == "till is down 14"
    assert "somebody" not in fact.summary
    assert [(edge.type, edge.source.label, edge.verb) for edge in found.edges] == [
        (EdgeType.RELATION, Label.TEAM, "talks in")
    ]


def test_a_quiet_channel_is_no_document() -> None:
    assert chat_facts("#ops", ["crew"], []).nodes == []


def test_names_lead_to_the_node_that_has_them() -> None:
    assert names_of([node("till", "cash desk")]) == {"till": "till", "cashdesk": "till"}
