"""What a study's notebook says of its own run before anything else: which side took how many times as much."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pandas as pd
from IPython.display import Markdown
from pydantic import BaseModel

from benchbook import grid, results
from benchbook.analysis import Analysis, Comparison
from benchbook.analysis.intervals import MIN_BLOCKS
from benchbook.analysis.run_diff import comparison_key
from benchbook.analysis.runs import Run
from benchbook.digits import NOT_PRINTED, interval, number, plural, rounded
from benchbook.papers import reference
from benchbook.plots.points import where
from benchbook.plots.ratios import METRICS, sides
from benchbook.results.folder import joined


def answer(study: ModuleType, observations: pd.DataFrame, own: Mapping[str, Any], **other: Any) -> Markdown:
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
        Parameters of a second run, made here, where one run has one side of the question alone: ``engine``.

    The unit is a repetition of this one process, an interval says nothing beyond it; a batch run compares blocks.
    """
    slug = study.__name__.rpartition(".")[2]
    asked = study.Parameters(**{name: own[name] for name in study.Parameters.model_fields})
    rows = [_rows(study, slug, asked, observations)]
    if other:
        second = study.Parameters(**{**asked.model_dump(), **other})
        rows.append(_rows(study, slug, second, study.run(second)))
    table = pd.concat(rows)
    table = Analysis.of(table.assign(block=table["repetition"])).tables
    comparisons = [row for row in Comparison.of(table) if row.kind == "ratio" and row.estimate > 0]
    if not comparisons:
        return Markdown("**No ratio:** one side of the question ran alone.")  # type: ignore[no-untyped-call]

    # The same comparisons in runs of blocks.
    runs = {"batch runs here": Run.of_results(slug, grid.finished(slug)), "reference run": Run.of_reference()}
    tables = {name: Comparison.of(where(run.analysis.tables, study=slug)) for name, run in runs.items()}
    beside = {name: {comparison_key(row): row for row in rows} for name, rows in tables.items() if rows}

    # One line per comparison.
    names = ["ratio", "of", "this run", "99 % interval", "the paper's numbers", *beside]
    head = [f"| {' | '.join(names)} |", f"|---|---|{'--:|' * (len(names) - 2)}"]
    lines = [_line(row, beside) for row in comparisons]
    turns = "one side after the other" if other else "the sides in turn"
    few = "" if asked.repetitions >= MIN_BLOCKS else f" An interval takes {MIN_BLOCKS} repetitions."
    caption = (
        f"{plural(asked.repetitions, 'repetition')} in one process, {turns}: an interval says nothing of another "
        f"process or another day.{few} A batch run (`benchbook run`) compares blocks, and the final notebook judges "
        f"the paper's claims by them.\n\n*{reference(slug)}*"
    )
    return Markdown("\n".join([*head, *lines, "", caption]))  # type: ignore[no-untyped-call]


def _rows(study: ModuleType, slug: str, asked: BaseModel, observations: pd.DataFrame) -> pd.DataFrame:
    """Return a run's rows beside what a runner would say of its cell."""
    named = asked.model_dump(mode="json")
    known = {name: named[name] for name in results.CELLS.names if name in named}
    known.pop("parameters", None)
    if known.get("format") == "both":
        del known["format"]
    known |= {"study": slug, "cell_id": str(named.get("engine", slug)), "block": 0, "state": "done", "host": "here"}
    known |= {"parameters": asked.model_dump_json(), "topology": study.deployment(asked)[1]}
    values = observations[[name for name in observations if name in results.OBSERVATIONS.names]]
    rows: pd.DataFrame = joined(known, values).to_pandas()
    return rows


def _line(row: Comparison, beside: Mapping[str, Mapping[tuple[object, ...], Comparison]]) -> str:
    what = f"{METRICS.get(row.metric, row.metric)}, {row.operation}, {row.role}".replace("_", " ")
    ratio, ends = rounded(row.estimate, row.low, row.high)[0], interval(row.estimate, row.low, row.high)
    others = [comparisons.get(comparison_key(row)) for comparisons in beside.values()]
    ratios = [other.words if other and other.blocks else NOT_PRINTED for other in others]
    cells = [sides(row), what, f"**{ratio}**", ends or NOT_PRINTED, number(row.published), *ratios]
    return f"| {' | '.join(cells)} |"
