"""A Neo4j store whose connection breaks in the middle of a question."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest

from graphrag.open_store import open_store
from tests.contract.graphs import DIMENSIONS, NEO4J, id_of, run, service


class Cutter:
    """Stands between a store and its server, and closes the connection in place of what is asked next."""

    def __init__(self, host: str, port: int) -> None:
        self._there = host, port
        self.cuts_left = 0
        self.ended: list[asyncio.Event] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended = asyncio.Event()
        self.ended.append(ended)
        server_reader, server_writer = await asyncio.open_connection(*self._there)
        back = asyncio.create_task(self._pass_on(server_reader, writer))
        try:
            while asked := await reader.read(65_536):
                if self.cuts_left:
                    self.cuts_left -= 1
                    break
                server_writer.write(asked)
        finally:
            back.cancel()
            server_writer.close()
            writer.close()
            ended.set()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while answered := await reader.read(65_536):
            writer.write(answered)


@contextlib.asynccontextmanager
async def cutter(url: str) -> AsyncIterator[tuple[Cutter, str]]:
    parts = urlsplit(url)
    assert parts.hostname
    assert parts.port
    between = Cutter(parts.hostname, parts.port)
    server = await asyncio.start_server(between.serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield between, f"{parts.scheme}://127.0.0.1:{port}{parts.path}"
        for ended in between.ended:
            await ended.wait()


@pytest.mark.parametrize("graph_url", NEO4J, indirect=True)
async def test_a_read_and_a_write_are_tried_again_when_the_connection_breaks(graph_url: str, tenant: str) -> None:
    async with cutter(graph_url) as (between, url):
        store = open_store(url, dimensions=DIMENSIONS, refit=True)
        await store.open()
        try:
            between.cuts_left = 1
            assert (await store.write(tenant, run(service("a")))).added == 1
            between.cuts_left = 1
            assert id_of(tenant, "a") in await store.nodes(tenant, [id_of(tenant, "a")])
            assert between.cuts_left == 0
        finally:
            await store.close()
