"""Deletes rows of erased users, and refuses late records about them."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import duckdb
import orjson

from operators.admission import TOLERANCE, RejectReason, add_span, is_ahead, reject_reason
from schemas import BadRecord, DeadLetter, Model, Receipt, decode, subject_digest
from streams.analytics.records import Put, utc
from streams.analytics.schema import Table, tables
from streams.kafka.scanner import Scanner
from streams.settings import Settings

# Columns that may quote an erased line, with their blank values.
_QUOTING: dict[str, dict[str, str | None]] = {
    "rank_requests": {"instruction": ""},
    "rankings": {"instruction": "", "slim_skill": ""} | dict.fromkeys(("facets", "injected", "followed", "question")),
    "corrections": {"text": ""},
    "abstentions": {"instruction": ""},
    "contrasts": {"instruction": "", "items": None},
    "skill_commands": {"attribute_id": None, "value": None, "reason": ""},
}
_FACETS = "ranking_facets"  # the child table whose rows may


class ErasureFilter:
    """Detects records that a receipt covers.

    `documents` are the receipts in the file, as JSON; `secret` is the key of the digests of erased events.
    """

    def __init__(self, documents: Iterable[str] = (), secret: bytes = b"") -> None:
        self._secret = secret
        self._receipts = {receipt.subject: receipt for receipt in (decode(Receipt, d.encode()) for d in documents)}

    def add(self, receipt: Receipt) -> None:
        """Add a receipt, unless a known one of its person reaches further."""
        # A known receipt that reaches into the future is from a clock that ran ahead, so any later one replaces it.
        known = self._receipts.get(receipt.subject)
        if known is None or known.reach <= receipt.reach or is_ahead(known.reach, datetime.now(UTC)):
            self._receipts[receipt.subject] = receipt

    def covers(self, event: Model, logged_at: datetime | None = None) -> bool:
        """Return true if a receipt covers the event's time or id.

        Raises:
            BadRecord: an app's event is ahead of Kafka's time. Workers refuse it for the same reason.
        """
        if isinstance(event, DeadLetter):
            named = _named_in(event.key, event.value) if self._receipts else ()
            return any(self.covers_moment(user, None, event.source.moment, logged_at) for user in named)
        user_id, occurred_at = getattr(event, "user_id", None), getattr(event, "occurred_at", None)
        if user_id is None or occurred_at is None:
            return False
        why = reject_reason(event, logged_at, datetime.now(UTC), self.receipt_of(user_id), self._secret)
        if why is RejectReason.FROM_THE_FUTURE:
            raise BadRecord(why.value, "it is ahead of Kafka's time")
        return why is not None or self.covers_moment(user_id, getattr(event, "domain", None), occurred_at, logged_at)

    def covers_moment(self, user_id: str, domain: str | None, *moments: datetime | None) -> bool:
        """Return true if the user's records of any moment given are erased."""
        receipt = self.receipt_of(user_id)
        return receipt is not None and receipt.covers(domain, *(moment for moment in moments if moment is not None))

    def receipt_of(self, user_id: str) -> Receipt | None:
        """Return the user's receipt, if any."""
        return self._receipts.get(subject_digest(user_id)) if self._receipts else None

    def blanked(self, put: Put, event: Model) -> Put:
        """Return the row without words that may quote a line erased since."""
        blanks = _QUOTING.get(put.table.name)
        receipt = self.receipt_of(put.row["user_id"]) if blanks else None
        until = max((line.until for line in receipt.lines.values()), default=None) if receipt else None
        if blanks is None or until is None or event.occurred_at > until:  # type: ignore[attr-defined]
            return put
        children = tuple([] if table.name == _FACETS else list(rows) for table, rows in [*put.tables()][1:])
        return replace(put, row=put.row | blanks, children=children)


def erasure_filter_of(settings: Settings, scanner: Scanner) -> ErasureFilter:
    """Return a filter with all receipts on their topic."""
    barrier = ErasureFilter(secret=settings.event_key_bytes)
    for message in scanner.read(scanner.partitions(Receipt.TOPIC)):
        with suppress(BadRecord):  # a tombstone, or no receipt
            barrier.add(decode(Receipt, message.value()))
    return barrier


# A user's id in the bytes of a record: in JSON, in broken JSON, or as a parameter; quoted or bare.
_NAMED = re.compile(
    rb"""["']?user_?id["']?\s*[:=]\s*(?:("(?:[^"\\]|\\.)*")|'((?:[^'\\]|\\.)*)'|([^\s"',;&}\])]+))""", re.IGNORECASE
)
# A letter or underscore of `user_id`, as JSON may escape it.
_ESCAPED = re.compile(rb"\\u00([46][1-9a-f]|[57][0-9a]|5f)", re.IGNORECASE)


def _named_in(key: bytes | None, value: bytes | None) -> set[str]:
    """Return the users named in a refused record's key or bytes."""
    text = (key or b"").decode(errors="ignore")
    found = {text}
    if first := re.match(r'\s*\[\s*("(?:[^"\\]|\\.)*")', text):  # of a compound key, such as of a skill
        with suppress(ValueError):
            found.add(orjson.loads(first[1]))
    # UTF-16 and UTF-32 are the same bytes with zeros in between.
    raw = _ESCAPED.sub(lambda letter: bytes.fromhex(letter[1].decode()), (value or b"").replace(b"\0", b""))
    for in_quotes, single, bare in _NAMED.findall(raw):
        found.add((single or bare).decode(errors="ignore"))
        with suppress(ValueError):
            found.add(orjson.loads(in_quotes))
    return found


def purge(con: duckdb.DuckDBPyConnection, receipts: Iterable[Receipt]) -> set[str]:
    """Delete the rows that receipts cover; return the users whose rows changed."""
    now = datetime.now(UTC)
    by_subject = {receipt.subject: receipt for receipt in receipts}
    found = _delete_letters(con, by_subject, now)
    ids = " UNION ".join(f"SELECT user_id AS id FROM {table.name}" for table in _of_users())
    # The SQL of `schemas.subject_of`.
    query = f"SELECT id, sha256('sager ' || id) AS subject FROM ({ids}) WHERE subject IN (SELECT unnest($1))"
    for user_id, subject in con.execute(query, [list(by_subject)]).fetchall():
        receipt = by_subject[subject]
        scopes = [*receipt.domains.items(), *([(None, receipt.person)] if receipt.person else [])]
        rows = sum(_delete(con, user_id, domain, scope.until, now) for domain, scope in scopes)
        if receipt.lines:
            rows += _blank(con, user_id, utc(max(line.until for line in receipt.lines.values())))
        # The last receipt follows the new skill or card, whose replaced rows held the erased line.
        if rows or receipt.lines or receipt.domains:
            found.add(user_id)
    return found


def _of_users() -> list[Table]:
    # Rankings come after selections, which name a domain only by their ranking.
    return sorted((t for t in tables() if t.key[0] == "user_id"), key=lambda table: "domain" in table.names)


def _future(until: datetime, now: datetime) -> datetime:
    # Rows that precede the receipt are older than it, also if a clock that ran ahead dated them.
    return utc(add_span(max(until, now), TOLERANCE))


def _delete(con: duckdb.DuckDBPyConnection, user_id: str, domain: str | None, until: datetime, now: datetime) -> int:
    given: dict[str, Any] = {"user_id": user_id, "until": utc(until), "future": _future(until, now)}
    rankings = "SELECT ranking_id FROM rankings WHERE user_id = $user_id AND domain = $domain"
    of_domain = {"domain": " AND t.domain = $domain", "ranking_id": f" AND ranking_id IN ({rankings})"}
    rows = 0
    for table in _of_users():
        moment = "t.occurred_at" if "occurred_at" in table.names else "t.updated_at"
        since = f"least({moment}, coalesce(nullif(t.logged_at, TIMESTAMP 'epoch'), {moment}))"
        condition = f"t.user_id = $user_id AND ({since} <= $until OR {since} > $future)"
        if domain is not None:
            column = next((name for name in of_domain if name in table.names), None)
            if column is None:
                continue  # a card spans domains: the worker rewrites it with its log
            given, condition = given | {"domain": domain}, condition + of_domain[column]
        same = " AND ".join(f"c.{name} = t.{name}" for name in table.key)
        for child in table.children:
            rows += _count(con, f"DELETE FROM {child.name} c USING {table.name} t WHERE {same} AND {condition}", given)
        rows += _count(con, f"DELETE FROM {table.name} t WHERE {condition}", given)
    return rows


def _count(con: duckdb.DuckDBPyConnection, statement: str, given: dict[str, Any]) -> int:
    return int(con.execute(statement, given).fetchall()[0][0])


_LETTERS_BYTES = 16 * 1024 * 1024  # one letter may have 2 MiB: parts of some 16 MiB are in memory at once
_PARTS_OF_LETTERS = """
SELECT min(rowid), max(rowid) FROM (SELECT rowid, sum(octet_length(coalesce(value, '')) + 1024)
OVER (ORDER BY rowid) // $1 AS part FROM dead_letters) GROUP BY part
"""
_LETTERS = (
    "SELECT rowid, key, value, least(source_logged_at, logged_at) FROM dead_letters WHERE rowid BETWEEN $1 AND $2"
)


def _delete_letters(con: duckdb.DuckDBPyConnection, receipts: dict[str, Receipt], now: datetime) -> set[str]:
    """Delete dead letters that `ErasureFilter.covers` refuses; return their users."""
    until = {subject: utc(each.person.until) for subject, each in receipts.items() if each.person is not None}
    if not until:
        return set()
    found, rowids = set[str](), list[int]()
    future = max(_future(each.person.until, now) for each in receipts.values() if each.person is not None)
    for part in con.execute(_PARTS_OF_LETTERS, [_LETTERS_BYTES]).fetchall():
        for row, key, value, at in con.execute(_LETTERS, part).fetchall():
            last = {user: until.get(subject_digest(user)) for user in _named_in(key, value)}
            users = {user for user, moment in last.items() if moment is not None and (at <= moment or at > future)}
            if users:
                found |= users
                rowids.append(row)
    con.execute("DELETE FROM dead_letters WHERE rowid IN (SELECT unnest($1::BIGINT[]))", [rowids]).fetchall()
    return found


def _blank(con: duckdb.DuckDBPyConnection, user_id: str, until: datetime) -> int:
    condition = "user_id = $user_id AND occurred_at <= $until"
    given = {"user_id": user_id, "until": until}
    rows = _count(con, f"DELETE FROM {_FACETS} WHERE {condition}", given)
    for table, blanks in _QUOTING.items():
        values = ", ".join(f"{name} = {'NULL' if blank is None else repr(blank)}" for name, blank in blanks.items())
        has_words = " OR ".join(f"{name} <> ''" if b == "" else f"{name} IS NOT NULL" for name, b in blanks.items())
        rows += _count(con, f"UPDATE {table} SET {values} WHERE {condition} AND ({has_words})", given)
    return rows
