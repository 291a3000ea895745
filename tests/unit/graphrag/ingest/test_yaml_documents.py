"""YAML of strangers is read within bounds."""

from __future__ import annotations

import contextlib

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from graphrag.ingest.yaml_documents import BrokenYaml, as_mapping, as_texts, parse_yaml, split_documents


def test_scalars_stay_as_they_are_written() -> None:
    text = "{a: 2.10, b: on, c: 2026-01-01, d: 0x1F, e: null, f: ~, g: , h: 'null', i: 1:30}"
    expected = {"a": "2.10", "b": "on", "c": "2026-01-01", "d": "0x1F", "e": None, "f": None, "g": None, "h": "null"}
    assert parse_yaml(text) == expected | {"i": "1:30"}


@pytest.mark.parametrize(
    "text",
    [
        "a: &a [x]\n" + "".join(f"b{n}: *a\n" for n in range(101)),
        "[" * 100_000,
        "{a: " * 60 + "1" + "}" * 60,
        "- " * 5_000 + "x",
        "a: !!python/object/apply:os.system [echo]",
        "a: !!timestamp never",
        "a: !!int " + "9" * 5_000,
        "? [a]\n: b",
        "a: 'open",
        "a: \x07",
        "a: *nobody",
        "%YAML 9.9\n---\na: b",
    ],
)
def test_what_is_broken_or_too_much_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BrokenYaml) as caught:
        parse_yaml(text)
    assert "\n" not in str(caught.value)


def test_nested_merges_are_not_expanded() -> None:
    levels = "".join(f"l{n}: &l{n} {{<<: [*l{n - 1}, *l{n - 1}, *l{n - 1}]}}\n" for n in range(1, 30))
    assert as_mapping(parse_yaml(f"l0: &l0 {{a: b}}\n{levels}"))["l0"] == {"a": "b"}


def test_the_line_of_an_error_is_the_line_of_the_file() -> None:
    (_, first), (line, second) = split_documents("a: b\n\n---\nc: d\ne: [\n")
    assert parse_yaml(first) == {"a": "b"}
    with pytest.raises(BrokenYaml, match="on line 6"):
        parse_yaml(second, line)


def test_half_a_million_separators_are_split_at_once() -> None:
    assert len(split_documents("---\n" * 500_000)) == 500_000


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(BrokenYaml):
        parse_yaml(text)


@given(st.lists(st.dictionaries(st.text(min_size=1), st.text()), min_size=1, max_size=4))
def test_documents_are_split_as_a_whole_parser_would(documents: list[dict[str, str]]) -> None:
    text = yaml.safe_dump_all(documents, explicit_start=True, default_style='"', allow_unicode=False)
    assert [parse_yaml(part) for _, part in split_documents(text)] == documents


def test_a_list_and_a_line_with_commas_read_alike() -> None:
    assert as_texts(["a", " b ", "a", {"c": "d"}, None]) == as_texts("a, b,,a") == ("a", "b")
