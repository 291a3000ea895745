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

from graphrag.ingest import wording
from graphrag.ingest.naming import Kind, Mention, has_role


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


class Reader:
    """Reads the sentences of a page, one after another. `mentions`: what each sign stands for."""

    def __init__(self, mentions: dict[str, Mention], talk: Talk, *, open_world: bool) -> None:
        self._mentions = mentions
        self._talk = talk
        self._open = open_world
        self._here: Mention | None = None  # whom the sentence spoke of so far

    def read(self, sentence: str) -> list[Said]:
        """What a sentence says; nothing for a question."""
        text = wording.SHORTENED.sub(r"\1t is", sentence.strip())
        if not text or text.endswith("?") or len(text) > 1_000:
            self._talk.pending = None
            return []
        self._talk.pending = self._here = None
        if not wording.SIGN.search(text) and not text.endswith(":"):
            return []
        if not wording.may_tell(text) and not re.search(wording.TEAM, text):
            self._move_on(text, [])
            return []
        said = [*self._needs(text), *self._owned(text)]
        self._move_on(text, said)
        return [*said, *self._runbooks(text)]

    def items(self, text: str, label: str, trust: Trust) -> list[Mention]:
        """The names that a list or a value begins with, such as "`ledger-db` (entries), `rates`"."""
        if re.match(r"\W{0,4}(?:no|not|none|never|formerly|previously|was|optional)\b", text, re.IGNORECASE):
            return []
        pattern = wording.TEAMS if label == "owned" else wording.ITEM
        found, _ = self._list(text, 0, pattern, listed=True)
        return [each for each in found if label == "owned" or self._believed(each, trust, len(found), listed=True)]

    # -- who needs whom

    def _needs(self, text: str) -> Iterator[Said]:
        for match in wording.NEEDS.finditer(text):
            trust = Trust.STRONG if match["strong"] else Trust.CALL if match["call"] else Trust.LOOSE
            subjects = self._subjects(text, match.start(), finite=not wording.BASE_FORM.match(match.group()))
            if subjects:
                yield from self._need(subjects, text, match.end(), trust)
        for match in wording.WITHOUT.finditer(text):
            subjects = self._subjects(text, match.start(), finite=True)
            yield from self._need(
                subjects, text[: match.end()] + text[match.end() :].replace(" or ", " and "), match.end(), Trust.STRONG
            )
        yield from self._needs_in_nouns(text)
        yield from self._passive(text)

    def _need(self, subjects: Sequence[Mention], text: str, at: int, trust: Trust) -> Iterator[Said]:
        quantity = wording.QUANTITY.match(text, at)
        if quantity:
            at, trust = quantity.end(), Trust.STRONG if quantity["noun"] else trust
        if not subjects:
            return
        self._here = subjects[0]
        if re.match(
            r"(?: (?:on|the following|these|two|three|several|other|services|systems|dependencies)){0,4} ?:$",
            text[at:].rstrip(),
        ) or (quantity and at >= len(text)):
            self._talk.pending = ("needs", tuple(subjects), trust)
            return
        objects, end = self._list(text, at, wording.ITEM)
        if not objects or wording.CONDITION.match(text, end):
            return
        for target in objects:
            if self._believed(target, trust, len(objects), listed=bool(quantity)):
                for source in subjects:
                    yield Said("needs", source, target, trust)

    def _needs_in_nouns(self, text: str) -> Iterator[Said]:
        for pattern in (wording.DEPENDENCIES, wording.THINGS, wording.HAS):
            for match in pattern.finditer(text):
                if wording.VETO.search(text, _clause_start(text, match.start()), match.start()):
                    continue
                yield from self._need(self._whose(match, text), text, match.end(), Trust.STRONG)
        if first := wording.WITHOUT_FIRST.match(text):
            objects, end = self._list(text, first.end(), wording.ITEM, listed=True)
            then = wording.HELPLESS.match(text, end)
            for source in self._whose(then, text) if then else ():
                for target in objects:
                    yield Said("needs", source, target)

    def _passive(self, text: str) -> Iterator[Said]:
        for pattern in (wording.PASSIVE, wording.ARE_DEPENDENCIES):
            for match in pattern.finditer(text):
                objects = self._subjects(text, match.start(), finite=True)
                loose = pattern is wording.PASSIVE and match["verb"].lower() in ("used", "needed", "required")
                trust = Trust.LOOSE if loose else Trust.STRONG
                if pattern is wording.ARE_DEPENDENCIES and not match.group().rstrip().endswith("of"):
                    subjects, end = ([self._about()] if " its " in match.group() and self._about() else []), match.end()
                else:
                    subjects, end = self._list(text, match.end(), wording.ITEM)
                    if not subjects and (it := wording.A_PRONOUN.match(text, match.end())):
                        subjects, end = [self._about()], it.end()
                if wording.CONDITION.match(text, end):
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
        for pattern in (wording.OWNED, wording.BELONGS):
            for match in pattern.finditer(text):
                plain = pattern is wording.OWNED and match["verb"].lower() == "owned"
                teams = self._teams(text, match.end(), plain=plain)
                for source in self._owned_thing(text, match, pattern) if teams else ():
                    yield from (Said("owned", source, team) for team in teams)
        for match in wording.OWNER_OF.finditer(text):
            if not wording.VETO.search(text, _clause_start(text, match.start()), match.start()):
                teams = self._teams(text, match.end(), plain=True)
                for source in self._whose(match, text) if teams else ():
                    yield from (Said("owned", source, team) for team in teams)
        yield from self._owns(text)
        for pattern in wording.TURNED:
            for match in pattern.finditer(text):
                if not wording.VETO.search(text, _clause_start(text, match.start()), match.start()):
                    yield from (Said("owned", each, self._mentions[match["team"]]) for each in self._whose(match, text))

    def _owns(self, text: str) -> Iterator[Said]:
        for match in wording.OWNS.finditer(text):
            before = text[_clause_start(text, match.start()) : match.start()]
            if not match["who"] and (wording.VETO.search(before) or not wording.MAY_LEAD.search(before)):
                continue
            things, end = self._list(text, match.end() - 1, wording.ITEM)
            if (
                not things
                and (it := wording.A_PRONOUN.match(text, match.end()))
                and wording.FOLLOWS.match(text, it.end())
            ):
                about = self._about()
                things, end = ([about] if about else []), it.end()
            if not wording.CONDITION.match(text, end):
                team = self._mentions[match["team"]]
                yield from (Said("owned", thing, team) for thing in things if _ownable(thing))

    def _owned_thing(self, text: str, match: re.Match[str], pattern: re.Pattern[str]) -> Sequence[Mention]:
        """What is owned. "X, owned by T, ..." and "Owned by T, X ..." too."""
        start = match.start()
        before = text[:start].rstrip(" ,(:\u2013-")
        if not before and pattern is wording.OWNED:
            following = wording.OWNED_FIRST.match(text, match.end())
            return [self._mentions[following["name"]]] if following else self._default()
        touching = re.search(rf"{wording.DET}(?P<name>{wording.SERVICE}){wording.NOUN}{wording.AFTER}$", before)
        if touching and text[len(before) : match.start("verb" if pattern is wording.OWNED else 0)].strip() in (
            ",",
            "(",
            ":",
            "-",
            "\u2013",
        ):
            return [self._mentions[touching["name"]]] if not wording.VETO.search(before) else []
        if touching and not match.group().strip().lower().startswith(("is", "are", "'s", "\u2019s", "belongs", "has")):
            return []
        return [each for each in self._subjects(text, start, finite=True) if _ownable(each)]

    def _teams(self, text: str, at: int, *, plain: bool) -> list[Mention]:
        found, end = self._list(text, at, wording.TEAMS)
        if wording.CONDITION.match(text, end):
            return []
        told = [each for each in found if each.kind in (Kind.TEAM, Kind.EITHER, Kind.NEW_TEAM)]
        return told if told or not plain else [each for each in found if not each.refs]

    # -- where its runbook is

    def _runbooks(self, text: str) -> Iterator[Said]:
        for match in wording.RUNBOOK.finditer(text):
            yield from self._runbook(text, match)
        for match in wording.IS_RUNBOOK.finditer(text):
            if not wording.VETO.search(text[: match.start()]):
                for source in self._whose(match, text):
                    yield Said("runbook", source, self._mentions[match["link"] or match["link2"] or match["link3"]])

    def _runbook(self, text: str, match: re.Match[str]) -> Iterator[Said]:
        clause = text[_clause_start(text, match.start()) : match.start()].strip()
        link = match["direct"]
        between = ""
        if not link:
            lead = wording.TO_LINK.match(text, match.end())
            if not lead:
                return
            link, between = lead["link"], lead["between"]
        if any(pattern.search(part) for pattern in (wording.NO_RUNBOOK, wording.WISHED) for part in (clause, between)):
            return
        named = match["whose"] or match["of"] or match["its"] or match["ofit"]
        if not wording.IS_AT.match(between) or not (wording.BEFORE_NAMED if named else wording.BEFORE_ANY).search(
            clause
        ):
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
            if begins := (wording.BEGINS.match(text) if match and match.start() > 3 else None):
                about = (
                    self._mentions[begins["name"]] if begins["name"] and wording.FINITE.match(begins["rest"]) else about
                )
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
        left = wording.LEADING.sub("", text[start:verb], count=1)
        if wording.VETO.search(left):
            return []
        direct = wording.SUBJECTS.search(left)
        if direct:
            return self._direct(left, direct, finite=finite)
        if not finite:
            return []
        if by := wording.BY_PRONOUN.search(left):
            lead = left[: by.start()]
            leads = wording.MAY_LEAD.search(lead) or wording.PREPOSITION.search(lead)
            return self._pronoun(by.group(), text[:start] + lead) if leads else []
        if relative := wording.RELATIVE.search(left):
            before = left[: relative.start()]
            if relative["comma"] or not before.strip() or wording.MAY_LEAD.search(before):
                return [self._mentions[relative["name"]]]
        return self._from_beginning(text, start, left)

    def _direct(self, left: str, direct: re.Match[str], *, finite: bool) -> Sequence[Mention]:
        names = re.findall(wording.SERVICE, re.sub(r"\([^()]*\)", "", direct["list"]))
        if not wording.MAY_LEAD.search(left[: direct.start()]) or (not finite and len(names) < 2):
            return []
        return [self._mentions[name] for name in names]

    def _pronoun(self, pronoun: str, before: str) -> Sequence[Mention]:
        """ "It" is what the sentence began with, else what was last spoken of; "this service" rather the page's."""
        begins = wording.BEGINS.match(before)
        if begins and begins["name"]:
            return [self._mentions[begins["name"]]]
        named = re.findall(wording.SURE, before)
        if named:
            here = self._here or (self._mentions[named[0]] if len(named) == 1 else None)
            return [here] if here else []
        if pronoun.lower().startswith("it"):
            about = self._about()
            return [about] if about else []
        return self._default()

    def _from_beginning(self, text: str, start: int, left: str) -> Sequence[Mention]:
        """For "X is owned by T and depends on", "X, our billing engine, depends on", and a line that starts with
        its verb."""
        if not text[: start + len(left)].strip(" -*:"):
            return self._default()
        whole = text[:start] + left if start and not wording.CLAUSE.search(text[start - 1 : start]) else left
        begins = wording.BEGINS.match(whole)
        if not begins:
            owner = wording.OWNER_FIRST.match(whole)
            return [self._mentions[owner["name"]]] if owner else []
        rest = begins["rest"]
        plain = wording.FINITE.match(rest) and (wording.ELLIPSIS.search(rest) or wording.IS_ONE_THAT.match(rest))
        if not (plain or (begins["name"] and wording.APPOSITION.match(rest))):
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
                and wording.ARTICLE.search(text, at, item.start("name"))
                and not self._is_subject(mention)
            ):
                break
            found.append((mention, item.end()))
            at = item.end()
            purpose = wording.PURPOSE.match(text, at)
            joint = wording.ASIDE.match(text, at) or wording.SEPARATOR.match(text, purpose.end() if purpose else at)
            if not joint or (ending and joint.group().strip() == ","):
                break
            ending = ending or joint.group().strip() not in (",", "/")
            at = joint.end()
        while (
            found
            and not wording.FOLLOWS.match(text, found[-1][1])
            and not (listed and wording.CONDITION.match(text, found[-1][1]))
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
            return trust is Trust.CALL
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
        named = re.findall(wording.SURE, text)
        begins = wording.BEGINS.match(text)
        begun = begins["name"] if begins and not begins["rest"].startswith((",", " and")) else None
        if sign := begun or (named[0] if len(named) == 1 else None):
            self._talk.last = self._mentions[sign]
        elif named:
            self._talk.last = None


def _clause_start(text: str, at: int) -> int:
    last = 0
    for match in wording.CLAUSE.finditer(text, 0, at):
        last = match.end()
    return last


def _ownable(mention: Mention) -> bool:
    return mention.kind is not Kind.OTHER
