"""Puts an incident's report before people: one parent message, edited in place, and one detail message in its thread.

Slack has no idempotency key. So the intent to send is written down first, the answer after; whoever finds an intent
without an answer looks for the message before sending again.
"""

from __future__ import annotations

import asyncio

import sqlalchemy as sa
import structlog

from app.database import posts
from app.metrics import Metrics
from connectors.errors import ConnectorError
from connectors.slack import Message, Posted, Sink

MAX_PAUSE = 60.0
"""Longest wait, in seconds, that a sink's own word (Retry-After) makes us add to the step's back-off."""

log = structlog.get_logger()


class Delivery:
    """`fallback` takes what the sink refuses for good, so that no report is ever dropped."""

    def __init__(self, engine: sa.Engine, sink: Sink, fallback: Sink, default_channel: str, metrics: Metrics) -> None:
        self._engine = engine
        self._sink = sink
        self._fallback = fallback
        self._default_channel = default_channel
        self._metrics = metrics

    async def put(self, key: str, channel: str | None, message: Message, under: str | None = None) -> None:
        """Post the message of this key, or edit it where it was posted. `under` is the key of its parent.

        Raises a recoverable `ConnectorError` when trying again may help; everything else ends in the fallback.
        """
        try:
            await self._put(key, channel or self._default_channel, message, under)
        except ConnectorError as error:
            self._metrics.posts.labels("failed").inc()
            if error.recoverable:
                log.warning("post_failed", key=key, error=str(error))
                await asyncio.sleep(min(getattr(error, "retry_after", 0.0) or 0.0, MAX_PAUSE))
                raise
            log.error("post_refused", key=key, error=str(error))
            await self._rescue(key, channel, message, under)
        else:
            self._metrics.posts.labels("sent").inc()

    async def is_posted(self, key: str) -> bool:
        return await asyncio.to_thread(self._posted, key) is not None

    async def _put(self, key: str, channel: str, message: Message, under: str | None) -> None:
        thread = await asyncio.to_thread(self._posted, under) if under else None
        if under and thread is None:
            # Without its parent it would stand in the channel as a second one.
            await self.rescue(key, channel, message)
            return
        posted, wanted = await asyncio.to_thread(self._intend, key, channel)
        if posted is None and wanted is not None:
            posted = await self._look_for(key, thread.channel if thread else wanted, thread)
            if posted:
                await asyncio.to_thread(self._remember, key, posted)
        if posted:
            await self._sink.update(posted, message)
            return
        target = thread.channel if thread else wanted or channel
        try:
            answered = await self._sink.post(target, message, key, thread.ts if thread else None)
        except ConnectorError as error:
            if error.delivered is False:
                await asyncio.to_thread(self._withdraw, key)
            raise
        await asyncio.to_thread(self._remember, key, answered)

    async def _look_for(self, key: str, channel: str, thread: Posted | None) -> Posted | None:
        """The message an earlier attempt may have left. Where we are not let look, we send: twice beats never."""
        try:
            return await self._sink.find(channel, key, thread.ts if thread else None)
        except ConnectorError as error:
            if error.recoverable:
                raise
            log.warning("post_not_looked_for", key=key, error=str(error))
            return None

    async def _rescue(self, key: str, channel: str | None, message: Message, under: str | None) -> None:
        """The owner's channel refused for good: try the default one, and keep a copy in any case."""
        if channel and channel != self._default_channel and under is None:
            try:
                await self._put(key, self._default_channel, message, under)
            except ConnectorError as error:
                if error.recoverable:
                    raise
                log.error("post_refused", key=key, error=str(error))
            else:
                return
        await self.rescue(key, channel, message)

    async def rescue(self, key: str, channel: str | None, message: Message) -> None:
        """Keep the message where it surely can be kept, for a person to find."""
        await self._fallback.post(channel or self._default_channel, message, key)
        self._metrics.posts.labels("rescued").inc()

    def _posted(self, key: str) -> Posted | None:
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(posts).where(posts.c.key == key)).first()
        return Posted(row.channel, row.ts) if row and row.ts else None

    def _intend(self, key: str, channel: str) -> tuple[Posted | None, str | None]:
        """Where the message is, or the channel an earlier attempt may have reached; (None, None) the first time."""
        with self._engine.begin() as connection:
            row = connection.execute(sa.select(posts).where(posts.c.key == key)).first()
            if row is None:
                connection.execute(posts.insert().values(key=key, wanted_channel=channel))
                return None, None
        return (Posted(row.channel, row.ts), row.wanted_channel) if row.ts else (None, row.wanted_channel)

    def _remember(self, key: str, posted: Posted) -> None:
        with self._engine.begin() as connection:
            connection.execute(posts.update().where(posts.c.key == key).values(channel=posted.channel, ts=posted.ts))

    def _withdraw(self, key: str) -> None:
        """The message surely did not arrive: the next attempt need not look for it."""
        with self._engine.begin() as connection:
            connection.execute(posts.delete().where(posts.c.key == key, posts.c.ts.is_(None)))
