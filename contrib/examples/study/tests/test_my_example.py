"""Tests of a study: its grid is planned, and every repetition delivers all expected values."""

import json

from benchbook_my_example import study

from benchbook import grid
from benchbook.studies.catalogue import find_notebook


def test_its_grid_is_planned() -> None:
    cells = grid.make_plan(["my_example"], "smoke").cells
    assert {cell.parameters.level for cell in cells} == {1, 6, 9}
    assert not any(cell.missing for cell in cells)


def test_its_notebook_takes_its_parameters() -> None:
    cells = json.loads(find_notebook("my_example").read_text())["cells"]
    (given,) = [cell for cell in cells if "parameters" in cell["metadata"].get("tags", [])]
    names = {line.partition(":")[0] for line in given["source"]}
    assert names == set(study.Parameters.model_fields)


def test_every_repetition_delivers_all_expected_values() -> None:
    parameters = study.Parameters(n=50, repetitions=3)
    rows = study.run(parameters)
    for _, part in rows.groupby("repetition"):
        found = set(zip(part["operation"], part["role"], part["metric"], strict=True))
        assert found == study.expected(parameters)
    assert sorted(rows["repetition"].unique()) == [0, 1, 2]


def test_a_higher_level_compresses_to_fewer_bytes() -> None:
    def size(level: int) -> float:
        rows = study.run(study.Parameters(n=50, level=level, repetitions=1))
        return rows.loc[rows["metric"] == "size", "value"].item()

    assert size(9) < size(1)
