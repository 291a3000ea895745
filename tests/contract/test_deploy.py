"""What deploy/ and the Dockerfile say, checked by the tools that read them, without a container engine."""

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.settings import PREFIX, Settings, load_settings
from tests.conftest import demanded
from tests.servers.process import ROOT, SERVERS, ServerMissing, program
from tests.servers.prometheus_server import prometheus_mcp_command

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
DOCKERFILES = [ROOT / "Dockerfile", DEPLOY / "prometheus-mcp.Dockerfile"]
# A build has a network and a Python; it has none of our shell's settings for Python and uv.
CLEAN = {
    name: value
    for name, value in os.environ.items()
    if not name.startswith(("UV_", "PYTHON", "VIRTUAL_ENV", "COVERAGE", PREFIX)) and name != "UV"
}


def run(argv: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in argv], capture_output=True, text=True, timeout=300, check=False, **options
    )


def tool(*names: str) -> str:
    with demanded():
        return program(*names)


@pytest.mark.parametrize("file", [ROOT / "alertmanager.example.yml", DEPLOY / "alertmanager.yml"], ids=lambda f: f.name)
def test_amtool_accepts_the_configuration(file: Path) -> None:
    done = run([tool("amtool"), "check-config", file])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("file", [ROOT / "alertmanager.example.yml", DEPLOY / "alertmanager.yml"], ids=lambda f: f.name)
def test_alertmanager_sends_every_alert_and_every_end_with_a_token_from_a_file(file: Path) -> None:
    hooks = [hook for receiver in yaml.safe_load(file.read_text())["receivers"] for hook in hooks_of(receiver)]
    assert [(hook["send_resolved"], hook["max_alerts"]) for hook in hooks] == [(True, 0)]
    assert hooks[0]["url"].endswith("/webhooks/alertmanager")
    assert hooks[0]["http_config"]["authorization"].keys() == {"type", "credentials_file"}


def hooks_of(receiver: dict[str, Any]) -> list[dict[str, Any]]:
    return receiver.get("webhook_configs", [])


def test_promtool_accepts_the_configuration_and_the_rules() -> None:
    for argv in (["config", DEPLOY / "prometheus.yml"], ["rules", *sorted((DEPLOY / "rules").glob("*.yml"))]):
        done = run([tool("promtool"), "check", *argv])
        assert done.returncode == 0, done.stderr


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what compose reads, with the `.env` that the example tells one to write."""
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns(".env"))
    example = (DEPLOY / ".env.example").read_text()
    filled = re.sub(r"^([A-Z0-9_]*(?:PASSWORD|TOKEN))=$", r"\1=0123456789abcdef", example, flags=re.MULTILINE)
    (tmp_path / "deploy" / ".env").write_text(filled)
    return tmp_path


def compose_config(checkout: Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in CLEAN.items() if not name.endswith(("PASSWORD", "TOKEN"))}
    return run([tool("docker-compose"), "--file", "compose.yaml", "config"], cwd=checkout / "deploy", env=environment)


def rendered(checkout: Path) -> dict[str, Any]:
    done = compose_config(checkout)
    assert done.returncode == 0, done.stderr
    assert "not set" not in done.stderr
    return yaml.safe_load(done.stdout)


def required_variables() -> list[str]:
    return sorted(set(re.findall(r"\$\{(\w+):\?", (DEPLOY / "compose.yaml").read_text())))


def test_compose_accepts_the_file_with_the_filled_example(checkout: Path) -> None:
    assert rendered(checkout)["services"].keys() == COMPOSE["services"].keys()


@pytest.mark.parametrize("variable", required_variables())
def test_compose_refuses_to_start_without_a_secret_and_names_it(checkout: Path, variable: str) -> None:
    file = checkout / "deploy" / ".env"
    file.write_text(re.sub(rf"^{variable}=.*$", f"{variable}=", file.read_text(), flags=re.MULTILINE))
    done = compose_config(checkout)
    assert done.returncode != 0
    assert done.stderr.strip().endswith(f"set {variable} in deploy/.env")


def test_the_example_names_every_secret_and_gives_none_a_value() -> None:
    lines = (DEPLOY / ".env.example").read_text().splitlines()
    assert {f"{variable}=" for variable in required_variables()} <= set(lines)


def test_the_service_starts_with_the_settings_that_compose_gives_it(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: Mapping[str, str] = rendered(checkout)["services"]["incident-graph"]["environment"]
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv(f"{PREFIX}MCP_SERVERS", str(DEPLOY / "mcp.json"))
    settings = load_settings()
    assert [token.role for token in settings.tokens] == ["webhook", "reader", "admin"]
    assert settings.database_url.startswith("postgresql://incident_graph:0123456789abcdef@postgres:")
    assert settings.graph_url.startswith("neo4j://neo4j:0123456789abcdef@neo4j:")
    assert [server.name for server in settings.servers] == ["prometheus"]


def test_every_setting_in_the_example_is_a_setting() -> None:
    named = set(re.findall(rf"^#?\s?{PREFIX}(\w+)=", (DEPLOY / ".env.example").read_text(), flags=re.MULTILINE))
    assert named == {name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize("name", sorted(COMPOSE["services"]))
def test_each_service_is_checked_pinned_and_open_to_this_machine_only(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["healthcheck"]["test"]
    assert "build" in service or re.search(r":v?\d", service["image"])
    assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))
    assert all((DEPLOY / path).exists() for path in mounted_files(service))
    literal = [key for key, value in service.get("environment", {}).items() if is_secret(key) and "${" not in value]
    assert literal == []


def is_secret(name: str) -> bool:
    return name.endswith(("PASSWORD", "TOKEN", "TOKENS", "KEY", "AUTH", "SECRET"))


def mounted_files(service: dict[str, Any]) -> list[str]:
    return [volume.split(":")[0] for volume in service.get("volumes", []) if volume.startswith(".")]


def test_the_service_runs_as_nobody_in_particular_on_a_file_system_it_cannot_write() -> None:
    service = COMPOSE["services"]["incident-graph"]
    assert (service["read_only"], service["user"], service["cap_drop"]) == (True, "10001", ["ALL"])
    assert instructions(ROOT / "Dockerfile")[-1] == ("CMD", '["serve"]')
    assert ("USER", "10001") in instructions(ROOT / "Dockerfile")


@pytest.mark.parametrize("file", DOCKERFILES, ids=lambda file: file.name)
def test_hadolint_finds_nothing_in_the_dockerfile(file: Path) -> None:
    hadolint = SERVERS / "hadolint" / "bin" / "hadolint"
    with demanded():
        if not hadolint.exists():
            raise ServerMissing("hadolint is not in .servers/")
    done = run([hadolint, "--no-color", file])
    assert done.returncode == 0, done.stdout


def instructions(file: Path) -> list[tuple[str, str]]:
    """The Dockerfile's instructions in order, comments dropped and continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", file.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    return [(line.split(" ", 1)[0], line.split(" ", 1)[1].strip()) for line in text.splitlines() if line.strip()]


def test_everything_the_dockerfile_copies_is_let_through_by_dockerignore() -> None:
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        source
        for name, rest in instructions(ROOT / "Dockerfile")
        if name == "COPY" and "--from" not in rest
        for source in rest.split()[:-1]
    }
    assert copied == let_through
    assert all((ROOT / source).exists() for source in copied)


class Build:
    """Plays a Dockerfile's build stage in a directory: a Python of its own, an empty home, nothing of this checkout
    but what COPY brings. Absolute paths of the image become paths below the directory. What only makes an image small
    or its start quick is left out, since it takes most of the time: wheels may come from the caches of this machine,
    and nothing is compiled ahead."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.workdir = place
        caches = {"XDG_CACHE_HOME": str(Path.home() / ".cache")}
        caches |= {name: os.environ[name] for name in ("XDG_CACHE_HOME", "UV_CACHE_DIR") if name in os.environ}
        self.environment = {**CLEAN, **caches, "HOME": str(place / "home")}
        (place / "home").mkdir()
        subprocess.run([sys.executable, "-m", "venv", place / "python"], check=True)
        self.environment["PATH"] = f"{place / 'python' / 'bin'}:/usr/bin:/bin"

    def stage(self, steps: Sequence[tuple[str, str]]) -> None:
        for name, rest in steps:
            getattr(self, f"_{name.lower()}", lambda _: None)(rest)

    def inside(self, path: str) -> Path:
        return self.place / path.lstrip("/")

    def _workdir(self, rest: str) -> None:
        self.workdir = self.inside(rest)
        self.workdir.mkdir(parents=True, exist_ok=True)

    def _env(self, rest: str) -> None:
        for name, value in (pair.split("=", 1) for pair in rest.split()):
            if name != "UV_COMPILE_BYTECODE":
                self.environment[name] = str(self.inside(value)) if value.startswith("/") else value

    def _copy(self, rest: str) -> None:
        *sources, target = rest.split()
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, self.workdir / target)
            else:
                shutil.copy(ROOT / source, self.workdir / target)

    def _run(self, rest: str) -> None:
        command = rest.replace(" --no-cache-dir", " --no-compile").replace(" --no-cache", "")
        done = run(["/bin/sh", "-c", command], cwd=self.workdir, env=self.environment)
        assert done.returncode == 0, f"RUN {rest}\n{done.stdout}{done.stderr}"


def stages(file: Path) -> list[list[tuple[str, str]]]:
    found: list[list[tuple[str, str]]] = []
    for step in instructions(file):
        if step[0] == "FROM":
            found.append([])
        found[-1].append(step)
    return found


def test_the_build_stage_makes_a_command_that_runs(tmp_path: Path) -> None:
    build = Build(tmp_path)
    build.stage(stages(ROOT / "Dockerfile")[0])
    environment = build.inside("/opt/incident-graph")
    done = run([environment / "bin" / "incident-graph", "--help"], env=build.environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "serve" in done.stdout
    shutil.rmtree(build.inside("/src"))  # the last stage takes the environment only
    assert run([environment / "bin" / "incident-graph", "--help"], env=build.environment).returncode == 0
    installed = {path.name.split("-")[0] for path in environment.glob("lib/python*/site-packages/*.dist-info")}
    assert installed.isdisjoint({"ruff", "pyright", "respx"})


def test_the_last_stage_adds_a_user_without_a_login(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("useradd needs root")
    (tmp_path / "etc").mkdir()
    for name in ("passwd", "group", "shadow", "gshadow", "login.defs"):
        content = Path("/etc/login.defs").read_text() if name == "login.defs" else ""
        (tmp_path / "etc" / name).write_text(content)
    (command,) = [rest for name, rest in stages(ROOT / "Dockerfile")[-1] if name == "RUN"]
    assert command.startswith("useradd ")
    done = run(["/bin/sh", "-c", command.replace("useradd", f"/usr/sbin/useradd --prefix {tmp_path}", 1)])
    assert done.returncode == 0, done.stderr
    name, _, uid, *_, home, shell = (tmp_path / "etc" / "passwd").read_text().strip().split(":")
    assert (name, uid, home, shell) == ("incident-graph", "10001", "/var/lib/incident-graph", "/usr/sbin/nologin")


def test_the_mcp_image_installs_the_version_that_the_tests_ran(tmp_path: Path) -> None:
    with demanded():
        tested = prometheus_mcp_command()[-1].rpartition("@")[2]
    (stage,) = stages(DEPLOY / "prometheus-mcp.Dockerfile")
    assert [rest for name, rest in stage if name == "RUN"] == [
        f"pip install --no-cache-dir prometheus-mcp-server=={tested}"
    ]
    build = Build(tmp_path)
    build.stage(stage)
    assert (tmp_path / "python" / "bin" / "prometheus-mcp-server").exists()


@pytest.mark.parametrize(("path", "status", "healthy"), [("/healthz", 200, True), ("/healthz", 503, False)])
def test_the_health_check_follows_the_answer_of_the_service(path: str, status: int, healthy: bool) -> None:
    seen: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        done = health_check(server.server_port)
        thread.join()
    assert seen == [path]
    assert (done.returncode == 0) is healthy


def test_the_health_check_fails_when_nothing_listens() -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        port = server.server_port
    assert health_check(port).returncode != 0


def health_check(port: int) -> subprocess.CompletedProcess[str]:
    (rest,) = [rest for name, rest in instructions(ROOT / "Dockerfile") if name == "HEALTHCHECK"]
    _, *arguments = yaml.safe_load(rest.split("CMD ", 1)[1])
    return run([sys.executable, *arguments], env={**CLEAN, f"{PREFIX}PORT": str(port)})
