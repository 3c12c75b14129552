"""What came of a ranking: its arm, and what the place of the choice is worth."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.measures import ndcg_at
from operators.outcome import arm_of, gain
from schemas import Injected


@pytest.mark.parametrize(
    ("injected", "arm"),
    [
        (Injected(), "no-skill"),
        (Injected(skill_version=4, rank_skill="none"), "no-skill"),
        (Injected(slim_skill="likes: noir"), "prior"),
        (Injected(slim_skill="likes: noir", skill_version=1), "evolved"),
        (Injected(slim_skill="likes: noir", skill_version=1, arm="b"), "b"),
    ],
)
def test_the_arm_is_what_the_app_names_or_what_was_injected(injected: Injected, arm: str) -> None:
    assert arm_of(injected) == arm


@given(rank=st.integers(1, 100), at=st.sampled_from([1, 3, 5, 10]))
def test_the_gain_is_the_ndcg_of_one_relevant_item(rank: int, at: int) -> None:
    assert gain(rank, at) == pytest.approx(float(ndcg_at(at, np.array([rank]))[0]))
