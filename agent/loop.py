"""The loop: decide, perform, journal, fold. Nothing else."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from agent.state import Event, Finish, Plan, State, Step, next_step

Perform = Callable[[State, Step], Awaitable[Sequence[Event]]]
Clock = Callable[[], Awaitable[datetime]]


async def investigate(state: State, *, perform: Perform, plan: Plan, now: Clock) -> tuple[State, Finish]:
    """Run an investigation to its end and return the final state with the reason it ended.

    `perform` does one step in the world and tells what happened as events; it never raises for a failure outside,
    which is an event too. Both `perform` and `now` may be durable: replayed with the same answers, the loop makes the
    same decisions.
    """
    while True:
        step = next_step(state, await now(), plan)
        if isinstance(step, Finish):
            return state, step
        state = state.after(*await perform(state, step))
