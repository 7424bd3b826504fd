"""What a study's notebook shows: its answer, its values in readable units, and its ratio at several sizes."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
from IPython.display import Image, Markdown
from IPython.utils.capture import capture_output

from benchbook import grid, paths, results
from benchbook.analysis import Analysis, Comparison
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.run_diff import comparison_key
from benchbook.analysis.runs import Run
from benchbook.digits import NOT_PRINTED, interval, number, plural, quantity, rounded
from benchbook.inputs import InputError
from benchbook.papers import reference
from benchbook.plots.exhibit import Exhibit, Lines
from benchbook.plots.names import STACKS
from benchbook.plots.points import framed, joined, where
from benchbook.plots.ratios import METRICS, sides
from benchbook.results.folder import joined as joined_rows
from benchbook.studies.cell import CellParameters

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

_GROUPS: Final = ("database", "driver", "model", "format", "codec", "arm", "operation", "role", "metric")
"""Columns whose combinations of levels are the lines of `show_values`."""

_PIXELS: Final = 100
"""Of a drawn inch on the page."""


@dataclass(frozen=True)
class Measured:
    """A run that was made in this process: its parameters and its rows."""

    parameters: CellParameters
    rows: pd.DataFrame


def measure_other(study: ModuleType, own: Mapping[str, Any], **levels: Any) -> Measured:
    """Run the study once more with other levels of some parameters: the other side of a question."""
    parameters = study.Parameters.of({**own, **levels})
    return Measured(parameters, study.run(parameters))


def answer(
    study: ModuleType, observations: pd.DataFrame, own: Mapping[str, Any], other: Measured | None = None
) -> Markdown:
    """Return a notebook's answer: every ratio of its run with its interval, beside what follows from the paper.

    Parameters
    ----------
    study
        The study's module, such as `benchbook.studies.crud`.
    observations
        The rows of its run.
    own
        The notebook's names (``globals()``), among them the study's parameters.
    other
        A second run, where one run has only one side of the question.

    The unit is a repetition of this one process, an interval says nothing beyond it; a batch run compares blocks.
    """
    slug = _name(study)
    asked = study.Parameters.of(own)
    measured = [Measured(asked, observations), *([other] if other else [])]
    comparisons = _compare(study, measured)
    if not comparisons:
        return Markdown("**No ratio:** this run has only one side of the question.")  # type: ignore[no-untyped-call]

    # The same comparisons in runs of blocks.
    runs = {"batch runs here": Run.of_results(slug, grid.finished(slug)), "reference run": _load_reference()}
    tables = {name: Comparison.of(where(run.analysis.tables, study=slug)) for name, run in runs.items()}
    blocks = {name: {comparison_key(row): row for row in rows} for name, rows in tables.items() if rows}

    # One line per comparison; the head names the ratio where all have the same sides.
    roles = {row.role for row in comparisons}
    ratios = list(dict.fromkeys(map(sides, comparisons)))
    labels = ratios if len(ratios) == 1 else ["ratio", "of"]
    names = [*labels, "this run", "99 % interval", "the paper", *blocks]
    head = [f"| {' | '.join(names)} |", f"{'|---' * len(labels)}{'|--:' * (len(names) - len(labels))}|"]
    lines = []
    for row in comparisons:
        of = [METRICS[row.metric], row.operation.replace("_", " "), *([row.role] if len(roles) > 1 else [])]
        label = [", ".join(of)] if len(ratios) == 1 else [sides(row), ", ".join(of)]
        ratio, ends = rounded(row.estimate, row.low, row.high)[0], interval(row.estimate, row.low, row.high)
        beside = [of_run.get(comparison_key(row)) for of_run in blocks.values()]
        others = [_write_blocks(found) for found in beside]
        cells = [*label, f"**{ratio}**", ends or NOT_PRINTED, number(row.published), *others]
        lines.append(f"| {' | '.join(cells)} |")
    languages = sorted({row.language for row in tables["reference run"] if row.blocks})
    caption = _write_caption(slug, asked, languages)
    return Markdown("\n".join([*head, *lines, "", caption]))  # type: ignore[no-untyped-call]


def show_values(observations: pd.DataFrame) -> "Styler":
    """Return what a run measured, a line per quantity over its repetitions, each value in a unit with few digits."""
    several = {name for name in _GROUPS if name in observations and observations[name].nunique() > 1}
    by: list[str] = [name for name in _GROUPS if name in several | {"operation", "metric"}]
    lines = []
    for levels, rows in observations.groupby(by, sort=False, dropna=False):
        unit, values = rows["unit"].iloc[0], rows["value"].dropna()
        line: dict[str, Any] = dict(zip(by, levels, strict=True))
        line["metric"] = str(line["metric"]).replace("_", " ")
        if values.empty:
            line["mean"] = rows["source"].iloc[0]  # why nothing was measured
        else:
            first = rows.loc[rows["repetition"] == rows["repetition"].min(), "value"].iloc[0]
            found = {"first": first, "median": values.median(), "mean": values.mean()}
            found |= {"least": values.min(), "most": values.max()}
            line |= {name: _write_value(value, unit) for name, value in found.items()}
            step = rows["resolution"].iloc[0]
            line |= {"source": rows["source"].iloc[0], "smallest step": _write_value(step, unit)}
        if rows["timed_out"].any():
            line["timed out"] = plural(int(rows["timed_out"].sum()), "repetition")
        lines.append(line)
    return _align(pd.DataFrame(lines), [*by, "source"]).format(na_rep="")


def show_table(table: pd.DataFrame) -> "Styler":
    """Return a table whose numbers have few digits; a cell without a value is empty, and text stands at the left."""
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    return _align(table, texts).format(
        lambda value: number(value) if isinstance(value, float) else str(value), na_rep=""
    )


def draw_sizes(
    study: ModuleType,
    own: Mapping[str, Any],
    sizes: Sequence[int],
    metrics: Sequence[str] = ("wall_time", "elapsed_time"),
    operations: Sequence[str] = (),
    **other: Any,
) -> Image:
    """Run the study at several sizes in this process and draw its ratios beside the paper's.

    Parameters
    ----------
    study, own, other
        As of `answer`; only ``n`` and ``repetitions`` are others, the latter as few as an interval takes.
    sizes
        The levels of ``n``.
    metrics, operations
        Whose ratios are drawn, each operation, metric and role in a panel; all operations when empty.
    """
    # Here because it imports matplotlib.
    from benchbook.plots.save import draw

    slug = _name(study)
    few = {"repetitions": MIN_BLOCKS}
    rows = []
    for n in sizes:
        with capture_output():  # each run would say that it ended
            measured = [measure_other(study, own, n=n, **few)]
            if other:
                measured.append(measure_other(study, own, n=n, **few, **other))
        rows += _compare(study, measured)
    rows = [row for row in rows if row.metric in metrics and (row.operation in operations or not operations)]
    if not rows:
        raise InputError("parameters", "no ratio at any size: one side of the question runs alone: take both sides")

    # The paper's ratios, at the sizes that it printed: they stand beside the comparisons of the reference run.
    keys = {_key_without_n(row) for row in rows}
    printed = where(_load_reference().analysis.tables, study=slug).dropna(subset="published")
    papers = [row for row in Comparison.of(printed) if _key_without_n(row) in keys]

    # One panel per operation, metric and role.
    several = len({sides(row) for row in rows}) > 1
    points = joined(
        *(_place(row, "here", several) for row in rows), *(_place(row, "published", several) for row in papers)
    )
    axis = "the first named over the second" if several else sides(rows[0])
    panels = list(dict.fromkeys(points["panel"]))
    drawing = Lines(("n", axis), sorted({*points["level"]}), panels)
    notes = [f"here: {MIN_BLOCKS} repetitions in one process: no verdict"]
    if not papers:
        notes.append("the paper prints no ratio of these")
    figure = draw(Exhibit(f"{slug}: the ratio over n", points, tuple(notes), drawing))
    for axes in figure.axes[len(panels) :]:
        axes.axis("off")

    # A picture: IPython shows a figure only once pyplot has drawn another.
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=2 * _PIXELS)
    return Image(drawn.getvalue(), width=int(_PIXELS * figure.get_figwidth()), alt=f"{slug}: ratio over n")  # type: ignore[no-untyped-call]


def _align(table: pd.DataFrame, texts: Sequence[Any]) -> "Styler":
    """Return a table for the page: columns of text stand at the left, and rows that are only counted have no number."""
    left = [name for name in texts if name in table]
    heads: Any = {name: [{"selector": "th.col_heading", "props": "text-align: left"}] for name in left}
    styler = table.style.set_properties(subset=left, **{"text-align": "left"}).set_table_styles(heads)
    return styler.hide(axis="index") if isinstance(table.index, pd.RangeIndex) else styler


@cache
def _load_reference() -> Run:
    """Return the committed run, whose comparisons take seconds to make."""
    return Run.of_reference()


def _name(study: ModuleType) -> str:
    """Return a study's name from its module."""
    return study.__name__.rpartition(".")[2]


def _compare(study: ModuleType, measured: Iterable[Measured]) -> list[Comparison]:
    """Return the ratios of runs that were made in this process, each repetition taken as a block."""
    table = pd.concat([_join_levels(study, one) for one in measured])
    table = Analysis.of(table.assign(block=table["repetition"])).tables
    return [row for row in Comparison.of(table) if row.kind == "ratio" and row.metric in METRICS and row.estimate > 0]


def _join_levels(study: ModuleType, measured: Measured) -> pd.DataFrame:
    """Return a run's rows beside what a runner would say of its cell."""
    asked = measured.parameters
    named = asked.model_dump(mode="json")
    known: dict[str, object] = {name: named[name] for name in results.OF_AN_ARM if name in named}
    if known.get("format") == "both":
        del known["format"]
    known |= asked.as_columns()
    cell = str(named.get("database", _name(study)))
    known |= {"study": _name(study), "cell_id": cell, "block": 0, "state": "done", "host": "here"}
    known |= {"topology": study.deployment(asked)[1]}
    rows: pd.DataFrame = joined_rows(known, measured.rows).to_pandas()
    return rows


def _write_caption(slug: str, asked: CellParameters, languages: Iterable[str]) -> str:
    """Return what an answer does not say, in which languages the reference run has blocks, and where more stands."""
    few = "" if asked.repetitions >= MIN_BLOCKS else f" An interval takes {MIN_BLOCKS} repetitions."
    where_it_ran = f"in one process, in {STACKS[asked.language]}"
    lines = [f"{plural(asked.repetitions, 'repetition')} {where_it_ran}: no verdict. Another day may differ.{few}"]

    # Verdicts are of blocks: the reference run's, and this machine's.
    named = " and ".join(STACKS[language] for language in languages)
    if named:
        report = _link("report", paths.reference() / "report.html", slug)
        lines.append(f"The reference run has blocks in {named}: its {report} has the verdicts.")
    report = _link("report", paths.figures("quick") / "report.html", slug)
    explorer = _link("explorer", paths.figures("explorer") / "index.html", f"study={slug}")
    lines.append(f"For your own: `benchbook run {slug}`, then the {report} or the {explorer}.")
    return f"{' '.join(lines)}\n\nThe paper: {reference(slug)}"


def _link(name: str, page: Path, fragment: str) -> str:
    """Return a link to a part of a page, seen from the notebook's folder; before it is made, its command."""
    if not page.is_file():
        return f"{name} (`benchbook {'explore' if name == 'explorer' else name}`)"
    return f"[{name}]({os.path.relpath(page, Path.cwd())}#{fragment})"


def _write_blocks(row: Comparison | None) -> str:
    """Return the ratio of a run's blocks, or in a word or two why there is none."""
    if row is None:
        return "not run"
    if row.blocks:
        return row.words
    return "noisy" if row.noisy else row.reason


def _write_value(value: float, unit: str) -> str:
    """Return a value in a unit with few digits; a missing one is empty."""
    return "" if pd.isna(value) else quantity(value, unit)


def _place(row: Comparison, source: str, several: bool) -> pd.DataFrame:
    """Return a comparison's point over ``n``: its ratio here, or the paper's."""
    panel = f"{row.operation.replace('_', ' ')}: {METRICS[row.metric]}, {row.role}"
    about = {"panel": panel, "level": row.n, "series": sides(row) if several else "", "unit": "ratio"}
    here = {"value": row.estimate, "low": row.low, "high": row.high, "blocks": row.blocks}
    point = here if source == "here" else {"value": row.published}
    return framed([{"source": source, **point}], **about)


def _key_without_n(row: Comparison) -> tuple[object, ...]:
    """Return what a comparison has in common with the same one at another size."""
    levels = {name: level for name, level in row.settings.items() if name != "n"}
    return comparison_key(replace(row, settings=levels))
