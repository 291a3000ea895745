"""What a report says of a question about more than one service: its parts, its sentences, its verdict. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from agent.known import Frozen, Known, Part
from agent.state import Consulted, PartAnswered, State


class PartTold(Frozen):
    """One community's share of the answer. `services` are the members that matter, the most relevant first; `text` is
    the model's where there is one and it answered, else made of the facts; `evidence` are ids."""

    community: str
    title: str
    text: str
    services: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


def parts_told(state: State) -> tuple[PartTold, ...]:
    """The parts of an answer about the whole, the most relevant first; none where it is about something else."""
    answers = {answer.community: answer for answer in state.part_answers}
    parts = state.consulted.parts if state.consulted else ()
    return tuple(_told(part, answers.get(part.community.id)) for part in parts)


def _told(part: Part, answer: PartAnswered | None) -> PartTold:
    return PartTold(
        community=part.community.id,
        title=part.title,
        text=(answer.text if answer else "") or part.text,
        services=tuple(service.name for service in part.services),
        evidence=(part.community.id, *(service.id for service in part.services)),
    )


def sentences(state: State) -> Iterator[tuple[str, tuple[str, ...]]]:
    """What the graph says, each sentence with the ids of its evidence."""
    consulted = state.consulted
    if consulted is None:
        return
    for way in consulted.ways:
        yield way.text, tuple(node.id for node in way.nodes)
    for part in consulted.parts:
        shown = (*part.services, *part.suppliers, *part.incidents)
        yield f"{part.title}: {part.text}", (part.community.id, *dict.fromkeys(each.id for each in shown))


def evidence_of(consulted: Consulted) -> Iterator[Known]:
    """Every entity that the sentences stand on."""
    for way in consulted.ways:
        yield from way.nodes
    for part in consulted.parts:
        yield part.community
        yield from (*part.services, *part.suppliers, *part.incidents)


def verdict(state: State) -> str:
    """What the answer is about, and how much it covers; empty for a question about one service."""
    located, consulted = state.located, state.consulted
    if located is None or located.route == "point" or consulted is None:
        return ""
    if consulted.error:
        return "This is a question about more than one service, and the graph does not answer."
    model_says = next((reply.verdict for reply in reversed(state.replies) if reply.verdict), "")
    if model_says:
        return model_says
    return _of_paths(located.ends, consulted) if located.route == "paths" else _of_the_whole(consulted)


def _of_paths(ends: tuple[Known, ...], consulted: Consulted) -> str:
    names = " and ".join(each.name for each in ends)
    first = next(iter(consulted.ways), None)
    if first is None:
        return f"The graph knows no way in which {names} hang together."
    ways, steps = len(consulted.ways), len(first.nodes) - 1
    count = f"{ways} way{'s' * (ways != 1)} of {steps} step{'s' * (steps != 1)}"
    return f"{names} hang together in {count}. {first.text}"


def _of_the_whole(consulted: Consulted) -> str:
    if not consulted.parts:
        return "This is a question about the whole, and nothing in the graph's communities has to do with it."
    services = sum(len(part.services) for part in consulted.parts)
    first = ", ".join(service.name for part in consulted.parts for service in part.services[:1])
    what = "community" if len(consulted.parts) == 1 else "communities"
    return (
        f"This is an answer about the whole, from {len(consulted.parts)} {what} with {services} "
        f"service{'s' * (services != 1)} that have to do with it; first in each: {first}."
    )


def gaps(state: State) -> Iterator[str]:
    """What an answer about more than one service leaves out, each with the reason."""
    consulted = state.consulted
    if consulted is None:
        return
    if consulted.more_parts:
        yield f"{consulted.more_parts} more communities have something to do with the question and are not shown."
    if consulted.more_ways:
        yield "There are more paths than shown, or the search for them was cut off at its cap."
    for answer in state.part_answers:
        if answer.error:
            title = next((part.title for part in consulted.parts if part.community.id == answer.community), "a part")
            yield f"The model did not tell of {title} ({answer.error}); its part is made of the facts alone."
