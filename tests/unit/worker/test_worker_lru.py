"""The one cache of a worker: bounded, and the least recently used goes first."""

from hypothesis import given
from hypothesis import strategies as st

from streams.lru import LruCache


@given(st.integers(1, 5), st.lists(st.tuples(st.booleans(), st.sampled_from("abcdefgh"))))
def test_it_holds_the_last_used_keys_and_never_more_than_it_may(most: int, uses: list[tuple[bool, str]]) -> None:
    cache, recent = LruCache[str, str](most), list[str]()
    for puts, key in uses:
        if puts:
            cache.put(key, key)
        elif cache.get(key) is None:
            assert key not in recent
            continue
        recent = [*(each for each in recent if each != key), key][-most:]
        assert len(cache) == len(recent)

    assert all(cache.get(key) == key for key in recent)
