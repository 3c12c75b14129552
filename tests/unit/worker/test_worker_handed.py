"""Records that a worker makes and reads itself: not decoded again, and never another's."""

from typing import Any

import pytest

from schemas import BadRecord, Contrast, Ranking, Selection, encode
from streams.worker import pipeline as module
from tests.builders import a_contrast
from tests.fake_log import FakeDeployment
from tests.unit.worker.test_worker_intake import choice, put


async def test_a_worker_decodes_no_contrast_that_it_made(
    deployment: FakeDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[type] = []
    plain = module.decode

    def noted(model: Any, value: bytes | None) -> Any:
        decoded.append(model)
        return plain(model, value)

    monkeypatch.setattr(module, "decode", noted)
    worker = deployment.worker()
    put(deployment.log, [choice(1), choice(2)])

    await worker.quiet()

    assert len(deployment.log.diffs) == 2
    assert decoded.count(Ranking) == decoded.count(Selection) == 2
    assert Contrast not in decoded


async def test_only_the_very_same_bytes_are_known_and_only_once(deployment: FakeDeployment) -> None:
    pipeline = deployment.worker().pipeline
    made = a_contrast(["genre: noir"], [["genre: saga"]])
    raw, other = encode(made), encode(made).replace(b"noir", b"rion")

    pipeline.hand_over(raw, made)

    assert pipeline.decode(Contrast, other) is not made
    assert pipeline.decode(Contrast, other) != made
    with pytest.raises(BadRecord):
        pipeline.decode(Ranking, raw)
    assert pipeline.decode(Contrast, bytes(bytearray(raw))) is made
    again = pipeline.decode(Contrast, raw)
    assert again == made
    assert again is not made
