"""Rebuilds all skills from the log of diffs alone (invariant 1) and compares them with the compacted topics.

No reasoner, rule or limit is involved: it is the fold that workers do, in bulk and without Faust. It goes partition by
partition, because a user's diffs, skills and slim skills are on the same one. The skills of the largest partition bound
the memory, with some 75 kB each and 8 bytes per diff; the length of the log does not.

Workers may keep running: the log is read before the skills, and then on to the versions that the skills have.
"""

from streams.operations.rebuild.report import Example, Finding, Report
from streams.operations.rebuild.run import rebuild

__all__ = ["Example", "Finding", "Report", "rebuild"]
