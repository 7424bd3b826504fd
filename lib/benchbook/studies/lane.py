"""A cell that another stack runs: its records handed over, its answer as rows."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from benchbook import lanes
from benchbook.folders import Folder
from benchbook.studies.cell import CellParameters, Rows


def elsewhere(
    parameters: CellParameters, study: str, columns: Mapping[str, Any], *, data: bytes, **where: Any
) -> pd.DataFrame:
    """Run a cell on its lane and return its rows; arguments and errors as for `answered`."""
    return answered(parameters, study, columns, data=data, **where)[0].frame()


def answered(
    parameters: CellParameters,
    study: str,
    columns: Mapping[str, Any],
    *,
    data: bytes,
    url: str | None = None,
    replica_url: str | None = None,
    pids: Iterable[int] = (),
) -> tuple[Rows, lanes.Closing]:
    """Run a cell on its lane.

    Parameters
    ----------
    parameters, study
        The cell; its harness gets all of its parameters.
    columns
        Columns of the results that only the study knows.
    data
        What the harness is to work on, in JSON: it finds it in a file.
    url, replica_url, pids
        The database's addresses, and its processes on this machine.

    Returns
    -------
    tuple
        The rows, and what closed the answer.

    Raises
    ------
    benchbook.lanes.LaneError
        When the harness fails, or is not here.
    """
    with Folder("cell") as folder:
        file = folder / "data.json"
        file.write_bytes(data)
        asked = parameters.model_dump(mode="json")
        answer, closing = lanes.run(
            parameters.lane, study, asked, str(folder),
            data=str(file), url=url, replica_url=replica_url, pids=list(pids),
        )  # fmt: skip
    rows = Rows()
    for repetition in answer:
        for section in repetition.sections:
            _add(rows, repetition.number, section, {"driver": closing.driver, **columns})
    return rows, closing


def _add(rows: Rows, repetition: int, section: lanes.Section, columns: Mapping[str, Any]) -> None:
    about = {"format": section.format, "codec": section.codec}
    known = {name: value for name, value in about.items() if value is not None}
    for value in section.values:
        rows.add_value(
            repetition,
            section.operation,
            **{name: part for name, part in value.items() if name != "unit"},
            count=section.count,
            started_at=section.started_at,
            **{**columns, **known},
        )
