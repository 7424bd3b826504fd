"""What a study's notebook shows.

Begin with `show_answer`, the ratios of its run. `draw_beside_paper` draws its repetitions and the
paper's numbers, `draw_sizes` its ratios at several sizes. `show_values` writes all values in
readable units, and `show_code` shows the code that is timed.
"""

import inspect
import os
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic

import pandas as pd
from IPython.display import Image, Markdown
from IPython.utils.capture import capture_output
from pandas.io.formats.style import Styler

from benchbook import paths
from benchbook.analysis.block_means import load_block_means
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.paper_comparisons import compare_tables
from benchbook.analysis.run_diff import make_comparison_key
from benchbook.analysis.runs import Analysis, load_reference_means
from benchbook.files.inputs import InputError
from benchbook.grid.finished_cells import list_finished_ids
from benchbook.papers.exhibits import load_citation
from benchbook.plots.exhibit import Exhibit, Lines
from benchbook.plots.points import frame_points, join_points, select_rows
from benchbook.plots.ratio_plot import RATIO_METRICS, name_a_over_b
from benchbook.results.folder import join_cell, open_results
from benchbook.results.schema import ALTERNATING_COLUMNS
from benchbook.studies.cell import NOISE_ATTRIBUTE, ParametersT, iterate_repetitions
from benchbook.studies.study import Study
from benchbook.text.names import LANGUAGES, name_metric
from benchbook.text.number_format import (
    NOT_PRINTED,
    format_count,
    format_interval,
    format_number,
    format_parts,
    format_quantity,
    format_value,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_GROUP_COLUMNS: Final = (
    "database",
    "driver",
    "model",
    "format",
    "codec",
    "arm",
    "operation",
    "role",
    "metric",
)
"""Columns whose combinations of levels are the lines of `show_values`."""

_PIXELS_PER_INCH: Final = 100
"""Pixels of the page for an inch of a drawing."""


@dataclass(frozen=True)
class NotebookRun(Generic[ParametersT]):
    """A run that was made in this process: its parameters and its rows."""

    parameters: ParametersT
    rows: pd.DataFrame


def measure_other(
    study: Study[ParametersT], own: Mapping[str, Any], **levels: Any
) -> NotebookRun[ParametersT]:
    """Run a study once more with other levels of some parameters, for the other side of a ratio.

    Parameters
    ----------
    study
        The study, such as `benchbook.studies.crud.STUDY`.
    own
        The notebook's names (``globals()``), among them the study's parameters.
    levels
        The other levels, by parameter.
    """
    parameters = study.Parameters.of({**own, **levels})
    return NotebookRun(parameters, study.run(parameters))


def show_answer(
    study: Study[ParametersT],
    observations: pd.DataFrame,
    own: Mapping[str, Any],
    other: NotebookRun[ParametersT] | None = None,
) -> Markdown:
    """Return every ratio of a run with its interval, beside the paper's and those of batch runs.

    The unit is a repetition in this process, so an interval holds for this process only; a batch
    run compares blocks.

    Parameters
    ----------
    study
        The study, such as `benchbook.studies.crud.STUDY`.
    observations
        The rows of its run.
    own
        The notebook's names (``globals()``), among them the study's parameters.
    other
        A second run, where one run has only one side of the ratio.
    """
    runs = _list_runs(study, observations, own, other)
    comparisons = _compare(study, runs)
    if not comparisons:
        return _to_markdown("**No ratio:** this run has only one side of the question.")

    # The same comparisons in runs of blocks.
    here = Analysis(load_block_means(open_results(), list_finished_ids(study.name)))
    tables = {
        "batch runs here": here.tables,
        "reference run": _compare_reference(study.name),
    }
    columns = {}
    for name, rows in tables.items():
        if rows:
            columns[name] = {make_comparison_key(row): row for row in rows}

    lines = _write_comparisons(comparisons, columns)
    languages = sorted({row.language for row in tables["reference run"] if row.blocks})
    caption = _write_caption(study.name, runs, languages)
    noise = [run.rows.attrs.get(NOISE_ATTRIBUTE) for run in runs]
    known = [words for words in noise if words is not None]
    said = [_write_noise(known)] if known else []
    return _to_markdown("\n\n".join([*said, "\n".join(lines), caption]))


def _list_runs(
    study: Study[ParametersT],
    observations: pd.DataFrame,
    own: Mapping[str, Any],
    other: NotebookRun[ParametersT] | None,
) -> list[NotebookRun[ParametersT]]:
    """Return the notebook's run, and the other one if there is one."""
    run = NotebookRun(study.Parameters.of(own), observations)
    return [run, other] if other else [run]


def _write_noise(runs: Sequence[str]) -> str:
    """Say whether other programs kept the machine busy during one or two runs, and which."""
    busy = "; then ".join(dict.fromkeys(filter(None, runs)))
    if not busy:
        return "No other program was busy meanwhile."
    advice = "Do not trust the ratios, unless these are the run's own servers."
    return f"**Noisy:** it ran while other programs were busy: {busy}. {advice}"


def _to_markdown(text: str) -> Markdown:
    return Markdown(text)  # type: ignore[no-untyped-call]


def _write_comparisons(
    comparisons: Sequence[Comparison],
    columns: Mapping[str, Mapping[tuple[object, ...], Comparison]],
) -> list[str]:
    """Return a table of Markdown, one line per comparison.

    Parameters
    ----------
    comparisons
        Those of this run.
    columns
        The same comparisons in other runs, by the runs' names.
    """
    # The heading names the ratio where all comparisons have the same sides.
    ratios = list(dict.fromkeys(map(name_a_over_b, comparisons)))
    labels = ratios if len(ratios) == 1 else ["ratio", "of"]
    names = [*labels, "this run", "99 % interval", "the paper", *columns]
    rule = "|---" * len(labels) + "|--:" * (len(names) - len(labels))
    lines = [f"| {' | '.join(names)} |", f"{rule}|"]

    has_roles = len({row.role for row in comparisons}) > 1
    for row in comparisons:
        quantity = f"{name_metric(row.metric)}, {row.operation.replace('_', ' ')}"
        if has_roles:
            quantity += f", {row.role}"
        cells = [quantity] if len(ratios) == 1 else [name_a_over_b(row), quantity]
        ratio, _, _ = format_parts(row.estimate, row.low, row.high)
        interval = format_interval(row.estimate, row.low, row.high)
        cells += [f"**{ratio}**", interval or NOT_PRINTED, format_number(row.published)]
        key = make_comparison_key(row)
        cells += [_write_blocks(of_run.get(key)) for of_run in columns.values()]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def show_values(
    observations: pd.DataFrame, other: NotebookRun[ParametersT] | None = None
) -> Styler:
    """Return the measured quantities of a run, and of the other one if there is one.

    There is one line per quantity, in units with few digits.
    """
    if other:
        observations = pd.concat([observations, other.rows])
    # One line per combination of levels; columns with one level only are left out.
    present = [name for name in _GROUP_COLUMNS if name in observations]
    varying = {name for name in present if observations[name].nunique() > 1}
    by = [name for name in present if name in varying | {"operation", "metric"}]
    lines = []
    for levels, rows in observations.groupby(by, sort=False, dropna=False):
        line: dict[str, Any] = dict(zip(by, levels, strict=True))
        line["metric"] = name_metric(str(line["metric"]))
        line |= _summarise_values(rows)
        if rows["timed_out"].any():
            line["timed out"] = format_count(int(rows["timed_out"].sum()), "repetition")
        lines.append(line)
    return _align(pd.DataFrame(lines), [*by, "source"]).format(na_rep="")


def _summarise_values(rows: pd.DataFrame) -> dict[str, str]:
    """Return the first value, mean, median and ends of one quantity, or why there is none."""
    source, unit = str(rows["source"].iloc[0]), rows["unit"].iloc[0]
    values = rows["value"].dropna()
    if values.empty:
        # The source of a value that could not be measured says why.
        return {"mean": source}
    is_first = rows["repetition"] == rows["repetition"].min()
    numbers = {
        "first": rows.loc[is_first, "value"].iloc[0],
        "median": values.median(),
        "mean": values.mean(),
        "least": values.min(),
        "most": values.max(),
    }
    texts = {name: _write_value(value, unit) for name, value in numbers.items()}
    step = _write_value(rows["resolution"].iloc[0], unit)
    return texts | {"source": source, "smallest step": step}


def show_table(table: pd.DataFrame) -> Styler:
    """Return a table whose numbers have few digits; text is at the left, a missing value empty."""
    texts = [name for name in table if not pd.api.types.is_numeric_dtype(table[name])]
    return _align(table, texts).format(format_value, na_rep="")


def draw_beside_paper(
    study: Study[ParametersT],
    observations: pd.DataFrame,
    own: Mapping[str, Any],
    other: NotebookRun[ParametersT] | None = None,
    *,
    metrics: Sequence[str] = (),
    in_order: bool = False,
) -> "Figure":
    """Draw each repetition of a run as a dot, and what the paper prints of the same hollow.

    Parameters
    ----------
    study, observations, own, other
        As of `show_answer`.
    metrics
        What is drawn, one panel each; when empty, what the paper prints.
    in_order
        Whether to draw the first row again in the order of repetitions, for warm-up and drift.
    """
    # Imported here, because matplotlib is slow to import and other cells need no figure.
    from benchbook.plots import repetitions

    runs = _list_runs(study, observations, own, other)
    points = repetitions.collect_repetitions(_analyse(study, runs).studies[study.name], metrics)
    return repetitions.draw_repetitions(points, in_order=in_order)


def show_beside_paper(
    study: Study[ParametersT],
    observations: pd.DataFrame,
    own: Mapping[str, Any],
    other: NotebookRun[ParametersT] | None = None,
) -> Styler:
    """Return the means of what `draw_beside_paper` draws, and the paper's numbers."""
    from benchbook.plots import repetitions

    runs = _list_runs(study, observations, own, other)
    points = repetitions.collect_repetitions(_analyse(study, runs).studies[study.name])
    columns = points["side"] + points["source"].map({"here": ", mean", "paper": ", the paper"})
    keys = [points["panel"].rename("quantity"), points["row"].rename("of"), columns]
    means = points["value"].groupby(keys, sort=False).mean().unstack()
    return show_table(means.rename_axis(columns=None).reset_index())


def show_code(*functions: Callable[..., object]) -> Markdown:
    """Return the code of functions, such as the loop that is timed, with links to their files."""
    parts = []
    for function in functions:
        lines, first = inspect.getsourcelines(function)
        file = os.path.relpath(inspect.getfile(function), Path.cwd())
        name = f"{function.__module__}.{function.__qualname__}"
        code = textwrap.dedent("".join(lines))
        parts.append(f"[`{name}`]({file}), line {first}:\n\n```python\n{code}```")
    return _to_markdown("\n\n".join(parts))


def draw_sizes(
    study: Study[ParametersT],
    own: Mapping[str, Any],
    sizes: Sequence[int],
    metrics: Sequence[str] = ("wall_time", "elapsed_time"),
    operations: Sequence[str] = (),
    **other: Any,
) -> Image:
    """Run a study at several sizes in this process and draw its ratios beside the paper's.

    Parameters
    ----------
    study, own
        As of `show_answer`; ``n`` varies, and there are as few repetitions as an interval needs.
    sizes
        The levels of ``n``.
    metrics, operations
        Whose ratios are drawn, one panel per operation, metric and role; all operations when empty.
    other
        The levels of a second run, as of `measure_other`; without them there is only one run.
    """
    rows: list[Comparison] = []
    for place in iterate_repetitions(len(sizes), "size"):
        n = sizes[place]
        # Each run would show its own progress.
        with capture_output():
            runs = [measure_other(study, own, n=n, repetitions=MIN_BLOCKS)]
            if other:
                runs.append(measure_other(study, own, n=n, repetitions=MIN_BLOCKS, **other))
        rows += [row for row in _compare(study, runs) if row.metric in metrics]
    if operations:
        rows = [row for row in rows if row.operation in operations]
    if not rows:
        reason = "no ratio at any size: one side of the question runs alone"
        raise InputError("parameters", f"{reason}: take both sides")

    # The paper's ratios are beside the reference run's comparisons, at the sizes that it printed.
    keys = {_key_without_n(row) for row in rows}
    printed = [row for row in _compare_reference(study.name) if row.published > 0]
    papers = [row for row in printed if _key_without_n(row) in keys]

    return _draw_ratios(study.name, rows, papers)


def _draw_ratios(slug: str, rows: Sequence[Comparison], papers: Sequence[Comparison]) -> Image:
    """Return a picture of ratios over ``n``, one panel per operation, metric and role.

    Parameters
    ----------
    rows, papers
        The comparisons of this process, and those with a ratio of the paper's numbers.
    """
    # Imported here, because matplotlib is slow to import and other cells need no figure.
    from benchbook.plots.save import draw_exhibit

    has_several = len({name_a_over_b(row) for row in rows}) > 1
    points = join_points(
        *(_place_point(row, "here", has_several) for row in rows),
        *(_place_point(row, "published", has_several) for row in papers),
    )
    axis = "the first named over the second" if has_several else name_a_over_b(rows[0])
    panels = list(dict.fromkeys(points["panel"]))
    drawing = Lines(("n", axis), sorted({*points["level"]}), panels)
    notes = [f"here: {MIN_BLOCKS} repetitions in one process: no verdict"]
    if not papers:
        notes.append("the paper prints no numbers for these")
    figure = draw_exhibit(Exhibit(f"{slug}: the ratio over n", points, tuple(notes), drawing))
    for axes in figure.axes[len(panels) :]:
        axes.axis("off")

    # A picture, because IPython shows a figure only once pyplot has drawn another.
    drawn = BytesIO()
    figure.savefig(drawn, format="png", dpi=2 * _PIXELS_PER_INCH)
    width, alt = int(_PIXELS_PER_INCH * figure.get_figwidth()), f"{slug}: ratio over n"
    return Image(drawn.getvalue(), width=width, alt=alt)  # type: ignore[no-untyped-call]


def _align(table: pd.DataFrame, texts: Sequence[Any]) -> Styler:
    """Return a table for the page: text is at the left, and a counted index is not shown."""
    left = [name for name in texts if name in table]
    heading = {"selector": "th.col_heading", "props": "text-align: left"}
    headings: Any = {name: [heading] for name in left}
    styler = table.style.set_properties(subset=left, **{"text-align": "left"})
    styler = styler.set_table_styles(headings)
    return styler.hide(axis="index") if isinstance(table.index, pd.RangeIndex) else styler


@cache
def _compare_reference(slug: str) -> list[Comparison]:
    """Return the comparisons of a study's tables in the reference run."""
    return compare_tables(select_rows(load_reference_means(), study=slug))


def _compare(
    study: Study[ParametersT], runs: Iterable[NotebookRun[ParametersT]]
) -> list[Comparison]:
    """Return the ratios of runs in this process."""
    rows = _analyse(study, runs).tables
    ratios = [row for row in rows if row.kind == "ratio" and row.metric in RATIO_METRICS]
    return [row for row in ratios if row.estimate > 0]


def _analyse(study: Study[ParametersT], runs: Iterable[NotebookRun[ParametersT]]) -> Analysis:
    """Return the analysis of runs in this process; each repetition is taken as a block."""
    table = pd.concat([_join_levels(study, run) for run in runs])
    return Analysis(table.assign(block=table["repetition"]))


def _join_levels(study: Study[ParametersT], run: NotebookRun[ParametersT]) -> pd.DataFrame:
    """Return a run's rows with the columns that a batch run writes for its cell."""
    # The level of each row, unless several alternate and the row states its own.
    parameters = run.parameters
    levels = parameters.model_dump(mode="json")
    known: dict[str, object] = {
        name: levels[name] for name in ALTERNATING_COLUMNS if name in levels
    }
    if known.get("format") == "both":
        del known["format"]
    # What a batch run knows of the cell.
    known |= {
        **parameters.as_columns(),
        "study": study.name,
        "cell_id": parameters.as_json(),
        "block": 0,
        "state": "done",
        "host": "here",
        "topology": study.deployment(parameters)[1],
    }
    rows: pd.DataFrame = join_cell(known, run.rows).to_pandas()
    return rows


def _write_caption(
    slug: str, runs: Sequence[NotebookRun[ParametersT]], languages: Iterable[str]
) -> str:
    """Name the limits of the ratios, and link the verdicts.

    Parameters
    ----------
    runs
        This run, and that of the other side if there is one.
    languages
        In which the reference run has blocks.
    """
    parameters = runs[0].parameters
    repetitions = format_count(parameters.repetitions, "repetition")
    ran = f"in one process, in {LANGUAGES[parameters.language]}"
    sentences = [
        f"{repetitions} {ran}: no verdict. The intervals are of this process alone: another one, or"
        " another day, may differ by more."
    ]
    if len(runs) > 1:
        sentences.append(
            "The two sides ran one after the other: a change between them counts, too."
        )
    if parameters.repetitions < MIN_BLOCKS:
        sentences.append(f"An interval takes {MIN_BLOCKS} repetitions.")

    # Only blocks have verdicts: the reference run's, and this machine's.
    named = " and ".join(LANGUAGES[language] for language in languages)
    if named:
        report = _link("report", paths.reference() / "report.html", slug)
        sentences.append(f"The reference run has blocks in {named}: its {report} has the verdicts.")
    report = _link("report", paths.figures("quick") / "report.html", slug)
    explorer = _link("explorer", paths.figures("explorer") / "index.html", f"study={slug}")
    sentences.append(f"For your own: `benchbook run {slug}`, then the {report} or the {explorer}.")
    return f"{' '.join(sentences)}\n\nThe paper: {load_citation(slug)}"


def _link(name: str, page: Path, fragment: str) -> str:
    """Return a link to a part of a page from the notebook's folder, or the page's command."""
    if not page.is_file():
        return f"{name} (`benchbook {'explore' if name == 'explorer' else name}`)"
    return f"[{name}]({os.path.relpath(page, Path.cwd())}#{fragment})"


def _write_blocks(row: Comparison | None) -> str:
    """Return the ratio of a run's blocks, or why there is none."""
    if row is None:
        return "not run"
    if row.blocks:
        return row.words
    return "noisy" if row.noisy else row.reason


def _write_value(value: float, unit: str) -> str:
    """Return a value in a unit with few digits; a missing one is empty."""
    return "" if pd.isna(value) else format_quantity(value, unit)


def _place_point(row: Comparison, source: str, has_several: bool) -> pd.DataFrame:
    """Return a comparison's point over ``n``: its ratio here, or the paper's."""
    panel = f"{row.operation.replace('_', ' ')}: {name_metric(row.metric)}, {row.role}"
    about = {
        "panel": panel,
        "level": row.n,
        "series": name_a_over_b(row) if has_several else "",
        "unit": "ratio",
    }
    here = {"value": row.estimate, "low": row.low, "high": row.high, "blocks": row.blocks}
    point = here if source == "here" else {"value": row.published}
    return frame_points([{"source": source, **point}], **about)


def _key_without_n(row: Comparison) -> tuple[object, ...]:
    """Return the key that a comparison shares with the same one at another size."""
    levels = {name: level for name, level in row.settings.items() if name != "n"}
    return make_comparison_key(replace(row, settings=levels))
