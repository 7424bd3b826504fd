"""Lesson 8, reading a paper critically: its numbers against its text, and a claim of yours."""

import re
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from benchbook.analysis import claim_files
from benchbook.analysis.claim_comparisons import compare_claims
from benchbook.analysis.claims import Claim, Ratio
from benchbook.analysis.published import load_published_numbers
from benchbook.analysis.verdicts import judge_claims
from benchbook.files.inputs import InputError
from benchbook.plots import style
from benchbook.plots.points import select_rows
from benchbook.studies.catalogue import SLUGS
from benchbook_lessons.effects import draw_intervals
from benchbook_lessons.feedback import (
    FormError,
    OpenTaskError,
    Part,
    Predictions,
    check,
    grade,
    grade_choice,
    grade_number,
    grade_sorting,
    mark_open,
)
from benchbook_lessons.reference import load_means

predict = Predictions
RELATIONAL: Final = ("MySQL", "PostgreSQL", "Microsoft SQL Server")

FLAWS: Final = {
    "the relational columns were measured by other people, on other machines": "confounding",
    "one number is printed for each bar, of one run": "no uncertainty",
    "CPU seconds of user and system are added and called execution time": "another quantity",
    "a cause is named, and only the effect was measured": "untested cause",
}
"""Flaws of the five papers, each with its kind."""

_KINDS: Final = tuple(FLAWS.values())
_WHERE: Final = dict.fromkeys(
    FLAWS, "ask: if all else were perfect, what could still not be concluded?"
)

EXAMPLE: Final = """\
id: drivers.my-own
says: Mongoose takes longer than MongoClient to find 1,000 records of 89 attributes.
where: my own claim
compare: ratio
quantity: {operation: find, role: client, metric: wall_time}
a: {driver: mongoose}
b: {driver: mongoclient}
at: {attributes: 89, process: together, n: 1000}
claimed: more
margin: 1.10
why_margin: a difference below a tenth would not change the choice of a library
languages: [node]
"""
"""A claim as the files of `data/claims` hold it."""


def load_table(source: str) -> pd.DataFrame:
    """Return a table of study crud's paper, in ms: one row per system, one column per size."""
    found = load_published_numbers("crud").query("source == @source", local_dict={"source": source})
    found = found.pivot(index="row", columns="column", values="value")
    return (
        found[sorted(found.columns, key=lambda n: int(str(n)))]
        .rename_axis(None)
        .rename_axis("comments", axis="columns")
    )


def load_utilisation() -> pd.DataFrame:
    """Return Table 5 of study tcp's paper: CPU use while XML was received, in percent."""
    found = load_published_numbers("tcp").query(
        "source == 'Table 5' and column in ['User CPU', 'System CPU']"
    )
    return (
        found.pivot(index="row", columns="column", values="value")
        .rename_axis(None)
        .rename_axis(None, axis="columns")
    )


STATEMENTS: Final[dict[str, tuple[str, str, Callable[[Any], bool]]]] = {
    "A": (
        "Of all six systems PostgreSQL takes the longest to update 1,000 comments (Table IV).",
        "Table IV",
        lambda found: found["1000"].idxmax() == "PostgreSQL",
    ),
    "B": (
        "Of all six systems CouchDB takes the shortest to insert, at every size (Table II).",
        "Table II",
        lambda found: bool((found.idxmin() == "CouchDB").all()),
    ),
    "C": (
        "Of the three relational systems SQL Server deletes fastest, at every size (Table VI).",
        "Table VI",
        lambda found: bool((found.loc[list(RELATIONAL)].idxmin() == "Microsoft SQL Server").all()),
    ),
    "D": (
        (
            "Couchbase and PostgreSQL update in about the same time, within a quarter, at every"
            " size (Table IV)."
        ),
        "Table IV",
        lambda found: all(
            0.8 <= float(x) <= 1.25 for x in found.loc["PostgreSQL"].div(found.loc["Couchbase"])
        ),
    ),
}
"""Statements, the table that each is about, and whether the table bears it out."""


def draw_table(source: str) -> Figure:
    """Draw a table of study crud's paper: lines by system, both axes logarithmic."""
    found = load_table(source)
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 3), layout="constrained")
        marks = "osD^vP"
        for mark, (name, row) in zip(marks, found.iterrows(), strict=False):
            axes.plot(
                [int(n) for n in found.columns], row, f"{mark}-", mfc="none", ms=6, lw=1, label=name
            )
        axes.set(
            xscale="log", yscale="log", xlabel="comments", ylabel="ms, as printed", title=source
        )
        figure.legend(loc="outside right center")
    plt.close(figure)
    return figure


def _read_claim(text: str) -> Claim:
    """Read a claim from a text in YAML; raises `FormError` with the message of its reader."""
    found = re.search(r"^id:\s*([a-z]+)\.", text, re.M)
    if not found or found[1] not in SLUGS:
        raise FormError(
            "its id should begin with a study and a point: one of"
            f" {', '.join(f'{slug}.' for slug in SLUGS)}"
        )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{found[1]}.yaml"
        body = textwrap.indent(text.strip(), "    ")
        path.write_text(f"study: {found[1]}\nclaims:\n  -\n{body}\n", encoding="utf-8")
        try:
            (claim,) = claim_files.read_claims_file(path).claims
        except InputError as error:
            said = re.sub(rf"\S*{path.name}(:\d+)*:\s*", "", str(error))
            raise FormError(f"the suite's reader of claims refuses it. {said}") from error
    return claim


def judge_claim(text: Any) -> pd.DataFrame:
    """Return a claim's comparisons on the committed reference run, and how each stands to it.

    Parameters
    ----------
    text
        The claim in YAML, as in `EXAMPLE`.

    Returns
    -------
    pandas.DataFrame
        ``label, language, ratio, low, high, blocks, stands``; no row while there is no text.
    """
    kept = ["label", "language", "ratio", "low", "high", "blocks", "stands"]
    if not isinstance(text, str):
        return pd.DataFrame(columns=kept)
    found = _compare(_read_claim(text)).rename(columns={"estimate": "ratio"})
    return found[found["stands"] != "not run"][kept].reset_index(drop=True)


def _compare(claim: Claim) -> pd.DataFrame:
    return compare_claims(select_rows(load_means(), study=claim.study), [claim])


def draw_claim(text: Any) -> Figure | str:
    """Draw the comparisons of a claim with its margin; a sentence where there is none."""
    try:
        found, margin = (
            judge_claim(text),
            getattr(_read_claim(text), "margin", 1.1) if isinstance(text, str) else 1.1,
        )
    except FormError as reason:
        return str(reason)
    if found.empty:
        return (
            "Nothing judged yet: the text is still to be written, or nothing in the reference run"
            " fits it."
        )
    names = (
        found["label"].where(found["label"] != "", "the only comparison") + ", " + found["language"]
    )
    return draw_intervals(found.assign(what=names), margin)


@check(2)
def check_1(trial: Any, total: Any) -> Iterator[Part]:
    """Check which row of a table cannot be true, and what it sums to."""
    sums = load_utilisation().sum(axis=1)
    off = f"{trial!r}: a machine's time is 100 %. In which row is more than that used?"
    yield grade_choice(trial, str(sums.idxmax()), "trial", f"{trial}: more than there is.", off)
    yield grade_number(
        total,
        float(sums.max()),
        "total",
        f"total: {sums.max():.2f} %.",
        {},
        "user and system of that row.",
        within=1e-4,
    )


@check(4)
def check_2(holds: Any) -> Iterator[Part]:
    """Check which statements the paper's own tables bear out."""
    truth = {name: right(load_table(source)) for name, (_, source, right) in STATEMENTS.items()}
    where = {
        name: f"look at every column of {source} that it speaks of, once more."
        for name, (_, source, _) in STATEMENTS.items()
    }
    yield from grade_sorting(holds, truth, (True, False), where)


@check(4)
def check_3(kind: Any) -> Iterator[Part]:
    """Check of what kind four flaws are."""
    yield from grade_sorting(kind, FLAWS, _KINDS, _WHERE)


@check(4)
def check_4(text: Any, expected: Any) -> Iterator[Part]:
    """Check a student's claim: read, new, with a reasoned margin, and judged."""
    if not isinstance(text, str) or not text.strip():
        raise OpenTaskError(
            "no answer yet: replace each ... in the cell above by your claim, a text in YAML."
        )
    claim = _read_claim(text)
    yield Part(True, f"{claim.id} is read: {claim.says}")
    example: Any = _read_claim(EXAMPLE)
    new = isinstance(claim, Ratio) and any(
        getattr(claim, name) != getattr(example, name) for name in ("quantity", "a", "b", "at")
    )
    off = (
        "it compares what the example compares (or is no ratio): change the quantity, the sides or"
        " what they share."
    )
    yield grade(new, "it compares something else than the example does.", off)
    why = getattr(claim, "why_margin", "")
    off = (
        "why_margin is the example's, or no reason: from what would you do otherwise does the"
        " margin follow?"
    )
    yield grade(
        len(why.split()) >= 5 and why != example.why_margin, "its margin has a reason.", off
    )
    found = judge_claim(text)
    if found.empty:
        off = "nothing in the reference run fits it. lesson.list_levels(study) says what ran."
        yield Part(False, off)
        return
    if expected is ...:
        yield mark_open("expected")
        return
    verdict = judge_claims(_compare(claim), [claim]).iloc[0]
    said = f"{verdict['verdict']} ({verdict['words']})"
    yield Part(True, f"judged: {said}. You expected {expected!r}.")


def list_levels(study: str) -> pd.DataFrame:
    """Return a study's levels in the reference run: one row per column of its block means."""
    rows = select_rows(load_means(), study=study)
    columns = (
        "language",
        "database",
        "topology",
        "model",
        "driver",
        "format",
        "codec",
        "n",
        "operation",
        "role",
        "metric",
    )
    by_column = {}
    for name in columns:
        levels = sorted(rows[name].dropna().unique())
        if levels:
            by_column[name] = ", ".join(map(str, levels))
    return pd.DataFrame.from_dict(by_column, orient="index", columns=["levels"])
