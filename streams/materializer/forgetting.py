"""Applies receipts to the DuckDB file: deletes the rows of forgotten users, and keeps out late records from before."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import duckdb
import orjson

from operators.admit import Refused, is_forgotten, refused
from operators.clocks import TOLERANCE, after, is_ahead
from schemas import BadRecord, DeadLetter, Forgotten, Model, Receipt, decode, subject_of
from streams.materializer.columns import Table
from streams.materializer.records import Put, utc
from streams.materializer.tables import DEAD_LETTERS, TABLES

SUBJECT = "sha256('sager ' || {})"
"""What `schemas.subject_of` makes of a user's id, in SQL."""

_LETTERS_BYTES, _LETTER_BYTES = 16 * 1024 * 1024, 1024
"""How much of refused records is looked at at once, of which one may have 2 MiB; and what one takes besides."""
_OF_USERS = tuple(table for table in TABLES if table.key[0] == "user_id")


class Barrier:
    """Keeps out forgotten records, by the receipts it has seen.

    Args:
        documents: the receipts that the file holds, as JSON.
        secret: what keys the digests of forgotten events.
    """

    def __init__(self, documents: Iterable[str] = (), secret: bytes = b"") -> None:
        self._secret = secret
        self._receipts = {receipt.subject: receipt for receipt in (decode(Receipt, d.encode()) for d in documents)}

    def add(self, receipt: Receipt) -> None:
        """Add a receipt, unless a known one of the same person reaches further.

        A receipt that reaches into the future was dated by a clock that ran ahead: any later receipt replaces it.
        """
        held = self._receipts.get(receipt.subject)
        if held is None or _reach(held) <= _reach(receipt) or is_ahead(_reach(held), datetime.now(UTC)):
            self._receipts[receipt.subject] = receipt

    def covers(self, event: Model, logged_at: datetime | None = None) -> bool:
        """True if a receipt covers this event: its user was forgotten after it happened, or its id is known.

        Args:
            event: a record.
            logged_at: its Kafka timestamp, in UTC; None where there is none.

        Raises:
            BadRecord: an app sent it, and it is ahead of Kafka's time. Workers refuse it for the same reason.
        """
        if isinstance(event, DeadLetter):
            moments = [moment for moment in (event.source.moment, logged_at) if moment]
            return bool(self._receipts) and any(
                self._knows(user, None, moments) for user in _named_in(event.key, event.value)
            )
        user_id, occurred_at = getattr(event, "user_id", None), getattr(event, "occurred_at", None)
        if user_id is None or occurred_at is None:
            return False
        receipt, now = self._receipts.get(subject_of(user_id)) if self._receipts else None, datetime.now(UTC)
        why = refused(event, logged_at, now, receipt, self._secret)
        if why is Refused.FROM_THE_FUTURE:
            raise BadRecord(why.value, "it is ahead of Kafka's time")
        if why is not None:
            return True
        moments = [moment for moment in (occurred_at, logged_at) if moment]
        return receipt is not None and is_forgotten(receipt, getattr(event, "domain", None), moments, now)

    def covers_moment(self, user_id: str, domain: str | None, moment: datetime) -> bool:
        """Whether what was logged about this user at this moment is forgotten."""
        return self._knows(user_id, domain, [moment])

    def _knows(self, user_id: str, domain: str | None, moments: list[datetime]) -> bool:
        receipt = self._receipts.get(subject_of(user_id))
        return receipt is not None and is_forgotten(receipt, domain, moments, datetime.now(UTC))

    def blanked(self, put: Put, event: Model) -> Put:
        """The row without the words that may quote a line forgotten since."""
        blanks = _WORDS.get(put.table.name)
        receipt = self._receipts.get(subject_of(put.row["user_id"])) if blanks and self._receipts else None
        if blanks is None or receipt is None or not receipt.lines:
            return put
        happened = getattr(event, "occurred_at", None)
        if happened is None or happened > max(line.until for line in receipt.lines.values()):
            return put
        children = tuple(
            [] if child.name in _CHILDREN else rows
            for child, rows in zip(put.table.children, put.children, strict=True)
        )
        return replace(put, row=put.row | blanks, children=children)


def _reach(receipt: Receipt) -> datetime:
    """Until when the newest of its scopes reaches."""
    return max((scope.until for scope in receipt.scopes), default=receipt.occurred_at)


_WORDS: dict[str, dict[str, str | None]] = {
    "rankings": {"slim_skill": "", "facets": None, "injected": None, "honoured": None, "question": None},
    "corrections": {"text": ""},
    "skill_commands": {"attribute_id": None, "value": None, "reason": ""},
}
"""Columns that may quote a line, with what replaces their value."""
_CHILDREN = frozenset({"ranking_facets", "correction_directives"})
"""Child tables whose rows may."""


_NAMED = re.compile(
    rb"""["']?user_?id["']?\s*[:=]\s*(?:("(?:[^"\\]|\\.)*")|'((?:[^'\\]|\\.)*)'|([^\s"',;&}\])]+))""", re.IGNORECASE
)
"""A user's id in the bytes of a record: in JSON, in what is almost JSON, as a parameter; in quotation marks or bare."""
_ESCAPED = re.compile(rb"\\u00([46][1-9a-f]|[57][0-9a]|5f)", re.IGNORECASE)
"""A letter, or the line in `user_id`, as JSON may spell it too."""


def _named_in(key: bytes | None, value: bytes | None) -> set[str]:
    """The users that a refused record may belong to: its key, and every user that its bytes name, however spelled."""
    text = (key or b"").decode(errors="ignore")
    found = {text}
    if first := re.match(r'\s*\[\s*("(?:[^"\\]|\\.)*")', text):  # of a compound key, such as of a skill
        with suppress(ValueError):
            found.add(orjson.loads(first[1]))
    # UTF-16 and 32 are the same bytes with zeros between them.
    raw = _ESCAPED.sub(lambda letter: bytes.fromhex(letter[1].decode()), (value or b"").replace(b"\0", b""))
    for quoted, single, bare in _NAMED.findall(raw):
        found.add((single or bare).decode(errors="ignore"))
        with suppress(ValueError):
            found.add(orjson.loads(quoted))
    return found


@dataclass(frozen=True)
class _Scope:
    """The rows of a user to delete: those up to a moment, of one domain or of all.

    Rows of the future too: a clock that ran ahead dated them, and they are older than the request.
    """

    user_id: str
    domain: str | None
    until: Any
    future: Any


def purge(con: duckdb.DuckDBPyConnection, receipts: Iterable[Receipt]) -> set[str]:
    """Delete the rows that these receipts cover, inside the caller's transaction; return the users who had some.

    Rows that are here when a receipt arrives are older than it, so one dated by a clock that ran ahead counts too.
    """
    now = datetime.now(UTC)
    by_subject = {receipt.subject: receipt for receipt in receipts}
    found = set()
    for user_id, receipt in list(_users(con, by_subject)):
        rows = sum(_delete(con, scope) for scope in _scopes(user_id, receipt, now))
        if receipt.lines:
            rows += _blank(con, user_id, utc(max(line.until for line in receipt.lines.values())))
        if rows:
            found.add(user_id)
    return found | _delete_letters(con, by_subject, now)


def _users(con: duckdb.DuckDBPyConnection, receipts: dict[str, Receipt]) -> Iterator[tuple[str, Receipt]]:
    """The ids of these subjects, among all users in the file."""
    ids = " UNION ".join(f"SELECT user_id AS id FROM {table.name}" for table in _OF_USERS)  # noqa: S608 - our own names; values are bound  # nosec B608
    query = f"SELECT id, {SUBJECT.format('id')} AS subject FROM ({ids}) WHERE subject IN (SELECT unnest($1))"  # noqa: S608 - our own names; values are bound  # nosec B608
    for user_id, subject in con.execute(query, [list(receipts)]).fetchall():
        yield user_id, receipts[subject]


def _scopes(user_id: str, receipt: Receipt, now: datetime) -> Iterator[_Scope]:
    scopes: list[tuple[str | None, Forgotten]] = [*receipt.domains.items()]
    if receipt.person is not None:
        scopes.append((None, receipt.person))
    for domain, forgotten in scopes:
        yield _Scope(user_id, domain, utc(forgotten.until), _future(forgotten.until, now))


def _future(until: datetime, now: datetime) -> datetime:
    """The time from which on a row was dated by a clock that ran ahead, by this clock and by the request's."""
    return utc(after(max(until, now), TOLERANCE))


def _delete(con: duckdb.DuckDBPyConnection, scope: _Scope) -> int:
    rows = 0
    for table in _ordered():
        if scope.domain is not None and not _is_parted(table):
            continue  # a card is across domains: the worker writes it anew, with its log
        condition = f"t.user_id = $user_id AND ({_since(table)} <= $until OR {_since(table)} > $future)"
        given: dict[str, Any] = {"user_id": scope.user_id, "until": scope.until, "future": scope.future}
        if scope.domain is not None:
            given["domain"] = scope.domain
            of_domain = (
                "t.domain = $domain"
                if "domain" in table.names
                # A selection names only its ranking; rankings are deleted after it.
                else "t.ranking_id IN (SELECT ranking_id FROM rankings WHERE user_id = $user_id AND domain = $domain)"
            )
            condition += f" AND {of_domain}"
        same = " AND ".join(f"c.{name} = t.{name}" for name in table.key)
        for child in table.children:
            query = f"DELETE FROM {child.name} c USING {table.name} t WHERE {same} AND {condition}"  # noqa: S608 - our own names; values are bound  # nosec B608
            rows += _count(con, query, given)
        rows += _count(con, f"DELETE FROM {table.name} t WHERE {condition}", given)  # noqa: S608 - our own names; values are bound  # nosec B608
    return rows


def _count(con: duckdb.DuckDBPyConnection, statement: str, given: dict[str, Any]) -> int:
    """Executes a statement; returns how many rows it changed."""
    [(count,)] = con.execute(statement, given).fetchall()
    return int(count)


def _ordered() -> list[Table]:
    return sorted(_OF_USERS, key=lambda table: "domain" in table.names)


def _is_parted(table: Table) -> bool:
    """Whether its rows are each of one domain, by themselves or by their ranking."""
    return "domain" in table.names or "ranking_id" in table.names


def _since(table: Table) -> str:
    """When it happened or was logged, whichever is earlier: a producer's clock may be ahead."""
    moment = "t.occurred_at" if "occurred_at" in table.names else "t.updated_at"
    return f"least({moment}, coalesce(nullif(t.logged_at, TIMESTAMP 'epoch'), {moment}))"


def _delete_letters(con: duckdb.DuckDBPyConnection, receipts: dict[str, Receipt], now: datetime) -> set[str]:
    """Deletes refused records by whom they name, as `Barrier.covers` would keep them out; returns whose they were."""
    moments = {subject: each.person.until for subject, each in receipts.items() if each.person is not None}
    if not moments:
        return set()
    until, future = {subject: utc(each) for subject, each in moments.items()}, _future(max(moments.values()), now)
    found, gone, latest = set[str](), list[int](), max(until.values())
    due = "(least(source_logged_at, logged_at) <= $1 OR least(source_logged_at, logged_at) > $2)"
    numbers = f"SELECT rowid, octet_length(coalesce(value, '')) FROM {DEAD_LETTERS.name} WHERE {due} ORDER BY rowid"  # noqa: S608 - our own names; values are bound  # nosec B608
    for span in _spans(con.execute(numbers, [latest, future]).fetchall()):
        query = f"SELECT rowid, key, value, least(source_logged_at, logged_at) FROM {DEAD_LETTERS.name} WHERE {due} AND rowid BETWEEN $3 AND $4"  # noqa: S608, E501 - our own names; values are bound  # nosec B608
        for row, key, value, at in con.execute(query, [latest, future, *span]).fetchall():
            named = {user: until.get(subject_of(user)) for user in _named_in(key, value)}
            users = {user for user, last in named.items() if last is not None and (at <= last or at > future)}
            if users:
                found |= users
                gone.append(row)
    con.execute(f"DELETE FROM {DEAD_LETTERS.name} WHERE rowid IN (SELECT unnest($1::BIGINT[]))", [gone])  # noqa: S608 - our own names; values are bound  # nosec B608
    return found


def _spans(sizes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The first and last number of rows that are small enough together; of each row its number and size."""
    first, room = None, _LETTERS_BYTES
    for number, (row, size) in enumerate(sizes):
        first = row if first is None else first
        room -= size + _LETTER_BYTES
        if room <= 0 or number == len(sizes) - 1:
            yield first, row
            first, room = None, _LETTERS_BYTES


def _blank(con: duckdb.DuckDBPyConnection, user_id: str, until: Any) -> int:
    """Blanks what people said, the words of commands and those in rankings: they may quote a forgotten line."""
    given = {"user_id": user_id, "until": until}
    whose = "user_id = $user_id AND occurred_at <= $until"
    quoting = ("facets", "injected", "honoured", "question")
    has_words = f"(slim_skill <> '' OR {' OR '.join(f'{name} IS NOT NULL' for name in quoting)})"
    blank = ", ".join(f"{name} = NULL" for name in quoting)
    names_a_line = "(attribute_id IS NOT NULL OR value IS NOT NULL OR reason <> '')"
    statements = (
        f"UPDATE rankings SET slim_skill = '', {blank} WHERE {whose} AND {has_words}",  # noqa: S608 - our own names; values are bound  # nosec B608
        f"UPDATE skill_commands SET attribute_id = NULL, value = NULL, reason = '' WHERE {whose} AND {names_a_line}",  # noqa: S608 - our own names; values are bound  # nosec B608
        f"UPDATE corrections SET text = '' WHERE {whose} AND text <> ''",  # noqa: S608 - our own names; values are bound  # nosec B608
        *(f"DELETE FROM {child} WHERE {whose}" for child in sorted(_CHILDREN)),  # noqa: S608 - our own names; values are bound  # nosec B608
    )
    return sum(_count(con, statement, given) for statement in statements)
