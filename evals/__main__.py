"""`python -m evals convert|score|coverage|run`: make cases of an organisation's data, score them, or do it all."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from evals import gitlab, otel
from evals.answer import STORES, Subject, subject
from evals.case import Case, NoData, read_cases
from evals.coverage import Coverage, misses, page
from evals.metrics import Scores, scores
from evals.tables import Scored, failures, failures_json, results, table

CONVERTERS = {"gitlab": gitlab.convert, "otel": otel.convert}
FOLDERS = {"gitlab": "gitlab-runbooks", "otel": "otel-demo"}
QUESTIONS = Path(__file__).parent / "questions"
ROUTES = Path(__file__).parent / "routes"
"""Questions of our own writing about one thing, about how two hang together, and about the whole."""
RESULTS = Path(__file__).parent / "results" / "README.md"


def main(arguments: Sequence[str]) -> int:
    """Run one command and return its exit status: 2 when the data is not there or not usable."""
    asked = _parser().parse_args(arguments)
    try:
        if asked.command == "convert":
            _convert(asked.organisation, asked.data, asked.out)
        elif asked.command == "score":
            _score(asked)
        elif asked.command == "coverage":
            _cover(asked)
        else:
            _run(asked.data, asked.store, asked.out)
    except NoData as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    convert = commands.add_parser("convert", help="write an organisation's folder and cases")
    convert.add_argument("organisation", choices=CONVERTERS)
    convert.add_argument("--data", type=Path, required=True, help="a folder laid out like the shared one")
    convert.add_argument("--out", type=Path, required=True, help="where org/ and the cases go")
    score = commands.add_parser("score", help="score a file of cases")
    score.add_argument("--org", type=Path, required=True, help="the organisation's folder")
    score.add_argument("--cases", type=Path, required=True, help="the cases, one a line")
    score.add_argument("--store", choices=STORES, default="sqlite")
    score.add_argument("--json", action="store_true", help="print JSON")
    score.add_argument("--failures", action="store_true", help="print each miss, with what was offered and why")
    cover = commands.add_parser("coverage", help="measure what answers about the whole cover, against plain vectors")
    cover.add_argument("--org", type=Path, required=True, help="the organisation's folder")
    cover.add_argument("--questions", type=Path, required=True, help="cases with a question and expect.community")
    cover.add_argument("--store", choices=STORES, default="sqlite")
    cover.add_argument("--failures", action="store_true", help="print, for each answer, what it did not name")
    run = commands.add_parser("run", help="convert and score everything and write the page of results")
    run.add_argument("--data", type=Path, required=True, help=f"the folder that holds {' and '.join(FOLDERS.values())}")
    run.add_argument("--store", choices=STORES, default="sqlite")
    run.add_argument("--out", type=Path, default=RESULTS)
    return parser


def _convert(organisation: str, data: Path, out: Path) -> None:
    for name, count in CONVERTERS[organisation](data, out).items():
        print(f"{out / name}: {count} cases")


def _score(asked: argparse.Namespace) -> None:
    cases = read_cases(asked.cases)
    found = asyncio.run(_scores_of(asked.org, [cases], asked.store))[0]
    if asked.json:
        told = {"failures": failures_json(found.misses)} if asked.failures else {}
        print(json.dumps({**found.figures, **told}, ensure_ascii=False, indent=2))
        return
    print(table(found))
    if asked.failures:
        print(failures(found.misses))


def _cover(asked: argparse.Namespace) -> None:
    cases = read_cases(asked.questions)
    if not cases or not all(case.question and case.expect.community for case in cases):
        raise NoData(f"{asked.questions} must hold questions only, each with what an answer should cover.")
    found = asyncio.run(_coverage_of(asked.org, cases, asked.store))
    print(page({asked.questions.stem: found}))
    if asked.failures:
        print(misses(found))


async def _coverage_of(organisation: Path, cases: Sequence[Case], store: str) -> Coverage:
    async with subject(organisation, store) as asked:
        return await asked.coverage(cases)


def _run(data: Path, store: str, out: Path) -> None:
    """What is there is scored; when nothing is, the page stays as it is."""
    scored: list[Scored] = []
    absent: list[str] = []
    covered: dict[str, Coverage] = {}
    with tempfile.TemporaryDirectory(prefix="evals-") as home:
        for organisation, folder in FOLDERS.items():
            try:
                CONVERTERS[organisation](data / folder, Path(home, organisation))
            except NoData as error:
                print(error, file=sys.stderr)
                absent.append(f"{folder} was not scored: its data is not there.")
                continue
            files = [*sorted(Path(home, organisation).glob("*.jsonl")), ROUTES / f"{organisation}.jsonl"]
            lists = [read_cases(file) for file in files]
            print(f"{folder}: {sum(map(len, lists))} cases", file=sys.stderr, flush=True)
            found = asyncio.run(_scores_of(Path(home, organisation, "org"), lists, store))
            for file, each in zip(files, found, strict=True):
                print(f"{folder}, {file.name}\n{table(each)}\n", flush=True)
                scored.append(Scored(folder, "routes" if file.parent == ROUTES else file.stem, each))
            questions = read_cases(QUESTIONS / f"{organisation}.jsonl")
            covered[folder] = asyncio.run(_coverage_of(Path(home, organisation, "org"), questions, store))
    if not scored:
        raise NoData(f"Nothing was scored: there is no data in {data}. Name its folder with DATA=DIR.")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(f"{results(scored, absent, store)}\n{page(covered)}\n", encoding="utf-8")
    print(f"Written to {out}.")


async def _scores_of(organisation: Path, lists: Sequence[Sequence[Case]], store: str) -> list[Scores]:
    """The scores of each list of cases, all about one ingested organisation."""
    async with subject(organisation, store) as asked:
        for path, reason in asked.ingested.failures:
            print(f"skipped {path}: {reason}", file=sys.stderr)
        return [await _scores(asked, cases) for cases in lists]


async def _scores(asked: Subject, cases: Sequence[Case]) -> Scores:
    # One after another: side by side, each would wait for the others and the latency would be theirs.
    return scores(cases, [await asked.answer(case) for case in cases])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
