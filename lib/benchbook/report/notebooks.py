"""What a study's notebook says of its own run before anything else: which side took how many times as much."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import pandas as pd
from IPython.display import Markdown
from pydantic import BaseModel

from benchbook import grid, results
from benchbook.digits import NOT_PRINTED, estimate, interval, number, rounded
from benchbook.evidence import Evidence
from benchbook.evidence.comparisons import Compared
from benchbook.evidence.runs import Run
from benchbook.papers import reference
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
    comparisons = Evidence.of(table.assign(block=table["repetition"])).comparisons
    runs = {"batch runs here": Run.of_results(slug, grid.finished(slug)), "reference run": Run.of_reference()}
    tables = {name: run.evidence.compared(slug) for name, run in runs.items()}
    beside = {name: {row.key: row for row in Compared.of(rows)} for name, rows in tables.items() if len(rows)}
    lines = [_line(row, beside) for row in Compared.of(comparisons[comparisons["ratio"].notna()])]
    if not lines:
        return Markdown("**No ratio:** one side of the question ran alone.")  # type: ignore[no-untyped-call]
    names = ["ratio", "of", "this run", "95 % interval", "the paper's numbers", *beside]
    head = [f"| {' | '.join(names)} |", f"|---|---|{'--:|' * (len(names) - 2)}"]
    turns = "one side after the other" if other else "the sides in turn"
    caption = (
        f"Intervals are over {asked.repetitions} repetitions in one process, {turns}: they say nothing of another "
        "process or another day. A batch run (`benchbook run`) compares blocks, and the final notebook judges the "
        f"paper's claims by them"
        f"{'; what such runs gave for the same stands at the right' if beside else ''}.\n\n*{reference(slug)}*"
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


def _line(row: Compared, beside: Mapping[str, Mapping[tuple[str, ...], Compared]]) -> str:
    what = f"{METRICS.get(row.metric, row.metric)}, {row.operation}, {row.role}".replace("_", " ")
    ratio, ends = rounded(row.ratio, row.low, row.high)[0], interval(row.ratio, row.low, row.high) or NOT_PRINTED
    others = (comparisons.get(row.key) for comparisons in beside.values())
    ratios = [estimate(other.ratio, other.low, other.high) if other else NOT_PRINTED for other in others]
    cells = [sides(row), what, f"**{ratio}**", ends, number(row.published_ratio), *ratios]
    return f"| {' | '.join(cells)} |"
