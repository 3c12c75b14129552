"""The corpus, said: every attack as the words of a correction, in a form, and on an item that is disliked."""

import re

import pytest
from pydantic import ValidationError

from operators.language.corrections import understand
from operators.learning.fold import initial_skill
from operators.statinit import facts_of, parser_for
from operators.steps import EvolveState, EvolveStep
from schemas import Candidate, Correction, Directive, Feedback, ItemFacts, OptOut, PolicySkill, Stance
from schemas.skills import SLIM_TEXT
from streams.language import RULES
from streams.output_gate import DEFAULT as OUTPUT_GATE
from streams.privacy import DEFAULT
from streams.privacy import DEFAULT as PRIVACY
from tests.redteam.stage import AT, PRIVATE, USER, Case, Outcome, apply, candidates_of, cases, row, seed

EVOLVE = EvolveStep(slim_tokens=60, privacy=PRIVACY, gate=OUTPUT_GATE)
MOST_VALUE = 120


def begun() -> PolicySkill:
    event = Feedback(event_id="f", item=Candidate(item_id="noir"), signal="liked", **USER)
    return initial_skill("u", "films", seed(), event)


def parsed(candidates: tuple[Candidate, ...]) -> tuple[ItemFacts, ...]:
    """As a worker reads them."""
    parser = parser_for("shop", {})
    return tuple(DEFAULT.item(facts_of(each, parser), "films")[0] for each in candidates)


def corrected(correction: Correction) -> Outcome:
    """What a correction leaves behind: in the skill, the log and DuckDB."""
    out = Outcome()
    out.rows.append(row(correction))
    if DEFAULT.wish(correction.text) is OptOut.NOT_REMEMBERED:
        out.outcome = OptOut.NOT_REMEMBERED.value
        return out
    skill, items = begun(), parsed(correction.items)
    kept = correction.model_copy(update={"text": DEFAULT.redact(correction.text, "films").text})
    effects = EVOLVE.correct(
        EvolveState(skill), kept, items, understand(kept, items, skill, privacy=PRIVACY, reader=RULES), AT
    )
    out.outcome = effects.outcome.value
    apply(out, effects)
    return out


def in_words(case: Case) -> Outcome:
    """The attack is what the person says, of items that hold it too, if it is about items."""
    return corrected(Correction(event_id="w", text=case.text or "well", items=candidates_of(case), **USER))


def in_a_form(case: Case, stance: Stance) -> Outcome | None:
    """The attack is what the person wants or does not want; None where no form can hold it."""
    try:
        said = Directive(stance=stance, dimension="taste", value=case.text[:MOST_VALUE])
    except ValidationError:
        return None
    return corrected(Correction(event_id="w", directives=(said,), **USER))


def on_an_item(case: Case) -> Outcome:
    """The person dislikes the item that holds the attack: what is stated names its title."""
    item = candidates_of(case)[2]
    feedback = Feedback(event_id="f", item=item, signal="disliked", **USER)
    out = Outcome()
    out.rows.append(row(feedback))
    apply(out, EVOLVE.apply_signal(EvolveState(begun()), feedback, parsed((item,))[0], AT))
    return out


def assert_nothing_left(case: Case, out: Outcome) -> None:
    """What may stand nowhere stands nowhere, and a host can quote the slim skill."""
    if case.technique in PRIVATE:
        assert [word for word in case.never if word.casefold() in out.kept] == []
    assert re.fullmatch(SLIM_TEXT, out.slim)


@pytest.mark.parametrize("case", [each for each in cases() if each.channel != "key"], ids=lambda case: case.id)
def test_what_attacks_as_words(case: Case) -> None:
    out = in_words(case)

    assert_nothing_left(case, out)
    if case.holds == "not-remembered":
        assert (out.outcome, out.diffs) == ("not-remembered", [])
    if case.holds == "for-another":
        assert not any(diff.stated or diff.changes for diff in out.diffs)


@pytest.mark.parametrize("stance", [Stance.PREFERS, Stance.AVOIDS])
@pytest.mark.parametrize("case", [each for each in cases() if each.channel != "correction"], ids=lambda case: case.id)
def test_what_attacks_in_a_form(case: Case, stance: Stance) -> None:
    out = in_a_form(case, stance)
    if out is None:
        return

    assert_nothing_left(case, out)
    if case.channel == "stated" and case.technique in PRIVATE:
        assert out.refused == ["private"]
        assert not any(diff.stated for diff in out.diffs)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.id)
def test_what_attacks_on_an_item_that_is_disliked(case: Case) -> None:
    assert_nothing_left(case, on_an_item(case))
