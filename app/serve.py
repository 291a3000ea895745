"""Runs the service in this process until it is told to stop."""

from __future__ import annotations

import asyncio
import fcntl
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import IO

import uvicorn
from sqlalchemy.exc import SQLAlchemyError

from app.logging import configure_logging
from app.main import create_app
from app.settings import Settings
from graphrag.errors import GraphError


class CannotStart(Exception):
    """The service cannot run as it is set up; the message says what to mend."""


def run(settings: Settings) -> None:
    """Serve until a signal. Raises `CannotStart`."""
    configure_logging(settings.log_level)
    if not settings.tokens:
        where = settings.data_dir / "token"
        print(f"No tokens are set: the admin token is in {where}.", file=sys.stderr)  # noqa: T201
    asyncio.run(serve(settings))


async def serve(settings: Settings) -> None:
    """Open everything, then listen: whoever connects finds a service that can take an alert."""
    try:
        lock = _alone_on(settings)
        app = create_app(settings)
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=10,
        )
        async with app.router.lifespan_context(app):
            await _Server(config).serve()
        lock.close()
    except GraphError as error:
        raise CannotStart(f"The graph cannot be opened: {error}") from error
    except SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).partition("\n")[0]
        raise CannotStart(
            f"The incident database cannot be opened ({reason}); check INCIDENT_GRAPH_DATABASE_URL and the server."
        ) from error
    except PermissionError as error:
        raise CannotStart(
            f"{error.filename} may not be written; check INCIDENT_GRAPH_DATA_DIR and who owns it."
        ) from error


class _Server(uvicorn.Server):
    """uvicorn raises the signal anew once it has stopped listening, which would end the process before our own
    resources are closed. Ours only stops listening; a second signal while closing ends it at once."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


def _alone_on(settings: Settings) -> IO[str]:
    """Hold the data folder for this process: on SQLite a second service would take over the first one's running work.

    The lock ends with the process, however it ends. Raises `CannotStart`.
    """
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    lock = (settings.data_dir / "lock").open("w")
    try:
        if settings.app_database.startswith("sqlite"):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise CannotStart(
            f"Another service runs on {settings.data_dir}; stop it, or name another INCIDENT_GRAPH_DATA_DIR, or use "
            "PostgreSQL, which replicas can share."
        ) from None
    return lock
