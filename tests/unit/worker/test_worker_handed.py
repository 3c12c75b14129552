"""Records that a worker makes and reads itself: not decoded again, and never another's."""

import pytest

from schemas import BadRecord, Contrast, ForgetRequest, Ranking, encode
from tests.builders import a_contrast, a_time
from tests.fake_log import FakeDeployment
from tests.unit.worker.test_worker_exactly_once import choice, put


async def test_only_the_very_same_bytes_are_known_and_only_once(deployment: FakeDeployment) -> None:
    tables = deployment.worker().parts.tables
    made = a_contrast(["genre: noir"], [["genre: saga"]])
    raw, other = encode(made), encode(made).replace(b"noir", b"rion")

    tables.prime_cache(raw, made)

    assert tables.decode(Contrast, other) is not made
    assert tables.decode(Contrast, other) != made
    with pytest.raises(BadRecord):
        tables.decode(Ranking, raw)
    assert tables.decode(Contrast, bytes(bytearray(raw))) is made
    again = tables.decode(Contrast, raw)
    assert again == made
    assert again is not made


async def test_nothing_that_was_handed_over_outlives_a_request_to_forget(deployment: FakeDeployment) -> None:
    worker = deployment.worker()
    put(deployment.log, [choice(1, "ann")])
    await worker.quiet()
    made = a_contrast(["genre: noir"], user_id="ann")

    worker.parts.tables.prime_cache(encode(made), made)
    deployment.log.put(ForgetRequest(event_id="please", occurred_at=a_time(60), user_id="ann", actor="ann"))
    await worker.quiet()

    assert worker.parts.tables.decode(Contrast, encode(made)) is not made
