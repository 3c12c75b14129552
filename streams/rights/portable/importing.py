"""Imports a portable folder. It comes from outside: nothing in it is trusted before it is checked."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pydantic_core import from_json, to_json

from schemas import (
    TOPICS,
    Action,
    BadRecord,
    Card,
    Interaction,
    Model,
    PolicySkill,
    SkillCommand,
    SkillDiff,
    Topic,
    decode,
    encode,
    topic_of,
)
from streams.kafka.clients import partition_of
from streams.kafka.producer import Outbox
from streams.rights.commander import Commander
from streams.rights.portable.cards import commands_of
from streams.rights.portable.exceptions import NotPortable
from streams.rights.portable.manifest import MANIFEST, MAX_MANIFEST_BYTES, Manifest, digest_of, topic_file
from streams.rights.portable.ownership import OF_USERS
from streams.rights.portable.said import corrections_of
from streams.settings import Settings

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longer than any record of a topic."""
FLUSH_SECONDS = 60.0


@dataclass(frozen=True)
class Bundle:
    """A checked folder: every line is a record of its topic and about the folder's person.

    Attributes:
        folder: its path.
        manifest: its manifest.
        skills: its skills, by domain.
        card: their card, if there is one.
    """

    folder: Path
    manifest: Manifest
    skills: dict[str, PolicySkill]
    card: Card | None = None

    def chosen(self, domain: str | None) -> list[PolicySkill]:
        """The skill of this domain, or all of them."""
        return [skill for name, skill in self.skills.items() if domain in (None, name)]

    def nothing_of(self, domain: str | None) -> str:
        """Why there is nothing to import."""
        there = ", ".join(sorted(self.skills)) or "none"
        return f"{self.folder} has no skill{f' of {domain}' if domain else ''}; it has: {there}"


def _anything(_: str) -> str:
    return uuid4().hex


@dataclass(frozen=True)
class Order:
    """Who imports, when, and under which event ids.

    Attributes:
        actor: who, for the log.
        reason: why, for the log.
        at: when, in UTC.
        name: makes an event id of what tells one event of the import from the others. The same ids and the same moment
            make a repeated import harmless.
    """

    actor: str
    reason: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    name: Callable[[str], str] = _anything


@dataclass
class Imported:
    """What was imported.

    Attributes:
        interactions: how many were sent.
        statements: how many things that the person said were said again, and heard.
        lines: how many lines of the card were set, or pinned.
        diffs: the version that the import became, by domain; None where no worker carried it out in time.
    """

    interactions: int = 0
    statements: int = 0
    lines: int = 0
    diffs: dict[str, SkillDiff | None] = field(default_factory=dict)


def load(folder: Path, tell: Callable[[str, int, int], None] = lambda *_: None) -> Bundle:
    """Reads and checks a whole folder.

    Raises:
        NotPortable: it is not an export or was changed since; the message names the file and line.
        OSError: it cannot be read.
    """
    manifest = _manifest(folder / MANIFEST)
    skills: dict[str, PolicySkill] = {}
    card: Card | None = None
    for number, (base, told) in enumerate(manifest.topics.items(), 1):
        topic, file = TOPICS.get(base), topic_file(folder, base)
        if topic is None:
            raise NotPortable(f"{folder / MANIFEST} names an unknown topic {base!r}")
        if not file.is_file():
            raise NotPortable(f"{file} is missing")
        if digest_of(file) != told.sha256:
            raise NotPortable(f"{file} was changed since the export: its SHA-256 differs")
        count = 0
        for event in _events(file, topic, manifest.user_id):
            count += 1
            if isinstance(event, PolicySkill):
                if event.domain in skills:
                    raise NotPortable(f"{file}: two skills of one domain")
                skills[event.domain] = event
            elif isinstance(event, Card):
                if card is not None:
                    raise NotPortable(f"{file}: two cards of one person")
                card = event
        if count != told.records:
            raise NotPortable(f"{file} has {count} records, {MANIFEST} says {told.records}")
        tell("files", number, len(manifest.topics))
    return Bundle(folder, manifest, skills, card)


def take_in(
    settings: Settings,
    bundle: Bundle,
    user: str,
    order: Order,
    seconds: float,
    *,
    domain: str | None = None,
    interactions: bool = False,
) -> Imported:
    """Sends one command per skill, what the person said, their card and, if asked to, the interactions; waits for all.

    Args:
        settings: the deployment.
        bundle: the result of `load`.
        user: the user who receives it.
        order: who imports, and why.
        seconds: how long to wait for each command and for each correction; 0: not at all.
        domain: only this one; None: all.
        interactions: also send these, under their own event ids, so that known ones are recognised.

    Raises:
        NotPortable: there is nothing to import.
        ValidationError: the user, the actor or the reason is invalid.
        NotProduced: the broker did not accept everything.
    """
    skills = bundle.chosen(domain)
    told = list(commands_of(bundle.card, user, order.at, order.name, order.actor, domain)) if bundle.card else []
    if not skills and not told:
        raise NotPortable(bundle.nothing_of(domain))
    commands = [_command(skill, user, order) for skill in skills]
    done = Imported()
    if interactions:
        done.interactions = _send_interactions(settings, bundle, user, domain)
    with Commander(settings, user) as commander:
        for skill, command in zip(skills, commands, strict=True):
            done.diffs[command.domain] = commander.carry_out(command, seconds)
            for correction in corrections_of(skill, user, order.at, order.name):
                if commander.carry_out(correction, seconds) is not None:
                    done.statements += len(correction.says)
        for written in told:
            done.lines += commander.change_card(written, seconds) is not None
    return done


def _command(skill: PolicySkill, user: str, order: Order) -> SkillCommand:
    return SkillCommand.model_validate(
        {
            "event_id": order.name(f"skill {skill.domain}"),
            "occurred_at": order.at,
            "user_id": user,
            "domain": skill.domain,
            "action": Action.IMPORT,
            "lines": skill.attributes,
            "actor": order.actor,
            "reason": order.reason,
        }
    )


def interactions_of(bundle: Bundle, domain: str | None) -> Iterator[Interaction]:
    """Yield the interactions that an import sends, of this domain or of all."""
    topic = topic_of(Interaction)
    if topic.base not in bundle.manifest.topics:
        return
    for event in _events(topic_file(bundle.folder, topic.base), topic, bundle.manifest.user_id):
        if isinstance(event, Interaction) and domain in (None, event.domain):
            yield event


def _send_interactions(settings: Settings, bundle: Bundle, user: str, domain: str | None) -> int:
    topic = topic_of(Interaction)
    outbox, count = Outbox(settings), 0
    where = partition_of(user, settings.partitions)
    for event in interactions_of(bundle, domain):
        theirs = Interaction.model_validate({**event.model_dump(), "user_id": user})
        outbox.send(topic.name(settings.prefix), topic.key_of(theirs), encode(theirs), where)
        count += 1
    outbox.flush(FLUSH_SECONDS, "interactions")
    return count


def _manifest(file: Path) -> Manifest:
    if not file.is_file():
        raise NotPortable(f"{file} is missing: `sager policy export` creates it")
    if file.stat().st_size > MAX_MANIFEST_BYTES:
        raise NotPortable(f"{file} is too large for a manifest")
    try:
        return decode(Manifest, file.read_bytes())
    except BadRecord as error:
        raise NotPortable(f"{file} is not a manifest of an export: {error.detail}") from error


def _events(file: Path, topic: Topic, user: str) -> Iterator[Model | None]:
    """Every record of a file, checked; None for one that was unreadable at the export.

    Raises:
        NotPortable: a line is invalid.
    """
    with file.open("rb") as source:
        number = 0
        while line := source.readline(MAX_LINE_BYTES):
            number += 1
            try:
                yield _event(line, topic, user)
            except (BadRecord, ValueError, TypeError, KeyError) as error:
                told = error.detail if isinstance(error, BadRecord) else "it is not a line of an export"
                raise NotPortable(f"{file}, line {number}: {told}") from error


def _event(line: bytes, topic: Topic, user: str) -> Model | None:
    told = from_json(line)
    if "unreadable" in told:
        return None
    event = decode(topic.model, to_json(told["value"]))
    if topic.key in OF_USERS and getattr(event, "user_id", user) != user:
        raise BadRecord("wrong-user", "it is not about the person in the manifest")
    return event
