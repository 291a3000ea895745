"""The label matchers of a query, and the services that labels name. By pattern rather than by parsing, for panels
hold variables and other languages (`{app="cart"} |= "x"`) that no PromQL parser takes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from graphrag.identity import name_key
from graphrag.ingest.sources.found import MAX_NAME

_MAX_QUERY = 20_000
_MATCHER = re.compile(
    r"""([A-Za-z_]\w{0,100})\s*(=~|=)\s*(?:"((?:\\.|[^"\\\n]){0,2000})"|'((?:\\.|[^'\\\n]){0,2000})')"""
)
_PLAIN = re.compile(r"[\w./ -]+")
_OF_A_SERVICE = (
    frozenset({"service", "service_name", "servicename", "svc"}),
    frozenset({"app", "application", "component", "app_kubernetes_io_name", "label_app"}),
    frozenset({"job", "workload", "deployment", "statefulset", "daemonset", "container", "exported_job"}),
)
_OF_OTHER_THINGS = frozenset(
    "alertname channel cluster datacenter env environment instance le namespace notify owner pager priority quantile"
    " receiver region route severity slack stage squad team tier type zone".split()
)

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


def services_named(labels: Labels, services: Mapping[str, str]) -> list[str]:
    """The known services that labels name. `service` says it better than `app`, that better than `job`, and those
    better than any other; a team or a cluster of the same name is no service."""
    named: dict[int, dict[str, None]] = {}
    for label, value in labels:
        service = services.get(name_key(value)) if 0 < len(value) <= MAX_NAME else None
        if service is not None and (rank := _rank(label)) is not None:
            named.setdefault(rank, {})[service] = None
    return list(named[min(named)]) if named else []


def is_service_label(label: str) -> bool:
    return label.lower() in _OF_A_SERVICE[0]


def _rank(label: str) -> int | None:
    name = label.lower()
    if name in _OF_OTHER_THINGS:
        return None
    return next((rank for rank, names in enumerate(_OF_A_SERVICE) if name in names), len(_OF_A_SERVICE))
