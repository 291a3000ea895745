"""Tells what a question is about: one thing, how things hang together, or the whole.

The cues are words of ordinary English, never names of an organisation. Names that the graph knows are taken out of the
question before the cues are looked for: a service may be called `between-ads`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from graphrag.identity import name_key
from graphrag.model import Label, Node
from graphrag.readings import MAX_KEYS, Place, readings_of, tokens_of
from graphrag.signals import Signal
from graphrag.store import GraphStore

RouteKind = Literal["point", "paths", "whole"]

MAX_QUESTION = 4_000
_NAMED = (Label.SERVICE, Label.TEAM)


@dataclass(frozen=True)
class Mention:
    """An entity that a question names, and the words it does so with."""

    node_id: str
    label: Label
    name: str
    said: str


@dataclass(frozen=True)
class Route:
    """How a question is answered, and in words why: from one service (`point`), along paths between `ends`, or from
    every community that has to do with it (`whole`)."""

    kind: RouteKind
    reason: str
    ends: tuple[Mention, ...] = ()


_TOKEN = re.compile(r"[^\W_]\w*(?:[-./:][^\W_]\w*)*")
_TOGETHER = re.compile(
    r"\b(?:between|through|via|paths?|routes?|reach(?:es)?|connect(?:s|ed|ions?)?|relat(?:e|es|ed|ions?|ionship)"
    r"|link(?:s|ed)?|hangs? together|gets? (?:from|to)|ends? up|chains?|flows?)\b"
)
_NEEDS = re.compile(r"\b(?:depend(?:s|ed|ing|ent|ents|encies|ency)?|needs?|uses?|calls?|talks?)\b")
_SUFFERS = re.compile(
    r"\b(?:hurts?|affect(?:s|ed)?|impact(?:s|ed)?|breaks?|broken|suffers?|fails?|failed|down|outage|blast radius)\b"
)
_ALL_OF_IT = re.compile(
    r"\b(?:across|overview|everything|everyone|as a whole|overall|landscape|inventory|summar(?:y|ise|ize)"
    r"|(?:all|every|each|most) (?:of )?(?:the |our |your )?(?:services?|teams?|systems?|components?|parts?|areas?"
    r"|applications?|apps?))\b"
)
_WHICH_ONES = re.compile(
    r"\b(?:which|what|list|how many)(?: \w+){0,2}?"
    r" (?:services|teams|systems|components|parts|areas|domains|applications|apps|owners)\b"
)
_OPEN = re.compile(
    r"\b(?:which(?: \w+)?? (?!(?:is|was|has|does|this|its)\b)\w+s\b"
    r"|what (?:do|does|can|have) (?:we|you|i|it)\b|what (?:is|are) there\b"
    r"|what (?:kinds?|sorts?|types?|all)\b|where (?:do|are) (?:we|our)\b|do we have\b|how many\b|list\b|all\b)"
)
# Words that hold sentences together. Some organisation calls a service `about`; a question that begins with "what do
# we know about" does not mean it.
_FUNCTION_WORDS = frozenset(
    "a about after all also an and any are as at be because been before being between both but by can could did do does"
    " each every for from get had has have how i if in into is it its list many may might more most much must no not"
    " now of off on or other our out over own shall should so some such than that the their them then there these they"
    " this those through to together under up us via was we were what when where which while who whom whose why will"
    " with within without would you your".split()
)


_COLLECTIVE = frozenset(
    "across anything app application applications apps area areas component components describe domain domains entire"
    " everyone everything explain found general give hold inventory keep kind kinds know landscape me most name overall"
    " overview owner owners own owns part parts please put responsible run running runs service services show sort"
    " sorts summarise summarize summary system systems team teams tell thing things use used uses whole".split()
)


def topic(question: str) -> str:
    """The words of a question that say what it is about; empty when it is about everything there is. A search for
    `across teams` would find what happens to be called so."""
    words = _TOKEN.findall(question[:MAX_QUESTION])
    return " ".join(word for word in words if word.casefold() not in _FUNCTION_WORDS | _COLLECTIVE)


def route(question: str, named: Sequence[Mention] = ()) -> Route:
    """Decide by general cues and by how many known entities the question names; the reason is a sentence's end."""
    services = tuple({each.node_id: each for each in named if each.label is Label.SERVICE}.values())
    if len(services) == 1 and name_key(question) == name_key(services[0].said):
        return Route("point", f"it is the name of {services[0].name}")
    text = _without_names(question, named)
    ends = tuple({each.node_id: each for each in named}.values())
    together = _along_paths(text, ends)
    return together or _whole(text, services) or _point(services)


def _along_paths(text: str, ends: Sequence[Mention]) -> Route | None:
    """Two ends and a word that joins them; more than two are a list, not a path."""
    if len(ends) != 2 or _WHICH_ONES.search(text):
        return None
    cue = _TOGETHER.search(text) or _NEEDS.search(text) or _SUFFERS.search(text)
    if cue is None:
        return None
    first, last = ends
    reason = f"it asks how {first.name} and {last.name} hang together ({_quoted(cue)})"
    # What fails is named before what it hurts, and the path of needs leads from the latter to the former.
    return Route("paths", reason, (last, first) if _SUFFERS.search(text) else (first, last))


def _whole(text: str, services: Sequence[Mention]) -> Route | None:
    """Of all, whatever is named; of which ones, unless it is of those around one service; else only where no service
    is named."""
    cue = _ALL_OF_IT.search(text)
    if cue:
        return Route("whole", f"it asks about more than one thing ({_quoted(cue)})")
    cue = _WHICH_ONES.search(text)
    around_one = len(services) == 1 and (_NEEDS.search(text) or _SUFFERS.search(text))
    if cue and not around_one:
        return Route("whole", f"it asks which ones ({_quoted(cue)})")
    cue = cue or _OPEN.search(text)
    if cue and not services:
        return Route("whole", f"it is open and names no service ({_quoted(cue)})")
    return None


def _point(services: Sequence[Mention]) -> Route:
    if not services:
        return Route("point", "nothing in it asks about more than one thing")
    names = ", ".join(each.name for each in services[:3])
    return Route("point", f"it names {names}")


def _quoted(cue: re.Match[str]) -> str:
    return f"“{cue.group()[:60]}”"


def _without_names(question: str, named: Sequence[Mention]) -> str:
    """The question in lower case and single spaces, each name in it as one sign that no cue matches."""
    text = question[:MAX_QUESTION]
    for each in sorted(named, key=lambda each: -len(each.said)):
        text = re.sub(rf"(?<!\w){re.escape(each.said)}(?!\w)", "\N{BULLET}", text) if each.said else text
    return " ".join(text.casefold().split())


async def mentions(store: GraphStore, tenant: str, question: str) -> tuple[Mention, ...]:
    """The services and teams that a question names, in its order. Raises `GraphError`."""
    question = question[:MAX_QUESTION]
    places = readings_of(Signal("question", question))
    keys = dict.fromkeys(reading.key for place in places for reading in place)
    found = await store.resolve(tenant, list(keys)[:MAX_KEYS], _NAMED) if keys else {}
    return tuple(_named(question, places, found))


def _named(question: str, places: Sequence[Place], found: Mapping[str, Sequence[Node]]) -> Iterator[Mention]:
    """The longest name at a place covers the words it is made of. A service goes before a team of the same name."""
    tokens = tokens_of(question)
    covered = 0
    for at, readings in enumerate(places):
        known = next((each for each in readings if found.get(each.key)), None)
        if at < covered or known is None:
            continue
        said = question[tokens[at][0] : tokens[at + known.words - 1][1]]
        if said.casefold() in _FUNCTION_WORDS:
            continue
        covered = at + known.words
        nodes = found[known.key]
        services = [node for node in nodes if node.label is Label.SERVICE]
        for node in services or nodes:
            yield Mention(node.id, node.label, node.name, said)
