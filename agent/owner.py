"""Who the report says owns the incident, by what that is known, and who is contradicted by it. Pure.

CODEOWNERS of the service's repository, read live, goes first, then the graph's owner of a service that is sure. Where
no service is sure, or nobody owns it, the team stands in that was found when the incident was located.
"""

from __future__ import annotations

from typing import Literal

from agent import reconcile
from agent.state import Frozen, Known, Located, State

OwnerCertainty = Literal["certain", "likely", "unknown"]


class Owner(Frozen):
    """Who to call. `channel` is None when none is known. `known_by` ends the sentence "the owner is known by …", or
    says why none is; only an owner of a service that is sure is `certain`."""

    team: str | None = None
    channel: str | None = None
    certainty: OwnerCertainty = "unknown"
    known_by: str = ""


def owner_of(state: State) -> Owner:
    """The owner by CODEOWNERS, by the graph, or by what the incident itself names."""
    live = reconcile.live_owner(state)
    if live:
        written, team, _ = live
        # A team that the graph does not know has no channel: the former owner's would be the wrong people.
        return Owner(
            team=team.name if team else written,
            channel=_channel(team),
            certainty="certain",
            known_by="CODEOWNERS of the service's repository",
        )
    service = state.consulted.service if state.consulted else None
    if state.consulted and service and state.consulted.team:
        team = state.consulted.team
        return Owner(
            team=team.name,
            channel=_channel(service) or _channel(team),
            certainty="certain",
            known_by=f"the graph's owner of {service.name}",
        )
    return _named(state.located, _channel(service))


def _named(located: Located | None, channel: str | None) -> Owner:
    if located is None:
        return Owner(channel=channel)
    if located.owner is None:
        return Owner(channel=channel, known_by=located.owner_known_by)
    return Owner(
        team=located.owner.name,
        channel=channel or _channel(located.owner),
        certainty="likely",
        known_by=located.owner_known_by,
    )


def _channel(of: Known | None) -> str | None:
    return (of.text("oncall_channel") if of else "") or None
