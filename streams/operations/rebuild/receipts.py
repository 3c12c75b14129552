"""Receipts without a seal, from before there were seals: only a person who knows the requests can vouch for them."""

from operators.seals import Seal, seal_of, sealed
from schemas import BadRecord, Receipt, decode, encode
from streams.kafka.scanner import Scanner, int_of
from streams.operations.rebuild.report import Finding, Report
from streams.operations.rebuild.writer import Writer


def look(scanner: Scanner, report: Report, key: bytes, writer: Writer | None) -> None:
    """Reports receipts without a seal.

    Args:
        scanner: of the deployment's topics.
        report: receives the findings.
        key: the deployment's secret; empty for none.
        writer: writes them again with their seal; None: they stay as they are.
    """
    newest: dict[tuple[int, bytes], bytes | None] = {}
    for message in scanner.read(scanner.partitions(Receipt.TOPIC)):
        newest[int_of(message.partition()), message.key() or b""] = message.value()
    for (partition, subject), value in newest.items():
        try:
            receipt = decode(Receipt, value)
        except BadRecord:
            continue
        if seal_of(receipt, key) is not Seal.MISSING or receipt.subject.encode() != subject:
            continue
        report.note(Finding.RECEIPT_UNSEALED, subject, f"of {receipt.occurred_at:%Y-%m-%d %H:%M}")
        if writer is not None:
            report.written += writer.write(Receipt.TOPIC, partition, subject, encode(sealed(receipt, key)))
    if writer is not None:
        writer.flush()
