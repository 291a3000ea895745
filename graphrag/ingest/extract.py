"""Reads entities and relations out of a page's prose, without a model.

Pure. Precision before recall: a dependency that is not there enters every blast radius, one that is missed is found
by the next source.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from graphrag.identity import name_key
from graphrag.ingest.chunk import Passage
from graphrag.ingest.naming import Kind, Mention, Names, Signs, signs
from graphrag.ingest.phrases import Reader, Said, Talk, Trust, may_tell
from graphrag.ingest.prose import Block, Blocks, Form
from graphrag.ingest.shapes import Shapes
from graphrag.ingest.sources.found import Found, as_name
from graphrag.ingest.subjects import Fields, field_of, subject_of
from graphrag.ingest.vocabulary import Vocabulary
from graphrag.model import EdgeFact, EdgeType, EntityKind, Label, NodeFact, PropertyValue, Ref

STATED = 0.6
"""A sentence says plainly how two known things relate. Below what a file states for machines (0.8 and more): prose
grows old unnoticed, and grammar can be misread."""
LIKELY = 0.5
"""The verb is said of tools and settings too ("uses"), or a name is known only from how it is written."""
GUESSED = 0.4
"""Both."""
MENTIONED = 0.7
"""A known name stands in the text: hardly to be misread."""
TOGETHER = 0.3
"""Two names stand close to each other, and nothing more."""
MAX_PAIRS = 6
"""CO_OCCURS edges of one passage at most, the nearest first."""
MAX_TICKETS = 10
_WEIGHT: PropertyValue = 1.0
_SENTENCE = re.compile(r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bvs\.)(?<!\betc\.)(?<!\bapprox\.)(?<=[.!?])[)\"'”]{0,2}\s+")
_SIGN = re.compile(signs(*Kind))
_TICKET = re.compile(r"(?<![\w/.@-])(?P<key>[A-Z][A-Z0-9]{1,9})-(?P<number>[1-9]\d{1,6})(?![\w-]|\.\w)")
_STANDARDS = frozenset(
    "AES BS CVE CWE DIN EN FIPS GPT HTTP IEC IEEE IPV ISO KB MD PEP RFC RSA SHA SSL TLS UTC UTF UTF8 GMT".split()
)
_NO_PERSON = frozenset(
    "abuse admin administrator alerts alert billing contact devnull dev donotreply engineering example git help hello info"
    " infra it mail me nobody noreply no-reply oncall on-call ops pager platform postmaster root security service sre"
    " support team test user webmaster you your".split()
)
_NO_PLACE = re.compile(r"(?:example|invalid|local|localhost|test|service|internal|lan)\Z")
_TEAM_WORDS = (" team", " squad")


@dataclass(frozen=True, slots=True)
class Cut:
    """A passage as it is stored: the name of its Chunk node, and that node's id."""

    passage: Passage
    name: str
    id: str


@dataclass(slots=True)
class _Read:
    """A passage with signs in it: each block with its sentences."""

    cut: Cut
    signs: Signs
    blocks: list[tuple[Block, list[str]]] = field(default_factory=list[tuple[Block, list[str]]])


def extract(page: Ref, cuts: Sequence[Cut], vocabulary: Vocabulary) -> Found:
    """What a page's passages say. `page` is the Runbook, Doc or other node that the page became, by its path.

    Nodes are made only for what the vocabulary lacks: services and the like where a phrase plainly names them, with a
    confidence that says so. Each fact has the ids of the chunks it was read in. Never raises for any text.
    """
    return _Extraction(page, vocabulary).of(cuts)


class _Extraction:
    def __init__(self, page: Ref, vocabulary: Vocabulary) -> None:
        self._page = page
        self._vocabulary = vocabulary
        self._names = Names(vocabulary, page)
        self._shapes = Shapes(Signs(), open_world=self._names.open)
        self._facts = _Facts()
        self._subjects: dict[tuple[str, bool], Mention | None] = {}

    def of(self, cuts: Sequence[Cut]) -> Found:
        blocks = Blocks()
        reads = [self._read(cut, blocks) for cut in cuts]
        fields = Fields()
        talk, section = Talk(), None
        for read in reads:
            if read.cut.passage.headings != section:
                section = read.cut.passage.headings
                talk = Talk(subject=self._subject(section))
            self._relate(read, talk, fields)
        for read in reads:
            self._mention(read)
        self._own_runbook(cuts)
        return self._facts.found()

    def _subject(self, headings: Sequence[str]) -> Mention | None:
        """The service that the nearest heading is about that is about one."""
        for depth in range(len(headings) - 1, -1, -1):
            key = (headings[depth], depth == 0)
            if key not in self._subjects:
                subject = subject_of(headings[depth], self._names, title=depth == 0)
                self._subjects[key] = self._shapes.canonical(subject) if subject else None
            if subject := self._subjects[key]:
                return subject
        return None

    def _read(self, cut: Cut, blocks: Blocks) -> _Read:
        read = _Read(cut, Signs())
        self._shapes.use(read.signs)
        self._subject(cut.passage.headings)
        for block in blocks.of(cut.passage.text):
            if block.form is Form.CODE:
                self._names.in_code(block.text, read.signs)
                continue
            labelled = block.form not in (Form.ROW, Form.HEAD) and block.cells and field_of(block.cells[0])
            text = self._names.sign(block.cells[1] if labelled else block.text, read.signs)
            if block.form in (Form.ROW, Form.HEAD):
                read.blocks.append((block, [self._shapes.sign(cell) for cell in text.split(" | ")]))
            else:
                listed = labelled or block.form is Form.ITEM
                shaped = self._shapes.sign if listed else self._shaped
                read.blocks.append((block, [shaped(each) for each in _SENTENCE.split(text)]))
        for mention in read.signs.mentions.values():
            self._shapes.canonical(mention)
        return read

    def _shaped(self, sentence: str) -> str:
        """Shapes are sought only where a sentence may say a relation: most do not."""
        return self._shapes.sign(sentence) if may_tell(sentence) else sentence

    def _relate(self, read: _Read, talk: Talk, fields: Fields) -> None:
        self._shapes.use(read.signs)
        reader = Reader(read.signs.mentions, talk, open_world=self._names.open)
        for block, shaped in read.blocks:
            sentences = [self._shapes.recall(each) if may_tell(each) else each for each in shaped]
            for said in fields.read(block, sentences, read.cut.passage.headings, reader, talk, read.signs.mentions):
                self._say(said, read.cut)

    def _say(self, said: Said, cut: Cut) -> None:
        source = self._service(said.source)
        if said.kind == "runbook":
            self._link(source, said, cut)
            return
        label, type = (Label.SERVICE, EdgeType.DEPENDS_ON) if said.kind == "needs" else (Label.TEAM, EdgeType.OWNED_BY)
        target = self._service(said.target) if label is Label.SERVICE else self._team(said.target)
        if (
            not target.name
            or not source.name
            or (target.label is source.label and name_key(source.name) == name_key(target.name))
        ):
            return
        confidence = _confidence(said)
        for ref, mention in ((source, said.source), (target, said.target)):
            self._make(ref, mention, cut)
        self._facts.edge(EdgeFact(type, source, target, confidence=confidence, chunks=(cut.id,)))

    def _link(self, service: Ref, said: Said, cut: Cut) -> None:
        link = said.target
        known = next((ref for ref in link.refs if ref.label in (Label.RUNBOOK, Label.DOC)), None)
        ref = known or Ref(Label.RUNBOOK, as_name(self._target(link.target)))
        if not ref.name or not service.name:
            return
        self._make(service, said.source, cut)
        if known is None:
            properties: dict[str, PropertyValue] = {"url": link.target} if "://" in link.target else {"path": ref.name}
            self._facts.node(NodeFact(ref.label, ref.name, properties=properties, confidence=LIKELY, chunks=(cut.id,)))
            self._facts.edge(_mention(cut, ref, LIKELY))
        type = EdgeType.HAS_RUNBOOK if ref.label is Label.RUNBOOK else EdgeType.DOCUMENTED_IN
        self._facts.edge(EdgeFact(type, service, ref, confidence=_confidence(said), chunks=(cut.id,)))

    def _target(self, target: str) -> str:
        if "://" in target:
            return target
        bare = target.partition("#")[0]
        if bare.startswith("../"):
            bare = posixpath.normpath(posixpath.join(posixpath.dirname(self._page.name), bare))
        return bare.removeprefix("./").lstrip("/")

    def _service(self, mention: Mention) -> Ref:
        mention = self._shapes.canonical(mention)
        return mention.ref(Label.SERVICE) or Ref(Label.SERVICE, as_name(mention.name))

    def _team(self, mention: Mention) -> Ref:
        known = mention.ref(Label.TEAM) or next(
            (
                ref
                for spelling in (mention.name, *mention.also, f"{mention.name} team", f"team {mention.name}")
                for ref in self._vocabulary.named(spelling)
                if ref.label is Label.TEAM
            ),
            None,
        )
        return known or Ref(Label.TEAM, self._facts.team_name(as_name(mention.name)))

    def _make(self, ref: Ref, mention: Mention, cut: Cut) -> None:
        """A node for a name that is in the text only."""
        if any(ref == known for known in self._vocabulary.named(ref.name)):
            return
        also = self._shapes.canonical(mention).also if ref.label is Label.SERVICE else mention.also
        aliases = tuple(each for each in also if as_name(each) and name_key(each) != name_key(ref.name))
        self._facts.node(NodeFact(ref.label, ref.name, aliases=aliases, confidence=GUESSED, chunks=(cut.id,)))
        self._facts.edge(_mention(cut, ref, LIKELY))

    def _own_runbook(self, cuts: Sequence[Cut]) -> None:
        """A page titled "Runbook: X" is the runbook of X, unless it says that this is elsewhere."""
        if not cuts or self._facts.has(EdgeType.HAS_RUNBOOK) or self._page.label is not Label.RUNBOOK:
            return
        title = cuts[0].passage.headings[:1]
        if not title or not re.search(r"\b(?:run-?book|run book|playbook)\b", title[0], re.IGNORECASE):
            return
        subject = self._subject(title)
        if subject:
            source = self._service(subject)
            if source.name:
                self._make(source, subject, cuts[0])
                self._facts.edge(
                    EdgeFact(EdgeType.HAS_RUNBOOK, source, self._page, confidence=LIKELY, chunks=(cuts[0].id,))
                )

    # -- what is named

    def _mention(self, read: _Read) -> None:
        refs: dict[Ref, None] = {}
        for mention in read.signs.mentions.values():
            for ref in self._named(mention, read.cut):
                if ref != self._page:
                    refs.setdefault(ref)
                    self._facts.edge(_mention(read.cut, ref, MENTIONED if mention.refs else LIKELY))
        for ref in self._tickets(read):
            self._facts.edge(_mention(read.cut, ref, LIKELY))
        self._together(read)

    def _named(self, mention: Mention, cut: Cut) -> Iterator[Ref]:
        if mention.kind is Kind.WORD:
            return
        if mention.refs:
            yield from mention.refs
        elif mention.kind is Kind.PERSON:
            person = _person(mention)
            if person:
                self._facts.node(replace(person, chunks=(cut.id,)))
                yield Ref(person.label, person.name)
        elif mention.kind is Kind.NEW_TEAM and mention.name[:1].isupper():
            ref = self._team(mention)
            if ref.name:
                self._make(ref, mention, cut)
                yield ref

    def _tickets(self, read: _Read) -> Iterator[Ref]:
        text = read.cut.passage.text[:10_000]
        names = dict.fromkeys(match.group() for match in _TICKET.finditer(text) if match["key"] not in _STANDARDS)
        for name in list(names)[:MAX_TICKETS]:
            if not self._vocabulary.named(name):
                self._facts.node(
                    NodeFact(
                        Label.ENTITY,
                        name,
                        properties={"kind": EntityKind.EVENT.value},
                        confidence=LIKELY,
                        chunks=(read.cut.id,),
                    )
                )
                yield Ref(Label.ENTITY, name)

    def _together(self, read: _Read) -> None:
        """CO_OCCURS between names that follow each other, at most so many."""
        count = 0
        for _, sentences in read.blocks:
            named: list[Ref] = []
            for sign in _SIGN.findall(" ".join(sentences)):
                mention = read.signs.mentions[sign]
                if mention.kind in (Kind.SERVICE, Kind.TEAM, Kind.EITHER, Kind.OTHER) and len(mention.refs) == 1:
                    if mention.refs[0].label is not Label.ENTITY and mention.refs[0] != self._page:
                        named.append(mention.refs[0])
            for one, other in pairwise(named):
                if one != other and self._facts.together(one, other, read.cut):
                    count += 1
                    if count == MAX_PAIRS:
                        return


def _mention(cut: Cut, ref: Ref, confidence: float) -> EdgeFact:
    return EdgeFact(EdgeType.MENTIONS, Ref(Label.CHUNK, cut.name), ref, confidence=confidence, chunks=(cut.id,))


def _confidence(said: Said) -> float:
    sure = said.trust is Trust.STRONG
    known = bool(said.source.refs) and (bool(said.target.refs) or said.kind == "runbook")
    return STATED if sure and known else LIKELY if sure or known else GUESSED


def _person(mention: Mention) -> NodeFact | None:
    """A person by an e-mail address. One that a role or a machine has is none."""
    address = mention.name.lower()
    local, _, domain = address.partition("@")
    if not domain or local in _NO_PERSON or _NO_PLACE.search(domain) or not as_name(address):
        return None
    shown = " ".join(mention.also[0].split()) if mention.also else ""
    aliases = (shown,) if shown and "@" not in shown and " " in shown and as_name(shown) else ()
    return NodeFact(
        Label.ENTITY,
        address,
        aliases=aliases,
        properties={"kind": EntityKind.PERSON.value},
        identifiers=(f"mailto:{address}",),
        confidence=LIKELY,
    )


class _Facts:
    """The facts of a page, each once, with every chunk it was read in."""

    def __init__(self) -> None:
        self._nodes: dict[tuple[Label, str], NodeFact] = {}
        self._edges: dict[tuple[EdgeType, Label, str, Label, str], EdgeFact] = {}
        self._related: set[frozenset[tuple[Label, str]]] = set()

    def node(self, fact: NodeFact) -> None:
        key = (fact.label, name_key(fact.name))
        known = self._nodes.get(key)
        if known is None:
            self._nodes[key] = fact
            return
        self._nodes[key] = replace(
            known,
            aliases=tuple(dict.fromkeys((*known.aliases, *fact.aliases))),
            chunks=tuple(dict.fromkeys((*known.chunks, *fact.chunks))),
        )

    def team_name(self, name: str) -> str:
        known = self._nodes.get((Label.TEAM, name_key(name)))
        return known.name if known else name

    def edge(self, fact: EdgeFact) -> None:
        one, other = (fact.source.label, name_key(fact.source.name)), (fact.target.label, name_key(fact.target.name))
        key = (fact.type, *one, *other)
        known = self._edges.get(key)
        if fact.type not in (EdgeType.MENTIONS, EdgeType.CO_OCCURS):
            self._related.add(frozenset((one, other)))
        self._edges[key] = (
            fact
            if known is None
            else replace(
                known,
                confidence=max(known.confidence, fact.confidence),
                chunks=tuple(dict.fromkeys((*known.chunks, *fact.chunks))),
            )
        )

    def together(self, one: Ref, other: Ref, cut: Cut) -> bool:
        """Whether the pair was taken: not when a relation joins it already."""
        ends = [(ref.label, name_key(ref.name)) for ref in (one, other)]
        if ends[0] == ends[1] or frozenset(ends) in self._related:
            return False
        source, target = (one, other) if ends[0] < ends[1] else (other, one)
        self.edge(
            EdgeFact(
                EdgeType.CO_OCCURS,
                source,
                target,
                properties={"weight": _WEIGHT},
                confidence=TOGETHER,
                chunks=(cut.id,),
            )
        )
        return True

    def has(self, type: EdgeType) -> bool:
        return any(key[0] is type for key in self._edges)

    def found(self) -> Found:
        return Found(nodes=list(self._nodes.values()), edges=list(self._edges.values()))
