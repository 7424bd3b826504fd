"""A container engine for tests, with images made of this machine's files, without a registry."""

import io
import os
import re
import shutil
import socket
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import psutil

from benchbook.registry import products
from benchbook.servers import processes
from benchbook.servers.containers import connect
from benchbook.servers.programs import AvailableServer, find_startable
from waiting import comes_true

TOOLS: Final = tuple(map(Path, ("/bin/sh", "/bin/cat", "/bin/cp", "/bin/mkdir", "/usr/bin/env")))
"""Programs that a server's start needs in an image, as well as the product."""


_OPTIONS: Final = ["--runtime", "runc", "--cgroup-manager", "cgroupfs", "--events-backend", "file"]
_STORAGE: Final = ("overlay", "vfs")
"""How containers get an image's files: by layers where the kernel can, else by copies."""
_FOLDERS: Final = {"--root": "root", "--runroot": "run", "--tmpdir": "tmp"}


class Podman:
    """Podman's service, for root, with nothing in it; a killed one can be started again."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="test-podman-"))
        self.socket = f"unix://{self.folder / 'podman.sock'}"
        where: list[str | Path] = []
        for option, name in _FOLDERS.items():
            where += [option, self.folder / name]
        for storage in _STORAGE:
            self.command = ["podman", *_OPTIONS, "--storage-driver", storage, *where]
            if subprocess.run([*self.command, "info"], capture_output=True).returncode == 0:
                break
            self._unmount()
            shutil.rmtree(self.folder / "root", ignore_errors=True)
        self.start()

    def start(self) -> None:
        """Start the service, and wait until it listens."""
        command = [*self.command, "system", "service", "--time", "0", self.socket]
        with (self.folder / "log").open("ab") as log:
            self.service = processes.spawn(command, env=dict(os.environ), stdout=log, stderr=log)
        comes_true(self._listens)

    def _listens(self) -> bool:
        """Return whether the service takes connections: its socket is there before it does."""
        with socket.socket(socket.AF_UNIX) as client:
            return client.connect_ex(self.socket.removeprefix("unix://")) == 0

    def kill(self) -> None:
        """Kill the service, as a machine may that runs out of memory."""
        self.service.kill()
        self.service.wait()
        (self.folder / "podman.sock").unlink()

    def remove(self) -> None:
        """Stop the service, and take away all that it holds."""
        processes.stop(self.service)
        self._unmount()
        shutil.rmtree(self.folder)

    def _unmount(self) -> None:
        """Let go of what its layers are mounted by, the innermost first."""
        mounted = [mount.mountpoint for mount in psutil.disk_partitions(all=True)]
        for mount in reversed([path for path in mounted if Path(path).is_relative_to(self.folder)]):
            subprocess.run(["umount", mount], check=True)


@contextmanager
def run_podman() -> Iterator[Podman]:
    """Yield an empty container engine, and remove it with its contents."""
    engine = Podman()
    try:
        yield engine
    finally:
        engine.remove()


def add_product(socket: str, product: str) -> str:
    """Make an image of a product's servers under the name of the pinned one; return the name."""
    found = find_startable(product)
    assert isinstance(found, AvailableServer)
    server, *_ = found.programs.values()
    # it finds what belongs to it by its own folder: in the image it lies where it lies here
    package = server.parents[1]
    libraries = (
        [server.parents[3] / f"{server.parents[2].name}.libs"] if found.source == "wheel" else []
    )
    reference = products.load_images()[product].reference
    add_image(socket, reference, list(found.programs.values()), [package, *libraries])
    return reference


def add_image(
    socket: str, reference: str, programs: Sequence[Path], folders: Sequence[Path] = ()
) -> None:
    """Make an image of programs on its PATH, of the libraries that they load, and of folders."""
    client = connect(socket, None)
    answer = client.import_image_from_data(_pack_root(programs, folders))
    client.tag(re.findall(r"[0-9a-f]{64}", answer)[-1], *reference.rsplit(":", 1))


def _pack_root(programs: Sequence[Path], folders: Sequence[Path]) -> bytes:
    """Return the file system of an image, as a tar file."""
    files = [*TOOLS]
    for folder in folders:
        files += folder.rglob("*")
    binaries = [path for path in (*programs, *TOOLS) if path.is_file()]
    binaries += [path for path in files if ".so" in path.name]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", dereference=True) as tar:
        every = dict.fromkeys([*files, *programs, *_list_libraries(binaries)])
        parents: dict[Path, int] = {}
        for path in every:
            parents |= dict.fromkeys(reversed(path.parents), 0o755)
        modes = parents | {Path("/tmp"): 0o1777, Path("/etc"): 0o755}
        for path, mode in modes.items():
            entry = tarfile.TarInfo(str(path).lstrip("/") or ".")
            entry.type, entry.mode = tarfile.DIRTYPE, mode
            tar.addfile(entry)
        for path in every:
            if path not in parents:
                tar.add(path, str(path), recursive=False)
        for path in programs:
            link = tarfile.TarInfo(f"usr/bin/{path.name}")
            if Path("/", link.name) != path:
                link.type, link.linkname = tarfile.SYMTYPE, str(path)
                tar.addfile(link)
    return content.getvalue()


def _list_libraries(programs: Iterable[Path]) -> list[Path]:
    """Return the libraries that programs load."""
    loaded = subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout
    return [Path(os.path.normpath(path)) for path in re.findall(r"(/\S+) \(0x", loaded)]
