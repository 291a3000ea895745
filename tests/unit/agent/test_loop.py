from collections.abc import Sequence
from datetime import datetime, timedelta

from agent.loop import investigate
from agent.state import Event, Finish, State, Step
from tests.unit.agent.scene import OPENED, answered, call, consulted, equipped, failed, located, state

ANSWERS = {"locate": located(), "consult": consulted(), "equip": equipped()}


async def test_the_loop_performs_each_step_and_folds_what_happened_until_it_may_finish():
    performed: list[str] = []
    one, two = call("one@a", "a"), call("two@b", "b")

    async def perform(_: State, step: Step) -> Sequence[Event]:
        performed.append(step.kind)
        return [answered(one), failed(two)] if step.kind == "call_tools" else [ANSWERS[step.kind]]

    async def now() -> datetime:
        return OPENED + timedelta(seconds=5)

    final, finish = await investigate(state(), perform=perform, plan=lambda _: (one, two), now=now)
    assert performed == ["locate", "consult", "equip", "call_tools"]
    assert [event.kind for event in final.events] == [
        "located",
        "consulted",
        "equipped",
        "tool_answered",
        "tool_failed",
    ]
    assert finish == Finish(reason="the plan is done; no model is configured")


async def test_the_clock_is_asked_before_each_step_so_that_time_runs_out_for_the_model():
    ticks = iter(range(0, 1000, 60))

    async def perform(_: State, step: Step) -> Sequence[Event]:
        return [ANSWERS[step.kind]]

    async def now() -> datetime:
        return OPENED + timedelta(seconds=next(ticks))

    subject = state().model_copy(update={"model": "m"})
    _, finish = await investigate(subject, perform=perform, plan=lambda _: (), now=now)
    assert finish.reason == "the time budget of 90 s is spent"
