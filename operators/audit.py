"""Audits one skill or card: the seals of its log, the state that it folds to, and the slim skill made of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from operators.cards.fold import fold as fold_card
from operators.chain import Diff, breaks
from operators.findings import Kind
from operators.merge import merge
from operators.seals import Seal, seal_of
from operators.slim import JOINT, sayable
from schemas import Card, CardDiff, PolicySkill, SkillDiff, SlimSkill, encode


@dataclass(frozen=True)
class Fault:
    """Something about a skill that is not as it was written.

    Attributes:
        kind: the class of it.
        what: for people.
    """

    kind: Kind
    what: str


def audit(
    diffs: Sequence[SkillDiff], skill: PolicySkill | None, slim: SlimSkill | None = None, key: bytes = b""
) -> list[Fault]:
    """The faults of one skill: broken seals, and a skill or a slim skill that does not follow from the log.

    Args:
        diffs: the newest record of each version, by version. There may be newer ones than the skill knows.
        skill: the record on the topic of skills; None if there is none.
        slim: the record on the topic of slim skills; None if there is none.
        key: the secret that versions were sealed with.
    """
    found = [*_broken(diffs, key), *_slim_faults(diffs, slim, key)]
    newest = diffs[-1].version if diffs else 0
    if skill is None:
        missing = Fault(Kind.SKILL_MISSING, f"the log has {newest} versions, and the topic of skills nothing")
        return [*found, missing] if diffs else found
    if newest < skill.version:
        short = Fault(Kind.LOG_CUT, f"the log ends at version {newest}, and the skill is at {skill.version}")
        return [*found, short]
    return [*found, *_folds(diffs, skill, slim)]


def audit_card(diffs: Sequence[CardDiff], card: Card | None, key: bytes = b"") -> list[Fault]:
    """The faults of one card: broken seals of its log, and a card that does not follow from the log.

    Args:
        diffs: the newest record of each version, by version. There may be newer ones than the card knows.
        card: the record on the topic of cards; None if there is none.
        key: the secret that versions were sealed with.
    """
    found = [Fault(each.kind, f"of the card, {each.what}") for each in _broken(diffs, key)]
    newest = diffs[-1].version if diffs else 0
    if card is None:
        missing = Fault(Kind.CARD_MISSING, f"the log has {newest} versions of a card that the topic of cards lacks")
        return [*found, missing] if diffs else found
    if newest < card.version:
        short = Fault(Kind.LOG_CUT, f"the card's log ends at version {newest}, and the card is at {card.version}")
        return [*found, short]
    try:
        folded = fold_card(diff for diff in diffs if diff.version <= card.version).get(card.user_id)
    except Exception as error:  # a forged version may break the fold anywhere, and must not end the verification
        what = f"the card's log does not fold: {error or type(error).__name__}"
        return [*found, Fault(Kind.LOG_DOES_NOT_FOLD, what)]
    if folded is None or encode(folded) != encode(card):
        what = f"the log folds to another card than the topic of cards has at version {card.version}"
        found.append(Fault(Kind.CARD_DIFFERS, what))
    return found


def _broken(diffs: Sequence[Diff], key: bytes) -> list[Fault]:
    """The breaks of the chain; consecutive versions with the same reason are reported once."""
    runs: list[tuple[int, int, str, Kind]] = []
    for each in breaks(diffs, key):
        if runs and runs[-1][1] == each.version - 1 and runs[-1][2] == each.why:
            runs[-1] = (runs[-1][0], each.version, each.why, each.kind)
        else:
            runs.append((each.version, each.version, each.why, each.kind))
    return [Fault(kind, f"version {a}: {why}" if a == b else f"versions {a} to {b}: {why}") for a, b, why, kind in runs]


def _slim_faults(diffs: Sequence[SkillDiff], slim: SlimSkill | None, key: bytes) -> list[Fault]:
    if slim is None:
        return []
    name = f"the slim skill, of version {slim.skill_version},"
    found: list[Fault] = []
    seal = seal_of(slim, key)
    if seal is Seal.MISSING:
        found.append(Fault(Kind.SLIM_UNSEALED, f"{name} is not sealed"))
    elif seal is Seal.WRONG:
        found.append(Fault(Kind.SLIM_FORGED, f"{name} is not what was sealed, or was sealed with another key"))
    if not diffs:
        found.append(Fault(Kind.SLIM_WITHOUT_LOG, f"{name} is of no log"))
    elif slim.skill_version > diffs[-1].version:
        found.append(Fault(Kind.SLIM_AHEAD, f"{name} is ahead of the log, which ends at version {diffs[-1].version}"))
    return found


def _folds(diffs: Sequence[SkillDiff], skill: PolicySkill, slim: SlimSkill | None) -> list[Fault]:
    folded: PolicySkill | None = None
    found: list[Fault] = []
    try:
        for diff in diffs:
            if diff.version <= skill.version:
                folded = merge(folded, diff)
            if slim is not None and folded is not None and diff.version == slim.skill_version == folded.version:
                found += _says_else(folded, slim)
    except Exception as error:  # a forged version may break the fold anywhere, and must not end the verification
        return [*found, Fault(Kind.LOG_DOES_NOT_FOLD, f"the log does not fold: {error or type(error).__name__}")]
    if folded is None or encode(folded) != encode(skill):
        what = f"the log folds to another skill than the topic of skills has at version {skill.version}"
        found.append(Fault(Kind.SKILL_DIFFERS, what))
    return found


def _says_else(skill: PolicySkill, slim: SlimSkill) -> list[Fault]:
    """The phrases of a slim skill that its skill lacks: a worker made it from a skill that is not the log's.

    The verifier does not know the budget and the vouching by which the worker chose phrases. So it looks for each
    phrase among all that this version allows.
    """
    version, known = slim.skill_version, sayable(skill)
    styles = slim.style.split(JOINT) if slim.style else ()
    parts = ((slim.likes, known.likes), (styles, known.styles), (slim.avoids, known.avoids), (slim.now, known.now))
    strange = [phrase for phrases, allowed in parts for phrase in phrases if phrase not in allowed]
    if strange:
        return [Fault(Kind.SLIM_DIFFERS, f"the slim skill says {strange[0]!r}, which version {version} does not")]
    held = next((each for each in skill.sessions if each.session_id == slim.session_id), None)
    if slim.session_id is not None and (held is None or held.until != slim.session_until):
        what = f"the slim skill is of the session {slim.session_id!r}, which version {version} does not have so"
        return [Fault(Kind.SLIM_DIFFERS, what)]
    if slim.session_id is None and slim.session_until not in {None, *(said.until for said in skill.stated)}:
        what = f"the slim skill has words until {slim.session_until}, but version {version} has none"
        return [Fault(Kind.SLIM_DIFFERS, what)]
    return []
