"""Takes secrets out of text before a model, a trace, a database, Slack or a log sees it.

Patterns follow the token formats their makers publish; the last one catches `password=...` and the like.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

MASK = "[redacted]"

_SECRETS = re.compile(
    r"""
    -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    | \bxox[abeoprs]-[A-Za-z0-9-]{8,} | \bxapp-[A-Za-z0-9-]{8,}
    | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,} | \bglpat-[A-Za-z0-9_-]{16,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b | \bAIza[A-Za-z0-9_-]{30,} | \bsk-[A-Za-z0-9_-]{20,}
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*
    """,
    re.VERBOSE | re.DOTALL,
)
_BEARER = re.compile(r"\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_USERINFO = re.compile(r"(\b[a-z][a-z0-9+.-]{0,30}://)[^\s/@:]{0,300}:[^\s/@]{1,300}@", re.IGNORECASE)
_SECRET_NAME = r"(?:password|passwd|pwd|secret|api[_-]?key|access[_-]?key|token|credential)s?"
_NAMED = re.compile(
    rf"""({_SECRET_NAME}["']?\s*[=:]\s*)(?!\[redacted\])("[^"]+"|'[^']+'|[^\s,;&"'}})\]]+)""", re.IGNORECASE
)
_SECRET_KEY = re.compile(rf"{_SECRET_NAME}$", re.IGNORECASE)


def redact(text: str) -> str:
    """The text with each secret replaced by a mask; everything else as it was."""
    text = _SECRETS.sub(MASK, text)
    text = _BEARER.sub(rf"\1\2{MASK}", text)
    text = _USERINFO.sub(rf"\1{MASK}@", text)
    return _NAMED.sub(rf"\1{MASK}", text)


def redact_values(values: Mapping[str, str]) -> dict[str, str]:
    """The same mapping with its values redacted, and masked whole where the key itself names a secret."""
    return {key: MASK if _SECRET_KEY.search(key) and value else redact(value) for key, value in values.items()}
