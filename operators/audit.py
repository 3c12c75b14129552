"""Audits of a skill's or a card's log against its state."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import groupby
from typing import Literal, NamedTuple, TypeVar

from operators.cards.fold import fold_cards
from operators.learning.fold import merge
from operators.seals import Diff, DiffT, SealState, check_seal, is_sealed
from schemas import Card, CardDiff, PolicySkill, SkillDiff, SlimSkill, encode

StateT = TypeVar("StateT", PolicySkill, Card)


class FaultKind(StrEnum):
    """The kinds of faults: stable names for programs (docs/rights.md)."""

    # A record that cannot be read.
    UNREADABLE = "unreadable"
    # A record under another's key, or on another user's partition.
    MISPLACED = "misplaced"
    # A record with a field twice, or with an unknown one.
    DISGUISED = "disguised"
    LOG_GAP = "log-gap"
    LOG_UNSEALED = "log-unsealed"
    LOG_FORGED = "log-forged"
    LOG_DOES_NOT_FOLD = "log-does-not-fold"
    LOG_CUT = "log-cut"
    SKILL_MISSING = "skill-missing"
    SKILL_DIFFERS = "skill-differs"
    CARD_MISSING = "card-missing"
    CARD_DIFFERS = "card-differs"
    SLIM_UNSEALED = "slim-unsealed"
    SLIM_FORGED = "slim-forged"
    SLIM_AHEAD = "slim-ahead"
    SLIM_REPLAYED = "slim-replayed"
    SLIM_WITHOUT_LOG = "slim-without-log"
    RECEIPT_UNSEALED = "receipt-unsealed"
    RECEIPT_FORGED = "receipt-forged"
    RECEIPT_MISSING = "receipt-missing"
    # An erased record that is there again.
    RETURNED = "returned"
    # The user asked for has neither a log nor a receipt.
    UNKNOWN = "unknown"


class ChainBreak(NamedTuple):
    """A version where the chain of seals is broken."""

    version: int
    why: str
    kind: FaultKind


def without_seals(skill: PolicySkill) -> PolicySkill:
    """Remove a skill's seals, to compare it with an unsealed one."""
    last = skill.last_diff
    unsealed = last.model_copy(update={"chain": None}) if last is not None else None
    return skill.model_copy(update={"chain": None, "last_diff": unsealed})


def chain_breaks(diffs: Sequence[Diff], key: bytes = b"") -> list[ChainBreak]:
    """Return the missing, unsealed and edited versions of one log."""
    found: list[ChainBreak] = []
    before: Diff | None = None
    for diff in diffs:
        follows = before.version if before is not None else 0
        base = diff.base_version if isinstance(diff, SkillDiff) else diff.version - 1
        if base != follows or diff.version != follows + 1:
            why = f"it names version {base} as its base; the log has {follows}"
            found.append(ChainBreak(diff.version, why, FaultKind.LOG_GAP))
        if diff.chain is None:
            found.append(ChainBreak(diff.version, "it is not sealed", FaultKind.LOG_UNSEALED))
        elif not is_sealed(diff, before.chain if before else None, key):
            why = "its content does not match its seal, or the seal has another key"
            found.append(ChainBreak(diff.version, why, FaultKind.LOG_FORGED))
        before = diff
    return found


@dataclass(frozen=True)
class Fault:
    """A difference between a record and the log."""

    kind: FaultKind
    text: str


def audit_skill(
    diffs: Sequence[SkillDiff], skill: PolicySkill | None, slim: SlimSkill | None = None, key: bytes = b""
) -> list[Fault]:
    """Return the faults of one skill, its log and its slim skill."""
    return [
        *_broken(diffs, key),
        *_slim_faults(diffs, slim, key),
        *_state_faults("skill", diffs, skill, lambda log: reduce(merge, log, None)),
    ]


def audit_card(diffs: Sequence[CardDiff], card: Card | None, key: bytes = b"") -> list[Fault]:
    """Return the faults of one card and its log."""
    broken = [Fault(each.kind, f"card: {each.text}") for each in _broken(diffs, key)]
    return broken + _state_faults("card", diffs, card, lambda log: fold_cards(log).get(card.user_id) if card else None)


def _state_faults(
    name: Literal["skill", "card"],
    diffs: Sequence[DiffT],
    state: StateT | None,
    fold: Callable[[Iterable[DiffT]], StateT | None],
) -> list[Fault]:
    newest = diffs[-1].version if diffs else 0
    if state is None:
        missing = f"the {name}'s log has {newest} versions, and the topic of {name}s has no {name}"
        return [Fault(FaultKind(f"{name}-missing"), missing)] if diffs else []
    if newest < state.version:
        text = f"the {name}'s log ends at version {newest}, and the {name} is at {state.version}"
        return [Fault(FaultKind.LOG_CUT, text)]
    try:
        folded = fold(diff for diff in diffs if diff.version <= state.version)
    except Exception as error:  # a forged version may break the fold anywhere, and must not end the verification
        return [Fault(FaultKind.LOG_DOES_NOT_FOLD, f"the {name}'s log does not fold: {error or type(error).__name__}")]
    if folded is None or encode(folded) != encode(state):
        text = f"the log folds to another {name} than the topic of {name}s has at version {state.version}"
        return [Fault(FaultKind(f"{name}-differs"), text)]
    return []


def _broken(diffs: Sequence[Diff], key: bytes) -> list[Fault]:
    """Return the breaks of the chain, consecutive versions of one kind together."""
    found: list[Fault] = []
    breaks = enumerate(chain_breaks(diffs, key))
    # Consecutive versions have the same distance to their index.
    for (kind, why, _), run in groupby(breaks, lambda each: (each[1].kind, each[1].why, each[1].version - each[0])):
        first, *more = [each.version for _, each in run]
        found.append(Fault(kind, f"versions {first} to {more[-1]}: {why}" if more else f"version {first}: {why}"))
    return found


def _slim_faults(diffs: Sequence[SkillDiff], slim: SlimSkill | None, key: bytes) -> list[Fault]:
    if slim is None:
        return []
    seal, faults = check_seal(slim, key), []
    if seal is SealState.MISSING:
        faults.append((FaultKind.SLIM_UNSEALED, "is not sealed"))
    elif seal is SealState.WRONG:
        faults.append((FaultKind.SLIM_FORGED, "does not match its seal, or the seal has another key"))
    if not diffs:
        faults.append((FaultKind.SLIM_WITHOUT_LOG, "has no log"))
    elif slim.skill_version > (newest := diffs[-1].version):
        faults.append((FaultKind.SLIM_AHEAD, f"is ahead of the log, which ends at version {newest}"))
    return [Fault(kind, f"the slim skill, of version {slim.skill_version}, {text}") for kind, text in faults]
