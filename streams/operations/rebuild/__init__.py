"""Rebuild all skills from the log of diffs alone (invariant 1), and write those that differ on the compacted topics.

No reasoner, rule or limit is involved: it is the fold that workers do, in bulk and without Faust. It goes partition by
partition, because a user's diffs, skills and slim skills are on the same one. Memory: some 75 kB for each skill of the
largest partition, and 8 bytes per diff.

While it only compares, workers may keep running: the log is read before the skills, and then on to the versions that
the skills have. `sager policy verify` finds what differs, and how.
"""

from streams.operations.rebuild.folding import Report
from streams.operations.rebuild.run import rebuild

__all__ = ["Report", "rebuild"]
