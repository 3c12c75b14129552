"""One user's state does not grow with their history (invariant 4), whatever they do however long."""

from benchmarks.one_user import measure


def test_state_is_as_large_after_twice_the_events() -> None:
    early, late = measure((6_000, 12_000))

    assert set(late.state_bytes) == {"Memory", "OpenRankings", "PolicySkill", "Profile"}
    # Ids and counts get a digit longer.
    assert late.total_bytes < 1.05 * early.total_bytes
    assert late.total_bytes < 600_000
