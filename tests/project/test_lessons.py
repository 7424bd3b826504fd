"""Lessons run: with solutions all checks pass, without them each asks for an answer."""

import ast
import csv
import html
import json
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import pytest
from jupyter_client.manager import KernelManager, start_new_kernel
from nbclient import NotebookClient
from scipy import stats

from benchbook.analysis.steadiness import find_steady_state
from benchbook.results.files import DamagedError
from benchbook.servers import processes
from benchbook_lessons import (
    class_board,
    clocks,
    critique,
    documents,
    drift,
    effects,
    feedback,
    snapshot,
    stores,
    t_tests,
    warm_up,
)
from benchbook_lessons.predictions import Predictions
from benchbook_lessons.snapshot import load_stores
from checkout import ROOT
from tools import forgeries, lessons

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
    "blocks": 5,
    "repetitions": 2,
    "live": True,
}
"""What the lessons' parameters are in tests."""

ORDER = [1, 2, 4, 3, 5, 6, 8, 9, 7]
"""The lessons as a class takes them."""

PAGE = (ROOT / "docs" / "teaching.md").read_text()
KEYS = {"cell_type", "grade", "grade_id", "locked", "points", "schema_version", "solution", "task"}


@contextmanager
def start_kernel() -> Iterator[tuple[KernelManager, Any]]:
    """Start a kernel in the lessons' folder."""
    manager, client = start_new_kernel(
        kernel_name="python3", cwd=str(ROOT / "notebooks" / "lessons")
    )
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture(scope="module")
def kernel() -> Iterator[tuple[KernelManager, Any]]:
    """One kernel for all lessons: the imports are paid for once."""
    with start_kernel() as (manager, client):
        yield manager, client


EMPTY = "import gc\n\ngc.freeze()\n%reset -f"
"""Empties a namespace. A reset collects garbage, and need not look at what was imported before."""

NO_PICTURES = """
from functools import cache

from matplotlib.backend_bases import FigureCanvasBase

from benchbook_lessons import fresh_process

FigureCanvasBase.print_figure = lambda canvas, *_, **__: canvas.figure.draw_without_rendering()
fresh_process.run_code = cache(fresh_process.run_code)
"""
"""Lays out a kernel's figures with all their texts, without pictures, and starts each process once.

Both take long, and the lessons with solutions do both on Linux.
"""


def prepare_kernel(client: Any, code: str) -> None:
    """Run code in a kernel before its lessons."""
    reply = client.execute_interactive(code, timeout=60)
    assert reply["content"]["status"] == "ok", reply


def execute_lesson(notebook: Any, kernel: tuple[KernelManager, Any], **other: Any) -> Any:
    """Run a lesson from an empty namespace with small sizes; return it with its outputs."""
    manager, client = kernel
    sizes = SMALL | other
    for cell in notebook.cells:
        if "parameters" in cell.metadata.get("tags", ()):
            names = re.findall(r"^(\w+) = ", cell.source, re.M)
            cell.source = "\n".join(f"{name} = {sizes[name]}" for name in names)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(EMPTY))
    runner = NotebookClient(notebook, km=manager, timeout=60)
    runner.kc = client
    for index, cell in enumerate(notebook.cells):
        runner.execute_cell(cell, index)
        # A figure that cannot be drawn ends no cell, but shows its error.
        for output in cell.get("outputs", ()):
            assert output.output_type != "error", output
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


def test_a_figure_of_a_lesson_that_cannot_be_drawn_is_noticed(kernel: Any):
    code = "import matplotlib.pyplot as plt\n\nplt.subplots()[0].suptitle(r'{}')\nplt.show()"
    drawn, broken = (
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code.format(title))])
        for title in ("$n$", r"$\no$")
    )
    execute_lesson(drawn, kernel)
    with pytest.raises(AssertionError, match="Unknown symbol"):
        execute_lesson(broken, kernel)


@pytest.mark.parametrize("teacher", TEACHERS, ids=LESSONS)
def test_all_checks_pass_with_the_solutions(teacher: Path, kernel: Any):
    found = checks(execute_lesson(nbformat.read(teacher, 4), kernel))
    assert len(found) >= 3
    for points, most, says in found.values():
        assert points == most, says


@pytest.fixture(scope="module", params=["look_like_a_mac", "look_like_windows"])
def light_kernel(request: pytest.FixtureRequest) -> Iterator[tuple[KernelManager, Any]]:
    """A kernel that looks like one of another system where only `make lessons` was typed."""
    lines = (
        f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); from pathlib import Path",
        f"from other_systems import OnlyLocked, {request.param}; {request.param}()",
        f"lock = Path({str(ROOT / 'locks/requirements-lessons.lock')!r})",
        "sys.meta_path.insert(0, OnlyLocked(lock))",
        NO_PICTURES,
    )
    with start_kernel() as (manager, client):
        prepare_kernel(client, "\n".join(lines))
        yield manager, client


WITHOUT_SERVERS = [path for path in TEACHERS if not path.stem.startswith("7_")]


@pytest.mark.parametrize("teacher", WITHOUT_SERVERS, ids=lambda path: path.stem)
def test_lessons_without_servers_need_only_their_own_lock_and_run_on_a_mac_and_on_windows(
    teacher: Path, light_kernel: Any
):
    found = checks(execute_lesson(nbformat.read(teacher, 4), light_kernel))
    assert len(found) >= 3
    for points, most, says in found.values():
        assert points == most, says


def test_lesson_7_without_its_packages_names_make_lab_and_shows_stored_values(
    light_kernel: Any, capsys: pytest.CaptureFixture[str]
):
    _, client = light_kernel
    code = "from benchbook_lessons import stores; print(len(stores.measure_mapper(10, 1)))"
    client.execute_interactive(code, timeout=60)
    says = capsys.readouterr().out
    assert re.search(r"Not measured here \(.* is missing: make lab installs it\)", says), says
    assert re.search(r"^[1-9]\d*$", says, re.MULTILINE)


@pytest.fixture(scope="module")
def kernel_without_pictures(kernel: Any) -> Any:
    """The kernel of all lessons, after those with solutions."""
    prepare_kernel(kernel[1], NO_PICTURES)
    return kernel


@pytest.mark.parametrize("teacher", TEACHERS, ids=LESSONS)
def test_without_solutions_a_lesson_runs_and_every_check_asks_for_an_answer(
    teacher: Path, kernel_without_pictures: Any
):
    # servers start once only, for the solutions; here lesson 7 shows the reference run's values in
    # their place
    student = nbformat.read(lessons.find_students(teacher), 4)
    found = checks(execute_lesson(student, kernel_without_pictures, live=False))
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
        assert re.findall(r"[Nn]ine lessons\b.{0,30}? of (.*? minutes)", said) == [span], page
    rows = re.findall(r"^\| \[?(\d) ?.*?\| (\d+) \|(.*)\|$", PAGE, re.MULTILINE)
    in_order = [(number, minutes[number]) for number in ORDER]
    # The ninth lesson has two days in the timetable.
    at = ORDER.index(9)
    days = [*in_order[:at], in_order[at], *in_order[at:]]
    assert [(int(number), int(planned)) for number, planned, _ in rows] == in_order + days
    needed = {}
    for number, planned, parts in rows[len(minutes) :]:
        *planned_parts, slow = parts.split("|")
        assert sum(map(int, planned_parts)) == int(planned)
        if number != "9":
            needed[int(number)] = int(slow)
    slots = re.findall(r"(\d+):(\d+) to (\d+):(\d+) \| lesson (\d)", PAGE)
    lasting = {
        int(number): (int(h) - int(g)) * 60 + int(n) - int(m) for g, m, h, n, number in slots
    }
    # A weak student needs more than the planned minutes, and has them on the two days.
    assert lasting == needed


def test_each_lesson_leads_to_the_next_of_the_page_s_order():
    assert f"{', '.join(map(str, ORDER[:-1]))}. Lesson 3 uses" in PAGE
    assert f"Lesson {ORDER[-1]} is optional" in PAGE
    for number, following in pairwise(ORDER[:-1]):
        text = nbformat.read(TEACHERS[number - 1], 4).cells[-1].source
        assert f"Next: [Lesson {following}, " in text


# The ninth lesson's answers are a plan and measurements, and it is open to the quick as it is.
@pytest.mark.parametrize("teacher", TEACHERS[:8], ids=LESSONS[:8])
def test_an_answer_that_a_cell_left_undefined_is_open_in_its_check(teacher: Path):
    cells = [cell for cell in nbformat.read(teacher, 4).cells if cell.cell_type == "code"]
    # A function's cell has its name even if the body is wrong.
    nodes = chain.from_iterable(ast.walk(ast.parse(cell.source)) for cell in cells)
    defined = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    for cell in cells:
        about = cell.metadata.get("nbgrader", {})
        if about.get("grade"):
            call = ast.parse(cell.source).body[-1]
            names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
            assert names - {"load_checks"} <= defined
        elif not about.get("solution"):
            nodes = ast.walk(ast.parse(cell.source))
            stored = (node for node in nodes if isinstance(node, ast.Name))
            defined |= {node.id for node in stored if isinstance(node.ctx, ast.Store)}


@pytest.mark.parametrize("teacher", TEACHERS[:8], ids=LESSONS[:8])
def test_each_lesson_has_one_task_for_the_quick_and_its_answer(teacher: Path):
    text = "\n".join(cell.source for cell in nbformat.read(teacher, 4).cells)
    assert text.count("**★ For the quick.**") == text.count("- *Star.*") == 1


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
        # nbgrader refuses a text of a student without points for it.
        assert about.grade or not (about.solution and cell.cell_type == "markdown")
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
    # nbgrader is not compiled when it is installed, and starts four times here.
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
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


def test_nbgrader_marks_a_right_a_wrong_and_an_empty_copy_as_the_page_says(course: Path):
    given = nbformat.read(course / "release" / "4_t_tests" / "4_t_tests.ipynb", 4)
    assert [cell.source for cell in given.cells] == [
        cell.source
        for cell in nbformat.read(ROOT / "notebooks" / "lessons" / "4_t_tests.ipynb", 4).cells
    ]
    solved = nbformat.read(ROOT / "notebooks" / "lessons" / "solutions" / "4_t_tests.ipynb", 4)
    right = {cell.id: cell.source for cell in solved.cells}
    answers = {"right": right, "wrong": RIGHT_IN_PART, "empty": {}}
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
    points = {"right": "21.0", "wrong": "7.0", "empty": "0.0"}
    assert grades == {student: (score, "25.0") for student, score in points.items()}
    wrong = nbformat.read(course / "autograded" / "wrong" / "4_t_tests" / "4_t_tests.ipynb", 4)
    for cell in wrong.cells:
        types = [output.output_type for output in cell.get("outputs", ())]
        assert "error" not in types


FORGERIES = (
    "setattr(lesson, 'check_1', lambda *answer: 3)",
    "marking.load_checks = lambda name: Fake()",
    "import importlib; importlib.reload = lambda module: Fake()",
    "sys.modules['benchbook_lessons.marking'] = Fake()",
    "Feedback.earned = property(lambda self: self.points)",
    "math.isclose=lambda *numbers, **limits: True",
    "for math.isclose in [lambda *numbers, **limits: True]: pass",
    "get_ipython().input_transformers_cleanup.append(forge)",
    "vars(marking).update(load_checks=forge)",
    "from unittest.mock import patch; patch('builtins.sum', lambda parts: 3).start()",
    "from benchbook_lessons import feedback as f",
    "from IPython.core.interactiveshell import InteractiveShell",
    "reduce(setattr, [(lesson, 'check_1', forge)])",
    "(x for x in ()).gi_frame.f_back.f_globals.update(check_1=forge)",
    "Path(lesson.__file__).write_text(forged)",
    "np.array(forged).tofile(checks)",
    "!sed -i s/False/True/ feedback.py",
)


def test_the_search_for_forged_copies_finds_each_and_no_honest_one(tmp_path: Path) -> None:
    for teacher in TEACHERS:
        honest = nbformat.read(teacher, 4)
        for cell in honest.cells:
            cell.source += "\n# as I understand it" if cell.cell_type == "code" else ""
        copy = tmp_path / "honest" / teacher.stem / teacher.name
        copy.parent.mkdir(parents=True)
        nbformat.write(honest, copy)
        assert forgeries.find_suspect_lines(copy) == []
    given = nbformat.read(lessons.find_students(TEACHERS[0]), 4)
    (answer,) = (cell for cell in given.cells if cell.id == "task-1")
    forged = tmp_path / "forged" / TEACHERS[0].stem / "copy.ipynb"
    forged.parent.mkdir(parents=True)
    for line in FORGERIES:
        answer.source = f"minutes = 1\n{line}\n"
        # An editor may write a notebook into one line.
        forged.write_text(json.dumps(given))
        assert forgeries.find_suspect_lines(forged), line


def equal_sizes_only(a: list[float], b: list[float]) -> float:
    return sum(x - y for x, y in zip(a, b, strict=True)) and stats.ttest_ind(a, b).statistic


FOLLOWS = {name: follows for name, (_, follows) in t_tests.STATEMENTS.items()}
P_VALUES = {
    measure: stats.ttest_ind(*t_tests.load_samples(measure)).pvalue for measure in t_tests.MEASURES
}

PAIRED = {
    measure: stats.ttest_rel(*t_tests.load_samples(measure)).pvalue for measure in t_tests.MEASURES
}


PYTHON_CLAIM = (
    critique.EXAMPLE.replace("{driver: mongoose}", "{driver: mongoengine}")
    .replace("{driver: mongoclient}", "{driver: pymongo}")
    .replace("Mongoose takes longer than MongoClient", "Mongoengine takes longer than pymongo")
)
"""A claim on two libraries of Python that says that they ran in Node.js."""

TURNED_CLAIM = (
    critique.EXAMPLE.replace("a: {driver: mongoose}", "a: {driver: mongoclient}")
    .replace("b: {driver: mongoclient}", "b: {driver: mongoose}")
    .replace("claimed: more", "claimed: less")
    .replace("a difference below a tenth", "for our users a difference below a tenth")
)
"""The example with its sides exchanged, and the opposite direction."""


def divide_java_means() -> float:
    pairs = effects.load_java_books()
    return pairs[0].mean() / pairs[1].mean()


def plan_days_of_the_normal(sd: float, margin: float, blocks: int) -> int:
    spread = sd * (0.35 + 0.65 / blocks) ** 0.5
    return int(np.ceil((stats.norm.ppf(0.995) * spread / np.log(margin)) ** 2))


def plan_days(sd: float, limit: float, blocks: int, shared: float = 0.35) -> int:
    spread = sd * (shared + (1 - shared) / blocks) ** 0.5
    days = 1 if blocks > 1 else 5
    while effects.compute_t_quantile(days * blocks - 1, 0.995) * spread / days**0.5 > limit:
        days += 1
    return days


def find_smallest(readings: list[float]) -> float:
    return min(step for step in np.diff(readings) if step > 0)


def count_columns(a: Any, b: Any, test: str) -> float:
    found = stats.ttest_rel(a, b) if test == "paired" else stats.ttest_ind(a, b, equal_var=False)
    return float((found.pvalue < 0.05).mean())


def ask_for_one_first(low: float, high: float, margin: float) -> str:
    if low > 1:
        return "for"
    return effects.judge_interval(low, high, margin)


def ask_for_the_upper_end_only(low: float, high: float, margin: float) -> str:
    if 1 < high < margin:
        return "no difference that matters"
    return effects.judge_interval(low, high, margin)


def ask_for_matters_first(low: float, high: float, margin: float) -> str:
    if 1 / margin < low and high < margin:
        return "no difference that matters"
    return effects.judge_interval(low, high, margin)


def subtract_the_margin_from_two(low: float, high: float, margin: float) -> str:
    if low < 1 < high:
        return "no difference that matters" if 2 - margin < low and high < margin else "open"
    return effects.judge_interval(low, high, margin)


def ask_for_the_middle(low: float, high: float, margin: float) -> str:
    found = effects.judge_interval(low, high, margin)
    return "open" if found == "for" and (low * high) ** 0.5 < margin else found


def judge_cases(verdict: Callable[[float, float, float], str]) -> dict[str, str]:
    cases = effects.load_cases()
    return {name: verdict(row["low"], row["high"], 1.1) for name, row in cases.iterrows()}


def return_none_when_unsteady(times: Any) -> float | None:
    start = find_steady_state(times).start
    return None if start is None else times[start:].mean()


def ask_for_a_cold_start(times: Any) -> float:
    steady = find_steady_state(times)
    return times[steady.start :].mean() if steady.shape == "cold start" else float("nan")


def leave_one_out(times: Any) -> float:
    start = find_steady_state(times).start
    return float("nan") if start is None else times[start + 1 :].mean()


def write_names_as_they_are(record: dict[str, str]) -> str:
    fields = []
    for name, text in record.items():
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        fields.append(f'"{name}":"{escaped}"')
    return "{" + ",".join(fields) + "}"


def make_xml_writer(refused: str, says: str) -> Callable[[dict[str, str]], str]:
    def write(record: dict[str, str]) -> str:
        if set(refused) & set("".join(record.values())):
            raise ValueError(says)
        fields = [f"<{name}>{html.escape(text)}</{name}>" for name, text in record.items()]
        return f"<record>{''.join(fields)}</record>"

    return write


def take_zero_for_none(times: Any) -> float:
    start = find_steady_state(times).start
    return times[start:].mean() if start else float("nan")


def make_wait(pause: float = 0.001, mark: Any = True) -> Callable[..., Any]:
    """Return a wait that sleeps `pause` seconds, and marks that it timed out by `mark`."""

    def wait(reached: Callable[[], bool], patience: float) -> tuple[float, Any]:
        start = time.perf_counter()
        while not reached():
            if time.perf_counter() - start > patience:
                return time.perf_counter() - start, mark
            if pause:
                time.sleep(pause)
        return time.perf_counter() - start, False

    return wait


def count_sleeps(reached: Callable[[], bool], patience: float) -> tuple[float, bool]:
    for sleeps in range(round(patience * 1000)):
        if reached():
            return sleeps / 1000, False
        time.sleep(0.001)
    return patience, True


def ask_once_more(reached: Callable[[], bool], patience: float) -> list[Any]:
    start = time.monotonic()
    while not reached() and time.monotonic() - start < patience:
        time.sleep(0.001)
    return [np.float64(time.monotonic() - start), np.bool_(not reached())]


MAPPER = load_stores("mapper")


def divide_mapper_times() -> float:
    rows = MAPPER.query("driver == 'mongoengine' and operation == 'insert'")
    means = rows.groupby("metric")["ms"].mean()
    return float((means["cpu_user"] + means["cpu_system"]) / means["wall_time"])


def share_of_the_mapper() -> float:
    return stores._compute_cpu_share(MAPPER)


REPLICATION = load_stores("replication")
REPLICATED = REPLICATION[REPLICATION["operation"] == "insert"].groupby("metric")["ms"].mean()

WRONG = [
    (
        lambda: effects.check_1(divide_java_means(), ..., ...),
        "that is the ratio of the arithmetic means",
        0,
    ),
    (
        lambda: effects.check_4(lambda sd, margin, blocks: plan_days(sd, margin - 1, blocks)),
        "compare it with log(margin), not with margin - 1",
        1,
    ),
    (
        lambda: effects.check_4(
            lambda sd, margin, blocks: plan_days(sd, np.log(margin), blocks, shared=0)
        ),
        "That takes the blocks of one day as independent: what they share does not shrink.",
        1,
    ),
    (
        lambda: effects.check_4(lambda sd, margin, blocks: plan_days(sd, np.log(margin), 1)),
        "not 5. That would be right for one block per day: use the number of blocks.",
        0,
    ),
    (
        lambda: effects.check_4(lambda sd, margin, blocks: plan_days(sd, np.log(margin), 10)),
        "That would be right for 10 blocks per day: use the number of blocks.",
        2,
    ),
    (
        lambda: effects.check_4(plan_days_of_the_normal),
        "That is the normal distribution's quantile: use Student's.",
        1,
    ),
    (
        lambda: effects.check_2(ask_for_matters_first),
        "0.95 to 0.98, margin 1.1: not 'no difference that matters'. The whole interval is below 1",
        3,
    ),
    (
        lambda: effects.check_2(subtract_the_margin_from_two),
        "0.905 to 1.05, margin 1.1: not 'no difference that matters'.",
        3,
    ),
    (
        lambda: effects.check_2(ask_for_the_middle),
        "1.01 to 1.15, margin 1.1: not 'open'. The low end is above 1",
        3,
    ),
    (
        lambda: effects.check_2(ask_for_the_upper_end_only),
        "0.6 to 1.05, margin 1.1: not 'no difference that matters'. The interval contains 1, and"
        " one of its ends is beyond",
        3,
    ),
    (
        lambda: effects.check_3(judge_cases(ask_for_one_first)),
        "Above 1 says only that there is a difference.",
        5,
    ),
    (
        lambda: clocks.check_4(lambda step, action, share: step / (action * share)),
        "not 166,666.67. A loop runs a whole number of times",
        1,
    ),
    (
        lambda: clocks.check_4(lambda step, action, share: int(step / (action * share)) + 1),
        "not 2. One repetition too many",
        2,
    ),
    (lambda: clocks.check_1(4546.69, 4546.69, 719.4), "minutes: those are seconds.", 2),
    (lambda: clocks.check_1("75", 4546.69, 719.4), "minutes should be a number, and is '75'", 2),
    (
        lambda: clocks.check_2(lambda readings: 0, ...),
        "what does an unchanged reading say about the clock's step?",
        0,
    ),
    (
        lambda: clocks.check_3({"A": "one thread", "B": "sleeping"}),
        "○ C: no answer yet by this name",
        1,
    ),
    (
        lambda: warm_up.check_1(lambda times: times[0] / sum(times[1:])),
        "Divide by the sum of all, the first included",
        0,
    ),
    (
        lambda: warm_up.check_1(lambda times: max(times) / sum(times)),
        "of 3, 1, 4, 2 it returns 0.4. The first is 3, and the sum of all is 10.",
        2,
    ),
    (lambda: warm_up.check_3(leave_one_out), "is not its mean. Nothing has to be left out", 2),
    (lambda: warm_up.check_3(ask_for_a_cold_start), "do not ask .shape", 3),
    (lambda: warm_up.check_3(np.median), "your function returns 99.", 0),
    (lambda: warm_up.check_1(broken), "of its cell with RuntimeError: oh", 0),
    (lambda: clocks.check_2(lambda readings: 15, ...), "difference is", 1),
    (
        lambda: warm_up.check_2({"all": 1, "first": 1, "last 50": 1}),
        "first is too large: (The hint is the same.)",
        0,
    ),
    (lambda: warm_up.check_3(return_none_when_unsteady), "your function returns None", 2),
    (lambda: warm_up.check_3(take_zero_for_none), ".start is 0 here, which is not None", 3),
    (lambda: drift.check_1(lambda n: "ab" * n), "What if going first costs something?", 3),
    (lambda: drift.check_2(alarms_counted, alternate), "should lie between 0 and 1, and is 200", 0),
    (
        lambda: drift.check_2(count_columns, alternate),
        "it finds 100%. That is the share of columns. There is one p per row: write axis=1",
        1,
    ),
    (
        lambda: drift.check_3(..., ..., ..., "by_block"),
        "are blocks 15 to 19 independent of each other? And what of other days?",
        0,
    ),
    (
        lambda: drift.check_3(..., ..., 0.165, "by_day_rule"),
        "by_day_rule: that is by_block: use the ends of compute_interval.",
        1,
    ),
    (lambda: drift.check_2(lambda *_: 1.0, alternate), "✗ one after the other: 100%", 0),
    (
        lambda: drift.check_4(lambda p, alpha: (p < alpha).any(axis=1).sum()),
        "between 0 and 1, and is 2",
        0,
    ),
    (
        lambda: t_tests.check_5({**dict.fromkeys("ABCDE", False), "B": True}),
        "E: not False. Look at User CPU of JSON",
        4,
    ),
    (
        lambda: clocks.check_3({"A": "two thread", "B": "sleeping", "C": "one thread"}),
        "'two thread' is not one of",
        2,
    ),
    (lambda: t_tests.check_5({**FOLLOWS, "A": "no"}), "✗ A: 'no' is not one of True, False", 4),
    (lambda: t_tests.check_5({**FOLLOWS, "A": "no", "B": np.True_}), "✓ B: right, True", 4),
    (
        lambda: t_tests.check_5({**FOLLOWS, "A": "False"}),
        "'False' is not one of True, False. Write it without quotation marks.",
        4,
    ),
    (lambda: t_tests.check_5({**FOLLOWS, "E": 1}), "✗ E: 1 is not one of True, False", 4),
    (
        lambda: t_tests.check_2({m: round(p, 4) for m, p in P_VALUES.items()}, "System CPU"),
        "do not round it.",
        3,
    ),
    (
        lambda: t_tests.check_2(PAIRED, "System CPU"),
        "Memory: that is the paired test; the paper used Student's.",
        1,
    ),
    (
        lambda: t_tests.check_2({**P_VALUES, "System CPU": 0.0038}, "System CPU"),
        "System CPU: that is the printed one: compute it yourself.",
        5,
    ),
    (
        lambda: t_tests.check_4(26.4, 53.9, 20_000, "the sizes"),
        "that is an end of an interval that takes the sizes as repetitions of one ratio.",
        2,
    ),
    (
        lambda: t_tests.check_4(np.log(27.7), 41.4, 20_000, "the sizes"),
        "that is still a logarithm: take exp.",
        3,
    ),
    (
        lambda: clocks.check_1(75.78, 4546.69, 1000 * 1000 / 1.39),
        "those are bytes per ms: convert the bytes and the ms.",
        2,
    ),
    (
        lambda: clocks.check_2(find_smallest, {"A": "the step", "B": "the step"}),
        "Could it show 42? How long is its step then?",
        4,
    ),
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
    (lambda: t_tests.check_1(equal_sizes_only), "of its cell with ValueError", 2),
    (
        lambda: critique.check_3(critique.EXAMPLE.replace("find", "update"), ...),
        "○ expected: no answer yet",
        2,
    ),
    (
        lambda: critique.check_3(
            critique.EXAMPLE.replace("operation: find", "operation: insert"), "holds"
        ),
        "its words name find, and its fields do not.",
        2,
    ),
    (
        lambda: critique.check_3(
            critique.EXAMPLE.replace("claimed: more", "claimed: less"), "holds"
        ),
        "its words say 'longer', and of a / b it claims 'less'.",
        1,
    ),
    (
        lambda: critique.check_3(critique.EXAMPLE.replace("1.10", "10 %"), "holds"),
        "margin should be a ratio above 1, such as 1.10 for a tenth more. It is '10 %'.",
        0,
    ),
    (
        lambda: critique.check_3(TURNED_CLAIM, "holds"),
        "it makes the example's comparison again, or turns its sides round.",
        3,
    ),
    (
        lambda: critique.check_3(PYTHON_CLAIM, "holds"),
        "its sides ran in another language: write languages: [python].",
        2,
    ),
    (
        lambda: critique.check_3(critique.EXAMPLE.replace("says: ", "says: Mine: "), "holds"),
        "says has a second colon: put its text between quotation marks.",
        0,
    ),
    (
        lambda: critique.check_3(
            re.sub("why_margin: .*", "why_margin:", critique.EXAMPLE), "holds"
        ),
        "why_margin is empty",
        0,
    ),
    (
        lambda: effects.check_2(lambda low, high, margin: "for"),
        "0.95 to 1.05, margin 1.1: not 'for'. Both ends are between",
        1,
    ),
    (
        lambda: stores.check_5(lambda reached, patience: (0.0, False)),
        "was not marked as timed out",
        1,
    ),
    (
        lambda: stores.check_3(REPLICATED["elapsed_time"], ..., "catch_up_time", REPLICATION),
        "client: that contains the catch-up time, too.",
        0,
    ),
    (
        lambda: stores.check_3(..., REPLICATED["catch_up_time"], "catch_up_time", REPLICATION),
        "until_replica: that starts when the client is done.",
        0,
    ),
    (
        lambda: stores.check_3(REPLICATED["wall_time"] / 1000, ..., ..., REPLICATION),
        "in seconds",
        0,
    ),
    (lambda: stores.check_2(1, "client", MAPPER), "1 is a guess", 1),
    (lambda: stores.check_2(divide_mapper_times(), ..., MAPPER), "subtract the driver's times", 0),
    (lambda: stores.check_2(100 * share_of_the_mapper(), ..., MAPPER), "in percent", 0),
    (
        lambda: stores.check_2(0.9, "client", MAPPER[MAPPER["metric"] == "wall_time"]),
        "your table has no rows with mongoengine, insert, cpu_user any more",
        0,
    ),
    (lambda: stores.check_5(count_sleeps), "it returned 0.002 s, and the wait took", 4),
    (lambda: stores.check_5(make_wait(pause=0)), "Sleep about a millisecond after each", 4),
    (lambda: stores.check_5(make_wait(pause=0.7)), "are its sleeps short?", 3),
    (lambda: stores.check_5(make_wait(mark="yes")), "then True or False", 3),
    (
        lambda: stores.check_5(lambda reached, patience: (0.0, not reached)),
        "Did you call reached, with brackets?",
        1,
    ),
    (
        lambda: documents.check_1(lambda record: json.dumps(record)),
        "to_json uses the library json: write each sign yourself.",
        0,
    ),
    (
        lambda: documents.check_1(write_names_as_they_are),
        "a quotation mark and a backslash: not read back as it was.",
        2,
    ),
    (
        lambda: documents.check_2(make_xml_writer("\x07\t\n", "U+0007, U+0009 or U+000A")),
        "with ValueError: U+0007, U+0009 or U+000A",
        3,
    ),
    (
        lambda: documents.check_2(make_xml_writer("\x07", "not allowed")),
        "the ValueError says 'not allowed'. Which character is it?",
        3,
    ),
    (
        lambda: documents.check_4(..., ..., {"nan in JSON": "the format"}),
        "Look at what two libraries write above. Which of them is JSON?",
        0,
    ),
    (
        lambda: documents.check_4(
            {**dict.fromkeys(documents.VALUES, "refused"), "the date 2024-02-29": "the same"},
            ...,
            ...,
        ),
        "JSON has text, numbers, true, false",
        0,
    ),
    (
        lambda: documents.check_4(..., dict.fromkeys(documents.VALUES, "something else"), ...),
        "XML: their fates differ. Guess each by itself.",
        0,
    ),
    (
        lambda: documents.check_3(124, 170, len(documents.encode_bookstore(20, "xml")) - 20 * 170),
        "the first nine books have an id of one digit",
        2,
    ),
    (
        lambda: critique.check_1("Trial 5", 102.64, 36),
        "meant: that is the number of Table 5",
        2,
    ),
]


@pytest.mark.parametrize(("answer", "says", "points"), WRONG)
def test_a_wrong_answer_gets_a_hint_and_the_points_of_its_right_parts(
    answer: Callable[[], feedback.Feedback], says: str, points: int
):
    found = answer()
    assert says in str(found)
    assert found.earned == points < found.points


def test_right_answers_of_lesson_7_in_other_forms_get_all_points():
    means = MAPPER.query("metric == 'wall_time'").pivot_table(
        index="operation", columns="driver", values="ms"
    )
    ratio = means["mongoengine"] / means["pymongo"]
    assert stores.check_1(ratio[["insert"]], np.array(ratio["find"]), MAPPER).passed
    assert stores.check_5(ask_once_more).passed


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
    assert found.earned == 3, "the replica that is there at once, and the one that comes later"


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


@pytest.mark.parametrize("slower", [1, 3])
def test_a_busy_computer_is_named_where_it_would_teach_a_wrong_share(
    slower: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    found = load_stores("mapper")
    found.loc[found["metric"] == "wall_time", "ms"] *= slower
    monkeypatch.setattr(stores, "_measure_or_load", lambda *_: found)
    stores.measure_mapper(500, 4)
    is_busy = slower > 1
    assert ("busy" in capsys.readouterr().out) == is_busy
    answer = stores.check_2(stores._compute_cpu_share(found), "client", found)
    assert answer.passed
    assert ("busy" in str(answer)) == is_busy


def test_the_coarse_clock_of_lesson_1_jumps_where_the_fine_one_climbs():
    fine, coarse = clocks.read_two_clocks()
    ticks = sorted(set(coarse))
    assert len(set(fine)) > 10 * len(ticks) and len(ticks) >= 2
    # Both measure elapsed time. The median, because a process that waits misses ticks.
    apart = np.median(np.abs(np.subtract(fine, coarse)))
    assert apart <= 2 * min(np.diff(ticks))


def test_the_table_of_clocks_says_that_task_2_comes_first():
    assert "when task 2 is right" in clocks.compare_clocks(lambda readings: None)
    assert "when task 2 is right" in clocks.compare_clocks(broken)


def test_a_check_that_stops_reports_it_and_a_prediction_is_asked_for():
    assert (
        "No answer" not in str(clocks.check_4(lambda *_: 1))
        and not clocks.check_4(lambda *_: 1).passed
    )
    assert "Before you run on" in Predictions(time=...)._repr_html_()


@pytest.mark.parametrize(
    ("guess", "words"),
    [
        (4, "2 times too large"),
        (0.001, "2,000 times too small"),
        (2.2, "very near"),
        (..., "not written down before"),
        (0, "write a number above 0"),
    ],
    ids=repr,
)
def test_a_prediction_is_drawn_with_its_distance_from_the_result(guess: Any, words: str):
    outcomes = Predictions(time=guess).compare(time=2.0)
    assert words in repr(outcomes)
    (axes,) = outcomes.draw().axes
    assert any(words in text.get_text() for text in axes.texts)
    png, shown = outcomes._repr_png_()
    assert png.startswith(b"\x89PNG") and shown["width"] < 800


@pytest.mark.parametrize("value", [0.0001234, 0.468, 51.94, 29_812.3, 3.2e6])
def test_a_result_is_printed_without_an_exponent(value: float):
    assert "e+" not in repr(Predictions(time=...).compare(time=value))


@pytest.mark.parametrize("guess", ["about <5>", "5 %", [1, 2], None, float("nan")], ids=repr)
def test_a_prediction_must_be_a_number(guess: Any):
    predicted = Predictions(first_time=guess)
    said = html.escape(repr(guess))
    assert f"first time should be a number, and is {said}." in predicted._repr_html_()
    outcomes = predicted.compare(first_time=2.0)
    assert repr(outcomes) == f"first time: predicted {guess!r}, result 2: a number was expected"


FORGED = """
from benchbook_lessons import clocks as lesson
for name in ("check_1", "check_2"):
    setattr(lesson, name, lambda *_: 3)
from benchbook_lessons import feedback
feedback.Feedback.earned = 3
from benchbook_lessons.marking import load_checks
print(repr(load_checks("clocks").check_1(..., ..., ...)))
"""


def test_a_check_that_a_notebook_replaced_is_read_again_before_it_grades():
    ran = subprocess.run(
        [*processes.PYTHON, "-c", FORGED], capture_output=True, text=True, check=True
    )
    assert ran.stdout == "0\n"


def test_a_hint_is_shown_once_for_all_parts_that_it_helps():
    shown = str(t_tests.check_1(lambda a, b: stats.ttest_ind(b, a).statistic))
    assert shown.count("The sign is wrong") == 1 and shown.count("(The hint is the same.)") == 2


def test_one_mistake_in_a_function_is_reported_once():
    assert str(t_tests.check_1(broken_everywhere)).count("NameError") == 1


def broken_everywhere(a: list[float], b: list[float]) -> float:
    raise NameError("name 'np' is not defined")


def test_a_choice_is_right_in_any_case_of_letters_and_a_wrong_name_is_named():
    assert t_tests.check_2(P_VALUES, "system cpu").passed
    assert "'cpu' is not one of" in str(t_tests.check_2(P_VALUES, "cpu"))
    assert "['System CPU'] is not one of" in str(t_tests.check_2(P_VALUES, ["System CPU"]))


def test_the_class_board_draws_all_results_and_names_each_damaged_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)
    measured = drift.measure_both_orders(6)
    predicted = Predictions(one_after_the_other=5, interleaved=...)
    assert class_board.save_result("anonymous", predicted, measured) is None
    assert class_board.draw_class_board() is None
    assert "The board is still empty" in capsys.readouterr().out
    for name in ("Anna", "Ben / room 2", "100 $ and $ more"):
        assert class_board.save_result(name, predicted, measured)
    whole = json.loads(Path("class_board_Anna.json").read_text())
    Path("class_board_Anna (1).json").write_text(json.dumps(whole))
    damaged = {
        "torn": '{"name": "torn"',
        "list": "[1]",
        "empty": '{"name": "e", "predictions": {}, "intervals": {}}',
        "swapped": json.dumps(
            whole | {"intervals": {order: [1, 2, 0.5] for order in class_board.ORDERS}}
        ),
        "endless": json.dumps(
            whole | {"intervals": {order: [1, 0.5, np.inf] for order in class_board.ORDERS}}
        ),
    }
    for name, text in damaged.items():
        Path(f"class_board_{name}.json").write_text(text)
    Path("class_board_folder.json").mkdir()
    capsys.readouterr()
    figure = class_board.draw_class_board(tmp_path)
    assert figure is not None
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert sorted(names) == ["100 $ and $ more", "Anna", "Anna (2)", "Ben / room 2"]
    assert "(4 not between 0 and 1)" in figure.axes[2].get_yticklabels()[0].get_text()
    printed = capsys.readouterr().out
    for name in (*damaged, "folder"):
        assert f"class_board_{name}.json is left out: " in printed
    figure.savefig(tmp_path / "board.png")


def test_the_class_board_counts_the_intervals_that_exclude_1_and_shows_far_ones_by_an_arrow(
    tmp_path: Path,
):
    for at, interval in enumerate([[1, 0.98, 1.02], [1.01, 0.99, 1.03], [3, 2.5, 3.5]]):
        result = {
            "name": f"{at}",
            "predictions": {},
            "intervals": {"one after the other": interval, "interleaved": [1, 0.99, 1.01]},
        }
        (tmp_path / f"class_board_{at}.json").write_text(json.dumps(result))
    figure = class_board.draw_class_board(tmp_path)
    assert figure is not None
    in_sequence, interleaved, _ = figure.axes
    assert "1 of 3 are false alarms" in in_sequence.get_title(loc="left")
    assert "0 of 3 are false alarms" in interleaved.get_title(loc="left")
    assert in_sequence.get_xlim() == interleaved.get_xlim()
    assert in_sequence.get_xlim()[1] < 1.2
    assert [text.get_text() for text in in_sequence.texts] == ["3"]


@pytest.mark.parametrize(
    "name", [snapshot.ROUND_TRIPS_FILE, snapshot.MEANS_FILE, snapshot.STORES_FILE]
)
def test_no_flipped_bit_of_a_lesson_s_data_changes_a_value_silently(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    whole, copy = (snapshot.find_folder() / name).read_bytes(), tmp_path / name
    values, refused = snapshot._read(name), 0
    monkeypatch.setattr(snapshot, "find_folder", lambda: tmp_path)
    for bit in random.Random(7).sample(range(8 * len(whole)), 30):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        copy.write_bytes(flipped)
        try:
            table = snapshot._read.__wrapped__(name)
        except DamagedError:
            refused += 1
            continue
        # A column that is renamed is not found; no value of another one may change.
        same = [column for column in values if column in table]
        assert len(same) >= len(values.columns) - 1
        pd.testing.assert_frame_equal(table[same], values[same])
    assert refused > 15
