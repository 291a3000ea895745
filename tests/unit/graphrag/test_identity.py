"""Names: which spellings are one name and which never are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag.identity import name_key, name_words

words = st.lists(st.from_regex(r"[a-z]{1,6}", fullmatch=True), min_size=1, max_size=4)
separators = st.sampled_from(["-", "_", ".", " ", "/", ":", "--", " - "])


@given(words, separators, separators)
def test_separators_between_words_carry_no_identity(parts: list[str], one: str, other: str) -> None:
    assert name_key(one.join(parts)) == name_key(other.join(parts)) == name_key("".join(parts))


@given(words)
def test_camel_case_is_a_spelling_of_the_same_name(parts: list[str]) -> None:
    assert name_key("".join(part.capitalize() for part in parts)) == name_key("-".join(parts))


@given(st.text(max_size=40))
def test_a_key_is_its_own_key_and_ignores_case_and_the_space_around(name: str) -> None:
    key = name_key(name)
    assert name_key(key) == key
    assert name_key(f"  {name}\t") == key


@given(st.integers(0, 99), st.integers(0, 99), st.integers(0, 99), st.integers(0, 99))
def test_numbers_side_by_side_stay_apart(a: int, b: int, c: int, d: int) -> None:
    assert (name_key(f"shard-{a}-{b}") == name_key(f"shard-{c}-{d}")) == ((a, b) == (c, d))
    assert name_key(f"shard-{a}-{b}") != name_key(f"shard-{a}{b}")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("kafka-consumer-1", "kafka-consumer-2"),
        ("auth-service", "oauth-service"),
        ("c", "c++"),
        ("shard-1-1", "shard-11"),
        ("payments", "payments-api"),
        ("-", "_"),
    ],
)
def test_names_that_read_alike_are_different_things(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PaymentsAPI_v2", ("payments", "api", "v2")),
        ("HTTPServer", ("http", "server")),
        ("checkout-api", ("checkout", "api")),
        ("Größe/naïve", ("grösse", "naïve")),
        ("--", ()),
    ],
)
def test_a_name_is_made_of_words(name: str, expected: tuple[str, ...]) -> None:
    assert name_words(name) == expected
