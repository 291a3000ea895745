from hypothesis import given
from hypothesis import strategies as st

from graphrag.ingest.chunk import MAX_PASSAGES, PASSAGE_WORDS, passages_of

PAGE = """Checkout takes orders.

# Checkout

## Symptoms

Orders fail.

```bash
# this is a comment in code
kubectl get pods
```

### Slow orders

Orders are slow.

## Mitigation

Roll back.
"""


def test_each_section_is_a_passage_under_the_headings_above_it() -> None:
    assert [(each.headings, each.text.split("\n")[0]) for each in passages_of(PAGE)] == [
        ((), "Checkout takes orders."),
        (("Checkout", "Symptoms"), "Orders fail."),
        (("Checkout", "Symptoms", "Slow orders"), "Orders are slow."),
        (("Checkout", "Mitigation"), "Roll back."),
    ]


def test_a_hash_in_a_code_block_is_no_heading() -> None:
    assert "# this is a comment in code" in passages_of(PAGE)[1].text


def test_a_long_section_is_cut_at_sentences_and_loses_none() -> None:
    sentences = [f"Sentence number {number} says that queue {number} is full." for number in range(100)]
    passages = passages_of("# Queues\n\n" + " ".join(sentences))
    assert len(passages) > 3
    assert all(len(each.text.split()) <= PASSAGE_WORDS for each in passages)
    assert all(each.headings == ("Queues",) for each in passages)
    assert all(any(sentence in each.text for each in passages) for sentence in sentences)


def test_a_section_without_words_is_no_passage() -> None:
    assert passages_of("# A\n\n---\n\n## B\n\n***\n") == []


def test_a_page_that_does_not_end_gives_its_beginning() -> None:
    assert (
        len(passages_of("\n".join(f"# Heading {number}\n\ntext" for number in range(2 * MAX_PASSAGES)))) == MAX_PASSAGES
    )


def test_text_without_spaces_is_cut_too() -> None:
    assert len(passages_of("障" * 10_000)) > 1


def test_the_digest_changes_with_the_words_and_with_the_headings_only() -> None:
    first, again = passages_of("intro\n\n# A\n\ntext")[1], passages_of("# A\n\ntext")[0]
    assert first.ordinal != again.ordinal
    assert first.digest == again.digest
    assert first.digest != passages_of("# B\n\ntext")[0].digest
    assert first.digest != passages_of("# A\n\ntexts")[0].digest


@given(st.text(alphabet=st.sampled_from("ab #`~\n.*-é\t"), max_size=400))
def test_passages_count_from_zero_and_hold_only_text_of_the_page(body: str) -> None:
    passages = passages_of(body)
    assert [each.ordinal for each in passages] == list(range(len(passages)))
    assert all(each.text.split()[0] in body for each in passages)
