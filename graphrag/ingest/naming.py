"""Finds what a text names, and puts a sign in the place of each name, so that phrases can be read without them.

A sign is one character of Unicode's private use area; its place there tells what kind of name it stands for, so a
pattern such as "a service, then `depends on`, then a service" is an ordinary regular expression over signs and words.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass, field, replace
from enum import Enum

from graphrag.ingest.vocabulary import Match, Vocabulary
from graphrag.model import Label, Ref


class Kind(Enum):
    """What a sign stands for. The value is its place among the signs."""

    SERVICE = 0  # known, and plainly meant
    WORD = 1  # known as a service, but written like any word
    EITHER = 2  # known as a service and as a team
    NEW = 3  # unknown, written so that it can only be a service: "the ledger service", `ledger-db`
    CODE = 4  # unknown, one word in code marks: `ledger`
    JOINED = 5  # unknown, words joined without any mark: ledger-writer
    TEAM = 6
    NEW_TEAM = 7
    LINK = 8
    PERSON = 9
    OTHER = 10  # known as something else; or code that names nothing


_FIRST = 0xE000
_EACH = 580
_PRIVATE = re.compile("[\ue000-\uf8ff]")


def signs(*kinds: Kind) -> str:
    """A class of a regular expression: the signs of these kinds."""
    return (
        "["
        + "".join(f"{chr(_FIRST + kind.value * _EACH)}-{chr(_FIRST + (kind.value + 1) * _EACH - 1)}" for kind in kinds)
        + "]"
    )


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a text. `name` is as written and `refs` are what is known by it; `target` is where a link leads, and
    `also` are other spellings that the text itself gives."""

    kind: Kind
    name: str
    refs: tuple[Ref, ...] = ()
    target: str = ""
    also: tuple[str, ...] = ()

    def ref(self, label: Label) -> Ref | None:
        return next((ref for ref in self.refs if ref.label is label), None)


@dataclass(slots=True)
class Signs:
    """The signs given out in one passage, each for one mention."""

    mentions: dict[str, Mention] = field(default_factory=dict[str, Mention])
    _count: dict[Kind, int] = field(default_factory=dict[Kind, int])

    def of(self, mention: Mention) -> str:
        """A new sign; nothing once there are too many of a kind to tell them apart."""
        count = self._count.get(mention.kind, 0)
        if count == _EACH:
            return " "
        self._count[mention.kind] = count + 1
        sign = chr(_FIRST + mention.kind.value * _EACH + count)
        self.mentions[sign] = mention
        return sign


_MARKED = re.compile(
    r"(?P<code>`{1,2})(?P<inner>[^`\n]{1,300})(?P=code)(?!`)"
    r"|(?P<image>!\[[^\[\]\n]{0,300}\]\([^()\s]{0,2000}\))"
    r"|\[(?P<text>[^\[\]\n]{1,300})\]\((?P<url>[^()\s]{1,2000})(?:\s\"[^\"\n]{0,200}\")?\)"
    r"|\[\[(?P<page>[^\[\]|\n]{1,200})(?:\|(?P<shown>[^\[\]|\n]{1,200}))?\]\]"
    r"|<?(?P<address>\bhttps?://[^\s<>\"'`|\]\[(){}\ue000-\uf8ff]{1,2000})>?"
    r"|<?(?P<mail>(?<![\w.+/:-])[A-Za-z0-9][\w.+-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b)(?![\w@:/-])>?"
    r"|(?P<path>(?<![\w./-])(?:\.{0,2}/)?[\w.-]{1,100}(?:/[\w.-]{1,100}){0,12}\.(?:md|markdown|html?|adoc|rst)\b)"
    r"|(?P<tag></?[A-Za-z][^<>\n]{0,300}>)"
    r"|(?P<bold>\*{1,3}|(?<!\w)_{1,2}(?=\w)|(?<=[\w.`)])_{1,2}(?!\w))"
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,40}(?:-[A-Za-z0-9]{1,40}){0,6}\Z")
_PATH = re.compile(r"(?:\.{0,2}/)?[\w.-]{1,100}(?:/[\w.-]{1,100}){0,12}/?\Z")
_PAGE_END = re.compile(r"\.(?:md|markdown|html?|adoc|rst)\Z", re.IGNORECASE)
_FILE_END = re.compile(r"\.[a-z]{1,5}\Z")
_SERVICE_NOUN = re.compile(r"\s(?:(?:micro)?services?|daemon|application|app|component)\b(?!-)", re.IGNORECASE)
TEAM_NOUN = r"(?:[Tt]eam|[Ss]quad|[Tt]ribe|[Cc]rew|[Gg]uild|[Cc]hapter)"
_TEAM_NOUN = re.compile(rf"\s{TEAM_NOUN}\b(?!-)")
_BEFORE = re.compile(r"\b(?:the|our|this|its|service|app|application)\s\Z", re.IGNORECASE)
_OWNED_BY = re.compile(
    r"\b(?:owned|maintained|operated|supported|looked after) by (?:the |our )?\Z|\bbelongs to (?:the |our )?\Z"
)
_OWNS = re.compile(r"\s(?:owns|maintains|operates|looks after|takes care of|is responsible for)\s")
_CAPITAL_AFTER = re.compile(r"[\s-][A-Z]")
_CAPITAL_BEFORE = re.compile(r"(?:\b[A-Z][\w-]{0,40}|[.!?:>|*#]|\A)[\s\"'(]{0,3}\Z")
_LOOK = 60
"""Characters before a name that tell how it is meant."""
ROLES = frozenset(
    "api app auth backend bff bot broker bus cache cluster consumer controller cron daemon database db engine"
    " exporter"
    " frontend gateway hub indexer ingest ingester job jobs kv lb manager operator processor producer proxy publisher"
    " queue registry relay router runner scheduler searcher server service services store storage svc sync ui web"
    " webhook webhooks worker workers writer reader".split()
)
"""What the last word of a service's name often says that it does."""
_CAMEL = re.compile(r"[A-Z][a-z0-9]+(?:[A-Z]+[a-z0-9]*){1,6}\Z")


class Names:
    """Puts signs into the texts of one page."""

    def __init__(self, vocabulary: Vocabulary, page: Ref) -> None:
        self.vocabulary = vocabulary
        self.page = page
        self.open = Label.SERVICE not in vocabulary.labels
        """No catalogue names the services. Where one does, a name that it lacks has to say itself that it is one."""

    def sign(self, text: str, given: Signs) -> str:
        """The text with a sign for each link, code, address and known name, and without emphasis."""
        return self._known(self._marked(_PRIVATE.sub("", text), given), given)

    def in_code(self, line: str, given: Signs) -> None:
        """Takes the known names out of a line of code, where they are not written like any word."""
        for match in self.vocabulary.find(line[:1_000]):
            if not match.ordinary:
                given.of(Mention(_kind_of(match.refs), line[match.start : match.end], match.refs))

    def _marked(self, text: str, given: Signs) -> str:
        if not _MAYBE_MARKED.search(text):
            return text
        return _MARKED.sub(lambda match: self._mark(match, given), text)

    def _mark(self, match: re.Match[str], given: Signs) -> str:  # one case for each alternative
        found = match.lastgroup
        groups = match.groupdict()
        if groups["inner"]:
            return self._code(groups["inner"].strip(), given)
        if groups["text"]:
            return self._link(groups["text"], groups["url"], given)
        if groups["page"]:
            return self._link(groups["shown"] or groups["page"], groups["page"], given)
        if groups["address"]:
            address = groups["address"].rstrip(".,;:!?*_")
            tail = groups["address"][len(address) :]
            return given.of(Mention(Kind.LINK, address, self._page(address), address)) + tail
        if groups["mail"]:
            return given.of(Mention(Kind.PERSON, groups["mail"]))
        if groups["path"]:
            return given.of(Mention(Kind.LINK, groups["path"], self._page(groups["path"]), groups["path"]))
        return "" if found == "bold" else " "

    def _code(self, text: str, given: Signs) -> str:
        refs = self.vocabulary.named(text)
        if refs:
            return given.of(Mention(_kind_of(refs), text, refs))
        if "://" in text or _PAGE_END.search(text) or ("/" in text and "runbook" in text.lower()):
            link = text if "://" in text or _PATH.match(text) else ""
            if link and len(link) <= 400 and " " not in link:
                return given.of(Mention(Kind.LINK, link, self._page(link), link))
        self.in_code(text, given)
        return given.of(Mention(kind_of_code(text), text))

    def _link(self, shown: str, target: str, given: Signs) -> str:
        """What a link shows, with the link's own sign behind it."""
        if target.startswith("mailto:"):
            return given.of(Mention(Kind.PERSON, target[len("mailto:") :].partition("?")[0], also=(shown,)))
        inner = shown.strip().strip("`*_")
        if inner == shown.strip() and ("`" in inner or " " in inner or not _NAME.match(inner)):
            inner = self._marked(shown, given) if "](" not in shown and "[[" not in shown and "://" not in shown else ""
        elif (inner != shown.strip() and "`" in shown) or self._names_something(inner):
            inner = self._code(inner, given)
        link = target.partition("#")[0]
        if not link or len(link) > 400:
            return inner
        return inner + given.of(Mention(Kind.LINK, " ".join(shown.split()), self._page(target), target))

    def _names_something(self, text: str) -> bool:
        return bool(self.vocabulary.named(text)) or kind_of_code(text) is Kind.NEW

    def _page(self, link: str) -> tuple[Ref, ...]:
        """The page of ours that a link means: seen from this page first, then by the end of its path."""
        bare = link.partition("#")[0]
        if "://" not in bare:
            near = posixpath.normpath(posixpath.join(posixpath.dirname(self.page.name), bare)).lstrip("/")
            if near == self.page.name or bare.lstrip("./") == self.page.name:
                return (self.page,)
            refs = self.vocabulary.page_of(near) if not near.startswith("..") else None
            if refs is not None:
                return (refs,)
        ref = self.vocabulary.page_of(bare)
        return (ref,) if ref is not None else self.vocabulary.named(bare) if len(bare) <= 200 else ()

    def _known(self, text: str, given: Signs) -> str:
        parts: list[str] = []
        done = 0
        for match in self.vocabulary.find(text):
            mention, end = _read(text, match)
            if mention is not None:
                parts += (text[done : match.start], given.of(mention))
                done = end
        return "".join((*parts, text[done:]))


_MAYBE_MARKED = re.compile(r"[`\[*_@<]|://|\.(?:md|html?|markdown|adoc|rst)\b")


def kind_of_code(text: str) -> Kind:
    """What unknown code may name: words joined by hyphens or PaymentsAPI a service, one lower-case word perhaps."""
    if not _NAME.match(text) or len(text) < 3 or text.isupper():
        return Kind.OTHER
    if "-" in text:
        return Kind.NEW if text == text.lower() else Kind.OTHER
    if _CAMEL.match(text):
        return Kind.NEW if has_role(text) else Kind.OTHER
    return Kind.CODE if text == text.lower() else Kind.OTHER


def has_role(name: str) -> bool:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+", name)
    return len(words) > 1 and words[-1].lower() in ROLES


def _kind_of(refs: tuple[Ref, ...]) -> Kind:
    labels = {ref.label for ref in refs}
    if Label.SERVICE in labels:
        return Kind.EITHER if Label.TEAM in labels else Kind.SERVICE
    return Kind.TEAM if Label.TEAM in labels else Kind.OTHER


def _read(text: str, match: Match) -> tuple[Mention | None, int]:
    """What a known name means where it stands, and where it ends with the noun behind it. None for a word that is
    no more than a word."""
    end, spelt = match.end, text[match.start : match.end]
    kind = _kind_of(match.refs)
    if team := _TEAM_NOUN.match(text, end):
        if Label.TEAM not in {ref.label for ref in match.refs}:
            return (
                (None, end) if match.ordinary else (Mention(Kind.NEW_TEAM, spelt, also=(f"{spelt} team",)), team.end())
            )
        return Mention(Kind.TEAM, spelt, match.refs), team.end()
    noun = _SERVICE_NOUN.match(text, end) if kind in (Kind.SERVICE, Kind.EITHER) else None
    mention = Mention(kind, spelt, match.refs)
    if noun and (
        not match.ordinary or spelt[0].isupper() or _BEFORE.search(text, max(match.start - _LOOK, 0), match.start)
    ):
        services = tuple(ref for ref in match.refs if ref.label is Label.SERVICE)
        return Mention(Kind.SERVICE, spelt, services), noun.end()
    if not match.ordinary or _proper(text, match) or _owns(text, match, kind):
        return mention, end
    return (replace(mention, kind=Kind.WORD), end) if kind is Kind.SERVICE or kind is Kind.EITHER else (None, end)


def _owns(text: str, match: Match, kind: Kind) -> bool:
    """Whether a word stands where only an owner can."""
    return kind in (Kind.TEAM, Kind.EITHER) and bool(
        _OWNED_BY.search(text, max(match.start - _LOOK, 0), match.start) or _OWNS.match(text, match.end)
    )


def _proper(text: str, match: Match) -> bool:
    """Whether a word has a capital that only a name has: not at the beginning, and not next to another capital."""
    spelt = text[match.start : match.end]
    if not spelt[0].isupper() or (spelt.isupper() and len(spelt) > 1):
        return False
    before = text[max(match.start - _LOOK, 0) : match.start]
    return not _CAPITAL_BEFORE.search(before) and not _CAPITAL_AFTER.match(text, match.end)
