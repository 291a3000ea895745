"""What a measurement gives, and how many numbers become one."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """One number of ours beside the same number of a named reference, both in `unit`."""

    bench: str
    value: float
    unit: str
    reference: str
    reference_value: float

    def line(self) -> str:
        """The measurement as a line of JSON. `ratio` is ours by the reference's, null when the reference is 0."""
        ratio = _short(self.value / self.reference_value) if self.reference_value else None
        fields: dict[str, str | float | None] = {
            "bench": self.bench,
            "value": _short(self.value),
            "unit": self.unit,
            "reference": self.reference,
            "reference_value": _short(self.reference_value),
            "ratio": ratio,
        }
        return json.dumps(fields)


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` (over 0, up to 1) of the values do not exceed (nearest rank)."""
    if not values or not 0 < share <= 1:
        raise ValueError("percentile needs values and a share over 0 and up to 1")
    return sorted(values)[math.ceil(share * len(values)) - 1]


def note(text: str) -> None:
    """Progress, for the person who waits."""
    print(text, file=sys.stderr, flush=True)


def _short(value: float) -> float:
    """Four significant digits: more would be noise."""
    return float(f"{value:.4g}")
