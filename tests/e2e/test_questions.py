"""Questions about more than one service, over HTTP, on the sample organisation."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from app.replay import replay
from tests.servers.service import Service, settings


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    service = Service(settings(tmp_path_factory.mktemp("questions")))
    service.ingest()
    with service.run():
        yield service


def ask(service: Service, question: str) -> dict[str, Any]:
    status, report = service.call("POST", "/v1/investigations", json.dumps({"question": question}).encode())
    assert status == 200
    return report


def test_a_question_about_the_whole_is_answered_in_parts_that_name_their_community(service: Service) -> None:
    report = ask(service, "Which services do we run to keep data, across teams?")
    assert report["verdict"].startswith("This is an answer about the whole")
    evidence = {each["id"] for each in report["evidence"]}
    assert report["parts"]
    for part in report["parts"]:
        assert part["community"] in evidence
        assert part["title"]
        assert part["text"]
        assert part["services"]
        assert evidence.issuperset(part["evidence"])
    assert any("-db" in name for part in report["parts"] for name in part["services"])
    _, journal = service.call("GET", f"/v1/investigations/{report['id']}/journal")
    again = replay(journal)
    assert [part.model_dump(mode="json") for part in again.parts] == report["parts"]


def test_how_two_services_hang_together_is_answered_with_the_path(service: Service) -> None:
    report = ask(service, "How does storefront-web reach ledger-db?")
    assert "hang together" in report["verdict"]
    assert "depends on" in report["verdict"]
    assert report["parts"] == []
    assert report["claims"]
