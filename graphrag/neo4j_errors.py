"""Neo4j's errors in our words. No sentence holds a password: the address is all that is told of the settings."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from neo4j.exceptions import (
    AuthError,
    ConfigurationError,
    DriverError,
    Forbidden,
    Neo4jError,
    ServiceUnavailable,
    SessionExpired,
    TransientError,
    UnsupportedServerProduct,
)

from graphrag.errors import GraphError, GraphMisconfigured, GraphUnavailable

_NO_DATABASE = "Neo.ClientError.Database.DatabaseNotFound"


@contextmanager
def neo4j_errors(address: str) -> Generator[None]:
    """Translate what the driver raises while it speaks with the server at `address` (host and port)."""
    try:
        yield
    except (Neo4jError, DriverError, UnsupportedServerProduct, OSError) as error:
        raise translated(error, address) from error
    except ValueError as error:
        # The driver says so when a host name has no address. Any other ValueError is not its.
        if isinstance(error.__cause__, OSError):
            raise translated(error.__cause__, address) from error
        raise


def translated(error: Exception, address: str) -> GraphError:
    match error:
        case AuthError():
            return GraphMisconfigured(
                f"Neo4j at {address} refuses the user or the password. Correct them in INCIDENT_GRAPH_GRAPH_URL."
            )
        case Forbidden():
            return GraphMisconfigured(
                f"Neo4j at {address} does not let this user do that. Give the user the right to read, write and "
                "create indexes in the database."
            )
        case Neo4jError(code=code) if code == _NO_DATABASE:
            return GraphMisconfigured(
                f"Neo4j at {address} has no such database. Correct the name at the end of INCIDENT_GRAPH_GRAPH_URL."
            )
        case ServiceUnavailable() | SessionExpired() | TransientError() | OSError():
            return GraphUnavailable(
                f"Neo4j at {address} does not answer or cannot do this now. Check that it runs and can be reached."
            )
        case ConfigurationError() | UnsupportedServerProduct():
            return GraphMisconfigured(
                f"Neo4j at {address} cannot be spoken to with these settings. Check the scheme (neo4j, bolt, +s for "
                "TLS) in INCIDENT_GRAPH_GRAPH_URL and that the server is Neo4j 5.26 or later."
            )
        case Neo4jError(code=code):
            return GraphError(f"Neo4j at {address} refused an operation ({code}). Its log says more.")
        case _:
            return GraphError(f"The connection to Neo4j at {address} failed ({type(error).__name__}).")
