"""Runs are of one campaign until a pause of an hour, a restart or another machine, whatever the machine's time does."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchbook.runner import run_folder
from benchbook.runner.run_folder import UnwritableError, cell_begun, cell_ended

pytestmark = pytest.mark.usefixtures("results_folder")
HOUR = 3600.0


class Machine:
    """A machine whose clocks, boot and name a test sets."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path) -> None:
        self.seconds, self.name, self._boot = 5.0, "one", folder / "boot_id"
        self.restart("b767")
        patch.setattr(run_folder, "_BOOT", self._boot)
        patch.setattr(run_folder, "_now", lambda: self.seconds)
        patch.setattr(run_folder, "host", lambda: self.name)
        patch.setattr(run_folder, "datetime", self)

    def now(self, zone: object) -> datetime:
        return datetime.fromtimestamp(1_795_382_000 + self.seconds, UTC)

    def restart(self, boot: str) -> None:
        self._boot.write_text(f"{boot}\n")

    def cell(self, seconds: float = 2.0) -> str:
        start = cell_begun()
        self.seconds += seconds
        cell_ended()
        return start


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    return Machine(monkeypatch, tmp_path)


def test_a_run_within_the_hour_continues_the_campaign_however_long_its_cells_take(machine: Machine):
    first = machine.cell(5 * HOUR)
    machine.seconds += HOUR - 1
    assert machine.cell() == first == "2026-11-22T21:13:25Z"


def test_a_pause_of_an_hour_begins_another(machine: Machine):
    first = machine.cell()
    machine.seconds += HOUR
    second = machine.cell()
    assert second != first and machine.cell() == second


@pytest.mark.parametrize("passed", [60.0, -60.0], ids=["later by the clock", "earlier by the clock"])
def test_a_restart_begins_another_whatever_the_clock_of_the_new_boot_says(machine: Machine, passed: float):
    machine.seconds = 100.0
    first = machine.cell()
    machine.restart("4a1e")
    machine.seconds += passed
    assert machine.cell() != first


def test_another_machine_begins_its_own(machine: Machine):
    first = machine.cell()
    machine.name = "two"
    machine.seconds += 1
    assert machine.cell() != first


@pytest.mark.parametrize("content", ["", "{", "[]", '{"start": 5}', "null"])
def test_what_the_folder_keeps_may_be_damaged(machine: Machine, results_folder: Path, content: str):
    first = machine.cell()
    (results_folder / ".campaign").write_text(content)
    machine.seconds += 1
    cell_ended()
    assert first < machine.cell() == machine.cell()


def test_a_folder_that_takes_nothing_is_told(machine: Machine, results_folder: Path):
    results_folder.write_text("a file")
    with pytest.raises(UnwritableError, match="cannot be written"):
        machine.cell()
