"""Which of a paper's numbers follow from its others: checks and findings of ``data/findings``.

A *check* compares one printed number, bound or order with what other printed numbers make it.
A *finding* describes what does not follow: as printed, as recomputed, and why. Both are recomputed
in ``notebooks/07_the_papers_numbers.ipynb``.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import pandas as pd

from benchbook import paths
from benchbook.files.yaml_file import load_yaml
from benchbook.studies.catalogue import SLUGS

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


def load_findings(study: str | None = None) -> list[PaperFinding]:
    """Return the findings of one study, or of all."""
    findings = []
    for slug in (study,) if study else SLUGS:
        for name, texts in load_yaml(paths.findings() / f"{slug}.yaml").value.items():
            findings.append(PaperFinding(name, **texts))
    return findings


def load_checks(study: str | None = None) -> pd.DataFrame:
    """Return the checks of one study, or of all.

    Returns
    -------
    pandas.DataFrame
        ``study, kind`` (number, bound, order or likeness)``, says, where`` (the source that prints
        it)``, row, column`` (of the printed number; empty for a sentence)``, printed, recomputed,
        tolerance, agrees, of`` (the sources that it is recomputed from). For orders and likeness
        ``printed`` is the claim about the ratio and ``recomputed`` the ratio.
    """
    table = _read_table("checks")
    return table[table["study"] == study] if study else table


def count_checks(table: pd.DataFrame) -> pd.DataFrame:
    """Return how many checks of a table each study has: ``study, recomputed, agree, disagree``."""
    agrees = table.groupby("study", sort=False)["agrees"]
    counts = pd.DataFrame({"recomputed": agrees.size(), "agree": agrees.sum().astype(int)})
    return counts.assign(disagree=counts["recomputed"] - counts["agree"]).reset_index()


def load_coverage() -> pd.DataFrame:
    """Return how many printed values each study has, and how many of them are checked.

    Returns
    -------
    pandas.DataFrame
        ``study, recomputed`` (values that other printed numbers give)``, used`` (further values
        that these or an order are computed from)``, texts`` (versions and other text)``, alone``
        (numbers that nothing else printed gives or needs)``, printed`` (all).
    """
    return _read_table("coverage")


def load_t_tests() -> pd.DataFrame:
    """Return the tests of Table 8 of `tcp`, recomputed from the samples of its Table 7.

    Returns
    -------
    pandas.DataFrame
        ``measure, reading, n_json, n_xml, t, df, p, p_welch, printed, agrees``. A measure with
        misprinted decimal commas has two rows: as meant, and with commas as separators of values.
        Only the second gives the p-value that is printed.
    """
    return _read_table("t_tests")


def _read_table(name: str) -> pd.DataFrame:
    return pd.read_csv(paths.findings() / f"{name}.csv", keep_default_na=False)
