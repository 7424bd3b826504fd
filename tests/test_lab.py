"""Every notebook passes "Restart Kernel and Run All Cells" in JupyterLab, clicked in a real browser."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from browsers import needs_browser, started
from waiting import comes_true

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(path.name for path in (ROOT / "notebooks").glob("0*.ipynb"))
IDLE = ".jp-Notebook-ExecutionIndicator[data-status='idle']"

pytestmark = needs_browser


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Start JupyterLab as ``make lab`` does, on copies of the notebooks; give its address with token and its folder."""
    home = tmp_path_factory.mktemp("lab")
    folder = home / "notebooks"
    shutil.copytree(ROOT / "notebooks", folder, ignore=shutil.ignore_patterns(".ipynb_checkpoints"))
    environment = os.environ | {"BENCHBOOK_HOME": str(ROOT), "BENCHBOOK_RESULTS": str(home / "results"),
                                "JUPYTER_CONFIG_DIR": str(home), "JUPYTER_RUNTIME_DIR": str(home)}  # fmt: skip
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1",
               "--ServerApp.port=0", "--LabApp.extension_manager=readonly", "--LabApp.news_url=None",
               str(folder)]  # fmt: skip
    with (home / "log").open("wb") as log, subprocess.Popen(command, env=environment, stderr=log) as server:
        try:
            yield wait_for_address(server, home / "log"), folder
        finally:
            server.terminate()


def wait_for_address(server: "subprocess.Popen[bytes]", log: Path) -> str:
    """Return the address with its token as soon as the log has it."""
    pattern = re.compile(r"http://127\.0\.0\.1:\d+/lab\S*\?token=\w+")
    comes_true(lambda: server.poll() is not None or pattern.search(log.read_text()))
    found = pattern.search(log.read_text())
    assert found, log.read_text()
    return found[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as browser:
        yield browser


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_restart_and_run_all(name: str, lab: tuple[str, Path], browser: Any):
    address, folder = lab
    cells = next(
        filter(None, (restart_and_run_all(browser, address, folder / name, attempt) for attempt in range(3))), []
    )
    assert cells, f"{name} did not run to its end"
    for cell in cells:
        errors = [output for output in cell["outputs"] if output["output_type"] == "error"]
        assert not errors, (cell["source"], errors)
    if name != "00_start_here.ipynb":  # the study's answer comes first: ratios with their intervals
        first = next(cell["outputs"][0]["data"] for cell in cells if cell["id"] == "answer")
        assert re.search(r"\*\*[\d.,]+\*\* \| [\d.,]+ to [\d.,]+ \|", "".join(first["text/markdown"]))


@pytest.mark.parametrize(("source", "says"), [("", "○ no answer yet"), ("solutions/", "Task 5: 5 of 5. All right.")])
def test_a_lessons_checks_answer_with_and_without_the_solutions(
    source: str, says: str, lab: tuple[str, Path], browser: Any
):
    address, folder = lab
    lesson = folder / f"lesson_{'solved' if source else 'open'}.ipynb"
    shutil.copy(folder / "lessons" / f"{source}4_t_tests.ipynb", lesson)
    runs = (restart_and_run_all(browser, address, lesson, attempt) for attempt in range(3))
    cells = next(filter(None, runs), [])
    (check,) = (cell for cell in cells if cell["id"] == "check-5")
    (output,) = check["outputs"]
    assert says in re.sub(r"<[^>]+>", " ", "".join(output["data"]["text/html"])).replace("  ", " ")


def restart_and_run_all(browser: Any, address: str, notebook: Path, attempt: int) -> list[dict[str, Any]]:
    """Click it; return the code cells once all ran or one failed, none when the page lost a cell on the way."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.set_default_timeout(60_000)
    page.goto(address.replace("/lab?", f"/lab/workspaces/{notebook.stem}-{attempt}/tree/{notebook.name}?"))
    page.locator(".jp-Notebook .jp-Cell").first.wait_for()
    page.locator(IDLE).wait_for()
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.locator(".lm-Menu-item[data-command='runmenu:restart-and-run-all']").click()
    page.locator(".jp-Dialog .jp-mod-accept").click()
    cells = when_all_ran(page, notebook)
    page.close()
    return cells


def when_all_ran(page: Any, saved: Path) -> list[dict[str, Any]]:
    """Save until the file says that every code cell ran or one failed; return its code cells.

    None after 80 s, when for 30 s no cell came to its end, or when for 5 s the kernel had nothing to do.
    """
    notebook = json.loads(saved.read_text())
    deadline = time.monotonic() + 80  # three attempts end before a test is given up
    ran, since, idle = 0, time.monotonic(), 0
    while time.monotonic() < min(deadline, since + 30) and idle < 10:
        time.sleep(0.5)
        page.keyboard.press("Control+s")
        with suppress(json.JSONDecodeError):  # while it is being written
            notebook = json.loads(saved.read_text())
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        failed = any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
        left = [cell for cell in cells if cell["source"] and not cell["execution_count"]]
        if failed or not left:
            return cells
        if len(cells) - len(left) > ran:
            ran, since = len(cells) - len(left), time.monotonic()
        idle = idle + 1 if page.locator(IDLE).count() else 0
    return []
