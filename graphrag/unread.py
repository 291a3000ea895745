"""Facts that are read with a few fields and take the others out of their row when one of these is first asked for.

What surrounds a node is dozens of facts, of which most callers look at names and ends: taking each apart would cost
more than the search. The row is part of the same read, so nothing is ever asked of the database later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

UNREAD = "_unread"
"""The slot for what is left: `(read, *rest)`. `read(fact, *rest)` fills every field that is empty."""


class Unread:
    """Base of a frozen type with slots. To everybody else an instance is like any other: equal by value, to be copied,
    pickled and replaced."""

    __slots__ = (UNREAD,)

    if not TYPE_CHECKING:  # for a type checker there are no names but the fields

        def __getattr__(self, name: str) -> Any:
            """Asked for only when the slot of this name is empty."""
            try:
                unread = object.__getattribute__(self, UNREAD)
            except AttributeError:  # made whole
                unread = None
            if unread is not None:
                read, *rest = unread
                read(self, *rest)
                # Last: another thread that comes meanwhile finds what is unread, or the fields.
                object.__setattr__(self, UNREAD, None)
            return object.__getattribute__(self, name)
