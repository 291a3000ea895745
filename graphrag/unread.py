"""Facts that are read with a few fields and take the others out of their row when one of these is first asked for.

What surrounds a node is dozens of facts, of which most callers look at names and ends: taking 17 columns apart for each
would cost more than the search. The row is part of the same read, so nothing is ever asked of the database later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

_set = object.__setattr__  # what frozen types do themselves as they are made

Fact = TypeVar("Fact", bound="Unread")


class Unread:
    """Base of a frozen type with slots. To everybody else an instance is like any other: equal by value, to be copied,
    pickled and replaced."""

    __slots__ = ("_rest",)

    if not TYPE_CHECKING:  # for a type checker there are no names but the fields

        def __getattr__(self, name: str) -> Any:
            """Asked for only when the slot of this name is empty."""
            try:
                rest = object.__getattribute__(self, "_rest")
            except AttributeError:  # made whole
                rest = None
            if rest is not None:
                read, row = rest
                read(self, row)
                _set(self, "_rest", None)  # last: another thread that comes meanwhile finds the row or the fields
            return object.__getattribute__(self, name)


def leave_unread(fact: Fact, read: Callable[[Fact, Any], None], row: Any) -> None:
    """`read` fills the fields of the fact that are empty, from the row."""
    _set(fact, "_rest", (read, row))
