"""Finds the hosts that a setting names: `http://cart:8080`, `cart:7070`, `redis`."""

from __future__ import annotations

import re

MAX_VALUE = 4_000
_HOST = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?"
_BARE = re.compile(rf"{_HOST}\Z")
_AFTER_SCHEME = re.compile(rf"://(?:[^/@\s,]{{0,300}}@)?({_HOST})(?![\w:]*@)")
_WITH_PORT = re.compile(rf"(?:(?<=://)|(?<![\w./:-]))({_HOST}):\d{{1,5}}(?![\w.@-])")
_OF_CONNECTION = re.compile(
    rf"(?:\A|[;\s])(?:host|hostname|server|data source|addr|address)\s*=\s*({_HOST})(?=[;,\s:]|\Z)", re.IGNORECASE
)
_PLACES = frozenset(
    "addr address addresses backend broker brokers endpoint endpoints host hostname hosts node nodes peers proxy seed"
    " seeds server servers target targets upstream upstreams uri uris url urls".split()
)
_NO_PLACES = frozenset(
    "bucket class cluster collection command database db dialect dir driver engine env environment file format group"
    " id image index key kind label labels level mode name namespace password path prefix profile profiles queue region"
    " role schema secret stream suffix table tag tags token topic topics type user username version".split()
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def named_hosts(setting: str, value: str) -> list[str]:
    """The hosts in a value, lower-case and in order. A lone word is one too, unless the setting's last word says that
    it names something else, such as a topic; of several words with commas only where it says that they are hosts."""
    if len(value) > MAX_VALUE:
        return []
    words = [word.lower() for word in _WORDS.findall(setting[:MAX_VALUE])]
    if words and words[-1] == "image":
        return []
    found = [*_AFTER_SCHEME.findall(value), *_WITH_PORT.findall(value), *_OF_CONNECTION.findall(value)]
    parts = [part.strip() for part in value.split(",")]
    last = words[-1] if words else ""
    if last not in _NO_PLACES and (len(parts) == 1 or not _PLACES.isdisjoint(words[-2:])):
        found += [part for part in parts if _BARE.match(part)]
    return list(dict.fromkeys(host.lower() for host in found if not host.isdigit()))
