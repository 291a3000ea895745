import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphrag.clusters import halves, nearest_of

sizes = st.integers(2, 200)
seeds = st.integers(0, 10_000)


def unit_vectors(seed: int, count: int, dimensions: int = 8) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@given(seeds, sizes)
def test_every_vector_is_in_one_of_two_halves_and_none_is_empty(seed: int, count: int) -> None:
    first, second = halves(unit_vectors(seed, count))
    assert sorted([*first.tolist(), *second.tolist()]) == list(range(count))
    assert min(len(first), len(second)) >= max(1, count // 8)


@given(seeds, st.integers(1, 50), st.integers(1, 20))
def test_the_nearest_centroid_is_the_one_with_the_highest_cosine(seed: int, count: int, centroids: int) -> None:
    units, middles = unit_vectors(seed, count), unit_vectors(seed + 1, centroids)
    found = nearest_of(units, middles)
    for unit, at in zip(units, found.tolist(), strict=True):
        cosines = [float(unit @ middle) for middle in middles]
        assert cosines[at] >= max(cosines) - 1e-6


def test_two_crowds_are_told_apart() -> None:
    draw = np.random.default_rng(3)
    around = np.concatenate([np.tile([1.0, 0.0, 0.0], (40, 1)), np.tile([0.0, 1.0, 0.0], (60, 1))])
    rows = (around + draw.normal(scale=0.05, size=around.shape)).astype(np.float32)
    parts = halves(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    assert sorted(map(sorted, map(np.ndarray.tolist, parts))) == [list(range(40)), list(range(40, 100))]


def test_vectors_that_are_all_the_same_are_cut_in_the_middle() -> None:
    first, second = halves(np.tile(np.array([0.6, 0.8], dtype=np.float32), (9, 1)))
    assert (len(first), len(second)) in {(4, 5), (5, 4)}


def test_no_vector_has_no_nearest_centroid() -> None:
    assert nearest_of(np.zeros((0, 2), dtype=np.float32), np.ones((1, 2), dtype=np.float32)).tolist() == []
