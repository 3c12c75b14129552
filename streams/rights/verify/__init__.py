"""Verifies that nothing was edited or removed in the topics and the DuckDB file.

The topics are compared with their seals and with each other, partition by partition, because a user's log, skill and
slim skill are on the same one. DuckDB is compared with what the materializer makes of the same topics. Workers and the
materializer may keep running. A forgotten person has a receipt instead of a log.

The largest partition bounds the memory: some 1.5 kB per version of its log, and in DuckDB's form all its records.
"""

from streams.rights.verify.findings import Finding, Verified
from streams.rights.verify.run import make_anchor, verify

__all__ = ["Finding", "Verified", "make_anchor", "verify"]
