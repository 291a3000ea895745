"""Learns from a tenant's rules which label keys hold names of services, and keeps it beside the graph."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping

from graphrag.identity import name_key
from graphrag.label_keys import Use, Uses, plain_key
from graphrag.model import Label, Node
from graphrag.signals import MAX_VALUE, matchers
from graphrag.store import GraphStore

_MAX_KEYS = 500
_MAX_VALUES = 5_000


async def refresh(store: GraphStore, tenant: str) -> None:
    """Learn the keys' uses from the tenant's rules and keep them beside the graph. Raises `GraphError`."""
    values = values_by_key(map(_said, await store.all_nodes(tenant, [Label.ALERT])))
    keys = {name_key(value) for of_key in values.values() for value in of_key}
    named = await store.resolve(tenant, [key for key in keys if key], [Label.SERVICE, Label.TEAM])
    services, teams = (
        {key for key, nodes in named.items() if any(node.label is label for node in nodes)}
        for label in (Label.SERVICE, Label.TEAM)
    )
    uses = uses_of(values, services, teams)
    told = {key: (use.services, use.teams, use.values) for key, use in uses.items()}
    await store.put_meta(_meta(tenant), json.dumps(told).encode())


async def known_uses(store: GraphStore, tenant: str) -> Uses:
    """What the last `refresh` learnt; nothing before the first. Raises `GraphError`."""
    kept = await store.get_meta(_meta(tenant))
    return {key: Use(*counts) for key, counts in json.loads(kept).items()} if kept else {}


def _said(rule: Node) -> tuple[list[tuple[str, str]], str]:
    labels = rule.properties.get("labels", ())
    pairs = [label.partition("=") for label in labels] if isinstance(labels, tuple) else []
    return [(key, value) for key, _, value in pairs], str(rule.properties.get("expression", ""))


def values_by_key(rules: Iterable[tuple[Iterable[tuple[str, str]], str]]) -> dict[str, set[str]]:
    """The values that the rules' own labels and the matchers of their expressions give each key. Each rule is its
    labels and its expression."""
    values: dict[str, set[str]] = defaultdict(set)
    for labels, expression in rules:
        for key, value in (*labels, *(each for each in matchers(expression) if each[0] != "__name__")):
            values[plain_key(key)].add(value[:MAX_VALUE])
    return {key: set(sorted(values[key])[:_MAX_VALUES]) for key in sorted(values)[:_MAX_KEYS] if key}


def uses_of(values: Mapping[str, Iterable[str]], services: Container[str], teams: Container[str]) -> dict[str, Use]:
    """`services`, `teams`: the keys of their names."""
    uses: dict[str, Use] = {}
    for key, of_key in values.items():
        keys = [name_key(value) for value in of_key]
        uses[key] = Use(sum(each in services for each in keys), sum(each in teams for each in keys), len(keys))
    return uses


def _meta(tenant: str) -> str:
    return f"label-keys:{tenant}"
