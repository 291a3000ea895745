"""Reads entities and relations out of passages with a model, by LlamaIndex's `SchemaLLMPathExtractor` and our schema.

Imported only where a model is set: LlamaIndex and the client take seconds to import.
"""

from __future__ import annotations

import contextlib
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import openai
from llama_index.core.base.llms.types import CompletionResponse, CompletionResponseAsyncGen, CompletionResponseGen
from llama_index.core.graph_stores.types import KG_NODES_KEY, KG_RELATIONS_KEY, EntityNode, Relation
from llama_index.core.indices.property_graph import SchemaLLMPathExtractor
from llama_index.core.llms import CustomLLM, LLMMetadata
from llama_index.core.llms.llm import LLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.schema import TextNode
from pydantic import BaseModel, Field, PrivateAttr

from graphrag.identity import name_key, name_words
from graphrag.ingest.extract import Cut
from graphrag.ingest.sources.found import Found, as_name, shown
from graphrag.model import ENDS, EdgeFact, EdgeType, Label, NodeFact, Ref
from graphrag.writing import check_edge

CONFIDENCE = 0.5
"""Of what a model reads: it names relations that a text does not state often enough to stay below a plain sentence."""
MAX_TRIPLETS = 20
"""Relations that are asked of one passage at most, and taken of one answer."""
AT_ONCE = 4
_LABELS = {
    label.value.upper(): label
    for label in (Label.SERVICE, Label.TEAM, Label.RUNBOOK, Label.DOC, Label.INCIDENT, Label.RELEASE, Label.ALERT)
}
_TYPES = {
    type.value: type
    for type, (sources, targets) in ENDS.items()
    if sources & set(_LABELS.values()) and targets & set(_LABELS.values())
    if type not in (EdgeType.CO_OCCURS, EdgeType.RELATION, EdgeType.MENTIONS)
}
_PROMPT = PromptTemplate(
    "The text is a passage of an operations page. List the relations between services, teams, runbooks, documents, "
    "incidents, releases and alerts that it states as being so now. Leave out what it denies, asks, plans, supposes "
    "or tells of the past. Names exactly as the text has them. At most {max_triplets_per_chunk} relations.\n"
    "These relations exist:\n"
    + "\n".join(
        f"{type}: {' or '.join(sorted(ENDS[kind][0] & set(_LABELS.values())))} -> "
        f"{' or '.join(sorted(ENDS[kind][1] & set(_LABELS.values())))}"
        for type, kind in sorted(_TYPES.items())
    )
    + "\n-------\n{text}\n-------\n"
)

Complete = Callable[[str], Awaitable[str]]
"""Asks a model: a prompt in, its answer out. Raises what it likes; each failure is counted and named."""


class _End(BaseModel):
    type: str = Field(json_schema_extra={"enum": sorted(_LABELS)})
    name: str


class _Relation(BaseModel):
    type: str = Field(json_schema_extra={"enum": sorted(_TYPES)})


class _Triplet(BaseModel):
    subject: _End
    relation: _Relation
    object: _End


class _Graph(BaseModel):
    """Relations that a passage states."""

    # The extractor's own strictness drops what does not fit without a word. Here a type is any text, and what does
    # not fit is dropped, and counted, when facts are made of it.
    triplets: list[_Triplet]


class CallableLLM(CustomLLM):
    """LlamaIndex's face of any callable that completes a prompt."""

    name: str = "model"
    _complete: Complete = PrivateAttr()

    def __init__(self, complete: Complete, name: str = "model") -> None:
        super().__init__(name=name)
        self._complete = complete

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.name)

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        return CompletionResponse(text=await self._complete(prompt))

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        raise NotImplementedError("Only asked asynchronously.")

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        raise NotImplementedError("Not streamed.")

    async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseAsyncGen:
        raise NotImplementedError("Not streamed.")


class Gateway:
    """Asks any endpoint that speaks OpenAI's chat completions, to be used as a context manager. `base_url` ends
    before /chat/completions; `seconds` is how long one answer may take."""

    def __init__(self, base_url: str, api_key: str, name: str, *, seconds: float = 60.0) -> None:
        self._client = openai.AsyncOpenAI(base_url=base_url, api_key=api_key or "none", max_retries=1, timeout=seconds)
        self._name = name

    async def __aenter__(self) -> Gateway:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def __call__(self, prompt: str) -> str:
        answer = await self._client.chat.completions.create(
            model=self._name, messages=[{"role": "user", "content": prompt}]
        )
        return (answer.choices[0].message.content if answer.choices else None) or ""


@dataclass(slots=True)
class _Report:
    failed: Counter[str] = field(default_factory=Counter[str])
    first: dict[str, str] = field(default_factory=dict[str, str])
    dropped: Counter[str] = field(default_factory=Counter[str])

    def fail(self, where: str, error: Exception) -> None:
        reason = _reason(error)
        self.failed[reason] += 1
        self.first.setdefault(reason, where)


async def extract_with_model(page: Ref, cuts: Sequence[Cut], llm: LLM | Complete) -> Found:
    """What a model reads in a page's passages. `llm`: a LlamaIndex LLM, or a callable that completes a prompt.

    Only what fits `ENDS` is taken; each call that failed, each answer that could not be read and whatever was dropped
    is counted in `failures`, one line a reason. A failed passage costs its own facts only.
    """
    extractor = SchemaLLMPathExtractor(
        llm=llm if isinstance(llm, LLM) else CallableLLM(llm),
        extract_prompt=_PROMPT,
        kg_schema_cls=_Graph,
        strict=False,
        max_triplets_per_chunk=MAX_TRIPLETS,
        num_workers=1,
        raise_on_error=True,
    )
    report = _Report()
    read: dict[int, list[tuple[EntityNode, Relation, EntityNode]]] = {}
    limit = anyio.CapacityLimiter(AT_ONCE)

    async def one(place: int, cut: Cut) -> None:
        async with limit:
            try:
                read[place] = await _triplets(extractor, cut)
            except Exception as error:
                report.fail(cut.name, error)

    with _without_its_log():
        async with anyio.create_task_group() as group:
            for place, cut in enumerate(cuts):
                group.start_soon(one, place, cut)
    found = Found()
    for place, cut in enumerate(cuts):
        _take(found, cut, read.get(place, []), report)
    for reason, count in report.failed.items():
        found.fail(page.name, f"the model failed on {_passages(count)}, first {report.first[reason]}: {reason}")
    for reason, count in report.dropped.items():
        found.fail(page.name, f"the model's answer was dropped in {count} case{'s' * (count > 1)}: {reason}")
    return found


async def _triplets(extractor: SchemaLLMPathExtractor, cut: Cut) -> list[tuple[EntityNode, Relation, EntityNode]]:
    text = "\n".join((" > ".join(cut.passage.headings), cut.passage.text)).strip()
    (node,) = await extractor.acall([TextNode(text=text)])
    nodes = cast("list[EntityNode]", node.metadata.get(KG_NODES_KEY, []))
    relations = cast("list[Relation]", node.metadata.get(KG_RELATIONS_KEY, []))
    return [(nodes[2 * at], relation, nodes[2 * at + 1]) for at, relation in enumerate(relations[:MAX_TRIPLETS])]


def _take(found: Found, cut: Cut, triplets: Sequence[tuple[EntityNode, Relation, EntityNode]], report: _Report) -> None:
    for subject, relation, target in triplets:
        fact = _edge(cut, subject, relation, target, report)
        if fact is None:
            continue
        for ref in (fact.source, fact.target):
            found.nodes.append(NodeFact(ref.label, ref.name, confidence=CONFIDENCE, chunks=(cut.id,)))
            found.edges.append(
                EdgeFact(EdgeType.MENTIONS, Ref(Label.CHUNK, cut.name), ref, confidence=CONFIDENCE, chunks=(cut.id,))
            )
        found.edges.append(fact)


def _edge(cut: Cut, subject: EntityNode, relation: Relation, target: EntityNode, report: _Report) -> EdgeFact | None:
    """The fact that a triplet states; None, with a count, when it fits nothing that the graph has."""
    type = _TYPES.get(relation.label.strip().upper().replace(" ", "_"))
    if type is None:
        report.dropped[f"there is no relation {shown(relation.label)}"] += 1
        return None
    ends = [_ref(cut, end, report) for end in (subject, target)]
    if ends[0] is None or ends[1] is None:
        return None
    fact = EdgeFact(type, ends[0], ends[1], confidence=CONFIDENCE, chunks=(cut.id,))
    try:
        check_edge(fact)
    except ValueError as error:
        report.dropped[str(error)] += 1
        return None
    if fact.source.label is fact.target.label and name_key(fact.source.name) == name_key(fact.target.name):
        report.dropped["nothing relates to itself"] += 1
        return None
    return fact


def _ref(cut: Cut, end: EntityNode, report: _Report) -> Ref | None:
    label, name = _LABELS.get(end.label.strip().upper()), as_name(end.name)
    if label is None:
        report.dropped[f"there is no kind {shown(end.label)}"] += 1
        return None
    words = "".join(name_words(name))
    if not words or words not in "".join(name_words("\n".join((*cut.passage.headings, cut.passage.text)))):
        report.dropped["it names what the passage does not"] += 1
        return None
    return Ref(label, name)


def _reason(error: Exception) -> str:
    """What went wrong, in words without the error's own, which may quote a page or a key."""
    match error:
        case openai.APITimeoutError():
            return "it did not answer in time"
        case openai.APIConnectionError():
            return "its gateway cannot be reached"
        case openai.APIStatusError():
            return f"its gateway answered {error.status_code}"
        case ValueError():
            return "its answer is not the JSON that was asked for"
        case _:
            return type(error).__name__


def _passages(count: int) -> str:
    return "1 passage" if count == 1 else f"{count} passages"


@contextlib.contextmanager
def _without_its_log() -> Iterator[None]:
    """The extractor logs each failure with a traceback that quotes the page; here they are counted instead."""
    log = logging.getLogger(SchemaLLMPathExtractor.__module__)
    before, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = before
