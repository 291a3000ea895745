"""When the work of a burst of alerts begins."""

import asyncio
from itertools import count

from app.main import burst_over


async def test_the_work_of_a_burst_begins_after_its_last_alert() -> None:
    changed = asyncio.Event()

    async def burst() -> None:
        for _ in range(20):
            changed.set()
            await asyncio.sleep(0)

    alerts = asyncio.create_task(burst())
    await burst_over(changed, quiet=0.05, longest=60)
    assert alerts.done()


async def test_a_burst_without_end_does_not_put_the_work_off_for_ever() -> None:
    changed = asyncio.Event()

    async def burst() -> None:
        for _ in count():
            changed.set()
            await asyncio.sleep(0)

    alerts = asyncio.create_task(burst())
    await burst_over(changed, quiet=60, longest=0.05)
    assert not alerts.done()
    alerts.cancel()
