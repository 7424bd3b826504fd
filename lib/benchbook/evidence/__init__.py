"""Published numbers against observations: block means, comparisons, claims and their verdicts, what qualifies them."""

from benchbook.evidence.claim_files import claims, sentences
from benchbook.evidence.claims import Claim, Sentence
from benchbook.evidence.comparisons import comparisons, controls, untrusted
from benchbook.evidence.diagnostics import drift, drift_words, null_baseline, null_baseline_words, warmups
from benchbook.evidence.evidence import Evidence
from benchbook.evidence.means import DERIVED, Derived, block_means, derive, measures, stored_means
from benchbook.evidence.published import STUDIES, number, published
from benchbook.evidence.students import NO_TESTS, student_as_published, student_here
from benchbook.evidence.verdicts import judged, verdicts

__all__ = [
    "DERIVED",
    "NO_TESTS",
    "STUDIES",
    "Claim",
    "Derived",
    "Evidence",
    "Sentence",
    "block_means",
    "claims",
    "comparisons",
    "controls",
    "derive",
    "drift",
    "drift_words",
    "judged",
    "measures",
    "null_baseline",
    "null_baseline_words",
    "number",
    "published",
    "sentences",
    "stored_means",
    "student_as_published",
    "student_here",
    "untrusted",
    "verdicts",
    "warmups",
]
