"""`benchbook explore`: the explorer as a page on this machine, by Voila; it ends with the command."""

import argparse
import secrets
import signal
import socket
import subprocess
import threading
import time
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchbook import cli, explorer, folders, jupyterlab, paths, processes

_PATIENCE_S: Final = 60.0
_LOOKS_S: Final = 0.05
_TEMPLATES: Final = Path(explorer.__file__).parent / "jupyter"


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
    with folders.Folder("explore") as folder:
        log, ready = folder / "log", folder / "ready"
        with log.open("wb") as file:
            server = processes.spawn(
                _command(port, folder),
                env=jupyterlab.environment(folder)
                | {"BENCHBOOK_HOME": str(paths.root()), "JUPYTER_PATH": str(_TEMPLATES)}
                | {explorer.READY: str(ready), explorer.TOKEN: token},
                stdout=file,
                stderr=file,
                death_signal=signal.SIGTERM,
            )
        try:
            if not _made(ready, server):
                raise cli.UsageError(f"the page did not start:\n{log.read_text(errors='replace')[-2000:]}")
            print(f"{address}\n(Ctrl-C ends it)", flush=True)
            if not asked.no_browser:
                threading.Thread(target=webbrowser.open, args=[_redirect(folder, address)], daemon=True).start()
            while server.poll() is None:  # wait() would miss a Ctrl-C that comes just before it
                time.sleep(_LOOKS_S)
            raise cli.UsageError(f"the page's server ended:\n{log.read_text(errors='replace')[-2000:]}")
        except KeyboardInterrupt:
            return cli.DONE
        finally:
            processes.stop(server)


def _command(port: int, folder: Path) -> list[str | Path]:
    """Return what starts the server; its kernels' keys lie in a folder of ours."""
    options = ("--no-browser", "--Voila.ip=127.0.0.1", f"--Voila.port={port}", "--Voila.port_retries=0",
               f"--Voila.connection_dir_root={folder}", "--template=benchbook", "--show_tracebacks=True",
               "--MappingKernelManager.transport_encryption=auto")  # fmt: skip
    return [*processes.PYTHON, "-m", "benchbook.explorer.serving", paths.notebooks() / "explorer.ipynb", *options]


def _redirect(folder: Path, address: str) -> str:
    """Return the address of a file of the owner's alone that leads to the page: browsers are given it as an argument.

    Every account of the machine can read arguments, and the page's address has the token in it.
    """
    file = folder / "open.html"
    file.touch(mode=0o600)
    file.write_text(f'<meta http-equiv="refresh" content="0; url={address}"><a href="{address}">Explorer</a>\n')
    return file.as_uri()


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
        time.sleep(_LOOKS_S)
    return False
