"""Lessons run: with solutions all checks pass, without them each asks for an answer."""

import csv
import html
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient
from scipy import stats

from benchbook.servers import processes
from benchbook_lessons import clocks, critique, drift, effects, feedback, stores, t_tests, warm_up
from checkout import ROOT
from tools import lessons

TEACHERS = lessons.list_teachers()
LESSONS = [path.stem for path in TEACHERS]
SMALL = {
    "readings": 2_000,
    "objects": 200,
    "processes": 1,
    "runs": 300,
    "pairs": 6,
    "books": 50,
    "records": 60,
    "repetitions": 2,
    "live": True,
}
"""What the lessons' parameters are in tests."""

PAGE = (ROOT / "docs" / "teaching.md").read_text()
KEYS = {"cell_type", "grade", "grade_id", "locked", "points", "schema_version", "solution", "task"}


@pytest.fixture(scope="module")
def kernel() -> Iterator[tuple[KernelManager, Any]]:
    """One kernel for all lessons: the imports are paid for once."""
    manager, client = start_new_kernel(
        kernel_name="python3", cwd=str(ROOT / "notebooks" / "lessons")
    )
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def execute_lesson(notebook: Any, kernel: tuple[KernelManager, Any], **other: Any) -> Any:
    """Run a lesson from an empty namespace with small sizes; return it with its outputs."""
    manager, client = kernel
    sizes = SMALL | other
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", ()):
            names = re.findall(r"^(\w+) = ", cell.source, re.M)
            cell.source = "\n".join(f"{name} = {sizes[name]}" for name in names)
    notebook.cells.insert(0, nbformat.v4.new_code_cell("%reset -f"))
    runner = NotebookClient(notebook, km=manager, timeout=60)
    runner.kc = client
    for index, cell in enumerate(notebook.cells):
        runner.execute_cell(cell, index)
    return notebook


def checks(notebook: Any) -> dict[str, tuple[float, float, str]]:
    """Return each check's points, maximum and message in an executed lesson."""
    found = {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("grade"):
            (output,) = (one for one in cell.outputs if one.output_type == "execute_result")
            points = float(output.data["text/plain"])  # as nbgrader reads them
            found[cell.id] = (points, cell.metadata.nbgrader.points, output.data["text/html"])
    return found


@pytest.mark.parametrize("teacher", TEACHERS, ids=LESSONS)
def test_all_checks_pass_with_the_solutions(teacher: Path, kernel: Any):
    found = checks(execute_lesson(nbformat.read(teacher, 4), kernel))
    assert len(found) >= 3
    for points, most, says in found.values():
        assert points == most, says


@pytest.fixture(scope="module")
def light_kernel() -> Iterator[tuple[KernelManager, Any]]:
    """A kernel that looks like one of a Mac where only `make lessons` was typed."""
    manager, client = start_new_kernel(
        kernel_name="python3", cwd=str(ROOT / "notebooks" / "lessons")
    )
    lines = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); from pathlib import Path",
        "from like_a_mac import OnlyLocked, look_like_a_mac; look_like_a_mac()",
        f"lock = Path({str(ROOT / 'requirements-lessons.lock')!r})",
        "sys.meta_path.insert(0, OnlyLocked(lock))",
    )
    client.execute_interactive("\n".join(lines), timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


WITHOUT_SERVERS = [path for path in TEACHERS if not path.stem.startswith("7_")]


@pytest.mark.parametrize("teacher", WITHOUT_SERVERS, ids=lambda path: path.stem)
def test_lessons_without_servers_need_only_their_own_lock_and_run_on_a_mac(
    teacher: Path, light_kernel: Any
):
    found = checks(execute_lesson(nbformat.read(teacher, 4), light_kernel))
    assert len(found) >= 3
    for points, most, says in found.values():
        assert points == most, says


@pytest.mark.parametrize("teacher", TEACHERS, ids=LESSONS)
def test_without_solutions_a_lesson_runs_and_every_check_asks_for_an_answer(
    teacher: Path, kernel: Any
):
    # servers start once only, for the solutions; here lesson 7 shows the reference run's values in
    # their place
    found = checks(
        execute_lesson(nbformat.read(lessons.find_students(teacher), 4), kernel, live=False)
    )
    for points, _, says in found.values():
        assert points == 0
        assert re.search(
            r"no answer yet: replace each \.\.\.|returns nothing yet: write its body", says
        ), says


@pytest.mark.parametrize("teacher", TEACHERS, ids=LESSONS)
def test_the_students_lesson_is_the_teachers_without_solutions_and_outputs(teacher: Path):
    source, given = nbformat.read(teacher, 4), nbformat.read(lessons.find_students(teacher), 4)
    assert given == lessons.release(source), "run python -m tools.lessons"
    assert not any("SOLUTION" in cell.source for cell in given.cells)
    for cell in source.cells + given.cells:
        if cell.cell_type == "code":
            assert not cell.outputs and cell.execution_count is None


def test_lessons_can_import_their_package_in_any_folder(tmp_path: Path):
    """Papermill runs a notebook in its working folder, and students run copies in other folders."""
    code = "import benchbook_lessons; print(benchbook_lessons.__path__[0])"
    ran = subprocess.run(
        [*processes.PYTHON, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert Path(ran.stdout.strip()) == ROOT / "notebooks" / "lessons" / "benchbook_lessons"


def test_a_lessons_minutes_are_the_same_on_all_pages():
    texts = [
        nbformat.read(lessons.find_students(teacher), 4).cells[0].source for teacher in TEACHERS
    ]
    minutes = {
        number: int(re.search(r"About (\d+) minutes", text)[1])
        for number, text in enumerate(texts, 1)
    }
    span = f"{min(minutes.values())} to {max(minutes.values())} minutes"
    for page in ("README.md", "docs/teaching.md", "notebooks/00_start_here.ipynb"):
        said = (ROOT / page).read_text()
        assert re.findall(r"[Ee]ight lessons\b.{0,30}? of (.*? minutes)", said) == [span], page
    rows = re.findall(r"^\| \[?(\d) ?.*?\| (\d+) \|(.*)\|$", PAGE, re.MULTILINE)
    assert [(int(number), int(planned)) for number, planned, _ in rows] == [*minutes.items()] * 2
    for _, planned, parts in rows[len(minutes) :]:
        assert sum(map(int, parts.split("|"))) == int(planned)
    slots = re.findall(r"(\d+):(\d+) to (\d+):(\d+) \| lesson (\d)", PAGE)
    lasting = {
        int(number): (int(h) - int(g)) * 60 + int(n) - int(m) for g, m, h, n, number in slots
    }
    assert lasting == minutes


@pytest.mark.parametrize("teacher", TEACHERS, ids=LESSONS)
def test_cells_have_nbgraders_metadata(teacher: Path):
    notebook = nbformat.read(teacher, 4)
    marked = [cell for cell in notebook.cells if "nbgrader" in cell.metadata]
    ids = [cell.metadata.nbgrader.grade_id for cell in marked]
    assert len(ids) == len(set(ids)) and all(re.fullmatch(r"[a-zA-Z0-9_\-]+", one) for one in ids)
    for cell in marked:
        about = cell.metadata.nbgrader
        assert (
            set(about) <= KEYS and about.schema_version == 3 and about.cell_type == cell.cell_type
        )
        assert ("points" in about) == about.grade
        assert about.locked != about.solution
        assert ("BEGIN SOLUTION" in cell.source) == about.solution
    text = "\n".join(cell.source for cell in notebook.cells)
    for promised in (
        "minutes",
        "Afterwards you can",
        "predict",
        "## Key points",
        "self-assessment",
    ):
        assert promised in text


def broken(times: list[float]) -> float:
    raise RuntimeError("oh")


def alternate(n: int) -> str:
    return "abba" * (n // 2)


def alarms_counted(a: Any, b: Any, test: str) -> int:
    found = (
        stats.ttest_rel(a, b, axis=1)
        if test == "paired"
        else stats.ttest_ind(a, b, axis=1, equal_var=False)
    )
    return int((found.pvalue < 0.05).sum())


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make kernel and course as docs/teaching.md says; nbgrader's environment has no suite."""
    grading = Path(sys.prefix) / "grading" / "bin"
    assert (grading / "nbgrader").exists(), "make test makes it: make .venv/grading/bin/nbgrader"
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("PATH", str(grading), prepend=os.pathsep)
    (tmp_path / "checkout").mkdir()
    (tmp_path / "checkout" / "notebooks").symlink_to(ROOT / "notebooks")
    assert "\nmake kernel " in PAGE
    subprocess.run(["make", "--old-file=setup", "kernel"], cwd=ROOT, check=True)
    subprocess.run(["bash", "-e", "-c", MARKED[0]], cwd=tmp_path / "checkout", check=True)
    return tmp_path / "course"


MARKED = re.findall(r"^<!-- run -->\n```sh\n(.*?)```", PAGE, re.DOTALL | re.MULTILINE)
RIGHT_IN_PART = {
    "prediction": (
        "prediction = lesson.predict(p_of_system_cpu='about 5 %', p_of_user_cpu=...)\nprediction"
    ),
    "task-1": "def t(a, b):\n    return stats.ttest_ind(b, a).statistic",  # the wrong sign
    "task-2": (
        "p = {m: stats.ttest_ind(*lesson.load_samples(m)).pvalue for m in"
        " lesson.MEASURES}\ndoes_not_agree = ..."
    ),
    "task-5": "follows = dict.fromkeys('ABCDE', True)",
}
"""Answers to lesson 4 that get 0, 5 and 2 points; half of task 2, and tasks 3 and 4, are open."""


def test_nbgrader_marks_a_right_and_a_wrong_copy_as_the_page_says(course: Path):
    given = nbformat.read(course / "release" / "4_t_tests" / "4_t_tests.ipynb", 4)
    assert [cell.source for cell in given.cells] == [
        cell.source
        for cell in nbformat.read(ROOT / "notebooks" / "lessons" / "4_t_tests.ipynb", 4).cells
    ]
    solved = nbformat.read(ROOT / "notebooks" / "lessons" / "solutions" / "4_t_tests.ipynb", 4)
    answers = {"right": {cell.id: cell.source for cell in solved.cells}, "wrong": RIGHT_IN_PART}
    for student, sources in answers.items():
        copy = nbformat.from_dict(given)
        for cell in copy.cells:
            cell.source = sources.get(cell.id, cell.source)
        handed_in = course / "submitted" / student / "4_t_tests"
        handed_in.mkdir(parents=True)
        nbformat.write(copy, handed_in / "4_t_tests.ipynb")
    subprocess.run(["bash", "-e", "-c", MARKED[1]], cwd=course, check=True)
    with (course / "grades.csv").open() as file:
        grades = {
            row["student_id"]: (row["score"], row["max_score"]) for row in csv.DictReader(file)
        }
    assert grades == {"right": ("21.0", "25.0"), "wrong": ("7.0", "25.0")}
    wrong = nbformat.read(course / "autograded" / "wrong" / "4_t_tests" / "4_t_tests.ipynb", 4)
    for cell in wrong.cells:
        types = [output.output_type for output in cell.get("outputs", ())]
        assert "error" not in types


def equal_sizes_only(a: list[float], b: list[float]) -> float:
    return sum(x - y for x, y in zip(a, b, strict=True)) and stats.ttest_ind(a, b).statistic


FOLLOWS = {name: follows for name, (_, follows) in t_tests.STATEMENTS.items()}
P_VALUES = {
    measure: stats.ttest_ind(*t_tests.load_samples(measure)).pvalue for measure in t_tests.MEASURES
}
WRONG = [
    (lambda: clocks.check_1(4546.69, 4546.69, 719.4), "minutes: those are seconds.", 2),
    (lambda: clocks.check_1("75", 4546.69, 719.4), "minutes should be a number, and is '75'", 2),
    (
        lambda: clocks.check_2(lambda readings: 0),
        "what does an unchanged reading say of the clock's step?",
        0,
    ),
    (
        lambda: clocks.check_3({"A": "one thread", "B": "sleeping"}),
        "○ C: no answer yet by this name",
        1,
    ),
    (
        lambda: warm_up.check_1(lambda times: times[0] / sum(times[1:])),
        "all are wanted below the line",
        0,
    ),
    (lambda: warm_up.check_1(broken), "stopped with RuntimeError: oh", 0),
    (lambda: clocks.check_2(lambda readings: 15), "the smallest step is", 1),
    (lambda: drift.check_1(lambda n: "ab" * n), "What if going first costs something?", 3),
    (lambda: drift.check_2(alarms_counted, alternate), "should lie between 0 and 1, and is 200", 0),
    (lambda: drift.check_2(lambda *_: 1.0, alternate), "✗ one after the other: 100%", 1),
    (
        lambda: drift.check_4(lambda p, alpha: (p < alpha).any(axis=1).sum()),
        "between 0 and 1, and is 2",
        0,
    ),
    (
        lambda: t_tests.check_5({**dict.fromkeys("ABCDE", False), "B": True}),
        "E: not False. look at User CPU of JSON",
        4,
    ),
    (
        lambda: clocks.check_3({"A": "two thread", "B": "sleeping", "C": "one thread"}),
        "'two thread' is none of",
        2,
    ),
    (lambda: t_tests.check_5({**FOLLOWS, "A": "no"}), "✗ A: 'no' is none of True, False", 4),
    (lambda: t_tests.check_5({**FOLLOWS, "A": "no", "B": np.True_}), "✓ B: right, True", 4),
    (lambda: t_tests.check_5({**FOLLOWS, "E": 1}), "✗ E: 1 is none of True, False", 4),
    (lambda: t_tests.check_2(P_VALUES, ...), "○ does_not_agree: no answer yet", 5),
    (
        lambda: t_tests.check_2("0.05", "System CPU"),
        "✗ write a dictionary, from each of Total Time",
        1,
    ),
    (
        lambda: t_tests.check_2({**P_VALUES, "Total Time": "small"}, "System CPU"),
        "should be a number",
        5,
    ),
    (
        lambda: t_tests.check_3(lambda texts: ",".join(texts).split(",")),
        "'1.5' is a text, and should be a number",
        0,
    ),
    (
        lambda: t_tests.check_3(lambda texts: [text.split(",") for text in texts]),
        "['1.5'] is a list, and should",
        0,
    ),
    (
        lambda: t_tests.check_3(lambda texts: 1.5),
        "return a list of numbers: 1.5 came back",
        0,
    ),
    (lambda: t_tests.check_1(equal_sizes_only), "stopped with ValueError", 2),
    (
        lambda: critique.check_4(critique.EXAMPLE.replace("find", "update"), ...),
        "○ expected: no answer yet",
        2,
    ),
    (
        lambda: effects.check_2(lambda low, high, margin: "for"),
        "0.95 to 1.05, margin 1.1: for? the high end is below",
        1,
    ),
    (
        lambda: stores.check_5(lambda reached, patience: (0.0, False)),
        "would enter a mean as if it were one",
        1,
    ),
]


@pytest.mark.parametrize(("answer", "says", "points"), WRONG)
def test_a_wrong_answer_gets_a_hint_and_the_points_of_its_right_parts(
    answer: Callable[[], feedback.Feedback], says: str, points: int
):
    found = answer()
    assert says in str(found)
    assert found.earned == points < found.points


def test_stopping_at_the_first_interval_that_decides_errs_often_at_95_percent_and_rarely_at_99():
    assert (
        drift.simulate_daily_looks(1_000, 0.99)
        < 0.07
        < 0.12
        < drift.simulate_daily_looks(1_000, 0.95)
    )


def wait_without_an_end(reached: Callable[[], bool], patience: float) -> tuple[float, bool]:
    start = time.perf_counter()
    while not reached():
        time.sleep(0.001)
    return time.perf_counter() - start, False


def test_a_function_that_never_ends_is_stopped_and_costs_the_points_of_its_part_only(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(feedback, "CALL_LIMIT_S", 1)
    says = "did not end within 1 seconds and was stopped: does each of its loops come to an end?"
    found = stores.check_5(wait_without_an_end)
    assert says in str(found)
    assert found.earned == 2, "the replica that is there at once, and the one that comes later"


def test_a_function_that_catches_every_error_is_stopped_too(monkeypatch: pytest.MonkeyPatch):
    def stubborn() -> None:
        while True:
            try:
                time.sleep(0.001)
            except Exception:
                continue

    monkeypatch.setattr(feedback, "CALL_LIMIT_S", 0.1)
    with pytest.raises(feedback.FormError, match="stubborn did not end"):
        feedback.call_function(stubborn)


def test_a_check_that_stops_reports_it_and_a_prediction_is_asked_for():
    assert (
        "No answer" not in str(clocks.check_4(lambda *_: 1))
        and not clocks.check_4(lambda *_: 1).passed
    )
    assert "Before you run on" in feedback.Predictions(time=...)._repr_html_()
    assert "off by a factor of 2" in feedback.Predictions(time=4).compare(time=2.0)._repr_html_()


@pytest.mark.parametrize("guess", ["about <5>", "5 %", [1, 2], None, float("nan")], ids=repr)
def test_a_prediction_must_be_a_number(guess: Any):
    predicted = feedback.Predictions(first_time=guess)
    said = html.escape(repr(guess))
    assert f"first time should be a number, and is {said}." in predicted._repr_html_()
    beside = predicted.compare(first_time=2.0)
    assert (
        f"<td>{said}</td>" in beside._repr_html_()
        and "a number was expected" in beside._repr_html_()
    )
    assert f"{beside!r}" == f"first time: predicted {guess!r}, found 2"
