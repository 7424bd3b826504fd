"""Network namespaces: made without a name, entered by a thread, and gone with the last file that is open on them.

Root makes them, and whoever is in a user namespace of his own with its capabilities. A process with threads can enter
none of these, so another account's starts there: `AT_HOME` goes before its command.
"""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from pyroute2 import IPRoute

T = TypeVar("T")

_CLONE_NEWNET: Final = 0x40000000

AT_HOME: Final = ("unshare", "--user", "--map-current-user", "--keep-caps", "--net")
"""What goes before a command so that it may make network namespaces: a program of util-linux.

It runs as the same user, in a user namespace of its own whose capabilities it and what it starts have, over nothing but
what is made there. A thread returns only to a network namespace that is of it, too: so there is one to start from.
"""

_NEEDED: Final = 1 << 12 | 1 << 21
"""The capabilities CAP_NET_ADMIN and CAP_SYS_ADMIN."""

_SETTINGS: Final = (
    ("user.max_user_namespaces", "0", "10000"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
)
"""Settings of kernels, Debian's and Ubuntu's too: the value that forbids user namespaces, and one that does not."""


def entitled() -> bool:
    """Return whether this process may make network namespaces, and enter them."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    (effective,) = (line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return int(effective, 16) & _NEEDED == _NEEDED


def refused_users() -> str | None:
    """Return why this account gets no user namespace of its own, with what helps; None when it does."""
    if shutil.which(AT_HOME[0]) is None:
        return f"run as root, or have {AT_HOME[0]} (of util-linux) on PATH"
    done = subprocess.run([*AT_HOME, "true"], capture_output=True, text=True, timeout=10)
    if not done.returncode:
        return None
    for name, forbidding, value in _SETTINGS:
        setting = Path("/proc/sys", *name.split("."))
        if setting.exists() and setting.read_text(encoding="ascii").strip() == forbidding:
            return f"run as root, or have root allow user namespaces: sysctl {name}={value}"
    return f"run as root: there are no user namespaces for this account ({done.stderr.strip()})"


def new(open_: ExitStack) -> int:
    """Return an open new network namespace; a thread makes it, which ends with it. Raises `OSError`."""

    def make() -> int:
        _call("unshare", _CLONE_NEWNET)
        return _own()

    descriptor = in_thread(make)
    open_.callback(os.close, descriptor)
    return descriptor


@contextmanager
def entered(namespace: int) -> Iterator[None]:
    """Have this thread, and what it starts meanwhile, in an open network namespace."""
    before = _own()
    try:
        _call("setns", namespace, _CLONE_NEWNET)
        try:
            yield
        finally:
            _call("setns", before, _CLONE_NEWNET)
    finally:
        os.close(before)


def within(namespace: int, work: Callable[["IPRoute"], T]) -> T:
    """Return what is done over netlink in a namespace; `OSError` when the kernel refuses it."""

    def run() -> T:
        # Only now: most cells need no network, and it is slow to import.
        from pyroute2 import IPRoute, NetlinkError

        with entered(namespace), IPRoute() as netlink:
            try:
                return work(netlink)
            except NetlinkError as error:
                raise OSError(error.code, os.strerror(error.code)) from error

    return in_thread(run)


def in_thread(work: Callable[[], T]) -> T:
    """Return what is done in a thread of its own: no event loop runs there, and what it enters ends with it."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def _own() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _call(name: str, *arguments: int) -> None:
    """Call a function of the C library, which Python has from 3.12 on."""
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
