"""The map from the driver's errors to ours is complete and says nothing secret."""

import inspect

import neo4j.exceptions
import pytest

from graphrag.errors import GraphError, GraphMisconfigured, GraphUnavailable
from graphrag.neo4j_errors import neo4j_errors

# Their common root, GqlError, is never raised by itself.
EVERY_ERROR = [
    error
    for _, error in inspect.getmembers(neo4j.exceptions, inspect.isclass)
    if issubclass(error, Exception) and error.__module__ == "neo4j.exceptions" and error.__name__ != "GqlError"
]


@pytest.mark.parametrize("error", EVERY_ERROR, ids=lambda error: error.__name__)
def test_every_error_of_the_driver_is_ours_at_the_edge(error: type[Exception]) -> None:
    raised = error.__new__(error)
    raised.args = ("password: secret",)
    with pytest.raises(GraphError, match="host:7687") as ours, neo4j_errors("host:7687"):
        raise raised
    assert "secret" not in str(ours.value)


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (neo4j.exceptions.ServiceUnavailable("x"), GraphUnavailable),
        (neo4j.exceptions.SessionExpired("x"), GraphUnavailable),
        (neo4j.exceptions.IncompleteCommit("x"), GraphUnavailable),
        (neo4j.exceptions.AuthError("x"), GraphMisconfigured),
        (neo4j.exceptions.Forbidden("x"), GraphMisconfigured),
        (neo4j.exceptions.ConfigurationError("x"), GraphMisconfigured),
        (ConnectionResetError("x"), GraphUnavailable),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_trying_again_may_mend_is_told_apart(error: Exception, ours: type[GraphError]) -> None:
    with pytest.raises(ours), neo4j_errors("host:7687"):
        raise error


def test_a_bug_of_ours_is_not_dressed_up() -> None:
    with pytest.raises(KeyError), neo4j_errors("host:7687"):
        raise KeyError("bug")
