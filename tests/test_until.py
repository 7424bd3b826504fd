"""A run that stops when it has decided: real plans, claims and result files, on machines whose truth is known."""

import json
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchbook import cli, evidence, grid, results
from benchbook.cli.run import budget
from benchbook.evidence.claims import Claim
from benchbook.grid import Cell
from benchbook.runner import batch
from benchbook.runner.progress import Durations
from benchbook.runner.rounds import GIVEN_UP, Costs, Rounds
from benchbook.runner.standing import Kind, Reading, Standing, readings, standings
from benchbook.stats.sequential import LOOKS
from benchbook.studies.cell import Rows

NOW = datetime(2026, 11, 22, tzinfo=UTC)
FOREVER = float("inf")
WHERE = ["lane=python"]
SMALL = [*WHERE, "n=10,1000", "keys=paper", "room=none"]

NAMED = ("marshal.xml-slower", "round-trip.xml-slower", "size.xml-larger")


class Machine:
    """Measures bookstore's cells: by the number of books XML takes `ratio` times as long as JSON.

    But for noise of `sd` in a block and of `within` in a repetition, in logarithms, and a `swing` up in even blocks and
    down in odd ones.
    """

    def __init__(
        self,
        ratio: dict[int, float],
        sd: dict[int, float],
        *,
        swing: float = 0.0,
        repetitions: int = 1,
        within: float = 0.0,
        fails: Callable[[Cell], bool] = lambda _: False,
    ) -> None:
        self._ratio, self._sd, self._swing, self._fails = ratio, sd, swing, fails
        self._repetitions, self._within = repetitions, within
        self.sitting = "day 1"
        self.ran: list[Cell] = []
        self.stop_after = FOREVER
        self.clock_s = 0.0

    def __call__(self, cells: Sequence[Cell]) -> list[Cell]:
        failed = []
        for cell in cells:
            if len(self.ran) >= self.stop_after:
                raise KeyboardInterrupt
            self.ran.append(cell)
            self.clock_s += 10
            failed += [cell] if self._fails(cell) else []
            if not self._fails(cell):
                self._write(cell)
        return failed

    def _write(self, cell: Cell) -> None:
        random = np.random.Generator(np.random.PCG64(zlib.crc32(f"{cell.kind} {cell.block}".encode())))
        n = cell.parameters.model_dump()["n"]
        rows = Rows()
        for arm in cell.parameters.arms():  # type: ignore[attr-defined]
            for operation, role, metric in sorted(cell_owes(cell)):
                times = 1e6 * n * (self._ratio[n] if arm["format"] == "xml" else 1)
                swing = self._swing * (-1) ** cell.block if arm["format"] == "xml" else 0
                mean = times * np.exp(swing + self._sd[n] * random.standard_normal())
                for repetition in range(self._repetitions):
                    value = mean * np.exp(self._within * random.standard_normal())
                    about = {"started_at": NOW + timedelta(seconds=repetition), **arm}
                    rows.add_value(repetition, operation, role, metric, value, "simulated", 1.0, n, **about)
        known = batch._columns(cell, "done") | {"run_id": "simulated", "stand_in": False, "environment": "{}"}
        known["campaign"] = self.sitting
        results.write(known | {"cell_started_at": NOW, "cell_ended_at": NOW + timedelta(seconds=10)}, rows.frame())

    @property
    def blocks(self) -> dict[int, set[int]]:
        """By the number of books the blocks that claims' cells ran in."""
        found: dict[int, set[int]] = {}
        for cell in self.ran:
            if cell.arm == "a":
                found.setdefault(cell.parameters.model_dump()["n"], set()).add(cell.block)
        return found


def cell_owes(cell: Cell) -> set[tuple[str, str, str]]:
    return set(batch.studies.load(cell.study).expected(cell.parameters))


CLAIMS = [one for one in evidence.claims() if one.id in {f"bookstore.{name}" for name in NAMED}]


@cache
def read(repetitions: int) -> list[Reading]:
    return readings(plan(repetitions), CLAIMS)


def plan(repetitions: int = 1) -> list[Cell]:
    return grid.plan(["bookstore"], "decide", SMALL, ["blocks=42", f"repetitions={repetitions}"]).cells


def judged(means: pd.DataFrame, claims: Sequence[Claim]) -> pd.DataFrame:
    return evidence.judged(evidence.measures(means), claims)


def look(cells: Sequence[Cell], repetitions: int = 1, sitting: str = "day 1") -> list[Standing]:
    contrasts = judged(evidence.stored_means(cell.key for cell in cells), CLAIMS)
    return standings(read(repetitions), contrasts, CLAIMS, sitting)


def rounds_of(cells: Sequence[Cell], known: Durations, sitting: str = "") -> Rounds:
    return Rounds(cells, Costs(known), evidence.stored_means(cell.key for cell in cells), sitting)


def run(machine: Machine, left_s: Callable[[], float] = lambda: FOREVER, repetitions: int = 1) -> Sequence[Standing]:
    """Run as the command does: what is done is asked of the results."""
    cells = plan(repetitions)
    rounds = rounds_of(cells, results.seconds(), machine.sitting)
    return rounds.run(lambda: look(cells, repetitions, machine.sitting), machine, left_s)


def states(standing: Sequence[Standing]) -> set[str]:
    return {one.state for one in standing}


@pytest.fixture(autouse=True)
def _folder(results_folder: Path) -> None:
    """An empty results' folder for each test."""


CLEAR = {10: 4.0, 1000: 4.0}
QUIET = {10: 0.02, 1000: 0.02}


def test_what_is_clear_is_decided_at_the_first_look_and_nothing_runs_after_it() -> None:
    machine = Machine(CLEAR, QUIET)
    ended = run(machine)
    assert states(ended) == {"decided"}
    assert {one.blocks for one in ended} == {LOOKS[0]}
    assert machine.blocks == {10: {*range(5)}, 1000: {*range(5)}}
    again = Machine(CLEAR, QUIET)
    assert states(run(again)) == {"decided"}
    assert not again.ran


def test_only_cells_that_open_contrasts_read_go_on_and_identical_arms_with_them() -> None:
    machine = Machine({10: 1.25, 1000: 4.0}, {10: 0.13, 1000: 0.02})
    run(machine)
    last = max(machine.blocks[10])
    assert last + 1 in LOOKS[1:]
    late = [cell for cell in machine.ran if cell.block >= 5]
    arms = {(cell.parameters.model_dump()["n"], cell.parameters.model_dump()["case"]) for cell in late}
    assert (1000, 1) in arms, "the A/A pair goes on"
    assert arms - {(1000, 1)} <= {(10, 1), (10, 2)}
    assert arms - {(1000, 1)}
    assert {cell.arm for cell in late} == {"a", "b"}


def test_what_more_blocks_would_not_decide_is_parked_at_the_first_look() -> None:
    machine = Machine({10: 1.0, 1000: 1.0}, QUIET, swing=1.5)
    ended = run(machine)
    assert states(ended) == {"parked"}
    assert all("30 blocks" in one.why for one in ended)
    assert machine.blocks == {10: {*range(5)}, 1000: {*range(5)}}


def test_a_claim_is_never_run_beyond_the_last_look() -> None:
    machine = Machine({10: 1.02, 1000: 1.02}, {10: 0.1, 1000: 0.1})
    ended = run(machine)
    assert max(map(max, machine.blocks.values())) < LOOKS[-1]
    assert len(machine.ran) == len({cell.key for cell in machine.ran})
    assert states(ended) <= {"decided", "parked", "open"}


def test_a_run_that_was_interrupted_goes_on_where_it_ended() -> None:
    machine = Machine(CLEAR, QUIET)
    machine.stop_after = 13
    with pytest.raises(KeyboardInterrupt):
        run(machine)
    second = Machine(CLEAR, QUIET)
    assert states(run(second)) == {"decided"}
    keys = [cell.key for cell in (*machine.ran, *second.ran)]
    assert len(keys) == len(set(keys)) == 5 * 5
    assert {cell.block for cell in second.ran} == {2, 3, 4}


def test_another_sitting_adds_a_block_and_five_of_them_speak_of_days() -> None:
    for number in range(5):
        machine = Machine(CLEAR, QUIET)
        machine.sitting = day = f"day {number + 1}"
        before = look(plan(), sitting=day)
        assert [bool(one.day) for one in before] == [number > 0] * len(before)
        ended = run(machine)
        assert states(ended) == {"decided"}
        assert {one.campaigns for one in ended} == {number + 1 if number < 4 else 0}
        assert {cell.block for cell in machine.ran} == ({*range(5)} if number == 0 else {4 + number})
    machine = Machine(CLEAR, QUIET)
    machine.sitting = "day 6"
    assert states(run(machine)) == {"decided"} and not machine.ran


def test_what_days_leave_open_waits_for_another_one() -> None:
    for day, ratio in enumerate((4.0, 1.3, 4.0, 1.3, 2.0), 1):
        machine = Machine({10: ratio, 1000: ratio}, QUIET)
        machine.sitting = f"day {day}"
        ended = run(machine)
    waiting = [one for one in ended if one.state == "another day"]
    assert waiting and not any(one.cells for one in ended), "a campaign counts once"
    assert any(one.day for one in look(plan(), sitting=""))


def test_a_spent_budget_ends_the_run_and_the_next_goes_on() -> None:
    machine = Machine(CLEAR, QUIET)
    ended = run(machine, lambda: 100 - machine.clock_s)
    assert states(ended) == {"open"}
    assert len(machine.ran) == 10
    second = Machine(CLEAR, QUIET)
    assert states(run(second)) == {"decided"}
    assert len(second.ran) == 15


def test_a_block_that_an_earlier_sitting_left_half_done_gives_way_to_a_later_one() -> None:
    claims = [one for one in evidence.claims() if one.id == "bookstore.gap.wider-than-at-1"]

    def planned() -> list[Cell]:
        return grid.plan(["bookstore"], "decide", [*WHERE, "n=1,10000"], ["blocks=42", "repetitions=1"]).cells

    def where_it_stands() -> Sequence[Standing]:
        contrasts = judged(evidence.stored_means(cell.key for cell in planned()), claims)
        return standings(readings(planned(), claims), contrasts, claims, "day 2")

    (standing,) = where_it_stands()
    sides = standing.cells
    ratios, noise = {1: 2.0, 10_000: 6.0}, {1: 0.02, 10_000: 0.02}
    small = [cell for cell in planned() if cell.kind in sides and cell.parameters.model_dump()["n"] == 1]
    whole = [cell for cell in planned() if cell.kind in sides and cell.block < 2]
    Machine(ratios, noise)([*whole, *(cell for cell in small if cell.block in (2, 3))])
    machine = Machine(ratios, noise)
    machine.sitting = "day 2"
    rounds = rounds_of(planned(), dict.fromkeys(sides, 1.0), machine.sitting)
    now = where_it_stands()
    assert rounds.next_look(now) == LOOKS[0] and rounds.ahead(now, lambda _: LOOKS[0]).cells == 3 * len(sides)
    (ended,) = rounds.run(where_it_stands, machine, lambda: FOREVER)
    assert (ended.state, ended.blocks) == ("decided", LOOKS[0])
    assert {cell.block for cell in machine.ran if cell.kind in sides} == {4, 5, 6}


def test_in_a_budget_the_dearest_contrasts_are_put_off() -> None:
    cells = plan()
    known = {cell.kind: 1.0 if cell.parameters.model_dump()["n"] == 10 else 100.0 for cell in cells}
    rounds = rounds_of(cells, known)
    now = look(cells)
    cheap = {cell.parameters.model_dump()["n"] for cell in rounds.round(now, 0, left_s=5 * (1 + 1) + 1)}
    assert cheap == {10}
    assert {cell.parameters.model_dump()["n"] for cell in rounds.round(now, 0)} == {10, 1000}


def test_a_cell_that_fails_again_and_again_is_left_alone_and_so_are_its_partners() -> None:
    def fails(cell: Cell) -> bool:
        given = cell.parameters.model_dump()
        return (given["n"], given["case"]) == (10, 2)

    machine = Machine(CLEAR, QUIET, fails=fails)
    ended = run(machine)
    assert sum(map(fails, machine.ran)) == GIVEN_UP
    assert {reading.contrast for one in ended for reading in one.open} == {"case=2, n=10"}
    assert machine.blocks[1000] == {*range(5)}


def test_the_sides_of_a_contrast_are_neighbours_in_their_deployment_in_an_order_that_changes() -> None:
    cells = grid.plan(["bookstore"], "paper", WHERE, ["blocks=8"]).cells
    claims = [one for one in evidence.claims() if one.id == "bookstore.gap.wider-than-at-1000"]
    now = standings(readings(cells, claims), judged(evidence.stored_means([]), claims), claims)
    rounds = rounds_of(cells, {})
    orders = [[cell.kind for cell in rounds.round(now, block)] for block in range(8)]
    contrasts: list[frozenset[Kind]] = [reading.cells for one in now for reading in one.open]
    assert [len(sides) for sides in contrasts] == [2, 2]
    for order in orders:
        for sides in contrasts:
            places = [order.index(kind) for kind in sides]
            assert max(places) - min(places) == 1
    assert len({tuple(order) for order in orders}) > 1
    assert [cell.position for cell in rounds.round(now, 0)] == list(range(len(orders[0])))


def test_the_plan_counts_what_is_left_to_the_next_look_and_to_the_end() -> None:
    cells = plan()
    rounds = rounds_of(cells, {cell.kind: 2.0 for cell in cells})
    now = look(cells)
    assert rounds.next_look(now) == 5
    assert rounds.one_round(now).seconds == 2.0 * 5
    assert rounds.ahead(now, lambda _: 5).seconds == 5 * 10.0
    assert rounds.ahead(now, lambda _: 30).seconds == 30 * 10.0
    run(Machine(CLEAR, QUIET))
    cells = plan()
    now = look(cells)
    assert rounds.next_look([one for one in now if one.open]) is None
    assert rounds_of(cells, {}).one_round(now).cells == 0


def test_the_command_prints_its_plan_runs_to_the_look_and_says_how_it_ended(
    capfd: pytest.CaptureFixture[str],
) -> None:
    chosen = ["bookstore", "--profile", "smoke", "--where", "process=together", *("--where", "lane=python")]
    asked = [*chosen, "--set", "blocks=5", "--until-decided"]
    assert cli.main(["run", *asked, "--budget", "10m"]) == cli.DONE
    printed = capfd.readouterr().out
    assert "a round: 3 cells, about" in printed
    assert "to the next look, after block 5" in printed
    assert sorted({cell.block for cell in grid.plan(["bookstore"], "smoke").cells if cell.state == "done"}) == [0]
    assert set(results.states("bookstore").values()) == {"done"}
    assert len(results.states("bookstore")) == 3 * 5
    assert cli.main(["plan", *asked, "--json"]) == cli.DONE
    rows = json.loads(capfd.readouterr().out)
    assert {row["lane"] for row in rows} == {"python"}
    size = next(row for row in rows if row["id"] == "bookstore.size.xml-larger")
    assert (size["state"], size["blocks"], size["open"], size["next_look"]) == ("decided", 5, [], None)
    assert any(row["state"] == "not here" and row["why"] for row in rows)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--until-decided", "--budget", "soon"], "a time above 0, such as 3h, 90m or 1h30m, not soon"),
        (["--until-decided", "--budget", "0h"], "a time above 0"),
        (["--budget", "3h"], "--budget is of --until-decided"),
    ],
)
def test_a_budget_that_means_nothing_is_refused(
    options: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "bookstore", *options]) == cli.USAGE
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "seconds"), [("3h", 10_800), ("90m", 5_400), ("1h30m", 5_400), ("45s", 45), ("10min", 600)]
)
def test_a_budget_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert budget(text) == seconds
