"""What earlier runs read of a folder: how the next one knows what has changed, and where a run that died goes on.

Kept in the graph, a blob a folder, so that it is never older or newer than the facts it speaks of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

from graphrag.identity import name_key
from graphrag.ingest.folder import Failure
from graphrag.model import Label
from graphrag.store import GraphStore

READER = 1
"""Raise it when pages are read otherwise than before: every page is then read again."""


@dataclass(frozen=True, slots=True)
class PageRead:
    """A page as it was read. `content` is the digest of its text, `context` of all else that its facts depend on.
    `label` and `name` are its node's. `dangling` are the ends that nobody defined then."""

    content: str
    context: str
    label: str
    name: str
    dangling: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True, slots=True)
class StatedRead:
    """The structured files as they were read: what reading the pages needs of them, and what was reported."""

    content: str = ""
    services: Mapping[str, str] = field(default_factory=dict[str, str])
    teams: Mapping[str, str] = field(default_factory=dict[str, str])
    runbook_pages: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    dangling: tuple[str, ...] = ()
    conflicts: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(slots=True)
class Ledger:
    """`place` is the folder's path on the machine that read it last."""

    folder: str
    place: str = ""
    stated: StatedRead = field(default_factory=StatedRead)
    pages: dict[str, PageRead] = field(default_factory=dict[str, PageRead])

    def taken(self) -> Iterable[tuple[str, str]]:
        """The names of the pages in the graph, as label and key."""
        return ((page.label, name_key(page.name)) for page in self.pages.values())

    def incidents(self) -> dict[str, str]:
        return {path: page.name for path, page in self.pages.items() if page.label == Label.INCIDENT}


async def load_ledger(store: GraphStore, tenant: str, folder: str) -> Ledger:
    packed = await store.get_meta(_key(tenant, folder))
    if packed is None:
        return Ledger(folder)
    value = cast("dict[str, Any]", json.loads(packed))
    current = value["reader"] == READER
    stated = value["stated"]
    return Ledger(
        folder=folder,
        place=value["place"],
        stated=StatedRead(
            content=stated["content"] if current else "",
            services=stated["services"],
            teams=stated["teams"],
            runbook_pages={path: tuple(names) for path, names in stated["runbook_pages"].items()},
            dangling=tuple(stated["dangling"]),
            conflicts=tuple(stated["conflicts"]),
            failures=_failures(stated["failures"]),
        ),
        pages={
            path: PageRead(content, context if current else "", label, name, tuple(dangling), _failures(failures))
            for path, (content, context, label, name, dangling, failures) in value["pages"].items()
        },
    )


async def save_ledger(store: GraphStore, tenant: str, ledger: Ledger) -> None:
    value = {
        "reader": READER,
        "place": ledger.place,
        "stated": asdict(ledger.stated),
        "pages": {
            path: (page.content, page.context, page.label, page.name, page.dangling, page.failures)
            for path, page in ledger.pages.items()
        },
    }
    await store.put_meta(_key(tenant, ledger.folder), json.dumps(value).encode())


async def known_folders(store: GraphStore, tenant: str) -> list[str]:
    """The names of the folders that were ever read, in the order of their first time."""
    packed = await store.get_meta(f"folders:{tenant}")
    return json.loads(packed) if packed else []


async def remember_folders(store: GraphStore, tenant: str, folders: Iterable[str]) -> None:
    known = await known_folders(store, tenant)
    now = list(dict.fromkeys((*known, *folders)))
    if now != known:
        await store.put_meta(f"folders:{tenant}", json.dumps(now).encode())


async def known_places(store: GraphStore, tenant: str) -> list[Path]:
    """Where the folders are that were ever read."""
    ledgers = [await load_ledger(store, tenant, folder) for folder in await known_folders(store, tenant)]
    return [Path(ledger.place) for ledger in ledgers if ledger.place]


def _key(tenant: str, folder: str) -> str:
    return f"ledger:{tenant}:{folder}"


def _failures(listed: Iterable[tuple[str, str]]) -> tuple[Failure, ...]:
    return tuple((path, reason) for path, reason in listed)
