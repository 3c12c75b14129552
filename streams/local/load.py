"""The journal's way back into a fresh broker: the same records at the same offsets, and the workers where they were."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from confluent_kafka import TopicCollection

from schemas import Interaction, PolicySkill
from schemas.topics import by_name
from streams.exceptions import EmbeddedBrokerFailed
from streams.kafka.topics import admin
from streams.local.batches import bounds, built
from streams.local.compaction import compacted, placed
from streams.local.journal import JournalUnusable, Log, Segment, folder_of, partitions_of, read
from streams.local.wire import Partition, Wire
from streams.materializer.recovery import live_file, open_store
from streams.materializer.store import Progress
from streams.settings import Settings

REQUEST_SECONDS = 10.0
TOPIC_IDS = "topics.json"


@dataclass(frozen=True)
class Loaded:
    """The records that the broker got back.

    Attributes:
        records: how many records.
        skills: how many of them are skills.
        interactions: how many are interactions.
        waiting: how many no worker has finished yet.
        topic_ids: the ids that the last broker gave the topics.
        place: where an offset in the last broker stands in this one.
    """

    records: int = 0
    skills: int = 0
    interactions: int = 0
    waiting: int = 0
    topic_ids: dict[str, str] = field(default_factory=dict)
    place: Callable[[Partition, int], int] = lambda _, offset: offset


def load(settings: Settings, broker: str) -> Loaded | None:
    """Give a fresh broker the journal's records, before any client reaches it; None where there is no journal.

    Args:
        settings: the deployment.
        broker: the address where only this process reaches the broker.

    Raises:
        JournalUnusable: it is of another release, prefix or number of partitions, or only DuckDB's file is there.
        BrokerUnreachable: the broker refuses the records.
        OSError: the journal cannot be written.
    """
    log, file = read(settings), folder_of(settings) / TOPIC_IDS
    if log is None and live_file(settings).exists():
        raise JournalUnusable(
            f"{settings.data_dir} has a DuckDB file, and no journal with the broker's records: choose another folder "
            "with --data-dir, or empty this one"
        )
    rest, place = placed(compacted(log or Log(), settings).log)
    ids = json.loads(file.read_text()) if log is not None and file.exists() else {}
    # Offsets move now. After a crash in between, the materializer finds no ids, and reads the topics from the start.
    file.unlink(missing_ok=True)
    batches = [(partition, batch) for partition, held in rest.records.items() for batch in built(held)]
    segment = Segment(settings, complete=True)
    for partition, batch in batches:
        segment.batch(partition, batch)
    segment.commits(rest.commits)
    segment.finish()
    with Wire(broker) as wire:
        wire.create_topics(settings)
        for partition, batch in batches:
            at = wire.produce(partition, batch)
            if at != bounds(batch)[0]:
                raise EmbeddedBrokerFailed(
                    f"{partition[0]}[{partition[1]}] in the new broker is not empty: {at} instead of {bounds(batch)[0]}"
                )
        if rest.commits:
            wire.commit(settings.app_id, rest.commits)
    if log is None:
        return None
    return Loaded(
        records=sum(map(len, rest.records.values())),
        skills=_count(settings, rest, PolicySkill.TOPIC),
        interactions=_count(settings, rest, Interaction.TOPIC),
        waiting=sum(
            record.offset >= rest.commits.get(partition, 0)
            for partition, held in rest.records.items()
            if by_name(partition[0], settings.prefix).worked_off
            for record in held
        ),
        topic_ids=ids,
        place=place,
    )


def topic_ids(settings: Settings) -> dict[str, str]:
    """The broker's ids of the deployment's topics."""
    names = sorted({name for name, _ in partitions_of(settings)})
    client = admin(settings)
    described = client.describe_topics(TopicCollection(names), request_timeout=REQUEST_SECONDS)
    return {name: str(future.result(REQUEST_SECONDS).topic_id) for name, future in described.items()}


def follow_on(settings: Settings, loaded: Loaded) -> None:
    """Let the materializer go on where it was in the topics, which have other ids now.

    Raises:
        MaterializerError: the DuckDB file is in use, of another deployment, or broken.
    """
    ids = topic_ids(settings)
    if live_file(settings).exists():
        with open_store(settings) as store:
            same = {
                partition: Progress(loaded.place(partition, progress.next_offset), ids[partition[0]])
                for partition, progress in store.offsets().items()
                if partition[0] in ids and progress.topic_id == loaded.topic_ids.get(partition[0])
            }
            if same:
                store.move_offsets(same)
    file = folder_of(settings) / TOPIC_IDS
    new = file.with_suffix(".json.new")
    new.touch(0o600)
    new.write_text(json.dumps(ids))
    new.replace(file)


def _count(settings: Settings, log: Log, base: str) -> int:
    return sum(len(held) for (name, _), held in log.records.items() if name == settings.topic(base))
