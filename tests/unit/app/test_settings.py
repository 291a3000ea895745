import json
import re

import pytest

from app.settings import PREFIX, Settings, SettingsError, load_settings
from graphrag.label_keys import ToldKeys
from tests.servers.process import ROOT

SECRET = "s3cr3t-value-nobody-may-see"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch):
    """No setting of the machine that runs the tests."""
    for name in Settings.model_fields:
        monkeypatch.delenv(PREFIX + name.upper(), raising=False)


def refusal(**variables: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(PREFIX + name, value)
        with pytest.raises(SettingsError) as refused:
            load_settings()
    assert refused.value.__cause__ is None
    return str(refused.value)


def test_every_setting_has_a_default_that_runs_on_a_laptop():
    settings = load_settings()
    assert settings.host == "127.0.0.1"
    assert settings.app_database == f"sqlite:///{settings.data_dir.absolute() / 'incidents.sqlite'}"
    assert settings.graph_database == f"sqlite:///{settings.data_dir.absolute() / 'graph.sqlite'}"
    assert settings.tokens == ()
    assert settings.servers == ()


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_documented_with_its_variable(name: str):
    variable = f"{PREFIX}{name.upper()}"
    assert f"`{variable}`" in (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    example = (ROOT / "deploy/.env.example").read_text(encoding="utf-8")
    assert re.search(rf"^#?{variable}=", example, re.MULTILINE)
    assert Settings.model_fields[name].description


@pytest.mark.parametrize("path", ["docs/settings.md", "deploy/.env.example"])
def test_no_document_names_a_setting_that_does_not_exist(path: str):
    named = set(re.findall(rf"^[|#` ]*({PREFIX}[A-Z_]+)", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE))
    assert named == {PREFIX + name.upper() for name in Settings.model_fields}


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("PORT", SECRET, "unable to parse string as an integer"),
        ("PORT", "99999", "less than or equal to 65535"),
        ("DATABASE_URL", f"mysql://root:{SECRET}@db/app", "must start with one of sqlite://, postgresql://"),
        ("GRAPH_URL", f"http://neo4j:{SECRET}@db:7474", "must start with one of sqlite://, neo4j://"),
        ("GRAPH_URL", f"neo4j://neo4j:{SECRET}@db:port/neo4j", "is not a URL that can be read"),
        ("TOKENS", SECRET, "must be a JSON list"),
        ("TOKENS", json.dumps({"token": SECRET}), "must be a JSON list"),
        ("TOKENS", json.dumps([{"token": SECRET, "role": "king"}]), "(0.role)"),
        ("TOKENS", json.dumps([{"token": "short", "role": "admin"}]), "(0.token)"),
        ("TOKENS", json.dumps([{"token": SECRET, "role": "admin", "tenant": "a b"}]), "(0.tenant)"),
        ("SLACK_BASE_URL", f"ftp://{SECRET}", "must start with http:// or https://"),
        ("MCP_SERVERS", f'{{"mcpServers": {SECRET}', ""),
        ("MCP_SERVERS", json.dumps({"mcpServers": {"a": {"url": 7, "headers": {"key": SECRET}}}}), ""),
        ("SERVICE_LABELS", f"[{SECRET}", "must be names with commas, or a JSON list"),
        ("TEAM_LABELS", json.dumps([{"key": SECRET}]), "(0)"),
        ("MODEL_NAME", SECRET, "MODEL_BASE_URL and INCIDENT_GRAPH_MODEL_NAME must be set together"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_with_a_sentence_that_names_it_and_shows_no_value(name, value, says):
    sentence = refusal(**{name: value})
    assert PREFIX + name in sentence
    assert says in sentence
    assert SECRET not in sentence
    assert "short" not in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize("value", ["type, shop_unit ,", '["type", "shop_unit"]'])
def test_labels_are_named_in_a_json_list_or_with_commas(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv(PREFIX + "SERVICE_LABELS", value)
    assert load_settings().told_keys == ToldKeys(services=("type", "shop_unit"))


def test_one_label_cannot_hold_services_and_teams():
    assert "must not name the same label" in refusal(SERVICE_LABELS="type,Shop-Unit", TEAM_LABELS="shop_unit")


def test_each_mistake_gets_a_line_of_its_own():
    assert len(refusal(PORT="x", LOG_LEVEL="loud").splitlines()) == 2


def test_secrets_do_not_show_when_settings_are_printed():
    tokens = json.dumps([{"token": SECRET, "role": "admin"}])
    settings = load_settings(slack_token=SECRET, model_api_key=SECRET, opik_api_key=SECRET, tokens=tokens)
    assert SECRET not in repr(settings)
    assert SECRET not in settings.model_dump_json()
    assert settings.tokens[0].token.get_secret_value() == SECRET


def test_overrides_win_over_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(PREFIX + "PORT", "9000")
    assert load_settings().port == 9000
    assert load_settings(port=0).port == 0


def test_an_empty_list_of_tokens_is_no_token(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(PREFIX + "TOKENS", "  ")
    assert load_settings().tokens == ()


def test_postgresql_is_reached_by_the_driver_that_is_installed():
    assert load_settings(database_url="postgresql://u:p@db/app").app_database == "postgresql+psycopg://u:p@db/app"


def test_a_graph_url_is_taken_as_it_is():
    assert load_settings(graph_url="bolt://u:p@db:7687/neo4j").graph_database == "bolt://u:p@db:7687/neo4j"


def test_mcp_servers_are_those_of_the_json():
    servers = load_settings(mcp_servers='{"mcpServers": {"prometheus": {"url": "http://localhost:9/mcp"}}}').servers
    assert [each.name for each in servers] == ["prometheus"]
