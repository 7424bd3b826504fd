"""Runs until claims are decided, with real plans and claims on simulated machines."""

import json
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchbook import cli, grid
from benchbook.analysis.block_means import load_block_means
from benchbook.analysis.claim_files import load_claims
from benchbook.analysis.claims import MeasuredClaim
from benchbook.analysis.comparisons import Comparison
from benchbook.analysis.forecast import BLOCKS_PER_DAY
from benchbook.analysis.runs import Analysis
from benchbook.analysis.verdicts import ClaimVerdict
from benchbook.cli.command import DONE, USAGE
from benchbook.cli.run import parse_budget
from benchbook.grid import Cell
from benchbook.grid.cells import Combination, list_result_keys
from benchbook.measure.machine import name_host
from benchbook.results.folder import open_results
from benchbook.runner import batch
from benchbook.runner.undecided_claims import (
    MAX_FAILURES,
    ComparisonCells,
    choose_affordable,
    choose_next_block,
    find_comparison_cells,
    run_until_decided,
    select_undecided,
)
from benchbook.studies.cell import Rows

FOREVER = float("inf")
SMALL = ["language=python", "n=10,1000", "keys=paper", "network=none"]
CLAIM = "bookstore.round-trip.xml-slower"


class Machine:
    """Measures bookstore's cells: by the number of books XML takes `ratio` times as long as JSON.

    The noise per block is `sd`, in logarithms. It begins at noon of a `day` in November; a cell
    takes ten seconds.
    """

    def __init__(
        self,
        ratio: float = 4.0,
        sd: float = 0.02,
        *,
        day: int = 1,
        fails: Callable[[Cell], bool] = lambda _: False,
        stop_after: float = FOREVER,
        noisy: bool = False,
    ) -> None:
        self._noisy = noisy
        self._ratio, self._sd, self._fails, self._stop_after = ratio, sd, fails, stop_after
        self.time = pd.Timestamp(2026, 11, day, 12, tz="UTC")
        self.ran: list[Cell] = []

    def __call__(self, cells: Sequence[Cell]) -> list[Cell]:
        failed = []
        for cell in cells:
            if len(self.ran) >= self._stop_after:
                raise KeyboardInterrupt
            self.ran.append(cell)
            self.time += pd.Timedelta(seconds=10)
            if self._fails(cell):
                failed.append(cell)
            else:
                self._write(cell)
        return failed

    def _write(self, cell: Cell) -> None:
        random = np.random.Generator(
            np.random.PCG64(zlib.crc32(f"{cell.combination} {cell.block}".encode()))
        )
        n, rows = cell.parameters.model_dump()["n"], Rows()
        for arm in cell.parameters.variants():  # type: ignore[attr-defined]
            for operation, role, metric in sorted(
                batch.load_study(cell.study).expected(cell.parameters)
            ):
                mean = 1e6 * n * (self._ratio if arm["format"] == "xml" else 1)
                value = mean * np.exp(self._sd * random.standard_normal())
                about = {"started_at": self.time.to_pydatetime(), **arm}
                rows.add_value(0, operation, role, metric, value, "simulated", 1.0, n, **about)
        known = batch._describe_cell(cell, "done") | {"run_id": "simulated", "environment": "{}"}
        known |= {"noisy": self._noisy, "background_load": 1.5 if self._noisy else 0.0}
        times = {"cell_started_at": self.time, "cell_ended_at": self.time}
        open_results().write_cell(known | times, rows.frame(), cell.combination[1])

    @property
    def blocks(self) -> list[int]:
        """The blocks that it ran, in their order."""
        return list(dict.fromkeys(cell.block for cell in self.ran))


pytestmark = pytest.mark.usefixtures("results_folder", "shared_kernels")


def plan(*changes: str) -> list[Cell]:
    return grid.make_plan(["bookstore"], "decide", SMALL, ["repetitions=1", *changes]).cells


def analyse(cells: Sequence[Cell]) -> Analysis:
    means = load_block_means(open_results(), list_result_keys(cells))
    return Analysis(means, load_claims("bookstore"))


def read(cells: Sequence[Cell]) -> list[ComparisonCells]:
    return find_comparison_cells(cells, [one for one in load_claims() if one.id == CLAIM])


def run(
    machine: Machine,
    left_s: Callable[[], float] = lambda: FOREVER,
    *changes: str,
    repeats_noisy: bool = True,
    cell_s: float = 60.0,
    blocks_per_day: int | None = None,
) -> list[ComparisonCells]:
    """Run as the command does; return what is undecided at the end."""
    cells = [replace(cell, blocks_per_day=blocks_per_day) for cell in plan(*changes)]
    comparisons = read(cells)
    ended = run_until_decided(
        cells,
        comparisons,
        lambda: analyse(cells),
        machine,
        left_s,
        dict.fromkeys((cell.combination for cell in cells), cell_s),
        lambda: machine.time,
        repeats_noisy=repeats_noisy,
    )
    return select_undecided(comparisons, ended)


def test_three_blocks_of_a_day_are_added_until_the_claim_is_decided() -> None:
    first, second, third = Machine(), Machine(day=2), Machine(day=3)
    assert run(first) and first.blocks == [*range(BLOCKS_PER_DAY)]
    # An interval needs five: a whole day more, and what is decided is left alone.
    assert not run(second) and second.blocks == [3, 4, 5]
    assert not run(third) and not third.ran
    ended = analyse(plan())
    (verdict,) = [verdict for verdict in ended.verdicts if verdict.id == CLAIM]
    assert (verdict.verdict, verdict.blocks, verdict.machine_days) == ("holds", 6, 2)
    assert {*ended.means["machine_day"]} == {f"{name_host()} 2026-11-0{day}" for day in (1, 2)}
    # Identical arms ran beside; and the cells of a comparison are those that it was measured in.
    assert {cell.arm for cell in first.ran} == {"a", "b"}
    settings = {row.label: row.settings for row in ended.comparisons if row.name == CLAIM}
    for comparison in read(plan()):
        for _, text in comparison.cells:
            given = json.loads(text)
            assert all(
                given[name] == settings[comparison.label][name]
                for name in ("case", "n", "keys", "process")
            )


def test_cells_of_seconds_have_five_blocks_a_day_and_others_what_the_grid_says() -> None:
    stated, short = Machine(), Machine(day=2)
    run(stated, blocks_per_day=1)
    assert stated.blocks == [0]
    assert not run(short, cell_s=20.0) and short.blocks == [1, 2, 3, 4, 5]


def test_cells_that_the_grid_limits_come_last() -> None:
    machine, cells = Machine(), plan()
    comparisons = [comparison for comparison in read(cells) if comparison.cells]
    limited = comparisons[0].cells
    cells = [
        replace(cell, blocks_per_day=1 if cell.combination in limited else None) for cell in cells
    ]
    run_until_decided(
        cells,
        comparisons,
        lambda: analyse(cells),
        machine,
        lambda: FOREVER,
        dict.fromkeys((cell.combination for cell in cells), 60.0),
        lambda: machine.time,
    )
    blocks = {cell.block for cell in machine.ran if cell.combination in limited}
    assert blocks == {machine.blocks[-1]}


def test_an_undecided_claim_gets_more_blocks_of_its_open_comparisons() -> None:
    for day in (1, 2, 3):
        machine = Machine(1.08, 0.15, day=day)
        left = run(machine)
    assert machine.blocks == [6, 7, 8], "five blocks have an interval, and leave it open"
    assert {comparison.claim.id for comparison in left} == {CLAIM}


def test_each_run_measures_noisy_blocks_once_more_and_quiet_ones_take_their_place() -> None:
    first = Machine(noisy=True)
    run(first)
    assert first.blocks == [0, 1, 2]
    for hours, noisy in ((0.5, True), (26, True), (26.5, False)):
        again = Machine(noisy=noisy)
        again.time = first.time + pd.Timedelta(hours=hours)
        run(again)
        assert again.blocks == [0, 1, 2] and len(again.ran) == len(first.ran)
    later = Machine()
    later.time = again.time + pd.Timedelta(minutes=30)
    run(later)
    assert not later.ran, "the day has its quiet blocks"


def test_noisy_blocks_stay_where_a_run_does_not_wait() -> None:
    run(Machine(noisy=True))
    again = Machine(noisy=True)
    run(again, repeats_noisy=False)
    assert not again.ran


def test_a_plan_whose_blocks_have_all_run_ends_undecided() -> None:
    for day in (1, 2):
        machine = Machine(1.08, 0.15, day=day)
        left = run(machine, lambda: FOREVER, "blocks=5")
    assert left and machine.blocks == [3, 4]


def test_an_interrupted_run_continues_where_it_ended() -> None:
    first = Machine(stop_after=8)
    with pytest.raises(KeyboardInterrupt):
        run(first)
    second = Machine()
    second.time = first.time + pd.Timedelta(minutes=30)
    run(second)
    keys = [cell.key for cell in (*first.ran, *second.ran)]
    assert len(keys) == len({*keys}) == 3 * 6
    assert second.blocks == [1, 2]


def test_a_block_that_an_earlier_pass_left_incomplete_is_replaced_by_another() -> None:
    cells = plan()
    first, second = (
        comparison
        for comparison in read(cells)
        if comparison.label in ("case=1, n=10", "case=2, n=10")
    )
    # As where each side is a cell of its own.
    pair = replace(first, cells=first.cells | second.cells)
    machine = Machine()
    machine([next(cell for cell in cells if cell.combination in first.cells and cell.block == 0)])
    means = analyse(cells).means

    def following(minutes: int, means: pd.DataFrame) -> set[tuple[int, Combination]]:
        now = machine.time + pd.Timedelta(minutes=minutes)
        chosen = choose_next_block(cells, [pair], means, now, durations={})
        return {(cell.block, cell.combination) for cell in chosen if cell.combination in pair.cells}

    assert following(30, means) == {(0, kind) for kind in second.cells}
    assert following(90, means) == {(1, kind) for kind in pair.cells}
    elsewhere = means.assign(cell_id="measured on another host")
    assert following(30, elsewhere) == {(0, kind) for kind in pair.cells}


def test_the_block_in_which_most_comparisons_can_be_completed_comes_first() -> None:
    cells = plan()
    comparisons = [comparison for comparison in read(cells) if comparison.cells]
    machine = Machine()
    machine([next(cell for cell in cells if cell.combination in comparisons[0].cells)])
    means = analyse(cells).means

    def choose(hours: int) -> set[int]:
        later = machine.time + pd.Timedelta(hours=hours)
        chosen = choose_next_block(cells, comparisons, means, later, durations={})
        return {cell.block for cell in chosen}

    assert choose(0) == {0}, "a block that was begun is ended first"
    assert choose(2) == {1}, "one comparison is complete in block 0 and needs another block"


def make_open(claim: MeasuredClaim, cell: str, **settings: Any) -> ComparisonCells:
    """Return an open comparison of a claim with five blocks, and the cell that it needs."""
    row = Comparison(
        study="bookstore", name=claim.id, language="java", operation="", role="", metric="",
        unit="", a="", b="", label=cell, settings={}, n=1, claimed="greater", margin=1.1,
        stands="open", estimate=3.0, error=0.2, blocks=5, machine_days=1,
    )  # fmt: skip
    cells = frozenset({("bookstore", cell)})
    return ComparisonCells(claim, "java", cell, cells, measured=replace(row, **settings))


def make_verdict(name: str, more_days: float, **counts: int) -> ClaimVerdict:
    about: Any = {"says": "", "where": "", "claimed": "", "words": "", "language": "java"}
    one = ClaimVerdict(id=name, study="bookstore", verdict="undecided", **about)
    return replace(one, more_days=more_days, **counts)


def choose_keys(
    verdicts: list[ClaimVerdict],
    comparisons: list[ComparisonCells],
    seconds: float,
    **durations: float,
) -> set[str]:
    """Return the cells that end in this time, of ten seconds each where nothing else is said."""
    known = {("bookstore", key): 10.0 for key in "abcd"}
    known |= {("bookstore", key): value for key, value in durations.items()}
    analysis: Any = SimpleNamespace(verdicts=verdicts, comparisons=[])
    left_s = BLOCKS_PER_DAY * seconds
    chosen = choose_affordable(comparisons, analysis, known, left_s)
    return {key for _, key in chosen}


def list_claims() -> list[MeasuredClaim]:
    return [one for one in load_claims("bookstore") if isinstance(one, MeasuredClaim)]


def test_claims_that_are_decided_at_the_least_cost_come_first_and_fit_into_the_time() -> None:
    near, far, never, *_ = list_claims()
    verdicts = [make_verdict(near.id, 2.0), make_verdict(far.id, 9.0)]
    verdicts.append(make_verdict(never.id, FOREVER))
    needed = [(near, "a"), (near, "b"), (far, "b"), (far, "c"), (never, "d")]
    comparisons = [make_open(claim, key) for claim, key in needed]
    assert choose_keys(verdicts, comparisons, 9) == set()
    assert choose_keys(verdicts, comparisons, 10) == {"d"}, "one cell still fits"
    assert choose_keys(verdicts, comparisons, 20) == {"a", "b"}
    assert choose_keys(verdicts, comparisons, 30) == {"a", "b", "c"}, "they share a cell"
    assert choose_keys(verdicts, comparisons, 40) == {"a", "b", "c", "d"}
    # One that is decided already comes after those that are not.
    verdicts[0] = replace(verdicts[0], verdict="holds", more_days=float("nan"))
    assert choose_keys(verdicts, comparisons, 20) == {"b", "c"}


def test_of_a_claim_the_cheapest_comparisons_that_decide_it_come_first() -> None:
    claim, *_ = list_claims()
    # Two of four are for it: a third decides.
    verdict = make_verdict(claim.id, 1.0, for_=2, open=4)
    cheap = make_open(claim, "a", estimate=1.0, error=5.0)  # it would stay open
    comparisons = [cheap, *(make_open(claim, key) for key in "bcd")]
    times = {"a": 1.0, "b": 30.0, "c": 20.0, "d": 500.0}
    assert choose_keys([verdict], comparisons, 50, **times) == {"b", "c"}
    assert choose_keys([verdict], comparisons, 49, **times) == set()
    # Where the forecast decides nothing, all are needed.
    never = [replace(one, measured=cheap.measured) for one in comparisons]
    assert choose_keys([verdict], never, 600, **times) == {"a", "b", "c", "d"}


def test_checks_of_the_machine_run_in_five_blocks_and_then_once_a_day() -> None:
    days = []
    for day in (1, 2, 3):
        machine = Machine(1.08, 0.15, day=day)
        run(machine)
        days.append(
            [
                any(cell.block == block and cell.arm == "b" for cell in machine.ran)
                for block in machine.blocks
            ]
        )
    assert days == [[True] * 3, [True, True, False], [True, False, False]]


def test_comparable_cells_are_measured_where_others_are_not_comparable() -> None:
    # CouchDB's own commit, and the paper's, as if it were installed.
    planned = grid.make_plan(["crud"], "paper", ["n=1000", "topology=single"]).cells
    cells = [replace(cell, missing=None) for cell in planned if cell.block == 0]
    own = [cell for cell in cells if cell.parameters.commit_time == "each"]
    claims = [one for one in load_claims("crud") if one.id == "crud.update.couchdb-performs-well"]
    for chosen, is_comparable in ((cells, True), (own, False)):
        comparison = find_comparison_cells(chosen, claims)[0]
        measured = Comparison(
            study="crud", name=claims[0].id, language="python", operation="", role="", metric="",
            unit="", a="", b="", label=comparison.label, settings={}, n=1000, claimed="less",
            margin=1.1, stands="not comparable", blocks=9,
        )  # fmt: skip
        analysis: Any = SimpleNamespace(comparisons=[measured], verdicts=[])
        assert comparison.is_comparable == is_comparable
        assert select_undecided([comparison], analysis) == [comparison] * is_comparable


def test_a_spent_budget_ends_the_run_and_the_next_run_continues() -> None:
    machine = Machine()
    start = machine.time
    assert run(machine, lambda: 100 - (machine.time - start).total_seconds())
    assert machine.blocks == [0, 1]
    second = Machine()
    second.time = machine.time
    run(second)
    assert second.blocks == [2]


def test_a_cell_that_fails_repeatedly_is_given_up_and_the_others_run() -> None:
    def fails(cell: Cell) -> bool:
        given = cell.parameters.model_dump()
        return (given["n"], given["case"]) == (10, 2)

    for day in (1, 2):
        machine = Machine(day=day, fails=fails)
        left = run(machine)
        assert sum(map(fails, machine.ran)) == MAX_FAILURES
    assert {comparison.label for comparison in left} == {"case=2, n=10"}


def test_each_comparison_in_each_language_names_its_cells_that_can_run_here() -> None:
    cells = plan()
    found = read(cells)
    labels = [comparison.label for comparison in found if comparison.cells]
    assert labels == ["case=1, n=10", "case=1, n=1000", "case=2, n=10", "case=2, n=1000"]
    kinds = {cell.combination for cell in cells}
    assert all(
        comparison.cells <= kinds and comparison.language == "python" for comparison in found
    )
    absent = [replace(cell, missing="its server is not here") for cell in cells]
    assert not any(comparison.cells for comparison in read(absent))


def test_the_command_prints_its_plan_runs_the_blocks_of_a_day_and_prints_the_result(
    capfd: pytest.CaptureFixture[str],
) -> None:
    chosen = [
        "bookstore",
        "--profile",
        "smoke",
        "--where",
        "process=together",
        *("--where", "language=python"),
    ]
    asked = [*chosen, "--set", "blocks=5", "--until-decided"]
    assert cli.main(["run", *asked, "--budget", "10m"]) == DONE
    printed = capfd.readouterr().out
    assert "next: block 1, 3 cells" in printed
    assert "no block is left: each cell has its blocks of today" in printed
    assert set(open_results().list_states("bookstore").values()) == {"done"}
    assert len(open_results().list_states("bookstore")) == 3 * 5
    assert cli.main(["plan", *asked, "--json"]) == DONE
    rows = {row["id"]: row for row in json.loads(capfd.readouterr().out)}
    assert rows[CLAIM]["runs_here"]
    # The verdict depends on the machine's noise, but both commands give the same.
    assert cli.main(["claims", "bookstore", "--profile", "smoke", "--json"]) == DONE
    judged = {row["id"]: row for row in json.loads(capfd.readouterr().out)}
    assert rows[CLAIM]["verdict"] == judged[CLAIM]["verdict"] != "not run"
    assert all(
        one["language"] == "python" and "n=" in one["comparison"] for one in rows[CLAIM]["wanted"]
    )
    assert not all(row["runs_here"] for row in rows.values())


def test_cells_beyond_the_plan_count_as_in_a_report(capfd: pytest.CaptureFixture[str]) -> None:
    for day in (1, 2):
        run(Machine(day=day))
    for where in ("n=10", "n=10,1000"):
        chosen = ["--profile", "decide", "--set", "repetitions=1", "--where", where]
        more = ["--where", "language=python", "--where", "network=none", "--until-decided"]
        assert cli.main(["plan", "bookstore", *chosen, *more, "--json"]) == DONE
        rows = {row["id"]: row for row in json.loads(capfd.readouterr().out)}
        assert rows[CLAIM]["words"] == "4 of 4 for where it ran (6 not run)"
        assert rows[CLAIM]["wanted"] == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            ["--until-decided", "--budget", "soon"],
            "must be a time above 0, such as 3h, 90m or 1h30m (got soon)",
        ),
        (["--until-decided", "--budget", "0h"], "a time above 0"),
        (["--budget", "3h"], "--budget needs --until-decided"),
    ],
)
def test_a_meaningless_budget_is_refused(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "bookstore", *options]) == USAGE
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3h", 10_800), ("90m", 5_400), ("1h30m", 5_400), ("45s", 45), ("10min", 600)],
)
def test_a_budget_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_budget(text) == seconds
