"""The papers' own analyses, recomputed from the numbers they print: what agrees, and what does not follow.

Two kinds. A *check* holds one printed number, bound or ordering against what other printed numbers make it; checks are
counted. A *finding* says what does not follow, as printed, as recomputed, and why. Both read ``data/published`` alone.
"""

from benchbook.evidence.recomputed.check import SIMILAR, Check
from benchbook.evidence.recomputed.collection import checks, coverage, finding, findings, tally
from benchbook.evidence.recomputed.finding import Finding

__all__ = ["SIMILAR", "Check", "Finding", "checks", "coverage", "finding", "findings", "tally"]
