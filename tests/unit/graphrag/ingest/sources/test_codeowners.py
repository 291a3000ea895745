"""CODEOWNERS files say which team owns the folder of a service."""

from __future__ import annotations

import pytest

from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.codeowners import Review, is_codeowners_file, read_codeowners, reviews_of
from graphrag.ingest.sources.found import Found
from graphrag.model import EdgeType, Label

SERVICES = {"till": "till", "books": "books", "ledger": "books", "shop": "shop"}
TEAMS = {"crew": "The Crew"}


def read(text: str, path: str = "CODEOWNERS", repository: str = "") -> Found:
    return read_codeowners([SourceFile(path, text)], SERVICES, TEAMS, repository)


def owners(found: Found) -> set[tuple[str, str]]:
    assert {(edge.type, edge.confidence) for edge in found.edges} <= {(EdgeType.OWNED_BY, 0.8)}
    return {(edge.source.name, edge.target.name) for edge in found.edges}


@pytest.mark.parametrize(
    "pattern", ["/services/till/", "services/till", "till/", "/till/**", "services/till/*", "**/till", "/src/Till"]
)
def test_the_folder_with_a_services_name_is_its_own(pattern: str) -> None:
    assert owners(read(f"# who\n{pattern} @dock/till-team # ours\n")) == {("till", "till-team")}


@pytest.mark.parametrize("pattern", ["*.till", "/till/*.go", "/till/docs/", "/services/", "?till", "/tillage/"])
def test_other_paths_say_nothing_of_a_service(pattern: str) -> None:
    assert owners(read(f"{pattern} @dock/till-team\n")) == set()


def test_the_last_rule_that_covers_the_folder_counts() -> None:
    assert owners(read("/a/till/ @dock/one\n/a/till/ @dock/two @dock/three\n")) == {("till", "two"), ("till", "three")}
    assert owners(read("/a/till/ @dock/one\n/a/ @dock/two\n")) == {("till", "two")}
    assert owners(read("/a/till/ @dock/one\n* @dock/two\n")) == {("till", "two")}
    assert owners(read("* @dock/two\n/a/till/ @dock/one\n*.md @dock/writers\n")) == {("till", "one")}
    assert owners(read("/a/till/ @dock/one\n/a/till/\n")) == set()


def test_a_repository_that_is_a_service_is_owned_by_who_owns_everything() -> None:
    assert owners(read("* @dock/shop-team\n/web/ @dock/web\n", repository="shop")) == {("shop", "shop-team")}
    assert owners(read("* @dock/shop-team\n", repository="elsewhere")) == set()
    assert owners(read("* @dock/shop-team\n", "repos/shop/.github/CODEOWNERS")) == {("shop", "shop-team")}


def test_people_are_no_teams() -> None:
    assert owners(read("/till/ @somebody some.body@dock.example @@maintainer\n")) == set()


def test_a_known_team_is_meant_by_its_name_and_an_unknown_one_is_made() -> None:
    found = read("/till/ @dock/crew\n/ledger/ @dock/sub/new-team\n")
    assert owners(found) == {("till", "The Crew"), ("books", "new-team")}
    (team,) = found.nodes
    assert (team.label, team.name, team.aliases) == (Label.TEAM, "new-team", ("dock/sub/new-team",))
    assert team.summary.endswith("Owns books.")


def test_teams_that_only_their_organisations_tell_apart_keep_them() -> None:
    assert owners(read("/till/ @a/core\n/books/ @b/core\n")) == {("till", "a/core"), ("books", "b/core")}


def test_folders_about_a_service_count_only_when_it_has_no_other() -> None:
    assert owners(read("/docs/till/ @dock/writers\n/services/till/ @dock/one\n")) == {("till", "one")}
    assert owners(read("/docs/till/ @dock/writers\n")) == {("till", "writers")}


def test_each_section_is_decided_by_itself_and_has_owners_of_its_own() -> None:
    text = "/till/ @dock/one\n^[Docs][2] @dock/writers\n/till/\n[Sec]\n/till/ @dock/guards\n"
    assert owners(read(text)) == {("till", "one"), ("till", "writers"), ("till", "guards")}


def test_of_several_files_of_one_repository_the_first_place_wins() -> None:
    files = [
        SourceFile("CODEOWNERS", "/till/ @dock/two"),
        SourceFile("docs/CODEOWNERS", "/till/ @dock/three"),
        SourceFile(".github/CODEOWNERS", "/till/ @dock/one"),
        SourceFile("other/CODEOWNERS", "/books/ @dock/four"),
    ]
    assert owners(read_codeowners(files, SERVICES, {})) == {("till", "one"), ("books", "four")}


def test_what_cannot_be_taken_is_said_and_the_rest_is_read() -> None:
    found = read("!/till/ @dock/one\n" + "x" * 5_000 + "\n/books/ @dock/two\n" + "\n" * 20_000)
    assert owners(found) == {("books", "two")}
    assert [reason.split(";")[0] for _, reason in found.failures] == [
        "has more than 20,000 lines",
        "line 1 begins with `!`, which excludes nothing here",
        "line 2 is longer than 4,000 characters",
    ]


def test_only_files_of_that_name_count() -> None:
    assert is_codeowners_file("a/.github/CODEOWNERS")
    assert not is_codeowners_file("CODEOWNERS.md")
    assert read("/till/ @dock/one", "OWNERS").edges == []


# Files ----------------------------------------------------------------------------------------------------------------


def reviewer(text: str, path: str, at: str = "CODEOWNERS") -> str | None:
    review = reviews_of([SourceFile(at, text)], [path], TEAMS).get(path)
    return review.team if review else None


@pytest.mark.parametrize(
    "pattern",
    ["*", "/rules/", "/rules/till.yml", "*.yml", "rules", "/rules/*.yml", "**/till.yml", "till.yml"],
)
def test_the_known_team_of_an_entry_that_covers_a_file_reviews_it(pattern: str) -> None:
    assert reviewer(f"{pattern} @dock/crew\n", "rules/till.yml") == "The Crew"


@pytest.mark.parametrize("pattern", ["/other/", "*.md", "/till.yml", "/rules/books.yml", "/rule"])
def test_an_entry_that_covers_other_files_says_nothing_of_this_one(pattern: str) -> None:
    assert reviewer(f"{pattern} @dock/crew\n", "rules/till.yml") is None


@pytest.mark.parametrize(
    "entries",
    [
        "/rules/ @dock/crew\n*.yml @dock/others",
        "/rules/ @dock/crew @dock/others",
        "/rules/ @dock/nobody",
        "/rules/ @a-person",
        "/rules/ @dock/crew\n/rules/till.yml",
    ],
    ids=["a later entry", "two teams", "an unknown team", "a person", "nobody on purpose"],
)
def test_a_file_without_one_known_team_has_no_reviewer(entries: str) -> None:
    assert reviewer(entries, "rules/till.yml") is None


def test_files_of_one_entry_go_together_and_an_inner_repository_decides_for_its_own() -> None:
    files = [
        SourceFile("CODEOWNERS", "/rules/ @dock/crew\n/rules/till.yml @dock/crew\n* @dock/crew\n/rules/ @dock/crew\n"),
        SourceFile("inner/CODEOWNERS", "/rules/ @dock/nobody\n/docs/ @dock/crew\n"),
    ]
    paths = ["rules/till.yml", "rules/books.yml", "readme.md", "inner/docs/a.md", "inner/rules/a.yml"]
    found = reviews_of(files, paths, TEAMS)
    assert found["rules/till.yml"] == found["rules/books.yml"] == Review("The Crew", (" 0", 3))
    assert found["readme.md"].rule != found["rules/till.yml"].rule
    assert found["inner/docs/a.md"].rule[0].startswith("inner")
    assert "inner/rules/a.yml" not in found
