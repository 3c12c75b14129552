"""The journal's way back into a fresh broker: the same records at the same offsets, and the workers where they were."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from confluent_kafka import TopicCollection

from schemas import Interaction, PolicySkill
from schemas.topics import by_name
from streams.exceptions import EmbeddedBrokerFailed
from streams.kafka.topics import admin
from streams.local.batches import bounds, built
from streams.local.compaction import compacted, placed
from streams.local.journal import Log, Segment, partitions_of, read
from streams.local.wire import Partition, Wire
from streams.materializer.store import Progress, Store
from streams.settings import Settings

REQUEST_SECONDS = 10.0

_Place = Callable[[Partition, int], int]


@dataclass(frozen=True)
class Loaded:
    """What was given back to the broker.

    Attributes:
        records: how many records.
        skills: how many of them are skills.
        interactions: how many are interactions.
        waiting: how many no worker has finished yet.
        unread: how many the materializer has not read yet.
        ends: where each partition ended.
    """

    records: int = 0
    skills: int = 0
    interactions: int = 0
    waiting: int = 0
    unread: int = 0
    ends: Mapping[Partition, int] = field(default_factory=dict)


def load(settings: Settings) -> Loaded | None:
    """Give a fresh broker what the journal holds, before any worker starts; None where there is no journal.

    Raises:
        JournalUnusable: it is of another release, prefix or number of partitions.
        BrokerUnreachable: the broker does not take it.
        MaterializerError: the DuckDB file is in use, of another deployment, or broken.
    """
    log = read(settings)
    if log is None:
        _begin(settings, Log(), topic_ids(settings))
        return None
    before = log.ids
    rest, place = placed(compacted(log, settings).log)
    ids = topic_ids(settings)
    batches = _begin(settings, rest, ids)
    with Wire(settings.bootstrap) as wire:
        for partition, batch in batches:
            at = wire.produce(partition, batch)
            if at != bounds(batch)[0]:
                raise EmbeddedBrokerFailed(
                    f"{partition[0]}[{partition[1]}] was not empty before the journal was loaded: an app that outlived "
                    f"the last broker writes to {settings.bootstrap}. End it, and start it again once this is up"
                )
        if rest.commits:
            wire.commit(settings.app_id, rest.commits)
    starts = _follow_on(settings, before, ids, place)
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
        unread=sum(
            record.offset >= starts.get(partition, 0)
            for partition, held in rest.records.items()
            if not by_name(partition[0], settings.prefix).internal
            for record in held
        ),
        ends=rest.ends,
    )


def _begin(settings: Settings, log: Log, ids: dict[str, str]) -> list[tuple[Partition, bytes]]:
    """Write the journal anew: what a crash may interrupt at any moment. The batches, as they are in it."""
    segment = Segment(settings, complete=True)
    batches = [(partition, batch) for partition, held in log.records.items() for batch in built(held)]
    for partition, batch in batches:
        segment.batch(partition, batch)
    segment.commits(log.commits)
    segment.ids(ids)
    segment.finish()
    return batches


def topic_ids(settings: Settings) -> dict[str, str]:
    """The broker's ids of the deployment's topics."""
    names = sorted({name for name, _ in partitions_of(settings)})
    client = admin(settings)
    described = client.describe_topics(TopicCollection(names), request_timeout=REQUEST_SECONDS)
    return {name: str(future.result(REQUEST_SECONDS).topic_id) for name, future in described.items()}


def _follow_on(settings: Settings, before: dict[str, str], ids: dict[str, str], place: _Place) -> dict[Partition, int]:
    """Let the materializer go on where it was in the topics, which have other ids now; where that is."""
    live = settings.data_dir / "live.duckdb"
    if not live.exists():
        return {}
    with Store(live, settings.prefix) as store:
        same = {
            partition: Progress(place(partition, progress.next_offset), ids[partition[0]])
            for partition, progress in store.offsets().items()
            if partition[0] in ids and progress.topic_id == before.get(partition[0])
        }
        if same:
            store.move_offsets(same)
    return {partition: progress.next_offset for partition, progress in same.items()}


def _count(settings: Settings, log: Log, base: str) -> int:
    return sum(len(held) for (name, _), held in log.records.items() if name == settings.topic(base))
