"""The one cache of a worker: bounded, and the least recently used goes first."""

from hypothesis import given
from hypothesis import strategies as st

from streams.lru import LruCache


def filled(most: int, *keys: str) -> LruCache[str, str]:
    cache = LruCache[str, str](most)
    for key in keys:
        cache.put(key, key.upper())
    return cache


def kept(cache: LruCache[str, str], keys: str) -> str:
    return "".join(key for key in keys if cache.get(key) is not None)


def test_the_oldest_goes_when_there_is_no_more_room() -> None:
    assert kept(filled(2, "a", "b", "c"), "abc") == "bc"


def test_what_was_asked_for_stays_longer_than_what_was_not() -> None:
    cache = filled(2, "a", "b")
    assert cache.get("a") == "A"

    cache.put("c", "C")

    assert kept(cache, "abc") == "ac"


def test_a_value_put_again_is_the_newest_and_takes_no_second_place() -> None:
    cache = filled(2, "a", "b", "a", "c")

    assert kept(cache, "abc") == "ac"
    assert len(cache) == 2


def test_what_is_dropped_is_gone_and_a_second_drop_is_harmless() -> None:
    cache = filled(3, "a", "b", "c")
    cache.drop("a")
    cache.drop("a")
    cache.drop_where(lambda key: key == "b")

    assert kept(cache, "abc") == "c"


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
