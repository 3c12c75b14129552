"""Restores the journal's records and commits into a new broker."""

from schemas.topics import by_name
from streams.analytics.store import RESTORED_TOPIC, Progress, live_file, open_store
from streams.exceptions import StreamsError
from streams.local.batches import bounds
from streams.local.broker import BrokerClient
from streams.local.journal import JournalUnusable, compact, install, path_of, read, write
from streams.settings import Settings


def restore(settings: Settings, broker: str) -> dict[str, int]:
    """Compact or create the journal, and send its records to `broker`.

    Returns the numbers of restored `records` and of those `waiting` for the worker. Raises OSError if the journal
    cannot be written.
    """
    if live_file(settings).exists() and not path_of(settings).exists():
        raise JournalUnusable(
            f"{settings.data_dir} has a DuckDB file, but no journal with the broker's records: choose another folder "
            "with --data-dir, or empty this one"
        )
    log, _ = compact(read(settings), settings)
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
    if live_file(settings).exists():
        # The topics have new ids, but their offsets continue.
        with open_store(settings) as store:
            store.move_offsets(
                {
                    partition: Progress(min(progress.next_offset, log.ends.get(partition, 0)), RESTORED_TOPIC)
                    for partition, progress in store.offsets().items()
                }
            )
    waiting = sum(
        record.offset >= log.commits.get(partition, 0)
        for partition, rows in log.records.items()
        if by_name(partition[0], settings.prefix).is_consumed
        for record in rows
    )
    return {"records": sum(map(len, log.records.values())), "waiting": waiting}
