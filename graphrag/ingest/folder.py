"""Looks through an organisation's folder: which files there are, and the text of each, within bounds."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

MAX_BYTES = 2 * 1024 * 1024
MAX_FILES = 50_000
_STATED = (".yaml", ".yml", ".json", ".env")
_PAGES = (".md", ".markdown", ".html", ".htm")
_NOT_THEIRS = frozenset({".git", "node_modules", ".venv", "__pycache__"})

Failure = tuple[str, str]
"""A path relative to its folder and, in words, why it was not taken."""


@dataclass(frozen=True)
class SourceFile:
    """A text file. `path` is relative to its folder, with forward slashes."""

    path: str
    text: str

    @property
    def is_yaml(self) -> bool:
        return self.path.lower().endswith((".yaml", ".yml"))

    @property
    def is_json(self) -> bool:
        return self.path.lower().endswith(".json")

    @property
    def is_html(self) -> bool:
        return self.path.lower().endswith((".html", ".htm"))

    @property
    def is_env(self) -> bool:
        return self.path.lower().endswith(".env")

    @cached_property
    def digest(self) -> str:
        """The same for the same text."""
        return hashlib.blake2b(self.text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def is_page(path: str) -> bool:
    """Whether a file is read for its prose; the others state facts."""
    return path.lower().endswith(_PAGES)


class Folder:
    """A folder to read. Links are read only where they stay inside it, and a linked directory never: what it holds is
    reached by its own path, and a loop of links cannot be entered.

    `failures` and `complete` grow with what is read; `complete` is false once a part could not be seen at all.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self.failures: list[Failure] = []
        self.complete = True
        self._files: dict[str, Path] = {}

    def paths(self) -> list[str]:
        """The relative paths of all files that may say something, sorted."""
        self._files = {self._relative(path): path for path in self._found()}
        return sorted(self._files)

    def _found(self) -> Iterator[Path]:
        """Without descending by recursion: folders may be nested deeply."""
        count = 0
        waiting = [self.root]
        while waiting:
            directory = waiting.pop()
            for entry in self._entries(directory):
                path = directory / entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _NOT_THEIRS:
                        waiting.append(path)
                elif entry.name.lower().endswith((*_STATED, *_PAGES)) or entry.name == "CODEOWNERS":
                    count += 1
                    if count > MAX_FILES:
                        reason = f"holds more than {MAX_FILES:,} files; the rest was not read"
                        self._fail(self.root, reason, unseen=True)
                        return
                    yield path

    def _entries(self, directory: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(directory) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._fail(directory, f"cannot be listed ({error.strerror})", unseen=True)
            return []

    def read(self, relative: str) -> SourceFile | None:
        """The text of one of `paths`, or None with a failure that says why not."""
        path = self._files[relative]
        try:
            if path.is_symlink() and not path.resolve().is_relative_to(self.root):
                return self._fail(path, "is a link that leaves the folder")
            status = path.stat()
            if stat.S_ISDIR(status.st_mode):
                return None
            if not stat.S_ISREG(status.st_mode):
                return self._fail(path, "is no ordinary file")
            if status.st_size > MAX_BYTES:
                return self._fail(path, f"is larger than {MAX_BYTES // 1024 // 1024} MiB")
            with path.open("rb") as file:
                data = file.read(MAX_BYTES)
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, in Python before 3.13
            return self._fail(path, f"cannot be read ({getattr(error, 'strerror', None) or error})", unseen=True)
        return self._decoded(path, relative, data)

    def _decoded(self, path: Path, relative: str, data: bytes) -> SourceFile | None:
        if b"\x00" in data:
            return self._fail(path, "holds binary data")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            return self._fail(path, f"is not UTF-8 text (byte {error.start})")
        return SourceFile(relative, text.replace("\r\n", "\n").replace("\r", "\n"))

    def _fail(self, path: Path, reason: str, *, unseen: bool = False) -> None:
        self.complete &= not unseen
        self.failures.append((self._relative(path), reason))

    def _relative(self, path: Path) -> str:
        """A name that is no text (bytes of another encoding) is shown with its odd bytes escaped."""
        name = path.relative_to(self.root).as_posix()
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
