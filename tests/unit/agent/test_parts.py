import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

from agent.known import Part, Way
from agent.loop import investigate
from agent.material import material, part_material
from agent.model import Answer, Completion, DraftClaim, ModelError
from agent.report import build
from agent.state import AskModel, AskParts, Budget, Event, Finish, ModelClaim, PartAnswered, State, Step, next_step
from agent.tools import NoServers, World, instructions, perform
from graphrag.sqlite_store import SqliteStore
from tests.unit.agent.scene import INCIDENT, OPENED, consulted, equipped, known, located, replied, state

MONEY = Part(
    community=known("money", "Community"),
    title="checkout-api and 1 more",
    text="Owned by payments: checkout-api.",
    services=(known("checkout-api", summary="Takes the money.", owner="payments"),),
)
FILES = Part(community=known("files", "Community"), title="depot", text="No owner known: depot.", services=())
QUESTION = INCIDENT.model_copy(update={"alerts": (), "question": "What takes money, across teams?"})
WHOLE = located("unresolved", names=(), route="whole", explanation="it asks about more than one thing")
READ = consulted(service=None, team=None, dependencies=(), dependents=(), runbooks=(), parts=(MONEY, FILES))


def whole(*events: Event, model: str = "m", **changes: object) -> State:
    return state(WHOLE, READ, equipped(), *events, incident=QUESTION, model=model, **changes)


def told(community: str = "community-money", **changes: object) -> PartAnswered:
    return PartAnswered.model_validate({"at": OPENED, "community": community, **changes})


def decide(subject: State) -> Step:
    return next_step(subject, OPENED + timedelta(seconds=5), lambda _: ())


# What is done next ----------------------------------------------------------------------------------------------------


def test_the_model_is_asked_for_each_part_and_then_for_the_whole() -> None:
    assert decide(whole()) == AskParts(communities=("community-money", "community-files"))
    assert decide(whole(told(), told("community-files"))) == AskModel()
    answered = whole(told(), told("community-files"), replied(verdict="Two."))
    assert decide(answered) == Finish(reason="the model has what it needs")


def test_without_a_model_the_graphs_own_words_are_the_answer() -> None:
    assert decide(whole(model="")) == Finish(reason="the plan is done; no model is configured")


def test_no_more_parts_are_asked_for_than_the_budget_has_calls() -> None:
    assert decide(whole(budget=Budget(calls=1))) == AskParts(communities=("community-money",))
    assert decide(whole(told(), budget=Budget(calls=1))) == AskModel()


def test_what_the_parts_cost_counts() -> None:
    spent = whole(told(input_tokens=900, output_tokens=200), told("community-files"), budget=Budget(tokens=1_000))
    assert decide(spent) == Finish(reason="the budget of 1000 tokens is spent")
    report = build(spent, status="complete")
    assert (report.spend.input_tokens, report.spend.output_tokens) == (900, 200)


async def test_the_loop_cannot_finish_an_answer_about_the_whole_before_the_graph_was_read() -> None:
    performed: list[str] = []
    answers = {"locate": [WHOLE], "consult": [READ], "equip": [equipped()], "ask_parts": [told()], "ask_model": []}
    answers["ask_parts"].append(told("community-files"))
    answers["ask_model"].append(replied(verdict="Two."))

    async def act(_: State, step: Step) -> Sequence[Event]:
        performed.append(step.kind)
        return answers[step.kind]

    async def now() -> datetime:
        return OPENED

    subject = state(incident=QUESTION, model="m")
    await investigate(subject, perform=act, plan=lambda _: (), now=now)
    assert performed == ["locate", "consult", "equip", "ask_parts", "ask_model"]


# Asking ---------------------------------------------------------------------------------------------------------------


class PartsModel:
    """Answers with the part it was asked about, fails where the test says, and counts how many it answers at once."""

    name = "m"

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.now = self.most = 0
        self.instructions: list[str] = []

    async def complete(self, instructions: str, material: str, seconds: float) -> Completion:
        self.instructions.append(instructions)
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0)
        self.now -= 1
        if self.fails and self.fails in material:
            raise ModelError("the model's gateway cannot be reached")
        claims = (DraftClaim(text="It takes money.", evidence=("service-checkout-api",)),)
        return Completion(answer=Answer(verdict=f"Told {len(material)}.", claims=claims), input_tokens=3)


def world(tmp_path: object, model: PartsModel | None) -> World:
    async def embed(texts: Sequence[str]) -> list[list[float]]:
        return []

    return World(SqliteStore(f"{tmp_path}/unused.db", dimensions=2), embed, NoServers(), model)  # type: ignore[arg-type]


async def test_parts_are_asked_for_side_by_side_a_few_at_a_time(tmp_path: object) -> None:
    model = PartsModel()
    many = tuple(f"community-{number}" for number in range(10))
    events = await perform(world(tmp_path, model), whole(), AskParts(communities=many))
    assert [event.community for event in events if isinstance(event, PartAnswered)] == list(many)
    assert 1 < model.most <= 4
    assert set(model.instructions) == {instructions("part")}


async def test_a_part_that_the_model_does_not_tell_costs_only_itself(tmp_path: object) -> None:
    model = PartsModel(fails="depot")
    step = AskParts(communities=("community-money", "community-files"))
    first, second = await perform(world(tmp_path, model), whole(), step)
    assert isinstance(first, PartAnswered)
    assert isinstance(second, PartAnswered)
    assert (first.error, second.error) == ("", "the model's gateway cannot be reached")
    report = build(whole(first, second), status="complete")
    assert [part.text for part in report.parts] == [first.text, FILES.text]
    assert any("did not tell of depot" in gap for gap in report.gaps)
    assert [claim.text for claim in report.claims if claim.kind == "model"] == ["It takes money."]


async def test_a_model_that_is_gone_leaves_the_graphs_words(tmp_path: object) -> None:
    (event,) = await perform(world(tmp_path, None), whole(), AskParts(communities=("community-money",)))
    assert isinstance(event, PartAnswered)
    assert event.error == "no model is configured any more"


def test_the_model_is_shown_one_part_when_it_writes_it_and_all_when_it_merges_them() -> None:
    one = part_material(whole(), "community-money")
    assert "What takes money" in one
    assert "Takes the money." in one
    assert "depot" not in one
    both = material(whole(told(text="Checkout takes it.")))
    assert "Checkout takes it." in both
    assert "No owner known: depot." in both


# Reporting ------------------------------------------------------------------------------------------------------------


def test_the_models_verdict_is_the_merged_answer() -> None:
    report = build(whole(replied(verdict="Only checkout-api takes money.")), status="complete")
    assert report.verdict == "Only checkout-api takes money."


def test_a_models_claim_about_a_part_without_evidence_is_unproven() -> None:
    claims = (ModelClaim(text="Depot takes money."),)
    report = build(whole(told(text="x", claims=claims)), status="complete")
    assert report.unproven == ("Depot takes money.",)


def test_what_is_left_out_is_said() -> None:
    read = READ.model_copy(update={"more_parts": 3})
    gaps = build(state(WHOLE, read, incident=QUESTION), status="complete").gaps
    assert any(gap.startswith("3 more communities") for gap in gaps)
    way = Way(nodes=(known("a"), known("b")), text="a depends on b.")
    paths = READ.model_copy(update={"parts": (), "ways": (way, way), "more_ways": True})
    ends = located("unresolved", names=(), route="paths", ends=(known("a"), known("b")))
    report = build(state(ends, paths, incident=QUESTION), status="complete")
    assert report.verdict == "a and b hang together in 2 ways of 1 step. a depends on b."
    assert any("more paths" in gap for gap in report.gaps)


def test_a_graph_that_failed_is_no_empty_answer() -> None:
    failed = consulted(service=None, team=None, dependencies=(), dependents=(), runbooks=(), error="no route")
    report = build(state(WHOLE, failed, incident=QUESTION), status="complete")
    assert report.verdict.endswith("the graph does not answer.")
    assert "The graph could not be read: no route" in report.gaps
