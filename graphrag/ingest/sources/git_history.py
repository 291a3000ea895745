"""Makes facts of what was released: the tags of a Git repository, and releases as GitHub's API lists them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from graphrag.identity import name_key
from graphrag.ingest.folder import Failure, SourceFile
from graphrag.ingest.sources.found import MAX_NAME, Found, as_list, as_name, kind_of, shown
from graphrag.ingest.summarise import release_summary
from graphrag.ingest.yaml_documents import as_mapping, as_text
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, PropertyValue, Ref

MAX_TAGS = 500
MAX_RELEASES = 2_000
_SECONDS = 10
_FIELDS = ("%(refname:strip=2)", "%(creatordate:iso-strict)", "%(taggername)", "%(authorname)")
_OF_ONE = re.compile(r"(?P<name>.+?)(?:@|/|-(?=v?\d))(?P<version>v?\d.*)\Z")
_VERSION = re.compile(r"\d")


@dataclass(frozen=True, slots=True)
class Release:
    """What was released under a tag. `released_at` is ISO 8601, empty when nobody knows."""

    tag: str
    released_at: str
    author: str = ""
    url: str = ""
    notes: str = ""


def list_tags(repository: Path) -> tuple[str, list[Failure]]:
    """The newest tags of the repository at this folder, a line each, for `read_tags`. Nothing when it is none."""
    if not (repository / ".git").exists():  # else Git would look in the folders above
        return "", []
    command = ["git", "-C", str(repository), "for-each-ref", f"--count={MAX_TAGS}", "--sort=-creatordate"]
    command += [f"--format={'%1f'.join(_FIELDS)}", "refs/tags"]
    # GIT_DIR and its like would lead elsewhere than to the folder.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    try:
        done = subprocess.run(
            command, env=environment | {"LC_ALL": "C"}, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        return "", [(".git", f"git did not list the tags within {_SECONDS} seconds")]
    except OSError as error:
        return "", [(".git", f"git cannot be run ({error.strerror})")]
    if done.returncode:
        said = " ".join(done.stderr.decode("utf-8", "replace").split())[:200]
        return "", [(".git", f"git cannot list the tags: {said}")]
    return done.stdout.decode("utf-8", "replace"), []


def read_tags(listed: str, service: str, services: Mapping[str, str]) -> Found:
    """The releases that tags name, of `list_tags`. `service` is the one that the repository is of (empty: of none);
    `services`: key of a name -> the service it means, for tags such as `till-v1.2` and `till@1.2`.

    Tags without a number name no version and are passed over.
    """
    found = Found()
    for line in listed.split("\n"):
        fields = line.split("\x1f")
        if len(fields) == len(_FIELDS):
            tag, date, tagger, author = map(as_text, fields)
            _add(found, ".git", Release(tag, date, tagger or author), service, services)
    return found


def read_releases(file: SourceFile, service: str, services: Mapping[str, str]) -> Found:
    """The releases in a JSON file, as GitHub's REST API or `gh release list --json` writes them; drafts are none yet.
    `service`, `services`: as for `read_tags`."""
    found = Found()
    try:
        value: object = json.loads(file.text)
    except (ValueError, RecursionError) as error:
        found.lose(file.path, f"broken JSON: {str(error)[:100]}")
        return found
    if not isinstance(value, list):
        found.fail(file.path, f"is {kind_of(value)}, not a list of releases")
        return found
    items = as_list(value)  # pyright: ignore[reportUnknownArgumentType]
    if len(items) > MAX_RELEASES:
        found.fail(file.path, f"holds more than {MAX_RELEASES:,} releases; the rest was not read")
    for number, item in enumerate(items[:MAX_RELEASES], 1):
        body = as_mapping(item)
        tag = as_text(_first(body, "tag_name", "tagName"))
        if not tag:
            found.fail(file.path, f"release {number} has no tag")
        elif not _first(body, "draft", "isDraft"):
            author = as_text(as_mapping(body.get("author")).get("login"))
            date = as_text(_first(body, "published_at", "publishedAt", "created_at", "createdAt"))
            url = as_text(_first(body, "html_url", "url"))
            _add(found, file.path, Release(tag, date, author, url, as_text(body.get("body"))), service, services)
    return found


def release_facts(releases: Iterable[Release], place: str, service: str, services: Mapping[str, str]) -> Found:
    """The facts of releases that were read elsewhere. `place` names in failures where that was; `service`, `services`:
    as for `read_tags`."""
    found = Found()
    for release in releases:
        _add(found, place, release, service, services)
    return found


def _first(body: Mapping[str, object], *keys: str) -> object:
    return next((value for key in keys if (value := body.get(key))), None)


def _add(found: Found, path: str, release: Release, service: str, services: Mapping[str, str]) -> None:
    of, version = _service_and_version(release.tag, service, services)
    if not of or not _VERSION.search(version):
        return
    name = f"{of} {version}"
    if len(name) > MAX_NAME or not as_name(name):
        found.fail(path, f"the tag {shown(release.tag)} cannot be used as a name")
        return
    released_at = _utc(release.released_at)
    if release.released_at and not released_at:
        found.fail(path, f"the time of {name} is no ISO 8601 time ({release.released_at[:40]}); the rest was taken")
    properties: dict[str, PropertyValue] = {
        "version": version,
        "released_at": released_at,
        "author": release.author,
        "url": release.url,
    }
    kept = {key: value for key, value in properties.items() if value}
    summary = release_summary(of, version, released_at, release.author, release.notes)
    found.nodes.append(NodeFact(Label.RELEASE, name, summary, properties=kept))
    found.edges.append(EdgeFact(EdgeType.INTRODUCED_BY, Ref(Label.SERVICE, of), Ref(Label.RELEASE, name)))


def _service_and_version(tag: str, service: str, services: Mapping[str, str]) -> tuple[str, str]:
    """A known service that the tag names before its version, else the repository's."""
    match = _OF_ONE.match(tag[:MAX_NAME])
    named = services.get(name_key(match["name"])) if match else None
    return (named, match["version"]) if match and named else (service, tag)


def _utc(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return ""
