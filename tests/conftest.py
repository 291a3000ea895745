"""The real servers as fixtures. Each is started once, when the first test asks for it, and stopped at the end.

A server that is not installed skips its tests here and fails them with CI=true; the summary counts what was skipped.
In a parallel run all tests of one shared server go to one worker, so that it is still started once.
"""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TypeVar

import coverage
import pytest

from tests.servers.alertmanager_server import Alertmanager, alertmanager_server
from tests.servers.exporter import Exporter, metrics_exporter
from tests.servers.litellm_gateway import Gateway, litellm_gateway
from tests.servers.neo4j_server import neo4j_server
from tests.servers.postgres_server import fresh_database, postgres_server
from tests.servers.process import ROOT, ServerMissing, live_servers
from tests.servers.prometheus_server import Prometheus, prometheus_mcp_command, prometheus_server

T = TypeVar("T")
SKIPPED = "not available: "
IN_CI = os.environ.get("CI", "").lower() in {"1", "true", "yes"}
WORKER = os.environ.get("PYTEST_XDIST_WORKER")
# The session's fixtures that many files share, the dearest first.
SHARED_SERVERS = ("neo4j_lts_url", "neo4j_current_url", "litellm_gateway", "postgres_url")

# A worker of `coverage run -m pytest -n 2` is a process of its own, so it measures itself, and does so before the
# conftests below this one import anything of ours.
measured = coverage.Coverage(data_suffix=True) if WORKER and "COVERAGE_RUN" in os.environ else None
if measured is not None:
    measured.start()


def pytest_unconfigure() -> None:
    """Keeps what this worker measured."""
    if measured is not None:
        measured.stop()
        measured.save()


@pytest.hookimpl(tryfirst=True)  # before xdist looks for the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tells xdist's `loadgroup` what has to stay together: the tests of a shared server, else those of a file."""
    if WORKER:
        for item in items:
            item.add_marker(pytest.mark.xdist_group(_group_of(item)))


def _group_of(item: pytest.Item) -> str:
    assert isinstance(item, pytest.Function)
    parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
    asked = {*item.fixturenames, *(value for value in parameters if isinstance(value, str))}
    return next((server for server in SHARED_SERVERS if server in asked), item.nodeid.partition("::")[0])


@contextlib.contextmanager
def demanded() -> Iterator[None]:
    """Turns ServerMissing into a skip, or into a failure where CI=true."""
    try:
        yield
    except ServerMissing as missing:
        report = pytest.fail if IN_CI else pytest.skip
        report(f"{SKIPPED}{missing} (make servers brings it)")


def started(server: AbstractContextManager[T], stack: ExitStack) -> T:
    """Starts a server that `stack` will stop; a missing one skips or fails the test."""
    with demanded():
        return stack.enter_context(server)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The product runs on asyncio only."""
    return "asyncio"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real inputs beside the checkout, or the one that SHARED_DATA names."""
    folder = Path(os.environ.get("SHARED_DATA", ROOT.parent / "shared" / "data"))
    with demanded():
        if not folder.is_dir():
            raise ServerMissing("the shared data (set SHARED_DATA to its folder)")
    return folder


@pytest.fixture(scope="session")
def neo4j_lts_url() -> Iterator[str]:
    """`bolt://…/neo4j` of Neo4j 5.26 on Java 17; shared by all tests, so use a tenant of your own or clean up."""
    with ExitStack() as stack:
        yield started(neo4j_server("neo4j-lts"), stack)


@pytest.fixture(scope="session")
def neo4j_current_url() -> Iterator[str]:
    """`bolt://…/neo4j` of the current Neo4j on a newer JDK; shared as `neo4j_lts_url` is."""
    with ExitStack() as stack:
        yield started(neo4j_server("neo4j-current"), stack)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """`postgresql://…/postgres`, the server's own database: take `postgres_database` to write."""
    with ExitStack() as stack:
        yield started(postgres_server(), stack)


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """`postgresql://…` of an empty database that only this test sees."""
    with fresh_database(postgres_url) as url:
        yield url


@pytest.fixture
def prometheus_factory() -> Iterator[Callable[..., Prometheus]]:
    """Starts a Prometheus for this test; takes the arguments of `prometheus_server`."""
    with ExitStack() as stack:
        yield lambda **options: started(prometheus_server(**options), stack)


@pytest.fixture
def alertmanager_factory() -> Iterator[Callable[..., Alertmanager]]:
    """Starts an Alertmanager for this test; takes the arguments of `alertmanager_server`."""
    with ExitStack() as stack:
        yield lambda *arguments, **options: started(alertmanager_server(*arguments, **options), stack)


@pytest.fixture
def exporter() -> Iterator[Exporter]:
    """A scrape target whose numbers the test sets."""
    with metrics_exporter() as running_exporter:
        yield running_exporter


@pytest.fixture(scope="session", name="litellm_gateway")
def shared_gateway() -> Iterator[Gateway]:
    """A LiteLLM proxy with the models of `ANSWERS`; fields `base_url`, `key`, `models`."""
    with ExitStack() as stack:
        yield started(litellm_gateway(), stack)


@pytest.fixture(scope="session", name="prometheus_mcp_command")
def mcp_command() -> list[str]:
    """The command that runs prometheus-mcp-server on stdio; it reads PROMETHEUS_URL."""
    with demanded():
        return prometheus_mcp_command()
    raise AssertionError("unreachable")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Shows what the running servers logged beneath a test that failed."""
    report = yield
    if report.failed:
        for server in live_servers():
            report.sections.append((f"log of {server.name} ({server.log})", server.log_tail()))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Counts the tests that a missing server cost."""
    missing: Counter[str] = Counter()
    for report in terminalreporter.getreports("skipped"):
        if isinstance(report.longrepr, tuple) and SKIPPED in report.longrepr[2]:
            missing[report.longrepr[2].split(SKIPPED)[1]] += 1
    for reason, count in missing.items():
        terminalreporter.write_line(f"skipped for want of a server: {count} ({reason})", yellow=True)
