"""PostgreSQL in a directory of its own. Its programs refuse to run as root, so root runs them as user postgres."""

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from tests.servers.process import ServerFailed, ServerMissing, free_port, running, temporary_home

_numbers = itertools.count(1)


@contextlib.contextmanager
def postgres_server() -> Iterator[str]:
    """Runs an empty PostgreSQL; yields `postgresql://postgres@127.0.0.1:PORT/postgres`. It asks for no password."""
    programs, user = _programs(), _unprivileged_user()
    with temporary_home("postgres") as home:
        if user:
            shutil.chown(home, user, user)
        data, port = home / "data", free_port()
        _initdb(programs / "initdb", data, user)
        argv = [programs / "postgres", "-D", data, "-p", str(port), "-k", home]
        argv += ["-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "max_connections=200"]
        url = f"postgresql://postgres@127.0.0.1:{port}/postgres"
        with running("postgres", argv, ready=lambda: _answers_sql(url), cwd=home, user=user):
            yield url


@contextlib.contextmanager
def fresh_database(server_url: str) -> Iterator[str]:
    """An empty database on the server, dropped afterwards with whatever is still connected to it; yields its URL."""
    name = f"test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(server_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield f"{server_url.rsplit('/', 1)[0]}/{name}"
    finally:
        with psycopg.connect(server_url, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _answers_sql(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=2):
            return True
    except psycopg.OperationalError:
        return False


def _initdb(initdb: Path, data: Path, user: str | None) -> None:
    argv = [initdb, "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"]
    groups = [] if user else None
    done = subprocess.run(
        argv, capture_output=True, text=True, cwd=data.parent, user=user, group=user, extra_groups=groups
    )
    if done.returncode:
        raise ServerFailed(f"initdb: {done.stderr}")


def _programs() -> Path:
    """The directory of the newest PostgreSQL's programs."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda place: float(place.parent.name))
    on_path = shutil.which("postgres")
    places = places or ([Path(on_path).resolve().parent] if on_path else [])
    if not places or not (places[-1] / "initdb").exists():
        raise ServerMissing("PostgreSQL's server programs are not installed")
    return places[-1]


def _unprivileged_user() -> str | None:
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        raise ServerMissing("no user postgres, and root cannot run PostgreSQL") from None
