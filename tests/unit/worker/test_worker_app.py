"""The worker as a Faust app: channels of batches, and the producer behind Faust's interface."""

from pathlib import Path

import pytest
from faust.types import TP

from streams.worker.create import create
from streams.worker.runtime.recovery import WorkerApp
from tests.fake_log import Record, settings_in


def app_in(folder: Path) -> WorkerApp:
    return create(settings_in(folder)).app


async def test_a_batch_reaches_the_stream_of_its_agent_although_the_flow_was_stopped(tmp_path: Path) -> None:
    """Faust clears the queues of its own channels when the flow goes on: these records would never come again."""
    app = app_in(tmp_path)
    app.consumer_generation_id = 1
    app.flow_control.resume()
    stream = app.agents["evolve"].channel_iterator.clone(is_iterator=True)
    app.flow_control.suspend()

    app.reader.dispatch(("t.contrasts", 1), [Record("t.contrasts", 1, 5, b"key", b"value", 0)])
    app.flow_control.clear()
    app.flow_control.resume()

    [event] = await anext(stream)
    assert (event.tp, event.offset, event.value) == (TP("t.contrasts", 1), 5, b"value")


async def test_a_record_for_an_agent_of_several_topics_needs_a_topic(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"t\.utterances,t\.card-commands"):
        await app_in(tmp_path).agents["listen"].send(value=b"hi")
