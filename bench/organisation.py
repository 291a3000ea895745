"""A made-up organisation's folder: a small catalogue and pages of the kinds that operations people write.

The same arguments write the same bytes.
"""

from __future__ import annotations

import random
from pathlib import Path

SERVICES, TEAMS = 120, 24
FEWEST_WORDS, MOST_WORDS = 100, 1_500
_TYPICAL_WORDS = 450
_SPREAD = 0.7
"""Of the logarithm of a page's words: most pages are short, some are long."""

_KINDS = ("runbooks", "docs", "docs", "postmortems", "runbooks", "docs", "docs", "postmortems", "runbooks", "docs")
_AREAS = ("account", "billing", "catalog", "checkout", "delivery", "export", "invoice", "ledger", "message", "notice")
_AREAS += ("order", "payment", "pricing", "profile", "quota", "refund", "report", "search", "session", "stock")
_PARTS = ("api", "worker", "cache", "gateway", "scheduler", "store")
_SUBJECTS = ("the queue", "a replica", "the primary", "one pod", "the connection pool", "the certificate", "a node")
_SUBJECTS += ("the error rate", "the 95th percentile", "the retry budget", "the disk", "a deploy", "the index")
_VERBS = ("fills up", "falls behind", "restarts", "times out", "is drained", "recovers", "is throttled", "fails over")
_VERBS += ("stays high", "returns stale data", "is rotated", "runs out of memory", "is rebuilt")
_CIRCUMSTANCES = ("after a release", "during the nightly batch", "when traffic doubles", "within a few minutes")
_CIRCUMSTANCES += ("in one zone only", "without any alert", "once the lock is released", "at the end of the month")
_CIRCUMSTANCES += ("if the limit is too low", "while a migration runs", "before customers notice", "on a cold start")
_ADVICE = ("Look at the dashboard first", "Page the second line", "Wait for two scrapes", "Compare with last week")
_ADVICE += ("Do not restart everything at once", "Write down what you changed", "Raise the limit by a quarter")
_ADVICE += ("Take the zone out of rotation", "Ask before you delete data", "Check the free space")
_SECTIONS = ("Symptoms", "Impact", "Checks", "Mitigation", "Escalation", "Background", "Known limits", "Afterwards")
_COMMANDS = (
    "kubectl -n {0} get pods -o wide\nkubectl -n {0} logs deploy/{0} --since=10m | tail -n 50",
    "curl -s http://{0}.internal:8080/healthz\nfor i in 1 2 3; do dig +short {0}.internal; sleep 5; done",
    'sum(rate(http_requests_total{{service="{0}",code=~"5.."}}[5m]))\n  / sum(rate(http_requests_total[5m]))',
    "SELECT state, count(*) FROM jobs WHERE queue = '{0}' GROUP BY state;",
)


def write_organisation(folder: Path, documents: int, seed: int = 1) -> None:
    """Write the catalogue and so many pages into a new folder. The catalogue is always the same: an organisation that
    writes more has no more services."""
    draw = random.Random(seed)
    services = [f"{area}-{part}" for part in _PARTS for area in _AREAS][:SERVICES]
    teams = [f"team-{number:02}" for number in range(TEAMS)]
    paths = [_path(number, services) for number in range(documents)]
    folder.mkdir(parents=True)
    (folder / "catalog.yaml").write_text(_catalogue(draw, services, teams, paths), encoding="utf-8")
    for number, path in enumerate(paths):
        page = folder / path
        page.parent.mkdir(parents=True, exist_ok=True)
        about = services[number % SERVICES]
        text = _postmortem if path.startswith("postmortems/") else _page
        page.write_text(text(draw, number, about, services, teams, paths), encoding="utf-8")


def _path(number: int, services: list[str]) -> str:
    """Each service has a runbook first; after that, of ten pages two are postmortems and three runbooks."""
    kind = "runbooks" if number < len(services) else _KINDS[number % len(_KINDS)]
    return f"{kind}/{services[number % len(services)]}/page-{number:05}.md"


def _catalogue(draw: random.Random, services: list[str], teams: list[str], paths: list[str]) -> str:
    entities = [f"kind: Group\nmetadata:\n  name: {team}\nspec:\n  type: team\n" for team in teams]
    for number, (name, path) in enumerate(zip(services, paths, strict=False)):
        needs = "".join(f"\n  - component:{each}" for each in draw.sample(services[:number], min(number, 3)))
        entities.append(
            f"kind: Component\nmetadata:\n  name: {name}\n  description: Serves the {name.replace('-', ' ')}.\n"
            f"  links:\n  - url: {path}\n    title: Runbook\n    type: runbook\n"
            f"spec:\n  type: service\n  owner: {draw.choice(teams)}\n" + (f"  dependsOn:{needs}\n" if needs else "")
        )
    return "---\n".join(f"apiVersion: backstage.io/v1alpha1\n{each}" for each in entities)


def _page(draw: random.Random, number: int, about: str, services: list[str], teams: list[str], paths: list[str]) -> str:
    title = f"{about}: {draw.choice(_SUBJECTS)} {draw.choice(_VERBS)}".capitalize()
    intro = f"`{about}` depends on {draw.choice(services)} and is owned by {draw.choice(teams)}. "
    return f"# {title} ({number})\n\n{intro}{_body(draw, about, services, paths)}"


def _postmortem(
    draw: random.Random, number: int, about: str, services: list[str], teams: list[str], paths: list[str]
) -> str:
    day = f"{draw.randint(2022, 2025)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
    front = f"---\ntitle: Incident {number} in {about}\ndate: {day}\nseverity: SEV{draw.randint(1, 4)}\n---\n"
    intro = f"On {day} {about} was down. {draw.choice(teams)} responded; {draw.choice(services)} was affected too. "
    return f"{front}# Incident {number} in {about}\n\n{intro}{_body(draw, about, services, paths)}"


def _body(draw: random.Random, about: str, services: list[str], paths: list[str]) -> str:
    """Sections until the page has its words."""
    words = min(max(int(draw.lognormvariate(0, _SPREAD) * _TYPICAL_WORDS), FEWEST_WORDS), MOST_WORDS)
    parts = [_paragraph(draw, services, paths)]
    written = len(parts[0].split())
    while written < words:
        parts.append(f"## {draw.choice(_SECTIONS)}\n\n{_paragraph(draw, services, paths)}")
        if draw.random() < 0.1:  # longer than a passage may be
            parts += (_paragraph(draw, services, paths) for _ in range(4))
        if draw.random() < 0.4:
            parts.append(f"```shell\n{draw.choice(_COMMANDS).format(about)}\n```")
        if draw.random() < 0.4:
            parts.append("\n".join(f"{step}. {draw.choice(_ADVICE)}." for step in range(1, draw.randint(3, 7))))
        written = sum(len(part.split()) for part in parts)
    return "\n\n".join(parts) + "\n"


def _paragraph(draw: random.Random, services: list[str], paths: list[str]) -> str:
    sentences = [
        f"{draw.choice(_SUBJECTS).capitalize()} {draw.choice(_VERBS)} {draw.choice(_CIRCUMSTANCES)}."
        for _ in range(draw.randint(2, 7))
    ]
    if draw.random() < 0.5:
        sentences.append(f"{draw.choice(_ADVICE)}, then look at `{draw.choice(services)}`.")
    if draw.random() < 0.3:
        sentences.append(f"See [the notes](/{draw.choice(paths)}) for {draw.choice(services)}.")
    return " ".join(sentences)
