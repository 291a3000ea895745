import json
from pathlib import Path

import pytest
import yaml

from evals.case import NoData, read_cases
from evals.otel import convert, root_cases, services_of


def test_the_shop_is_its_compose_files_its_edges_and_its_faults(tmp_path: Path) -> None:
    data = tmp_path / "data"
    (data / "truth").mkdir(parents=True)
    (data / "compose.yaml").write_text(yaml.safe_dump({"services": {"web": {}, "db": {}}}))
    (data / "compose.full.yaml").write_text(yaml.safe_dump({"services": {"queue": {}}}))
    (data / ".env").write_text("A=1\n")
    (data / "truth/service_dependencies.json").write_text(json.dumps([["web", "db"], ["web", "cdn"]]))
    fault = {"id": "f", "root_services": ["db"], "alerts": [["Slow", "web"], ["Crash", None]]}
    (data / "truth/rootcause_cases.json").write_text(json.dumps([fault]))
    assert convert(data, tmp_path / "out") == {"root.jsonl": 1}
    org = tmp_path / "out/org"
    assert {path.name for path in org.iterdir()} == {"catalog", "compose.yaml", "compose.full.yaml", ".env"}
    entities = {
        each["metadata"]["name"]: each for each in yaml.safe_load_all((org / "catalog/services.yaml").read_text())
    }
    assert set(entities) == {"web", "db", "queue"}
    assert entities["web"]["spec"]["dependsOn"] == ["component:default/db", "component:default/cdn"]
    (case,) = read_cases(tmp_path / "out/root.jsonl")
    assert case.expect.root == ("db",)


def test_the_alerts_of_a_fault_arrive_as_one_group_each_with_its_service() -> None:
    (case,) = root_cases([{"id": "f", "root_services": ["db"], "alerts": [["Slow", "web"], ["Crash", None]]}])
    assert case.webhook is not None
    labels = [each["labels"] for each in case.webhook["alerts"]]
    assert [each.get("service_name") for each in labels] == ["web", None]
    assert case.webhook["commonLabels"] == {"namespace": "otel-demo"}


def test_a_fault_without_alerts_or_without_a_known_root_is_no_case() -> None:
    nothing = {"id": "f", "root_services": ["db"], "alerts": []}
    assert not root_cases([nothing, {"id": "g", "root_services": [], "alerts": [["Slow", "web"]]}])


def test_a_service_that_only_an_edge_of_its_own_speaks_of_is_defined_and_a_target_is_not() -> None:
    services = services_of([{"services": {"web": {}}}], [["jobs", "db"], ["web", "web"]])
    assert [(each.name, each.needs) for each in services] == [("web", ()), ("jobs", ("db",))]


def test_without_answers_there_is_the_folder_alone(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/compose.yaml").write_text("services: {web: {}}\n")
    assert convert(tmp_path / "data", tmp_path / "out") == {}
    assert (tmp_path / "out/org/catalog/services.yaml").is_file()
    with pytest.raises(NoData, match="has no compose"):
        convert(tmp_path / "out", tmp_path / "elsewhere")
