"""Who may do what only one may do at a time, for a while: decided here, kept by each store in one transaction."""

from __future__ import annotations

import json
from datetime import datetime
from typing import NamedTuple


class Lease(NamedTuple):
    """`holder` has it until `until`, an aware time."""

    holder: str
    until: datetime

    def packed(self) -> bytes:
        return json.dumps([self.holder, self.until.isoformat()]).encode()


def holder_of(kept: bytes | None, now: datetime) -> str:
    """Who holds the lease now; empty when nobody does."""
    if kept is None:
        return ""
    by, end = json.loads(kept)
    return by if datetime.fromisoformat(end) > now else ""


def leased(kept: bytes | None, holder: str, now: datetime, until: datetime) -> Lease:
    """The lease as it is to be kept, when `holder` asks for it and `kept` is how it was."""
    by = holder_of(kept, now)
    if kept is not None and by not in ("", holder):
        return Lease(by, datetime.fromisoformat(json.loads(kept)[1]))
    return Lease(holder, until)
