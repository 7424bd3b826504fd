"""Where the times of the cells of `bookstore` become steady."""

import pandas as pd
import pytest

from benchbook.papers.bookstore import find_cold_starts

COLD, STEADY = 100.0, 10.0


def make_block(turns: list[int | None]) -> pd.DataFrame:
    """Return the times of 60 repetitions, of which 0 to 4 and 30 to 34 are cold.

    Each of the two halves has a turn; None: it states none.
    """
    cold = {*range(5), *range(30, 35)}
    rows = []
    for repetition in range(60):
        # Both states scatter a little, as times do.
        value = (COLD if repetition in cold else STEADY) + 0.01 * (repetition * 7 % 5)
        turn = turns[repetition // 30]
        rows.append({"repetition": repetition, "value": value, "turn": turn})
    return pd.DataFrame(rows).assign(
        study="bookstore",
        host="h",
        language="java",
        process="together",
        case=1,
        n=1000,
        operation="marshal",
        format="xml",
        codec="c",
        metric="wall_time",
        block=0,
    )


@pytest.mark.parametrize("turns", [[1, 2], [2, 1]])
def test_each_process_of_a_java_cell_has_its_own_cold_start(turns: list[int | None]) -> None:
    (found,) = find_cold_starts(make_block(turns)).to_dict("records")
    assert found["blocks"] == 2
    assert found["start"] == 5
    assert found["steady"] == pytest.approx(STEADY, rel=0.01)
    assert found["cold_over_steady"] == pytest.approx(COLD / STEADY, rel=0.01)


@pytest.mark.parametrize("turns", [[None, None], [1, 1], [2, 2]])
def test_other_cells_have_one_process(turns: list[int | None]) -> None:
    (found,) = find_cold_starts(make_block(turns)).to_dict("records")
    assert found["blocks"] == 1
