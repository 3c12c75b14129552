"""The steps `contrast`: the fences before the join, state in, effects out. The join is in test_op_contrast."""

from operators.contrast import ContrastEffects, ContrastOutcome, ContrastState, RingLimits, on_ranking, on_selection
from schemas import Receipt, subject_digest
from schemas.forgetting import ErasedScope
from tests.builders import DOMAIN, NOW, USER, a_position, a_ranking, a_selection, a_time, open_rankings, read_item

LIMITS = RingLimits()
RANKINGS, SELECTIONS = "sager.rankings", "sager.selections"
LATE_MS = round(a_time(60).timestamp() * 1000)


def ranked(state: ContrastState, offset: int = 0) -> ContrastEffects | ContrastOutcome:
    return on_ranking(state, a_ranking(), read_item, a_position(offset, RANKINGS, timestamp_ms=LATE_MS), LIMITS)


def selected(state: ContrastState, offset: int = 0) -> ContrastEffects | ContrastOutcome:
    return on_selection(state, a_selection(), a_position(offset, SELECTIONS, timestamp_ms=LATE_MS), LIMITS)


def forgotten(**scopes: object) -> Receipt:
    return Receipt.model_validate({"event_id": "f", "occurred_at": NOW, "subject": subject_digest(USER), **scopes})


UNTIL = ErasedScope(event_id="f", until=a_time(30), actor="ann", done=True)


def test_a_ranking_and_its_selection_make_a_contrast() -> None:
    opened = ranked(ContrastState())
    assert isinstance(opened, ContrastEffects)

    matched = selected(ContrastState(opened.state))

    assert isinstance(matched, ContrastEffects)
    assert matched.contrast is not None
    assert (matched.outcome, matched.contrast.chosen.item_id) == (ContrastOutcome.MATCHED, "i2")


def test_a_record_that_the_rings_have_applied_has_no_effects() -> None:
    rings = open_rankings(applied=(a_position(4, RANKINGS, timestamp_ms=LATE_MS),))

    assert ranked(ContrastState(rings), 4) is ContrastOutcome.REPEATED
    assert isinstance(ranked(ContrastState(rings), 5), ContrastEffects)
    assert isinstance(selected(ContrastState(rings), 4), ContrastEffects), "each topic has a fence of its own"


def test_of_a_selection_nobody_knows_the_domain_so_its_ranking_decides() -> None:
    state = ContrastState(receipt=forgotten(domains={DOMAIN: UNTIL}))

    assert ranked(state) is ContrastOutcome.FORGOTTEN
    assert isinstance(selected(state), ContrastEffects)
