"""What a verification finds."""

from dataclasses import dataclass, field

from operators.findings import Kind

MOST_FINDINGS = 1_000

Name = tuple[str, str]
"""User and domain."""


@dataclass(frozen=True)
class Finding:
    """Something that is not as it was written.

    Attributes:
        kind: the class of it.
        user_id: whose it is; empty where nobody can tell.
        domain: of which domain; empty where nobody can tell.
        what: what it is and where, for people.
    """

    kind: Kind
    user_id: str
    domain: str
    what: str


@dataclass
class Verified:
    """The extent of a verification and its findings.

    Attributes:
        users, skills, versions: how many were verified on the topics.
        cards: how many cards were verified.
        receipts: how many receipts were verified.
        copies: rows of DuckDB that were compared with the topics; None if there is no snapshot.
        expired: rows of events that Kafka does not keep any more: nothing can be said of them.
        behind: records that the snapshot has not read yet.
        forgotten: how many people have a receipt instead of a log, or rows that DuckDB has not deleted yet.
        anchored: skills that the anchor knows; None if there is no anchor.
        findings: the first thousand findings.
        found: the number of findings.
    """

    users: int = 0
    skills: int = 0
    versions: int = 0
    cards: int = 0
    receipts: int = 0
    copies: int | None = None
    expired: int = 0
    behind: int = 0
    forgotten: int = 0
    anchored: int | None = None
    findings: list[Finding] = field(default_factory=list)
    found: int = 0

    def note(self, finding: Finding) -> None:
        """Counts a finding, and keeps it up to a limit."""
        self.found += 1
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)
