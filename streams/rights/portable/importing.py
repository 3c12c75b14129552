"""Imports a portable folder. It comes from outside: nothing in it is trusted before it is checked."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pydantic import BaseModel
from pydantic_core import from_json, to_json

from schemas import (
    TOPICS,
    Action,
    BadRecord,
    Candidate,
    Card,
    CardAction,
    CardCommand,
    CardStated,
    Correction,
    Directive,
    Interaction,
    Model,
    PolicySkill,
    Scope,
    SkillCommand,
    SkillDiff,
    Stance,
    Statement,
    Topic,
    decode,
    encode,
    topic_of,
)
from schemas.corrections import MAX_DIRECTIVES
from streams.kafka.clients import partition_of
from streams.kafka.producer import Outbox
from streams.rights.commander import Commander
from streams.rights.portable.archive import (
    MANIFEST,
    MAX_MANIFEST_BYTES,
    Manifest,
    NotPortable,
    digest_of,
    topic_file,
)
from streams.rights.portable.ownership import OF_USERS
from streams.settings import Settings

MAX_LINE_BYTES = 16 * 1024 * 1024
"""Longer than any record of a topic."""
FLUSH_SECONDS = 60.0


@dataclass(frozen=True)
class Bundle:
    """A checked folder: every line is a record of its topic and about the person in the manifest."""

    folder: Path
    manifest: Manifest
    skills: dict[str, PolicySkill]
    card: Card | None = None

    def chosen(self, domain: str | None) -> list[PolicySkill]:
        """Return the skill of this domain, or all skills."""
        return [skill for name, skill in self.skills.items() if domain in (None, name)]

    def nothing_of(self, domain: str | None) -> str:
        """Return why there is nothing to import."""
        there = ", ".join(sorted(self.skills)) or "none"
        return f"{self.folder} has no skill{f' of {domain}' if domain else ''}; it has: {there}"


@dataclass(frozen=True)
class Order:
    """The actor and the time of an import, and its event ids.

    Attributes:
        name: makes an event id from what distinguishes one event of the import. The same ids and the same moment make
            a repeated import harmless.
    """

    actor: str
    reason: str = ""
    at: datetime = field(default_factory=lambda: datetime.now(UTC))
    name: Callable[[str], str] = lambda _: uuid4().hex


class SkillCame(BaseModel):
    """The version that an imported skill became; None: no worker has carried it out in time, and one will."""

    domain: str
    version: int | None
    lines_in: int
    lines_out: int
    refused: int


@dataclass
class Imported:
    """The result of an import.

    Attributes:
        statements: statements that a worker has taken over.
        lines: lines of the card that were set or pinned.
        diffs: the new version, by domain; None where no worker answered in time.
    """

    interactions: int = 0
    statements: int = 0
    lines: int = 0
    diffs: dict[str, SkillDiff | None] = field(default_factory=dict)

    @property
    def skills(self) -> list[SkillCame]:
        """The version that each skill became, with the number of its lines that came and went."""
        found = []
        for domain, diff in self.diffs.items():
            version, changes, refused = (None, (), ()) if diff is None else (diff.version, diff.changes, diff.refused)
            lines_in = sum(change.after is not None for change in changes)
            counts = {"lines_in": lines_in, "lines_out": len(changes) - lines_in, "refused": len(refused)}
            found.append(SkillCame(domain=domain, version=version, **counts))
        return found


def load(folder: Path, progress: Callable[[str, int, int], None] = lambda *_: None) -> Bundle:
    """Read and check a whole folder.

    Raises:
        NotPortable: it is not an export or was changed since; the message names the file and line.
    """
    manifest = _manifest(folder / MANIFEST)
    skills: dict[str, PolicySkill] = {}
    card: Card | None = None
    for number, (base, listed) in enumerate(manifest.topics.items(), 1):
        topic, file = TOPICS.get(base), topic_file(folder, base)
        if topic is None:
            raise NotPortable(f"{folder / MANIFEST} names an unknown topic {base!r}")
        if not file.is_file():
            raise NotPortable(f"{file} is missing")
        if digest_of(file) != listed.sha256:
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
        if count != listed.records:
            raise NotPortable(f"{file} has {count} records, {MANIFEST} says {listed.records}")
        progress("files", number, len(manifest.topics))
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
    """Send one command per skill, the statements, the card and, if asked to, the interactions; wait for all.

    `seconds`: how long to wait for each command and correction; 0: do not wait. `domain`: only this domain; None:
    all. `interactions`: send these too, under their own event ids, so that known ones are recognised.

    Raises:
        ValidationError: the user, the actor or the reason is invalid.
        NotProduced: the broker did not accept everything.
    """
    skills = bundle.chosen(domain)
    card = list(commands_of(bundle.card, user, order, domain)) if bundle.card else []
    if not skills and not card:
        raise NotPortable(bundle.nothing_of(domain))
    commands = [_command(skill, user, order) for skill in skills]
    done = Imported()
    if interactions:
        done.interactions = _send_interactions(settings, bundle, user, domain)
    with Commander(settings, user) as commander:
        for skill, command in zip(skills, commands, strict=True):
            done.diffs[command.domain] = commander.carry_out(command, seconds)
            for correction in corrections_of(skill, user, order):
                if commander.carry_out(correction, seconds) is not None:
                    done.statements += len(correction.says)
        for change in card:
            done.lines += commander.change_card(change, seconds) is not None
    return done


def _command(skill: PolicySkill, user: str, order: Order) -> SkillCommand:
    return SkillCommand(
        event_id=order.name(f"skill {skill.domain}"),
        occurred_at=order.at,
        user_id=user,
        domain=skill.domain,
        action=Action.IMPORT,
        lines=skill.attributes,
        actor=order.actor,
        reason=order.reason,
    )


def commands_of(card: Card, user: str, order: Order, domain: str | None = None) -> Iterator[CardCommand]:
    """Yield commands that write a card's lines for `user`, and pin the pinned ones. Past lines stay behind."""
    for line in card.lines:
        if domain not in (None, line.domain):
            continue
        stated = CardStated(stance=line.stance, dimension=line.dimension, value=line.value, domain=line.domain)
        common = {"occurred_at": order.at, "user_id": user, "actor": order.actor}
        name = f"card {line.line_id}"
        yield CardCommand(**common, event_id=order.name(name), action=CardAction.SET, line=stated)
        if line.pinned:
            yield CardCommand(**common, event_id=order.name(f"{name} pin"), action=CardAction.PIN, line_id=line.line_id)


def statements_of(skill: PolicySkill, at: datetime) -> list[Statement]:
    """Return the statements that hold for good and are not over at this moment, the oldest first."""
    return [said for said in skill.stated if said.scope is Scope.ALWAYS and (said.until is None or said.until > at)]


def corrections_of(skill: PolicySkill, user: str, order: Order) -> list[Correction]:
    """Return the statements of an exported skill as corrections of `user`, as a form would send them."""
    kept = statements_of(skill, order.at)
    parts = (kept[begin : begin + MAX_DIRECTIVES] for begin in range(0, len(kept), MAX_DIRECTIVES))
    return [
        Correction(
            event_id=order.name(f"said {skill.domain} {number}"),
            occurred_at=order.at,
            user_id=user,
            domain=skill.domain,
            items=_items(part),
            says=tuple(_directive(said) for said in part),
            scope=Scope.ALWAYS,
        )
        for number, part in enumerate(parts)
    ]


def _items(said: Sequence[Statement]) -> tuple[Candidate, ...]:
    titles = {each.item_id: each.value for each in said if each.item_id is not None}
    return tuple(Candidate(item_id=item_id, title=title) for item_id, title in titles.items())


def _directive(said: Statement) -> Directive:
    if said.item_id is not None:
        return Directive(stance=said.stance, item_id=said.item_id)
    if said.bound is not None:
        return Directive(stance=said.stance, bound=said.bound)
    over = said.over.rpartition(":")[2] if said.over is not None and said.stance is Stance.INSTEAD else None
    return Directive(stance=said.stance, dimension=said.dimension, value=said.value, over=over)


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
    """Yield the checked records of a file; None for one that was unreadable at the export."""
    with file.open("rb") as source:
        number = 0
        while line := source.readline(MAX_LINE_BYTES):
            number += 1
            try:
                yield _event(line, topic, user)
            except (BadRecord, ValueError, TypeError, KeyError) as error:
                why = error.detail if isinstance(error, BadRecord) else "it is not a line of an export"
                raise NotPortable(f"{file}, line {number}: {why}") from error


def _event(line: bytes, topic: Topic, user: str) -> Model | None:
    record = from_json(line)
    if "unreadable" in record:
        return None
    event = decode(topic.model, to_json(record["value"]))
    if topic.key in OF_USERS and getattr(event, "user_id", user) != user:
        raise BadRecord("wrong-user", "it is not about the person in the manifest")
    return event
