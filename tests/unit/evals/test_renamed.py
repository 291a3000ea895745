"""Nothing is tuned to an organisation's words: with every service, team and label key renamed, the scores stay."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from evals.answer import subject
from evals.case import Case, Expect
from evals.forms import Rule, expression_only, live, text_only
from evals.metrics import scores
from evals.organisation import Service, Team, fresh_folder, write_catalogue

SERVICES = {
    ("till",): (("ledger", "db"), ("basket", "api")),
    ("basket", "api"): (("basket", "cache"), ("stock",)),
    ("basket", "cache"): (),
    ("ledger", "db"): (),
    ("stock",): (("ledger", "db"),),
    ("parcel", "desk"): (("stock",), ("mail", "out")),
    ("mail", "out"): (("queue",),),
    ("queue",): (),
    ("finder",): (("finder", "index"),),
    ("finder", "index"): (),
    ("till", "cluster", "cache"): (),
    ("sign", "in"): (("ledger", "db"),),
}
TEAMS = (("amber",), ("birch", "wood"), ("finder",))
KEYS = ("kind", "part", "desk")
PLAIN = {word: word for names in (*SERVICES, *TEAMS) for word in names} | {key: key for key in KEYS}
GOALS = {"live": 0.99, "expression": 0.95, "text": 0.9, "shared": 0.98}


def made_up(word: str) -> str:
    """A word that nobody ever wrote, of the same length or so, another one for another word."""
    return "".join("bdfgklmnprstvz"[ord(letter) % 14] + "aeiou"[ord(letter) % 5] for letter in word)


def turned(word: str) -> str:
    """The word of the list that comes five places later: the same words, but other things by other names."""
    words = sorted(PLAIN)
    return words[(words.index(word) + 5) % len(words)]


@dataclass(frozen=True)
class Organisation:
    """The same organisation in other words."""

    words: Mapping[str, str]

    def name(self, words: tuple[str, ...]) -> str:
        return "-".join(self.words[word] for word in words)

    def camel(self, words: tuple[str, ...]) -> str:
        return "".join(self.words[word].capitalize() for word in words)

    def team_of(self, service: tuple[str, ...]) -> str:
        return self.name(TEAMS[list(SERVICES).index(service) % len(TEAMS)])

    def write(self, out: Path) -> Path:
        folder = fresh_folder(out)
        services = [
            Service(
                self.name(words),
                owner=self.team_of(words),
                aliases=(f"{self.camel(words)} Service",),
                needs=tuple(map(self.name, needs)),
            )
            for words, needs in SERVICES.items()
        ]
        write_catalogue(folder, [Team(self.name(words)) for words in TEAMS], services)
        return folder

    def rules(self, words: tuple[str, ...]) -> Iterator[Rule]:
        kind, part, desk = (self.words[key] for key in KEYS)
        name, camel = self.name(words), self.camel(words)
        others = [other for other in SERVICES if other != words]
        beside = others[len("".join(words)) % len(others)]
        labels = {desk: self.name(TEAMS[0]), "severity": "page"}
        yield Rule(
            f"{camel}Service{self.camel(beside)}Errors",
            {**labels, part: self.name(beside)},
            {"summary": f"The {self.name(beside)} client of the {name} service fails", "description": "It pages."},
            f'sum by ({kind}) (rate(errors_total{{{kind}="{name}",{part}="{self.name(beside)}"}}[5m])) > 1',
        )
        yield Rule(f"{camel}Slow", labels, {"summary": "It is late"}, f'latency_seconds{{{kind}="{name}"}} > 1')
        yield Rule(f"{camel}QueueLength", labels, {"summary": f"{name} is behind"}, f'waiting{{{kind}="{name}"}} > 100')

    def shared(self) -> Iterator[Rule]:
        """One rule for every service: only a label tells whose an alert is."""
        kind = self.words["kind"]
        for words in SERVICES:
            yield Rule(
                f"resource_saturated:{self.name(words).replace('-', '_')}_memory",
                {"severity": "page"},
                {"summary": f"The {self.camel(words)} memory of the {{{{ $labels.{kind} }}}} service runs out"},
                "saturation_ratio > 0.9",
            )

    def cases(self) -> dict[str, list[Case]]:
        files: dict[str, list[Case]] = {form: [] for form in GOALS}
        kind = self.words["kind"]
        for words in SERVICES:
            name = self.name(words)
            expect = Expect(service=(name,), team=(self.team_of(words),))
            for at, rule in enumerate(self.rules(words)):
                id = f"{'-'.join(words)}/{at}"
                names = (name, f"{self.camel(words)} Service")
                bodies = {
                    "live": live(rule, kind, name),
                    "expression": expression_only(rule, kind),
                    "text": text_only(rule, kind, names),
                }
                for form, body in bodies.items():
                    files[form].append(Case(id=id, webhook=body, expect=expect))
        for at, rule in enumerate(self.shared()):
            files["shared"].append(Case(id=str(at), webhook=expression_only(rule, kind), expect=Expect(abstain=True)))
        return files


async def shares(words: Callable[[str], str], home: Path) -> dict[str, float]:
    """Of each file the shares that are counted, by `file of what: share`."""
    organisation = Organisation({word: words(word) for word in PLAIN})
    found: dict[str, float] = {}
    async with subject(organisation.write(home), "sqlite") as asked:
        for form, cases in organisation.cases().items():
            figures = scores(cases, [await asked.answer(case) for case in cases]).figures
            for of in ("service", "team"):
                count = figures[of]["n"]
                for verdict in ("correct", "wrong") if count else ():
                    found[f"{form} {of} {verdict}"] = figures[of][verdict] / count
                if count and form != "shared":
                    found[f"{form} {of} hit@1"] = figures[of]["hit@1"]
    return found


@pytest.fixture(scope="module")
async def before(tmp_path_factory: pytest.TempPathFactory) -> dict[str, float]:
    return await shares(str, tmp_path_factory.mktemp("before"))


async def test_the_organisation_as_it_is_scores_well(before: dict[str, float]) -> None:
    for form, goal in GOALS.items():
        assert before[f"{form} service correct"] >= goal, before
        assert before[f"{form} service wrong"] <= 0.02, before


@pytest.mark.parametrize("renamed", [made_up, turned, lambda word: f"{word[::-1]}x"], ids=["made up", "turned", "odd"])
async def test_renaming_every_service_team_and_label_key_moves_no_score_by_more_than_two_points(
    renamed: Callable[[str], str], before: dict[str, float], tmp_path: Path
) -> None:
    after = await shares(renamed, tmp_path)
    assert not {what: (share, after[what]) for what, share in before.items() if abs(after[what] - share) > 0.02}
