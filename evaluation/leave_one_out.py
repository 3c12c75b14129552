"""The paper's protocol (3.1): rank each test user's last choice."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import orjson

from evaluation.baselines import ItemKnn, KnnAndProfile, Popularity, Profile, Random
from evaluation.community import Community, shared_world, taken_by
from evaluation.dataset import Sequences, works
from evaluation.exceptions import ArmFailed, QualityError
from evaluation.measures import Difference, Interval, averages, hit_at, interval, paired
from evaluation.plans import Choice, ListBuilder, ListKind, Plan
from evaluation.replies import Cost
from evaluation.simulation import Progress, no_progress, side_by_side, simulate
from evaluation.skill_arms import NO_SKILL, PRIOR, SAGER, STREAM_RULES, Rule, SkillArm
from evaluation.split import Case, Split
from evaluation.stream import choose, interleaved
from operators.graph.facets import Retrieved
from schemas import GlobalSkill
from streams.importers.dataset import BEGINNING, Visit

_ROW_START = b'{"finished_at"'


class Arm(Protocol):
    """One way to rank: trained once, then called per case.

    An arm with a model also has `spent`, its cost so far, and `aclose`.
    """

    @property
    def name(self) -> str:
        """Its name in `--arm` and reports."""
        ...

    async def train(self, split: Split, progress: Progress) -> None:
        """Train on the training part of a split."""
        ...

    async def rank(self, case: Case) -> tuple[str, ...]:
        """The candidates' ids, best first; must not change other answers."""
        ...


@dataclass(frozen=True)
class WarmUp:
    """The last training visits of test users as choices, and their contexts at the case."""

    plan: Plan
    contexts: Mapping[str, Retrieved]
    community: Community


def warm_up(split: Split, rounds: int, seed: int, progress: Progress, *, replays: bool = False) -> WarmUp:
    """Turn the last `rounds` training visits of each test user into choices, with the context before each.

    The lists are drawn like those of the cases. A visit counts once, in the history or as a choice, unless the choices
    `replay` visits of the history.
    """
    world = shared_world(split, progress)
    found = Sequences(split.data, split.domain, split.items, works(split.items), split.training)
    community = Community(found, split.facts, world)
    lister = ListBuilder(found, ListKind(split.candidates.value), seed, "warm-up")
    past, choices, populations = {}, dict[str, tuple[Choice, ...]](), dict[str, GlobalSkill]()
    at_case: dict[str, Retrieved] = {}
    for done, case in enumerate(split.cases, 1):
        user_id, visits = case.user_id, split.training[case.user_id]
        history = max(0, len(visits) - rounds)
        population = populations[user_id] = community.population(user_id)
        contexts = dict(enumerate(community.contexts(user_id, population, history, len(visits)), history))
        at_case[user_id] = contexts.pop(len(visits))
        past[user_id] = visits if replays else visits[:history]
        # Of a user who has met nearly all items, too few are left to show beside theirs.
        is_able = len(found.met(user_id)) <= lister.most_met
        made = (lister.choice(user_id, place, context, population) for place, context in contexts.items())
        choices[user_id] = tuple(made) if is_able else ()
        progress("lists", done, len(split.cases))
    plan = Plan(split.data, split.domain, lister.kind, 0, split.items, split.facts, past, choices, populations)
    return WarmUp(plan, at_case, community)


class FrozenArm:
    """An arm whose skills are frozen after training."""

    name: str
    skills: SkillArm
    _contexts: Mapping[str, Retrieved]

    async def rank(self, case: Case) -> tuple[str, ...]:
        """Rank with the frozen skill and weights."""
        context, popularity = self._contexts[case.user_id], taken_by(self.skills.plan.populations[case.user_id])
        choice = Choice(case.seed, Visit("", BEGINNING), case.candidates, context=context, popularity=popularity)
        return (await self.skills.rank(case.user_id, choice, case.instruction)).order


class StreamedArm(FrozenArm):
    """The product as it ships, or with a part left out: the stream up to the case.

    All but a test user's last `tau` training visits are history, and those come as choices from lists drawn like those
    of the cases: the worth of popularity depends on how lists come about, and the weights learn it from them. Then
    skills and weights are frozen.
    """

    def __init__(self, rule: Rule, seed: int, tau: int) -> None:
        self.name = rule.name
        self._rule, self._seed, self._tau = rule, seed, tau

    async def train(self, split: Split, progress: Progress) -> None:
        """Play the test users' warm-up."""
        made = warm_up(split, self._tau, self._seed, progress)
        self._contexts = made.contexts
        self.skills = SkillArm(self._rule, made.plan)
        turns = interleaved(made.plan.choices, self._seed)
        await simulate(turns, self.skills, choose, progress=progress, stage="warm-up")


@dataclass(frozen=True, slots=True)
class Entry:
    """An arm of the registry; `make` takes the seed and the rounds of warm-up."""

    description: str
    make: Callable[[int, int], Any]


def _prior(seed: int, _tau: int) -> StreamedArm:
    # No choice teaches it, so that all visits are history.
    return StreamedArm(Rule(PRIOR, "", retrieves=False, learns=False), seed, 0)


# The arms of `sager eval` by name, in the order in which reports list them.
ARMS: Mapping[str, Entry] = {
    "random": Entry("chance", lambda *_: Random()),
    "popularity": Entry("how many users met the item", lambda *_: Popularity()),
    "item-knn": Entry("cosine of the items' users, shrunk; no attributes", lambda *_: ItemKnn()),
    "profile": Entry("TF-IDF profile of all facts that the parsers find", lambda *_: Profile()),
    "item-knn+profile": Entry("both, as standard scores added", lambda *_: KnnAndProfile()),
    PRIOR: Entry("the skill of the history alone: no community, no evolution", _prior),
    NO_SKILL: Entry("the product without skills", partial(StreamedArm, STREAM_RULES[NO_SKILL])),
    SAGER: Entry("the product as it ships", partial(StreamedArm, STREAM_RULES[SAGER])),
}


@dataclass(frozen=True)
class Result:
    """The result of an arm: each target's rank, from 1.

    `cost` and `seconds` are of training and ranking, whichever run paid for it.
    """

    arm: str
    data: str
    candidates: str
    seed: int
    places: Mapping[str, int]
    cost: Cost
    seconds: float

    @property
    def ci95(self) -> Interval:
        """The bootstrap interval of Hit@1 over users."""
        return interval(hit_at(1, list(self.places.values())), self.seed)

    def minus(self, other: "Result") -> Difference | None:
        """The difference in Hit@1 on common users; None without any."""
        ours, theirs = ({u: float(place == 1) for u, place in each.places.items()} for each in (self, other))
        return paired(ours, theirs, self.seed)

    def as_json(self) -> dict[str, Any]:
        """Everything but the individual users, ready for JSON."""
        return {
            "arm": self.arm,
            "data": self.data,
            "candidates": self.candidates,
            "users": len(self.places),
            **{name: round(value, 4) for name, value in averages(list(self.places.values())).items()},
            "ci95_hit_at_1": [round(bound, 4) for bound in self.ci95],
            "llm_calls": self.cost.calls,
            "cached_calls": self.cost.cached_calls,
            "unusable": self.cost.unusable,
            "prompt_tokens": self.cost.prompt_tokens,
            "completion_tokens": self.cost.completion_tokens,
            "seconds": round(self.seconds, 3),
            "seed": self.seed,
        }


async def run(
    arm: Arm,
    split: Split,
    answers: Mapping[str, str],
    seed: int = 0,
    progress: Progress = no_progress,
    concurrency: int = 16,
) -> Result:
    """Train an arm and rank every case, several at a time.

    Raises:
        ArmFailed: it raised, or an answer is not a permutation of the candidates.
        QualityError: the arm's own error, which says what to do next.
    """
    began = time.monotonic()
    places: dict[str, int] = {}

    def spent() -> Cost:
        found: Cost = getattr(arm, "spent", Cost())
        return found

    def tell(stage: str, done: int, total: int, cost: str = "") -> None:
        progress(f"{arm.name}: {stage}", done, total, cost or (str(spent()) if spent().calls else ""))

    async def work(case: Case) -> None:
        try:
            order = await arm.rank(case)
        except QualityError:
            raise
        except Exception as error:
            raise ArmFailed(f"the arm {arm.name} failed on user {case.user_id}: {_named(error)}") from error
        if sorted(order) != sorted(case.candidates):
            raise ArmFailed(
                f"the arm {arm.name} answered user {case.user_id} with {len(order)} ids, which are not the "
                f"{len(case.candidates)} candidates, each exactly once"
            )
        places[case.user_id] = order.index(answers[case.user_id]) + 1
        tell("ranking", len(places), len(split.cases))

    try:
        try:
            await arm.train(split, tell)
        except QualityError:
            raise
        except Exception as error:
            raise ArmFailed(f"the arm {arm.name} failed in training: {_named(error)}") from error
        await side_by_side(split.cases, work, concurrency)
    finally:
        if hasattr(arm, "aclose"):
            await arm.aclose()
    in_order = {case.user_id: places[case.user_id] for case in split.cases}
    return Result(arm.name, split.data, split.candidates.value, seed, in_order, spent(), time.monotonic() - began)


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def add_result(path: Path, result: Result, fingerprint: str, options: Mapping[str, Any]) -> None:
    """Append a result to a file of JSON lines.

    DuckDB reads the file as it is: `SELECT arm, hit_at_1 FROM '.sager/quality.jsonl'`.

    Raises:
        QualityError: the file holds something else.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {"finished_at": datetime.now(UTC), "fingerprint": fingerprint, **result.as_json(), "options": options}
    with path.open("a+b") as file:
        file.seek(0)
        if file.read(len(_ROW_START)) not in (b"", _ROW_START):
            raise QualityError(f"{path} holds no results of evaluations: name another file with --results")
        file.write(orjson.dumps(row | {"places": dict(result.places)}, option=orjson.OPT_APPEND_NEWLINE))
