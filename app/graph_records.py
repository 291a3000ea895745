"""What was decided about the graph, or is about to be, as those who ask see it: previews, merges, corrections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from agent.report import BlastRadius
from app.graph_views import Lived, Named, View, lived, named, radius_in_short, said
from graphrag.corrections import Correction
from graphrag.label_rules import LabelRule
from graphrag.merging import Merge, Preview
from graphrag.model import Edge, Node
from graphrag.proposals import Proposal

MOST_FACTS = 100
"""How many facts of each kind a preview shows; it counts them all."""


class Aliased(Named):
    """An entity and the other names that lead to it."""

    aliases: tuple[str, ...]


class Stated(View):
    """A fact in words, with its life. `scope` is `world`, or says whose memory it is."""

    fact: str
    type: str
    scope: str
    life: Lived


class Facts(View):
    """`count` facts, the first of them shown."""

    count: int
    shown: tuple[Stated, ...]


class Contradiction(View):
    """What the two say differently of which there can be one only: `about` is `owner` or `repository`."""

    about: str
    keep: str
    drop: str


class Radii(View):
    """The blast radii of both as they are, and of the one they would become; empty for what is no service."""

    keep_before: BlastRadius
    drop_before: BlastRadius
    after: BlastRadius


class Previewed(View):
    """What a merge would do. `gained`: names that lead to `keep` from then on; `moved`: facts of `drop` alone;
    `combined`: facts that both have; `ended`: edges between the two. `token` confirms exactly this."""

    token: str
    keep: Named
    drop: Named
    gained: tuple[str, ...]
    moved: Facts
    combined: Facts
    ended: Facts
    conflicts: tuple[Contradiction, ...]
    blast_radius: Radii


class Merged(View):
    """A merge. `undone_at` is empty while it stands."""

    id: str
    keep: str
    drop: str
    names: tuple[str, str]
    reason: str
    by: str
    at: str
    undone_at: str
    undone_by: str


class Corrected(View):
    """A correction. `lifted_at` is empty while it stands."""

    id: str
    action: str
    type: str
    source: str
    target: str
    verb: str
    names: tuple[str, str]
    reason: str
    by: str
    at: str
    lifted_at: str
    lifted_by: str


class Ruled(View):
    """A rule: alerts whose `label` has this `value` (and whose name is `alertname`, if it has one) are about the
    service. `investigation` is the one it was learnt from, if it was; `lifted_at` is empty while it stands."""

    id: str
    label: str
    value: str
    alertname: str
    service: str
    name: str
    reason: str
    by: str
    at: str
    investigation: str
    lifted_at: str
    lifted_by: str


class Learned(View):
    """What a correction taught: `alias` or `rule`, whichever it became. `certainty` is that with which the same alerts
    are located now, and `says` tells it all, and how to undo it, in words."""

    service: Named
    alias: str | None
    rule: Ruled | None
    certainty: str
    says: str


class PageSaid(View):
    """Of how many investigations somebody said whether the page helped (`offered`), and in how many it did."""

    page: Named
    offered: int
    helped: int


class Proposed(View):
    """Two entities that may be one, for a person to merge or to reject. `likeness` of their names is from 0 to 1."""

    id: str
    left: Named
    right: Named
    names: tuple[str, str]
    likeness: float
    reason: str
    since: datetime


class Rejected(View):
    """A proposal that will not be made again."""

    id: str
    by: str
    reason: str


def aliased(node: Node) -> Aliased:
    return Aliased(id=node.id, label=node.label.value, name=node.name, aliases=node.aliases)


def previewed(seen: Preview, ends: Mapping[str, Node]) -> Previewed:
    """`ends`: the nodes that the edges of the preview touch."""
    return Previewed(
        token=seen.token,
        keep=named(seen.kept),
        drop=named(seen.dropped),
        gained=seen.gained,
        moved=_facts(seen.moved, ends),
        combined=_facts(seen.combined, ends),
        ended=_facts(seen.ended, ends),
        conflicts=tuple(Contradiction(about=one.about, keep=one.kept, drop=one.dropped) for one in seen.conflicts),
        blast_radius=Radii(
            keep_before=radius_in_short(seen.kept_before),
            drop_before=radius_in_short(seen.dropped_before),
            after=radius_in_short(seen.after),
        ),
    )


def merged(merge: Merge) -> Merged:
    return Merged(
        id=merge.id,
        keep=merge.kept,
        drop=merge.dropped,
        names=merge.names,
        reason=merge.reason,
        by=merge.by,
        at=merge.at,
        undone_at=merge.undone_at,
        undone_by=merge.undone_by,
    )


def corrected(correction: Correction) -> Corrected:
    return Corrected(**{name: getattr(correction, name) for name in Corrected.model_fields})


def ruled(rule: LabelRule) -> Ruled:
    return Ruled(**{name: getattr(rule, name) for name in Ruled.model_fields})


def proposed(proposal: Proposal, ends: Mapping[str, Node]) -> Proposed:
    alike = proposal.alike
    return Proposed(
        id=proposal.id,
        left=named(ends[alike.left]),
        right=named(ends[alike.right]),
        names=alike.names,
        likeness=alike.likeness,
        reason=alike.reason,
        since=proposal.since,
    )


def _facts(edges: Sequence[Edge], ends: Mapping[str, Node]) -> Facts:
    shown = tuple(_stated(edge, ends) for edge in edges[:MOST_FACTS])
    return Facts(count=len(edges), shown=shown)


def _stated(edge: Edge, ends: Mapping[str, Node]) -> Stated:
    source, target = (
        named(ends[id]) if id in ends else Named(id=id, label="", name=id) for id in (edge.source, edge.target)
    )
    return Stated(fact=said(edge, source, target), type=edge.type.value, scope=edge.scope, life=lived(edge.life))
