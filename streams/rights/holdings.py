"""What is held about one person, and where it was looked for: asked before a command changes or forgets anything."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

import orjson
from duckdb import DuckDBPyConnection

from operators.history import at_version
from schemas import TOPICS, BadRecord, CardDiff, PolicySkill, SkillDiff, Topic, decode
from streams.kafka.scanner import NoSuchTopic, Scanner
from streams.materializer import read
from streams.materializer.exceptions import MaterializerError
from streams.materializer.receipts import barrier_of
from streams.rights.portable.export import lines_of
from streams.rights.portable.ownership import ELSEWHERE, OF_USERS, Owner, owner_of
from streams.settings import Settings

NEAREST = 5
_BY_APPS = (
    *("interactions", "rankings", "rank-requests", "selections", "feedback", "corrections"),
    *("utterances", "skill-commands", "card-commands"),
)
"""Where somebody may stand before they have a skill or a card."""

EVENTS = ("contrasts", *_BY_APPS)
"""Topics whose events are counted once each, in whichever store they are."""
Counts = Counter[str | None]
"""How many by domain; None: of those that name no domain."""


@dataclass
class Holdings:
    """What is known of a person.

    Attributes:
        user_id: who.
        snapshot_at: when the DuckDB snapshot was published; None where there is none.
        tables: rows of the snapshot, by table.
        topics: records of topics that were read, by topic.
        events: domains by event id, by topic; an event that was sent twice, or is in DuckDB too, is one. A selection
            that took nothing is no choice, and is left out.
        unread: topics that are not there, or that may not be read with these credentials.
        diffs: the newest log that was seen, by domain.
    """

    user_id: str
    snapshot_at: datetime | None = None
    tables: dict[str, Counts] = field(default_factory=dict)
    topics: dict[str, Counts] = field(default_factory=dict)
    events: dict[str, dict[str, str | None]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)
    diffs: dict[str, list[SkillDiff]] = field(default_factory=dict)

    @property
    def is_known(self) -> bool:
        """Whether anything is held."""
        return any(counts.total() for counts in (*self.tables.values(), *self.topics.values()))

    @property
    def domains(self) -> list[str]:
        """The domains in which anything is held."""
        counted = (*self.tables.values(), *self.topics.values())
        return sorted({name for counts in counted for name in counts if name is not None})

    def happened(self, topics: Iterable[str], domain: str | None) -> int:
        """Return how many events of these topics are held, in one domain or, with None, in all."""
        return sum(domain is None or found == domain for base in topics for found in self.events.get(base, {}).values())

    def note(self, base: str, event_id: str, domain: str | None, *, takes_nothing: bool = False) -> None:
        """Note an event of a topic in `EVENTS`."""
        if not takes_nothing:
            self.events.setdefault(base, {})[event_id] = domain

    def skill(self, domain: str) -> PolicySkill | None:
        """The newest skill that was seen; None if there is none."""
        diffs = self.diffs.get(domain)
        return at_version(diffs, diffs[-1].version) if diffs else None

    def versions_with(self, domain: str, line: str) -> int:
        """How many versions of the skill name a line."""
        return sum(line in _lines_of(diff) for diff in self.diffs.get(domain, ()))

    def lines(self, domain: str) -> list[str]:
        """The ids of all lines that the skill has or ever had, and of what the person said something about."""
        return sorted({line for diff in self.diffs.get(domain, ()) for line in _lines_of(diff)})


def _lines_of(diff: SkillDiff) -> set[str]:
    """The lines that a version names, what the person said something about, and what they said."""
    said = [each.statement for each in diff.stated if each.statement is not None]
    stated = {name for each in said for name in (each.attribute_id, each.statement_id)}
    return {*(a.attribute_id for a in diff.seed or ()), *(c.attribute_id for c in diff.changes), *stated}


def look(settings: Settings, user: str, domain: str | None = None, line: str | None = None) -> Holdings:
    """What is known of a person, or of a domain or line of theirs, from the first place that knows anything.

    The snapshot first; what is newer is looked for on the log of skills and then on what apps send, each time on the
    person's own partition alone.

    Raises:
        BrokerUnreachable: Kafka cannot be read.
    """
    held = Holdings(user)
    _in_snapshot(settings, held)
    if _knows(held, domain) and (line is None or domain is None or line in held.lines(domain)):
        return held
    with Scanner(settings) as scanner:
        owner = owner_of(settings, user, barrier_of(settings, scanner))
        for base in (SkillDiff.TOPIC, CardDiff.TOPIC, *_BY_APPS):
            _on_topic(scanner, TOPICS[base], held, owner)
            if _knows(held, domain):
                break
    return held


def skills(settings: Settings, user: str) -> Holdings:
    """The skills of a person as the log has them now.

    Raises:
        BrokerUnreachable: Kafka cannot be read.
    """
    held = Holdings(user)
    with Scanner(settings) as scanner:
        _on_topic(scanner, TOPICS[SkillDiff.TOPIC], held, Owner(user))
    return held


def count(settings: Settings, user: str, tell: Callable[[int, int], None] = lambda *_: None) -> Holdings:
    """All that is held, in every store: it reads all topics that can tell of a person.

    What is forgotten, and waits for a topic's retention, does not count.

    Args:
        settings: the deployment.
        user: who.
        tell: is told how many topics were read, of how many.

    Raises:
        BrokerUnreachable: Kafka cannot be read.
    """
    held = Holdings(user)
    _in_snapshot(settings, held)
    with Scanner(settings) as scanner:
        owner = owner_of(settings, user, barrier_of(settings, scanner))
        asked = [topic for topic in TOPICS.values() if topic.key in (*OF_USERS, *ELSEWHERE)]
        for done, topic in enumerate(asked, 1):
            _on_topic(scanner, topic, held, owner)
            tell(done, len(asked))
    return held


def nearest(settings: Settings, user: str) -> list[str]:
    """The ids in the snapshot that are spelt most like this one."""
    con = _snapshot(settings)
    if con is None:
        return []
    try:
        rows = con.execute(
            "SELECT user_id FROM (SELECT user_id FROM skills UNION SELECT user_id FROM interactions) "
            "WHERE user_id <> $1 ORDER BY jaro_winkler_similarity(user_id, $1) DESC, user_id LIMIT $2",
            [user, NEAREST],
        ).fetchall()
    finally:
        con.close()
    return [name for (name,) in rows]


def _knows(held: Holdings, domain: str | None) -> bool:
    return held.is_known if domain is None else domain in held.domains


def _snapshot(settings: Settings) -> DuckDBPyConnection | None:
    """The deployment's snapshot; one of another deployment, or one that cannot be read, knows nobody here."""
    try:
        return read.connect_own(settings)
    except MaterializerError:
        return None


def _in_snapshot(settings: Settings, held: Holdings) -> None:
    con = _snapshot(settings)
    if con is None:
        return
    try:
        [(published_at,)] = con.execute("SELECT max(published_at) FROM snapshot_info").fetchall()
        held.snapshot_at = published_at and published_at.replace(tzinfo=UTC)
        for table, has_domain in _tables(con):
            column = "domain" if has_domain else "NULL"
            query = f'SELECT {column}, count(*) FROM "{table}" WHERE user_id = $1 GROUP BY ALL'  # noqa: S608 - our own names; values are bound  # nosec B608
            if rows := con.execute(query, [held.user_id]).fetchall():
                held.tables[table] = Counter(dict(rows))
        for base in EVENTS:
            _events_in(con, base, held)
        for diff in read.diffs(con, held.user_id):
            held.diffs.setdefault(diff.domain, []).append(diff)
    finally:
        con.close()


def _events_in(con: DuckDBPyConnection, base: str, held: Holdings) -> None:
    table = base.replace("-", "_")
    if table not in held.tables:
        return
    columns = {name for (name, *_) in con.execute(f'DESCRIBE "{table}"').fetchall()}
    domain = "domain" if "domain" in columns else "NULL"
    nothing = "none_taken" if "none_taken" in columns else "false"
    query = f'SELECT event_id, {domain}, {nothing} FROM "{table}" WHERE user_id = $1'  # noqa: S608 - our own names; values are bound  # nosec B608
    for event_id, in_domain, takes_nothing in con.execute(query, [held.user_id]).fetchall():
        held.note(base, event_id, in_domain, takes_nothing=bool(takes_nothing))


def _tables(con: DuckDBPyConnection) -> Iterator[tuple[str, bool]]:
    """Every table with users, and whether it has domains."""
    query = (
        "SELECT table_name, bool_or(column_name = 'domain') FROM duckdb_columns() "
        "JOIN duckdb_tables() USING (database_name, table_oid, table_name) WHERE database_name = 'snapshot' "
        "GROUP BY table_name HAVING bool_or(column_name = 'user_id') ORDER BY table_name"
    )
    yield from con.execute(query).fetchall()


def _on_topic(scanner: Scanner, topic: Topic, held: Holdings, owner: Owner) -> None:
    try:
        scanner.partitions(topic.base)
    except NoSuchTopic:
        held.unread.append(topic.base)
        return
    counts: Counts = Counter()
    log: defaultdict[str, dict[int, SkillDiff]] = defaultdict(dict)
    for _, line in lines_of(scanner, topic, owner, lambda *_: None):
        value = orjson.loads(line).get("value")
        said = value.get("domain") if isinstance(value, dict) else None
        domain = said if isinstance(said, str) else None
        counts[domain] += 1
        if topic.base in EVENTS and isinstance(value, dict) and isinstance(event_id := value.get("event_id"), str):
            held.note(topic.base, event_id, domain, takes_nothing=bool(value.get("none_taken")))
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
