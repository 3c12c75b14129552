"""Anchors: what there was at a moment, so that a log cut back to an older valid state is found.

An anchor knows of each skill its newest version with the beginning of its seal, and of each receipt until when it
reaches. People are in it as pseudonyms, keyed with the deployment's secret: without the secret they name nobody.
"""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from operators.audit import Fault
from operators.findings import Kind
from operators.seals import derived_key
from schemas import Receipt, SkillDiff, SlimSkill, subject_of

PSEUDONYM_DIGITS = 32
SEAL_DIGITS = 32


@dataclass(frozen=True, slots=True)
class SkillMark:
    """What an anchor says of a skill."""

    person: str
    skill: str
    version: int
    seal: str
    slim: int
    rewritten: int


@dataclass(frozen=True, slots=True)
class ReceiptMark:
    """What an anchor says of a receipt."""

    person: str
    scopes: Mapping[str, datetime]


@dataclass(frozen=True)
class Pseudonyms:
    """Names for people and scopes that only the holder of the secret can make."""

    key: bytes

    def person(self, subject: str) -> str:
        """Of a person, by the digest that receipts have of them."""
        return self._of("person", subject)

    def skill(self, subject: str, domain: str) -> str:
        """Of a person in a domain."""
        return self._of("skill", subject, domain)

    def line(self, digest: str) -> str:
        """Of a line that was forgotten."""
        return self._of("line", digest)

    def _of(self, *parts: str) -> str:
        raw = b"".join(len(part.encode()).to_bytes(4, "big") + part.encode() for part in parts)
        return hmac.digest(derived_key(self.key, "pseudonyms"), raw, "sha256").hex()[:PSEUDONYM_DIGITS]


def skill_mark(diffs: Sequence[SkillDiff], slim: SlimSkill | None, names: Pseudonyms) -> SkillMark:
    """The mark of a skill, of its whole log and its slim skill."""
    last = diffs[-1]
    subject = subject_of(last.user_id)
    return SkillMark(
        names.person(subject),
        names.skill(subject, last.domain),
        last.version,
        (last.chain or "")[:SEAL_DIGITS],
        slim.skill_version if slim else 0,
        last.rewritten,
    )


def receipt_mark(receipt: Receipt, names: Pseudonyms) -> ReceiptMark:
    """The mark of a receipt."""
    person = names.person(receipt.subject)
    scopes = {names.skill(receipt.subject, domain): each.until for domain, each in receipt.domains.items()}
    scopes |= {names.line(line): each.until for line, each in receipt.lines.items()}
    if receipt.person is not None:
        scopes[person] = receipt.person.until
    return ReceiptMark(person, scopes)


def skill_faults(
    mark: SkillMark, diffs: Sequence[SkillDiff], slim: SlimSkill | None, receipt: Receipt | None, since: datetime
) -> list[Fault]:
    """What of a skill is not what follows from its mark."""
    domain = diffs[0].domain
    if receipt is not None and receipt.covers(domain, since):
        return []
    found: list[Fault] = []
    newest = diffs[-1].version
    if newest < mark.version:
        found.append(Fault(Kind.LOG_CUT, f"the log ends at version {newest}, the anchor knows version {mark.version}"))
    elif not _continues(mark, diffs, receipt, since):
        what = f"version {mark.version} is another than the one that the anchor knows"
        found.append(Fault(Kind.LOG_REPLACED, what))
    if mark.slim and slim is None:
        what = f"there is no slim skill, the anchor knows one of version {mark.slim}"
        found.append(Fault(Kind.SLIM_MISSING, what))
    elif slim is not None and slim.skill_version < mark.slim:
        what = f"the slim skill is of version {slim.skill_version}, the anchor knows one of version {mark.slim}"
        found.append(Fault(Kind.SLIM_REPLAYED, what))
    return found


def _continues(mark: SkillMark, diffs: Sequence[SkillDiff], receipt: Receipt | None, since: datetime) -> bool:
    at = next((diff for diff in diffs if diff.version == mark.version), None)
    if at is None or (at.chain or "")[:SEAL_DIGITS] == mark.seal:
        return True  # a gap is told by the chain itself
    lines = receipt.lines.values() if receipt is not None else ()
    return at.rewritten > mark.rewritten and any(line.until >= since for line in lines)


def is_excused(mark: SkillMark, receipts: Iterable[Receipt], names: Pseudonyms, since: datetime) -> bool:
    """Whether a skill that is gone was forgotten since its anchor."""
    for receipt in receipts:
        if names.person(receipt.subject) != mark.person:
            continue
        if receipt.person is not None and receipt.person.until >= since:
            return True
        for domain, scope in receipt.domains.items():
            if scope.until >= since and names.skill(receipt.subject, domain) == mark.skill:
                return True
    return False


def receipt_fault(mark: ReceiptMark, receipt: Receipt | None, names: Pseudonyms) -> Fault | None:
    """What of a receipt is less than its mark says; a receipt may widen to the person, and reach further."""
    if receipt is None:
        return Fault(Kind.RECEIPT_MISSING, f"there is no receipt of the person whom the anchor calls {mark.person}")
    scopes = receipt_mark(receipt, names).scopes
    widest = scopes.get(mark.person)
    for name, until in mark.scopes.items():
        reached = max((each for each in (widest, scopes.get(name)) if each is not None), default=None)
        if reached is None or reached < until:
            what = f"the receipt of the subject {receipt.subject[:12]} covers less than the anchor knows"
            return Fault(Kind.RECEIPT_MISSING, what)
    return None
