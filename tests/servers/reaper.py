"""Cleans up after a test run that died.

Reads lines until its input ends: `+GROUP` notes a process group to kill, `+/PATH` a directory to remove, and `-` takes
a note back. A finally block does not run after `kill -9`, and a signal handler of ours would fight pytest's: a pipe
always closes.
"""

import contextlib
import os
import shutil
import signal
import sys


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    left: set[str] = set()
    for line in sys.stdin:
        (left.add if line.startswith("+") else left.discard)(line[1:].rstrip("\n"))
    for group in (note for note in left if not note.startswith("/")):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(int(group), signal.SIGKILL)
    for home in (note for note in left if note.startswith("/")):
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
