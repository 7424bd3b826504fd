"""Lesson 8, reading a paper critically: its numbers against its text, and a claim of yours."""

import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, Final

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, LogLocator, NullFormatter, StrMethodFormatter

from benchbook.analysis import claim_files
from benchbook.analysis.claim_comparisons import compare_claims
from benchbook.analysis.claims import Claim, MeasuredClaim, Ratio
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.published import load_published_numbers
from benchbook.analysis.verdicts import judge_claims
from benchbook.files.inputs import InputError
from benchbook.files.yaml_file import parse_yaml
from benchbook.plots import style
from benchbook.plots.points import iterate_rows, select_rows
from benchbook.studies.catalogue import SLUGS
from benchbook_lessons.feedback import (
    FormError,
    OpenTaskError,
    Part,
    check,
    grade,
    grade_choice,
    grade_number,
    grade_sorting,
    is_number,
    mark_open,
)
from benchbook_lessons.predictions import Predictions
from benchbook_lessons.snapshot import load_analysis, load_means
from benchbook_lessons.t_tests import load_samples

predict = Predictions
RELATIONAL: Final = ("MySQL", "PostgreSQL", "Microsoft SQL Server")

VERDICTS: Final = ("holds", "mostly holds", "does not hold", "mixed", "undecided")

EXAMPLE: Final = """\
id: drivers.my-own
says: Mongoose takes longer than MongoClient to find 1,000 records of 89 attributes.
where: my own claim
compare: ratio
quantity: {operation: find, role: client, metric: wall_time}
a: {driver: mongoose}
b: {driver: mongoclient}
at: {attributes: 89, n: 1000}
claimed: more
margin: 1.10
why_margin: a difference below a tenth would not change the choice of a library
languages: [node]
"""
"""A claim as the files of `data/claims` hold it."""

DIRECTION_WORDS: Final = {
    **dict.fromkeys(("longer", "slower", "more", "larger", "higher"), "more"),
    **dict.fromkeys(("shorter", "faster", "quicker", "less", "smaller", "lower", "fewer"), "less"),
}
"""Words of comparison, before *than*, by what they claim of the side that is named first."""


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
        "PostgreSQL takes the longest of all six systems to update 1,000 comments (Table IV).",
        "Table IV",
        lambda found: found["1000"].idxmax() == "PostgreSQL",
    ),
    "B": (
        "CouchDB takes the shortest time of all six systems to insert, at every size (Table II).",
        "Table II",
        lambda found: bool((found.idxmin() == "CouchDB").all()),
    ),
    "C": (
        (
            "SQL Server deletes fastest of the three relational systems (MySQL, PostgreSQL, SQL"
            " Server), at every size (Table VI)."
        ),
        "Table VI",
        lambda found: bool((found.loc[list(RELATIONAL)].idxmin() == "Microsoft SQL Server").all()),
    ),
    "D": (
        (
            "At every size Couchbase and PostgreSQL differ by less than a quarter in their time to"
            " update (Table IV)."
        ),
        "Table IV",
        lambda found: all(
            0.8 <= float(x) <= 1.25 for x in found.loc["PostgreSQL"].div(found.loc["Couchbase"])
        ),
    ),
}
"""Statements, the table that each is about, and whether the table agrees."""

TITLES: Final = {
    "Table II": "Table II: how long does it take to insert comments?",
    "Table IV": "Table IV: how long does it take to update comments?",
    "Table VI": "Table VI: how long does it take to delete comments?",
}
"""What three tables of study crud's paper hold."""


LINES: Final[dict[Any, str]] = {
    "CouchDB": "C0o-",
    "Couchbase": "C1s-",
    "Microsoft SQL Server": "C2D-",
    "MongoDB": "C3^-",
    "MySQL": "C4v-",
    "PostgreSQL": "C5P-",
}
"""The colour and the mark of each system, the same in all figures."""

TICKS: Final = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 1.75, 2)
"""Ticks of an axis of ratios that does not reach far; else they are 1, 2, 5, 10."""


def draw_table(source: str) -> Figure:
    """Draw a table of study crud's paper: lines by system, both axes logarithmic."""
    found = load_table(source)
    found = found.sort_values(found.columns[-1], ascending=False)
    sizes = [int(n) for n in found.columns]
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 3.4), layout="constrained")
        for name, row in found.iterrows():
            axes.plot(sizes, row, LINES[name], mfc="none", ms=6, lw=1, label=name)
        axes.set(
            title=TITLES[source],
            xscale="log",
            yscale="log",
            xlabel="comments (log scale)",
            ylabel="ms, as printed (log scale)",
            xticks=sizes,
            xticklabels=[f"{n:,}" for n in sizes],
        )
        # The legend has the order of the lines' right ends.
        figure.legend(loc="outside right center")
    plt.close(figure)
    return figure


def _check_lines(text: str) -> None:
    """Raise `FormError` in plain words for mistakes that the reader of claims names otherwise."""
    for line in text.strip().splitlines():
        name, _, value = (part.strip() for part in line.partition(" #")[0].partition(":"))
        is_quoted = value[:1] in {'"', "'", "{", "["}
        if ": " in value and not is_quoted:
            raise FormError(f"{name} has a second colon: put its text between quotation marks.")
        if name == "why_margin" and not value:
            raise FormError(
                "why_margin is empty: from which ratio on would you decide differently, and why?"
            )
        if name == "margin" and not re.fullmatch(r"\d+(\.\d+)?", value):
            raise FormError(
                f"margin should be a ratio above 1, such as 1.10 for a tenth more. It is {value!r}."
            )


def _read_claim(text: str) -> Claim:
    """Read a claim from a text in YAML; raises `FormError` with the message of its reader."""
    _check_lines(text)
    found = re.search(r"^id:\s*([a-z]+)\.", text, re.M)
    if not found or found[1] not in SLUGS:
        raise FormError(
            "its id should begin with a study and a point: one of"
            f" {', '.join(f'{slug}.' for slug in SLUGS)}"
        )
    name = f"{found[1]}.yaml"
    body = textwrap.indent(text.strip(), "    ")
    try:
        document = parse_yaml(f"study: {found[1]}\nclaims:\n  -\n{body}\n", name)
        (claim,) = claim_files.read_claims(document).claims
    except InputError as error:
        said = re.sub(rf"\S*{name}(:\d+)*:\s*", "", str(error))
        raise FormError(f"the suite's reader of claims refuses it. {said}") from error
    return claim


def judge_claim(text: Any) -> pd.DataFrame:
    """Return a claim's comparisons in the lesson's data, and whether each is for or against it.

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
    found = Comparison.to_frame(_compare(_read_claim(text))).rename(columns={"estimate": "ratio"})
    return found[found["stands"] != "not run"][kept].reset_index(drop=True)


def find_other_words(claim: Ratio) -> list[str]:
    """Return the levels that a claim's words name and its fields do not.

    Of operations, drivers, formats and databases: ``find`` where the quantity is an insert.
    """
    rows = select_rows(load_means(), study=claim.study)
    fields = str((claim.quantity, claim.a, claim.b, claim.at, claim.each)).lower()
    others = []
    for name in ("operation", "driver", "format", "database"):
        for level in map(str, rows[name].dropna().unique()):
            # "inserts" and "updating" name the levels "insert" and "update".
            stem = re.escape(level.lower().removesuffix("e"))
            is_said = re.search(rf"\b{stem}", claim.says.lower())
            if is_said and level.lower() not in fields:
                others.append(level)
    return others


def find_other_direction(claim: Ratio) -> str:
    """Return the word of a claim that says the opposite of its fields, or an empty text.

    Only a sentence of the form "X takes longer than Y" tells, with the levels of both sides.
    """
    said = claim.says.lower()
    before, than, after = said.partition(" than ")
    names_a, names_b = (
        [str(level).lower() for level in side.values()] for side in (claim.a, claim.b)
    )
    first_is_a = any(name in before for name in names_a) and any(name in after for name in names_b)
    first_is_b = any(name in before for name in names_b) and any(name in after for name in names_a)
    words = [word for word in before.split() if word in DIRECTION_WORDS]
    if not than or first_is_a == first_is_b or len(words) != 1 or {"not", "no"} & {*said.split()}:
        return ""
    direction = DIRECTION_WORDS[words[0]]
    if first_is_b:
        direction = "less" if direction == "more" else "more"
    return words[0] if direction != claim.claimed else ""


def list_side_languages(claim: Ratio) -> list[str]:
    """Return the languages in which both sides of a claim ran in the lesson's data."""
    rows = select_rows(load_means(), study=claim.study)
    languages = set(rows["language"].dropna())
    for side in (claim.a, claim.b):
        for name, level in side.items():
            if name in rows and isinstance(level, str):
                languages &= set(rows.loc[rows[name] == level, "language"])
    return sorted(languages)


def judge_suite_claims() -> "pd.Series[str]":
    """Return the verdict of each claim of the suite on the lesson's data, by the claim's name."""
    return pd.Series({claim.id: claim.verdict for claim in load_analysis().verdicts})


def draw_verdicts() -> Figure:
    """Draw how many claims of the suite have each verdict, on the lesson's data."""
    counts = judge_suite_claims().value_counts().sort_values()
    with style.use_style():
        figure, axes = plt.subplots(figsize=(6.8, 2.6), layout="constrained")
        bars = axes.barh(counts.index, counts, color=style.BLUE)
        axes.bar_label(bars, padding=3)
        axes.set(
            title=f"Verdicts on the {counts.sum()} claims of the five papers, on the lesson's data",
            xlabel="claims",
        )
    plt.close(figure)
    return figure


def _compare(claim: Claim) -> list[Comparison]:
    return compare_claims(select_rows(load_means(), study=claim.study), [claim])


def draw_claim(text: Any) -> Figure | str:
    """Draw a claim's comparisons with margin and verdict; a sentence where there is none."""
    if not isinstance(text, str):
        return "Nothing is judged yet: write your claim first."
    try:
        claim = _read_claim(text)
    except FormError as reason:
        return str(reason)
    found = judge_claim(text)
    if found.empty:
        return "The lesson's data have nothing for this claim."
    # A comparison of fewer than five blocks has no interval.
    found = found.dropna(subset="low")
    if found.empty:
        return "The lesson's data have fewer than five blocks of it: too few for an interval."
    if not isinstance(claim, MeasuredClaim) or not (found["low"] > 0).all():
        return "This claim compares no ratios: lesson.judge_claim lists its comparisons."
    names = []
    for row in iterate_rows(found):
        what = ", ".join(name for name in (row.label, row.language) if name)
        names.append(
            f"{what}: {row.stands}\n{row.ratio:.3g} ({row.low:.3g} to {row.high:.3g}),"
            f" {row.blocks} blocks"
        )
    with style.use_style():
        figure, axes = plt.subplots(figsize=(7.4, 0.6 * len(found) + 1.3), layout="constrained")
        axes.axvspan(
            1 / claim.margin,
            claim.margin,
            color="#e8eef5",
            label=f"too small to matter: within a factor of {claim.margin:g}",
        )
        axes.axvline(1, color=style.FAINT, lw=0.8)
        rows = range(len(found))
        axes.hlines(rows, found["low"], found["high"], color=style.BLUE, lw=2)
        axes.plot(found["ratio"], rows, "o", color=style.BLUE)
        axes.set(
            title=f"Verdict: {_judge(claim)}",
            xlabel="ratio a / b with 99 % interval (log scale)",
            xscale="log",
            yticks=rows,
            yticklabels=names,
            ylim=(len(found) - 0.5, -0.5),
        )
        left, right = axes.get_xlim()
        is_narrow = TICKS[0] < left and right < TICKS[-1]
        axes.xaxis.set_major_locator(
            FixedLocator(TICKS) if is_narrow else LogLocator(subs=(1, 2, 5))
        )
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
        figure.legend(loc="outside lower center")
    plt.close(figure)
    return figure


def _judge(claim: Claim) -> str:
    """Return a claim's verdict on the lesson's data, and how many comparisons are for it."""
    (verdict,) = judge_claims(_compare(claim), [claim])
    return f"{verdict.verdict} ({verdict.words})"


@check(3)
def check_1(trial: Any, total: Any, meant: Any) -> Iterator[Part]:
    """Check which row of a table cannot be true, what it sums to, and which number was meant."""
    sums = load_utilisation().sum(axis=1)
    wrong = str(sums.idxmax())
    off = f"{trial!r}: a machine's time is 100 %. Which row is above that?"
    well = f"trial: {wrong} is above 100 %."
    yield grade_choice(trial, wrong, "trial", list(map(str, sums.index)), well, off)
    well = f"total: {sums.max():.2f} %."
    off = "user and system of that row."
    yield grade_number(total, float(sums.max()), "total", well, {}, off, within=1e-4)
    of_table_7 = load_samples("System CPU")[1][list(sums.index).index(wrong)]
    printed = float(load_utilisation()["System CPU"][wrong])
    hints = {printed / of_table_7: "that is the number of Table 5, which cannot be true."}
    well = f"meant: {of_table_7:.2f} %. With it the row gives 100 %."
    off = "System CPU of XML in the same trial, in Table 7."
    yield grade_number(meant, of_table_7, "meant", well, hints, off, within=1e-4)


@check(4)
def check_2(holds: Any) -> Iterator[Part]:
    """Check which statements agree with the paper's own tables."""
    truth = {name: right(load_table(source)) for name, (_, source, right) in STATEMENTS.items()}
    where = dict.fromkeys(truth, "Look again at every size in its table.")
    yield from grade_sorting(holds, truth, (True, False), where)


@check(4)
def check_3(text: Any, expected: Any) -> Iterator[Part]:
    """Check a student's claim: its words and fields agree, it is new, reasoned and judged."""
    if not isinstance(text, str) or not text.strip():
        raise OpenTaskError(
            "no answer yet: replace each ... in the cell above with your claim, a text in YAML."
        )
    claim = _read_claim(text)
    others = find_other_words(claim) if isinstance(claim, Ratio) else []
    word = find_other_direction(claim) if isinstance(claim, Ratio) else ""
    off = f"its words name {', '.join(others)}, and its fields do not. Which of the two is meant?"
    if not others:
        claimed = getattr(claim, "claimed", "")
        off = f"its words say {word!r}, and of a / b it claims {claimed!r}. Which is meant?"
    yield grade(not (others or word), f"{claim.id} is read: {claim.says}", off)
    example: Any = _read_claim(EXAMPLE)
    new = isinstance(claim, Ratio) and (
        claim.quantity != example.quantity
        or claim.at != example.at
        or [claim.a, claim.b] not in ([example.a, example.b], [example.b, example.a])
    )
    off = (
        "it makes the example's comparison again, or turns its sides round. Change the quantity,"
        " the sides or `at`."
    )
    yield grade(new, "it makes another comparison than the example.", off)
    why = getattr(claim, "why_margin", "")
    off = "why_margin has no reason of your own: from which ratio on would you decide differently?"
    yield grade(
        len(why.split()) >= 5 and why != example.why_margin, "its margin has a reason.", off
    )
    found = judge_claim(text)
    if found.empty:
        off = "the lesson's data have nothing for it. lesson.list_levels(study) lists what ran."
        if isinstance(claim, Ratio):
            languages = list_side_languages(claim)
            if languages and not set(languages) & set(claim.languages or languages):
                names = ", ".join(languages)
                off = f"its sides ran in another language: write languages: [{names}]."
        yield Part(False, off)
        return
    if expected is ...:
        yield mark_open("expected")
        return
    off = f"expected: {expected!r} is not one of {', '.join(VERDICTS)}."
    well = f"judged: {_judge(claim)}. You expected {expected!r}."
    yield grade(expected in VERDICTS, well, off)


def list_levels(study: str) -> pd.DataFrame:
    """Return the levels that a claim on a study can name: one row per column of its block means."""
    rows = select_rows(load_means(), study=study)
    # What each claim names, and what else differs between the cells of some study.
    always = ("operation", "role", "metric", "language", "n")
    columns = (
        *always,
        *("database", "topology", "model", "driver", "format", "codec"),
        *("attributes", "case", "network", "process"),
    )
    by_column = {}
    for name in columns:
        levels = sorted(rows[name].dropna().unique())
        if name in always or len(levels) > 1:
            # Whole numbers are stored as floats where another study has no value.
            texts = [f"{level:.0f}" if is_number(level) else str(level) for level in levels]
            by_column[name] = ", ".join(texts)
    return pd.DataFrame.from_dict(by_column, orient="index", columns=["levels"])
