"""One thing, many names: the key space in which names and aliases of one entity meet.

Only equal keys join without asking. Similar keys never do: `kafka-consumer-1` and `kafka-consumer-2` read almost
alike and are different things.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_SEPARATORS = re.compile(r"(?P<between_digits>(?<=\d)[\s\-_.:/\\]+(?=\d))|[\s\-_.:/\\]+")
_CAMEL_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=100_000)
def name_key(name: str) -> str:
    """The key under which every spelling of one name meets: `payments-api`, `PaymentsAPI` and `payments_api` give
    `paymentsapi`.

    Separators and case carry no identity, except between digits, where dropping them would join `shard-1-1` with
    `shard-11`. Other symbols stay, so `c` and `c++` differ. A name of separators only keeps them.
    """
    text = _folded(_folded(name))
    kept = _folded(_SEPARATORS.sub(lambda match: "-" if match["between_digits"] else "", text))
    return kept or text


def identifier_key(identifier: str) -> str:
    """The key of a strong identifier: a repository's URL or an id in a catalogue. It is compared as it is, and no
    name has such a key, as a name's never begins with a control character."""
    return "\x1f" + identifier.strip().encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _folded(text: str) -> str:
    """Without regard to case or composition. Folding can bring forth what composes anew, and so can taking what stood
    between two characters away: a key is folded until it is its own."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).strip().casefold())


def name_words(name: str) -> tuple[str, ...]:
    """The words a name is made of, lower-case: `PaymentsAPI_v2` gives `payments`, `api`, `v2`."""
    if name.isascii() and name.isalnum() and (lower := name.lower())[1:] == name[1:]:
        return (lower,)  # most are one word, and this is asked of each word of many pages
    spaced = _CAMEL_BOUNDARY.sub(" ", unicodedata.normalize("NFKC", name))
    return tuple(word.casefold() for word in re.findall(r"[^\W_]+", spaced))
