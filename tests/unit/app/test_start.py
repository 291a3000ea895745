"""What the start of the service leaves for later."""

import subprocess
import sys

import pytest


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules that a start imports."""
    code = "import sys, app.serve; print(*sys.modules, sep='\\n')"
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, stdout=subprocess.PIPE, text=True)
    return set(done.stdout.splitlines())


@pytest.mark.parametrize("sdk", ["slack_sdk", "mcp", "opik", "openai", "neo4j", "llama_index"])
def test_a_start_does_not_wait_for_the_import_of_what_the_settings_may_not_name(imported: set[str], sdk: str) -> None:
    assert "app.serve" in imported
    assert sdk not in imported


def test_collecting_garbage_stops_before_the_large_imports_of_a_start() -> None:
    code = "import sys, app.cli; sys.exit('pydantic' in sys.modules or 'sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
