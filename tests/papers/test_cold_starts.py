"""Where the times of the cells of `bookstore` become steady."""

import json

import pandas as pd
import pytest

from benchbook.papers.bookstore import find_cold_starts

COLD, STEADY = 100.0, 10.0


def make_block(language: str, version: int | str) -> pd.DataFrame:
    """Return the times of 60 repetitions, of which 0 to 4 and 30 to 34 are cold."""
    cold = {*range(5), *range(30, 35)}
    rows = []
    for repetition in range(60):
        # Both states scatter a little, as times do.
        value = (COLD if repetition in cold else STEADY) + 0.01 * (repetition * 7 % 5)
        rows.append({"repetition": repetition, "value": value})
    return pd.DataFrame(rows).assign(
        study="bookstore",
        host="h",
        language=language,
        process="together",
        case=1,
        n=1000,
        operation="marshal",
        format="xml",
        codec="c",
        metric="wall_time",
        block=0,
        versions=json.dumps({"bookstore": version}),
    )


@pytest.mark.parametrize("version", [2, "0123456789abcdef0123"])
def test_each_process_of_a_java_cell_has_its_own_cold_start(version: int | str) -> None:
    (found,) = find_cold_starts(make_block("java", version)).to_dict("records")
    assert found["blocks"] == 2
    assert found["start"] == 5
    assert found["steady"] == pytest.approx(STEADY, rel=0.01)
    assert found["cold_over_steady"] == pytest.approx(COLD / STEADY, rel=0.01)


@pytest.mark.parametrize(("language", "version"), [("java", 1), ("python", 2)])
def test_other_cells_have_one_process(language: str, version: int) -> None:
    (found,) = find_cold_starts(make_block(language, version)).to_dict("records")
    assert found["blocks"] == 1
