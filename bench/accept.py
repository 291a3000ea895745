"""How fast a delivery is accepted for good: decided, on the disk, answered with 202."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bench.deliveries import opening, update
from bench.load import Round, Target, drive
from bench.measure import Measured, note, percentile
from bench.subjects import BARE, Bare, demo_graph, fresh_service, wait_quiet, webhook
from tests.servers.process import ServerProcess, temporary_home

CONNECTIONS = 8
GROUPS = 50
ROUNDS = 5
UPDATES_A_ROUND = 200
OPENINGS_A_ROUND = 60
STORM_ROUNDS = 3


@dataclass
class Tally:
    """All rounds of one target."""

    rounds: list[Round] = field(default_factory=list)

    @property
    def rate(self) -> float:
        """Answers per second."""
        return sum(len(each.latencies) for each in self.rounds) / sum(each.seconds for each in self.rounds)

    @property
    def p99(self) -> float:
        """In milliseconds."""
        return 1000 * percentile([seconds for each in self.rounds for seconds in each.latencies], 0.99)


@contextlib.contextmanager
def _both() -> Iterator[tuple[Target, ServerProcess, Target]]:
    with contextlib.ExitStack() as stack:
        graph, home = stack.enter_context(demo_graph()), stack.enter_context(temporary_home("bench-accept"))
        service, bare = fresh_service(graph, home), Bare(home)
        process = stack.enter_context(service.run())
        stack.enter_context(bare.run())
        yield webhook(service), process, bare.target


def updates() -> list[Measured]:
    """Updates of open incidents: every delivery brings another alert of its group."""
    with _both() as (ours, process, bare):
        groups = [f"zone-{number}" for number in range(GROUPS)]
        _drive(ours, [opening(group) for group in groups], "new")
        wait_quiet(process)
        warm_up = [update(group, 0) for group in groups]
        _drive(ours, warm_up, "update")
        _drive(bare, warm_up)
        batches = [
            [update(groups[number % GROUPS], 1 + each * UPDATES_A_ROUND + number) for number in range(UPDATES_A_ROUND)]
            for each in range(ROUNDS)
        ]
        return _measured("accept", *_interleaved(ours, process, bare, batches, "update"))


def openings() -> list[Measured]:
    """A storm: every delivery opens another incident, whose investigation waits until the burst is over."""
    with _both() as (ours, process, bare):
        warm_up = [opening(f"warm-{number}") for number in range(CONNECTIONS)]
        _drive(ours, warm_up, "new")
        _drive(bare, warm_up)
        batches = [
            [opening(f"zone-{each}-{number}") for number in range(OPENINGS_A_ROUND)] for each in range(STORM_ROUNDS)
        ]
        return _measured("accept-storm", *_interleaved(ours, process, bare, batches, "new"))


def _interleaved(
    ours: Target, process: ServerProcess, bare: Target, batches: Sequence[Sequence[bytes]], action: str
) -> tuple[Tally, Tally]:
    """Round by round in turn, so that what else the machine does hits both; never while the service works off."""
    tallies = Tally(), Tally()
    for number, batch in enumerate(batches, start=1):
        for target, wanted, tally in ((ours, action, tallies[0]), (bare, "", tallies[1])):
            wait_quiet(process)
            done = _drive(target, batch, wanted)
            tally.rounds.append(done)
            rate = len(batch) / done.seconds
            note(f"  round {number}, {target.name}: {rate:.0f}/s, the client busy {done.busy:.0%} of a core")
    return tallies


def _drive(target: Target, bodies: Sequence[bytes], action: str = "") -> Round:
    """One round. Raises RuntimeError when a decision is not `action`: it would not have been the work we measure."""
    done = asyncio.run(drive(target, bodies, CONNECTIONS))
    if action:
        others = [answer for answer in done.answers if answer["decisions"][0]["action"] != action]
        if others:
            raise RuntimeError(f"{len(others)} deliveries were not decided as {action!r}, such as {others[0]}")
    return done


def _measured(name: str, ours: Tally, bare: Tally) -> list[Measured]:
    return [
        Measured(f"{name}-rate", ours.rate, "accepts/s", BARE, bare.rate),
        Measured(f"{name}-p99", ours.p99, "ms", BARE, bare.p99),
    ]
