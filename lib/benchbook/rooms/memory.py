"""The memory that a role may have: a control group for each, of either version, into which its processes go.

A folder of the kernel's cannot be held by an open file alone: what a killed owner left is empty, and goes when the next
is made.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import psutil

from benchbook import processes

_MEMBERS: Final = "cgroup.procs"
_PATIENCE_S: Final = 2.0
_POLL_S: Final = 0.01


class _Hierarchy(NamedTuple):
    """Where this process's control group is, where others can be made, and which files bound their memory."""

    own: Path
    base: Path
    limit: str
    swap: str


def limited(open_: ExitStack, count: int, size: int) -> list[str]:
    """Return so many new control groups, of so many bytes each, as the files that take processes in.

    Raises `OSError` where none can be made.
    """
    hierarchy = _hierarchy()
    _sweep(hierarchy.base)
    owner = psutil.Process()
    members = []
    for number in range(count):
        group = hierarchy.base / f"benchbook-{owner.pid}-{owner.create_time():.0f}-{number}"
        try:
            group.mkdir()
        except OSError as error:
            why = f"no control group, which memory needs, can be made in {hierarchy.base}: {error.strerror}"
            raise OSError(error.errno, why) from error
        open_.callback(_remove, group)
        (group / hierarchy.limit).write_text(f"{size}")
        if (swap := group / hierarchy.swap).exists():
            # The first version counts both together.
            swap.write_text(f"{size}" if "memsw" in hierarchy.swap else "0")
        members.append(str(group / _MEMBERS))
    return members


@contextmanager
def entered(members: str) -> Iterator[None]:
    """Have this process, and what it starts meanwhile, in a control group: what it has already counts where it was."""
    before = _hierarchy().own / _MEMBERS
    Path(members).write_text("0")
    try:
        yield
    finally:
        before.write_text("0")


def command(members: str) -> list[str]:
    """Return what goes before a program's command so that it starts in a control group."""
    return ["sh", "-c", 'echo 0 >"$0" && exec "$@"', members]


def _hierarchy() -> _Hierarchy:
    """Return the control groups of memory; raises `OSError` when there are none."""
    # By the controllers of each: of the second version, which has all in one, there are none.
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    paths = {name: path for _, names, path in (line.split(":", 2) for line in lines) for name in names.split(",")}
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        before, _, after = line.partition(" - ")
        root, mount = before.split()[3:5]
        kind, _, options = after.split()
        bounded = kind == "cgroup" and "memory" in options.split(",")
        path = Path(paths.get("memory" if bounded else "", ""))
        if not (bounded or kind == "cgroup2") or not path.is_relative_to(root):
            continue
        own = Path(mount) / path.relative_to(root)
        if bounded:
            return _Hierarchy(own, own, "memory.limit_in_bytes", "memory.memsw.limit_in_bytes")
        # One that has processes, but for the first of all, can have no others below it that are bounded.
        base = own if own == Path(mount) else own.parent
        if "memory" in (base / "cgroup.subtree_control").read_text(encoding="ascii").split():
            return _Hierarchy(own, base, "memory.max", "memory.swap.max")
    raise OSError("this system has no control groups of memory")


def _sweep(base: Path) -> None:
    """Remove what owners left that were killed."""
    for group in base.glob("benchbook-*-*-*"):
        pid, began = group.name.split("-")[1:3]
        with suppress(OSError, ValueError):  # it is in use, or its name is not of ours
            if not processes.runs(int(pid), float(began)):
                group.rmdir()


def _remove(group: Path) -> None:
    """Remove a control group, once those that were ended have left it; a later one's start removes it else."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(_POLL_S)
