"""Neo4j community, LTS and current, each on the Java it is made for. `install` copied their jars from Maven.

`neo4j-apoc` is an LTS server with the APOC plugin, which stock LlamaIndex needs to write: only the bench asks for it.
"""

import contextlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import neo4j
from neo4j.exceptions import Neo4jError, ServiceUnavailable

from tests.servers.process import SERVERS, ServerMissing, accepts_tcp, free_port, running, temporary_home

LAUNCHER = Path(__file__).parent / "neo4j" / "Neo4jServer.java"
JAVA_RELEASES = {"neo4j-lts": range(17, 18), "neo4j-apoc": range(17, 18), "neo4j-current": range(21, 100)}


@dataclass(frozen=True)
class Memory:
    """What a server may use, in MiB, and how its Java runs."""

    heap: int
    page_cache: int
    java_options: tuple[str, ...]


FOR_TESTS = Memory(512, 64, ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"))  # ready early, never fast
FOR_MEASUREMENTS = Memory(4096, 2048, ("-XX:+UseParallelGC",))


@contextlib.contextmanager
def neo4j_server(name: str, memory: Memory = FOR_TESTS) -> Iterator[str]:
    """Runs one of `JAVA_RELEASES`, empty; yields `bolt://127.0.0.1:PORT/neo4j`. It asks for no password."""
    java, jars, plugins = _java(JAVA_RELEASES[name]), SERVERS / name / "lib", SERVERS / name / "plugins"
    if not (jars.parent / ".complete").exists():
        raise ServerMissing(f"the jars of {name} are not in .servers/")
    with temporary_home(name) as home:
        port = free_port()
        if plugins.exists():
            (home / "plugins").symlink_to(plugins)
        argv = [java, f"-Xmx{memory.heap}m", *memory.java_options, "-cp", f"{jars}/*:{plugins}/*"]
        argv += [LAUNCHER, home, str(port), str(memory.page_cache)]
        # Its files go with it, so it is spared the ten seconds of an orderly end.
        with running(name, argv, ready=lambda: _answers_cypher(port), timeout=90, cwd=home, patience=0):
            yield f"bolt://127.0.0.1:{port}/neo4j"


def _answers_cypher(port: int) -> bool:
    # Bolt listens some seconds before the database answers.
    if not accepts_tcp(port):
        return False
    try:
        with neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{port}", connection_timeout=2) as driver:
            driver.execute_query("RETURN 1", database_="neo4j")
        return True
    except (Neo4jError, ServiceUnavailable, OSError):
        return False


def _java(releases: range) -> Path:
    """A java whose feature release is one of these, from JAVA_HOME or the places where packages put JDKs."""
    homes = [Path(os.environ["JAVA_HOME"])] if os.environ.get("JAVA_HOME") else []
    homes += sorted(Path("/usr/lib/jvm").glob("*"))
    for home in homes:
        notes = home / "release"
        found = re.search(r'^JAVA_VERSION="(\d+)', notes.read_text(), re.MULTILINE) if notes.is_file() else None
        if found and int(found[1]) in releases and (home / "bin" / "java").exists():
            return home / "bin" / "java"
    raise ServerMissing(f"no JDK {releases.start} to {releases.stop - 1} in JAVA_HOME or /usr/lib/jvm")
