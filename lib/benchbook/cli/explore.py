"""`benchbook explore`: the explorer as a page on this machine, by Voila; it ends with the command."""

import argparse
import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchbook import cli, folders, paths, processes

_PATIENCE_S: Final = 60.0
_TEMPLATES: Final = Path(__file__).parents[1] / "explorer" / "jupyter"
READY: Final = "BENCHBOOK_EXPLORER_READY"
"""The file that `benchbook.explorer.page` makes once its widgets stand."""
_JUPYTER: Final = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Say what the command can be asked."""
    parser.add_argument("--port", type=int, default=0, metavar="PORT", help="of the page (default: any free one)")
    parser.add_argument("--no-browser", action="store_true", help="print the address and open nothing")


def main(asked: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    if find_spec("voila") is None:
        raise cli.UsageError("explore needs voila, which is not installed here: run make setup")
    port, token = _free(asked.port), secrets.token_hex(16)
    address = f"http://127.0.0.1:{port}/?token={token}"
    with tempfile.TemporaryDirectory(prefix="benchbook-explore-", dir=folders.temporary()) as folder:
        log, ready = Path(folder) / "log", Path(folder) / "ready"
        with log.open("wb") as file:
            server = processes.spawn(
                _command(port, token),
                env={**_environment(folder), READY: str(ready)},
                stdout=file,
                stderr=file,
                death_signal=signal.SIGTERM,
            )
        try:
            if not _made(ready, server):
                raise cli.UsageError(f"the page did not start:\n{log.read_text(errors='replace')[-2000:]}")
            print(f"{address}\n(Ctrl-C ends it)", flush=True)
            if not asked.no_browser:
                threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
            server.wait()
            raise cli.UsageError(f"the page's server ended:\n{log.read_text(errors='replace')[-2000:]}")
        except KeyboardInterrupt:
            return cli.DONE
        finally:
            processes.stop(server)


def _command(port: int, token: str) -> list[str | Path]:
    """Return Voila's command: a kernel that has run the notebook waits, so that the page is there at once."""
    options = ("--no-browser", "--Voila.ip=127.0.0.1", f"--Voila.port={port}", "--Voila.port_retries=0",
               f"--token={token}", "--template=benchbook", "--preheat_kernel=True", "--pool_size=1",
               "--show_tracebacks=True")  # fmt: skip
    return [sys.executable, "-m", "voila", paths.notebooks() / "explorer.ipynb", *options]


def _environment(folder: str) -> dict[str, str]:
    """Return this environment with this Python first, and without the user's own settings of Jupyter."""
    first = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    own = {"PATH": first, "BENCHBOOK_HOME": str(paths.root()), "JUPYTER_PATH": str(_TEMPLATES)}
    return {**os.environ, **dict.fromkeys(_JUPYTER, folder), **own}


def _free(port: int) -> int:
    """Return a port that is free: the one that was asked for, if any was."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            raise cli.UsageError(f"--port {port}: {error}") from error
        return int(probe.getsockname()[1])


def _made(ready: Path, server: "subprocess.Popen[bytes]") -> bool:
    """Return whether the page is there, as soon as it has been made: who opens it then waits for nothing."""
    deadline = time.monotonic() + _PATIENCE_S
    while server.poll() is None and time.monotonic() < deadline:
        if ready.exists():
            return True
        time.sleep(0.05)
    return False
