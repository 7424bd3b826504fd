"""JupyterLab as its command starts it, and requests to its port."""

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from checkout import ROOT
from waiting import PATIENCE_S, comes_true

COMMAND = [sys.executable, "-m", "benchbook.cli.lab", "--ServerApp.port=0"]
HUB_SETTINGS = """
c.IdentityProvider.token = c.ServerApp.token = ""
c.PasswordIdentityProvider.hashed_password = ""
c.ServerApp.allow_origin = "*"
c.ServerApp.allow_remote_access = True
c.ServerApp.base_url = "/hub/"
c.ServerApp.disable_check_xsrf = True
c.ServerApp.tornado_settings = {"websocket_max_message_size": 1000}
"""
"""Settings of an administrator whose hub has a login of its own."""
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
           "Sec-WebSocket-Key": "c3VjaCBhIGtleSBpcyBvbmU="}  # fmt: skip


@dataclass(frozen=True)
class RunningLab:
    """A server of Jupyter's that runs."""

    pid: int
    address: str
    """With its token."""
    argument: Path
    """The file in which the browser wrote what it was started with."""

    @property
    def token(self) -> str:
        return self.address.partition("token=")[2]

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    def answers(self) -> bool:
        """Return whether anything listens there: JupyterLab prints its address a moment before."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def kernels(self) -> dict[str, psutil.Process]:
        """Return its kernels that run, by the names that stand on their command lines."""
        found = {}
        for child in psutil.Process(self.pid).children(recursive=True):
            command_line = " ".join(read_command_line(child))
            named = re.search(r"kernel-([\w-]+)\.json", command_line)
            if named:
                found[named[1]] = child
        return found

    @contextmanager
    def send_request(
        self, method: str, path: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[http.client.HTTPResponse]:
        """Yield the response to a request, with its body unread and the connection open."""
        with closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        ) as connection:
            connection.putrequest(method, path, skip_host=True)
            for name, value in {"Host": f"127.0.0.1:{self.port}", **(headers or {})}.items():
                connection.putheader(name, value)
            connection.endheaders()
            yield connection.getresponse()

    def read_status(self, method: str, path: str, headers: Mapping[str, str] | None = None) -> int:
        """Return the status of the response to a request."""
        with self.send_request(method, path, headers) as answer:
            return answer.status

    def log_in(self) -> dict[str, str]:
        """Return the cookies of a browser that has opened the page."""
        with self.send_request("GET", f"/api/kernels/0-0-0-0-0?token={self.token}") as answer:
            cookies = answer.headers.get_all("Set-Cookie") or []
        assert cookies
        return {"Cookie": "; ".join(cookie.partition(";")[0] for cookie in cookies)}

    @contextmanager
    def open_kernel(self) -> Iterator[str]:
        """Yield the name of the kernel of a notebook that is open meanwhile."""
        with self.send_request("POST", f"/api/kernels?token={self.token}") as answer:
            named = re.search(r'"id": ?"([\w-]{36})"', answer.read().decode())
        assert named
        with self.send_request(
            "GET", f"/api/kernels/{named[1]}/channels?token={self.token}", UPGRADE
        ) as channel:
            assert channel.status == 101
            yield named[1]
        self.read_status("DELETE", f"/api/kernels/{named[1]}?token={self.token}")


def read_command_line(process: psutil.Process) -> list[str]:
    """Return a process's command line; of one that has ended, none."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def put_on_hub(folder: Path, command: list[str]) -> list[str]:
    """Return a command that runs where the machine's settings of Jupyter are those of a hub.

    It has a file system of its own over the folder of these settings, which only root may mount.
    """
    settings = folder / "jupyter_server_config.py"
    settings.write_text(HUB_SETTINGS)
    mount = 'mount -t tmpfs tmpfs /usr/local/etc && install -D -t /usr/local/etc/jupyter "$0"'
    return ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', str(settings), *command]


def can_mount() -> bool:
    """Return whether a command can have file systems of its own."""
    if not shutil.which("unshare"):
        return False
    mount = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/usr/local/etc"]
    return subprocess.run(mount, capture_output=True, check=False).returncode == 0


@contextmanager
def serve_lab(
    folder: Path, command: list[str] = COMMAND, **environment: str
) -> Iterator[RunningLab]:
    """Start JupyterLab by its command, with a browser that only writes down what it was given."""
    browser, argument, log = folder / "browser", folder / "argument", folder / "lab.log"
    browser.write_text(
        f'#!/bin/sh\nprintf "%s" "$1" > "{argument}.new" && mv "{argument}.new" "{argument}"\n'
    )
    browser.chmod(0o755)
    own = os.environ | {
        "BENCHBOOK_RESULTS": str(folder / "results"),
        "BROWSER": f"{browser} %s",
        **environment,
    }
    own["PYTHONFAULTHANDLER"] = "1"
    with log.open("w") as file:
        server = subprocess.Popen(
            command,
            env=own,
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=ROOT,
        )
    try:
        pattern = re.compile(r"http://127\.0\.0\.1:\d+/\S*\?token=\w+")
        assert comes_true(lambda: server.poll() is not None or pattern.search(log.read_text()))
        address = pattern.search(log.read_text())
        assert address, log.read_text()
        up = RunningLab(server.pid, address[0], argument)
        assert comes_true(up.answers)
        yield up
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            server.send_signal(signal.SIGABRT)  # which prints where each of its threads is
            server.wait()
            raise AssertionError(f"JupyterLab did not end:\n{log.read_text()}") from None
