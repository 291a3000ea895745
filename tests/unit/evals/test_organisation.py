from pathlib import Path

import pytest

from evals.case import NoData
from evals.organisation import Service, Team, copy_files, entity_name, fresh_folder, write_catalogue
from graphrag.ingest.backstage import Entity, read_entities
from graphrag.ingest.folder import SourceFile


def entities(folder: Path, teams: list[Team], services: list[Service]) -> dict[str, Entity]:
    write_catalogue(folder, teams, services)
    found: dict[str, Entity] = {}
    for file in sorted((folder / "catalog").iterdir()):
        read, failures = read_entities(SourceFile(file.name, file.read_text()))
        assert not failures
        found |= {entity.name: entity for entity in read}
    return found


def test_the_product_reads_back_what_is_written(tmp_path: Path) -> None:
    service = Service("tills", "a:b", "sv", "Takes money", ("Tills", "The: tills"), ("carts",), ("docs/tills.md",))
    found = entities(tmp_path, [Team("a:b", "alerts"), Team("quiet")], [service])
    assert found["a-b"].channel == "#alerts"
    assert found["a-b"].aliases == ("a:b",)
    assert found["quiet"].channel == ""
    tills = found["tills"]
    assert tills.owner
    assert tills.owner.name == "a-b"
    assert (tills.tier, tills.description, tills.aliases) == ("sv", "Takes money", ("Tills", "The: tills"))
    assert [ref.name for ref in tills.depends_on] == ["carts"]
    assert [link.target for link in tills.runbooks] == ["docs/tills.md"]


def test_an_alias_with_a_comma_is_left_out_for_a_list_with_commas_would_split_it(tmp_path: Path) -> None:
    assert entities(tmp_path, [], [Service("tills", aliases=("a, b", "c"))])["tills"].aliases == ("c",)


def test_a_name_keeps_what_backstage_allows() -> None:
    assert entity_name("data-access:durability/x") == "data-access-durability-x"
    assert entity_name("external_db.v2") == "external_db.v2"


def test_answers_are_never_copied(tmp_path: Path) -> None:
    data, folder = tmp_path / "data", tmp_path / "org"
    for path in ("docs/a.md", "truth/a.md", "docs/truth/b.md", "c.txt"):
        (data / path).parent.mkdir(parents=True, exist_ok=True)
        (data / path).write_text(path)
    assert copy_files(data, folder, lambda path: path.suffix == ".md") == ["docs/a.md", "docs/truth/b.md"]
    assert (folder / "docs/a.md").read_text() == "docs/a.md"


def test_an_earlier_conversion_is_replaced_and_anything_else_left_alone(tmp_path: Path) -> None:
    write_catalogue(fresh_folder(tmp_path), [], [Service("tills")])
    (tmp_path / "old.jsonl").write_text("{}")
    assert not any(fresh_folder(tmp_path).iterdir())
    assert [path.name for path in tmp_path.iterdir()] == ["org"]
    (tmp_path / "org" / "mine.txt").write_text("keep")
    with pytest.raises(NoData, match="holds something else"):
        fresh_folder(tmp_path)
    assert (tmp_path / "org" / "mine.txt").exists()
