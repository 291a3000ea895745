"""A fact that is read in part is, to whoever has it, the fact."""

import copy
import dataclasses
import pickle
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from graphrag.model import Label, Life, Node
from graphrag.unread import UNREAD

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WHOLE = Node("service-1", "tenant", Label.SERVICE, "checkout", Life(NOON, NOON, NOON), "takes orders", ("shop",))


def fill(node: Node, row: Node) -> None:
    for field in dataclasses.fields(Node):
        object.__setattr__(node, field.name, getattr(row, field.name))


def unread(read: Any = fill) -> Node:
    node = object.__new__(Node)
    object.__setattr__(node, "id", WHOLE.id)
    object.__setattr__(node, UNREAD, (read, WHOLE))
    return node


def test_it_equals_the_same_fact_made_whole() -> None:
    assert unread() == WHOLE
    assert WHOLE == unread()
    assert unread() == unread()
    assert unread() != dataclasses.replace(WHOLE, name="ledger")
    assert repr(unread()) == repr(WHOLE)


def test_it_can_be_copied_pickled_and_replaced_before_it_was_read() -> None:
    assert copy.copy(unread()) == copy.deepcopy(unread()) == pickle.loads(pickle.dumps(unread())) == WHOLE
    assert dataclasses.replace(unread(), name="ledger") == dataclasses.replace(WHOLE, name="ledger")
    assert dataclasses.asdict(unread()) == dataclasses.asdict(WHOLE)


def test_it_is_read_once_and_only_when_a_field_is_missing() -> None:
    readings: list[str] = []
    node = unread(lambda node, row: (readings.append(row.id), fill(node, row)))
    assert (node.id, readings) == ("service-1", [])
    assert (node.name, node.summary, node.aliases) == ("checkout", "takes orders", ("shop",))
    assert readings == ["service-1"]


def test_it_cannot_be_changed_before_or_after_it_was_read() -> None:
    node = unread()
    for _ in range(2):
        with pytest.raises(dataclasses.FrozenInstanceError):
            node.summary = "something else"  # type: ignore[misc]
        assert node.summary == "takes orders"


def test_what_is_no_field_is_missing_whether_or_not_it_was_read() -> None:
    for node in (unread(), WHOLE):
        with pytest.raises(AttributeError, match="nickname"):
            _ = node.nickname  # type: ignore[attr-defined]


def test_threads_that_read_it_at_once_all_find_it_whole() -> None:
    begin = threading.Barrier(4)

    def slowly(node: Node, row: Node) -> None:
        begin.wait(5)  # all four are in here at once
        fill(node, row)

    node, found = unread(slowly), list[Node]()
    threads = [threading.Thread(target=lambda: found.append(copy.copy(node))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [WHOLE] * 4
