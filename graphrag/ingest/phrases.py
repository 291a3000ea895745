"""Reads what a sentence says of services: who needs whom, whose they are, where their runbook is.

A sentence comes with signs in the place of names (`naming`). A phrase counts only where the grammar is plain: the
subject right before the verb, the names right behind it. So "does not depend on", "would use" and "if it needs" fall
away by themselves, and what is left out costs less than a dependency that is not there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum

from graphrag.ingest.naming import Kind, Mention, has_role, signs


class Trust(Enum):
    """How much a verb says: `depends on` is said of services; `uses` of tools and settings too."""

    STRONG = 0
    CALL = 1
    LOOSE = 2


@dataclass(frozen=True, slots=True)
class Said:
    """A relation as it is said. `kind` is "needs", "owned" or "runbook"; `trust` how plainly."""

    kind: str
    source: Mention
    target: Mention
    trust: Trust = Trust.STRONG


@dataclass(slots=True)
class Talk:
    """What pronouns mean at a place in a page: `subject` is what the page or section is about, `last` what was
    spoken of last. `pending` is the list that a line such as "It depends on:" opens."""

    subject: Mention | None = None
    last: Mention | None = None
    pending: tuple[str, tuple[Mention, ...], Trust] | None = None
    said: list[Said] = field(default_factory=list[Said])


_ANY = signs(*Kind)
_SIGN = re.compile(_ANY)
SERVICE = signs(Kind.SERVICE, Kind.WORD, Kind.EITHER, Kind.NEW, Kind.CODE, Kind.JOINED)
_SURE = signs(Kind.SERVICE, Kind.EITHER, Kind.NEW)
TEAM = signs(Kind.TEAM, Kind.EITHER, Kind.NEW_TEAM)
_OWNER = signs(Kind.TEAM, Kind.EITHER, Kind.NEW_TEAM, Kind.NEW, Kind.CODE, Kind.JOINED)
LINK = signs(Kind.LINK)
_ADV = (
    r"(?:also|directly|heavily|only|currently|itself|mainly|mostly|primarily|therefore|strongly|still|both|always|now"
    r"|in turn|thus|typically|usually|generally|critically|synchronously|internally|then|indirectly|solely|largely"
    r"|further|additionally|in production|at runtime|jointly|collectively|fully)"
)
_DET = r"(?:(?:the|our|its|a|an|both|own) ){0,2}"
_NOUN = r"(?: (?:micro)?services?| APIs?| databases?| clusters?| backends?| instances?)?"
_AFTER = rf"{LINK}?(?: ?\([^()]{{0,80}}\))?"
_ITEM = re.compile(rf" ?(?:on |upon |both )?(?:(?:the|our|its|both|own) ){{0,2}}(?P<name>{SERVICE}){_NOUN}{_AFTER}")
_TEAMS = re.compile(rf" ?{_DET}(?P<name>{_OWNER}){_AFTER}")
_ARTICLE = re.compile(r"\b(?:the|our|its|own)\b")
_SEPARATOR = re.compile(
    r" ?(?:,? (?:and|&|plus|as well as|along with|together with)(?: also| then)?(?: (?:on|upon|to|from|by|with))?(?= )|,| ?/ ?(?=\S))"
)
_PURPOSE = re.compile(
    rf",? (?:for|to|as|in order to|when|where|which|because)\b[^{_ANY[1:-1]};:.?!()]{{1,80}}?(?=,? and |, )"
)
_ASIDE = re.compile(
    r", (?:which|that|owned|run|maintained|operated)\b[^.;:]{1,90}?, (?:and|as well as) (?:on|upon|to|from) "
)
_FOLLOWS = re.compile(
    r"['’\")\]*]{0,3} ?(?:$|[.,;:!)|–—-]|(?:for|to|in|at|on|as|and|but|via|over|through|which|that|where|who|whose|with"
    r"|from|by|because|since|so|while|whereas|every|during|behind|under|both|each|also|directly|only|too|about|whether|mainly|primarily|mostly|heavily|internally|today|now|there)\b)"
)
_CONDITION = re.compile(
    r"[ ,]{0,2}(?:if|unless|until|once|when|whenever|any ?more|any longer|in theory|instead|rather|or|in the past|back then)\b"
)
_VETO = re.compile(
    r"\b(?:if|whether|unless|until|suppos\w+|assum\w+|imagine|before|in case|would|could|might|may|should|used to"
    r"|previously|formerly|historically|originally|no longer|neither|nor|hardly|instead of|rather than|for example"
    r"|e\.g|plans?|planned|propos\w+|will|once|past|ago|why|how|who|does|do|did|let['’]s|myth|think|believe|doubt"
    r"|wrong|false|untrue|example|hypothetical\w*|imagin\w+|old days|in 20\d\d|back then|untrue|like)\b|n['’]t\b",
    re.IGNORECASE,
)
_LEADING = re.compile(
    rf"^ ?(?:(?:when|whenever|while|as|after)\b[^,;]{{1,120}}, |(?:in order )?to [a-z]+(?: (?!that\b)[a-z]+){{0,5}},? (?={SERVICE}|it\b|this\b|the\b))",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[;?!]|: (?![^()]{0,80}\))|\bbut\b|\bwhereas\b|\balthough\b|\bthough\b")
_PRONOUN = (
    r"(?:it|this (?:micro)?service|the (?:micro)?service|this app(?:lication)?|this component|this system|this one)"
)
_MAY_LEAD = re.compile(
    r"(?:^|[,;:(–—>*|-]|\b(?:and|but|because|since|so|as|both|while|whereas|therefore|thus|hence|then|however|moreover"
    r"|today|currently|internally|service|note that|remember that|mind that|aware that|yes|in turn|production|that is why))\W{0,3}(?:the |our )?$",
    re.IGNORECASE,
)
_PREPOSITION = re.compile(
    rf"^ ?(?:for|on|in|at|during|after|on each|with) (?:every|each|all|any|most|the|a|an) [^{_ANY[1:-1]},;:]{{1,60}} $",
    re.IGNORECASE,
)
"""What may stand before "it" without a comma: "for every order it calls"."""
_SUBJECTS = re.compile(
    rf"(?P<list>(?:{_DET}{SERVICE}{_NOUN}{_AFTER}, ){{0,5}}(?:{_DET}{SERVICE}{_NOUN}{_AFTER},? and )?{_DET}{SERVICE}{_NOUN}{_AFTER})(?:,? {_ADV}){{0,3}} ?$",
    re.IGNORECASE,
)
_BY_PRONOUN = re.compile(rf"(?:^|(?<=[\s,;:(–—-])){_PRONOUN}(?: itself)?(?:,? {_ADV}){{0,3}} ?$", re.IGNORECASE)
_RELATIVE = re.compile(rf"(?P<name>{SERVICE}){_NOUN}{_AFTER}(?P<comma>,)? (?:which|that)(?: {_ADV})? ?$")
_BEGINS = re.compile(
    rf"^{_DET}(?:(?P<name>{SERVICE}){_NOUN}{_AFTER}|(?P<pronoun>{_PRONOUN}))(?: {_ADV})?(?P<rest>,? .{{0,400}})$",
    re.IGNORECASE,
)
_FINITE = re.compile(r"^ (?:is|are|has|have|was|runs?|[a-z]{2,14}s|does not|cannot|can)\b")
_IS_ONE_THAT = re.compile(rf"^ (?:is|are) (?:a|an|the|our)\b[^{_ANY[1:-1]},;]{{1,100}} (?:that|which) ?$")
_APPOSITION = re.compile(rf"^, [^{SERVICE[1:-1]};]{{1,100}}, ?$")
_ELLIPSIS = re.compile(rf"(?:,|,? and|,? and it|,? plus|,? or)(?: {_ADV}){{0,2}} ?$")

_NEEDS = re.compile(
    r"(?<![\w-])(?:(?P<strong>(?:has|have) (?:an? |)(?:[a-z]{2,12} ){0,2}dependenc(?:y|ies) (?:on|upon)|(?:is|are) (?:[a-z]{2,12} )?dependent (?:on|upon)"
    r"|depends?(?: [a-z]{2,12}ly)?(?: for [a-z ]{2,30})? (?:on|upon)|rel(?:y|ies)(?: [a-z]{2,12}ly)? (?:on|upon)|counts? on|leans? on|draws? on"
    r"|(?:is|are) (?:an? )?(?:client|consumer)s? of|(?:is|are) (?:backed|powered) by|sits? on top of|(?:is|are) built on(?: top of)?)"
    r"|(?P<call>calls?(?: out to| into| on)?|talks? (?:to|with)|speaks? (?:to|with)|connects? to|quer(?:y|ies)"
    r"|(?:reads?|fetch(?:es)?|gets?|pulls?|loads?)(?: [a-z]{2,14}){0,3} from|(?:writes?|persists?|saves?)(?: [a-z]{2,14}){0,3} to"
    r"|stores?(?: [a-z]{2,14}){0,3} in|sends?(?: [a-z]{2,14}){0,2} (?:requests|queries|calls) to|makes?(?: [a-z]{2,14}){0,2} (?:requests|queries|calls) to"
    r"|(?:must|has to|have to|needs to)(?: be able to)? (?:reach|call|talk to|contact|connect to|query|read from)|consumes?(?: from)?|invokes?|delegates?(?: [a-z]{2,14}){0,2} to|asks)"
    r"|(?P<loose>uses|use|needs?|requires?|makes use of|utili[sz]es?|leverages?))(?=[ :,])",
    re.IGNORECASE,
)
_WITHOUT = re.compile(
    r"(?:cannot|can not|can['’]t|will not|won['’]t|does not|doesn['’]t|is unable to)(?: [a-z]{2,14}){1,4} without (?=\S)",
    re.IGNORECASE,
)
_WITHOUT_FIRST = re.compile(r"^without ", re.IGNORECASE)
_HELPLESS = re.compile(
    rf",? (?:{_DET}(?P<name>{SERVICE})|(?P<pronoun>{_PRONOUN})){_AFTER} (?:cannot|can not|can['’]t|will not|won['’]t|does not|doesn['’]t|fails|stops|is down)\b",
    re.IGNORECASE,
)
_BASE_FORM = re.compile(
    r"^(?:depend|rely|count|lean|draw|call|talk|speak|connect|query|read|fetch|get|pull|load|write|persist|save|store|send|make|consume|invoke|delegate|use|need|require|utili[sz]e|leverage|have|are|sit)\b",
    re.IGNORECASE,
)
_QUANTITY = re.compile(
    r",? ?(?:on )?(?:(?:exactly|only|just|the|these|at least|its|a|couple of|few|following) ){0,3}(?:two|three|four|five|six|several|some|other|following|\d)(?: [a-z-]{2,14}){0,3} ?"
    r"(?P<noun>services|microservices|systems|components|things|others|dependencies|backends|APIs|applications)?(?: [a-z]{2,14}){0,4}(?:[:,]| [–—-])(?: namely| namely:)? ",
    re.IGNORECASE,
)
_PASSIVE = re.compile(
    r" (?:is|are) (?:also |only |mainly |directly |heavily |both |all ){0,2}(?P<verb>used|needed|required|called|queried|consumed|invoked|relied (?:on|upon)|depended (?:on|upon))(?: directly)? by (?=\S)",
    re.IGNORECASE,
)
_ARE_DEPENDENCIES = re.compile(
    r" (?:is|are) (?:both |also )?(?:an? |the |its |)(?:[a-z]{2,12} ){0,2}dependenc(?:y|ies)(?: of|(?= ?[.,;]|$)) ?",
    re.IGNORECASE,
)
_DEPENDENCIES = re.compile(
    rf"(?:^|(?<=[\s,;:(]))(?:(?P<its>its|the service['’]s|this service['’]s|the)|{_DET}(?P<whose>{SERVICE}){_NOUN}(?:['’]s?)?)? ?(?:(?:two|three|four|only|direct|hard|runtime|upstream|main|service|own|critical|key|external|internal) ){{0,3}}"
    rf"(?:dependencies|upstreams|upstream services)(?: (?:of|for) {_DET}(?:(?P<of>{SERVICE}){_NOUN}|(?P<ofit>{_PRONOUN})))? ?(?:are|include|:|=|–|—)",
    re.IGNORECASE,
)
_THINGS = re.compile(
    rf"\b(?:services|systems|components|things|microservices|backends|dependencies|applications) (?:that |which )?(?:{_DET}(?P<name>{SERVICE})|(?P<pronoun>{_PRONOUN})) (?:directly |also )?(?:depends on|relies on|needs|uses|calls|requires|talks to|cannot (?:run|work|live|start) without)(?: [a-z]{{2,14}}){{0,4}} ?(?:are|:|–|—)",
    re.IGNORECASE,
)
_HAS = re.compile(
    r"\b(?:has|there are)(?: [a-z-]{2,14}){0,3} (?:dependencies|upstreams)(?: [a-z]{2,14}){0,2}(?:[:,]| [–—-])(?: namely)? ",
    re.IGNORECASE,
)

_OWNED = re.compile(
    r"(?<![\w-])(?:is |are |['’]s )?(?:(?:currently|jointly|fully|now|also|primarily|developed|built|written|designed|designed|operated|run|owned|maintained|supported|and|,) ){0,4}"
    r"(?P<verb>owned|maintained|run|operated|managed|supported|looked after|taken care of|developed|staffed|kept running|kept alive|cared for|tended|stewarded) by (?=\S)",
    re.IGNORECASE,
)
_BELONGS = re.compile(
    r"(?<![\w-])(?:belongs? to|(?:is|are) the (?:sole )?responsibility of|(?:is|are) under the (?:care|ownership|responsibility) of|(?:is|are) in the (?:care|hands) of|(?:has|have) as (?:its |their )?owners?|lives with|sits with|rests with|falls (?:under|to)) (?=\S)",
    re.IGNORECASE,
)
_OWNS = re.compile(
    rf"(?P<team>{TEAM})(?: ?\([^()]{{0,80}}\))?(?P<who>,? (?:who|which|that))? (?:(?:currently|also|now|jointly) ){{0,2}}(?:(?:owns?|maintains?|runs?|operates?|manages?|looks? after|takes? care of|supports?|stewards?)(?: and (?:owns?|maintains?|runs?|operates?|manages?|looks? after|supports?))?|(?:is|are) (?:responsible|accountable|on[- ]call) for|(?:is|are) (?:the )?owners? of|carr(?:y|ies) the pager for|(?:has|have|holds?) (?:the )?(?:ownership|pager) (?:of|for))(?P<end> )",
    re.IGNORECASE,
)
_OWNER_OF = re.compile(
    rf"(?:^|(?<=[\s,;:(]))(?:(?P<its>its|the service['’]s|this service['’]s)|{_DET}(?P<whose>{SERVICE}){_NOUN}['’]s?)? ?(?:the )?(?:(?:service|current|sole|primary|responsible|code|owning) ){{0,2}}(?:owners?|owning team|team|ownership|maintainers?|responsibility)(?: (?:of|for) (?:{_DET}(?P<of>{SERVICE}){_NOUN}|(?P<ofit>{_PRONOUN})))? (?:is|are|lies with|sits with|rests with|is with|belongs to|falls to)(?: with)? (?=\S)",
    re.IGNORECASE,
)
_TURNED = (
    re.compile(
        rf"(?P<name>{SERVICE}){_NOUN} (?:is|are) (?:an? |one of )?(?:the |our )?(?P<team>{TEAM})(?:['’]s?)? (?:micro)?(?:services?|responsibility|job|property)\b"
    ),
    re.compile(
        rf"(?:^|(?<=, )|(?<=and ))(?P<pronoun>{_PRONOUN}) (?:is|are) (?:an? |one of )?(?:the |our )?(?P<team>{TEAM})(?:['’]s?)? (?:micro)?(?:services?|responsibility|job|property)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:team|people|squad|group) (?:that|which|who) (?:currently )?(?:owns?|runs?|maintains?|operates?|looks? after) {_DET}(?:(?P<name>{SERVICE}){_NOUN}|(?P<pronoun>{_PRONOUN})) (?:is|are) (?:the )?(?P<team>{TEAM})",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<name>{SERVICE}){_NOUN},? (?:which|that) (?:the )?(?P<team>{TEAM}) (?:currently )?(?:owns?|runs?|maintains?|operates?|looks? after)\b"
    ),
    re.compile(
        rf"^(?:(?:the )?(?:team|people) )?(?:responsible|accountable|on call) for {_DET}(?:(?P<name>{SERVICE}){_NOUN}|(?P<pronoun>{_PRONOUN})) (?:is|are) (?:the )?(?P<team>{TEAM})",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?P<name>{SERVICE}){_NOUN} \((?:owner|team|owning team)s?:? (?:the )?(?P<team>{TEAM})\)", re.IGNORECASE
    ),
)
"""The same said the other way round: "X is a T team service", "the team that owns X is T"."""
_RUNBOOK_WORD = r"(?:run-?books?|run books?|playbooks?)"
_RUNBOOK = re.compile(
    rf"(?:(?P<whose>{SERVICE}){_NOUN}(?:['’]s?)? |(?P<its>\b(?:its|the service['’]s|this service['’]s) ))?(?:(?:own|on-call|main|full|operational|service|current|team['’]s) ){{0,2}}\b(?P<word>{_RUNBOOK_WORD})\b(?: (?:page|document|file|doc))?(?P<direct>{LINK})?(?: (?:for|of|to) (?:{_DET}(?P<of>{SERVICE})(?:{_NOUN})|(?P<ofit>{_PRONOUN})))?",
    re.IGNORECASE,
)
_TO_LINK = re.compile(rf"(?P<between>[^{_ANY[1:-1]};?!]{{0,90}}?)(?P<link>{LINK})")
_IS_AT = re.compile(
    r" ?(?:$|[:,(\[–—-]|(?:is|are|lives?|can|at|in|on|under|here|found|kept|located|sits?|stays|resides|available|published|stored"
    r"|page|document|location|url|link|address|behind|which|may|will|you|we|see)\b)(?![^.!?]*[.!?] )",
    re.IGNORECASE,
)
"""What can stand between the word "runbook" and the link to it."""
_BEFORE_NAMED = re.compile(
    r"(?:^|[\[(:;>*|“\"]|\b(?:the|our|see|read|follow|check|use|using|via|at|in|to|consult|find|this|full|is|are|with|and its|has|have|keeps|you|on-call|when [^,]{1,60},|and|open)) ?\W?$",
    re.IGNORECASE,
)
_BEFORE_ANY = re.compile(
    r"^(?:[A-Za-z][\w-]{0,20} ){0,4}(?:follow|see|read|use|consult|open) (?:the|our|this)$|^(?:(?:see|read|follow|use|open|consult|check|find|here is|here['’]s|here|please|also|start with|go to|and|the|its|our|this|full|complete|service|on-call"
    r"|you (?:will |can )?find|when [^,;]{1,60},|if [^,;]{1,60},)[ :]*){0,6}$",
    re.IGNORECASE,
)
_NO_RUNBOOK = re.compile(
    r"\b(?:no|not|never|old|older|outdated|deprecated|template|example|former|another|different|other|instead|similar|if|general|generic|create|write|add|new|tool|repository|repo|edit|update|video|simulation)\b",
    re.IGNORECASE,
)
_WISHED = re.compile(
    r"\b(?:would|could|might|may|should|previously|formerly|used to|was|were|whether|why)\b", re.IGNORECASE
)
_IS_RUNBOOK = re.compile(
    rf"(?:^|[,;] )(?:see|read|open|use|consult|go to|look at) (?P<link3>{LINK}) for (?P<its3>the|its|our)(?: full| on-call)? {_RUNBOOK_WORD}(?: (?:for|of) {_DET}(?P<name>{SERVICE}))?|(?P<link>{LINK}) (?:is|holds|contains|has|keeps|carries) (?:(?P<its>its|the|our) ){_RUNBOOK_WORD}(?: (?:for|of) {_DET}(?:(?P<of>{SERVICE})|{_PRONOUN}))?|(?P<link2>{LINK}) (?:is|holds|contains|has) (?P<whose>{SERVICE})['’]s? {_RUNBOOK_WORD}",
    re.IGNORECASE,
)
_TELLING = frozenset(
    """accountable ask asks backed belong belongs built call calls called care client clients connect connects consume
    consumed consumer consumers consumes count counts crew delegate delegates depend depended dependencies dependency
    dependent depends developed draw draws falls fetch fetches get gets guild hands invoke invoked invokes kept lean leans
    leverage leverages lies lives load loads look looked looks maintain maintained maintainer maintainers maintains make
    makes manage managed manages microservice microservices need needed needs operate operated operates own owned owner
    owners ownership owning owns pager persist persists playbook playbooks powered pull pulls queried queries query read
    reads relied relies rely require required requires responsibility responsible rests run runbook runbooks runs save
    saves send sends services service sits speak speaks squad staffed stewarded stewards store stores support supported
    supports takes taken talk talks team tended tribe upstream upstreams use used uses utilises utilizes without write
    writes chapter reach things systems components""".split()
)
_WORDS = re.compile(r"[a-z]+")


def may_tell(sentence: str) -> bool:
    """Whether a sentence has a word that a relation is told with. Most have none, and are not looked at closely."""
    return not _TELLING.isdisjoint(_WORDS.findall(sentence.lower()))


class Reader:
    """Reads the sentences of a page, one after another. `mentions`: what each sign stands for."""

    def __init__(self, mentions: dict[str, Mention], talk: Talk, *, open_world: bool) -> None:
        self._mentions = mentions
        self._talk = talk
        self._open = open_world

    def read(self, sentence: str) -> list[Said]:
        """What a sentence says; nothing for a question."""
        text = sentence.strip()
        if not text or text.endswith("?") or len(text) > 1_000:
            self._talk.pending = None
            return []
        self._talk.pending = None
        if not _SIGN.search(text) and not text.endswith(":"):
            return []
        if not may_tell(text):
            self._move_on(text, [])
            return []
        said = [*self._needs(text), *self._owned(text)]
        self._move_on(text, said)
        return [*said, *self._runbooks(text)]

    def items(self, text: str, label: str, trust: Trust) -> list[Mention]:
        """The names that a list or a value begins with, such as "`ledger-db` (entries), `rates`"."""
        if re.match(r"\W{0,4}(?:no|not|none|never|formerly|previously|was|optional)\b", text, re.IGNORECASE):
            return []
        pattern = _TEAMS if label == "owned" else _ITEM
        found, _ = self._list(text, 0, pattern, listed=True)
        return [each for each in found if label == "owned" or self._believed(each, trust, len(found), listed=True)]

    # -- who needs whom

    def _needs(self, text: str) -> Iterator[Said]:
        for match in _NEEDS.finditer(text):
            trust = Trust.STRONG if match["strong"] else Trust.CALL if match["call"] else Trust.LOOSE
            subjects = self._subjects(text, match.start(), finite=not _BASE_FORM.match(match.group()))
            if subjects:
                yield from self._need(subjects, text, match.end(), trust)
        for match in _WITHOUT.finditer(text):
            subjects = self._subjects(text, match.start(), finite=True)
            yield from self._need(
                subjects, text[: match.end()] + text[match.end() :].replace(" or ", " and "), match.end(), Trust.STRONG
            )
        yield from self._needs_in_nouns(text)
        yield from self._passive(text)

    def _need(self, subjects: Sequence[Mention], text: str, at: int, trust: Trust) -> Iterator[Said]:
        quantity = _QUANTITY.match(text, at)
        if quantity:
            at, trust = quantity.end(), Trust.STRONG if quantity["noun"] else trust
        if not subjects:
            return
        if re.match(
            r"(?: (?:on|the following|these|two|three|several|other|services|systems|dependencies)){0,4} ?:$",
            text[at:].rstrip(),
        ) or (quantity and at >= len(text)):
            self._talk.pending = ("needs", tuple(subjects), trust)
            return
        objects, end = self._list(text, at, _ITEM)
        if not objects or _CONDITION.match(text, end):
            return
        for target in objects:
            if self._believed(target, trust, len(objects), listed=bool(quantity)):
                for source in subjects:
                    yield Said("needs", source, target, trust)

    def _needs_in_nouns(self, text: str) -> Iterator[Said]:
        for pattern in (_DEPENDENCIES, _THINGS, _HAS):
            for match in pattern.finditer(text):
                if _VETO.search(text, _clause_start(text, match.start()), match.start()):
                    continue
                yield from self._need(self._whose(match, text), text, match.end(), Trust.STRONG)
        if first := _WITHOUT_FIRST.match(text):
            objects, end = self._list(text, first.end(), _ITEM, listed=True)
            then = _HELPLESS.match(text, end)
            for source in self._whose(then, text) if then else ():
                for target in objects:
                    yield Said("needs", source, target)

    def _passive(self, text: str) -> Iterator[Said]:
        for pattern in (_PASSIVE, _ARE_DEPENDENCIES):
            for match in pattern.finditer(text):
                objects = self._subjects(text, match.start(), finite=True)
                loose = pattern is _PASSIVE and match["verb"].lower() in ("used", "needed", "required")
                trust = Trust.LOOSE if loose else Trust.STRONG
                if pattern is _ARE_DEPENDENCIES and not match.group().rstrip().endswith("of"):
                    subjects, end = ([self._about()] if " its " in match.group() and self._about() else []), match.end()
                else:
                    subjects, end = self._list(text, match.end(), _ITEM)
                    if not subjects and (it := re.compile(_PRONOUN, re.IGNORECASE).match(text, match.end())):
                        subjects, end = [self._about()], it.end()
                if _CONDITION.match(text, end):
                    continue
                for source in subjects:
                    for target in objects:
                        if (
                            source is not None
                            and self._believed(source, trust, len(subjects))
                            and self._believed(target, trust, len(objects))
                        ):
                            yield Said("needs", source, target, trust)

    # -- whose it is

    def _owned(self, text: str) -> Iterator[Said]:
        for pattern in (_OWNED, _BELONGS):
            for match in pattern.finditer(text):
                plain = pattern is _OWNED and match["verb"].lower() == "owned"
                teams = self._teams(text, match.end(), plain=plain)
                for source in self._owned_thing(text, match, pattern) if teams else ():
                    yield from (Said("owned", source, team) for team in teams)
        for match in _OWNER_OF.finditer(text):
            if not _VETO.search(text, _clause_start(text, match.start()), match.start()):
                teams = self._teams(text, match.end(), plain=True)
                for source in self._whose(match, text) if teams else ():
                    yield from (Said("owned", source, team) for team in teams)
        yield from self._owns(text)
        for pattern in _TURNED:
            for match in pattern.finditer(text):
                if not _VETO.search(text, _clause_start(text, match.start()), match.start()):
                    yield from (Said("owned", each, self._mentions[match["team"]]) for each in self._whose(match, text))

    def _owns(self, text: str) -> Iterator[Said]:
        for match in _OWNS.finditer(text):
            before = text[_clause_start(text, match.start()) : match.start()]
            if not match["who"] and (_VETO.search(before) or not _MAY_LEAD.search(before)):
                continue
            things, end = self._list(text, match.end() - 1, _ITEM)
            if (
                not things
                and (it := re.compile(_PRONOUN, re.IGNORECASE).match(text, match.end()))
                and _FOLLOWS.match(text, it.end())
            ):
                about = self._about()
                things, end = ([about] if about else []), it.end()
            if not _CONDITION.match(text, end):
                team = self._mentions[match["team"]]
                yield from (Said("owned", thing, team) for thing in things if _ownable(thing))

    def _owned_thing(self, text: str, match: re.Match[str], pattern: re.Pattern[str]) -> Sequence[Mention]:
        """What is owned. "X, owned by T, ..." and "Owned by T, X ..." too."""
        start = match.start()
        before = text[:start].rstrip(" ,(:–-")
        if not before and pattern is _OWNED:
            following = re.compile(rf"[^,;]{{0,60}}, {_DET}(?P<name>{SERVICE}){_NOUN}{_AFTER} [a-z]").match(
                text, match.end()
            )
            return [self._mentions[following["name"]]] if following else self._default()
        touching = re.search(rf"{_DET}(?P<name>{SERVICE}){_NOUN}{_AFTER}$", before)
        if (
            touching
            and text[len(before) : start].strip() in (",", "(", ":", "-", "–")
            and not match.group().startswith(("is", "are"))
        ):
            return [self._mentions[touching["name"]]] if not _VETO.search(before) else []
        if touching and not match.group().strip().lower().startswith(("is", "are", "'s", "’s", "belongs", "has")):
            return []
        return [each for each in self._subjects(text, start, finite=True) if _ownable(each)]

    def _teams(self, text: str, at: int, *, plain: bool) -> list[Mention]:
        found, end = self._list(text, at, _TEAMS)
        if _CONDITION.match(text, end):
            return []
        told = [each for each in found if each.kind in (Kind.TEAM, Kind.EITHER, Kind.NEW_TEAM)]
        return told if told or not plain else [each for each in found if not each.refs]

    # -- where its runbook is

    def _runbooks(self, text: str) -> Iterator[Said]:
        for match in _RUNBOOK.finditer(text):
            yield from self._runbook(text, match)
        for match in _IS_RUNBOOK.finditer(text):
            if not _VETO.search(text[: match.start()]):
                for source in self._whose(match, text):
                    yield Said("runbook", source, self._mentions[match["link"] or match["link2"] or match["link3"]])

    def _runbook(self, text: str, match: re.Match[str]) -> Iterator[Said]:
        clause = text[_clause_start(text, match.start()) : match.start()].strip()
        link = match["direct"]
        between = ""
        if not link:
            lead = _TO_LINK.match(text, match.end())
            if not lead:
                return
            link, between = lead["link"], lead["between"]
        if any(pattern.search(part) for pattern in (_NO_RUNBOOK, _WISHED) for part in (clause, between)):
            return
        named = match["whose"] or match["of"] or match["its"] or match["ofit"]
        if not _IS_AT.match(between) or not (_BEFORE_NAMED if named else _BEFORE_ANY).search(clause):
            return
        if not named and (match["word"].lower().endswith("s") or len(between.split()) > 8):
            return
        for source in self._whose(match, text):
            yield Said("runbook", source, self._mentions[link])

    # -- of whom it is said

    def _whose(self, match: re.Match[str] | None, text: str) -> Sequence[Mention]:
        groups = match.groupdict() if match else {}
        sign = next((groups[key] for key in ("whose", "of", "name") if groups.get(key)), None)
        if sign:
            return [self._mentions[sign]]
        if groups.get("its") or groups.get("pronoun") or groups.get("ofit"):
            about = self._about()
            if begins := (_BEGINS.match(text) if match and match.start() > 3 else None):
                about = self._mentions[begins["name"]] if begins["name"] and _FINITE.match(begins["rest"]) else about
            return [about] if about else []
        return self._default()

    def _about(self) -> Mention | None:
        return self._talk.last or self._talk.subject

    def _default(self) -> Sequence[Mention]:
        """Whom a line without a subject speaks of: what the page or section is about, else what was last named."""
        about = self._talk.subject or self._talk.last
        return [about] if about else []

    def _subjects(self, text: str, verb: int, *, finite: bool) -> Sequence[Mention]:
        """The services that a verb's subject names: right before it, by a pronoun, or at the clause's beginning."""
        start = _clause_start(text, verb)
        left = _LEADING.sub("", text[start:verb], count=1)
        if _VETO.search(left):
            return []
        direct = _SUBJECTS.search(left)
        if direct:
            return self._direct(left, direct, finite=finite)
        if not finite:
            return []
        if by := _BY_PRONOUN.search(left):
            lead = left[: by.start()]
            leads = _MAY_LEAD.search(lead) or _PREPOSITION.search(lead)
            return self._pronoun(by.group(), text[:start] + lead) if leads else []
        if relative := _RELATIVE.search(left):
            before = left[: relative.start()]
            if relative["comma"] or not before.strip() or _MAY_LEAD.search(before):
                return [self._mentions[relative["name"]]]
        return self._from_beginning(text, start, left)

    def _direct(self, left: str, direct: re.Match[str], *, finite: bool) -> Sequence[Mention]:
        names = re.findall(SERVICE, re.sub(r"\([^()]*\)", "", direct["list"]))
        if not _MAY_LEAD.search(left[: direct.start()]) or (not finite and len(names) < 2):
            return []
        return [self._mentions[name] for name in names]

    def _pronoun(self, pronoun: str, before: str) -> Sequence[Mention]:
        """ "It" is what the sentence began with, else what was last spoken of; "this service" rather the page's."""
        begins = _BEGINS.match(before)
        if begins and begins["name"]:
            return [self._mentions[begins["name"]]]
        named = re.findall(_SURE, before)
        if len(named) == 1:
            return [self._mentions[named[0]]]
        if pronoun.lower().startswith("it") and not named:
            about = self._about()
            return [about] if about else []
        return self._default() if not named else []

    def _from_beginning(self, text: str, start: int, left: str) -> Sequence[Mention]:
        """For "X is owned by T and depends on", "X, our billing engine, depends on", and a line that starts with
        its verb."""
        if not text[: start + len(left)].strip(" -*:"):
            return self._default()
        whole = text[:start] + left if start and not _CLAUSE.search(text[start - 1 : start]) else left
        begins = _BEGINS.match(whole)
        if not begins:
            owner = re.match(
                rf"^{_DET}{TEAM} [a-z ]{{2,40}} {_DET}(?P<name>{SERVICE}){_NOUN}{_AFTER},? which(?: {_ADV})? ?$",
                whole,
                re.IGNORECASE,
            )
            return [self._mentions[owner["name"]]] if owner else []
        rest = begins["rest"]
        plain = _FINITE.match(rest) and (_ELLIPSIS.search(rest) or _IS_ONE_THAT.match(rest))
        if not (plain or (begins["name"] and _APPOSITION.match(rest))):
            return []
        if begins["name"]:
            return [self._mentions[begins["name"]]]
        about = self._about()
        return [about] if about else []

    def _list(self, text: str, at: int, pattern: re.Pattern[str], *, listed: bool = False) -> tuple[list[Mention], int]:
        """The names from `at` on, joined by commas and "and", and where they end. The last has to be followed by
        something that can follow a name: in "`ledger` schema" it is the schema that is meant."""
        found: list[tuple[Mention, int]] = []
        ending = False
        while len(found) < 12 and (item := pattern.match(text, at)):
            mention = self._mentions[item["name"]]
            if (
                mention.kind is Kind.WORD
                and _ARTICLE.search(text, at, item.start("name"))
                and not self._is_subject(mention)
            ):
                break
            found.append((mention, item.end()))
            at = item.end()
            purpose = _PURPOSE.match(text, at)
            joint = _ASIDE.match(text, at) or _SEPARATOR.match(text, purpose.end() if purpose else at)
            if not joint or (ending and joint.group().strip() == ","):
                break
            ending = ending or joint.group().strip() not in (",", "/")
            at = joint.end()
        while (
            found and not _FOLLOWS.match(text, found[-1][1]) and not (listed and _CONDITION.match(text, found[-1][1]))
        ):
            found.pop()
        return [mention for mention, _ in found], (found[-1][1] if found else at)

    def _believed(self, mention: Mention, trust: Trust, count: int, *, listed: bool = False) -> bool:
        """Whether a name that stands where a service should is one. The less it looks like one, the more the verb has
        to say; and where a catalogue names the services, what it lacks has to look like one all the more."""
        if trust is Trust.STRONG or mention.kind in (Kind.SERVICE, Kind.EITHER):
            return True
        if mention.kind is Kind.NEW:
            return self._open or trust is Trust.CALL or bool(mention.also) or has_role(mention.name)
        if mention.kind is Kind.WORD:
            return not mention.refs and trust is Trust.CALL
        return self._open and (trust is Trust.CALL or count > 1 or listed)

    def _is_subject(self, mention: Mention) -> bool:
        subject = self._talk.subject
        return bool(subject and subject.refs and subject.refs == mention.refs)

    def _move_on(self, text: str, said: Sequence[Said]) -> None:
        """Whom the next "it" means: whom this sentence spoke of, else the only service that it named."""
        sources = {id(each.source): each.source for each in said}
        if len(sources) == 1:
            self._talk.last = next(iter(sources.values()))
            return
        named = re.findall(_SURE, text)
        begins = _BEGINS.match(text)
        if len(named) == 1 or (begins and begins["name"]):
            self._talk.last = self._mentions[begins["name"] if begins and begins["name"] else named[0]]
        elif named:
            self._talk.last = None


def _clause_start(text: str, at: int) -> int:
    last = 0
    for match in _CLAUSE.finditer(text, 0, at):
        last = match.end()
    return last


def _ownable(mention: Mention) -> bool:
    return mention.kind is not Kind.OTHER
