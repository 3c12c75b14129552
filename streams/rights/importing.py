"""Imports an export, after validating everything in it."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import BinaryIO
from uuid import uuid4

from pydantic_core import from_json, to_json

from operators.erasure import erased_digests, line_digests
from operators.stated import lasting_statements, live_statements
from schemas import (
    Action,
    BadRecord,
    Candidate,
    Correction,
    Directive,
    PolicySkill,
    Receipt,
    SkillCommand,
    SkillDiff,
    decode,
    line_digest,
)
from schemas.cards import Card, CardAction, CardCommand, CardLine, CardLineInput
from schemas.statements import MAX_DIRECTIVES, Scope, Stance, Statement
from streams.analytics.erasure import erasure_filter_of
from streams.exceptions import StreamsError
from streams.kafka.scanner import Scanner
from streams.rights.commands import CommandClient
from streams.rights.exporting import Header
from streams.settings import Settings

MAX_LINE_BYTES = 16 * 1024 * 1024  # longer than any record of a topic
MAX_BYTES = 512 * 1024 * 1024  # unpacked: gzip packs a gigabyte of zeros into one megabyte


class InvalidExport(StreamsError, ValueError):
    """The file is not a valid export of a person."""


@dataclass(frozen=True)
class Bundle:
    """The validated skills and card of the person in the header."""

    header: Header
    skills: dict[str, PolicySkill]
    card: Card | None = None

    def chosen(self, domain: str | None) -> list[PolicySkill]:
        """Return the domain's skill, or all; raise `InvalidExport` without any."""
        found = [skill for name, skill in self.skills.items() if domain in (None, name)]
        if not found:
            there = ", ".join(sorted(self.skills)) or "none"
            raise InvalidExport(f"the export has no skill{f' in {domain}' if domain else ''}; it has: {there}")
        return found


@dataclass(frozen=True)
class ImportOrder:
    """The actor, the reason and the time of an import."""

    actor: str
    reason: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass
class ImportResult:
    """Applied statements, card lines, and diffs by domain; None: not applied in time."""

    statements: int = 0
    lines: int = 0
    diffs: dict[str, SkillDiff | None] = field(default_factory=dict)


def load(source: BinaryIO) -> Bundle:
    """Read an export's skills and card; `InvalidExport` names a wrong line."""
    header: Header | None = None
    skills: dict[str, PolicySkill] = {}
    card: Card | None = None
    number, is_whole = 0, False
    try:
        for line in _lines(source):
            number += 1
            if header is None:
                header = decode(Header, line)
                continue
            record = from_json(line)
            is_whole = "end" in record
            if record.get("topic") == PolicySkill.TOPIC and "value" in record:
                skill = decode(PolicySkill, to_json(record["value"]))
                _check_user(skill, header)
                skills[skill.domain] = skill
            elif record.get("topic") == Card.TOPIC and "value" in record:
                card = decode(Card, to_json(record["value"]))
                _check_user(card, header)
    except InvalidExport:
        raise
    except (BadRecord, ValueError, TypeError, AttributeError) as error:
        why = error.detail if isinstance(error, BadRecord) else "it is not a line of an export"
        raise InvalidExport(f"line {number}: {why}") from error
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidExport("it is not a gzip file, or it is damaged") from error
    if header is None or not is_whole:
        raise InvalidExport("the file is incomplete: export again with `sager policy export`")
    return Bundle(header, skills, card)


def _lines(source: BinaryIO) -> Iterator[bytes]:
    left = MAX_BYTES
    with gzip.GzipFile(fileobj=source) as file:
        while line := file.readline(MAX_LINE_BYTES):
            left -= len(line)
            if left < 0:
                raise InvalidExport(f"it unpacks to more than {MAX_BYTES:,} bytes")
            yield line


def _check_user(state: PolicySkill | Card, header: Header) -> None:
    if state.user_id != header.user_id:
        raise BadRecord("wrong-user", "it is not about the person in the first line")


def import_bundle(
    settings: Settings, bundle: Bundle, user: str, order: ImportOrder, seconds: float, *, domain: str | None = None
) -> ImportResult:
    """Send skills, lasting statements and card without erased lines; wait `seconds` for each answer."""
    with Scanner(settings) as scanner:
        receipt = erasure_filter_of(settings, scanner).receipt_of(user)
    skills = [importable_skill(skill, user, receipt) for skill in bundle.chosen(domain)]
    # All commands are built before the first is sent: an invalid one must not leave half an import.
    order_fields = {"occurred_at": order.at, "user_id": user, "actor": order.actor, "reason": order.reason}
    commands = [
        SkillCommand(
            **order_fields,
            event_id=uuid4().hex,
            domain=skill.domain,
            action=Action.IMPORT,
            lines=skill.attributes,
            hypotheses=skill.hypotheses,
        )
        for skill in skills
    ]
    held = bundle.card and importable_card(bundle.card, user, receipt)
    card = [] if held is None else list(card_commands(held, user, order, domain))
    done = ImportResult()
    with CommandClient(settings, user) as client:
        for skill, command in zip(skills, commands, strict=True):
            done.diffs[skill.domain] = client.change_skill(command, seconds)
            for correction in statement_corrections(skill, user, order):
                if client.change_skill(correction, seconds) is not None:
                    done.statements += len(correction.directives)
        for change in card:
            done.lines += client.change_card(change, seconds) is not None
    return done


def importable_skill(skill: PolicySkill, user_id: str, receipt: Receipt | None) -> PolicySkill:
    """Return an exported skill without statements about lines that the user has erased."""
    erased = set() if receipt is None else receipt.lines.keys()

    def is_kept(each: Statement) -> bool:
        names = (each.statement_id, each.attribute_id, each.over or "")
        return erased.isdisjoint(line_digest(user_id, skill.domain, name) for name in names)

    return skill.model_copy(update={"stated": tuple(filter(is_kept, skill.stated))})


def importable_card(card: Card, user_id: str, receipt: Receipt | None) -> Card:
    """Return an exported card without lines that the user has erased."""
    erased = set() if receipt is None else receipt.lines.keys()

    def is_kept(line: CardLine) -> bool:
        names = (*line_digests(user_id, line), *erased_digests(user_id, line.line_id, line.value))
        return erased.isdisjoint(names)

    return card.model_copy(update={"lines": tuple(filter(is_kept, card.lines))})


def card_commands(card: Card, user: str, order: ImportOrder, domain: str | None = None) -> Iterator[CardCommand]:
    """Yield commands that set and pin a card's lines for `user`."""
    common = {"occurred_at": order.at, "user_id": user, "actor": order.actor}
    for line in card.lines:
        if domain not in (None, line.domain):
            continue
        stated = CardLineInput(stance=line.stance, dimension=line.dimension, value=line.value, domain=line.domain)
        yield CardCommand(**common, event_id=uuid4().hex, action=CardAction.SET, line=stated)
        if line.pinned:
            yield CardCommand(**common, event_id=uuid4().hex, action=CardAction.PIN, line_id=line.line_id)


def statement_corrections(skill: PolicySkill, user: str, order: ImportOrder) -> list[Correction]:
    """Return the lasting statements of an exported skill as corrections of `user`."""
    kept, corrections = lasting_statements(live_statements(skill, order.at)), []
    for begin in range(0, len(kept), MAX_DIRECTIVES):
        part = kept[begin : begin + MAX_DIRECTIVES]
        titles = {each.item_id: each.value for each in part if each.item_id is not None}
        corrections.append(
            Correction(
                event_id=uuid4().hex,
                occurred_at=order.at,
                user_id=user,
                domain=skill.domain,
                items=tuple(Candidate(item_id=item_id, title=title) for item_id, title in titles.items()),
                directives=tuple(map(_directive, part)),
                scope=Scope.ALWAYS,
            )
        )
    return corrections


def _directive(statement: Statement) -> Directive:
    if statement.item_id is not None:
        return Directive(stance=statement.stance, item_id=statement.item_id)
    if statement.bound is not None:
        return Directive(stance=statement.stance, bound=statement.bound)
    over = (statement.over or "").rpartition(":")[2] if statement.stance is Stance.INSTEAD else None
    return Directive(stance=statement.stance, dimension=statement.dimension, value=statement.value, over=over)
