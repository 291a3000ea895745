"""What can go wrong with the graph, in sentences a person can act on."""

from __future__ import annotations


class GraphError(Exception):
    """A graph operation failed; the message says what to do."""


class GraphUnavailable(GraphError):
    """The graph's database does not answer. Trying again may help."""


class GraphMisconfigured(GraphError):
    """The graph's settings or its stored layout cannot work as they are; trying again will not help."""


class Refused(Exception):
    """Something that a person asked of the graph and that may not be. `code` says why to a machine, the message to a
    person; the code says which of both sides is wrong: `unknown_…` names nothing there is, any other contradicts what
    there is."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
