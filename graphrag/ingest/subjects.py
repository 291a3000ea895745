"""What a page or a section is about, and what its labelled lines, lists and tables say of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from graphrag.ingest.naming import Kind, Mention, Names, Signs, signs
from graphrag.ingest.phrases import Reader, Said, Talk, Trust
from graphrag.ingest.prose import Block, Form
from graphrag.ingest.shapes import Shapes

_RUNBOOK = r"(?:run-?book|run book|playbook)s?"
_TITLES = (
    re.compile(
        rf"(?:the )?(?:on-call |operational |service )?{_RUNBOOK}\s?(?::|-|\u2013|—|for|of)\s(?:the )?(?P<name>\S.*)",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<name>\S.*?)\s?(?::|-|\u2013|—|\|)?\s(?:on-call |operational |service )?{_RUNBOOK}", re.IGNORECASE
    ),
    re.compile(
        r"(?:on-?call|operations|operational|service|operating|support|ops)(?: guide| notes| page| handbook|"
        r" manual)?\s?(?::|-|\u2013|—|for)\s(?:the )?(?P<name>\S.*)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?P<name>\S.*?)\s?(?::|-|\u2013|—|\|)?\s(?:on-?call|operations|operational|service|ops)?\s?(?:guide"
        r"|overview"
        r"|notes|readme|handbook|page|manual|architecture|operations|ops)",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:operating|running|how (?:we|to) (?:run|operate)|about|introducing)\s(?:the |our )?(?P<name>\S.*)",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<name>\S.*)"),
)
_SERVICE_NAME = re.compile(signs(Kind.SERVICE, Kind.EITHER, Kind.NEW, Kind.WORD, Kind.CODE, Kind.JOINED))
_ONE_NAME = re.compile(r"[A-Za-z][\w-]{1,60}(?: [A-Z][\w-]{1,40})?\Z")
_GENERIC = frozenset(
    """about access alert alerting alerts and architecture backup backups common contact database deploy deployment
    deployments design details development disaster documentation emergency escalation failover faq general guide how
    incident incidents index infrastructure installation introduction general local maintenance management metrics
    migration monitoring network new oncall on-call onboarding operations our overview ownership owner platform
    procedures production purpose readme recovery reference release releases restore rollback runbook runbooks scaling
    security service services setup shared support symptoms team template the this troubleshooting upgrade usage what
    when why a an""".split()
)

_FIELDS = {
    "owned": re.compile(
        r"(?:(?:service |code |current |primary )?owners?|owned by|(?:owning |responsible |owner )?team|ownership"
        r"|maintained by|maintainers?|operated by|run by|managed by|responsible|who owns (?:it|this)|whose it is)",
        re.IGNORECASE,
    ),
    "needs": re.compile(
        r"(?:(?:it )?depends (?:up)?on|(?:(?:upstream|service|hard|direct|runtime|internal|key|critical|our|its)"
        r" ){0,2}dependenc(?:y|ies)|upstreams?|upstream services|requires|needs|relies on|calls|uses"
        r"|(?:services )?(?:that )?it (?:needs|depends on|relies on|uses)|what it (?:needs|depends on|relies on)"
        r"|needed services|required services)",
        re.IGNORECASE,
    ),
    "runbook": re.compile(
        r"(?:where |find )?(?:on-call |operational |service |our |the |its )?(?:run-?books?|run books?|playbooks?)"
        r"(?: (?:is|lives|url|link|page"
        r"|location))?",
        re.IGNORECASE,
    ),
    "subject": re.compile(r"(?:service|application|app|component|service name|system|name)", re.IGNORECASE),
}
_LIST_HEADING = re.compile(r"(?:\d{1,2}[.)]? )?(?P<label>\S.{1,58}?)(?: of (?:the |this )?\S.{0,40})?\W*\Z")
_LOOSE = re.compile(r"requires|needs|uses|calls", re.IGNORECASE)
_LINK = re.compile(signs(Kind.LINK))
_TEAM_NAME = re.compile(r"[A-Za-z][\w&-]{1,40}\.?\Z")
_NOBODY = frozenset("tbd tba none nobody unknown unclear everyone all na todo yes no us we me you see it".split())
_WHOLE = re.compile(rf"\W{{0,3}}{signs(*Kind)}{signs(Kind.LINK)}?(?: service)?\W{{0,3}}\Z")


def field_of(label: str) -> str:
    """What a label, a table's head or a heading announces: "owned", "needs", "runbook", "subject" or nothing."""
    text = " ".join(label.strip(" *_`:#?").split())
    return next((kind for kind, pattern in _FIELDS.items() if pattern.fullmatch(text)), "")


def subject_of(heading: str, names: Names, *, title: bool) -> Mention | None:
    """The service that a heading is about, if it names one and nothing else. A page's title may say more: what kind
    of page it is."""
    heading = heading[:120].strip()
    for pattern in _TITLES if title else (*_TITLES[:2], _TITLES[-1]):
        match = pattern.fullmatch(heading)
        if match:
            mention = _only(match["name"], names, plain=title and pattern in _TITLES[:2])
            if mention:
                return mention
    return None


def _only(text: str, names: Names, *, plain: bool) -> Mention | None:
    """The service that a text names and nothing else. A plain word is one only where the title says "runbook"."""
    text = re.sub(r"^(?:the|our) ", "", text.strip(" .:*_`\"'"), flags=re.IGNORECASE)
    known = names.vocabulary.named(text) or names.vocabulary.named(
        re.sub(r" services?$", "", text, flags=re.IGNORECASE)
    )
    services = tuple(ref for ref in known if ref.label.value == "Service")
    if services:
        return Mention(Kind.SERVICE, services[0].name, services)
    given = Signs()
    shaped = Shapes(given, open_world=names.open).sign(text)
    if len(shaped) == 1 and _SERVICE_NAME.match(shaped) and ("-" in text or given.mentions[shaped].kind is Kind.NEW):
        found = given.mentions[shaped]
        return found if not found.refs else None
    words = text.lower().split()
    if plain and _ONE_NAME.match(text) and _GENERIC.isdisjoint(words) and not words[0].endswith("ing"):
        return Mention(Kind.NEW, text, also=(f"{text} service",))
    return None


class Fields:
    """Reads the blocks of a page in turn: sentences, and what labels, lists and tables say without a sentence."""

    def __init__(self) -> None:
        self._columns: tuple[str, ...] = ()

    def read(
        self,
        block: Block,
        sentences: Sequence[str],
        headings: Sequence[str],
        reader: Reader,
        talk: Talk,
        mentions: dict[str, Mention],
    ) -> Iterator[Said]:
        if block.form in (Form.HEAD, Form.ROW):
            yield from self._row(block, sentences, reader, talk, mentions)
            return
        if block.cells and field_of(block.cells[0]):
            yield from self._labelled(block, sentences, reader, talk, mentions)
            return
        pending = talk.pending
        if block.form is Form.ITEM and pending:
            kind, sources, trust = pending
            yield from self._listed(kind, sources, trust, sentences[0], reader, mentions)
            for sentence in sentences[1:]:
                yield from reader.read(sentence)
            talk.pending = pending
            return
        kind = _announced(headings)
        told = False
        if (
            kind
            and talk.subject
            and sentences
            and (block.form is Form.ITEM or _WHOLE.match(sentences[0]) or kind != "needs")
        ):
            for said in self._listed(kind, (talk.subject,), Trust.STRONG, sentences[0], reader, mentions):
                told = True
                yield said
        for sentence in sentences[1 if told else 0 :]:
            yield from reader.read(sentence)

    def _labelled(
        self, block: Block, sentences: Sequence[str], reader: Reader, talk: Talk, mentions: dict[str, Mention]
    ) -> Iterator[Said]:
        label = block.cells[0]
        kind = field_of(label)
        value = sentences[0].strip()
        talk.pending = None
        if kind == "subject" and (named := _WHOLE.match(value.rstrip(".")) and _SERVICE_NAME.search(value)):
            talk.last = mentions[named.group()]
            talk.subject = talk.subject or talk.last
            return
        sources = tuple(each for each in (talk.subject or talk.last,) if each)
        if kind == "subject":
            return
        if not value:
            talk.pending = (kind, sources, Trust.STRONG)
            return
        yield from self._listed(kind, sources, _trust_of(label), value, reader, mentions)
        for sentence in sentences[1:]:
            yield from reader.read(sentence)

    def _row(
        self, block: Block, cells: Sequence[str], reader: Reader, talk: Talk, mentions: dict[str, Mention]
    ) -> Iterator[Said]:
        kinds = tuple(field_of(cell) for cell in block.cells)
        if block.form is Form.HEAD:
            self._columns = kinds if kinds.count("subject") == 1 and len(set(kinds) - {""}) > 1 else ()
            if self._columns:
                return
        subject = talk.subject or talk.last
        pairs = [(kinds[0], cells[1])] if len(cells) == 2 and kinds[0] and not self._columns else []
        if self._columns and len(cells) == len(self._columns):
            named = _SERVICE_NAME.search(cells[self._columns.index("subject")])
            subject = mentions[named.group()] if named else None
            pairs = [(kind, cell) for kind, cell in zip(self._columns, cells, strict=True) if kind]
        if subject is None:
            return
        for kind, cell in pairs:
            if kind != "subject":
                yield from self._listed(kind, (subject,), Trust.STRONG, cell, reader, mentions)

    def _listed(
        self,
        kind: str,
        sources: Sequence[Mention],
        trust: Trust,
        text: str,
        reader: Reader,
        mentions: dict[str, Mention],
    ) -> Iterator[Said]:
        text = text.strip()
        if kind == "runbook":
            link = _LINK.search(text)
            short = len(text.split()) <= 10 and not re.search(r"\b(?:no|not|none|old|template)\b", text)
            targets = [mentions[link.group()]] if link and short else []
        else:
            targets = reader.items(text, kind, trust)
            if kind == "owned" and not targets and _TEAM_NAME.match(text) and text.lower() not in _NOBODY:
                targets = [Mention(Kind.NEW_TEAM, text.rstrip(". "))]
        for source in sources:
            for target in targets:
                yield Said(kind, source, target, trust)


def _trust_of(label: str) -> Trust:
    return Trust.LOOSE if _LOOSE.fullmatch(label.strip()) else Trust.STRONG


def _announced(headings: Sequence[str]) -> str:
    if len(headings) < 2:
        return ""
    match = _LIST_HEADING.fullmatch(headings[-1][:100])
    kind = field_of(match["label"]) if match else ""
    return "" if kind == "subject" or (kind == "runbook" and headings[-1].strip().endswith("s")) else kind
