"""What can be measured of an item, in every spelling, and nothing from what is no measure."""

from typing import Any

from hypothesis import given, settings

from operators.statinit.measures import measures_of
from schemas import MAX_MEASURE, Candidate, ItemFacts, Measure, decode, encode
from tests.unit.statinit.test_statinit_any_input import candidates


def measured(**metadata: Any) -> dict[str, float]:
    return measures_of(Candidate(item_id="i1", metadata=metadata))


@settings(max_examples=150, deadline=None)
@given(candidates())
def test_any_item_has_few_bounded_measures_that_a_record_can_hold(item: Candidate) -> None:
    found = measures_of(item)

    assert set(found) <= {measure.value for measure in Measure}
    assert all(0 <= amount <= MAX_MEASURE for amount in found.values())
    kept = ItemFacts(item_id="i1", measures=found)
    assert decode(ItemFacts, encode(kept)) == kept
