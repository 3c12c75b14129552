"""The stored data about a person, and previews of erasures."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson
from pydantic import BaseModel

from operators.history import at_version
from schemas import TOPICS, BadRecord, CardDiff, ForgetRequest, PolicySkill, Receipt, SkillDiff, Topic, decode
from schemas.codec import line_digest
from streams.analytics import MaterializerError, read
from streams.analytics.erasure import erasure_filter_of
from streams.kafka.scanner import NoSuchTopic, OnProgress, Scanner
from streams.rights.exporting import NAMING_USERS, DataSubject, data_subject, export_topic, personal_tables
from streams.settings import Settings
from streams.views.skills import nearest_users

# The topics that name a new user before a snapshot does. Commands and corrections are followed by a diff at once.
_FIRST_SEEN = (SkillDiff.TOPIC, CardDiff.TOPIC, "interactions", "rankings", "selections", "feedback", "utterances")
Counts = Counter[str | None]  # records by domain; None: records without a domain


@dataclass
class DataInventory:
    """The stored data about a person."""

    user_id: str
    snapshot_at: datetime | None = None
    stores: dict[str, Counts] = field(default_factory=dict)  # such as `topic skills` and `table skills`
    nearest: list[str] = field(default_factory=list)  # users with a similar id, if this one is unknown
    unread: list[str] = field(default_factory=list)  # topics that are missing or forbidden for these credentials
    diffs: dict[str, list[SkillDiff]] = field(default_factory=dict)  # the newest log of each domain

    @property
    def is_known(self) -> bool:
        """True if there is any data."""
        return any(counts.total() for counts in self.stores.values())

    @property
    def domains(self) -> list[str]:
        """The domains with any data."""
        return sorted({name for counts in self.stores.values() for name in counts if name is not None})

    def count_records(self, base: str, domain: str | None) -> int:
        """Count a topic's records in a domain or all."""
        # Both have the same events for different times: the larger number is closer to the truth.
        found = [self.stores.get(f"{kind} {base}", Counts()) for kind in ("topic", "table")]
        return max(counts[domain] if domain else counts.total() for counts in found)

    def skill(self, domain: str) -> PolicySkill | None:
        """Return the newest version of a skill, if any."""
        diffs = self.diffs.get(domain)
        return at_version(diffs, diffs[-1].version) if diffs else None

    def lines(self, domain: str) -> list[str]:
        """Return the ids of all current and past lines, hypotheses and statements."""
        return sorted({line for diff in self.diffs.get(domain, ()) for line in line_ids(diff)})


def line_ids(diff: SkillDiff) -> set[str]:
    """Return the ids of the lines, hypotheses and statements in a version."""
    statements = [each.statement for each in diff.stated if each.statement is not None]
    stated = {name for each in statements for name in (each.attribute_id, each.statement_id)}
    counted = {*diff.seed_hypotheses, *(diff.hypotheses or ())}
    counted.update(diff.count_delta.lines if diff.count_delta is not None else ())
    return {*(a.attribute_id for a in diff.seed or ()), *(c.attribute_id for c in diff.changes), *stated, *counted}


def find_data(settings: Settings, user: str, domain: str | None = None, line: str | None = None) -> DataInventory:
    """Return the data from the first store that has any.

    The order is the snapshot, the log of skills, then the topics of apps.
    """

    def is_found() -> bool:
        return inventory.is_known if domain is None else domain in inventory.domains

    inventory = DataInventory(user)
    _read_snapshot(settings, inventory)
    if is_found() and (line is None or domain is None or line in inventory.lines(domain)):
        return inventory
    with Scanner(settings) as scanner:
        subject = data_subject(settings, user, erasure_filter_of(settings, scanner))
        for base in _FIRST_SEEN:
            _read_topic(scanner, TOPICS[base], inventory, subject)
            if is_found():
                break
    return inventory


def skills(settings: Settings, user: str) -> DataInventory:
    """Return the person's skills from the log alone."""
    inventory = DataInventory(user)
    with Scanner(settings) as scanner:
        _read_topic(scanner, TOPICS[SkillDiff.TOPIC], inventory, DataSubject(user))
    return inventory


def count_data(settings: Settings, user: str, progress: OnProgress = lambda *_: None) -> DataInventory:
    """Count the data in all stores, without erased records."""
    inventory = DataInventory(user)
    _read_snapshot(settings, inventory)
    topics = [topic for topic in TOPICS.values() if topic.key in NAMING_USERS]
    with Scanner(settings) as scanner:
        subject = data_subject(settings, user, erasure_filter_of(settings, scanner))
        for done, topic in enumerate(topics, 1):
            _read_topic(scanner, topic, inventory, subject)
            progress(done, len(topics))
    return inventory


def _read_snapshot(settings: Settings, inventory: DataInventory) -> None:
    try:
        con = read.connect(settings)
    except MaterializerError:  # missing, or of another deployment
        return
    with con:
        [(published_at,)] = con.execute("SELECT max(published_at) FROM snapshot_info").fetchall()
        inventory.snapshot_at = published_at and published_at.replace(tzinfo=UTC)
        for table, columns in personal_tables(con):
            if "user_id" not in columns:
                continue
            column = "domain" if "domain" in columns else "NULL"
            query = f'SELECT {column}, count(*) FROM "{table}" WHERE user_id = $1 GROUP BY ALL'  # noqa: S608 - our own names; values are bound  # nosec B608
            if rows := con.execute(query, [inventory.user_id]).fetchall():
                inventory.stores[f"table {table}"] = Counter(dict(rows))
        if not inventory.is_known:
            inventory.nearest = nearest_users(con, inventory.user_id)
        for diff in read.diffs(con, inventory.user_id):
            inventory.diffs.setdefault(diff.domain, []).append(diff)


def _read_topic(scanner: Scanner, topic: Topic, inventory: DataInventory, subject: DataSubject) -> None:
    try:
        scanner.partitions(topic.base)
    except NoSuchTopic:
        inventory.unread.append(topic.base)
        return
    counts: Counts = Counter()
    log: defaultdict[str, dict[int, SkillDiff]] = defaultdict(dict)
    for _, line in export_topic(scanner, topic, subject):
        value = orjson.loads(line).get("value")
        domain = value.get("domain") if isinstance(value, dict) else None
        counts[domain if isinstance(domain, str) else None] += 1
        if topic.base == SkillDiff.TOPIC and value is not None:
            try:
                diff = decode(SkillDiff, orjson.dumps(value))
            except BadRecord:
                continue
            log[diff.domain][diff.version] = diff
    if counts:
        inventory.stores[f"topic {topic.base}"] = counts
    for domain, versions in log.items():
        inventory.diffs[domain] = [versions[version] for version in sorted(versions)]


class StoreErasure(BaseModel):
    """The number of affected records in a store, and their fate."""

    store: str
    records: int
    fate: str


@dataclass(frozen=True)
class ErasureReach:
    """The effect of an erasure, by store and as a sentence."""

    inventory: DataInventory
    stores: list[StoreErasure]
    sentence: str
    stays: str = (
        "A receipt without the name stays. Messages of apps stay in Kafka until their retention ends, but are ignored. "
        "Copies outside of this system, such as a downloaded export, are not erased."
    )


# Singular, plural, and the topic or table.
_IN_SENTENCE = (
    ("skill", "skills", "skills"),
    ("choice", "choices", "contrasts"),
    ("statement", "statements", "statements"),
    ("turn of a conversation", "turns of conversations", "utterances"),
)


def preview_erasure(
    settings: Settings, user: str, domain: str | None, line: str | None, progress: OnProgress = lambda *_: None
) -> ErasureReach:
    """Count the records that an erasure would affect in each store."""
    inventory = count_data(settings, user, progress)
    where = describe_scope(user, domain, line)
    if line is not None and domain is not None:
        naming = "versions of the skill that name the line"
        versions = sum(line in line_ids(diff) for diff in inventory.diffs.get(domain, ()))
        stores = [StoreErasure(store=naming, records=versions, fate="goes")]
        return ErasureReach(
            inventory, stores, f"This erases {where}. The choices behind it stay: other lines are based on them too."
        )
    stores = [
        StoreErasure(store=store, records=records, fate=fate_of(store))
        for store, counts in inventory.stores.items()
        if (records := counts.total() if domain is None else counts[domain])
    ]
    if not stores:
        return ErasureReach(inventory, stores, f"There is no data about {where}.")
    found = [
        f"{count:,} {one if count == 1 else many}"
        for one, many, store in _IN_SENTENCE
        if (count := inventory.count_records(store, domain))
    ]
    return ErasureReach(inventory, stores, f"This erases {': '.join(filter(None, [where, ', '.join(found)]))}.")


def describe_scope(user: str, domain: str | None, line: str | None) -> str:
    """Describe the scope of an erasure."""
    if line is not None:
        return f"the line {line} of {user} in {domain}"
    return f"{user} in {domain}" if domain else f"all of {user}"


def fate_of(store: str) -> str:
    """Return the fate of a store's records after an erasure."""
    base = store.removeprefix("topic ")
    topic = TOPICS.get(base) if base != store else None
    if base == Receipt.TOPIC:
        return "stays: it holds no name"
    if topic is None or topic.compact or topic.retention is None:
        return "goes"
    return f"ignored, and removed within {topic.retention.days} days"


def forget_request(
    user: str, domain: str | None, line: str | None, actor: str, event_id: str, at: datetime
) -> ForgetRequest:
    """Return the request to erase a person, a domain or a line."""
    digest = None if line is None or domain is None else line_digest(user, domain, line)
    return ForgetRequest(event_id=event_id, occurred_at=at, user_id=user, domain=domain, line=digest, actor=actor)
