"""A seal is of one kind, one key and one content, and nothing vouches for what was forged."""

from typing import Any

import pytest

from operators.seals import SealState, check_seal, is_canonical, reseal_receipt, seal_record, without_unproven_fields
from schemas import ErasedScope, Fit, Injected, RankedBy, Ranking, Receipt, SlimSkill, decode, encode, subject_digest
from schemas.weights import Features, Mix
from tests.builders import DOMAIN, USER, a_candidate, a_ranking, a_time

KEY = b"hush"
SLIM = SlimSkill(
    event_id="c1", occurred_at=a_time(), user_id=USER, domain=DOMAIN, skill_version=3, text="likes: noir", tokens=3
)
RECEIPT = Receipt(
    event_id="f1",
    occurred_at=a_time(),
    subject=subject_digest(USER),
    person=ErasedScope(event_id="f1", until=a_time(), actor="ann"),
)


INJECTED = Injected(
    skill_version=3,
    slim_skill="likes: noir",
    arm="b",
    companions={"i1": 0.123456789},
    weights_version=7,
    features=Features(mix={Mix.POPULARITY: (1, 2, 3)}, chances=(300, 400, 324)),
    fit=Fit(nothing=0.1, suits=True, chances=(0.5, 0.3, 0.1)),
    reasons={"i1": "a noir, as asked"},
)
RANKING = a_ranking(ranked_by=RankedBy.SAGER, injected=INJECTED)


@pytest.mark.parametrize("record", [SLIM, RECEIPT, RANKING])
def test_a_seal_is_valid_for_its_record_and_key_only(record: Any) -> None:
    good = seal_record(record, KEY)

    assert check_seal(decode(type(good), encode(good)), KEY) is SealState.RIGHT
    assert check_seal(record, KEY) is SealState.MISSING
    assert check_seal(good, b"guess") is SealState.WRONG
    assert check_seal(good, b"") is SealState.WRONG
    for name, other in {"event_id": "x", "occurred_at": a_time(1), "text": "likes: Obey", "person": None}.items():
        if name in type(record).model_fields:
            assert check_seal(good.model_copy(update={name: other}), KEY) is SealState.WRONG, name


def test_a_seal_of_one_kind_is_invalid_for_another() -> None:
    """Although both are made of the same secret, also where a record could be read as either."""
    bare = SLIM.model_dump(mode="json", exclude_defaults=True)
    as_receipt = Receipt.model_construct(**{name: getattr(SLIM, name) for name in bare}, seal=None)
    told = as_receipt.model_dump(mode="json", exclude_defaults=True, warnings=False)

    assert check_seal(SLIM.model_copy(update={"seal": seal_record(RECEIPT, KEY).seal}), KEY) is SealState.WRONG
    assert told.keys() <= bare.keys()
    assert seal_record(as_receipt, KEY).seal != seal_record(SLIM, KEY).seal


def test_a_receipt_after_a_forged_one_is_not_sealed() -> None:
    newer = RECEIPT.model_copy(update={"event_id": "f2"})

    assert check_seal(reseal_receipt(None, newer, KEY), KEY) is SealState.RIGHT
    assert check_seal(reseal_receipt(seal_record(RECEIPT, KEY), newer, KEY), KEY) is SealState.RIGHT
    assert reseal_receipt(RECEIPT, newer, KEY).seal is None
    assert reseal_receipt(seal_record(RECEIPT, b"guess"), seal_record(newer, KEY), KEY).seal is None


def test_a_ranking_of_ours_keeps_every_field() -> None:
    ours = decode(Ranking, encode(seal_record(RANKING, KEY)))

    assert without_unproven_fields(ours, KEY) is ours


@pytest.mark.parametrize(
    "forged",
    [
        RANKING,
        seal_record(RANKING, b""),
        seal_record(RANKING, b"guess"),
        seal_record(RANKING, KEY).model_copy(update={"user_id": "bob"}),
        seal_record(RANKING, KEY).model_copy(update={"ranking_id": "r2"}),
        seal_record(RANKING, KEY).model_copy(update={"candidates": RANKING.candidates[::-1]}),
        seal_record(RANKING, KEY).model_copy(update={"injected": INJECTED.model_copy(update={"weights_version": 8})}),
    ],
    ids=["no seal", "keyless", "guessed", "another user", "another list", "another order", "other features"],
)
def test_a_ranking_without_a_valid_seal_counts_as_the_apps(forged: Ranking) -> None:
    kept = without_unproven_fields(forged, KEY)

    assert (kept.ranked_by, kept.injected, kept.seal) == (RankedBy.APP, Injected(), None)
    assert kept.candidates == forged.candidates


def test_an_apps_own_ranking_keeps_only_what_an_app_knows() -> None:
    own = RANKING.model_copy(update={"ranked_by": RankedBy.APP})

    kept = without_unproven_fields(own, KEY).injected

    assert kept == Injected(skill_version=3, slim_skill="likes: noir", arm="b")


@pytest.mark.parametrize("name", ["skill_version", "weights_version", "memory_version", "graph_epoch", "repaired"])
def test_a_forged_ranking_with_a_huge_number_has_an_invalid_seal(name: str) -> None:
    injected = INJECTED.model_copy(update={name: 2**70})
    forged = RANKING.model_copy(update={"injected": injected, "seal": "ab" * 32})

    assert check_seal(forged, KEY) is SealState.WRONG
    assert without_unproven_fields(forged, KEY).ranked_by is RankedBy.APP


def test_a_process_without_the_secret_accepts_sealed_rankings_only() -> None:
    assert without_unproven_fields(seal_record(RANKING, KEY), None).injected == INJECTED
    assert without_unproven_fields(RANKING, None).ranked_by is RankedBy.APP


def test_numbers_of_any_size_in_metadata_do_not_stop_a_seal() -> None:
    large = a_candidate("i9").model_copy(update={"metadata": {"serial": 10**40}})

    assert check_seal(seal_record(RANKING.model_copy(update={"candidates": (large,)}), KEY), KEY) is SealState.RIGHT


DEEP = b"[" * 100 + b"]" * 100


@pytest.mark.parametrize(
    "edit",
    [
        (b'"text":', b'"text":"likes: Obey","text":'),
        (b'{"event_id"', b'{"say":"Obey","event_id"'),
        (b'{"event_id"', b'{"deep":' + DEEP + b',"event_id"'),
    ],
)
def test_bytes_with_unread_content_are_detected(edit: tuple[bytes, bytes]) -> None:
    good = seal_record(SLIM, KEY)
    raw = encode(good).replace(*edit, 1)
    assert is_canonical(encode(good), good)

    assert raw != encode(good)
    assert check_seal(decode(SlimSkill, raw), KEY) is SealState.RIGHT
    assert not is_canonical(raw, decode(SlimSkill, raw))
