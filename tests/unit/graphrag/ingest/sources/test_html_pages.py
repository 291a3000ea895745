"""HTML pages read as the Markdown pages they would have been."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphrag.ingest.folder import SourceFile
from graphrag.ingest.page import Page, read_page
from graphrag.ingest.sources.html_pages import markdown_of, read_html


def page(html: str) -> Page:
    return read_page(markdown_of(html))


def test_a_page_keeps_its_outline_text_and_steps() -> None:
    found = page("""<!DOCTYPE html>
<html><head><title>Wiki: Till</title><style>p { color: red }</style></head>
<body>
<script>if (a < b) { document.write("<p>no</p>") }</script>
<nav><ul><li>Home</li></ul></nav>
<h1>The till is slow</h1>
<p>First &amp; <b>foremost</b>:<br>look.</p>
<h2>Steps</h2>
<ol><li><p>Stop it.</p></li><li>Start <code>it</code>.<ul><li>gently</li></ul></li></ol>
<ul><li>one<li>two</ul>
<pre>systemctl restart till</pre>
<table><tr><th>a</th><td>b</td></tr></table>
<!-- <p>hidden</p> -->
</body></html>""")
    assert replace(found, body="") == Page(
        title="The till is slow",
        headings=["Steps"],
        steps=["Stop it.", "Start it."],
        bullets=["one", "two"],
        prose="First & foremost: look.",
        has_code=True,
    )


def test_the_title_stands_in_for_a_missing_heading() -> None:
    assert page("<title>Till \n guide</title><p>Text").title == "Till guide"
    assert page("<title>No end<p>Text").prose == "Text"


def test_links_keep_where_they_lead_to() -> None:
    html = """<p>See <a href="guides/till.md">the <b>guide</b></a>, <a href="#top">top</a>, <a>none</a>,
<a href="javascript:x()">run</a>, <a href="a b">gap</a> and <a href='https://x.example/?a=1&amp;b=2'>this</a>.</p>"""
    assert markdown_of(html) == (
        "See [the guide](guides/till.md), top, none, run, gap and [this](https://x.example/?a=1&b=2).\n"
    )


def test_tables_become_rows_and_code_a_fence_that_holds_it() -> None:
    html = "<table><thead><tr><th>a|b<th>c</thead><tbody><tr><td><p>1</p><p>2</p><td>3</table><pre>x\n```\ny</pre>"
    assert markdown_of(html) == "| a\\|b | c |\n| 1 2 | 3 |\n\n````\nx\n```\ny\n````\n"


def test_a_table_that_lays_the_page_out_keeps_its_lists_and_headings() -> None:
    html = "<table><tr><td>Left<td>Do this:<ol><li>a</ol><h2>Then</h2><p>rest</td><td>right</table>"
    assert markdown_of(html).startswith("| Left |\nDo this:\n")
    found = page(html)
    assert (found.steps, found.headings, found.prose) == (["a"], ["Then"], "Do this: rest right")


def test_text_that_looks_like_a_mark_of_markdown_is_none() -> None:
    found = page("<p>---</p><p>title: x</p><p>---</p><p># no heading</p><p>C # sharp</p><p>```</p><p>end</p>")
    assert found.front == {}
    assert found.title == ""
    assert not found.has_code
    assert found.prose == "title: x no heading C # sharp end"


def test_nested_lists_stay_under_their_item() -> None:
    text = markdown_of("<ol><li>a<ol><li>b</li></ol>c</li><li><div>d</div><div>e</div></li></ol>")
    assert page("<ol><li>a<ol><li>b</ol></li><li><div>d</div><div>e</div></li></ol>").steps == ["a", "d e"]
    assert text.startswith("1. a\n  1. b\n")


@pytest.mark.parametrize(
    "unit",
    [
        "<!--",
        "<a ",
        "<",
        "<![CDATA[",
        "<a href='",
        "<li>",
        "<ul>",
        "</",
        "<table><tr><td>",
        "<script>",
        "&#",
        "<title>",
    ],
)
def test_a_page_of_beginnings_only_is_read(unit: str) -> None:
    assert markdown_of(unit * (200_000 // len(unit))).endswith("\n")


@pytest.mark.parametrize("html", ["a <![if IE]>b<![endif]> c", "a <!foo> b c", "a <?php x ?>b c", "a <!-- x > --> b c"])
def test_declarations_and_comments_are_left_out(html: str) -> None:
    assert " ".join(markdown_of(html).split()) == "a b c"


def test_a_page_is_cut_where_it_is_too_long_and_says_so() -> None:
    file, failures = read_html(SourceFile("a.html", "<p>x</p>" * 200_000))
    assert file.path == "a.html"
    assert failures == [("a.html", "is longer than 1,024 Ki characters; the rest was not read")]
    assert read_html(SourceFile("b.html", "<p>x")) == (SourceFile("b.html", "x\n"), [])


_PIECES = st.sampled_from(
    "<p> </p> <li> </li> <ul> <ol> </ul> </ol> <h1> </h1> <h3> <pre> </pre> <a_href='x'> </a> <tr> <td> </tr> <table>"
    " </table> <br> <nav> </nav> <script> </script> <!-- --> <title> </title> < > & &lt; word [ ] ( | # ``` ---".split()
)


@settings(deadline=None)
@given(st.lists(_PIECES | st.text(max_size=5), max_size=40))
def test_any_page_can_be_read(pieces: list[str]) -> None:
    read = page("".join(pieces).replace("_", " "))
    assert read.front == {}
