"""The receipts of a deployment, and what each of them excuses: only those whose seal is right excuse anything."""

from collections.abc import Iterator
from datetime import datetime

from confluent_kafka import Message

from operators.findings import Kind
from operators.seals import Seal, is_plain, seal_of
from schemas import BadRecord, Forgotten, Receipt, decode, subject_of
from streams.kafka.scanner import NoSuchTopic, Scanner
from streams.rights.verify.findings import Finding


class Receipts:
    """All receipts, by subject; read once.

    Args:
        scanner: of the deployment's topics.
        key: the secret that they were sealed with.
    """

    def __init__(self, scanner: Scanner, key: bytes) -> None:
        self.found: dict[str, Receipt] = {}
        self.findings: list[Finding] = []
        self._key = key
        try:
            where = scanner.partitions(Receipt.TOPIC)
        except NoSuchTopic:
            return
        newest: dict[tuple[bytes, int | None], Message] = {}
        for message in scanner.read(where):
            # On several partitions after a change of their number: each of them counts.
            newest[message.key() or b"", message.partition()] = message
        for message in newest.values():
            self.findings += self._take(message)

    def _take(self, message: Message) -> Iterator[Finding]:
        place = f"the receipt at {message.topic()}[{message.partition()}] offset {message.offset()}"
        value = message.value()
        if value is None:
            # A worker never removes one. What it excused is found by what is missing.
            yield Finding(Kind.RECEIPT_MISSING, "", "", f"{place} was removed")
            return
        try:
            receipt = decode(Receipt, value)
        except BadRecord as error:
            yield Finding(Kind.UNREADABLE, "", "", f"{place} cannot be read: {error}")
            return
        who = f"{place}, of the subject {receipt.subject[:12]},"
        seal = seal_of(receipt, self._key)
        if seal is Seal.WRONG:
            what = f"{who} is not what was sealed, or was sealed with another key: it excuses nothing"
            yield Finding(Kind.RECEIPT_FORGED, "", "", what)
            return
        if (message.key() or b"") != receipt.subject.encode():
            yield Finding(Kind.MISPLACED, "", "", f"{who} has the key of another")
            return
        if seal is Seal.MISSING:
            yield Finding(Kind.RECEIPT_UNSEALED, "", "", f"{who} is not sealed")
        if not is_plain(value, receipt):
            yield Finding(Kind.DISGUISED, "", "", f"{who} says more than what is read")
        held = self.found.get(receipt.subject)
        if held is None or _newest(held) <= _newest(receipt):
            self.found[receipt.subject] = receipt

    def of(self, user_id: str) -> Receipt | None:
        """The receipt of a user; None if there is none that counts."""
        return self.found.get(subject_of(user_id))

    def covers(self, user_id: str, domain: str | None, *moments: datetime) -> bool:
        """Whether what happened at one of these moments is forgotten."""
        receipt = self.of(user_id)
        return receipt is not None and receipt.covers(domain or None, *moments)

    def has_removed(self, user_id: str, domain: str, moment: datetime, before: datetime) -> bool:
        """Whether a worker said, before a moment, that it had removed what happened at another one."""
        receipt = self.of(user_id)
        scopes = [] if receipt is None else [receipt.person, receipt.domains.get(domain)]  # type: ignore[call-overload]
        return any(each is not None and each.done and moment <= each.until < before for each in scopes)

    def forgets(self, user_id: str, domain: str | None) -> bool:
        """Whether the person, or this domain of theirs, was ever forgotten; without a domain, any of them."""
        receipt = self.of(user_id)
        if receipt is None:
            return False
        return receipt.person is not None or (bool(receipt.domains) if domain is None else domain in receipt.domains)

    def touches(self, user_id: str, moment: datetime) -> bool:
        """Whether anything of the person was forgotten at or after this moment."""
        receipt = self.of(user_id)
        return receipt is not None and any(scope.until >= moment for scope in receipt.scopes)


def _newest(receipt: Receipt) -> datetime:
    scopes: list[Forgotten] = list(receipt.scopes)
    return max((scope.until for scope in scopes), default=receipt.occurred_at)
