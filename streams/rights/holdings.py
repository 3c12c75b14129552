"""The data held about one person: looked up before a command changes or erases anything."""

from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson
from duckdb import DuckDBPyConnection

from operators.history import at_version
from schemas import TOPICS, BadRecord, CardDiff, PolicySkill, SkillDiff, Topic, decode
from streams.kafka.scanner import NoSuchTopic, Scanner
from streams.materializer import MaterializerError, read
from streams.materializer.forgetting import barrier_of
from streams.rights.portable.export import lines_of
from streams.rights.portable.ownership import ABOUT_USERS, Owner, owner_of
from streams.settings import Settings

_FIRST_SEEN = (
    *(SkillDiff.TOPIC, CardDiff.TOPIC, "interactions", "rankings", "rank-requests", "selections", "feedback"),
    *("corrections", "utterances", "skill-commands", "card-commands"),
)
"""Topics that name a person before a snapshot does, the most telling first."""

Counts = Counter[str | None]
"""Records by domain; None: records without a domain."""


@dataclass
class Holdings:
    """The data held about a person.

    Attributes:
        snapshot_at: when the DuckDB snapshot was published; None without one.
        topics: records of the topics that were read, by topic.
        unread: topics that do not exist or may not be read with these credentials.
        diffs: the newest log of skills, by domain.
    """

    user_id: str
    snapshot_at: datetime | None = None
    tables: dict[str, Counts] = field(default_factory=dict)
    topics: dict[str, Counts] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    diffs: dict[str, list[SkillDiff]] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """True if anything is held."""
        return any(counts.total() for counts in (*self.tables.values(), *self.topics.values()))

    @property
    def domains(self) -> list[str]:
        """The domains in which anything is held."""
        counted = (*self.tables.values(), *self.topics.values())
        return sorted({name for counts in counted for name in counts if name is not None})

    def count(self, base: str, domain: str | None) -> int:
        """Return the records of a topic or table, in one domain or in all.

        A topic and its table hold the same events, for different times: the larger number counts.
        """
        found = (self.topics.get(base), self.tables.get(base.replace("-", "_")))
        return max((counts[domain] if domain else counts.total() for counts in found if counts is not None), default=0)

    def skill(self, domain: str) -> PolicySkill | None:
        """Return the newest skill; None without one."""
        diffs = self.diffs.get(domain)
        return at_version(diffs, diffs[-1].version) if diffs else None

    def versions_with(self, domain: str, line: str) -> int:
        """Return how many versions of the skill name a line."""
        return sum(line in _lines_of(diff) for diff in self.diffs.get(domain, ()))

    def lines(self, domain: str) -> list[str]:
        """Return the ids of all lines and statements that the skill has or ever had."""
        return sorted({line for diff in self.diffs.get(domain, ()) for line in _lines_of(diff)})


def _lines_of(diff: SkillDiff) -> set[str]:
    """Return the lines and statements that a version names."""
    said = [each.statement for each in diff.stated if each.statement is not None]
    stated = {name for each in said for name in (each.attribute_id, each.statement_id)}
    return {*(a.attribute_id for a in diff.seed or ()), *(c.attribute_id for c in diff.changes), *stated}


def look(settings: Settings, user: str, domain: str | None = None, line: str | None = None) -> Holdings:
    """Return the data about a person, or about a domain or line of theirs, from the first store that has any.

    The snapshot comes first, then the log of skills, then the topics of apps, each on the person's partition only.
    """
    held = Holdings(user)
    _read_snapshot(settings, held)
    if _has(held, domain) and (line is None or domain is None or line in held.lines(domain)):
        return held
    with Scanner(settings) as scanner:
        owner = owner_of(settings, user, barrier_of(settings, scanner))
        for base in _FIRST_SEEN:
            _read_topic(scanner, TOPICS[base], held, owner)
            if _has(held, domain):
                break
    return held


def _has(held: Holdings, domain: str | None) -> bool:
    return held.is_known if domain is None else domain in held.domains


def skills(settings: Settings, user: str) -> Holdings:
    """Return the person's skills from the log."""
    held = Holdings(user)
    with Scanner(settings) as scanner:
        _read_topic(scanner, TOPICS[SkillDiff.TOPIC], held, Owner(user))
    return held


def count(settings: Settings, user: str, progress: Callable[[int, int], None] = lambda *_: None) -> Holdings:
    """Count everything held, in every store. Erased records that wait for a topic's retention do not count."""
    held = Holdings(user)
    _read_snapshot(settings, held)
    topics = [topic for topic in TOPICS.values() if topic.key in ABOUT_USERS]
    with Scanner(settings) as scanner:
        owner = owner_of(settings, user, barrier_of(settings, scanner))
        for done, topic in enumerate(topics, 1):
            _read_topic(scanner, topic, held, owner)
            progress(done, len(topics))
    return held


def snapshot_of(settings: Settings) -> DuckDBPyConnection | None:
    """Return a connection to the deployment's snapshot; None if it is unreadable or belongs to another deployment."""
    try:
        return read.connect(settings)
    except MaterializerError:
        return None


def _read_snapshot(settings: Settings, held: Holdings) -> None:
    con = snapshot_of(settings)
    if con is None:
        return
    try:
        [(published_at,)] = con.execute("SELECT max(published_at) FROM snapshot_info").fetchall()
        held.snapshot_at = published_at and published_at.replace(tzinfo=UTC)
        tables = (
            "SELECT table_name, bool_or(column_name = 'domain') FROM duckdb_columns() "
            "JOIN duckdb_tables() USING (database_name, table_oid, table_name) WHERE database_name = 'snapshot' "
            "GROUP BY table_name HAVING bool_or(column_name = 'user_id') ORDER BY table_name"
        )
        for table, has_domain in con.execute(tables).fetchall():
            column = "domain" if has_domain else "NULL"
            query = f'SELECT {column}, count(*) FROM "{table}" WHERE user_id = $1 GROUP BY ALL'  # noqa: S608 - our own names; values are bound  # nosec B608
            if rows := con.execute(query, [held.user_id]).fetchall():
                held.tables[table] = Counter(dict(rows))
        for diff in read.diffs(con, held.user_id):
            held.diffs.setdefault(diff.domain, []).append(diff)
    finally:
        con.close()


def _read_topic(scanner: Scanner, topic: Topic, held: Holdings, owner: Owner) -> None:
    try:
        scanner.partitions(topic.base)
    except NoSuchTopic:
        held.unread.append(topic.base)
        return
    counts: Counts = Counter()
    log: defaultdict[str, dict[int, SkillDiff]] = defaultdict(dict)
    for _, line in lines_of(scanner, topic, owner):
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
        held.topics[topic.base] = counts
    for domain, versions in log.items():
        held.diffs[domain] = [versions[version] for version in sorted(versions)]
