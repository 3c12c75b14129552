"""Passes of learning and tests, before and after a shift of tastes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from evaluation.feedback.learners import InPassingLearner, Offer, ReplyForm, SkillLearner, StructuredLearner
from evaluation.feedback.person import Reply, react, reply
from evaluation.feedback.scenarios import LEARNING, ORIGINAL, SHIFTED, TESTS, Scenario, Scenarios
from evaluation.simulation import Arm, Progress, Retry, Turn, no_progress, simulate

BINS = tuple(tenth / 10 for tenth in range(11))
# The number of choices in a row, over all persons, that recovery from a shift is judged by.
RUN = 3


@dataclass(frozen=True, slots=True)
class ServedCase:
    """One served scenario; `accepts` rates each offered item."""

    scenario: Scenario
    offer: Offer
    accepts: tuple[bool, ...]
    asked: bool

    @property
    def is_right(self) -> bool:
        """True if the offer was the person's answer."""
        return self.offer.action == self.scenario.answer


@dataclass(frozen=True, slots=True)
class PassResult:
    """One pass of learning over a phase, and its test."""

    phase: int
    number: int
    served: tuple[ServedCase, ...]
    test: tuple[ServedCase, ...]

    @property
    def right(self) -> float:
        """The share of right offers while it learned."""
        return share_right(self.served)

    @property
    def success(self) -> float:
        """The share of right offers in the test."""
        return share_right(self.test)


@dataclass
class EvaluationResult:
    """The passes in order, and each test before learning."""

    passes: list[PassResult] = field(default_factory=list)
    before: dict[int, float] = field(default_factory=dict)

    def of(self, phase: int) -> list[PassResult]:
        """The passes over a phase."""
        return [each for each in self.passes if each.phase == phase]

    @property
    def everything(self) -> list[ServedCase]:
        """All offers, in learning and in the tests."""
        return [served for each in self.passes for served in (*each.served, *each.test)]


def share_right(served: Sequence[ServedCase]) -> float:
    """The share of right offers; 0 of none."""
    return sum(each.is_right for each in served) / len(served) if served else 0.0


async def run_pass(
    scenarios: Scenarios,
    arm: Arm[Scenario, Offer, Reply],
    passes: int = 3,
    *,
    asks: bool = False,
    phases: Sequence[int] = tuple(LEARNING),
    progress: Progress = no_progress,
) -> EvaluationResult:
    """Play all passes over these phases, with questions if it `asks`."""

    async def served(phase: int, era: str, stage: str, *, learns: bool) -> tuple[ServedCase, ...]:
        found: list[ServedCase] = []

        def record(turn: Turn[Scenario], offer: Offer, reply: Reply) -> None:
            del reply
            taste = scenarios.taste(turn.shown, era)
            accepts = tuple(taste.accepts(turn.shown.item(item_id)) for item_id in offer.order)
            found.append(ServedCase(turn.shown, offer, accepts, asked=learns and asks and not turn.asks))

        turns = [Turn(each.user_id, each, learns, asks and learns) for each in scenarios.phases[phase]]
        await simulate(turns, arm, partial(_person, scenarios, era), record, progress, stage)
        return tuple(found)

    played = EvaluationResult()
    for phase in phases:
        era, test = LEARNING[phase], TESTS[phase]
        played.before[test] = share_right(await served(test, era, f"phase {test}, before", learns=False))
        for number in range(1, passes + 1):
            learned = await served(phase, era, f"phase {phase}, pass {number}", learns=True)
            tested = await served(test, era, f"phase {test}, pass {number}", learns=False)
            played.passes.append(PassResult(phase, number, learned, tested))
    return played


def _person(scenarios: Scenarios, era: str, turn: Turn[Scenario], offer: Offer) -> Reply | Retry[Scenario, Reply]:
    """The user model: answer a question, or rate the offer."""
    scenario, question = turn.shown, offer.question
    taste = scenarios.taste(scenario, era)
    if turn.asks and question is not None:
        return Retry(react(question, taste, _category(scenario, question.dimension)), replace(turn, asks=False))
    before = scenarios.taste(scenario, ORIGINAL) if era == SHIFTED else None
    return reply(scenario, taste, before, offer.action)


def _category(scenario: Scenario, dimension: str) -> str:
    """The items' category behind a dimension of their facts."""
    names = list(dict.fromkeys(name for item in scenario.items for name in item.metadata))
    return next((name for name in names if _words(name) == _words(dimension)), dimension)


def _words(name: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in name.casefold()).split()


def bins(chances: Iterable[tuple[float, bool]]) -> list[dict[str, Any]]:
    """Predicted chances against outcomes, in tenths.

    >>> [(found["from"], found["n"], found["came"]) for found in bins([(0.95, True), (1.0, False), (0.1, False)])]
    [(0.1, 1, 0.0), (0.9, 2, 0.5)]
    """
    pairs, found = list(chances), []
    for low, high in pairwise(BINS):
        held = [pair for pair in pairs if low <= pair[0] < high or (high == BINS[-1] and pair[0] >= high)]
        if held:
            predicted = sum(chance for chance, _ in held) / len(held)
            came = sum(came for _, came in held) / len(held)
            numbers = {"predicted": round(predicted, 4), "came": round(came, 4), "n": len(held)}
            found.append({"from": low, "to": high, **numbers, "error": abs(predicted - came)})
    return found


def reliability(played: EvaluationResult) -> list[dict[str, Any]]:
    """The reliability of the candidates' chances, and of none suiting."""
    rated = [each for each in played.everything if each.offer.fit is not None]
    candidates = [pair for each in rated for pair in zip(each.offer.fit.chances, each.accepts, strict=True)]  # type: ignore[union-attr]
    nothing = [(each.offer.fit.nothing, each.scenario.answer is None) for each in rated]  # type: ignore[union-attr]
    found = []
    for name, chances in (("candidates", candidates), ("nothing", nothing)):
        rows = bins(chances)
        cases = sum(row["n"] for row in rows)
        error = sum(row["n"] * row.pop("error") for row in rows) / cases if cases else 0.0
        found.append({"line": "reliability", "of": name, "expected_error": round(error, 4), "bins": rows})
    return found


def recovery(played: EvaluationResult) -> dict[str, Any] | None:
    """The choices until recovery from the shift; None without a shift.

    It counts the choices of a person until as many are right again, over all persons, as in the last pass before the
    shift; None: it never is.
    """
    phases = [played.of(phase) for phase in TESTS if played.of(phase)]
    if len(phases) < 2:
        return None
    rights: dict[tuple[str, str], list[bool]] = {}
    for each in phases[1]:
        for served in each.served:
            rights.setdefault(served.scenario.person, []).append(served.is_right)
    longest = max(map(len, rights.values()), default=0)
    after = [[held[at] for held in rights.values() if at < len(held)] for at in range(longest)]
    windows = [after[at : at + RUN] for at in range(max(1, len(after) - RUN + 1))]
    shares = [sum(map(sum, window)) / max(1, sum(map(len, window))) for window in windows]
    before = phases[0][-1].right
    return {
        "line": "shift",
        "right_before": round(before, 4),
        "right_at_first": round(shares[0], 4),
        "choices_until_recovered": next((at for at, share in enumerate(shares) if share >= before), None),
    }


def by_phase(played: EvaluationResult) -> dict[str, list[float]]:
    """The share right by phase, after each pass."""
    found = {}
    for learned, tested in TESTS.items():
        found[f"phase_{learned}"] = [round(each.right, 4) for each in played.of(learned)]
        found[f"phase_{tested}"] = [round(each.success, 4) for each in played.of(learned)]
    return found


async def evaluate(
    scenarios: Scenarios, replies: ReplyForm, passes: int, *, asks: bool, progress: Progress = no_progress
) -> list[dict[str, Any]]:
    """Play the protocol: one object per line of `--json`."""
    skills = SkillLearner(replies)
    passing = InPassingLearner(skills)
    played = await run_pass(scenarios, passing, passes, asks=asks, progress=progress)
    [asking] = (await run_pass(scenarios, SkillLearner(replies), 1, asks=True, phases=(1,), progress=progress)).passes
    [silent] = (await run_pass(scenarios, SkillLearner(replies), 1, phases=(1,), progress=progress)).passes
    remembers = await run_pass(scenarios, StructuredLearner(), passes, progress=progress)
    shift = recovery(played)
    return [
        *(
            {
                "line": "pass",
                "phase": each.phase,
                "pass": each.number,
                "right": round(each.right, 4),
                "test": TESTS[each.phase],
                "success": round(each.success, 4),
                "scenarios": len(each.served),
                "tested": len(each.test),
                "asked": sum(served.asked for served in each.served),
            }
            for each in played.passes
        ),
        {
            "line": "clarify",
            "phase": asking.phase,
            "scenarios": len(asking.served),
            "asked": sum(served.asked for served in asking.served),
            "right_with": round(asking.right, 4),
            "right_without": round(silent.right, 4),
            "saved": round(asking.right - silent.right, 4),
            "success_with": round(asking.success, 4),
            "success_without": round(silent.success, 4),
        },
        *([shift] if shift is not None else []),
        {
            "line": "directives",
            "said": len(skills.directed),
            "honoured_at_once": round(sum(skills.directed) / max(1, len(skills.directed)), 4),
        },
        {"line": "others", "sentences": passing.said, "lines_learned": passing.learned},
        *reliability(played),
        {"line": "yardstick", "learner": "remembers", **by_phase(remembers)},
        {
            "line": "summary",
            **by_phase(played),
            "before_learning": {f"phase_{test}": round(share, 4) for test, share in played.before.items()},
            "llm_calls": 0,
            "clarifications": sum(served.asked for each in played.passes for served in each.served),
            "replies": replies.value,
            "people": len({user_id for user_id, _ in scenarios.persons()}),
            "persons_and_domains": len(scenarios.persons()),
            "outcomes": {str(name): count for name, count in sorted(skills.outcomes.items())},
        },
    ]
