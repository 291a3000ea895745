from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.database import metadata, open_engine, posts
from app.delivery import Delivery
from app.metrics import Metrics
from connectors.errors import ConnectorError
from connectors.slack import Message, Posted
from connectors.slack_offline import FileSink

FIRING, RESOLVED, DETAIL = Message("firing"), Message("resolved"), Message("detail")


def failure(*, recoverable: bool, delivered: bool | None = False) -> ConnectorError:
    return ConnectorError("Slack", "it failed", recoverable=recoverable, delivered=delivered)


class Channel:
    """A sink that keeps messages as Slack does: a second post of one key is a second message.

    `before` and `after` fail the next posts, before or after the message arrived; `searches` fails the next searches.
    """

    def __init__(self) -> None:
        self.messages: dict[str, tuple[str, str, str, str | None]] = {}
        self.before: list[ConnectorError] = []
        self.after: list[ConnectorError] = []
        self.searches: list[ConnectorError] = []
        self.refuses: set[str] = set()

    async def post(self, channel: str, message: Message, key: str, thread: str | None = None) -> Posted:
        if channel in self.refuses:
            raise failure(recoverable=False)
        if self.before:
            raise self.before.pop()
        stamp = str(len(self.messages) + 1)
        self.messages[stamp] = (channel, key, message.text, thread)
        if self.after:
            raise self.after.pop()
        return Posted(channel, stamp, thread)

    async def find(self, channel: str, key: str, thread: str | None = None) -> Posted | None:
        if self.searches:
            raise self.searches.pop()
        found = [stamp for stamp, kept in self.messages.items() if kept[:2] == (channel, key)]
        return Posted(channel, found[0], thread) if found else None

    async def update(self, posted: Posted, message: Message) -> None:
        channel, key, _, thread = self.messages[posted.ts]
        self.messages[posted.ts] = (channel, key, message.text, thread)

    @property
    def shown(self) -> list[tuple[str, str, str, str | None]]:
        return list(self.messages.values())


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[sa.Engine]:
    engine = open_engine(f"sqlite:///{tmp_path / 'app.sqlite'}")
    metadata.create_all(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def channel() -> Channel:
    return Channel()


@pytest.fixture
def fallback(tmp_path: Path) -> FileSink:
    return FileSink(tmp_path / "reports")


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def delivery(engine: sa.Engine, channel: Channel, fallback: FileSink, metrics: Metrics) -> Delivery:
    return Delivery(engine, channel, fallback, "#incidents", metrics)


def count(metrics: Metrics, result: str) -> float:
    return metrics.registry.get_sample_value("incident_graph_posts_total", {"result": result}) or 0.0


async def test_a_message_is_posted_once_and_then_edited_in_place(delivery, channel, metrics):
    await delivery.put("inc-1", "#payments", FIRING)
    await delivery.put("inc-1", "#payments", RESOLVED)
    assert channel.shown == [("#payments", "inc-1", "resolved", None)]
    assert count(metrics, "sent") == 2


async def test_a_message_stays_where_it_is_when_the_owner_changes(delivery, channel):
    await delivery.put("inc-1", "#payments", FIRING)
    await delivery.put("inc-1", "#storage", RESOLVED)
    assert channel.shown == [("#payments", "inc-1", "resolved", None)]


async def test_without_a_channel_the_default_one_is_taken(delivery, channel):
    await delivery.put("inc-1", None, FIRING)
    assert channel.shown == [("#incidents", "inc-1", "firing", None)]


async def test_a_detail_hangs_under_its_parent_wherever_that_is(delivery, channel):
    await delivery.put("inc-1", "#payments", FIRING)
    await delivery.put("inc-1:detail", "#storage", DETAIL, under="inc-1")
    assert channel.shown[1] == ("#payments", "inc-1:detail", "detail", "1")


async def test_a_detail_whose_parent_was_never_posted_is_kept_and_not_a_second_parent(delivery, channel, metrics):
    await delivery.put("inc-1:detail", "#payments", DETAIL, under="inc-1")
    assert channel.shown == []
    assert count(metrics, "rescued") == 1


@pytest.mark.parametrize("arrived", [True, False], ids=["the message arrived", "it did not arrive"])
async def test_a_post_nobody_knows_the_end_of_becomes_exactly_one_message(delivery, channel, metrics, arrived):
    (channel.after if arrived else channel.before).append(failure(recoverable=True, delivered=None))
    with pytest.raises(ConnectorError):
        await delivery.put("inc-1", "#payments", FIRING)
    await delivery.put("inc-1", "#payments", RESOLVED)
    assert channel.shown == [("#payments", "inc-1", "resolved", None)]
    assert (count(metrics, "failed"), count(metrics, "sent")) == (1, 1)


async def test_an_ambiguous_post_is_looked_for_where_it_was_sent_and_not_where_the_owner_is_now(delivery, channel):
    channel.after.append(failure(recoverable=True, delivered=None))
    with pytest.raises(ConnectorError):
        await delivery.put("inc-1", "#payments", FIRING)
    await delivery.put("inc-1", "#storage", RESOLVED)
    assert channel.shown == [("#payments", "inc-1", "resolved", None)]


async def test_an_ambiguous_detail_becomes_exactly_one_message_in_its_thread(delivery, channel):
    await delivery.put("inc-1", "#payments", FIRING)
    channel.after.append(failure(recoverable=True, delivered=None))
    with pytest.raises(ConnectorError):
        await delivery.put("inc-1:detail", None, DETAIL, under="inc-1")
    await delivery.put("inc-1:detail", None, DETAIL, under="inc-1")
    assert channel.shown[1:] == [("#payments", "inc-1:detail", "detail", "1")]


async def test_another_process_after_a_crash_finds_the_message_the_first_one_left(
    engine, delivery, channel, fallback, metrics
):
    channel.after.append(failure(recoverable=True, delivered=None))
    with pytest.raises(ConnectorError):
        await delivery.put("inc-1", "#payments", FIRING)
    restarted = Delivery(engine, channel, fallback, "#incidents", metrics)
    await restarted.put("inc-1", "#payments", FIRING)
    await restarted.put("inc-1", "#payments", RESOLVED)
    assert channel.shown == [("#payments", "inc-1", "resolved", None)]


async def test_while_nobody_can_look_nothing_is_sent_again(delivery, channel):
    channel.after.append(failure(recoverable=True, delivered=None))
    channel.searches.append(failure(recoverable=True))
    for _ in range(2):
        with pytest.raises(ConnectorError):
            await delivery.put("inc-1", "#payments", FIRING)
    assert len(channel.shown) == 1


async def test_where_we_are_never_let_look_twice_beats_never(delivery, channel):
    channel.before.append(failure(recoverable=True, delivered=None))
    channel.searches.append(failure(recoverable=False))
    with pytest.raises(ConnectorError):
        await delivery.put("inc-1", "#payments", FIRING)
    await delivery.put("inc-1", "#payments", FIRING)
    assert channel.shown == [("#payments", "inc-1", "firing", None)]


async def test_a_channel_that_refuses_for_good_sends_the_message_to_the_default_one(delivery, channel, metrics):
    channel.refuses = {"#payments"}
    await delivery.put("inc-1", "#payments", FIRING)
    channel.refuses = set()
    await delivery.put("inc-1", "#payments", RESOLVED)
    assert channel.shown == [("#incidents", "inc-1", "resolved", None)]
    assert count(metrics, "rescued") == 0


async def test_a_default_channel_that_fails_for_a_moment_is_tried_again(delivery, channel):
    channel.refuses = {"#payments"}
    channel.before.append(failure(recoverable=True))
    with pytest.raises(ConnectorError):
        await delivery.put("inc-1", "#payments", FIRING)
    await delivery.put("inc-1", "#payments", FIRING)
    assert channel.shown == [("#incidents", "inc-1", "firing", None)]


async def test_a_detail_follows_its_parent_to_the_default_channel(delivery, channel):
    channel.refuses = {"#payments"}
    await delivery.put("inc-1", "#payments", FIRING)
    await delivery.put("inc-1:detail", "#payments", DETAIL, under="inc-1")
    assert channel.shown[1] == ("#incidents", "inc-1:detail", "detail", "1")


async def test_a_post_that_surely_did_not_arrive_is_sent_again_without_looking(delivery, channel):
    channel.before.append(failure(recoverable=True, delivered=False))
    with pytest.raises(ConnectorError):
        await delivery.put("inc-1", "#payments", FIRING)
    channel.searches.append(failure(recoverable=True))
    await delivery.put("inc-1", "#payments", FIRING)
    assert channel.shown == [("#payments", "inc-1", "firing", None)]


async def test_what_every_channel_refuses_is_kept_in_the_fallback(delivery, channel, fallback, metrics):
    channel.refuses = {"#payments", "#incidents"}
    await delivery.put("inc-1", "#payments", FIRING)
    assert channel.shown == []
    assert await fallback.find("#payments", "inc-1") is not None
    assert count(metrics, "rescued") == 1


async def test_what_the_default_channel_refuses_goes_straight_to_the_fallback(delivery, channel, fallback):
    channel.refuses = {"#incidents"}
    await delivery.put("inc-1", None, FIRING)
    await delivery.put("inc-1:detail", "#payments", DETAIL, under="inc-1")
    assert await fallback.find("#incidents", "inc-1") is not None


async def test_files_hold_one_message_a_key_however_often_it_is_put(engine, fallback, metrics, tmp_path: Path):
    delivery = Delivery(engine, fallback, fallback, "#incidents", metrics)
    for message in (FIRING, RESOLVED, RESOLVED):
        await delivery.put("inc-1", "#payments", message)
    with engine.begin() as connection:
        # As a crash between the post and our note of it leaves it.
        connection.execute(posts.update().values(channel=None, ts=None))
    await delivery.put("inc-1", "#payments", RESOLVED)
    (only,) = (tmp_path / "reports").glob("*.json")
    assert '"resolved"' in only.read_text(encoding="utf-8")
