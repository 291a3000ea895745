"""How a system outside fails, in our own words."""

from __future__ import annotations


class ConnectorError(Exception):
    """A system outside failed. `recoverable` says whether trying the same thing again may help.

    `delivered` matters for writes: False when the request surely had no effect, None when nobody knows.
    """

    def __init__(self, service: str, message: str, *, recoverable: bool, delivered: bool | None = False) -> None:
        super().__init__(message)
        self.service = service
        self.recoverable = recoverable
        self.delivered = delivered
