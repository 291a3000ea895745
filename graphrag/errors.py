"""What can go wrong with the graph, in sentences a person can act on."""

from __future__ import annotations


class GraphError(Exception):
    """A graph operation failed; the message says what to do."""


class GraphUnavailable(GraphError):
    """The graph's database does not answer. Trying again may help."""


class GraphMisconfigured(GraphError):
    """The graph's settings or its stored layout cannot work as they are; trying again will not help."""
