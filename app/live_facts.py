"""Facts of what live systems answered. Pure: `live_sources` asks, this decides.

Metrics, releases and CODEOWNERS state facts. A wiki page or a chat message states none, whatever it says: it becomes a
document that can be found and read, and nothing of its text becomes a relation. All text is redacted first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from agent.redact import redact
from connectors import github
from connectors.observations import MessageSeen, PageSeen, ReleaseSeen
from graphrag.identity import name_key, name_words
from graphrag.ingest.folder import SourceFile
from graphrag.ingest.sources.codeowners import read_codeowners
from graphrag.ingest.sources.found import Found
from graphrag.ingest.sources.git_history import Release, release_facts
from graphrag.ingest.sources.service_graph import read_service_graph
from graphrag.ingest.summarise import document_summary
from graphrag.model import EdgeFact, EdgeType, Label, Node, NodeFact, Ref

Names = Mapping[str, str]
"""The key of a name or an alias -> the name of the node it means."""

MOST_LINES = 10
_MAX_LINE = 200
_MAX_ADDRESS = 500
_MAX_TITLE_WORDS = 40
_MAX_NAME_WORDS = 8
_BY_TITLE = 0.7
_PAGE_ID = "pageId"  # in a link of this kind it is the page; whatever else a query says, how it was found


def names_of(nodes: Iterable[Node]) -> dict[str, str]:
    return {name_key(name): node.name for node in nodes for name in (*node.aliases, node.name)}


def call_facts(rows: Iterable[Mapping[str, str]]) -> Found:
    """Who depends on whom, of the labels of the service graph's series."""
    return read_service_graph({key: redact(value) for key, value in row.items()} for row in rows)


def repositories(services: Iterable[Node]) -> dict[str, list[Node]]:
    """`owner/name` in lower case, as GitHub takes it -> the services whose code is there; by name."""
    found: dict[str, list[Node]] = {}
    for service in services:
        named = github.repository(str(service.properties.get("repo", "")))
        if named:
            found.setdefault("/".join(named).lower(), []).append(service)
    return dict(sorted(found.items()))


def repository_releases(repo: str, releases: Iterable[ReleaseSeen], services: Sequence[Node]) -> Found:
    """The releases of a repository that holds these services: of the one that it is of, or that a tag names."""
    names = names_of(services)
    read = (
        Release(
            tag=redact(each.version),
            released_at=each.released_at.isoformat() if each.released_at else "",
            author=redact(each.author),
            url=redact(each.link),
            notes=redact(each.notes),
        )
        for each in releases
    )
    return release_facts(read, repo, _service_of(repo, services, names), names)


def repository_owners(
    repo: str, path: str, text: str, services: Sequence[Node], without_owner: Sequence[Node], teams: Names
) -> Found:
    """Who owns the services that have no owner yet, of the repository's CODEOWNERS file. `services`: all it holds."""
    names = names_of(without_owner)
    whole = _service_of(repo, services, names_of(services))
    if whole in names.values():
        names[name_key(_last(repo))] = whole
    return read_codeowners([SourceFile(path, redact(text))], names, teams, _last(repo))


def _service_of(repo: str, services: Sequence[Node], names: Names) -> str:
    """The service that a repository is of; empty when it holds several and has the name of none."""
    return services[0].name if len(services) == 1 else names.get(name_key(_last(repo)), "")


def _last(repo: str) -> str:
    return repo.rpartition("/")[2]


def page_facts(pages: Iterable[PageSeen], services: Names) -> Found:
    """A document for each page, called by its address. A service is documented in it when its title names the
    service; that the search found it by the service's name says less."""
    found = Found()
    seen: set[str] = set()
    for page in pages:
        address = page_address(page.link)
        if not address or name_key(address) in seen:
            continue
        seen.add(name_key(address))
        title = redact(page.title)
        named = services_named(title, services)
        found.nodes.append(
            NodeFact(
                Label.DOC,
                address,
                document_summary("wiki page", title, "", named, redact(page.excerpt), ()),
                properties={"source": "confluence", "url": address, "title": title},
            )
        )
        found.edges += (
            EdgeFact(EdgeType.DOCUMENTED_IN, Ref(Label.SERVICE, name), Ref(Label.DOC, address), confidence=_BY_TITLE)
            for name in named
        )
    return found


def page_address(link: str) -> str:
    """The link without what changes from search to search; empty when it leads nowhere or is too long for a name."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return ""
    query = urlencode([(key, value) for key, value in parse_qsl(parts.query) if key == _PAGE_ID])
    address = redact(urlunsplit((parts.scheme, parts.netloc, parts.path, query, "")))
    return address if parts.netloc and len(address) <= _MAX_ADDRESS else ""


def services_named(title: str, services: Names) -> tuple[str, ...]:
    """The services whose name or alias stands in a title, as whole words in any spelling. A name inside a longer one
    is not meant: "Checkout API limits" is about checkout-api, not about checkout."""
    words = name_words(title)[:_MAX_TITLE_WORDS]
    spans = {
        (start, end): name
        for start in range(len(words))
        for end in range(start + 1, min(start + _MAX_NAME_WORDS, len(words)) + 1)
        if (name := services.get(name_key(" ".join(words[start:end]))))
    }
    return tuple(dict.fromkeys(name for span, name in spans.items() if not _is_inside(span, spans)))


def _is_inside(span: tuple[int, int], others: Iterable[tuple[int, int]]) -> bool:
    return any(other != span and other[0] <= span[0] and span[1] <= other[1] for other in others)


def chat_facts(channel: str, teams: Iterable[str], messages: Iterable[MessageSeen]) -> Found:
    """What was talked about lately in the channel of some teams: one document with the first lines of the newest
    messages. Who wrote them is left out, and so is everything that they claim."""
    found = Found()
    lines = list(_newest_lines(messages))
    if not lines or not name_key(channel):
        return found
    name, title = f"slack:{redact(channel)}", f"Recent messages in {redact(channel)}"
    summary = f"{title}, as people wrote them: {' / '.join(lines)}"
    found.nodes.append(NodeFact(Label.DOC, name, summary, properties={"source": "slack", "title": title}))
    found.edges += (
        EdgeFact(EdgeType.RELATION, Ref(Label.TEAM, team), Ref(Label.DOC, name), verb="talks in") for team in teams
    )
    return found


def _newest_lines(messages: Iterable[MessageSeen]) -> Iterator[str]:
    ordered = sorted(messages, key=lambda each: each.at.timestamp() if each.at else 0.0, reverse=True)
    for message in ordered[:MOST_LINES]:
        first = " ".join(redact(message.text).strip().partition("\n")[0].split())
        yield first if len(first) <= _MAX_LINE else first[: _MAX_LINE - 1] + "…"
