"""Typed reads of GitHub through GitHub's own `github-mcp-server`. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

from connectors.observations import ChangeSeen, OwnersSeen, ReleaseSeen
from connectors.reading import Read, answered_json, answered_text, objects, text_at, time_of, unreadable, web_link
from connectors.tool import ToolOutcome

SERVICE = "GitHub"
CODEOWNERS_PATHS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
"""Where GitHub looks for the file, in its order."""
MOST_RELEASES = 20

_REPOSITORY = re.compile(r"(?:(?:https?://|ssh://git@|git@)[^/:\s]+(?::\d+)?[/:])?([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
_WHOLE_REPOSITORY = frozenset({"*", "**", "/", "/*", "/**"})
_MAX_NOTES = 1_000
_EARLIEST = datetime.min.replace(tzinfo=UTC)


def repository(text: str) -> tuple[str, str] | None:
    """Owner and name from `owner/name` or a repository's URL; None when it is neither."""
    match = _REPOSITORY.fullmatch(text.strip())
    return (match.group(1), match.group(2)) if match else None


def latest_release(owner_repo: str) -> Read | None:
    """The newest full release; None when `owner_repo` names no repository, as for the reads below."""
    return _read("get_latest_release", owner_repo)


def recent_releases(owner_repo: str) -> Read | None:
    """The newest `MOST_RELEASES` releases."""
    return _read("list_releases", owner_repo, perPage=MOST_RELEASES)


def recent_changes(owner_repo: str) -> Read | None:
    """The pull requests closed last."""
    return _read("list_pull_requests", owner_repo, state="closed", sort="updated", direction="desc", perPage=20)


def codeowners(owner_repo: str, path: str = "CODEOWNERS") -> Read | None:
    """The CODEOWNERS file at one of `CODEOWNERS_PATHS`."""
    return _read("get_file_contents", owner_repo, path=path)


def _read(tool: str, owner_repo: str, **arguments: Any) -> Read | None:
    found = repository(owner_repo)
    return (tool, {"owner": found[0], "repo": found[1], **arguments}) if found else None


def read_latest_release(outcome: ToolOutcome, owner_repo: str) -> tuple[ReleaseSeen, ...]:
    """The newest release that is neither draft nor pre-release, from one release or a list of them."""
    return read_releases(outcome, owner_repo)[:1]


def read_releases(outcome: ToolOutcome, owner_repo: str) -> tuple[ReleaseSeen, ...]:
    """Every release that is neither draft nor pre-release, newest first, from one release or a list of them."""
    answer = answered_json(outcome, SERVICE)
    if not isinstance(answer, dict | list):
        raise unreadable(SERVICE, "there is no release")
    releases = objects(cast("list[object]", answer) if isinstance(answer, list) else [answer])
    if isinstance(answer, dict) and not text_at(releases[0], "tag_name"):
        raise unreadable(SERVICE, "the release has no tag")
    full = [
        _release(each, owner_repo)
        for each in releases
        if text_at(each, "tag_name") and not each.get("draft") and not each.get("prerelease")
    ]
    return tuple(sorted(full, key=lambda release: release.released_at or _EARLIEST, reverse=True))


def _release(fields: Mapping[str, Any], owner_repo: str) -> ReleaseSeen:
    return ReleaseSeen(
        repo=owner_repo,
        version=text_at(fields, "tag_name"),
        released_at=time_of(text_at(fields, "published_at")),
        author=text_at(fields, "author", "login"),
        notes=text_at(fields, "body")[:_MAX_NOTES],
        link=web_link(text_at(fields, "html_url")),
    )


def read_changes(outcome: ToolOutcome, owner_repo: str) -> tuple[ChangeSeen, ...]:
    """Merged pull requests or commits, newest first; a pull request closed without a merge changed nothing."""
    answer = answered_json(outcome, SERVICE)
    if isinstance(answer, dict):
        answer = cast("dict[str, Any]", answer).get("items")
    if not isinstance(answer, list):
        raise unreadable(SERVICE, "there is no list of changes")
    changes = [change for each in objects(cast("list[object]", answer)) if (change := _change(each, owner_repo))]
    return tuple(sorted(changes, key=lambda change: change.merged_at, reverse=True))


def _change(fields: Mapping[str, Any], owner_repo: str) -> ChangeSeen | None:
    link = web_link(text_at(fields, "html_url"))
    number, sha = fields.get("number"), text_at(fields, "sha")
    if isinstance(number, int):
        reference, title = f"#{number}", text_at(fields, "title")
        author, merged_at = text_at(fields, "user", "login"), time_of(text_at(fields, "merged_at"))
    elif sha:
        reference, title = sha[:12], text_at(fields, "commit", "message").partition("\n")[0]
        author, merged_at = text_at(fields, "author", "login"), time_of(text_at(fields, "commit", "committer", "date"))
    else:
        return None
    if merged_at is None:
        return None
    return ChangeSeen(repo=owner_repo, reference=reference, title=title, merged_at=merged_at, author=author, link=link)


def read_owners(outcome: ToolOutcome, owner_repo: str) -> tuple[OwnersSeen, ...]:
    """Who owns the whole repository: as in GitHub, the last rule that fits wins, also when it names nobody.

    The server puts the file in an embedded resource and a note in front of it; the note is no rule.
    """
    owners: tuple[str, ...] = ()
    for line in answered_text(outcome, SERVICE).splitlines():
        pattern, *names = re.sub(r"(^|\s)#.*", "", line).split() or [""]
        if pattern in _WHOLE_REPOSITORY:
            owners = tuple(name for name in names if "@" in name)
    return (OwnersSeen(repo=owner_repo, owners=owners),) if owners else ()


def read_file(outcome: ToolOutcome) -> str:
    """The text of a file, with the note that the server puts in front of it. Part of a file is none: the rules at its
    end are those that count."""
    text = answered_text(outcome, SERVICE)
    if outcome.truncated:
        raise unreadable(SERVICE, "the file is longer than we keep")
    return text


def is_missing(error: str) -> bool:
    """Whether a read failed only because there is no such thing, which is an answer."""
    said = error.lower()
    return "404" in said or "not found" in said or "no such file" in said
