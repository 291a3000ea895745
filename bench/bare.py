"""The reference: a bare FastAPI app whose one route writes one SQLite row, on the disk before it answers.

`python -m bench.bare PORT FILE` runs it, under uvicorn with the service's own options.
"""

from __future__ import annotations

import secrets
import sqlite3
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI


def create_app(connection: sqlite3.Connection) -> FastAPI:
    """The app. Requests share the connection; a commit waits for its fsync, so they take turns."""
    turn = threading.Lock()
    app = FastAPI()

    @app.post("/accept", status_code=202)
    def accept(body: dict[str, Any]) -> dict[str, str]:
        accepted = secrets.token_urlsafe(9)
        with turn, connection:
            row = (accepted, time.time(), str(body.get("groupKey", "")))
            connection.execute("INSERT INTO accepted VALUES (?, ?, ?)", row)
        return {"id": accepted}

    @app.get("/readyz")
    async def ready() -> dict[str, str]:
        return {"status": "ready"}

    return app


def open_file(file: Path) -> sqlite3.Connection:
    """A connection whose every commit is on the disk when it returns."""
    connection = sqlite3.connect(file, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS accepted (id TEXT PRIMARY KEY, at REAL, group_key TEXT)")
    return connection


def main() -> None:
    port, file = int(sys.argv[1]), Path(sys.argv[2])
    with closing(open_file(file)) as connection:
        uvicorn.run(
            create_app(connection),
            host="127.0.0.1",
            port=port,
            log_config=None,
            access_log=False,
            server_header=False,
        )


if __name__ == "__main__":
    main()
