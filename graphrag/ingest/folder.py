"""Reads an organisation's folder: which files there are, and the text of each, within bounds."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MAX_BYTES = 2 * 1024 * 1024
MAX_FILES = 50_000
_YAML = (".yaml", ".yml")
_MARKDOWN = (".md", ".markdown")
_NOT_THEIRS = frozenset({".git", "node_modules", ".venv", "__pycache__"})

Failure = tuple[str, str]
"""A path relative to its folder and, in words, why it was not taken."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A text file. `path` is relative to its folder, with forward slashes."""

    path: str
    text: str

    @property
    def is_yaml(self) -> bool:
        return self.path.lower().endswith(_YAML)


@dataclass(frozen=True, slots=True)
class Contents:
    """What a folder holds, sorted by path. `complete` is false when a part of it could not be seen at all."""

    files: tuple[SourceFile, ...]
    failures: tuple[Failure, ...]
    complete: bool


def read_folder(folder: Path) -> Contents:
    """The YAML and Markdown files under `folder`. Links are read only where they stay inside it, and a linked
    directory never: what it holds is reached by its own path, and a loop of links cannot be entered."""
    reader = _Reader(folder, folder.resolve())
    files = tuple(file for path in reader.paths(folder) if (file := reader.read(path)) is not None)
    return Contents(
        files=tuple(sorted(files, key=lambda file: file.path)),
        failures=tuple(reader.failures),
        complete=reader.complete,
    )


class _Reader:
    def __init__(self, folder: Path, root: Path) -> None:
        self._folder = folder
        self._root = root
        self._count = 0
        self.failures: list[Failure] = []
        self.complete = True

    def paths(self, folder: Path) -> Iterator[Path]:
        """Every YAML and Markdown file, without descending by recursion: folders may be nested deeply."""
        waiting = [folder]
        while waiting:
            directory = waiting.pop()
            for entry in self._entries(directory):
                path = directory / entry.name
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _NOT_THEIRS:
                        waiting.append(path)
                elif entry.name.lower().endswith((*_YAML, *_MARKDOWN)):
                    self._count += 1
                    if self._count > MAX_FILES:
                        self._fail(folder, f"holds more than {MAX_FILES:,} files; the rest was not read", unseen=True)
                        return
                    yield path

    def _entries(self, directory: Path) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(directory) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self._fail(directory, f"cannot be listed ({error.strerror})", unseen=True)
            return []

    def read(self, path: Path) -> SourceFile | None:
        try:
            if path.is_symlink() and not path.resolve().is_relative_to(self._root):
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
        return self._decoded(path, data)

    def _decoded(self, path: Path, data: bytes) -> SourceFile | None:
        if b"\x00" in data:
            return self._fail(path, "holds binary data")
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            return self._fail(path, f"is not UTF-8 text (byte {error.start})")
        return SourceFile(self._relative(path), text.replace("\r\n", "\n").replace("\r", "\n"))

    def _fail(self, path: Path, reason: str, *, unseen: bool = False) -> None:
        self.complete &= not unseen
        self.failures.append((self._relative(path), reason))

    def _relative(self, path: Path) -> str:
        """A name that is no text (bytes of another encoding) is shown with its odd bytes escaped."""
        name = path.relative_to(self._folder).as_posix()
        return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
