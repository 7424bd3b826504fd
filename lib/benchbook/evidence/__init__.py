"""Published numbers against observations: block means, derived quantities, comparisons, Student's tests."""

from benchbook.evidence.claim_files import claims, sentences
from benchbook.evidence.claims import Claim
from benchbook.evidence.comparisons import comparisons, controls
from benchbook.evidence.derived import DERIVED, Derived, derive, measures
from benchbook.evidence.drift import drift, drift_words
from benchbook.evidence.evidence import Evidence
from benchbook.evidence.harness import harness_cost, harness_words
from benchbook.evidence.means import block_means
from benchbook.evidence.published import STUDIES, number, published
from benchbook.evidence.sentences import Sentence
from benchbook.evidence.stored import stored_means
from benchbook.evidence.students import NO_TESTS, student_as_published, student_here
from benchbook.evidence.trust import untrusted
from benchbook.evidence.verdicts import judged, verdicts
from benchbook.evidence.warmups import warmups

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
    "harness_cost",
    "harness_words",
    "judged",
    "measures",
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
