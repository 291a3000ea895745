"""Which pages helped, said by people of the incidents that were offered them: the prior that ranking gives a page.

What was said is kept as records, one for each incident and page, so that saying it again counts once and taking it back
undoes it. The page carries the sums (`offered`, `helped`), which `graphrag.rank.prior` reads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from graphrag.model import History, Node, Record, Rewrite
from graphrag.store import GraphStore
from graphrag.stored import time_text

PAGE_VERDICT = "page_verdict"
MAX_VERDICTS = 2_000
"""The most that are kept of a tenant: beyond it the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Of how many incidents somebody said whether the page helped, and in how many it did."""

    offered: int
    helped: int


async def say(
    store: GraphStore, tenant: str, page: Node, investigation: str, *, helped: bool, by: str, now: datetime
) -> Usage:
    """Keep that the page helped with an incident or did not; what was said of the two before is replaced. Raises
    `GraphError`."""
    said = Record(
        PAGE_VERDICT,
        f"{investigation} {page.id}",
        {"page": page.id, "investigation": investigation, "helped": helped, "by": by, "at": time_text(now)},
    )
    kept = {record.id: record for record in await store.records(tenant, PAGE_VERDICT)} | {said.id: said}
    oldest_first = sorted(kept.values(), key=lambda record: (str(record.body["at"]), record.id))
    forgotten = oldest_first[:-MAX_VERDICTS]
    forget = tuple((PAGE_VERDICT, record.id) for record in forgotten)
    await store.rewrite(tenant, [], lambda _: Rewrite(History(), records=(said,), forget=forget))
    await refresh(store, tenant, {page.id, *(str(record.body["page"]) for record in forgotten)})
    return usages(await store.records(tenant, PAGE_VERDICT)).get(page.id, Usage(0, 0))


async def refresh(store: GraphStore, tenant: str, pages: Collection[str] | None = None) -> None:
    """Bring the sums that pages carry up to what was said; None means all pages that something was said of. Raises
    `GraphError`."""
    found = usages(await store.records(tenant, PAGE_VERDICT))
    wanted = found.keys() if pages is None else set(pages)
    sums = {id: found.get(id, Usage(0, 0)) for id in sorted(wanted)}
    if sums:
        await store.annotate(
            tenant, {id: {"offered": each.offered, "helped": each.helped} for id, each in sums.items()}
        )


def usages(said: Iterable[Record]) -> Mapping[str, Usage]:
    """By the page's id. Pure."""
    of_page: dict[str, list[bool]] = defaultdict(list)
    for record in said:
        of_page[str(record.body["page"])].append(bool(record.body["helped"]))
    return {page: Usage(len(verdicts), sum(verdicts)) for page, verdicts in of_page.items()}
