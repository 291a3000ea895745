import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from evals.__main__ import main
from evals.case import Case, Expect, alert, webhook, write_cases

SAMPLE = Path(__file__).parents[3] / "app" / "demo" / "organisation"
PAGE = "runbooks/checkout-api-high-error-rate.md"


def fired(labels: dict[str, str], title: str = "") -> dict[str, Any]:
    return webhook([alert({"alertname": "HighErrorRate", **labels}, {"title": title}, "")], {})


def scored(cases: list[Case], home: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, Any]:
    write_cases(home / "cases.jsonl", cases)
    assert main(["score", "--org", str(SAMPLE), "--cases", str(home / "cases.jsonl"), "--json", *more]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_product_is_scored_on_the_sample_organisation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    right = Expect(service=("checkout-api",), team=("payments",), runbook=(PAGE,), root=("checkout-api",))
    cases = [
        Case(id="by alias", webhook=fired({"service": "checkout"}), expect=right),
        Case(id="sure of another", webhook=fired({"service": "ledger"}), expect=Expect(service=("checkout-api",))),
        Case(id="nobody", webhook=fired({"pod": "zzz"}), expect=Expect(service=("checkout-api",))),
        Case(id="two", webhook=fired({"service": "ledger", "job": "checkout"}), expect=Expect(abstain=True)),
        Case(id="resolved", webhook={**fired({}), "alerts": []}, expect=Expect(abstain=True)),
        Case(id="no list", webhook={"text": "hello"}, expect=Expect(abstain=True)),
        Case(id="asked", question="what needs checkout-api?", expect=Expect(community=("checkout-api", "no-such"))),
    ]
    found = scored(cases, tmp_path, capsys, "--failures")
    assert found["service"] == {"n": 6, "correct": 4, "wrong": 1, "abstained": 1, "hit@1": 0.3333, "hit@3": 0.3333}
    assert found["team"] == {"n": 1, "correct": 1, "wrong": 0, "abstained": 0, "hit@1": 1.0, "hit@3": 1.0}
    assert found["root"]["correct"] == 1
    assert found["runbook"] == {"n": 1, "hit@1": 1.0, "hit@5": 1.0, "mrr": 1.0, "page_macro_hit@5": 1.0}
    assert found["coverage"] == {"n": 1, "recall": 0.5}
    assert 0 < found["latency_ms"]["p50"] <= found["latency_ms"]["p95"]
    assert {miss["case"] for miss in found["failures"]} == {"sure of another", "nobody", "asked"}


def test_a_data_folder_is_converted_scored_and_put_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "otel-demo"
    (data / "truth").mkdir(parents=True)
    (data / "compose.yaml").write_text(yaml.safe_dump({"services": {"web": {}, "db": {}}}))
    faults = [{"id": "f", "root_services": ["web"], "alerts": [["Slow", "web"]]}]
    (data / "truth/rootcause_cases.json").write_text(json.dumps(faults))
    page = tmp_path / "results" / "README.md"
    assert main(["run", "--data", str(tmp_path), "--out", str(page)]) == 0
    assert "otel-demo, root.jsonl" in capsys.readouterr().out
    assert "| otel-demo | root | root | 1 | 100.0% | 0.0% (0) | 1 | 0 | 1.000 | 1.000 |" in page.read_text()
    assert "gitlab-runbooks was not scored: its data is not there." in page.read_text()
    before = page.read_bytes()
    assert main(["run", "--data", str(tmp_path), "--out", str(page)]) == 0
    assert page.read_bytes() == before

    assert main(["convert", "otel", "--data", str(data), "--out", str(tmp_path / "shop")]) == 0
    cases = str(tmp_path / "shop" / "root.jsonl")
    assert f"{cases}: 1 cases" in capsys.readouterr().out
    assert main(["score", "--org", str(tmp_path / "shop" / "org"), "--cases", cases]) == 0
    assert capsys.readouterr().out.startswith("root ")


def test_missing_data_is_one_sentence_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_cases(tmp_path / "cases.jsonl", [Case(id="a", question="x", expect=Expect())])
    (tmp_path / "empty").mkdir()
    gone, cases = str(tmp_path / "gone"), str(tmp_path / "cases.jsonl")
    for arguments, said in (
        (["convert", "gitlab", "--data", gone, "--out", str(tmp_path / "out")], "There is no data in"),
        (["score", "--org", gone, "--cases", cases], "There is no organisation in"),
        (["score", "--org", str(tmp_path / "empty"), "--cases", cases], "holds nothing that can be ingested"),
        (["score", "--org", str(SAMPLE), "--cases", gone], "cannot be read"),
    ):
        assert main(arguments) == 2
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1
        assert said in lines[0]


def test_when_nothing_is_there_the_page_stays_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "README.md"
    page.write_text("as measured")
    assert main(["run", "--data", str(tmp_path / "gone"), "--out", str(page)]) == 2
    assert "Nothing was scored" in capsys.readouterr().err
    assert page.read_text() == "as measured"
