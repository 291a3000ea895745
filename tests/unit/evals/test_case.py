from pathlib import Path

import pytest

from connectors.alertmanager import parse_notification
from connectors.expression import firing_expression
from evals.case import Case, Expect, NoData, alert, read_cases, webhook, with_own_ids, write_cases


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    cases = [
        Case(id="a", question="who owns it?", expect=Expect(team=("payments",))),
        Case(id="b", webhook=webhook([], {}), expect=Expect(abstain=True)),
    ]
    write_cases(tmp_path / "cases.jsonl", cases)
    assert read_cases(tmp_path / "cases.jsonl") == cases


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "Line 2"),
        ('{"id": "b", "expect": {}}', "either a webhook or a question"),
        ('{"id": "b", "question": "x", "webhook": {}, "expect": {}}', "either a webhook or a question"),
        ('{"id": "b", "question": "x"}', "expect"),
        ('{"id": "b", "question": "x", "expect": {"service": "one"}}', "expect.service"),
    ],
)
def test_a_line_that_is_no_case_is_named_with_the_reason(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "cases.jsonl"
    file.write_text(f'{{"id": "a", "question": "x", "expect": {{}}}}\n{line}\n')
    with pytest.raises(NoData, match=said):
        read_cases(file)


def test_a_missing_and_an_empty_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(NoData, match="cannot be read"):
        read_cases(tmp_path / "none.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(NoData, match="holds no case"):
        read_cases(tmp_path / "empty.jsonl")


def test_the_second_case_of_an_id_gets_a_number() -> None:
    case = Case(id="a", question="x", expect=Expect())
    assert [each.id for each in with_own_ids([case, case, case])] == ["a", "a#2", "a#3"]


def test_a_body_reads_as_the_product_reads_alertmanagers_and_keeps_the_expression_to_the_letter() -> None:
    expression = 'sum(rate(x{a="b & c"}[5m]))\n  > 1'
    first = alert({"alertname": "Down", "zone": "a"}, {"title": "It is down", "description": ""}, expression)
    second = alert({"alertname": "Down", "zone": "b"}, {"title": "It is down"}, "")
    notification = parse_notification(Case(id="x", webhook=webhook([first, second], {}), expect=Expect()).body)
    assert [each.labels["zone"] for each in notification.alerts] == ["a", "b"]
    assert all(each.firing and each.starts_at and each.ends_at is None for each in notification.alerts)
    assert notification.common_labels == {"alertname": "Down"}
    assert notification.common_annotations == {"title": "It is down"}
    assert firing_expression(notification.alerts[0].generator_url) == expression
    assert len({each.fingerprint for each in notification.alerts}) == 2
