"""A damaged result is named, set aside and measured again."""

import fcntl
import json
import os
import random
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq
import pytest

from benchbook import cli, grid
from benchbook.analysis.block_means import load_block_means
from benchbook.measure import time_action
from benchbook.results import files
from benchbook.results.files import build_table
from benchbook.results.folder import open_results
from benchbook.results.views import load_observations
from benchbook.studies import cell
from damage import flip_bit, replace_content

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def values() -> pd.DataFrame:
    rows = cell.Rows()
    for repetition in range(5):
        rows.add(repetition, "insert", time_action(list)[1], 10, started_at=NOW)
    return rows.frame()


def columns(one: grid.Cell, **others: Any) -> dict[str, Any]:
    times = {"cell_started_at": NOW, "cell_ended_at": NOW + timedelta(seconds=2)}
    known = {"study": one.study, "cell_id": one.identity, "block": one.block, "state": "done"}
    return {**known, **one.parameters.as_columns(), **times, **others}


def write(one: grid.Cell, **others: Any) -> Path:
    return open_results().write_cell(columns(one, **others), values(), one.combination[1])


def remove_rows(path: Path) -> None:
    pq.write_table(pq.read_table(path).slice(0, 0), path)


def mix_two_cells(path: Path) -> None:
    rows = pq.read_table(path).to_pandas()
    rows.loc[1, "cell_id"] = "another"
    pq.write_table(build_table(rows, files.infer_schema(rows)), path)


def replace_file(path: Path, make: Callable[[Path], Any]) -> None:
    path.unlink()
    make(path)


DAMAGES: dict[str, Callable[[Path], Any]] = {
    "cut short": lambda path: os.truncate(path, path.stat().st_size // 2),
    "without its last byte": lambda path: os.truncate(path, path.stat().st_size - 1),
    "empty": lambda path: os.truncate(path, 0),
    "a byte longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "a bit flipped": lambda path: flip_bit(path, path.stat().st_size * 4),
    "another table": lambda path: pd.DataFrame({"a": [1]}).to_parquet(path),
    "no table": lambda path: path.write_text("{}"),
    "without rows": remove_rows,
    "rows of two cells": mix_two_cells,
    "a folder": lambda path: replace_file(path, Path.mkdir),
    "a link to nothing": lambda path: replace_file(path, lambda link: link.symlink_to("nothing")),
}


def run_command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, list[str]]:
    """Return a command's exit status, what it printed, and the lines that it said on stderr."""
    status = cli.main([*words, "--profile", "smoke"])
    out, err = capsys.readouterr()
    return status, out, err.splitlines()


def todo(printed: str) -> set[str]:
    return {
        f"{one['identity']}.{one['block']}" for one in json.loads(printed) if one["state"] == "todo"
    }


@pytest.fixture
def cells(home: Path) -> list[grid.Cell]:
    """The cells that need no server, all of them done."""
    found = [one for one in grid.make_plan(profile="smoke").cells if one.missing is None]
    for one in found:
        write(one)
    return found


def load_stored_means() -> pd.DataFrame:
    return load_block_means(open_results()).drop(columns="environment")


def test_no_flipped_bit_changes_a_number_silently(cells: list[grid.Cell]):
    """Bits of headers and footer may mean nothing; all others make their file damaged."""
    one, *others = cells
    for other in others:
        other.path.unlink()
    whole, means, rows = one.path.read_bytes(), load_stored_means(), load_observations()
    footer = 8 * (len(whole) - 8 - int.from_bytes(whole[-8:-4], "little"))
    chance = random.Random(11)
    bits = [*chance.sample(range(footer), 30), *chance.sample(range(footer, 8 * len(whole)), 30)]
    for bit in bits:
        flip_bit(one.path, bit)
        read = load_stored_means()
        if open_results().find_damaged_files():
            assert read.empty and load_observations().empty, f"bit {bit} of {8 * len(whole)}"
        else:
            pd.testing.assert_frame_equal(read, means)
            pd.testing.assert_frame_equal(load_observations(), rows)
        replace_content(one.path, whole)
    assert open_results().list_states(one.study)[one.key] == "done"


def test_damaged_results_are_named_and_set_aside(
    cells: list[grid.Cell], capsys: pytest.CaptureFixture[str]
):
    victims = dict(zip(DAMAGES, cells, strict=False))
    doubled, copied, whole = cells[len(victims) :][:3]
    for name, one in victims.items():
        DAMAGES[name](one.path)
    shutil.copyfile(whole.path, doubled.path)
    copied.path.rename(copied.path.with_name(f"copy of {copied.path.name}"))
    gone = {one.key for one in (*victims.values(), doubled)}

    told = run_command(capsys, "claims", "--json")[2]
    status, printed, _ = run_command(capsys, "plan", "--json")
    assert status == 0 and todo(printed) == gone | {copied.key}
    for name, one in {**victims, "another cell's": doubled}.items():
        (line,) = (line for line in told if str(one.path) in line)
        assert line.endswith(
            f"set aside as {one.path.name}.damaged, its cell will be measured again"
        ), name
        assert not os.path.lexists(one.path) and os.path.lexists(f"{one.path}.damaged")
    assert (
        len(told) == len(gone) + 1
        and "copy of" in told[-1]
        and told[-1].endswith("not read, because the name is not that of a result")
    )

    rows = 5 * (len(cells) - len(gone) - 1)
    sql = "SELECT count(*) AS n, count(DISTINCT (cell_id, block)) * 5 AS m FROM all_observations"
    status, printed, told = run_command(capsys, "results", "--json", "--sql", sql)
    assert (status, json.loads(printed), len(told)) == (0, [{"n": rows, "m": rows}], 1)
    status, printed, told = run_command(capsys, "claims", "--json")
    assert status == 0 and isinstance(json.loads(printed), list) and len(told) == 1
    write(doubled)
    os.truncate(doubled.path, 9)
    assert f"{doubled.path.name}.damaged.2" in run_command(capsys, "plan")[2][0]


def test_a_damaged_page_is_found_when_values_are_read(
    cells: list[grid.Cell], capsys: pytest.CaptureFixture[str]
):
    one = cells[0]
    flip_bit(one.path, 8 * (one.path.read_bytes().index(b"insert") + 1))
    assert run_command(capsys, "plan")[2] == [] and one.path.exists()
    means = load_block_means(open_results())
    assert one.key not in {f"{row.cell_id}.{row.block}" for row in means.itertuples()}
    assert open_results().find_lost_cells() == {one.key}
    (line,) = run_command(capsys, "claims", "--json")[2]
    assert line.endswith("its cell will be measured again") and not one.path.exists()
    assert one.key in todo(run_command(capsys, "plan", "--json")[1])


def test_a_table_of_another_program_is_not_a_result(cells: list[grid.Cell]):
    one = cells[0]
    pq.write_table(pq.read_table(one.path).replace_schema_metadata(), one.path)
    assert one.key not in open_results().list_states(one.study)
    assert "it does not state its cell" in open_results().find_damaged_files()[one.path]


def test_a_link_to_a_complete_file_is_read(cells: list[grid.Cell], tmp_path: Path):
    one = cells[0]
    one.path.rename(tmp_path / "elsewhere")
    one.path.symlink_to(tmp_path / "elsewhere")
    assert open_results().list_states(one.study)[one.key] == "done"


def test_nothing_is_set_aside_while_a_run_replaces_files(
    cells: list[grid.Cell], results_folder: Path, capsys: pytest.CaptureFixture[str]
):
    one = cells[0]
    os.truncate(one.path, 3000)
    with (results_folder / ".running").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        status, printed, (line,) = run_command(capsys, "plan", "--json")
        assert status == 0 and todo(printed) == {one.key} and one.path.exists()
        assert line.endswith("and left out; a run writes there at present")
    write(one)
    assert run_command(capsys, "plan", "--json")[2] == []
