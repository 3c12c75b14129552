"""A seal is of one kind, one key and one content, and nothing vouches for what was forged."""

from typing import Any

import pytest

from operators.seals import Seal, authenticated, is_plain, resealed, seal_of, sealed
from schemas.codec import decode, encode, subject_of
from schemas.events import Injected, RankedBy, Ranking
from schemas.fit import Fit
from schemas.forgetting import ErasedScope, Receipt
from schemas.skills import SlimSkill
from schemas.weights import Features, Mix
from tests.builders import DOMAIN, USER, a_candidate, a_ranking, a_time

KEY = b"hush"
SLIM = SlimSkill(
    event_id="c1", occurred_at=a_time(), user_id=USER, domain=DOMAIN, skill_version=3, text="likes: noir", tokens=3
)
RECEIPT = Receipt(
    event_id="f1",
    occurred_at=a_time(),
    subject=subject_of(USER),
    person=ErasedScope(event_id="f1", until=a_time(), actor="ann"),
)


INJECTED = Injected(
    skill_version=3,
    slim_skill="likes: noir",
    arm="b",
    companions={"i1": 0.123456789},
    weights_version=7,
    features=Features(mix={Mix.POPULARITY: (1, 2, 3)}),
    fit=Fit(nothing=0.1, suits=True, chances=(0.5, 0.3, 0.1)),
)
RANKING = a_ranking(ranked_by=RankedBy.SAGER, injected=INJECTED)


@pytest.mark.parametrize("record", [SLIM, RECEIPT, RANKING])
def test_a_seal_is_right_for_what_was_sealed_with_this_key_only(record: Any) -> None:
    good = sealed(record, KEY)

    assert seal_of(decode(type(good), encode(good)), KEY) is Seal.RIGHT
    assert seal_of(record, KEY) is Seal.MISSING
    assert seal_of(good, b"guess") is Seal.WRONG
    assert seal_of(good, b"") is Seal.WRONG
    for name, other in {"event_id": "x", "occurred_at": a_time(1), "text": "likes: Obey", "person": None}.items():
        if name in type(record).model_fields:
            assert seal_of(good.model_copy(update={name: other}), KEY) is Seal.WRONG, name


def test_the_seal_of_one_kind_is_none_of_another() -> None:
    """Although both are made of the same secret, also where a record could be read as either."""
    bare = SLIM.model_dump(mode="json", exclude_defaults=True)
    as_receipt = Receipt.model_construct(**{name: getattr(SLIM, name) for name in bare}, seal=None)
    told = as_receipt.model_dump(mode="json", exclude_defaults=True, warnings=False)

    assert seal_of(SLIM.model_copy(update={"seal": sealed(RECEIPT, KEY).seal}), KEY) is Seal.WRONG
    assert told.keys() <= bare.keys()
    assert sealed(as_receipt, KEY).seal != sealed(SLIM, KEY).seal


def test_a_receipt_that_continues_an_unsealed_or_forged_one_is_not_vouched_for() -> None:
    newer = RECEIPT.model_copy(update={"event_id": "f2"})

    assert seal_of(resealed(None, newer, KEY), KEY) is Seal.RIGHT
    assert seal_of(resealed(sealed(RECEIPT, KEY), newer, KEY), KEY) is Seal.RIGHT
    assert resealed(RECEIPT, newer, KEY).seal is None
    assert resealed(sealed(RECEIPT, b"guess"), sealed(newer, KEY), KEY).seal is None


def test_a_ranking_of_ours_keeps_every_field() -> None:
    ours = decode(Ranking, encode(sealed(RANKING, KEY)))

    assert authenticated(ours, KEY) is ours


@pytest.mark.parametrize(
    "forged",
    [
        RANKING,
        sealed(RANKING, b""),
        sealed(RANKING, b"guess"),
        sealed(RANKING, KEY).model_copy(update={"user_id": "bob"}),
        sealed(RANKING, KEY).model_copy(update={"ranking_id": "r2"}),
        sealed(RANKING, KEY).model_copy(update={"candidates": RANKING.candidates[::-1]}),
        sealed(RANKING, KEY).model_copy(update={"injected": INJECTED.model_copy(update={"weights_version": 8})}),
    ],
    ids=["no seal", "keyless", "guessed", "another user", "another list", "another order", "other features"],
)
def test_a_ranking_without_a_right_seal_counts_as_the_apps_with_an_empty_injected(forged: Ranking) -> None:
    kept = authenticated(forged, KEY)

    assert (kept.ranked_by, kept.injected, kept.seal) == (RankedBy.APP, Injected(), None)
    assert kept.candidates == forged.candidates


@pytest.mark.parametrize("name", ["skill_version", "weights_version", "memory_version", "graph_epoch", "repaired"])
def test_a_forged_ranking_with_a_number_beyond_64_bits_bears_a_wrong_seal(name: str) -> None:
    injected = INJECTED.model_copy(update={name: 2**70})
    forged = RANKING.model_copy(update={"injected": injected, "seal": "ab" * 32})

    assert seal_of(forged, KEY) is Seal.WRONG
    assert authenticated(forged, KEY).ranked_by is RankedBy.APP


def test_a_process_without_the_secret_accepts_sealed_rankings_only() -> None:
    assert authenticated(sealed(RANKING, KEY), None).injected == INJECTED
    assert authenticated(RANKING, None).ranked_by is RankedBy.APP


def test_numbers_of_any_size_in_metadata_do_not_stop_a_seal() -> None:
    large = a_candidate("i9").model_copy(update={"metadata": {"serial": 10**40}})

    assert seal_of(sealed(RANKING.model_copy(update={"candidates": (large,)}), KEY), KEY) is Seal.RIGHT


DEEP = b"[" * 100 + b"]" * 100


@pytest.mark.parametrize(
    "edit",
    [
        (b'"text":', b'"text":"likes: Obey","text":'),
        (b'{"event_id"', b'{"say":"Obey","event_id"'),
        (b'{"event_id"', b'{"deep":' + DEEP + b',"event_id"'),
    ],
)
def test_bytes_that_say_more_than_is_read_are_told_from_those_that_we_write(edit: tuple[bytes, bytes]) -> None:
    good = sealed(SLIM, KEY)
    raw = encode(good).replace(*edit, 1)
    assert is_plain(encode(good), good)

    assert raw != encode(good)
    assert seal_of(decode(SlimSkill, raw), KEY) is Seal.RIGHT
    assert not is_plain(raw, decode(SlimSkill, raw))
