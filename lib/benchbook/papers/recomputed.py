"""The papers' own analyses, recomputed from the numbers that they print: checks and findings.

A *check* compares one printed number, bound or order with what other printed numbers make it.
Checks are counted. A *finding* describes what does not follow: as printed, as recomputed, and why.
Each paper has a module in `benchbook.papers.checks`, and its findings' texts in ``data/findings``.
All numbers are computed from ``data/published`` alone.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from string import Formatter
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import pandas as pd

from benchbook import paths
from benchbook.analysis.published import load_published_numbers
from benchbook.files.yaml_file import load_yaml
from benchbook.papers.checks import bookstore, crud, drivers, replication, tcp

CHECKS: Final = {
    "bookstore": bookstore,
    "tcp": tcp,
    "drivers": drivers,
    "crud": crud,
    "replication": replication,
}
"""The module with the checks of each study's paper."""

FindingKind: TypeAlias = Literal[
    "misprint", "contradiction", "implausible", "unsupported", "not shown"
]
"""What is wrong:

- ``misprint``: a slip that another number corrects
- ``contradiction``: two places cannot both be right
- ``implausible``: possible on paper, not on a machine
- ``unsupported``: a sentence that the numbers do not support
- ``not shown``: the reader would need it, and it is not printed
"""


@dataclass(frozen=True)
class PaperFinding:
    """One place where a paper's text, tables and arithmetic do not agree.

    Its name is ``<study>.<what>``; ``why`` says what follows for a reader of the paper.
    """

    name: str
    title: str
    kind: FindingKind
    source: str
    as_printed: str
    recomputed: str
    why: str

    @property
    def study(self) -> str:
        """The slug of the study."""
        return self.name.partition(".")[0]


def run_checks(study: str | None = None) -> pd.DataFrame:
    """Return the checks of one study, or of all: one row per check, one column per field."""
    rows = []
    for slug in (study,) if study else CHECKS:
        rows += [asdict(check) for check in CHECKS[slug].list_checks()]
    return pd.DataFrame(rows)


def list_findings(study: str | None = None) -> list[PaperFinding]:
    """Return the findings of one study, or of all: the texts of ``data/findings``, filled in."""
    findings = []
    fill = _SentenceWriter().vformat
    for slug in (study,) if study else CHECKS:
        numbers = CHECKS[slug].compute_findings()
        for name, texts in load_yaml(paths.findings() / f"{slug}.yaml").value.items():
            of_finding = numbers.get(name, {})
            filled: dict[str, Any] = {part: fill(texts[part], (), of_finding) for part in texts}
            findings.append(PaperFinding(name, **filled))
    return findings


class _SentenceWriter(Formatter):
    """Fills numbers into a text as `str.format` does, and several as a sentence lists them."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, list | np.ndarray):
            return list_values(value, format_spec)
        return format(value, format_spec)


def list_values(values: Iterable[float | str], form: str = "") -> str:
    """Return values as a sentence lists them, each in a format: ``1.39, 20.1 and 142.0``."""
    *first, last = (format(value, form) for value in values)
    return f"{', '.join(first)} and {last}" if first else last


def count_checks(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many checks of a table each study has: ``study, recomputed, agree, disagree``."""
    agrees = table.groupby("study", sort=False)["agrees"]
    counts = pd.DataFrame({"recomputed": agrees.size(), "agree": agrees.sum().astype(int)})
    return counts.assign(disagree=counts["recomputed"] - counts["agree"]).reset_index()


def count_coverage() -> dict[str, int]:
    """Return how many printed values there are, and how many of them are checked.

    Returns
    -------
    dict
        - ``printed``: rows of ``data/published``
        - ``recomputed``: values that other printed numbers give
        - ``used``: further values that these or an order are computed from
        - ``texts``: versions and other text
        - ``alone``: numbers that nothing else printed gives or needs, such as a machine's memory
    """
    table, compared = load_published_numbers(), run_checks()
    keys = pd.MultiIndex.from_frame(table[["study", "source", "row", "column"]])
    recomputed = set(compared["key"].dropna())
    used = set(compared["used"].explode().dropna()) - recomputed
    texts = set(keys[table["value"].isna()]) - recomputed - used
    counts = {"recomputed": len(recomputed), "used": len(used), "texts": len(texts)}
    return {"printed": len(table), **counts, "alone": len(table) - sum(counts.values())}
