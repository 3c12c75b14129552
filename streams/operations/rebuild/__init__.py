"""Rebuild all skills from the log of diffs alone (invariant 1), and compare them with the compacted topics.

No reasoner, rule or limit is involved: it is the fold that workers do, in bulk and without Faust. It goes partition by
partition, because a user's diffs, skills and slim skills are on the same one. Memory: some 75 kB for each skill of the
largest partition, and 8 bytes per diff.

Workers may keep running: the log is read before the skills, and then on to the versions that the skills have.
"""

from streams.operations.rebuild.folding import Example, Finding, Report
from streams.operations.rebuild.run import rebuild

__all__ = ["Example", "Finding", "Report", "rebuild"]
