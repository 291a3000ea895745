"""Learns from a tenant's rules which label keys hold names of services, and keeps it beside the graph."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping

from graphrag.identity import name_key
from graphrag.label_keys import Use, Uses, plain_key
from graphrag.model import Label, Node
from graphrag.signals import MAX_VALUE, matchers
from graphrag.store import GraphStore

_MAX_KEYS = 500
_MAX_VALUES = 5_000


async def refresh(store: GraphStore, tenant: str) -> None:
    """Learn the keys' uses from the tenant's rules and keep them beside the graph. Raises `GraphError`."""
    values = values_by_key(await store.all_nodes(tenant, [Label.ALERT]))
    keys = {name_key(value) for of_key in values.values() for value in of_key}
    named = await store.resolve(tenant, [key for key in keys if key], [Label.SERVICE, Label.TEAM])
    uses = uses_of(values, named)
    told = {key: (use.services, use.teams, use.values) for key, use in uses.items()}
    await store.put_meta(_meta(tenant), json.dumps(told).encode())


async def known_uses(store: GraphStore, tenant: str) -> Uses:
    """What the last `refresh` learnt; nothing before the first. Raises `GraphError`."""
    kept = await store.get_meta(_meta(tenant))
    return {key: Use(*counts) for key, counts in json.loads(kept).items()} if kept else {}


def values_by_key(rules: Iterable[Node]) -> dict[str, set[str]]:
    """The values that the rules' own labels and the matchers of their expressions give each key."""
    values: dict[str, set[str]] = defaultdict(set)
    for rule in rules:
        labels = rule.properties.get("labels", ())
        for label in labels if isinstance(labels, tuple) else ():
            key, _, value = label.partition("=")
            values[plain_key(key)].add(value[:MAX_VALUE])
        for key, value in matchers(str(rule.properties.get("expression", ""))):
            if key != "__name__":
                values[plain_key(key)].add(value[:MAX_VALUE])
    return {key: set(sorted(values[key])[:_MAX_VALUES]) for key in sorted(values)[:_MAX_KEYS] if key}


def uses_of(values: Mapping[str, Iterable[str]], named: Mapping[str, Iterable[Node]]) -> dict[str, Use]:
    """`named`: key of a name -> the services and teams of that name."""
    uses: dict[str, Use] = {}
    for key, of_key in values.items():
        kinds = [{node.label for node in named.get(name_key(value), ())} for value in of_key]
        services, teams = (sum(label in kind for kind in kinds) for label in (Label.SERVICE, Label.TEAM))
        uses[key] = Use(services, teams, len(kinds))
    return uses


def _meta(tenant: str) -> str:
    return f"label-keys:{tenant}"
