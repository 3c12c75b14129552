"""What `sager up` gives back to a fresh broker where there is no journal, from the DuckDB file.

| what | so that |
|---|---|
| skill-diffs, card-diffs | a rebuild from the log gives the same skills and cards |
| skills, slim-skills, cards, global-skills, weights | the worker's tables and the apps go on where they were |
| receipts | what was forgotten stays so |
| interactions | priors, memories and what items know of their takers are made of them; the worker had them in tables |

Skills keep their versions, and the materializer knows every row already, so that restoring changes nothing in DuckDB.
A skill remembers positions in the log of the broker that is gone; the fence compares their time stamps too, so they
stop nothing (operators/applied.py). Rankings that were still waiting for a selection are not given back.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any, NamedTuple

from operators.cards.fold import OutOfOrder as CardOutOfOrder
from operators.cards.fold import with_diff
from operators.merge import OutOfOrder, merge
from operators.seals import sealed
from operators.slim import slim
from operators.tokens import count_tokens
from schemas import (
    Candidate,
    Card,
    CardDiff,
    GlobalSkill,
    Interaction,
    PolicySkill,
    Receipt,
    SkillDiff,
    SlimSkill,
    Weights,
    compound_key,
    decode,
    diff_key,
    encode,
)
from streams.exceptions import NotProduced
from streams.kafka.clients import partition_of
from streams.kafka.producer import Outbox
from streams.materializer import read
from streams.materializer.recovery import live_file, open_store
from streams.materializer.snapshot import Publisher
from streams.settings import Settings
from streams.vouching import vouching_of

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

logger = logging.getLogger("sager.restore")

FLUSH_SECONDS = 60.0
_ROWS = 1_000


@dataclass
class Restored:
    """How many records were given back."""

    skills: int = 0
    diffs: int = 0
    slim_skills: int = 0
    interactions: int = 0


class Record(NamedTuple):
    """What is to be produced; `user_id` decides the partition."""

    topic: str
    user_id: str | None
    key: bytes
    value: bytes
    partition: int = 0


def restore(settings: Settings) -> Restored:
    """Produce what the DuckDB file knows, before the worker starts; nothing where there is no file.

    Raises:
        MaterializerError: the file is in use, of another deployment, or broken.
        NotProduced: the broker did not take everything.
    """
    if live_file(settings).exists():
        # The live file may be ahead of the snapshot after a kill, and a version must never be given twice.
        with open_store(settings) as store:
            Publisher(store, settings.duckdb_file, settings.publish_seconds, group=settings.group).publish()
    elif not settings.duckdb_file.exists():
        return Restored()
    con = read.connect(settings)
    try:
        return _Restorer(settings, con).run()
    finally:
        con.close()


class _Restorer:
    def __init__(self, settings: Settings, con: "DuckDBPyConnection") -> None:
        self._settings, self._con = settings, con
        self._outbox = Outbox(settings)

    def run(self) -> Restored:
        """Everything, each kind in its order."""
        forward = self._ahead()
        done = Restored(
            diffs=self._produce(self._diffs()),
            skills=self._produce(self._skills(forward)),
            slim_skills=self._produce(self._slim_skills(forward)),
            interactions=self._produce(self._interactions()),
        )
        self._produce(self._card_diffs())
        self._produce(self._cards())
        self._produce(self._global_skills())
        self._produce(self._weights())
        self._produce(self._receipts())
        try:
            self._outbox.flush(FLUSH_SECONDS, "records")
        except NotProduced as error:
            raise NotProduced(f"the embedded broker did not take all skills back: {error}") from error
        return done

    def _ahead(self) -> dict[tuple[str, str], PolicySkill]:
        """Skills whose diffs went further than they did when the machine stopped, folded up to their last diff."""
        query = (
            "SELECT d.document, s.document FROM skill_diffs d LEFT JOIN skills s USING (user_id, domain) "
            "WHERE d.version > coalesce(s.version, 0) ORDER BY d.user_id, d.domain, d.version"
        )
        found: dict[tuple[str, str], PolicySkill] = {}
        for text, held in self._con.execute(query).fetchall():
            diff = decode(SkillDiff, text.encode())
            key = (diff.user_id, diff.domain)
            try:
                found[key] = merge(found.get(key) or (decode(PolicySkill, held.encode()) if held else None), diff)
            except OutOfOrder as error:
                logger.warning("the log has a gap: %s", error)
        return found

    def _diffs(self) -> Iterator[Record]:
        log = "SELECT user_id, domain, version, document FROM skill_diffs ORDER BY user_id, domain, version"
        for user, domain, version, text in self._rows(log):
            yield Record(SkillDiff.TOPIC, user, diff_key(user, domain, version), text.encode())
        # Skills and diffs are two topics: at a kill one may have come further than the other, either one.
        query = (
            "SELECT user_id, document FROM skills s WHERE NOT EXISTS (FROM skill_diffs d WHERE d.user_id = s.user_id "
            "AND d.domain = s.domain AND d.version = s.version)"
        )
        for user, text in self._rows(query):
            last = decode(PolicySkill, text.encode()).last_diff
            if last is not None:
                key = diff_key(last.user_id, last.domain, last.version)
                yield Record(SkillDiff.TOPIC, user, key, encode(last))

    def _skills(self, forward: dict[tuple[str, str], PolicySkill]) -> Iterator[Record]:
        for user, domain, text in self._rows("SELECT user_id, domain, document FROM skills"):
            if (user, domain) not in forward:
                yield Record(PolicySkill.TOPIC, user, compound_key(user, domain), text.encode())
        for (user, domain), skill in forward.items():
            yield Record(PolicySkill.TOPIC, user, compound_key(user, domain), encode(skill))

    def _slim_skills(self, forward: dict[tuple[str, str], PolicySkill]) -> Iterator[Record]:
        query = (
            "SELECT event_id, updated_at AS occurred_at, user_id, domain, skill_version, text, likes, style, tokens, "
            "seal FROM slim_skills"
        )
        for values in self._rows(query):
            fields = dict(zip((column[0] for column in self._columns), values, strict=True))
            fields["occurred_at"] = fields["occurred_at"].replace(tzinfo=UTC)
            short = SlimSkill.model_validate(fields)
            if (short.user_id, short.domain) not in forward:
                yield _slim_record(short)
        for skill in forward.values():
            short = slim(skill, count_tokens, self._settings.slim_tokens, vouching=vouching_of(self._settings))
            yield _slim_record(sealed(short, self._settings.chain_key_bytes))

    def _card_diffs(self) -> Iterator[Record]:
        for user, version, text in self._rows("SELECT user_id, version, document FROM card_diffs ORDER BY ALL"):
            yield Record(CardDiff.TOPIC, user, compound_key(user, version), text.encode())
        # As with skills: the card may have come further than its log.
        query = (
            "SELECT user_id, document FROM cards c WHERE NOT EXISTS "
            "(FROM card_diffs d WHERE d.user_id = c.user_id AND d.version = c.version)"
        )
        for user, text in self._rows(query):
            last = decode(Card, text.encode()).last_diff
            if last is not None:
                yield Record(CardDiff.TOPIC, user, compound_key(user, last.version), encode(last))

    def _cards(self) -> Iterator[Record]:
        """Each as it is, or folded up to its last diff where its log came further."""
        query = (
            "SELECT who.user_id, d.document, c.document "
            "FROM (SELECT user_id FROM cards UNION SELECT user_id FROM card_diffs) who "
            "LEFT JOIN cards c USING (user_id) "
            "LEFT JOIN card_diffs d ON d.user_id = who.user_id AND d.version > coalesce(c.version, 0) "
            "ORDER BY who.user_id, d.version"
        )
        found: dict[str, Card | None] = {}
        for user, text, held in self._rows(query):
            card = found[user] if user in found else decode(Card, held.encode()) if held else None
            try:
                found[user] = with_diff(card, decode(CardDiff, text.encode())) if text else card
            except CardOutOfOrder as error:
                logger.warning("the log has a gap: %s", error)
        for user, newest in found.items():
            if newest is not None:
                yield Record(Card.TOPIC, user, user.encode(), encode(newest))

    def _interactions(self) -> Iterator[Record]:
        """In the order in which they were logged. The catalogue's metadata are the newest, not those of the day."""
        query = (
            "SELECT i.user_id, i.domain, i.event_id, i.occurred_at, i.item_id, coalesce(nullif(i.title, ''), t.title), "
            "t.description, t.metadata FROM interactions i LEFT JOIN items t USING (item_id, domain) "
            "ORDER BY i.logged_at, i.kafka_partition, i.kafka_offset"
        )
        for user, domain, event_id, at, item_id, title, description, metadata in self._rows(query):
            item = {"item_id": item_id, "title": title or "", "description": description or ""}
            known = Candidate.model_validate_json(f'{{"item_id": "x", "metadata": {metadata or "{}"}}}').metadata
            event = Interaction(
                event_id=event_id,
                occurred_at=at.replace(tzinfo=UTC),
                user_id=user,
                domain=domain,
                item=Candidate.model_validate({**item, "metadata": known}),
            )
            yield Record(Interaction.TOPIC, user, user.encode(), encode(event))

    def _global_skills(self) -> Iterator[Record]:
        for domain, text in self._rows("SELECT domain, document FROM global_skills"):
            yield Record(GlobalSkill.TOPIC, None, domain.encode(), text.encode())

    def _weights(self) -> Iterator[Record]:
        for domain, text in self._rows("SELECT domain, document FROM weights"):
            # On its domain's partition: whoever learns it has the table there.
            partition = partition_of(domain, self._settings.partitions)
            yield Record(Weights.TOPIC, None, domain.encode(), text.encode(), partition)

    def _receipts(self) -> Iterator[Record]:
        """On the partition where they were: nobody knows any more of whom they are. With other partitions on all."""
        partitions = self._settings.partitions
        for subject, text, partition in self._rows("SELECT subject, document, kafka_partition FROM receipts"):
            for each in [partition] if partition < partitions else range(partitions):
                yield Record(Receipt.TOPIC, None, subject.encode(), text.encode(), each)

    def _rows(self, query: str) -> Iterator[tuple[Any, ...]]:
        con = self._con.cursor()
        con.execute("USE snapshot")
        result = con.execute(query)
        self._columns = result.description or []
        while rows := result.fetchmany(_ROWS):
            yield from rows

    def _produce(self, records: Iterator[Record]) -> int:
        count = 0
        for count, record in enumerate(records, 1):  # noqa: B007 - the count is the answer
            partition = (
                record.partition if record.user_id is None else partition_of(record.user_id, self._settings.partitions)
            )
            self._outbox.send(self._settings.topic(record.topic), record.key, record.value, partition)
        return count


def _slim_record(short: SlimSkill) -> Record:
    return Record(SlimSkill.TOPIC, short.user_id, compound_key(short.user_id, short.domain), encode(short))
