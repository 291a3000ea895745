"""What a run did, for people and machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from graphrag.ingest.folder import Failure
from graphrag.model import WriteReport


@dataclass(frozen=True, slots=True)
class IngestReport:
    """`read`, `unchanged` and `gone` count documents; `seen`, `added`, `confirmed` and `closed` count facts (nodes and
    edges). `conflicts` are claims that cannot both hold. `dangling` are edges whose end nobody defines, `denied` those
    that a correction keeps out, `proposals` how many pairs of names wait for a person to say whether they are one
    thing, and `failures` the files (relative to their folder) that were skipped wholly or in part, each with the
    reason."""

    read: int
    unchanged: int
    gone: int
    seen: int
    added: int
    confirmed: int
    closed: int
    communities: int
    proposals: int
    conflicts: tuple[str, ...]
    dangling: tuple[str, ...]
    denied: tuple[str, ...]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one stage of a run is: `done` of `total` things, whatever the stage counts."""

    stage: str
    done: int
    total: int


Tell = Callable[[Progress], None]


def tell_nobody(_: Progress) -> None:
    """For a run that nobody watches."""


@dataclass(slots=True)
class Tally:
    """A run's report in the making. `told` are the ids of nodes whose vector has to be made."""

    read: int = 0
    unchanged: int = 0
    gone: int = 0
    added: int = 0
    confirmed: int = 0
    closed: int = 0
    told: dict[str, None] = field(default_factory=dict[str, None])
    conflicts: dict[str, None] = field(default_factory=dict[str, None])
    dangling: dict[str, None] = field(default_factory=dict[str, None])
    denied: dict[str, None] = field(default_factory=dict[str, None])
    failures: set[Failure] = field(default_factory=set[Failure])

    @property
    def changed(self) -> bool:
        """Whether the graph holds anything else than before."""
        return bool(self.added or self.closed or self.told)

    def take(self, report: WriteReport) -> None:
        self.added += report.added
        self.confirmed += report.confirmed
        self.closed += report.closed
        self.told |= dict.fromkeys(report.told)
        self.denied |= dict.fromkeys(report.denied)

    def leave_unresolved(self, lines: Iterable[str]) -> None:
        self.dangling |= dict.fromkeys(lines)

    def report(self, communities: int, proposals: int) -> IngestReport:
        return IngestReport(
            read=self.read,
            unchanged=self.unchanged,
            gone=self.gone,
            seen=self.added + self.confirmed,
            added=self.added,
            confirmed=self.confirmed,
            closed=self.closed,
            communities=communities,
            proposals=proposals,
            conflicts=tuple(self.conflicts),
            dangling=tuple(self.dangling),
            denied=tuple(self.denied),
            failures=tuple(sorted(self.failures)),
        )
