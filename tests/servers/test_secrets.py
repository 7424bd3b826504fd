"""No password, token or key is on a command line, or readable by another account."""

import multiprocessing
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from stat import S_ISREG

import psutil
import pytest

from jupyter_lab import ROOT, serve_lab
from shared_servers import is_here

STRANGER = 64_999
"""Another account: not that as which root's servers run."""

YOUNG_S, OLD_S = 2.0, 0.2
"""How long a process is young, and how often one is read that is not."""

LARGEST = 20_000
"""The size of the largest file that is read: larger ones have no secret."""

DATA = {"primary", "replica"}
"""Folders of the servers' data, which are not looked into."""

PRODUCTS = ("mongodb", "postgresql", "mysql", "mariadb", "couchdb")
"""Products whose servers stay up."""

DATABASES = {"mongodb": "mongodb", "mariadb": "mariadb+json"}
"""The databases that a run measures: on a document store, and on a server with SQL."""

SECRETS = tuple(re.compile(pattern) for pattern in (
    rb"://[^:/@\s'\"]*:([^@/\s'\"]{8,})@",  # in an address
    rb"(?i)(?:password|passwd|secret|token|secretkey|\bkey|identified by)"
    rb"[\"']?[=:\s]+[\"']([^\"'\s]{8,})[\"']",
    rb"(?i)(?:password|secret|token)=([^&;\s\"'\0]{8,})",
    rb"(?m)^([A-Za-z0-9+/=]{60,})$",  # a line of a key
))  # fmt: skip
ALONE = re.compile(r"(?i)password|passwd|login|pgpass|secret|token|\.key$")
"""Files that hold a secret and nothing else."""


class Files:
    """The small files of a folder, each once in each state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, int] = {}

    def new(self) -> Iterator[tuple[Path, bytes]]:
        """Yield readable content that is new since the last call."""
        for folder, folders, names in os.walk(self._folder):
            folders[:] = {*folders} - DATA
            for path in (f"{folder}/{name}" for name in names):
                with suppress(OSError):
                    state = Path(path).stat()
                    if (
                        self._read.get(path) != state.st_mtime_ns
                        and S_ISREG(state.st_mode)
                        and state.st_size < LARGEST
                    ):
                        yield Path(path), Path(path).read_bytes()
                        self._read[path] = state.st_mtime_ns


class Stranger:
    """A process that reads all it can as another account; without root, only command lines."""

    def __init__(self, folder: Path) -> None:
        fork = multiprocessing.get_context("fork")
        self._ours, theirs = fork.Pipe()
        self._process = fork.Process(target=read_everything, args=(theirs, folder), daemon=True)
        self._process.start()
        theirs.close()

    def end(self) -> tuple[set[bytes], set[bytes]]:
        """Return the command lines and the other texts that it saw."""
        self._ours.send(None)
        lines, texts = self._ours.recv()
        self._process.join()
        return lines, texts


def read_everything(orders: Connection, folder: Path) -> None:
    """Read until the order to stop; then report the findings.

    A young process is read in each round, because it may yet become another program; an old one
    a few times a second.
    """
    other = os.geteuid() == 0
    if other:
        os.setgroups([])
        os.setgid(STRANGER)
        os.setuid(STRANGER)
    files, lines, texts = Files(folder), set[bytes](), set[bytes]()
    since: dict[int, float] = {}
    read_all = 0.0
    while not orders.poll(0.02):
        now = time.monotonic()
        since = {pid: since.get(pid, now) for pid in psutil.pids()}
        every = now > read_all + OLD_S
        if every:
            read_all = now
        for pid, start in since.items():
            if not every and now >= start + YOUNG_S:
                continue
            with suppress(OSError):
                lines.add(Path(f"/proc/{pid}/cmdline").read_bytes())
                texts |= {Path(f"/proc/{pid}/environ").read_bytes()} if other else set()
        texts |= {text for _, text in files.new()} if other else set()
    orders.send((lines, texts))


class Known:
    """Every secret of the programs, with its place: their files, environments and output."""

    def __init__(self, folder: Path) -> None:
        self.found: dict[bytes, set[str]] = {}
        self._files = Files(folder)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._collect)
        self._thread.start()

    def note(self, secret: bytes, where: str) -> None:
        self.found.setdefault(secret, set()).add(where)

    def take(self, text: bytes, where: str) -> None:
        for pattern in SECRETS:
            for secret in pattern.findall(text):
                self.note(secret, where)

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _collect(self) -> None:
        asked: set[int] = set()
        while not self._ended.wait(0.1):
            for path, text in self._files.new():
                self.take(text, path.name)
                if ALONE.search(path.name) and len(text.split()) == 1 and len(text) >= 8:
                    self.note(text.strip(), path.name)
            present = {*psutil.pids()}
            for child in psutil.Process().children(recursive=True) if present - asked else ():
                if child.pid in present - asked:
                    with suppress(psutil.Error):
                        self.take(
                            "\0".join(map("=".join, child.environ().items())).encode(),
                            "an environment",
                        )
            asked = present


@contextmanager
def start_pairs(product: str) -> Iterator["subprocess.Popen[bytes]"]:
    command = [
        sys.executable,
        "-m",
        "benchbook.cli",
        "servers",
        "up",
        product,
        "--topology",
        "replicated",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)


def read_output(process: "subprocess.Popen[bytes]") -> bytes:
    """Return the output of servers that stay up, once they run."""
    assert process.stdout
    lines = []
    for line in process.stdout:
        if line.startswith(b"# Ctrl-C"):
            return b"".join(lines)
        lines.append(line)
    raise AssertionError("the servers did not start")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows processes as files")
def test_no_secret_is_on_a_command_line_or_can_be_read_by_another_account(
    tmp_path: Path, temporary: Path
):
    shutil.copytree(ROOT / "notebooks", tmp_path / "home" / "notebooks")
    products = [product for product in PRODUCTS if is_here(product, "replicated")]
    stranger, known = Stranger(temporary), Known(temporary)
    with ExitStack() as standing:
        standing.callback(known.end)
        run = standing.enter_context(run_cell(filter(None, map(DATABASES.get, products)), tmp_path))
        kept = {product: standing.enter_context(start_pairs(product)) for product in products}
        (tmp_path / "lab").mkdir()
        lab = standing.enter_context(
            serve_lab(tmp_path / "lab", BENCHBOOK_HOME=str(tmp_path / "home"))
        )
        known.note(lab.token.encode(), "lab")
        standing.enter_context(lab.open_kernel())
        for kernel in lab.kernels().values():
            connection = Path(kernel.cmdline()[-1])  # it has the key of the kernel's messages
            known.take(connection.read_bytes(), connection.name)
        for product, process in kept.items():
            known.take(read_output(process), product)
        said, _ = run.communicate()
        assert run.returncode == 0, said
    lines, texts = stranger.end()
    everywhere = set().union(*known.found.values())
    assert {"lab", *products} <= everywhere
    assert any(name.startswith("kernel-") for name in everywhere)
    assert not [
        where for secret, where in known.found.items() if any(secret in line for line in lines)
    ]
    assert not [
        where for secret, where in known.found.items() if any(secret in text for text in texts)
    ]


@contextmanager
def run_cell(databases: Iterable[str], folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run a small cell on a pair of each."""
    chosen = (
        *("arm=a", "language=python", "topology=replicated", "calls=single", "constraints=on"),
        *("durability=default", "delete=each", "network=none"),
        f"database={','.join(databases)}",
    )
    small = ("n=10", "repetitions=1", "blocks=1")
    command = [
        sys.executable,
        "-m",
        "benchbook.cli",
        "run",
        "crud",
        "--profile",
        "paper",
        "--noisy",
    ]
    for condition in chosen:
        command += ["--where", condition]
    for change in small:
        command += ["--set", change]
    environment = os.environ | {"BENCHBOOK_RESULTS": str(folder / "results")}
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
