"""Lesson 9: a sealed plan cannot be changed, and its lines give the verdict by the plan's rule."""

import hashlib
import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from benchbook.analysis.intervals import compute_interval
from benchbook.sides import measurement
from benchbook.sides.answer import read_blocks
from benchbook_lessons import defence
from benchbook_lessons.effects import judge_interval
from checkout import ROOT

PLAN: dict[str, Any] = {
    "pair": "anna & ben",
    "claim": "b takes longer than a for a million things",
    "expected": "for",
    "margin": 1.1,
    "why_margin": "below a tenth we would not change it",
    "order": "interleaved",
    "blocks": 5,
    "days": 2,
    "laptops": 2,
}
CODE = """\
from time import sleep

LONG = 0.005


def make_input():
    return 0.001


def a(data):
    sleep(data)


def b(data):
    sleep(LONG)
"""
BOARD = "0123abcd"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a pair's own, and short blocks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(measurement, "BLOCK_S", 0.05)
    return tmp_path


def load_sides(code: str = CODE) -> ModuleType:
    """Return the functions of a file, as those of a notebook cell."""
    path = Path(f"cell_{hashlib.sha256(code.encode()).hexdigest()[:8]}.py").resolve()
    path.write_text(code)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seal(plan: dict[str, Any], code: str = CODE) -> str:
    """Seal a plan and return the digest as a teacher computes it."""
    defence.seal_plan(plan, load_sides(code).a, ...)
    (path,) = Path().glob("plan_*.json")
    return hashlib.sha256(path.read_bytes()).hexdigest()[:8]


def write_lines(
    a_again: float, b: float, spread: float = 0.01, days: int = 4, noisy: int = 0, blocks: int = 5
) -> str:
    """Return lines of blocks that vary by `spread` around two ratios."""
    lines = [",".join(defence.COLUMNS)]
    for day in range(days):
        for block in range(1, blocks + 1):
            factor = 1 + spread * (-1) ** block
            where = f"{BOARD},2026-11-{day + 1:02},laptop,{block}"
            # Noisy blocks are far off.
            is_noisy = block <= noisy
            times = f"10,{10 * a_again * factor:.6g},{(900 if is_noisy else 10) * b * factor:.6g}"
            lines.append(f"{where},{times},{is_noisy}")
    return "\n".join(lines)


def test_a_sealed_plan_has_the_digest_of_its_file_and_is_not_written_again(
    capsys: pytest.CaptureFixture[str],
):
    digest = seal(PLAN)
    assert digest in capsys.readouterr().out
    assert json.loads(Path("plan_anna_ben.json").read_text())["code"] == CODE
    Path("plan_anna_ben.json").unlink()
    defence.seal_plan(PLAN, load_sides().a, digest)
    assert f"those of the board: {digest}." in capsys.readouterr().out
    assert not Path("plan_anna_ben.json").exists()


@pytest.mark.parametrize(
    ("change", "code"),
    [({"margin": 1.2}, CODE), ({"claim": "b is slow in nearly all cases"}, CODE), ({}, CODE + "#")],
    ids=["margin", "claim", "code"],
)
def test_a_plan_or_code_that_is_changed_after_the_seal_is_seen(
    change: dict[str, Any], code: str, capsys: pytest.CaptureFixture[str]
):
    digest = seal(PLAN)
    a = load_sides(code).a
    defence.seal_plan(PLAN | change, a, digest)
    assert "which one changed?" in capsys.readouterr().out
    found = defence.check_1(PLAN | change, a, digest)
    assert found.earned == 2
    assert "one of them changed" in str(found)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"margin": 10}, "margin is a ratio between 1 and 2, such as 1.10"),
        ({"margin": 0.1}, "margin is a ratio between 1 and 2"),
        ({"expected": "open"}, "expected: one of for, no difference that matters"),
        ({"claim": "b slow"}, "claim: say it in a sentence"),
        ({"why_margin": "so"}, "why_margin: say it in a sentence"),
        ({"order": "one after the other"}, "a slow minute hits one of the two"),
        ({"blocks": 3}, "blocks: a whole number, 5 or more"),
        ({"days": 1}, "days: a whole number, 2 or more"),
        ({"laptops": "two"}, "laptops: a whole number, 2 or more"),
    ],
)
def test_a_plan_that_cannot_decide_costs_one_point_and_gets_its_hint(
    change: dict[str, Any], says: str
):
    digest = seal(PLAN | change)
    found = defence.check_1(PLAN | change, load_sides().a, digest)
    assert says in str(found)
    assert found.earned == 2
    assert defence.check_1(PLAN, load_sides().a, seal(PLAN)).passed


def test_a_half_written_plan_names_what_is_missing():
    found = str(defence.check_1(PLAN | {"margin": ..., "days": ...}, load_sides().a, ...))
    assert "the plan has no margin, days yet" in found
    assert "board: no answer yet" in found


def test_the_lines_of_a_sealed_plan_give_its_verdict_and_are_measured_once(
    results_folder: Path, capsys: pytest.CaptureFixture[str]
):
    digest = seal(PLAN)
    capsys.readouterr()
    defence.measure(PLAN["pair"], digest)
    first = capsys.readouterr().out
    defence.measure(PLAN["pair"], digest)
    second = capsys.readouterr().out
    head = ",".join(defence.COLUMNS)
    ours = second[second.index(head) :]
    assert ours == first[first.index(head) :]
    assert second.startswith("This laptop has measured the plan today.")
    rows = defence.read_lines(ours, digest)
    assert len(rows) == 5
    # Each time is the mean of a block's runs.
    frame = read_blocks()
    frame = frame[frame["metric"] == "wall_time"]
    frame = frame.assign(side=frame["own_level"] + frame["arm"], us=frame["value"] / 1e3)
    means = (frame["us"] / frame["count"]).groupby([frame["block"], frame["side"]]).mean().unstack()
    assert np.allclose(rows[["a", "a_again"]], means[["Aa", "Ab"]], rtol=1e-4)
    of_b = frame[frame["own_level"] == "B"]
    assert np.allclose(
        rows["b"], (of_b["us"] / of_b["count"]).groupby(of_b["block"]).mean(), rtol=1e-4
    )
    _, *ends = defence.compute_sides(rows)
    verdict = judge_interval(*ends, PLAN["margin"])
    checked = defence.check_3(*ends, verdict, PLAN, digest, ours)
    assert checked.passed
    assert "5 blocks of 1 machine-day on 1 laptop; the plan has 20 blocks" in str(checked)
    assert "on 2 laptops. Say so when you defend it." in str(checked)


def test_a_plan_is_measured_only_as_it_was_sealed(
    results_folder: Path, capsys: pytest.CaptureFixture[str]
):
    defence.measure(..., ...)
    assert "and the digest that the board has for it" in capsys.readouterr().out
    defence.measure("anna & ben", BOARD)
    assert "plan_anna_ben.json is not in this folder (plans here: none)" in capsys.readouterr().out
    digest = seal(PLAN)
    defence.measure("anna-ben", digest)
    assert "(plans here: plan_anna_ben.json). Ask the pair for it." in capsys.readouterr().out
    capsys.readouterr()
    defence.measure("anna & ben", BOARD)
    assert f"plan_anna_ben.json is {digest}, and the board has {BOARD}" in capsys.readouterr().out
    assert read_blocks().empty


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        ({"blocks": "five"}, CODE, "the plan's blocks is not a number"),
        ({"margin": None}, CODE, "the plan's margin is not a number"),
        ({"margin": 10}, CODE, "smallest must be between 0 and 1"),
        ({}, CODE + "exit()\n", "the cell with a and b does not run by itself: "),
    ],
)
def test_a_plan_that_cannot_be_measured_says_why_without_an_error(
    change: dict[str, Any],
    code: str,
    says: str,
    results_folder: Path,
    capsys: pytest.CaptureFixture[str],
):
    Path("plan_anna_ben.json").write_text(json.dumps({**PLAN, **change, "code": code}))
    digest = hashlib.sha256(Path("plan_anna_ben.json").read_bytes()).hexdigest()[:8]
    defence.measure(PLAN["pair"], digest)
    assert f"Nothing is measured: {says}" in capsys.readouterr().out


def test_a_results_folder_that_cannot_be_written_is_named(
    results_folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    digest = seal(PLAN)
    Path("file").write_text("")
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(Path("file/results").resolve()))
    defence.measure(PLAN["pair"], digest)
    out = capsys.readouterr().out
    assert "Nothing is measured: " in out
    assert "file/results" in out


def test_a_second_seal_says_which_plan_it_replaces(capsys: pytest.CaptureFixture[str]):
    digest = seal(PLAN)
    seal(PLAN)
    assert "replaces" not in capsys.readouterr().out
    seal(PLAN | {"margin": 1.2})
    assert f"This replaces the plan {digest}, which was sealed before." in capsys.readouterr().out
    defence.seal_plan(PLAN | {"blocks": {5}}, load_sides().a, ...)
    assert "the plan may have only texts and numbers" in capsys.readouterr().out


def test_sides_that_return_different_things_are_named_before_and_while_they_are_measured(
    results_folder: Path, capsys: pytest.CaptureFixture[str]
):
    code = CODE.replace("sleep(LONG)", "return LONG")
    sides = load_sides(code.replace("sleep(data)", "return data"))
    defence.try_sides(sides.a)
    assert "a returns 0.001, and b returns 0.005" in capsys.readouterr().out
    digest = seal(PLAN, code.replace("sleep(data)", "return data"))
    defence.measure(PLAN["pair"], digest)
    assert "B does not return the same as A" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (CODE, "A function returns nothing yet"),
        (
            CODE.replace("sleep(data)", "return np.sum(data)"),
            "name 'np' is not defined",
        ),
        (CODE.replace("def b", "def c"), "the cell with a and b does not run by itself: KeyError"),
    ],
)
def test_a_cell_that_cannot_be_measured_is_seen_before_it_is_sealed(
    code: str, says: str, capsys: pytest.CaptureFixture[str]
):
    defence.try_sides(load_sides(code).a)
    assert says in capsys.readouterr().out


def test_measuring_needs_only_the_packages_of_the_lessons():
    code = f"""
import sys; sys.path.insert(0, {str(ROOT / "tests")!r}); from pathlib import Path
from other_systems import OnlyLocked
sys.meta_path.insert(0, OnlyLocked(Path({str(ROOT / "locks/requirements-lessons.lock")!r})))
from benchbook.sides.functions import FunctionRunner
from benchbook.sides.versus import compare_sides
from benchbook_lessons import defence
from benchbook_lessons.effects import judge_interval
FunctionRunner([len, len])
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("a_again", "spread", "machine"),
    [(1.0, 0.01, "steady"), (1.03, 0.01, "steady"), (1.3, 0.01, "not steady"), (1.0, 0.3, "open")],
)
def test_the_a_a_check_says_whether_the_machine_is_steady(
    a_again: float, spread: float, machine: str
):
    ours = write_lines(a_again, 1.5, spread)
    _, low, high = defence.compute_sides(defence.read_lines(ours), "a_again")
    for said in defence.STEADINESS:
        found = defence.check_2(low, high, said, PLAN, BOARD, ours)
        assert found.earned == (2 if said == machine else 1)


def test_a_claim_that_does_not_stand_gets_all_points():
    ours = write_lines(1.0, 0.7)
    _, low, high = defence.compute_sides(defence.read_lines(ours))
    found = defence.check_3(low, high, "the opposite", PLAN, BOARD, ours)
    assert found.passed
    assert "You expected 'for': your claim does not stand." in str(found)


def test_blocks_that_the_plan_does_not_have_cost_a_point():
    ours = write_lines(1.0, 1.5, days=5)
    _, low, high = defence.compute_sides(defence.read_lines(ours))
    found = defence.check_3(low, high, "for", PLAN, BOARD, ours)
    assert found.earned == 2
    assert "25 blocks of 5 machine-days on 1 laptop; the plan has 20 blocks" in str(found)
    assert "Which were added afterwards, and why?" in str(found)


def test_laptops_that_the_plan_does_not_have_cost_a_point():
    ours = "\n".join(
        write_lines(1.0, 1.5, days=1).replace("-01,laptop,", f"-01,{name},")
        for name in ("x", "y", "z")
    )
    _, low, high = defence.compute_sides(defence.read_lines(ours))
    found = defence.check_3(low, high, "for", PLAN, BOARD, ours)
    assert found.earned == 2
    assert "15 blocks of 3 machine-days on 3 laptops; the plan has 20 blocks" in str(found)


def test_noisy_blocks_that_are_left_out_still_count_as_measured():
    ours = write_lines(1.0, 1.5, days=1, blocks=25, noisy=6)
    _, low, high = defence.compute_sides(defence.read_lines(ours))
    assert "25 blocks" in str(defence.check_3(low, high, "for", PLAN, BOARD, ours))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda ends: np.log(ends), "low: that is still a logarithm: take exp."),
        (
            lambda ends: 1 / np.array(ends[::-1]),
            "low: that is the inverse ratio: it should be b over a.",
        ),
    ],
)
def test_a_wrong_interval_gets_the_hint_of_its_mistake(change: Any, says: str):
    ours = write_lines(1.0, 1.5)
    _, *ends = defence.compute_sides(defence.read_lines(ours))
    found = defence.check_3(*change(ends), "for", PLAN, BOARD, ours)
    assert says in str(found)
    assert found.earned == 2


def test_lines_are_read_once_without_noisy_blocks_and_only_those_of_the_plan():
    ours = write_lines(1.0, 1.5, noisy=2)
    rows = defence.read_lines(f"{ours}\n\n{ours}", BOARD)
    assert len(rows) == 12
    assert defence.compute_sides(rows)[0] == pytest.approx(1.5, rel=0.01)
    too_few = defence.check_3(1, 2, "for", PLAN, BOARD, write_lines(1, 1.5, days=1, blocks=3))
    assert "3 blocks are pasted: an interval needs 5" in str(too_few)


FIRST_LINE = write_lines(1, 1.5).split("\n")[1]


@pytest.mark.parametrize(
    ("text", "board", "says"),
    [
        (FIRST_LINE, "99999999", "line 1 is of plan 0123abcd, not of 99999999"),
        (f"{FIRST_LINE}\n9{FIRST_LINE[1:]}", ..., "line 2 is of plan 9123abcd, not of 0123abcd"),
        (f"{FIRST_LINE}\n{FIRST_LINE[:-20]}", BOARD, "line 2 is not a whole line of a block"),
        (
            "block 1 of 5",
            BOARD,
            "line 1 is not a whole line of a block: 'block 1 of 5'. Copy",
        ),
        (FIRST_LINE.replace(",10,", ",ten,"), BOARD, "line 1 is not a whole line"),
        (FIRST_LINE.replace(",10,", ",0,"), BOARD, "line 1 is not a whole line"),
        (FIRST_LINE.replace(",", ";"), BOARD, "line 1 is not a whole line"),
        (
            f"{FIRST_LINE}\n{FIRST_LINE.replace(',10,', ',11,')}",
            BOARD,
            "line 2 has other times for block 1 of laptop, 2026-11-01, than a line above it",
        ),
        (5, BOARD, 'paste the lines as text, between """'),
    ],
)
def test_lines_that_cannot_be_read_are_named_without_an_error(
    text: Any, board: Any, says: str, capsys: pytest.CaptureFixture[str]
):
    rows = defence.read_lines(text, board)
    assert rows.empty
    assert says in capsys.readouterr().out
    # The next notebook cell takes the logarithms of the empty table.
    assert compute_interval(np.log(rows["b"]) - np.log(rows["a"]), rows["machine_day"]).blocks == 0
    for found in (
        defence.check_2(1, 2, "open", PLAN, board, text),
        defence.check_3(1, 2, "for", PLAN, board, text),
    ):
        assert says in str(found)
    if board is not ... and text != FIRST_LINE:
        prediction = defence.predict(ratio_here=1, ratio_there=1)
        assert says in str(defence.draw_blocks(PLAN, text))
        assert says in str(defence.compare_predictions(prediction, text, ...))


def test_lines_and_digests_are_read_however_they_were_copied():
    ours = write_lines(1.0, 1.5)
    assert len(defence.read_lines(ours.replace(",", " , ").replace("\n", "\n  "), BOARD)) == 20
    assert len(defence.read_lines(ours.replace(BOARD, "12345678"), 12345678)) == 20
    digest = seal(PLAN)
    assert defence.check_1(PLAN, load_sides().a, f" {digest.upper()} ").passed


def test_an_attack_on_another_plan_is_refused():
    ours = write_lines(1, 1.5)
    theirs = write_lines(1, 1.2).replace(BOARD, "99999999")
    says = "line 2 is of plan 99999999, not of 0123abcd"
    assert says in str(defence.draw_blocks(PLAN, ours, theirs))
    prediction = defence.predict(ratio_here=1.5, ratio_there=1.5)
    assert says in str(defence.compare_predictions(prediction, ours, theirs))


def test_the_figure_has_a_row_per_machine_day_and_interval_and_those_of_the_attack():
    assert defence.draw_blocks(PLAN, ...) == "Nothing is measured yet."
    figure = defence.draw_blocks(PLAN, write_lines(1, 1.5), write_lines(1, 1.2, days=1))
    assert not isinstance(figure, str)
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == 2 * (4 + 1) + 2 * (1 + 1)
    ratio, _, _ = defence.compute_sides(defence.read_lines(write_lines(1, 1.2, days=1)))
    assert labels[-1].startswith(f"attacked, b / a: {ratio:.3f} (")


def test_own_lines_are_no_attack():
    ours = write_lines(1, 1.5)
    first_block = ours.split("\n")[1]
    for theirs in (ours, first_block):
        assert str(defence.draw_blocks(PLAN, ours, theirs)).startswith(
            "Some lines of the attack are your own"
        )


def test_more_machine_days_narrow_the_interval_more_than_more_blocks():
    """Simulated blocks have the half-width that the lesson's table shows."""
    assert defence.compute_half_width(0.05, 5, 4) < defence.compute_half_width(0.05, 100, 1)
    random = np.random.default_rng(9)
    widths = []
    for _ in range(400):
        shared = random.normal(0, 0.05 * np.sqrt(defence.ICC), (4, 1))
        own = random.normal(0, 0.05 * np.sqrt(1 - defence.ICC), (4, 9))
        days = np.repeat(np.arange(4), 9).astype(object)
        y = np.exp((shared + own).ravel())
        _, low, high = defence.compute_ratio((y, np.ones(36), days))
        widths.append(np.sqrt(high / low) - 1)
    assert np.mean(widths) == pytest.approx(defence.compute_half_width(0.05, 9, 4), rel=0.05)
