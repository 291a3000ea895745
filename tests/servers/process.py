"""A real server as a child process: started, awaited, its log kept, and gone afterwards whatever happens to us."""

import atexit
import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVERS = ROOT / ".servers"
LOG_TAIL_BYTES = 6_000
PORTS, PORT_LANES = range(16_000, 32_000), 16


class ServerMissing(Exception):
    """A server is not installed; the message says what is missing. `make servers` installs it."""


class ServerFailed(Exception):
    """A server stopped early or was not ready in time; the message ends with the last lines of its log."""


@dataclass(frozen=True)
class ServerProcess:
    """One child with a process group of its own. `log` takes both its output streams."""

    name: str
    popen: subprocess.Popen[bytes]
    log: Path

    def log_tail(self) -> str:
        """The last lines of the log, at most `LOG_TAIL_BYTES`."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - LOG_TAIL_BYTES))
            return log.read().decode(errors="replace")

    def kill(self) -> None:
        """SIGKILL to the whole group at once, as a crash would end it."""
        _signal_group(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def stop(self, patience: float = 5.0) -> None:
        """Asks the group to end, waits `patience` seconds, then kills what is left of it."""
        if patience and self.popen.poll() is None:
            _signal_group(self.popen.pid, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.popen.wait(patience)
        _signal_group(self.popen.pid, signal.SIGKILL)
        self.popen.wait()


_live: list[ServerProcess] = []


def live_servers() -> tuple[ServerProcess, ...]:
    """The servers that run now, so that a failing test can show their logs."""
    return tuple(_live)


@contextlib.contextmanager
def running(
    name: str,
    argv: Sequence[str | Path],
    *,
    ready: Callable[[], bool],
    timeout: float = 30.0,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    log: Path | None = None,
    patience: float = 5.0,
) -> Iterator[ServerProcess]:
    """Runs `argv` until the block is left; enters it once `ready()` is true.

    `env` is added to ours. At the end the server has `patience` seconds to stop before it is killed.
    Raises ServerFailed when the process ends first or `timeout` seconds pass.
    """
    with contextlib.ExitStack() as stack:
        log = log or stack.enter_context(temporary_home(name)) / "log"
        server = ServerProcess(name, _spawn(argv, log, cwd, env, user), log)
        stack.callback(server.stop, patience)
        _reaper_notes(f"+{server.popen.pid}")
        stack.callback(_reaper_notes, f"-{server.popen.pid}")
        _await_ready(server, ready, timeout)
        _live.append(server)
        stack.callback(_live.remove, server)
        yield server


def wait_until(condition: Callable[[], bool], timeout: float, what: str) -> None:
    """Polls `condition`; raises TimeoutError naming `what` after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {timeout:g} s")
        time.sleep(0.05)


def free_port() -> int:
    """A TCP port on loopback that was free a moment ago.

    It lies below the ports that Linux gives to clients, and each worker of a parallel run draws from ports of its own:
    so nobody takes it before its server listens, or while a test restarts the server.
    """
    lane = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % PORT_LANES
    while True:
        port = random.randrange(PORTS.start + lane, PORTS.stop, PORT_LANES)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def answers_http(url: str, headers: Mapping[str, str] | None = None) -> bool:
    """Whether a GET gets a 2xx answer now."""
    request = urllib.request.Request(url, headers=dict(headers or {}))
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=2):
            return True
    except urllib.error.HTTPError as error:
        error.close()
        return False
    except (OSError, ValueError):
        return False


def accepts_tcp(port: int) -> bool:
    """Whether something listens on this loopback port."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def program(*names: str) -> str:
    """The path of the first of these programs that is installed; ServerMissing otherwise."""
    for name in names:
        if path := shutil.which(name):
            return path
    raise ServerMissing(f"{names[0]} is not installed")


@contextlib.contextmanager
def temporary_home(name: str) -> Iterator[Path]:
    """A directory of the server's own, removed afterwards. Outside pytest's tree, which other users cannot enter."""
    home = Path(tempfile.mkdtemp(prefix=f"incident-graph-{name}-"))
    _reaper_notes(f"+{home}")
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)
        _reaper_notes(f"-{home}")


def _spawn(
    argv: Sequence[str | Path], log: Path, cwd: Path | None, env: Mapping[str, str] | None, user: str | None
) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            [str(part) for part in argv],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=[] if user else None,
        )


def _await_ready(server: ServerProcess, ready: Callable[[], bool], timeout: float) -> None:
    def ready_or_dead() -> bool:
        return server.popen.poll() is not None or ready()

    try:
        wait_until(ready_or_dead, timeout, f"{server.name} ready")
    except TimeoutError as error:
        raise ServerFailed(f"{error}; its log ends:\n{server.log_tail()}") from error
    if server.popen.returncode is not None:
        raise ServerFailed(f"{server.name} ended with {server.popen.returncode}; its log ends:\n{server.log_tail()}")


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


_reaper: subprocess.Popen[bytes] | None = None


def _reaper_notes(line: str) -> None:
    """Tells the reaper what to kill and remove when we die without cleaning up (see reaper.py)."""
    global _reaper
    if _reaper is None:
        argv = [sys.executable, "-I", "-S", str(Path(__file__).with_name("reaper.py"))]
        _reaper = subprocess.Popen(argv, stdin=subprocess.PIPE, start_new_session=True)
        atexit.register(_dismiss_reaper)
    assert _reaper.stdin is not None
    _reaper.stdin.write(f"{line}\n".encode())
    _reaper.stdin.flush()


def _dismiss_reaper() -> None:
    global _reaper
    if _reaper is not None:
        _reaper.communicate()
        _reaper = None
