"""Vectors that lie together: which centroid each is nearest to, and where a crowd is best cut in two. Pure."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 4
_LEAST_SHARE = 0.125
"""Of a crowd, what the smaller half must hold; else it is cut in the middle of the line between the two."""
_AT_ONCE = 2_048


def nearest_of(units: NDArray[np.float32], centroids: NDArray[np.float32]) -> NDArray[np.int64]:
    """For each of the unit vectors, shape (n, dimensions), the place of the centroid with the highest cosine, (n,)."""
    parts = [
        np.argmax(units[start : start + _AT_ONCE] @ centroids.T, axis=1) for start in range(0, len(units), _AT_ONCE)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)


def halves(units: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of two or more unit vectors, shape (n, dimensions), in two parts that lie together each: k-means with
    k = 2 by cosine (Dhillon and Modha, 2001), begun from two that lie far apart. No part is empty."""
    first = units[np.argmin(units @ units.mean(axis=0))]
    second = units[np.argmin(units @ first)]
    for _ in range(_ROUNDS):
        of_first = units @ first >= units @ second
        if of_first.all() or not of_first.any():
            break
        first, second = _middle(units[of_first]), _middle(units[~of_first])
    order = np.argsort(units @ (second - first), kind="stable")
    cut = int(np.count_nonzero(units @ first >= units @ second))
    if min(cut, len(units) - cut) < _LEAST_SHARE * len(units):
        cut = len(units) // 2
    return order[:cut], order[cut:]


def _middle(units: NDArray[np.float32]) -> NDArray[np.float32]:
    middle = units.mean(axis=0)
    return middle / (np.linalg.norm(middle) or 1.0)
