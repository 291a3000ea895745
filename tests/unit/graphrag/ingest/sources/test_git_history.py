"""Tags and lists of releases say what was released when."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.git_history import MAX_TAGS, list_tags, read_releases, read_tags
from graphrag.model import EdgeType

SERVICES = {"till": "till", "books": "books", "ledger": "books"}


def git(folder: Path, *arguments: str, **dates: str) -> None:
    names = {
        f"GIT_{who}_{what}": f"{who}{what}".lower() for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True, env=clean | names | dates)


@pytest.fixture
def repository(tmp_path: Path) -> Iterator[Path]:
    at = {"GIT_AUTHOR_DATE": "2026-01-02T03:04:05+0200", "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+0200"}
    git(tmp_path, "init", "-q")
    git(tmp_path, "-c", "commit.gpgsign=false", "commit", "-q", "--allow-empty", "-m", "first", **at)
    git(tmp_path, "tag", "v1.0")
    git(tmp_path, "-c", "tag.gpgsign=false", "tag", "-a", "v1.1", "-m", "x", GIT_COMMITTER_DATE="2026-02-03T00:00:00Z")
    git(tmp_path, "tag", "stable")
    return tmp_path


def releases(found: Found) -> dict[tuple[str, str], dict[str, object]]:
    properties = {node.name: dict(node.properties) for node in found.nodes}
    assert {edge.type for edge in found.edges} <= {EdgeType.INTRODUCED_BY}
    return {(edge.source.name, edge.target.name): properties[edge.target.name] for edge in found.edges}


def test_tags_of_both_kinds_are_releases_with_their_time_and_author(repository: Path) -> None:
    listed, failures = list_tags(repository)
    assert failures == []
    assert releases(read_tags(listed, "till", SERVICES)) == {
        ("till", "till v1.1"): {
            "version": "v1.1",
            "released_at": "2026-02-03T00:00:00+00:00",
            "author": "committername",
        },
        ("till", "till v1.0"): {"version": "v1.0", "released_at": "2026-01-02T01:04:05+00:00", "author": "authorname"},
    }


def test_a_folder_inside_a_repository_has_no_tags_of_its_own(repository: Path) -> None:
    inner = repository / "inner"
    inner.mkdir()
    assert list_tags(inner) == ("", [])


def test_only_the_newest_tags_are_listed(repository: Path) -> None:
    commit = (repository / ".git" / "refs" / "tags" / "v1.0").read_text().strip()
    text = "".join(f"{commit} refs/tags/w{number}\n" for number in range(MAX_TAGS + 5))
    (repository / ".git" / "packed-refs").write_text(text)
    listed, _ = list_tags(repository)
    assert len(listed.splitlines()) == MAX_TAGS
    assert listed.startswith("v1.1")


def test_what_git_says_against_a_repository_is_passed_on(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere")
    listed, ((path, reason),) = list_tags(tmp_path)
    assert (listed, path) == ("", ".git")
    assert reason.startswith("git cannot list the tags: ")


def test_a_machine_without_git_has_no_tags_and_says_so(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert list_tags(repository) == ("", [(".git", "git cannot be run (No such file or directory)")])


@pytest.mark.parametrize(
    ("tag", "release"),
    [
        ("v2", ("shop", "shop v2")),
        ("till-v1.2", ("till", "till v1.2")),
        ("ledger@1.2.3", ("books", "books 1.2.3")),
        ("books/v3", ("books", "books v3")),
        ("other-v3", ("shop", "shop other-v3")),
    ],
)
def test_a_tag_may_name_its_service(tag: str, release: tuple[str, str]) -> None:
    assert list(releases(read_tags(f"{tag}\x1f2026-01-01T00:00:00Z\x1f\x1fme", "shop", SERVICES))) == [release]


def test_a_repository_of_no_service_releases_only_what_its_tags_name() -> None:
    assert list(releases(read_tags("v2\x1f\x1f\x1f\ntill-v1\x1f\x1f\x1f\nbroken", "", SERVICES))) == [
        ("till", "till v1")
    ]


def test_releases_are_read_in_both_spellings_and_drafts_are_left_out() -> None:
    items: list[Any] = [
        {
            "tag_name": "v1",
            "published_at": "2026-01-02T03:04:05Z",
            "author": {"login": "mia"},
            "html_url": "https://git.example/r/1",
            "body": "Faster.",
        },
        {"tagName": "v2", "publishedAt": "2026-01-03", "author": None, "url": "https://git.example/r/2"},
        {"tag_name": "v3", "draft": True},
    ]
    found = read_releases(SourceFile("releases.json", json.dumps(items)), "till", SERVICES)
    assert releases(found) == {
        ("till", "till v1"): {
            "version": "v1",
            "released_at": "2026-01-02T03:04:05+00:00",
            "author": "mia",
            "url": "https://git.example/r/1",
        },
        ("till", "till v2"): {
            "version": "v2",
            "released_at": "2026-01-03T00:00:00+00:00",
            "url": "https://git.example/r/2",
        },
    }
    assert "Faster." in found.nodes[0].summary


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[", "broken JSON"),
        ("[" * 100_000, "broken JSON"),
        ('{"tag_name": "v1"}', "is a mapping, not a list of releases"),
        ("[7]", "release 1 has no tag"),
        ('[{"tag_name": ["v1"]}]', "release 1 has no tag"),
        ('[{"tag_name": "v1", "published_at": "soon"}]', "the time of till v1 is no ISO 8601 time (soon)"),
        (json.dumps([{"tag_name": "v" * 300 + "1"}]), "cannot be used as a name"),
        (json.dumps([{"tag_name": "v1"}] * 2_001), "more than 2,000 releases"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file(text: str, reason: str) -> None:
    failures = read_releases(SourceFile("r.json", text), "till", SERVICES).failures
    assert [path for path, _ in failures] == ["r.json"]
    assert reason in failures[0][1]
