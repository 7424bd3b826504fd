"""JupyterLab's server gives nothing to anyone without the token."""

import json
import shutil
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

import psutil
import pytest

from jupyter_lab import ROOT, UPGRADE, RunningLab, read_command_line, serve_lab
from waiting import comes_true

REFUSED = (302, 403, 404, 405)
"""To the login, forbidden, not there."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", home / "home" / "notebooks")
    with serve_lab(home, BENCHBOOK_HOME=str(home / "home")) as up:
        yield up


@pytest.fixture(scope="module")
def named(server: RunningLab) -> Iterator[str]:
    """Yield the name of the kernel of a notebook that is open while strangers ask."""
    with server.open_kernel() as named:
        yield named


def test_the_browser_is_started_with_a_file_of_the_owners_alone_and_without_the_token(
    server: RunningLab,
):
    assert comes_true(server.argument.exists)
    argument = server.argument.read_text()
    assert server.token not in argument
    assert argument.startswith("file://")
    file = Path(unquote(urlsplit(argument).path))
    assert server.address in file.read_text()
    readable = [
        path for path in (file, file.parent) if not stat.S_IMODE(path.stat().st_mode) & 0o077
    ]
    assert readable, "another account can read it"


def test_who_reads_command_lines_gets_nothing(server: RunningLab, named: str):
    assert named in server.kernels()
    asked = {("GET", "/"), ("GET", "/lab"), ("GET", "/api/contents"), ("POST", "/api/kernels"),
             ("GET", f"/api/kernels/{named}"), ("DELETE", f"/api/kernels/{named}")}  # fmt: skip
    for method, path in asked:
        assert server.read_status(method, path) in REFUSED, path
    for path in (f"/api/kernels/{named}/channels", "/api/events/subscribe"):
        assert server.read_status("GET", path, UPGRADE) in REFUSED, path
    for child in psutil.Process(server.pid).children(recursive=True):
        assert server.token not in " ".join(read_command_line(child))


def test_a_foreign_host_is_refused(server: RunningLab, named: str):
    foreign = {"Host": f"evil.example:{server.port}"}
    page = "/lab"
    browsed = server.log_in()
    channel = f"/api/kernels/{named}/channels?token={server.token}"
    assert server.read_status("GET", page, browsed) == 200
    for path in (
        page,
        f"{page}?token={server.token}",
        f"/api/kernels/{named}?token={server.token}",
    ):
        assert server.read_status("GET", path, browsed | foreign) in (403, 404), path
    assert server.read_status("GET", channel, UPGRADE) == 101
    assert server.read_status("GET", channel, UPGRADE | foreign) in (403, 404)


def test_a_foreign_origin_is_refused(server: RunningLab, named: str):
    browsed, own = server.log_in(), {"Origin": f"http://127.0.0.1:{server.port}"}
    channel = f"/api/kernels/{named}/channels"
    assert server.read_status("GET", channel, UPGRADE | browsed | own) == 101
    for origin in ("http://evil.example", "http://127.0.0.1:1", "null"):
        foreign = {"Origin": origin}
        assert server.read_status("GET", channel, UPGRADE | browsed | foreign) == 403
        assert server.read_status("DELETE", f"/api/kernels/{named}", browsed | foreign) in REFUSED
    assert named in server.kernels()


def test_a_kernels_messages_cannot_be_read_without_its_key(server: RunningLab, named: str):
    connection = json.loads(Path(read_command_line(server.kernels()[named])[-1]).read_text())
    ports = {name: value for name, value in connection.items() if name.endswith("_port")}
    assert ports.keys() > {"iopub_port", "shell_port"}
    assert {name: mechanism(port) for name, port in ports.items()} == dict.fromkeys(ports, "CURVE")


def mechanism(port: int) -> str:
    """Return how a ZeroMQ socket wants to know who comes; "NULL" reads along."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(b"\xff".ljust(9, b"\0") + b"\x7f\x03\x00")  # a signature and a version
        greeting = b""
        while len(greeting) < 32:
            more = connection.recv(32)
            if not more:
                break
            greeting += more
    return greeting[12:32].rstrip(b"\0").decode()
