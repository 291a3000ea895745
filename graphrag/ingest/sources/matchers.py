"""The label matchers of a query, and the services that labels name. By pattern rather than by parsing, for panels
hold variables and other languages (`{app="cart"} |= "x"`) that no PromQL parser takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from graphrag.identity import name_key
from graphrag.ingest.sources.found import MAX_NAME
from graphrag.label_keys import NOTHING_LEARNT, Kind, Uses, kind_of, plain_key, weight_of

_MAX_QUERY = 20_000
_MATCHER = re.compile(
    r"""([A-Za-z_]\w{0,100})\s*(=~|=)\s*(?:"((?:\\.|[^"\\\n]){0,2000})"|'((?:\\.|[^'\\\n]){0,2000})')"""
)
_PLAIN = re.compile(r"[\w./ -]+")
_OF_A_SERVICE = frozenset({"service", "servicename", "svc"})
_NAMING = frozenset({Kind.SERVICE, Kind.WORKLOAD, Kind.RUNNING, Kind.PART, Kind.OTHER})
"""Kinds of key whose value may be what a rule or a panel is about. A place, a setting or a team of a service's name is
no service."""

Labels = Iterable[tuple[str, str]]
"""Labels or matchers: name and value."""


def matchers_of(query: str) -> list[tuple[str, str]]:
    """Each label that the query wants to equal a value, or one of some values: `job=~"a|b"` gives two."""
    found: list[tuple[str, str]] = []
    for label, operator, double, single in _MATCHER.findall(query[:_MAX_QUERY]):
        value = double or single
        values = value.strip("^$").removeprefix("(").removesuffix(")").split("|") if operator == "=~" else [value]
        found += [(label, each) for each in values if _PLAIN.fullmatch(each)]
    return list(dict.fromkeys(found))


def services_named(labels: Labels, services: Mapping[str, str], uses: Uses = NOTHING_LEARNT) -> list[str]:
    """The known services that labels name. `service` says it better than `app`, that better than `job`, and what a key
    of this organisation is used for (`uses`) counts too: one that holds other things names no service."""
    named: dict[tuple[bool, float], dict[str, None]] = {}
    for label, value in labels:
        service = services.get(name_key(value)) if 0 < len(value) <= MAX_NAME else None
        if service is not None and (rank := _rank(label, uses)) is not None:
            named.setdefault(rank, {})[service] = None
    return list(named[max(named)]) if named else []


def is_service_label(label: str) -> bool:
    return name_key(label) in _OF_A_SERVICE


def _rank(label: str, uses: Uses) -> tuple[bool, float] | None:
    """Greater for keys that say it better; None for those that say nothing."""
    kind, use = kind_of(label, uses), uses.get(plain_key(label))
    learnt = use is not None and use.holds_services
    if label == "alertname" or not (kind in _NAMING or (kind is Kind.PLACE and learnt)):
        return None
    if use is not None and use.holds_others and kind is Kind.OTHER:
        return None
    return is_service_label(label), weight_of(label, uses)
