"""The commands of the graph, each as a person types it, on a graph in a file."""

import asyncio
import json
import re
import shlex
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from app.cli import app
from graphrag.model import EdgeFact, EdgeType, Label, NodeFact, Ref
from graphrag.open_store import open_store
from tests.contract.graphs import NOON, depends, run, service

Type = Callable[..., Result]
DIMENSIONS = 32
HOSTILE = "[bold]b[/bold]\x1b[2J\u202eoops"


@pytest.fixture
def type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Type:
    """Types `incident-graph graph …` on a graph where `mobile` needs `checkout-api`, which needs `ledger-db`."""
    monkeypatch.setenv("INCIDENT_GRAPH_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("INCIDENT_GRAPH_EMBEDDING_DIMENSIONS", str(DIMENSIONS))
    asyncio.run(_fill(tmp_path))
    return lambda *words: CliRunner().invoke(app, ["graph", *words])


async def _fill(folder: Path) -> None:
    store = open_store(f"sqlite:///{folder}/graph.sqlite", dimensions=DIMENSIONS)
    await store.open()
    runbook = NodeFact(Label.RUNBOOK, "r.md", properties={"title": "Too many errors", "path": "runbooks/r.md"})
    here = Ref(Label.SERVICE, "checkout-api")
    facts = (
        service("checkout-api", "checkout", summary="Takes orders.", tier="1"),
        service("ledger-db"),
        service("mobile"),
        service(HOSTILE, summary=f"Summary {HOSTILE}"),
        NodeFact(Label.TEAM, "payments", properties={"oncall_channel": "#payments-oncall"}),
        NodeFact(Label.TEAM, "platform"),
        runbook,
        depends("mobile", "checkout-api"),
        depends("checkout-api", "ledger-db"),
        depends(HOSTILE, "mobile"),
        EdgeFact(EdgeType.OWNED_BY, here, Ref(Label.TEAM, "payments")),
        EdgeFact(EdgeType.OWNED_BY, Ref(Label.SERVICE, "ledger-db"), Ref(Label.TEAM, "platform")),
        EdgeFact(EdgeType.HAS_RUNBOOK, here, Ref(Label.RUNBOOK, "r.md")),
    )
    await store.write("default", run(*facts, service("old"), depends("checkout-api", "old"), complete=True))
    await store.write("default", run(*facts, hour=1, complete=True))
    await store.write("acme", run(service("theirs")))
    await store.close()


def well(result: Result) -> str:
    assert result.exit_code == 0, result.output
    assert all(len(line) <= 100 for line in result.stdout.splitlines() if "--token" not in line)
    return result.stdout


def well_long(result: Result) -> str:
    """As `well`, for what is not for people."""
    assert result.exit_code == 0, result.output
    return result.stdout


def told(result: Result, status: int) -> str:
    """The sentence that a command ended with."""
    assert result.exit_code == status, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    return result.stderr


def test_a_service_is_shown_with_its_owner_runbooks_and_neighbours(type: Type):
    shown = well(type("show", "checkout"))
    for part in ("payments in #payments-oncall", "Too many errors", "runbooks/r.md", "ledger-db", "mobile", "Takes"):
        assert part in shown
    assert "seen 2 times by catalogue, last 2026-03-01" in shown


def test_a_service_is_shown_as_it_was_and_with_what_changed(type: Type):
    before = (NOON + timedelta(minutes=1)).isoformat()
    assert re.search(r"^  old ", well(type("show", "checkout", "--as-of", before)), re.MULTILINE)
    assert not re.search(r"^  old ", well(type("show", "checkout")), re.MULTILINE)
    history = well(type("show", "checkout", "--history"))
    assert re.search(r"2026-03-01 12:00 +2026-03-01 13:00 +checkout-api depends on old", history)


def test_a_blast_radius_is_a_tree_of_who_needs_whom(type: Type):
    shown = well(type("blast-radius", "ledger-db"))
    assert "3 services hurt within 5 hops when ledger-db fails" in shown
    assert re.search(r"^└── checkout-api\n +└── mobile$", shown.replace(" \n", "\n"), re.MULTILINE)
    assert "the cap cut" in well(type("blast-radius", "ledger-db", "--cap", "1")).lower()
    assert "No service is known to need" in well(type("blast-radius", "ledger-db", "--hops", "0"))


def test_a_path_reads_as_one_sentence_an_edge(type: Type):
    shown = well(type("path", "mobile", "platform"))
    for sentence in ("mobile depends on checkout-api", "ledger-db is owned by platform"):
        assert sentence in shown
    assert "No path" in well(type("path", "mobile", "platform", "--types", "HAS_RUNBOOK"))
    assert "Both are mobile" in well(type("path", "mobile", "mobile"))


def test_an_alias_is_added_and_taken_away(type: Type):
    assert "mobile (Service) answers to app." in well(type("alias", "mobile", "app"))
    assert well(type("show", "APP")).startswith("mobile")
    assert "no other name" in well(type("alias", "mobile", "app", "--remove"))
    assert "no alias of mobile" in told(type("alias", "mobile", "app", "--remove"), 1)
    assert "merge them" in told(type("alias", "mobile", "checkout"), 1)
    assert "300" in told(type("alias", "mobile", "x" * 301), 2)


def test_a_rule_is_added_listed_and_lifted(type: Type):
    assert "There are no rules" in well(type("rule", "list"))
    added = well(type("rule", "add", "component=card=worker", "checkout", "--reason", "its worker"))
    assert "Alerts with component=card=worker are about checkout-api." in added
    (id,) = re.findall(r"rule-[0-9a-f]{16}", added)
    narrow = ("rule", "add", "component=card=worker", "mobile", "--alert", "Slow", "--reason", HOSTILE)
    assert "component=card=worker of the alert Slow" in well(type(*narrow))
    listed = well(type("rule", "list"))
    for part in (id, "component", "checkout-api", "its worker"):
        assert part in listed
    assert "\x1b" not in listed
    assert "says nothing of checkout-api any more" in well(type("rule", "lift", id))
    assert "(lifted " in well(type("rule", "list"))
    assert json.loads(well_long(type("rule", "list", "--json")))["items"][1]["lifted_by"]
    assert "lifted at" in told(type("rule", "lift", id), 1)


def test_a_rule_that_cannot_be_is_refused_in_a_sentence(type: Type):
    assert "KEY=VALUE" in told(type("rule", "add", "component", "checkout", "--reason", "r"), 2)
    assert "Say why" in told(type("rule", "add", "component=a", "checkout"), 2)
    assert "checkout-api" in told(type("rule", "add", "component=a", "chekout-api", "--reason", "r"), 1)
    assert "ledger-db" in told(type("rule", "add", "component=ledger-db", "mobile", "--reason", "r"), 1)
    assert "There is no rule" in told(type("rule", "lift", "rule-1"), 1)
    assert "There are no rules" in well(type("rule", "list", "--tenant", "acme"))


def test_a_merge_shows_what_it_would_do_and_the_command_that_does_it(type: Type):
    seen = well(type("merge", "ledger-db", "checkout"))
    assert "owner is platform and payments" in seen
    assert "Nothing has changed yet" in seen
    command = shlex.split(seen.splitlines()[-1].replace("WHY", "one thing"))
    assert command[:2] == ["incident-graph", "graph"]
    assert "merge-" in well(type(*command[2:]))
    assert well(type("show", "checkout")).startswith("ledger-db")
    listed = json.loads(well(type("merge", "--list", "--json")))["items"]
    assert [(each["names"], each["reason"]) for each in listed] == [(["ledger-db", "checkout-api"], "one thing")]
    assert "at the command line" in listed[0]["by"] or listed[0]["by"] == "the command line"
    assert "two again" in well(type("merge", "--undo", listed[0]["id"]))
    assert well(type("show", "checkout")).startswith("checkout-api")
    assert "undone" in well(type("merge", "--list"))
    assert "was undone" in told(type("merge", "--undo", listed[0]["id"]), 1)


def test_a_merge_without_what_it_needs_says_what_that_is(type: Type):
    token = json.loads(well(type("merge", "ledger-db", "checkout", "--json")))["token"]
    confirm = ["merge", "ledger-db", "checkout", "--token", token]
    assert "needs a reason" in told(type(*confirm), 2)
    assert "say force" in told(type(*confirm, "--reason", "one"), 1)
    assert "preview the merge again" in told(type(*confirm[:-1], "stale", "--reason", "one", "--force"), 1)
    for words in ((), ("a",), ("a", "b", "--list"), ("--undo", "x", "--list")):
        assert "--undo ID" in told(type("merge", *words), 2)
    assert well(type("merge", "--list")) == "Nothing was merged.\n"


def test_an_export_holds_the_graph_or_what_held_at_a_time(type: Type, tmp_path: Path):
    names = {node["name"] for node in json.loads(well_long(type("export")))["nodes"]}
    assert {"old", "mobile", HOSTILE} <= names
    file = tmp_path / "graph.graphml"
    well(type("export", "--format", "graphml", "--output", str(file)))
    assert "old" not in re.findall(r">(\w+)<", file.read_text())
    before = (NOON + timedelta(minutes=1)).isoformat()
    well(type("export", "--format", "graphml", "--output", str(file), "--as-of", before))
    assert "old" in re.findall(r">(\w+)<", file.read_text())
    assert "cannot be written" in told(type("export", "--output", str(tmp_path / "no" / "x")), 1)
    assert "json and graphml" in told(type("export", "--format", "dot"), 2)


def test_every_read_can_be_had_as_json(type: Type):
    assert json.loads(well_long(type("show", "checkout", "--json")))["owner"]["team"] == "payments"
    assert json.loads(well_long(type("show", "checkout", "--history", "--json")))["service"] == "checkout-api"
    assert json.loads(well_long(type("blast-radius", "ledger-db", "--json")))["count"] == 3
    path = json.loads(well_long(type("path", "mobile", "ledger-db", "--json")))
    assert (path["from"]["name"], path["paths"][0]["steps"][0]["from"]) == ("mobile", "mobile")
    assert json.loads(well_long(type("alias", "mobile", "app", "--json")))["aliases"] == ["app"]


def test_an_unknown_name_ends_with_the_nearest_ones(type: Type):
    sentence = told(type("show", "chekout-api"), 1)
    assert "'chekout-api'" in sentence
    assert "checkout-api" in sentence.split("nearest")[1]


def test_what_cannot_be_asked_ends_with_what_can(type: Type):
    assert "time zone" in told(type("show", "checkout", "--as-of", "2026-03-01"), 2)
    assert "DEPENDS_ON" in told(type("path", "mobile", "ledger-db", "--types", "NEEDS"), 2)
    assert "10" in told(type("blast-radius", "mobile", "--hops", "11"), 2)


def test_settings_that_cannot_work_are_told(type: Type, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INCIDENT_GRAPH_GRAPH_URL", "http://graph")
    assert "INCIDENT_GRAPH_GRAPH_URL" in told(type("show", "mobile"), 2)


def test_a_graph_that_is_away_is_told(type: Type, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("INCIDENT_GRAPH_GRAPH_URL", f"sqlite:///{tmp_path}/graph.sqlite/below")
    assert told(type("show", "mobile"), 1)


def test_another_tenant_s_graph_is_another_graph(type: Type):
    assert well(type("show", "theirs", "--tenant", "acme")).startswith("theirs")
    told(type("show", "theirs"), 1)


def test_nothing_that_was_read_is_taken_for_markup_or_moves_the_cursor(type: Type):
    for words in (("show", HOSTILE), ("blast-radius", "mobile"), ("show", "mobile"), ("path", HOSTILE, "ledger-db")):
        shown = well(type(*words))
        assert "[bold]b[/bold]" in shown
        assert "\x1b" not in shown
        assert "\u202e" not in shown


@pytest.mark.parametrize("name", ["\udcff\udc80", "", "x" * 10_000, "[/]", "a\x00b", "🙂"])
def test_no_name_is_a_fault_of_ours(type: Type, name: str):
    told(type("show", name), 1)
    told(type("alias", name, "other"), 1)
    told(type("merge", "mobile", name), 1 if name else 2)
