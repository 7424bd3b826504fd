"""JupyterLab's server gives nothing to anyone without the token, also on a machine of a hub."""

import asyncio
import json
import shutil
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

import psutil
import pytest
from tornado.websocket import websocket_connect

from jupyter_lab import (
    COMMAND,
    ROOT,
    UPGRADE,
    RunningLab,
    can_mount,
    put_on_hub,
    read_command_line,
    serve_lab,
)
from waiting import comes_true

REFUSED = (302, 403, 404, 405)
"""To the login, forbidden, not there."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningLab]:
    home = tmp_path_factory.mktemp("lab")
    shutil.copytree(ROOT / "notebooks", home / "home" / "notebooks")
    command = put_on_hub(home, COMMAND) if can_mount() else COMMAND
    with serve_lab(home, command, BENCHBOOK_HOME=str(home / "home")) as up:
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


@pytest.mark.skipif(not can_mount(), reason="only root may mount a file system")
def test_a_hubs_settings_reach_another_jupyter_and_not_this_one(server: RunningLab, tmp_path: Path):
    show = [sys.executable, "-m", "jupyter_server", "--show-config"]
    found = subprocess.run(put_on_hub(tmp_path, show), capture_output=True, text=True, check=True)
    assert "base_url = '/hub/'" in found.stdout
    assert "/hub/" not in server.address


def test_a_message_of_the_size_of_a_picked_file_reaches_the_kernel(server: RunningLab, named: str):
    reply = asyncio.run(execute_with_metadata(server, named, {"content": "a" * 12_000_000}))
    assert reply["status"] == "ok"


async def execute_with_metadata(
    server: RunningLab, kernel: str, metadata: dict[str, str]
) -> dict[str, Any]:
    """Return a kernel's reply to a message with some metadata, sent as a page sends it."""
    channel = f"ws://127.0.0.1:{server.port}/api/kernels/{kernel}/channels?token={server.token}"
    connection = await websocket_connect(channel)
    header = {"msg_id": "1", "msg_type": "execute_request", "session": "1", "username": ""}
    content = {"code": "1", "silent": False}
    message = {"channel": "shell", "header": header, "content": content, "metadata": metadata}
    await connection.write_message(json.dumps({**message, "parent_header": {}}))
    while True:
        answer = await connection.read_message()
        assert answer, "the server closed the connection"
        received = json.loads(answer)
        if received["msg_type"] == "execute_reply":
            connection.close()
            return received["content"]


def test_a_plain_jupyterlab_of_the_environment_keeps_git_status_clean(tmp_path: Path):
    """Notebooks of other projects keep their outputs there."""
    checkout, other = tmp_path / "checkout", tmp_path / "other"
    for folder in (checkout, other):
        clone = ["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), folder]
        subprocess.run(clone, check=True)
    options = ["--allow-root", f"--ServerApp.root_dir={tmp_path}", "--ServerApp.port=0"]
    plain = [sys.executable, "-m", "jupyterlab", *options]
    own = {"HOME": str(tmp_path), "BENCHBOOK_HOME": str(checkout)}
    with serve_lab(tmp_path, plain, **own) as up:
        for folder in (checkout, other):
            save_with_output(up, folder.name, "notebooks/04_crud.ipynb")
    assert read_git_status(checkout) == ""
    assert read_git_status(other) == " M notebooks/04_crud.ipynb\n"


def save_with_output(server: RunningLab, folder: str, notebook: str) -> None:
    """Save a notebook as JupyterLab's page does after a cell ran."""
    address = f"http://127.0.0.1:{server.port}/api/contents/{folder}/{notebook}"
    headers = {"Authorization": f"token {server.token}"}
    with urlopen(Request(address, headers=headers)) as answer:
        model = json.load(answer)
    cell = next(one for one in model["content"]["cells"] if one["cell_type"] == "code")
    cell["execution_count"] = 1
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "1"}]
    sent = json.dumps(model).encode()
    with urlopen(Request(address, data=sent, headers=headers, method="PUT")) as answer:
        assert answer.status == 200


def read_git_status(folder: Path) -> str:
    status = ["git", "-C", str(folder), "status", "--porcelain"]
    return subprocess.run(status, capture_output=True, text=True, check=True).stdout


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
