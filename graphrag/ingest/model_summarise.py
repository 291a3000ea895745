"""Summaries of entities and relations in a model's words, from their template and the passages they were read in."""

from __future__ import annotations

import html
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import anyio

MAX_SUMMARY = 500
"""Characters of a summary at most; what a model says beyond is cut at the end of a sentence."""
_MAX_NAME = 200
_MAX_TEMPLATE = 1_000
_MAX_PASSAGES = 5
_MAX_PASSAGE = 1_200
_MAX_REASON = 200
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
_SENTENCES = 2
_MARKS = re.compile(r"^(?:#{1,6}\s|[-*>]\s)|\*\*|`")
_INTRODUCTION = re.compile(r"^(?:summary|(?:here is|this is)[^.:\n]{0,60})\s?:\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Element:
    """A node or an edge: what names it, its template's summary, and the passages it was read in, whose secrets the
    caller has taken out."""

    name: str
    summary: str
    passages: tuple[str, ...] = ()


async def summaries(
    elements: Sequence[Element], ask: Callable[[str], Awaitable[str]], at_once: int = 4
) -> tuple[list[str | None], tuple[str, ...]]:
    """For each element the model's summary, or None where the template's is to stay; and each failure in words.

    `ask` gives the model's answer to a prompt. It is asked for `at_once` elements at a time. Whatever it raises costs
    one element its summary and is told among the failures.
    """
    texts: list[str | None] = [None] * len(elements)
    failures: dict[int, str] = {}
    queue = iter(range(len(elements)))

    async def work() -> None:
        for number in queue:
            element = elements[number]
            try:
                text = cleaned(await ask(prompt_for(element)))
            except Exception as error:  # one element of thousands, and said so
                reason = " ".join(str(error).split())[:_MAX_REASON]
                failures[number] = f"{element.name[:_MAX_NAME]}: {type(error).__name__}: {reason}"
                continue
            if text:
                texts[number] = text
            else:
                failures[number] = f"{element.name[:_MAX_NAME]}: the model's answer is no summary"

    async with anyio.create_task_group() as group:
        for _ in range(max(at_once, 1)):
            group.start_soon(work)
    return texts, tuple(failures[number] for number in sorted(failures))


def prompt_for(element: Element) -> str:
    """Our instructions, and what is known of the element as data that nothing in it can close."""
    parts = [
        _instructions(),
        _fenced("element", element.name[:_MAX_NAME]),
        _fenced("present-summary", element.summary[:_MAX_TEMPLATE]),
    ]
    passages = element.passages[:_MAX_PASSAGES]
    parts += (_fenced(f"passage-{number}", text[:_MAX_PASSAGE]) for number, text in enumerate(passages, 1))
    return "\n".join(parts)


def cleaned(answer: str) -> str:
    """The summary in a model's answer: its first sentences on one line, without marks or an introduction. Empty when
    it holds none, or one that goes on without end."""
    lines = (_MARKS.sub("", line.strip()) for line in answer[: MAX_SUMMARY * 4].splitlines())
    text = _INTRODUCTION.sub("", " ".join(" ".join(lines).split())).strip(" \"'")
    kept = ""
    for sentence in _SENTENCE_END.split(text)[:_SENTENCES]:
        longer = f"{kept} {sentence}".strip()
        if len(longer) > MAX_SUMMARY:
            break
        kept = longer
    return kept if any(character.isalnum() for character in kept) and "<data" not in kept else ""


def _fenced(identity: str, text: str) -> str:
    return f'<data id="{identity}">{html.escape(" ".join(text.split()), quote=False)}</data>'


@cache
def _instructions() -> str:
    return (resources.files("graphrag.ingest") / "prompts" / "summarise.txt").read_text(encoding="utf-8")
