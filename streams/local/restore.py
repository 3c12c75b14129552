"""Restores the journal's records and commits into a new broker."""

import json
from dataclasses import dataclass, field

from confluent_kafka import TopicCollection

from schemas.topics import by_name
from streams.analytics.store import Progress, live_file, open_store
from streams.exceptions import StreamsError
from streams.kafka.topics import admin
from streams.local.batches import bounds
from streams.local.broker import BrokerClient, Partition
from streams.local.journal import (
    JournalContents,
    JournalUnusable,
    compact,
    install,
    partitions_of,
    path_of,
    read,
    write,
)
from streams.settings import Settings

REQUEST_SECONDS = 10.0


@dataclass(frozen=True)
class Restored:
    """The numbers of restored records and of unprocessed ones.

    `ends` has the end offset of each partition, `topic_ids` the ids of the topics in the last broker.
    """

    records: int = 0
    waiting: int = 0
    ends: dict[Partition, int] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)


def restore(settings: Settings, broker: str) -> Restored:
    """Compact or create the journal, and send its records to `broker`.

    Raises OSError if the journal cannot be written.
    """
    log, ids = read(settings), path_of(settings).with_name("topics.json")
    if log is None and live_file(settings).exists():
        raise JournalUnusable(
            f"{settings.data_dir} has a DuckDB file, but no journal with the broker's records: choose another folder "
            "with --data-dir, or empty this one"
        )
    topic_ids = json.loads(ids.read_text()) if ids.exists() else {}
    # After a crash before `restore_materializer_offsets`, the materializer must read all topics again: clients may have
    # written by then.
    ids.unlink(missing_ok=True)
    log, _ = compact(log or JournalContents(), settings)
    install(write(settings, log))
    with BrokerClient(broker) as wire:
        wire.create_topics(settings)
        for partition, batch in log.batches():
            at = wire.produce(partition, batch)
            if at != bounds(batch)[0]:
                raise StreamsError(
                    f"{partition[0]}[{partition[1]}] in the new broker is not empty: {at} instead of {bounds(batch)[0]}"
                )
        if log.commits:
            wire.commit(settings.app_id, log.commits)
    return Restored(
        records=sum(map(len, log.records.values())),
        waiting=sum(
            record.offset >= log.commits.get(partition, 0)
            for partition, rows in log.records.items()
            if by_name(partition[0], settings.prefix).is_consumed
            for record in rows
        ),
        ends=log.ends,
        topic_ids=topic_ids,
    )


def restore_materializer_offsets(settings: Settings, loaded: Restored) -> None:
    """Let the materializer continue, although the topics have new ids."""
    names = sorted({name for name, _ in partitions_of(settings)})
    client = admin(settings)
    described = client.describe_topics(TopicCollection(names), request_timeout=REQUEST_SECONDS)
    ids = {name: str(future.result(REQUEST_SECONDS).topic_id) for name, future in described.items()}
    if live_file(settings).exists():
        with open_store(settings) as store:
            same = {
                partition: Progress(min(progress.next_offset, loaded.ends.get(partition, 0)), ids[partition[0]])
                for partition, progress in store.offsets().items()
                if partition[0] in ids and progress.topic_id == loaded.topic_ids.get(partition[0])
            }
            if same:
                store.move_offsets(same)
    new = path_of(settings).with_name("topics.json.new")
    new.touch(0o600)
    new.write_text(json.dumps(ids))
    new.replace(new.with_suffix(""))
