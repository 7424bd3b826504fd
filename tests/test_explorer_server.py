"""The servers of explorer and JupyterLab: nothing to whoever lacks the token; a page's kernel ends with the page."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import psutil
import pytest

from benchbook.explorer import serving
from browsers import needs_browser, started
from jupyters import COMMANDS, ROOT, UPGRADE, Served, served, words
from waiting import comes_true, gone

REFUSED = (302, 403, 404, 405)
"""To the login, forbidden, not there."""

FIGURE = ".bb-figure svg"


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Served]]:
    """Start the explorer and JupyterLab, both with an empty folder of temporary files, and look at what they leave."""
    folders = {name: tmp_path_factory.mktemp(name) for name in COMMANDS}
    shutil.copytree(ROOT / "notebooks", folders["lab"] / "home" / "notebooks")
    own = {"explorer": {}, "lab": {"BENCHBOOK_HOME": str(folders["lab"] / "home")}}
    with ExitStack() as stack:
        up = {}
        for name, folder in folders.items():
            (folder / "tmp").mkdir()
            up[name] = stack.enter_context(served(name, folder, TMPDIR=str(folder / "tmp"), **own[name]))
        yield up
    assert not list((folders["explorer"] / "tmp").iterdir())


@pytest.fixture(scope="module", params=COMMANDS)
def server(request: pytest.FixtureRequest, standing: dict[str, Served]) -> Served:
    return standing[request.param]


@pytest.fixture(scope="module")
def named(server: Served) -> Iterator[str]:
    """Yield the name of the kernel of a page that is open while strangers ask, or of a notebook."""
    with server.kernel() as named:
        yield named


@pytest.fixture
def explorer(standing: dict[str, Served]) -> Served:
    return standing["explorer"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with started() as browser:
        yield browser


def test_the_browser_is_started_with_a_file_of_the_owners_alone_and_without_the_token(server: Served):
    assert comes_true(server.argument.exists)
    argument = server.argument.read_text()
    assert server.token not in argument
    assert argument.startswith("file://")
    file = Path(unquote(urlsplit(argument).path))
    assert server.address in file.read_text()
    readable = [path for path in (file, file.parent) if not stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert readable, "another account can read it"


def test_who_reads_command_lines_gets_nothing(server: Served, named: str):
    assert named in server.kernels()
    asked = {("GET", "/"), ("GET", "/lab"), ("GET", "/api/contents"), ("POST", "/api/kernels"),
             ("GET", f"/api/kernels/{named}"), ("DELETE", f"/api/kernels/{named}"),
             ("POST", f"/voila/api/shutdown/{named}"),
             ("GET", "/voila/render/notebooks/explorer.ipynb")}  # fmt: skip
    for method, path in asked:
        assert server.status(method, path) in REFUSED, path
    for path in (f"/api/kernels/{named}/channels", f"/voila/query/{named}", "/api/events/subscribe"):
        assert server.status("GET", path, UPGRADE) in REFUSED, path
    for child in psutil.Process(server.pid).children(recursive=True):
        assert server.token not in " ".join(words(child))


def test_a_foreign_host_is_refused(server: Served, named: str):
    foreign = {"Host": f"evil.example:{server.port}"}
    page = "/lab" if "/lab" in server.address else "/voila/static/voila.js"
    browsed = server.logged_in()
    channel = f"/api/kernels/{named}/channels?token={server.token}"
    assert server.status("GET", page, browsed) == 200
    for path in (page, f"{page}?token={server.token}", f"/api/kernels/{named}?token={server.token}"):
        assert server.status("GET", path, browsed | foreign) in (403, 404), path
    assert server.status("GET", channel, UPGRADE) == 101
    assert server.status("GET", channel, UPGRADE | foreign) in (403, 404)


def test_a_foreign_origin_is_refused(server: Served, named: str):
    browsed, own = server.logged_in(), {"Origin": f"http://127.0.0.1:{server.port}"}
    channel = f"/api/kernels/{named}/channels"
    assert server.status("GET", channel, UPGRADE | browsed | own) == 101
    for origin in ("http://evil.example", "http://127.0.0.1:1", "null"):
        foreign = {"Origin": origin}
        assert server.status("GET", channel, UPGRADE | browsed | foreign) == 403
        assert server.status("DELETE", f"/api/kernels/{named}", browsed | foreign) in REFUSED
        assert server.status("POST", f"/voila/api/shutdown/{named}", browsed | foreign) in REFUSED
        if server.address.partition("?")[0].endswith("/"):  # the explorer's page: each has a kernel
            assert server.status("GET", "/", browsed | foreign) == 403
    assert named in server.kernels()


def test_what_a_kernel_says_is_closed_to_whoever_has_not_its_key(server: Served, named: str):
    connection = json.loads(Path(words(server.kernels()[named])[-1]).read_text())
    ports = {name: value for name, value in connection.items() if name.endswith("_port")}
    assert ports.keys() > {"iopub_port", "shell_port"}
    assert {name: mechanism(port) for name, port in ports.items()} == dict.fromkeys(ports, "CURVE")


def mechanism(port: int) -> str:
    """Return how a ZeroMQ socket wants to know who comes; "NULL" reads along."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"\xff".ljust(9, b"\0") + b"\x7f\x03\x00")  # a signature and a version
        greeting = b""
        while len(greeting) < 32 and (more := connection.recv(32)):
            greeting += more
    return greeting[12:32].rstrip(b"\0").decode()


def opened(context: Any, server: Served) -> tuple[Any, psutil.Process]:
    """Return a page that shows its figure, and its kernel."""
    page, before = context.new_page(), {*server.kernels()}
    page.set_default_timeout(60_000)
    with page.expect_websocket() as channel:
        page.goto(server.address)
    page.wait_for_selector(FIGURE)
    assert before
    named = channel.value.url.split("/")[5]
    return page, server.kernels()[named]


@needs_browser
def test_a_kernel_ends_with_its_page_however_that_ends(explorer: Served, browser: Any):
    crashed, first = opened(browser.new_context(), explorer)
    crashed.context.close()  # without a word to the page
    page, second = opened(browser.new_context(), explorer)
    page.reload()
    page.wait_for_selector(FIGURE)
    assert comes_true(lambda: gone(second.pid))
    page.get_by_role("button", name="Register and judge").click()  # its kernel answers
    page.get_by_role("alert").get_by_text("Say why the margin is what it is").wait_for()
    page.close(run_before_unload=True)
    assert comes_true(lambda: gone(first.pid))
    assert comes_true(lambda: len(explorer.kernels()) == 1), "one waits for the next page"


@needs_browser
def test_three_pages_have_a_kernel_and_a_fourth_says_so_until_one_is_closed(explorer: Served, browser: Any):
    at_once, ended = [0], threading.Event()

    def count() -> None:
        while not ended.wait(0.05):
            at_once.append(len(explorer.kernels()))

    watch = threading.Thread(target=count)
    watch.start()
    context = browser.new_context()
    try:
        pages = [opened(context, explorer) for _ in range(serving.PAGES)]
        fourth = context.new_page()
        assert fourth.goto(explorer.address).status == 503
        fourth.get_by_text("Close one of them").wait_for()
        page, process = pages[0]
        page.close(run_before_unload=True)
        fourth.wait_for_selector(FIGURE, timeout=60_000)
        assert gone(process.pid)
        for page, process in pages[1:]:
            assert page.locator(FIGURE).count() == 1
            assert not gone(process.pid)
    finally:
        ended.set()
        watch.join()
        context.close()
    assert max(at_once) == serving.PAGES
    assert comes_true(lambda: len(explorer.kernels()) == 1)


def test_the_next_explorer_removes_what_a_killed_one_left(tmp_path: Path):
    environment = os.environ | {"TMPDIR": str(tmp_path), "BENCHBOOK_RESULTS": str(tmp_path / "results")}
    command = [sys.executable, "-m", *COMMANDS["explorer"], "--no-browser"]
    with subprocess.Popen(command, env=environment, cwd=ROOT) as killed:
        assert comes_true(lambda: any(tmp_path.rglob("kernel-*.json")))
        family = [psutil.Process(killed.pid), *psutil.Process(killed.pid).children(recursive=True)]
        for process in family:
            process.kill()
    assert comes_true(lambda: all(gone(process.pid) for process in family))
    left = [*tmp_path.iterdir()]
    assert left
    with subprocess.Popen(command, env=environment, cwd=ROOT) as following:
        try:
            assert comes_true(lambda: not any(path.exists() for path in left) and any(tmp_path.rglob("ready")))
        finally:
            following.send_signal(signal.SIGINT)
    assert not [*tmp_path.iterdir()]
