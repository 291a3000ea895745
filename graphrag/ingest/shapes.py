"""Names that nobody knows yet, told by how a sentence writes them: "the ledger service", ledger-db, "the Payments team"."""

from __future__ import annotations

import re

from graphrag.identity import name_key
from graphrag.ingest.naming import ROLES, TEAM_NOUN, Kind, Mention, Signs, has_role, signs

_W = r"[A-Za-z][\w-]{0,40}"
_ANY_SERVICE = signs(Kind.SERVICE, Kind.WORD, Kind.EITHER, Kind.NEW, Kind.CODE)
_ONE = rf"(?:{_ANY_SERVICE}|\b{_W})"
_TEAM = re.compile(
    rf"\b(?:(?P<caps>(?:[A-Z][\w&-]{{0,40}} (?:(?:and|&) )?){{1,4}})"
    rf"|(?P<det>[Tt]he |[Oo]ur )(?P<low>(?:[a-z][\w-]{{1,40}} ){{1,3}})|(?P<sign>{signs(Kind.CODE, Kind.NEW, Kind.OTHER)}) )(?P<noun>{TEAM_NOUN})\b(?!-)"
)
_TEAM_FIRST = re.compile(
    rf"\b(?:the )?[Tt]eam(?P<is> is|:)? (?:(?P<caps>[A-Z][\w-]{{1,40}}(?: [A-Z][\w-]{{1,40}}){{0,2}})|(?P<low>[a-z][a-z0-9]{{1,40}}(?:-[a-z0-9]{{1,40}}){{1,4}})|(?P<sign>{signs(Kind.CODE, Kind.NEW)}))"
)
_TEAM_JOINED = re.compile(
    r"(?<![\w/.@-])(?:team-[a-z0-9]{2,40}(?:-[a-z0-9]{1,40}){0,4}|[a-z0-9]{2,40}(?:-[a-z0-9]{1,40}){0,4}-(?:team|squad))(?![\w/-])"
)
_HANDLE = re.compile(
    r"(?<![\w.@/])@(?P<name>[a-z0-9][\w-]{0,40}/[a-z0-9][\w-]{0,60}(?:/[\w-]{1,60}){0,3})\b", re.IGNORECASE
)
_SERVICES = re.compile(
    rf"(?P<det>\b(?:[Tt]he|[Oo]ur|[Bb]oth|[Oo]n|[Tt]o) )(?P<list>{_ONE}(?:, (?:the )?{_ONE}){{0,5}},? and (?:the )?{_ONE}) (?:micro)?services\b"
)
_SERVICE = re.compile(
    rf"\b(?P<det>(?:[Tt]he|[Oo]ur) )?(?:(?P<caps>(?:[A-Z][\w]{{0,40}} ){{1,3}})|(?P<low>(?:[a-z][a-z0-9]{{1,40}} ){{0,1}}[a-z][a-z0-9-]{{1,40}} )"
    rf"|(?P<sign>{signs(Kind.CODE, Kind.NEW)}) )(?P<noun>(?:[Mm]icro)?[Ss]ervice|API|daemon)\b(?!-)"
)
_HYPHENED = re.compile(r"(?<![\w/.@:=-])[a-z][a-z0-9]{0,30}(?:-[a-z0-9]{1,30}){1,5}(?![\w/:=-]|\.\w)")
_CAMEL = re.compile(r"(?<![\w/.@-])[A-Z][a-z0-9]{1,30}(?:[A-Z]{1,5}[a-z0-9]{0,30}){1,5}(?![\w/(-]|\.\w)")
_BARE = re.compile(r"(?<![\w/.@-])[A-Za-z][\w-]{2,60}(?![\w/-]|\.\w)")

_PLAIN = frozenset(
    """a about above actual affected after all also an and another any are as associated at backing base basic be
    before being below both broken but by calling called central certain common complete consuming core corresponding
    critical current customer dead default dependent different does down downstream each either entire even every
    existing external failing few final first following for from full general given global good has healthy her his how
    if impacted important in individual internal into is it its just key last latest legacy less life live local main
    major managed many missing more most much my named native new next no non not of old on one only or original other
    our out over overall own particular per previous primary private production prod public real related relevant
    remaining remote respective responsible right running same second secondary self separate shared simple single slow
    small some specific staging such supporting target than that the their them then these they third this those three
    to top two unavailable under underlying unhealthy up upstream us used using various very via was we web were what
    when where which while whole whose with within without wrong you your""".split()
)
"""English words that stand before "service" or "team" without naming one."""
_NO_TEAM = _PLAIN | frozenset(
    "entire escalate contact on-call oncall owning owner whoever small support dev development management project"
    " responding response incident leadership ask page notify call dream red blue".split()
)
_LEADS = frozenset(
    """a all also an and any are as ask at both but by contact each every escalate everything for from how if in is it
    its no notify on or our page ping see she since so that the their them then these they this those to we what when
    where which while who whose with without you your""".split()
)
"""Words before a name in capitals that are not of it."""
_NO_SERVICE = _PLAIN | frozenset(
    "a-a systemd kubernetes k8s docker cloud linux windows rest http https grpc json admin graphql soap".split()
)
_JOINS = frozenset(
    """a an and as at be by co cross day de down end ever ex first free full half high in inter intra least long low
    more most multi near no non of off on one open out over per plus post pre pro re read real right second self semi
    short single so sub super the third time to top two ultra un under up us vice well write zero""".split()
)
"""Words that English joins by hyphens: self-hosted, up-to-date, real-time."""


_ONE_OF_MANY = re.compile(r"\b(?:an?|any|some|each|every|no|another) (?:[\w-]{1,20} ){0,2}\Z", re.IGNORECASE)


class Shapes:
    """Puts signs for unknown names into sentences of one page, and remembers the names that the page told."""

    def __init__(self, given: Signs, *, open_world: bool) -> None:
        self._given = given
        self._open = open_world
        self._told: dict[str, Mention] = {}

    def use(self, given: Signs) -> None:
        """Goes on with the signs of another passage."""
        self._given = given

    def sign(self, sentence: str) -> str:
        """The sentence with a sign for each name that it tells by its shape."""
        text = _TEAM_FIRST.sub(self._team_first, _TEAM.sub(self._team, _HANDLE.sub(self._handle, sentence)))
        text = _TEAM_JOINED.sub(lambda match: self._new_team(match.group()), text)
        text = _SERVICES.sub(self._services, text)
        text = _SERVICE.sub(self._service, text)
        text = _HYPHENED.sub(self._joined, text)
        return _CAMEL.sub(self._camel, text)

    def tell(self, name: str, *also: str) -> Mention:
        """A service that the page names in words of its own. Its other mentions mean the same."""
        keys = [name_key(each) for each in (name, *also, f"{name} service", f"{name}-service")]
        known = next((self._told[key] for key in keys if key in self._told), None)
        mention = known or Mention(Kind.NEW, name, also=also)
        for key in keys:
            self._told.setdefault(key, mention)
        return mention

    def recall(self, sentence: str) -> str:
        """The sentence with a sign also for the plain words that the page used as names elsewhere."""
        return _BARE.sub(self._recalled, sentence) if self._told else sentence

    def canonical(self, mention: Mention) -> Mention:
        """The same as the page first named it."""
        if mention.refs or mention.kind not in (Kind.NEW, Kind.CODE, Kind.JOINED):
            return mention
        return self.tell(mention.name, *mention.also)

    def _recalled(self, match: re.Match[str]) -> str:
        word = match.group()
        told = self._told.get(name_key(word))
        if told is None or not (word[0].isupper() or "-" in word or word == told.name):
            return word
        if word.lower() in _NO_SERVICE:
            return word
        return self._given.of(Mention(Kind.WORD, told.name, told.refs, also=told.also))

    def _team(self, match: re.Match[str]) -> str:
        if match["sign"]:
            name = self._given.mentions[match["sign"]].name
            return self._new_team(name)
        words = (match["caps"] or match["low"]).split()
        kept = _capitals(words, _NO_TEAM) if match["caps"] else _last_words(words, _NO_TEAM, 2)
        if not kept:
            return match.group()
        before = " ".join(words[: len(words) - len(kept)])
        lead = (match["det"] or "") + (f"{before} " if before else "")
        return f"{lead}{self._new_team(' '.join(kept))}"

    def _team_first(self, match: re.Match[str]) -> str:
        name = match["caps"] or match["low"] or self._given.mentions[match["sign"]].name
        lead = f"team{match['is']} " if match["is"] else ""
        if lead and match.string[match.end() : match.end() + 1] not in ("", ".", ",", ";", ")"):
            return match.group()
        return lead + self._given.of(Mention(Kind.NEW_TEAM, name, also=(f"team {name}",)))

    def _handle(self, match: re.Match[str]) -> str:
        name = match["name"]
        return self._given.of(Mention(Kind.NEW_TEAM, name.rpartition("/")[2], also=(f"@{name}",)))

    def _new_team(self, name: str) -> str:
        return self._given.of(Mention(Kind.NEW_TEAM, name, also=() if "-" in name else (f"{name} team",)))

    def _services(self, match: re.Match[str]) -> str:
        def one(word: re.Match[str]) -> str:
            text = word.group()
            if text.lower() in _NO_SERVICE or text in ("and", "the"):
                return text
            return text if text in self._given.mentions else self._new(text)

        return match["det"] + re.sub(_ONE, one, match["list"])

    def _service(self, match: re.Match[str]) -> str:
        noun = match["noun"]
        if match["sign"]:
            return self._new(self._given.mentions[match["sign"]].name)
        words = (match["caps"] or match["low"]).split()
        kept = (
            _capitals(words, _NO_SERVICE)
            if match["caps"]
            else _last_words(words, _NO_SERVICE, 2 if match["det"] else 1)
        )
        if (
            not kept
            or _ONE_OF_MANY.search(match.string, max(match.start() - 40, 0), match.start())
            or (noun == "API" and not (match["caps"] and self._open))
        ):
            return match.group()
        name = " ".join(kept)
        if noun == "API":
            sign = self._new(f"{name} API")
        else:
            sign = self._new(name, f"{name} service")
        before = " ".join(words[: len(words) - len(kept)])
        return f"{before} {sign}" if before else f"{match['det'] or ''}{sign}"

    def _joined(self, match: re.Match[str]) -> str:
        name = match.group()
        parts = name.split("-")
        if not _JOINS.isdisjoint(parts) or name.isdigit():
            return name
        if parts[-1] in ROLES:
            return self._new(name)
        return self._given.of(Mention(Kind.JOINED, name)) if self._open else name

    def _camel(self, match: re.Match[str]) -> str:
        name = match.group()
        if has_role(name):
            return self._new(name)
        return self._given.of(Mention(Kind.JOINED, name)) if self._open else name

    def _new(self, name: str, *also: str) -> str:
        return self._given.of(Mention(Kind.NEW, name, also=also))


def _capitals(words: list[str], stop: frozenset[str]) -> list[str]:
    """A name of several words may hold any; one word alone has to be more than a word like "Core"."""
    kept = _last_words(words, _LEADS, 4)
    return [] if len(kept) == 1 and kept[0].lower() in stop else kept


def _last_words(words: list[str], stop: frozenset[str], most: int) -> list[str]:
    """The words that end a phrase, without those that only lead to it."""
    kept: list[str] = []
    for word in reversed(words):
        if word.lower() in stop and not (kept and word in ("and", "&")):
            break
        if len(kept) == most:
            break
        kept.insert(0, word)
    while kept and kept[0] in ("and", "&"):
        kept.pop(0)
    return kept if not any(word.lower().endswith("ed") and len(word) > 4 for word in kept) else []
