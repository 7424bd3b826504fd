"""Every notebook runs, also by "Restart Kernel and Run All Cells" of JupyterLab in a browser."""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

import benchbook.cli.lab
from benchbook import paths
from benchbook.analysis.runs import Analysis, load_reference_means
from benchbook.report import sections
from browser import is_dark_on_white, needs_browser, start_browser
from checkout import ROOT
from waiting import comes_true

NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("0[0-5]*.ipynb"))
IN_BROWSER = ("00_start_here.ipynb", "04_crud.ipynb")
"""Notebooks on which the button is clicked, with a server and without."""
IDLE = ".jp-Notebook-ExecutionIndicator[data-status='idle']"
FEW = "n: int = 50"
"""How many records the copies take: enough for each of their cells."""
ENOUGH = "repetitions: int = 5"
"""As many as an interval takes."""
OWN_DOCUMENTS = "06_your_documents.ipynb"
LESSONS = {
    "lesson_open.ipynb": "lessons",
    "lesson_solved.ipynb": "lessons/solutions",
}
"""The copies of a lesson, and the folder that each is from."""
OWN_PLOT = "import pandas as pd\n\npd.DataFrame({'time': [1, 2]}).plot()"


@dataclass(frozen=True)
class House:
    """Copies of the notebooks, each with a user's plot at the end, and Jupyter's environment."""

    notebooks: Path
    environment: dict[str, str]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    for name in NOTEBOOKS:
        notebook = nbformat.read(folder / name, 4)
        notebook.cells.append(nbformat.v4.new_code_cell(OWN_PLOT, id="own_plot"))
        for cell in notebook.cells:
            cell.source = re.sub(r"(?m)^n: int = \d+", FEW, cell.source)
            cell.source = re.sub(r"(?m)^repetitions: int = \d+", ENOUGH, cell.source)
            cell.source = cell.source.replace(", 1000, 10000]", "]")  # sizes
        nbformat.write(notebook, folder / name)
    own = {
        "BENCHBOOK_HOME": str(ROOT),
        "BENCHBOOK_RESULTS": str(home / "results"),
        "HOME": str(wild(home)),
        # Matplotlib looks for fonts once per account, which takes seconds.
        "MPLCONFIGDIR": str(paths.fonts()),
    }
    return House(folder, benchbook.cli.lab.build_environment(home / "jupyter") | own)


@pytest.fixture(scope="module")
def lab(house: House) -> Iterator[tuple[str, Path]]:
    """Start JupyterLab as ``make lab`` does; yield its address and the notebooks' folder."""
    command = [
        *benchbook.cli.lab.build_command(house.notebooks, NOTEBOOKS[0]),
        "--no-browser",
        "--ServerApp.port=0",
    ]
    file = house.notebooks.with_name("log")
    with (
        file.open("wb") as log,
        subprocess.Popen(command, env=house.environment, stderr=log) as server,
    ):
        try:
            yield wait_for_address(server, file), house.notebooks
        finally:
            family = psutil.Process(server.pid).children(recursive=True)
            server.terminate()
            # On a busy machine it has waited for a kernel without end.
            if not comes_true(lambda: server.poll() is not None, within_s=20):
                for process in (*family, server):
                    with suppress(psutil.NoSuchProcess):
                        process.kill()


def wild(home: Path) -> Path:
    """Return a home whose settings of Jupyter and IPython break whatever reads them."""
    breaks = "raise SystemExit('the user's own settings were read')"
    for name in (
        ".jupyter/jupyter_server_config.py",
        ".jupyter/jupyter_lab_config.py",
        ".ipython/profile_default/ipython_config.py",
        ".ipython/profile_default/startup/00.py",
    ):
        (home / "user" / name).parent.mkdir(parents=True, exist_ok=True)
        (home / "user" / name).write_text(breaks)
    return home / "user"


def wait_for_address(server: "subprocess.Popen[bytes]", log: Path) -> str:
    """Return the address with its token as soon as the log has it."""
    pattern = re.compile(r"http://127\.0\.0\.1:\d+/lab\S*\?token=\w+")
    comes_true(lambda: server.poll() is not None or pattern.search(log.read_text()))
    found = pattern.search(log.read_text())
    assert found, log.read_text()
    return found[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield a browser's context, whose pages load JupyterLab's scripts once."""
    with start_browser() as browser:
        yield browser.new_context(viewport={"width": 1400, "height": 1000})


@needs_browser
@pytest.mark.parametrize("name", IN_BROWSER)
def test_a_notebook_runs_to_its_end_and_an_own_plot_below_it_shows(
    name: str, lab: tuple[str, Path], browser: Any
):
    address, folder = lab
    cells = restart_and_run_all(browser, address, folder / name)
    assert cells, f"{name} did not run to its end"
    hold_an_answer_and_a_plot(name, cells)


@pytest.fixture(scope="module")
def executed(house: House) -> Path:
    """Execute notebooks in kernels with JupyterLab's own environment; return their folder."""
    names = [name for name in NOTEBOOKS if name not in IN_BROWSER] + [OWN_DOCUMENTS]
    for name, folder in LESSONS.items():
        shutil.copy(house.notebooks / folder / "4_t_tests.ipynb", house.notebooks / name)
    command = [sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute"]
    ran = subprocess.run(
        [*command, "--allow-errors", "--inplace", *names, *LESSONS],
        cwd=house.notebooks,
        env=house.environment,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    return house.notebooks


@pytest.mark.parametrize("name", [name for name in NOTEBOOKS if name not in IN_BROWSER])
def test_a_notebook_runs_to_its_end_without_a_browser(name: str, executed: Path):
    hold_an_answer_and_a_plot(name, read_code_cells(executed / name))


def test_the_notebook_for_your_documents_shows_its_widgets(executed: Path):
    (cell,) = [cell for cell in read_code_cells(executed / OWN_DOCUMENTS) if cell["id"] == "ask"]
    (output,) = cell["outputs"]
    assert "application/vnd.jupyter.widget-view+json" in output["data"]


@needs_browser
def test_a_file_larger_than_a_jupyters_usual_limit_can_be_picked(
    lab: tuple[str, Path], browser: Any, tmp_path: Path
):
    large = tmp_path / "large.jsonl"
    line = json.dumps({"id": 1, "text": "a" * 10_000})
    large.write_text(f"{line}\n" * 1200)
    page = open_notebook(browser, lab[0], OWN_DOCUMENTS, "own")
    button = page.get_by_role("button", name="Pick a file")
    for _ in range(3):
        run_all(page)
        if comes_true(button.count, within_s=20):
            break
    with page.expect_file_chooser() as chooser:
        button.click()
    chooser.value.set_files(large)
    page.frame_locator(".bb-page").get_by_text("the first 200 records").first.wait_for()
    page.close()


def read_code_cells(notebook: Path) -> list[dict[str, Any]]:
    """Return a saved notebook's code cells."""
    cells = json.loads(notebook.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def hold_an_answer_and_a_plot(name: str, cells: list[dict[str, Any]]) -> None:
    """Check that all code cells ran without error, the answer came first and the plot shows."""
    for cell in cells:
        assert cell["execution_count"] or not cell["source"]
        errors = [output for output in cell["outputs"] if output["output_type"] == "error"]
        assert not errors, (cell["source"], errors)
    assert [one["output_type"] for one in cells[-1]["outputs"] if "image/png" in one["data"]] == [
        "display_data"
    ], name
    if name != "00_start_here.ipynb":  # the study's answer comes first: ratios with their intervals
        outputs = {cell["id"]: cell["outputs"] for cell in cells}
        assert re.fullmatch(
            r"\d+ repetitions? measured", "".join(outputs["run"][0]["data"]["text/plain"])
        )
        assert [*outputs["figure"][0]["data"]].count("image/png") == len(outputs["figure"]) == 1
        # 02 measures its other side in there, and says so; 04 has both in its run.
        *_, output = outputs["answer"]
        answer = "".join(output["data"]["text/markdown"])
        assert "busy meanwhile" in answer or "other programs were busy" in answer
        assert "The intervals are of this process alone" in answer
        assert ("ran one after the other" in answer) == (name == "02_tcp.ipynb")
        ends = "–" if "An interval takes 5 repetitions." in answer else r"[\d.,]+ to [\d.,]+"
        assert re.search(rf"\*\*[\d.,]+\*\* \| {ends} \|", answer)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lesson_open.ipynb", "○ no answer yet"),
        ("lesson_solved.ipynb", "Task 5: 5 of 5. All right."),
    ],
)
def test_a_lessons_checks_answer_with_and_without_the_solutions(
    name: str, says: str, executed: Path
):
    cells = read_code_cells(executed / name)
    for cell in cells:
        assert cell["execution_count"] or not cell["source"]
    (check,) = (cell for cell in cells if cell["id"] == "check-5")
    (output,) = check["outputs"]
    text = re.sub(r"<[^>]+>", " ", "".join(output["data"]["text/html"])).replace("  ", " ")
    assert says in text


@pytest.fixture(scope="module")
def small(lab: tuple[str, Path], browser: Any) -> list[dict[str, Any]]:
    """Run a small notebook with a long table and a refused value; return its code cells."""
    address, folder = lab
    cells = [
        "import shutil\n\nprint(shutil.which('benchbook'))",
        "import pandas as pd\nfrom benchbook.report import tables\n\n"
        "tables.render_table(pd.DataFrame({'n': range(40)}))",
        "from benchbook.studies import bookstore\n\nbookstore.Parameters(xml_codec='lxm')",
    ]
    write_notebook(folder / "small.ipynb", cells)
    return restart_and_run_all(browser, address, folder / "small.ipynb", within_s=30)


@needs_browser
def test_a_refused_value_is_a_line_and_commands_are_on_the_path(small: list[dict[str, Any]]):
    found, _, refused = small
    assert "".join(found["outputs"][0]["text"]).strip() == str(
        Path(sys.executable).with_name("benchbook")
    )
    (error,) = refused["outputs"]
    (line,) = error["traceback"]
    assert re.fullmatch(
        r"Refused: xml_codec should be .*, not 'lxm' \(did you mean 'lxml'\?\)", line
    )
    assert error["ename"] == "ValidationError"


def test_jupyterlab_does_not_ask_whether_to_fetch_news_over_the_output_of_a_cell(
    lab: tuple[str, Path],
):
    server, _, token = re.split(r"(/lab\b.*token=)", lab[0])
    plugin = f"{server}/lab/api/settings/@jupyterlab/apputils-extension:notification"
    request = urllib.request.Request(plugin, headers={"Authorization": f"token {token}"})
    with urllib.request.urlopen(request) as answer:
        properties = json.load(answer)["schema"]["properties"]
    assert properties["fetchNews"]["default"] == "false"


def test_students_get_copies_of_the_lessons_which_stay_as_they_are_and_are_not_in_git(
    tmp_path: Path,
):
    (tmp_path / "notebooks").symlink_to(ROOT / "notebooks")
    benchbook.cli.lab.copy_lessons(tmp_path)
    folder = tmp_path / "my_lessons"
    lessons = [path.name for path in (ROOT / "notebooks" / "lessons").glob("*.ipynb")]
    assert {path.name for path in folder.iterdir()} == {*lessons, "glossary.md"}
    (folder / lessons[0]).write_text("an answer")
    (folder / lessons[1]).unlink()
    benchbook.cli.lab.copy_lessons(tmp_path)
    assert (folder / lessons[0]).read_text() == "an answer" and (folder / lessons[1]).exists()
    ignored = ["git", "check-ignore", "--quiet", f"my_lessons/{lessons[0]}"]
    assert subprocess.run(ignored, cwd=ROOT, check=False).returncode == 0


@needs_browser
def test_running_and_saving_changes_no_notebook_that_is_in_git(lab: tuple[str, Path], browser: Any):
    address, folder = lab
    kept = folder / "in_git"
    kept.mkdir()
    shutil.copy(ROOT / "notebooks" / "99_merged_metrics.ipynb", kept)
    write_notebook(kept / "run.ipynb", ["print('it' + ' ran')"])
    git = ["git", "-C", str(kept)]
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run([*git, *command], check=True)
    for name in ("99_merged_metrics", "run"):
        file = kept / f"{name}.ipynb"
        before = file.stat().st_mtime_ns
        page = open_notebook(browser, address, f"in_git/{file.name}", name)
        if name == "run":
            assert any(ran(page, "it ran") for _ in range(3))

        def save_page(page: Any = page, file: Path = file, before: int = before) -> bool:
            page.keyboard.press("Control+s")  # again, if it came before the page listened
            return comes_true(lambda: file.stat().st_mtime_ns > before, within_s=5)

        assert comes_true(save_page), name
        page.close()
    # a file is empty for a moment while it is saved
    assert comes_true(
        lambda: not subprocess.run([*git, "diff"], capture_output=True, check=True).stdout
    )


@needs_browser
def test_the_report_notebooks_figures_and_claims_are_readable_in_a_dark_lab_that_does_not_trust_it(
    lab: tuple[str, Path], browser: Any
):
    address, folder = lab
    means = load_reference_means()
    found = Analysis(means[means["study"] == "bookstore"])
    shown = [
        sections.render_exhibit(paths.reference(), "overview"),
        sections.render_claims(found.verdicts, found.comparisons),
    ]
    write_notebook(folder / "report.ipynb", [""])
    notebook = nbformat.read(folder / "report.ipynb", 4)
    outputs = [nbformat.v4.new_output("display_data", {"text/html": one.data}) for one in shown]
    notebook.cells[0].update(outputs=outputs, execution_count=1)
    nbformat.write(notebook, folder / "report.ipynb")
    server, _, token = re.split(r"(/lab\b.*token=)", address)
    settings = f"{server}/lab/api/settings/@jupyterlab/apputils-extension:themes"
    dark = {"raw": json.dumps({"theme": "JupyterLab Dark"})}
    browser.request.put(settings, data=dark, headers={"Authorization": f"token {token}"})
    page = open_notebook(browser, address, "report.ipynb", "report")
    page.locator("body[data-jp-theme-light='false']").wait_for(state="attached")
    assert is_dark_on_white(page.locator(".jp-OutputArea-output").first.locator("figure img"))
    cells = page.locator("table.lines td.text")
    assert set(
        cells.evaluate_all("cells => cells.map(cell => getComputedStyle(cell).textAlign)")
    ) == {"left"}
    page.close()


@needs_browser
def test_a_long_table_is_paged_in_a_lab_and_again_when_its_notebook_is_opened_anew(
    small: list[dict[str, Any]], lab: tuple[str, Path], browser: Any
):
    assert small
    page = open_notebook(browser, lab[0], "small.ipynb", "table")
    page.get_by_text("1 to 15 of 40 rows").wait_for()
    page.locator(".dt-paging").get_by_text("3", exact=True).click()
    assert page.locator(".dt-info").inner_text() == "31 to 40 of 40 rows"
    page.close()


def write_notebook(file: Path, cells: list[str]) -> None:
    """Write a notebook of some cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    notebook.metadata.kernelspec = {
        "display_name": "Python 3",
        "language": "python",
        "name": "python3",
    }
    nbformat.write(notebook, file)


def open_notebook(browser: Any, address: str, path: str, workspace: str) -> Any:
    """Return a page with the notebook in it, its kernel idle."""
    page = browser.new_page()
    page.set_default_timeout(60_000)
    page.goto(re.sub(r"/lab\b[^?]*", f"/lab/workspaces/{workspace}/tree/{path}", address))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.locator(IDLE).wait_for()
    return page


def run_all(page: Any) -> None:
    """Click "Restart Kernel and Run All Cells"."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator(".lm-Menu-item[data-command='runmenu:restart-and-run-all']").click()
    page.locator(".jp-Dialog .jp-mod-accept").click()


def ran(page: Any, says: str) -> bool:
    """Click a button, and return whether the output says that."""
    run_all(page)
    return comes_true(page.get_by_text(says, exact=True).count, within_s=20)


def restart_and_run_all(
    browser: Any, address: str, notebook: Path, within_s: float = 80
) -> list[dict[str, Any]]:
    """Click the button; return the code cells once all ran or one failed, else none."""
    for attempt in range(3):
        page = open_notebook(browser, address, notebook.name, f"{notebook.stem}-{attempt}")
        run_all(page)
        cells = wait_until_all_ran(page, notebook, within_s)
        page.close()
        if cells:
            return cells
    return []


def wait_until_all_ran(page: Any, saved: Path, within_s: float) -> list[dict[str, Any]]:
    """Save when the kernel is idle, and return the code cells when all ran or one failed.

    None after that time, or when the kernel was idle for 5 s: the page lost a cell. Saving more
    often would slow the run.
    """
    # Three attempts of 80 s end before a test is given up.
    deadline = time.monotonic() + within_s
    resting = 0
    while time.monotonic() < deadline and resting < 20:
        time.sleep(0.25)
        resting = resting + 1 if page.locator(IDLE).count() else 0
        if resting < 2:
            continue
        before = saved.stat().st_mtime_ns
        page.keyboard.press("Control+s")
        comes_true(lambda before=before: saved.stat().st_mtime_ns > before, within_s=2)
        with suppress(json.JSONDecodeError):  # while it is being written
            cells = read_code_cells(saved)
            outputs = chain.from_iterable(cell["outputs"] for cell in cells)
            failed = any(output["output_type"] == "error" for output in outputs)
            if failed or all(cell["execution_count"] or not cell["source"] for cell in cells):
                return cells
    return []
