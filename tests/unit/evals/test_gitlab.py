import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from evals.case import NoData, read_cases
from evals.gitlab import aliases_of, convert, services_of, team_of

SATURATED = {
    "alert": "saturated",
    "labels": {"severity": "s3"},
    "title": "The disk of the {{ $labels.type }} service is full",
    "description": "",
}


def row(alert: str, service: str, **more: Any) -> dict[str, Any]:
    expression = f'disk{{type="{service}"}} > 1'
    fixed = {"labels": {"severity": "s1"}, "title": f"{alert} title", "description": "", "expr": expression}
    return {"alert": alert, **fixed, "truth_service": service, "truth_owner": "payments", **more}


def shop(data: Path, rows: list[dict[str, Any]]) -> Path:
    catalogue = {
        "services": [
            {"name": "tills", "label": "Service::Tills2", "friendly_name": "The Tills", "owner": "payments"},
            {"name": "carts", "label": "carts", "friendly_name": "Carts", "owner": "payments"},
        ]
    }
    files = {
        "services/service-catalog.yml": yaml.safe_dump(catalogue),
        "services/teams.yml": yaml.safe_dump({"teams": [{"name": "payments", "slack_channel": "g_payments"}]}),
        "docs/tills/README.md": "# Tills\n",
        "CODEOWNERS": "/docs/ @payments\n",
        "truth/notes.md": "the answers\n",
        "truth/alert_to_service.jsonl": "".join(f"{json.dumps(each)}\n" for each in rows),
    }
    for path, text in files.items():
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        (data / path).write_text(text)
    return data


def test_only_what_there_is_an_answer_for_is_made_and_the_answers_stay_outside(tmp_path: Path) -> None:
    data = shop(tmp_path / "data", [row("TillsDown", "tills")])
    made = convert(data, tmp_path / "out")
    assert made == {"service-live.jsonl": 1, "service-expression.jsonl": 1, "service-text.jsonl": 1}
    written = {path.relative_to(tmp_path / "out/org").as_posix() for path in (tmp_path / "out/org").rglob("*.*")}
    assert written == {"catalog/services.yaml", "catalog/teams.yaml", "docs/tills/README.md"}
    assert (tmp_path / "out/org/CODEOWNERS").is_file()
    (case,) = read_cases(tmp_path / "out/service-live.jsonl")
    assert case.id == "TillsDown/tills"
    assert case.expect.service == ("tills",)
    assert case.expect.team == ("payments",)


def test_a_name_that_several_services_share_asks_for_silence_in_the_text_form_alone(tmp_path: Path) -> None:
    rows = [row(service=service, **SATURATED) for service in ("tills", "carts")]
    made = convert(shop(tmp_path / "data", rows), tmp_path / "out")
    assert made == {"service-live.jsonl": 2, "service-expression.jsonl": 2, "service-shared-names.jsonl": 1}
    (case,) = read_cases(tmp_path / "out/service-shared-names.jsonl")
    assert case.expect.abstain
    assert set(case.expect.service) == {"tills", "carts"}


def test_a_shared_name_whose_words_tell_the_service_has_an_answer(tmp_path: Path) -> None:
    rows = [
        row(service=service, **SATURATED | {"title": f"The disk of {service} is full"})
        for service in ("tills", "carts")
    ]
    convert(shop(tmp_path / "data", rows), tmp_path / "out")
    cases = read_cases(tmp_path / "out/service-shared-names.jsonl")
    assert [(case.expect.service, case.expect.abstain) for case in cases] == [(("tills",), False), (("carts",), False)]


def test_a_runbook_case_is_the_rule_as_written(tmp_path: Path) -> None:
    data = shop(tmp_path / "data", [])
    (data / "truth/alert_to_service.jsonl").unlink()
    pages = [{**SATURATED, "expr": "disk > 1", "truth_runbook": "docs/tills/README.md"}]
    (data / "truth/alert_to_runbook.json").write_text(json.dumps(pages))
    assert convert(data, tmp_path / "out") == {"runbook.jsonl": 1}
    (case,) = read_cases(tmp_path / "out/runbook.jsonl")
    assert case.expect.runbook == ("docs/tills/README.md",)
    assert case.webhook is not None
    assert case.webhook["commonAnnotations"] == {"title": SATURATED["title"]}
    assert case.webhook["commonLabels"] == {"alertname": "saturated", "severity": "s3"}


def test_dependencies_are_those_said_to_be_true_and_never_of_oneself() -> None:
    entries = [
        {"type": "tills", "deps": {"tills": True, "carts": True, "clock": True, "old": False}},
        {"type": "metrics-only", "deps": {"tills": True}},
    ]
    services = {each.name: each for each in services_of([{"name": "tills"}], entries, [])}
    assert services["tills"].needs == ("carts", "clock")
    assert services["metrics-only"].needs == ("tills",)
    assert "clock" not in services


@pytest.mark.parametrize(
    ("guide", "linked"),
    [
        ("https://gitlab.com/gitlab-com/runbooks/-/tree/master/docs/tills", ("docs/tills/README.md",)),
        ("https://gitlab.com/gitlab-com/runbooks/-/blob/master/docs/a.md?ref_type=heads#x", ("docs/a.md",)),
        ("https://gitlab.com/gitlab-com/runbooks/-/tree/master/docs/none", ()),
        ("https://example.com/docs/a.md", ()),
        (None, ()),
    ],
)
def test_the_guide_is_linked_when_it_is_a_page_of_the_folder(guide: str | None, linked: tuple[str, ...]) -> None:
    entry = {"name": "tills", "technical": {"documents": {"sre_guide": guide}, "sub_components": ["drawer", None]}}
    (service,) = services_of([entry], [], ["docs/tills/README.md", "docs/a.md"])
    assert service.runbooks == linked
    assert service.description == "Consists of drawer"


def test_a_teams_channel_is_the_one_for_alerts_else_its_own_else_none() -> None:
    assert team_of({"name": "a", "slack_alerts_channel": "alerts", "slack_channel": "talk"}).channel == "alerts"
    assert team_of({"name": "a", "slack_channel": "talk"}).channel == "talk"
    assert team_of({"name": "a", "slack_channel": None}).channel == ""


def test_other_names_are_the_label_and_the_friendly_name() -> None:
    assert aliases_of({"name": "tills", "label": "Service::Tills", "friendly_name": "Tills"}) == ("Tills",)
    assert aliases_of({"name": "tills", "label": "tills", "friendly_name": "The Tills"}) == ("The Tills",)


def test_data_that_is_not_there_or_is_something_else_is_told_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoData, match="no such folder"):
        convert(tmp_path / "none", tmp_path / "out")
    with pytest.raises(NoData, match=r"has no services/service-catalog\.yml"):
        convert(tmp_path, tmp_path / "out")
    data = shop(tmp_path / "data", [{"alert": "x"}])
    with pytest.raises(NoData, match="not laid out as expected"):
        convert(data, tmp_path / "out")
    assert not (tmp_path / "out").exists()
