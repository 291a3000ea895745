"""Two processes that write the same new service under two names end with one entity, every time."""

import asyncio
import sys

from graphrag.model import Label
from graphrag.store import GraphStore
from tests.contract.graphs import DIMENSIONS
from tests.servers.process import ROOT

ROUNDS = 200

WRITER = """
import asyncio, sys
from datetime import UTC, datetime
from graphrag.model import Facts, Label, NodeFact
from graphrag.open_store import open_store

async def main(url, tenant, which, rounds):
    store = open_store(url, dimensions=DIMENSIONS, refit=True)
    await store.open()
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(rounds):
        names = (f"payments {number}", f"billing {number}")
        own, other = names if which == "one" else names[::-1]
        fact = NodeFact(Label.SERVICE, own, aliases=(other,))
        await store.write(tenant, Facts(which, datetime.now(UTC), (fact,)))
    await store.close()

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
""".replace("DIMENSIONS", str(DIMENSIONS))


async def test_two_processes_end_with_one_entity_for_each_pair_of_names(
    store: GraphStore, graph_url: str, tenant: str
) -> None:
    pipe = asyncio.subprocess.PIPE
    writers = [
        await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", WRITER, graph_url, tenant, which, str(ROUNDS)), stdin=pipe, stdout=pipe, cwd=ROOT
        )
        for which in ("one", "two")
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert await writer.stdout.readline() == b"ready\n"
    await asyncio.gather(*(writer.communicate(b"go\n") for writer in writers))
    assert [writer.returncode for writer in writers] == [0, 0]
    nodes = await store.all_nodes(tenant, [Label.SERVICE])
    assert len(nodes) == ROUNDS
    assert {(len(node.aliases), len(node.life.sources)) for node in nodes} == {(1, 2)}
