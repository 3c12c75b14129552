"""All skills from the log of diffs alone (invariant 1), compared with what the compacted topics hold.

No reasoner, no rule and no limit has a say: it is the fold that the workers do, in bulk and without Faust. It goes
partition by partition, because a user's diffs, skills and slim skills are on the same one. So memory is bounded by the
skills of the largest partition, some 75 kB each, and 8 bytes for each of their diffs; not by the length of the log.

Workers may go on meanwhile: the log is read before the skills, and then on to the versions that the skills have.
"""

from streams.operations.rebuild.report import Example, Finding, Report
from streams.operations.rebuild.run import rebuild

__all__ = ["Example", "Finding", "Report", "rebuild"]
