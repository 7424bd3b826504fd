"""A cell that another stack runs: its records handed over, its answer as rows."""

import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from benchbook import lanes
from benchbook.studies.cell import CellParameters, Rows


def elsewhere(
    parameters: CellParameters,
    study: str,
    columns: Mapping[str, Any],
    *,
    data: bytes | None = None,
    url: str | None = None,
    pids: Iterable[int] = (),
) -> pd.DataFrame:
    """Run a cell on its lane and return its rows.

    Parameters
    ----------
    parameters, study
        The cell; its harness gets all of its parameters.
    columns
        Columns of the results that only the study knows.
    data
        What the harness is to work on, in JSON: it finds it in a file.
    url, pids
        The database's address, and its processes on this machine.

    Raises
    ------
    benchbook.lanes.LaneError
        When the harness fails, or is not here.
    """
    rows = Rows()
    with tempfile.TemporaryDirectory(prefix="benchbook-") as folder:
        file = Path(folder, "data.json")
        if data is not None:
            file.write_bytes(data)
        given = str(file) if data is not None else None
        asked = parameters.model_dump(mode="json")
        answer, closing = lanes.run(parameters.lane, study, asked, folder, data=given, url=url, pids=list(pids))
    for repetition in answer:
        for section in repetition.sections:
            about = {"format": section.format, "codec": section.codec}
            known = {name: value for name, value in about.items() if value is not None}
            for value in section.values:
                rows.add_value(
                    repetition.number,
                    section.operation,
                    **{name: part for name, part in value.items() if name != "unit"},
                    count=section.count,
                    started_at=section.started_at,
                    **{"driver": closing.driver, **columns, **known},
                )
    return rows.frame()
