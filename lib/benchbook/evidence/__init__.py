"""Published numbers against observations: block means, derived quantities, comparisons, Student's tests."""

from benchbook.evidence.comparisons import comparisons, controls
from benchbook.evidence.derived import DERIVED, Derived, derive, measures
from benchbook.evidence.means import block_means
from benchbook.evidence.published import STUDIES, number, published
from benchbook.evidence.stored import stored_means
from benchbook.evidence.students import NO_TESTS, student_as_published, student_here

__all__ = [
    "DERIVED",
    "NO_TESTS",
    "STUDIES",
    "Derived",
    "block_means",
    "comparisons",
    "controls",
    "derive",
    "measures",
    "number",
    "published",
    "stored_means",
    "student_as_published",
    "student_here",
]
