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


def leased(kept: bytes | None, holder: str, now: datetime, until: datetime) -> Lease:
    """The lease as it is to be kept, when `holder` asks for it and `kept` is how it was."""
    if kept is not None:
        by, end = json.loads(kept)
        known = Lease(by, datetime.fromisoformat(end))
        if known.holder != holder and known.until > now:
            return known
    return Lease(holder, until)
