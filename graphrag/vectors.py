"""What every store holds true of embeddings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphrag.errors import GraphMisconfigured
from graphrag.store import Vector

REMEDY = "Run `incident-graph ingest --refit DIR...` to embed everything anew, or go back to the embedding used before."


def checked(vector: Vector, dimensions: int) -> NDArray[np.float32]:
    """The vector as float32 of shape (dimensions,). Raises `GraphMisconfigured` when it is longer or shorter."""
    array = np.asarray(vector, dtype=np.float32)
    if array.shape != (dimensions,):
        raise GraphMisconfigured(
            f"The graph keeps embeddings of {dimensions} numbers, and this one has {array.size}. {REMEDY}"
        )
    if not np.isfinite(array).all():
        raise ValueError("An embedding holds a number that is not finite.")
    return array


def other_dimensions(stored: int, wanted: int) -> GraphMisconfigured:
    return GraphMisconfigured(
        f"The graph keeps embeddings of {stored} numbers, and the settings' embedding makes {wanted}. {REMEDY}"
    )
