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
from evaluation.exceptions import ArmFailed, QualityError
from evaluation.measures import Difference, Interval, averages, hit_at, interval, paired
from evaluation.replies import Cost
from evaluation.simulation import Progress, no_progress, side_by_side
from evaluation.skill_arms import BY_PAPER, Rule
from evaluation.split import Case, Split
from evaluation.warm_up import ArmOptions, StreamedArm, WarmedUp
from operators.evolve.proposals import RulesReasoner

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


@dataclass(frozen=True, slots=True)
class Entry:
    """An arm of the registry."""

    description: str
    make: Callable[[ArmOptions], Any]
    asks: bool = False


def _skills(rule: Rule) -> tuple[str, Entry]:
    return rule.name, Entry(rule.description, partial(WarmedUp, rule))


def _llm(rule: Rule) -> tuple[str, Entry]:
    def make(options: ArmOptions) -> Arm:
        from evaluation.llm import LlmArm  # noqa: PLC0415

        return LlmArm(rule, options)

    return rule.name, Entry(rule.description, make, asks=True)


# The arms of `sager eval` by name, in the order in which reports list them.
ARMS: Mapping[str, Entry] = dict(
    [
        ("random", Entry("chance", lambda _: Random())),
        ("popularity", Entry("how many users met the item", lambda _: Popularity())),
        ("item-knn", Entry("cosine of the items' users, shrunk; no attributes", lambda _: ItemKnn())),
        ("profile", Entry("TF-IDF profile of all facts that the parsers find", lambda _: Profile())),
        ("item-knn+profile", Entry("both, as standard scores added", lambda _: KnnAndProfile())),
        _skills(Rule("prior", "StatInit alone: no community, no evolution", retrieves=False, learns=False)),
        _skills(Rule("no-skill", "retrieve only, by the streamed graph (MemRec)", ranks=False, learns=False)),
        _skills(Rule("statinit", "retrieve and StatInit, no evolution", learns=False)),
        ("sager", Entry("the product as it ships: choices in a stream, learned weights", StreamedArm)),
        _skills(Rule("sager-counts", "retrieve and a skill that counts, with a new domain's weights")),
        _skills(
            Rule(
                "sager-rules",
                "the same in the mode paper: one tier a choice, by rules",
                evolve=BY_PAPER,
                reason=lambda: RulesReasoner().reason,
            )
        ),
        _skills(Rule("sager-no-statinit", "as sager-counts, but skills start from nothing", from_history=False)),
        _skills(Rule("sager-no-collaborative", "as sager-counts, without the community", retrieves=False)),
        _skills(Rule("sager-no-propagate", "as sager-counts, with the user's own memory only", propagates=False)),
        _llm(Rule("no-skill-llm", "retrieve only; an LLM ranks", ranks=False, learns=False)),
        _llm(Rule("statinit-llm", "retrieve and StatInit; an LLM ranks", learns=False)),
        _llm(Rule("sager-llm", "all of SAGER by an LLM, which evolves skills and ranks")),
    ]
)


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
