"""Any two sides: what is run in which order, what is answered, what goes wrong."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from functools import partial

import nbformat
import numpy as np
import psutil
import pytest

import benchbook
from benchbook import cli
from benchbook.analysis.intervals import compute_interval
from benchbook.cli.command import DONE, FAILED, NOTHING_RUNS, USAGE
from benchbook.measure.load import Load
from benchbook.results.folder import open_results
from benchbook.sides import answer, measurement
from benchbook.sides.commands import describe_commands
from benchbook.sides.functions import describe_functions
from benchbook.sides.measurement import _Turn, _write_block
from benchbook.sides.question import SideRun, SidesError
from checkout import ROOT
from waiting import comes_true

SIZE = 10
QUIET, BUSY = (Load(1.0, foreign, 0.0, 0, 0, {}) for foreign in (0.0, 1.0))
DAY_S = 86_400


@pytest.fixture(autouse=True)
def short_blocks(monkeypatch, results_folder):
    monkeypatch.setattr(measurement, "BLOCK_S", 0.05)


def write_blocks(question, ratios, *, days_ago=0.0, load=QUIET, first=1):
    """Write blocks in which B takes `ratios` times as long as A."""
    began = time.time() - days_ago * DAY_S
    for number, ratio in enumerate(ratios, first):
        turns = []
        sides = [(0, "a", 1e8), (0, "b", 1e8), (1, "a", ratio * 1e8)]
        for turn, (side, arm, value) in enumerate(sides, 1):
            run = SideRun(side, int(began * 1e9), {"wall_time": value})
            turns.append(_Turn(run, arm, 0, turn))
        _write_block(question, "run", number, turns, load, began)


@pytest.fixture
def question(tmp_path):
    script = tmp_path / "a.sh"
    script.write_text("exit 0")
    return replace(describe_commands([f"sh {script}", "true"]), name="mine")


def test_a_command_that_takes_many_times_as_long_is_slower():
    found = benchbook.versus("sleep 0.02", "sleep 0.4", blocks=5, waits=False, name="naps")
    assert found.comparisons[0].stands == "for"
    first, *_ = str(found).splitlines()
    assert first.startswith("B takes ")
    assert first.endswith("times as long as A: slower, by more than 5 %.")


def test_each_side_runs_twice_per_round_and_goes_first_as_often_as_last():
    benchbook.versus("true", "true", "true", blocks=2, waits=False, name="three")
    frame = answer.read_blocks().query("metric == 'wall_time'")
    orders = []
    for _, block in frame.groupby("block"):
        for _, turns in block.sort_values("turn").groupby("repetition"):
            orders.append([*(turns["own_level"] + turns["arm"])])
    assert {tuple(sorted(order)) for order in orders} == {("Aa", "Ab", "Ba", "Bb", "Ca", "Cb")}
    assert all(order == later[::-1] for order, later in zip(orders[::2], orders[1::2], strict=True))


def test_the_answer_is_that_of_the_papers_claims(question):
    ratios = [1.2, 1.25, 1.3, 1.22, 1.28, 1.26]
    write_blocks(question, ratios)
    found = answer.read_answer("mine").comparisons[0]
    wanted = compute_interval(np.log(ratios), ["one"] * len(ratios))
    ends = [found.estimate, found.low, found.high]
    assert np.allclose(np.log(ends), [wanted.estimate, wanted.low, wanted.high])
    assert found.stands == "for"


@pytest.mark.parametrize(
    ("ratios", "words"),
    [
        ([1.2, 1.201, 1.199, 1.2, 1.2], "slower, by more than 5 %."),
        ([0.8, 0.801, 0.799, 0.8, 0.8], "faster, by more than 5 %."),
        ([1.0, 1.001, 0.999, 1.0, 1.0], "no difference of 5 % or more."),
        ([1.06, 1.07, 1.05, 1.06, 1.06], "slower."),
        ([1.04, 1.045, 1.055, 1.045, 1.05], "slower, perhaps by less than 5 %."),
        ([1.02, 1.021, 1.019, 1.02, 1.02], "slower, by less than 5 %."),
        ([0.951, 0.9511, 0.9509, 0.951, 0.951], "faster."),
        ([0.8, 1.3, 1.1, 0.9, 1.4], "undecided."),
        ([1.2, 1.2], "undecided, 2 of the 5 blocks that an interval needs."),
    ],
)
def test_the_first_sentence_says_what_came_out(question, ratios, words):
    write_blocks(question, ratios)
    sentence = answer.read_answer("mine").list_sentences()[0]
    assert sentence.endswith(f": {words}")


def test_blocks_of_another_day_are_pooled_and_those_of_a_changed_script_are_not(tmp_path, question):
    write_blocks(question, [1.2, 1.21, 1.19])
    write_blocks(question, [1.2, 1.21, 1.19], days_ago=1, first=4)
    found = answer.read_answer("mine")
    assert (found.comparisons[0].blocks, found.comparisons[0].machine_days) == (6, 2)
    assert "2 machine-days." in found.list_sentences()[1]
    (tmp_path / "a.sh").write_text("exit 0 # changed")
    changed = replace(describe_commands(question.sides), name="mine")
    write_blocks(changed, [2.0] * 5, days_ago=-0.001)
    found = answer.read_answer("mine")
    assert found.comparisons[0].estimate == pytest.approx(2)
    assert "Left out: 6 blocks of former commands or code." in str(found)


def test_another_folder_another_setup_or_another_helper_is_another_question(tmp_path, monkeypatch):
    before = describe_commands(["true", "false"]).digest
    assert describe_commands(["true", "false"]).digest == before
    assert describe_commands(["true", "false"], setup="true").digest != before
    monkeypatch.chdir(tmp_path)
    assert describe_commands(["true", "false"]).digest != before
    size = 1

    def read_size():
        return size

    first = describe_functions([read_size, read_size]).digest
    size = 2
    assert describe_functions([read_size, read_size]).digest != first
    assert describe_functions([read_size, read_size], setup=dict).digest != first

    def sort():
        return sorted(range(SIZE))

    first = describe_functions([sort, sort]).digest
    monkeypatch.setattr(sys.modules[__name__], "SIZE", 20)
    assert describe_functions([sort, sort]).digest != first


def test_a_machine_that_is_not_steady_is_said_first(question):
    for number in range(1, 6):
        sides = [(0, "a", 1e8), (0, "b", 2e8), (1, "a", 1e8), (1, "b", 1e8)]
        turns = []
        for turn, (side, arm, value) in enumerate(sides, 1):
            run = SideRun(side, int(time.time() * 1e9), {"wall_time": value})
            turns.append(_Turn(run, arm, 0, turn))
        _write_block(question, "run", number, turns, QUIET, time.time())
    assert "But A differs from itself" in answer.read_answer("mine").list_sentences()[1]


def test_another_run_that_measures_is_named(results_folder, capsys):
    with open_results().lock():
        assert cli.main(["versus", "--noisy", "true", "true"]) == FAILED
    assert "another run writes to" in capsys.readouterr().err


def test_a_command_may_print_into_a_pipe_that_its_reader_closes():
    benchbook.versus("true", "sh -c 'yes | head -n 1'", blocks=1, waits=False, check=False)


def test_noisy_blocks_are_left_out_once_five_quiet_ones_are_there(question):
    write_blocks(question, [2.0] * 5, load=BUSY)
    assert answer.read_answer("mine").comparisons[0].estimate == pytest.approx(2)
    assert "Other programs ran during 5 blocks" in str(answer.read_answer("mine"))
    write_blocks(question, [1.0, 1.001, 1.0, 1.0, 1.0], first=6)
    assert answer.read_answer("mine").comparisons[0].estimate == pytest.approx(1, abs=0.01)


def test_peak_memory_is_that_of_the_command():
    large = f"{sys.executable} -c \"len(b'x' * 10**8)\""
    found = benchbook.versus("true", large, blocks=1, waits=False, name="large")
    (memory,) = [row for row in found.comparisons if row.metric == "memory_peak"]
    assert memory.mean_a > 1e8 > 3e7 > memory.mean_b


@pytest.mark.parametrize(
    ("sides", "status", "said"),
    [
        (["true", "false"], FAILED, "B (false) ended with status 1, without an error"),
        (["true", "ls /nowhere"], FAILED, "No such file"),
        (["true", "missing-program"], USAGE, "'missing-program' is missing, or is not a program"),
        (["true", ""], USAGE, "a command is empty"),
        (["true", "true", "--prepare", "false"], FAILED, "what prepares a run (false) ended with"),
        (["true", "true", "--setup", "sleep 60", "--timeout", "0.2"], FAILED, "the setup (sleep"),
        (["true", "false", "--json"], FAILED, "B (false) ended with status 1, without an error"),
        (
            ["true", "sh -c 'printf \\\\033[2J >&2\n exit 1'"],
            FAILED,
            r"ended with status 1: \x1b[2J",
        ),
        (["true", "sh -c 'kill -9 $$'"], FAILED, "was killed by signal 9"),
        (["true", "echo 'a"], USAGE, "no closing quotation"),
        (["true", "echo 2", "--check"], FAILED, "B does not print the same as A"),
        (["date +%N", "true", "--check"], FAILED, "does not print the same"),
        (["true", "sleep 60", "--timeout", "0.2"], FAILED, "did not end within 0.2 s"),
        (["true", "sh -c 'kill -STOP $$'", "--timeout", "0.2"], FAILED, "did not end within"),
        (
            ["true", "sh -c 'kill -STOP $PPID; sleep 60'", "--timeout", "0.2"],
            FAILED,
            "did not end within 0.2 s: it was killed",
        ),
        (["true", "true", "--blocks", "0"], USAGE, "blocks must be 1 to 1000"),
        (["true", "true", "--timeout", "0"], USAGE, "timeout must be above 0"),
        (["true", "true", "--timeout", "inf"], USAGE, "timeout must be above 0 and at most a day"),
        (["name", "--smallest", "2%"], USAGE, "--smallest belong to a measurement: give two"),
        (["true", "--name", "mine"], USAGE, "--smallest belong to a measurement: give two"),
        (["nothing"], NOTHING_RUNS, "no blocks of 'nothing' are here: nothing was compared yet"),
        (["nothing"], NOTHING_RUNS, "to measure, give two commands"),
        (["true", "true", "--name", "ü"], USAGE, "name must have a letter of A to Z or a digit"),
        (["true", "true", "--name", "n" * 300], USAGE, "and at most 100 characters"),
    ],
)
def test_what_goes_wrong_is_said_in_one_line_and_leaves_nothing(sides, status, said, capsys):
    assert cli.main(["versus", "--noisy", *sides]) == status
    printed = capsys.readouterr()
    assert printed.out == ""
    assert said in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert not [one for one in psutil.Process().children(recursive=True) if one.name() == "sleep"]


def test_a_command_is_prepared_before_each_of_its_runs_untimed(tmp_path):
    log = tmp_path / "log"
    prepare = f"sh -c 'echo prepare >> {log}; sleep 0.05'"
    sides = [f"sh -c 'echo {side} >> {log}'" for side in "AB"]
    found = benchbook.versus(*sides, prepare=prepare, check=True, blocks=1, waits=False)
    done = log.read_text().split()
    assert {*done[::2]} == {"prepare"}
    assert {*done[1::2]} == {"A", "B"}
    assert found.comparisons[0].mean_a < 0.05e9
    other = describe_commands(sides, prepare="true")
    assert len({other.digest, describe_commands(sides).digest}) == 2


@pytest.mark.parametrize(("setup", "uncounted"), [(None, 2), ("true", 6)])
def test_a_side_runs_once_uncounted_before_the_first_block_and_after_each_setup(
    setup, uncounted, tmp_path
):
    log = tmp_path / "log"
    sides = [f"sh -c 'echo {side} >> {log}; sleep 0.02'" for side in "AB"]
    benchbook.versus(*sides, setup=setup, blocks=3, waits=False)
    counted = len(answer.read_blocks().query("metric == 'wall_time'"))
    assert len(log.read_text().split()) == counted + uncounted


@pytest.mark.parametrize(("given", "seen"), [({}, ""), ({"OPENBLAS_NUM_THREADS": "3"}, "3")])
def test_a_command_has_the_users_variables_and_not_those_of_benchbook(given, seen, tmp_path):
    kept = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    script = tmp_path / "a.sh"
    script.write_text(f'printf "$OPENBLAS_NUM_THREADS" > {tmp_path}/seen')
    words = ["versus", "--noisy", "--blocks", "1", f"sh {script}", "true"]
    command = [sys.executable, "-m", "benchbook.cli", *words]
    subprocess.run(command, env=kept | given, check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "seen").read_text() == seen


def test_numpy_starts_no_threads_in_a_command():
    code = "import numpy, threading, os; print(len(os.listdir('/proc/self/task')))"
    before = "import sys; sys.argv[1:] = ['--version']; from benchbook import cli\n"
    run = before + "try:\n    cli.main()\nexcept SystemExit:\n    pass\n" + code
    ran = subprocess.run([sys.executable, "-I", "-c", run], capture_output=True, text=True)
    assert ran.stdout.split()[-1] == "1", ran.stderr


def test_a_side_with_many_slow_runs_is_named(question):
    turns = []
    for number in range(20):
        for side in (0, 1):
            value = 3e8 if side and number % 5 == 0 else 1e8
            run = SideRun(side, 0, {"wall_time": value})
            turns.append(_Turn(run, "ab"[number % 2], number, side + 1))
    _write_block(question, "run", 1, turns, QUIET, time.time())
    notes = answer.read_answer("mine").notes
    assert notes == (
        "B: 20 % of the runs take over 1.5 times as long as the median of their block.",
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_command_ends_the_side_that_runs(number, tmp_path):
    marker = f"{os.getpid()}.{int(number)}"
    words = [sys.executable, "-m", "benchbook.cli", "versus", "--noisy", f"sleep {marker}", "true"]
    with subprocess.Popen(words, stderr=subprocess.DEVNULL) as process:
        assert comes_true(lambda: find_sleep(marker))
        process.send_signal(number)
    assert comes_true(lambda: not find_sleep(marker))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_stopped_script_ends_the_processes_of_its_functions(number, tmp_path):
    marker = f"{os.getpid()}.{int(number)}1"
    script = tmp_path / "script.py"
    script.write_text(
        "import subprocess, benchbook\n"
        f"def nap(): subprocess.run(['sleep', '{marker}'])\n"
        "benchbook.versus(int, nap, waits=False)"
    )
    with subprocess.Popen([sys.executable, script], stderr=subprocess.DEVNULL) as process:
        assert comes_true(lambda: find_sleep(marker))
        process.send_signal(number)
    assert comes_true(lambda: not find_sleep(marker))


def find_sleep(marker):
    running = psutil.process_iter(["cmdline"])
    return [one for one in running if one.info["cmdline"] == ["sleep", marker]]


def test_each_block_calls_functions_in_a_process_of_its_own_after_one_setup(tmp_path):
    log = tmp_path / "log"

    def setup():
        with log.open("a") as file:
            print(os.getpid(), file=file)
        return [3, 1, 2]

    found = benchbook.versus(
        sorted, lambda given: sorted(given), setup=setup, check=True, blocks=3, waits=False
    )
    # Each side has a setup of its own.
    begun = log.read_text().split()
    assert len(begun) == 2 * len({*begun}) == 6
    assert found.name == "sorted <lambda>"
    shown = found._repr_html_()
    assert "<svg" in shown
    assert "3 of the 5 blocks that an interval needs" in shown


async def nap_async():
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("function", "options", "said"),
    [
        (lambda: 2, {"check": True}, "B does not return the same as A: 2, not 1"),
        (lambda: np.zeros(2), {"check": True}, "ambiguous.*give check a function of both answers"),
        (lambda: np.nan, {"check": True}, "B does not return the same as A: nan, not 1"),
        (lambda: 1, {"check": lambda a, b: False}, "B does not return the same as A"),
        (nap_async, {}, "B is async, so its call does nothing: use asyncio.run"),
        (lambda: (yield), {}, "B is a generator, so its call does nothing: use list"),
        (lambda: sys.exit(3), {}, "B raised SystemExit: 3"),
        (lambda: 1 / 0, {}, "B raised ZeroDivisionError: division by zero"),
        (lambda: os._exit(1), {}, "the process that called the functions was killed"),
        (lambda: time.sleep(60), {"timeout": 0.5}, "a first call did not end within 0.5 s: it was"),
        (lambda: 1, {"prepare": "true"}, "prepare is for commands"),
        (lambda: 1, {"setup": lambda: 1 / 0}, "the setup raised ZeroDivisionError"),
        (lambda: 1, {"setup": "true"}, "setup must be a command for commands, and a function for"),
        (threading.Lock().locked, {}, "a function cannot be sent to a process: cannot pickle"),
        (5, {}, r"a side is a command in a text, or a function \(got 5\)"),
    ],
)
def test_a_function_that_fails_is_named(function, options, said):
    with pytest.raises((SidesError, ValueError), match=said):
        benchbook.versus(lambda: 1, function, blocks=1, waits=False, **options)


@pytest.mark.parametrize("option", [{"setup": list}, {"check": lambda a, b: True}])
def test_commands_refuse_a_function_as_an_option(option):
    with pytest.raises(ValueError, match="for commands"):
        benchbook.versus("true", "true", blocks=1, waits=False, **option)


def test_a_function_that_raises_later_is_named():
    with pytest.raises(SidesError, match="B raised IndexError: pop from empty list"):
        benchbook.versus(len, list.pop, setup=lambda: [1], blocks=1, waits=False)


def test_a_function_finds_its_standard_input_empty():
    def read_all():
        return sys.stdin.read() + subprocess.run("cat", capture_output=True, text=True).stdout

    benchbook.versus(str, read_all, check=True, timeout=20, blocks=1, waits=False)


def test_an_object_is_the_same_question_until_it_or_its_code_changes():
    class Adder:
        def __init__(self, more):
            self.more = more

        def __call__(self):
            return SIZE + self.more

    def call_later(function):
        return lambda: function()

    def make_sides(more):
        return [Adder(more), partial(make_sides, more), call_later(make_sides)]

    one = describe_functions(make_sides(1))
    assert one == describe_functions(make_sides(1))
    assert one.name == "Adder partial <lambda>"
    assert one.digest != describe_functions(make_sides(2)).digest
    before = describe_functions([Adder(1)]).digest
    Adder.__call__ = lambda self: self.more
    assert describe_functions([Adder(1)]).digest != before
    assert describe_functions([partial(sorted, [])]) != describe_functions([partial(min, [])])


OBJECTS = """
import sys
from benchbook.sides.functions import describe_functions

class Reader:
    def __init__(self, size):
        self.size = size

def parse():
    return int(sys.argv[1])

def call_later(value):
    return lambda more=(Reader(1), *READERS): value

READERS = [Reader(1), Reader(int(sys.argv[1]))]
PARSERS = {"first": parse}
sides = [lambda: READERS, lambda: PARSERS, call_later({"a", "b", "c"}), call_later(Reader(1))]
print(describe_functions(sides).digest)
"""


def test_objects_and_sets_are_the_same_question_in_each_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(OBJECTS)

    def describe(size):
        command = [sys.executable, script, size]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    assert len({describe("1") for _ in range(5)}) == 1
    assert describe("2") != describe("1")


def test_a_command_may_have_a_word_that_is_too_long_for_a_file():
    assert describe_commands(["true", f"echo {'x' * 5000}"]).digest


def test_a_results_folder_that_cannot_be_made_is_named(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").touch()
    monkeypatch.setenv("BENCHBOOK_RESULTS", str(tmp_path / "file"))
    assert cli.main(["versus", "--noisy", "true", "true"]) == FAILED
    assert "or set BENCHBOOK_FIGURES or BENCHBOOK_RESULTS" in capsys.readouterr().err


def test_a_call_that_hangs_later_is_named_and_leaves_no_process():
    def hang_later(calls):
        calls.append(1)
        time.sleep(0.01 if len(calls) <= 2 else 60)

    before = {*psutil.Process().children()}
    with pytest.raises(SidesError, match="B did not end within 1 s: it was killed"):
        benchbook.versus(
            lambda _: time.sleep(0.01), hang_later, setup=list, timeout=1, blocks=1, waits=False
        )
    assert {*psutil.Process().children()} == before


def test_the_commands_for_figures_numbers_and_rows_know_the_question(question, tmp_path, capsys):
    write_blocks(question, [1.2, 1.21, 1.19, 1.2, 1.2])
    assert cli.main(["figure", "mine", "--format", "svg,csv", "--output", str(tmp_path)]) == DONE
    assert (tmp_path / "mine.svg").read_text().count("<svg") == 1
    capsys.readouterr()
    assert cli.main(["number", "versus.mine.b.wall-time"]) == DONE
    assert capsys.readouterr().out.startswith("1.2")
    assert cli.main(["number", "versus.mine.b.wal-time"]) == USAGE
    assert "did you mean 'versus.mine.b.wall-time'" in capsys.readouterr().err
    sql = "SELECT count(*) AS rows FROM all_observations WHERE question = 'mine'"
    assert cli.main(["results", "--sql", sql]) == DONE
    assert "15" in capsys.readouterr().out
    assert cli.main(["versus", "mine", "--json"]) == DONE
    first, *_ = json.loads(capsys.readouterr().out)
    assert (first["side"], first["over"], first["differs"]) == ("B", "A", "for")
    assert first["mean"] > first["mean_over"]


def test_the_notebooks_cell_answers():
    notebook = nbformat.read(ROOT / "notebooks" / "08_versus.ipynb", 4)
    (cell,) = [cell for cell in notebook.cells if cell.cell_type == "code"]
    *before, call = cell.source.split("\n\n\n")
    names = {"__name__": "__main__"}
    exec("\n".join(before), names)
    quick = call.replace("check=True", "check=True, blocks=1, waits=False")
    found = eval(quick, names)
    assert [*found.sides.values()] == ["use_json", "use_orjson"]
