"""A light HTTP client: kept-alive connections on plain streams, so that the server is what gets measured."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Target:
    """One route on loopback, and what each request to it carries."""

    name: str
    port: int
    path: str
    token: str = ""

    def request(self, body: bytes) -> bytes:
        """The whole POST as it goes over the wire."""
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


@dataclass(frozen=True)
class Round:
    """What came back. `seconds` is the wall time of all, `busy` the share of it in which the client used its core."""

    seconds: float
    latencies: tuple[float, ...]
    answers: tuple[Mapping[str, Any], ...]
    busy: float


async def drive(target: Target, bodies: Sequence[bytes], connections: int) -> Round:
    """Send the bodies over some connections, each with one request under way at a time.

    Raises RuntimeError when an answer is not a 202.
    """
    waiting = iter([target.request(body) for body in bodies])
    streams = [await asyncio.open_connection("127.0.0.1", target.port) for _ in range(connections)]
    latencies: list[float] = []
    answers: list[tuple[bytes, bytes]] = []
    try:
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(_converse(*stream, waiting, latencies, answers) for stream in streams))
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    finally:
        for _, writer in streams:
            writer.close()
            await writer.wait_closed()
    for head, body in answers:
        if b" 202 " not in head.partition(b"\r\n")[0]:
            raise RuntimeError(f"{target.name} answered {head!r} {body!r}")
    return Round(seconds, tuple(latencies), tuple(json.loads(body) for _, body in answers), cpu / seconds)


async def _converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    waiting: Iterator[bytes],
    latencies: list[float],
    answers: list[tuple[bytes, bytes]],
) -> None:
    for request in waiting:
        began = time.perf_counter()
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(content_length(head))
        latencies.append(time.perf_counter() - began)
        answers.append((head, body))


def content_length(head: bytes) -> int:
    """The length that a head of an answer names. Raises ValueError when it names none."""
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    raise ValueError(f"no Content-Length in {head!r}")
