import numpy as np
import pytest

from bench.finding_data import Organisation
from graphrag.embed import HashedNgrams

DIMENSIONS = 384


def test_the_same_size_gives_the_same_organisation() -> None:
    first, second = (
        [(part.facts.nodes, part.facts.edges, part.vectors) for part in Organisation(600).writes(DIMENSIONS)]
        for _ in range(2)
    )
    assert first == second


def test_it_has_as_many_entities_as_were_asked_for() -> None:
    assert sum(len(part.facts.nodes) for part in Organisation(1_000).writes(DIMENSIONS)) == 1_000


def test_a_vector_is_near_to_what_the_embedding_makes_of_the_text() -> None:
    embedding = HashedNgrams(DIMENSIONS)
    for part in Organisation(300).writes(DIMENSIONS):
        for node, vector in zip(part.facts.nodes, part.vectors.values(), strict=True):
            true = np.array(embedding.vector(f"{node.name} {node.summary}"))
            assert float(true @ np.array(vector)) > 0.8


@pytest.mark.parametrize("entities", [300, 2_000])
def test_every_alert_speaks_of_a_service_that_is_there(entities: int) -> None:
    organisation = Organisation(entities)
    spoken = {"".join(word.capitalize() for word in name.split("-")) for name in organisation.service_names}
    for incident in organisation.incidents(12):
        assert any(incident.title.startswith(name) for name in spoken)
