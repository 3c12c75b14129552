"""What Eve lets be known beside her choices, and the log and the skill that follow."""

from typing import Any

from operators.learning.fold import fold
from operators.seals import seal_record
from schemas import Candidate, ClarifyingQuestion, Correction, Directive, Fit, ItemFacts, Measure, Option
from schemas.diffs import DiffTrigger, PolicySkill, SkillChange, SkillChangeKind, SkillDiff
from schemas.events import Abstention, Feedback, Injected, RankedBy, Ranking
from schemas.skills import Evidence, SessionLine, SkillSession, Tier
from schemas.statements import Bound, Scope, Stance, Statement, StatementChange, StatementChangeKind
from tests.unit.materializer.materializer_builders import NOON, at, diff, ranking

SF, NOIR, HORROR = (f"preference:genre:{value}" for value in ("sf", "noir", "horror"))
OF_EVE: dict[str, Any] = {"user_id": "eve", "domain": "books"}
_LINE = SessionLine(attribute_id=SF, dimension="genre", value="sf", taken=1024, expected=256)
SESSION = SkillSession(session_id="s1", last_at=at(1), until=at(121), events=1, lines=(_LINE,))


def statement(stance: Stance, about: str, value: str, since: int, **more: Any) -> Statement:
    given = {"dimension": "genre", "stated_at": at(since), "evidence": Evidence(event_id=f"e{since}")} | more
    return Statement(
        statement_id=f"{stance}:{about}", stance=stance, attribute_id=about, value=value, since=since, **given
    )


AVOIDS_HORROR = statement(Stance.AVOIDS, HORROR, "horror", 2, words='no "horror" any more; it\'s too much')
RATHER_NOIR = statement(
    Stance.INSTEAD,
    NOIR,
    "noir",
    2,
    over=SF,
    words="noir rather than sf",
    scope=Scope.SESSION,
    session_id="s1",
    until=at(122),
)
CHEAPER = statement(
    Stance.PREFERS,
    "bound:price:below",
    "price under 20",
    2,
    dimension="price",
    scope=Scope.NOW,
    until=at(32),
    bound=Bound(measure=Measure.PRICE, below=20.0),
)
NOT_DUNE = statement(
    Stance.AVOIDS,
    "item:item:dune-1",
    "Dune",
    3,
    dimension="item",
    item_id="dune",
    evidence=Evidence(event_id="e3", item_id="dune"),
)


def stated(said: Statement, kind: StatementChangeKind = StatementChangeKind.STATED) -> StatementChange:
    return StatementChange(kind=kind, statement_id=said.statement_id, statement=said, reason="they said so")


def gone(said: Statement, kind: StatementChangeKind) -> StatementChange:
    return StatementChange(kind=kind, statement_id=said.statement_id, reason="its time has passed")


def heard(version: int, what: str, **more: Any) -> SkillDiff:
    """A version that answers no choice."""
    told = {name: more.pop(name) for name in ("words", "value", "understood", "by_pattern") if name in more}
    given = OF_EVE | {"event_id": f"e{version}", "occurred_at": at(version), "base_version": version - 1}
    given |= {"version": version, "is_contrast": False, "evidence": Evidence(event_id=f"e{version}")}
    return SkillDiff(trigger=DiffTrigger(what=what, **told), **given, **more)


def eves_log() -> list[SkillDiff]:
    """A choice; words that change what she likes; a bad rating; words that nobody understands."""
    shifted = SkillChange(
        kind=SkillChangeKind.SHIFTED,
        attribute_id=SF,
        before=Tier.HIGH,
        after=Tier.SILENT,
        counts=(0, 0),
        reason="said so",
    )
    faded = SkillChange(
        kind=SkillChangeKind.FADED, attribute_id=NOIR, before=Tier.LOW, after=Tier.SILENT, reason="for long"
    )
    return [
        diff(1, "e1", "eve").model_copy(update={"session": SESSION}),
        heard(
            2,
            "correction",
            words="no horror any more",
            by_pattern="en.no-more",
            changes=(shifted,),
            shifted=True,
            stated=(stated(AVOIDS_HORROR), stated(RATHER_NOIR), stated(CHEAPER)),
            beliefs=(0, -512),
            session=SESSION,
        ),
        heard(
            3,
            "rated",
            value=1.0,
            changes=(faded,),
            stated=(gone(CHEAPER, StatementChangeKind.EXPIRED), stated(NOT_DUNE)),
        ),
        heard(4, "correction", words="well, hm", understood=False),
    ]


def eves_skill() -> PolicySkill:
    return fold(eves_log())["eve", "books"]


def rated(event_id: str = "e3", **more: Any) -> Feedback:
    given = {"signal": "rated", "value": 1.0, "scale": (0.0, 10.0), "session_id": "s1"} | more
    given.setdefault("item", Candidate(item_id="dune", title="Dune"))
    return Feedback(event_id=event_id, occurred_at=at(3), **(OF_EVE | given))


def correction(event_id: str = "e2", **more: Any) -> Correction:
    given = {
        "text": "No horror any more, noir rather than sf",
        "items": (Candidate(item_id="it"), Candidate(item_id="dune")),
        "item_id": "it",
        "directives": (
            Directive(stance=Stance.AVOIDS, dimension="genre", value="horror", changed=True),
            Directive(stance=Stance.PREFERS, bound=Bound(measure=Measure.PRICE, below=20.0)),
        ),
        "acceptable": ("dune",),
        "answers": "q1",
        "ranking_id": "r1",
    } | more
    return Correction(event_id=event_id, occurred_at=at(2), **(OF_EVE | given))


def abstention(ranking_id: str = "r2", **more: Any) -> Abstention:
    given = {"instruction": "for the train", "arm": "evolved", "occurred_at": at(5), "ranking_id": ranking_id} | more
    shown = (ItemFacts(item_id="it"), ItemFacts(item_id="dune"))
    return Abstention(event_id=f"none-{ranking_id}", shown=shown, **(OF_EVE | given))


ASKED = ClarifyingQuestion(
    question_id="q1",
    dimension="genre",
    text="Do you prefer horror or noir?",
    options=(Option(attribute_id=HORROR, value="horror"), Option(attribute_id=NOIR, value="noir")),
)


def fitted(ranking_id: str = "r1", nothing: float = 0.25, *, asks: bool = True) -> Ranking:
    """A ranking for Eve that says how well it suits."""
    fit = Fit(
        chances=(0.75, 0.02),
        nothing=nothing,
        suits=nothing < 1 / 2,
        against={"b": AVOIDS_HORROR.statement_id},
        followed=(AVOIDS_HORROR.statement_id,),
        question=ASKED if asks else None,
    )
    shown = ranking(ranking_id, "eve", "ab")
    made = {"ranked_by": RankedBy.SAGER, "injected": Injected(skill_version=1, fit=fit), "session_id": "s1"}
    return seal_record(shown.model_copy(update={**made, "occurred_at": NOON}))
