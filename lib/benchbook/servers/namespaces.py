"""Network namespaces for the roles of a network, and the switch that joins their cards.

Namespaces have no name. Each exists while a file is open on it, so that the kernel removes it and
its cards when the process ends. A thread enters one.

Root may make them. So may another account, in a user namespace where it has the capabilities. A
process with threads cannot enter one, so the account's command starts there (`UNSHARE_COMMAND`).
"""

import ctypes
import errno
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

# pyroute2 takes 0.2 s to import, and most cells need no network: it is imported where it is used.
if TYPE_CHECKING:
    from pyroute2 import IPRoute

T = TypeVar("T")

CARD: Final = "eth0"
"""The name of each role's network card."""

UNSHARE_COMMAND: Final = ("unshare", "--user", "--map-current-user", "--keep-caps", "--net")
"""Arguments before a command (of util-linux) so that it may make network namespaces.

It runs as the same user, in a new user namespace, and has the capabilities over what is made there.
It also gets a network namespace: a thread can only return to one of its own user namespace.
"""

_CLONE_NEWNET: Final = 0x40000000

_CAPABILITIES: Final = 1 << 12 | 1 << 21
"""CAP_NET_ADMIN and CAP_SYS_ADMIN."""

_KERNEL_SETTINGS: Final = (
    ("user.max_user_namespaces", "0", "10000"),
    ("kernel.unprivileged_userns_clone", "0", "1"),
    ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
)
"""Kernel settings, also Debian's and Ubuntu's: name, value that forbids user namespaces, other."""

_QUEUE_B: Final = 256 * 1024
"""Bytes that wait at a card, or at a port of the switch, before the next one is dropped."""

_BURST_S: Final = 0.001
"""A card may send the unused bytes of this time at once.

On busy processors the kernel is late by more than half of that: 1 Gbit/s would lose a twentieth.
"""


def can_make_namespaces() -> bool:
    """Return whether this process may make network namespaces, and enter them."""
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    (effective,) = (line.split()[1] for line in status.splitlines() if line.startswith("CapEff:"))
    return int(effective, 16) & _CAPABILITIES == _CAPABILITIES


def find_user_namespace_fault() -> str | None:
    """Return why this account gets no user namespace, with a remedy; None when it does."""
    if shutil.which(UNSHARE_COMMAND[0]) is None:
        return f"run as root, or have {UNSHARE_COMMAND[0]} (of util-linux) on PATH"
    done = subprocess.run([*UNSHARE_COMMAND, "true"], capture_output=True, text=True, timeout=10)
    if done.returncode == 0:
        return None
    for name, forbidding, value in _KERNEL_SETTINGS:
        setting = Path("/proc/sys", *name.split("."))
        if setting.exists() and setting.read_text(encoding="ascii").strip() == forbidding:
            return f"run as root, or have root allow user namespaces: sysctl {name}={value}"
    return f"run as root: there are no user namespaces for this account ({done.stderr.strip()})"


def join_cards(open_: ExitStack, count: int, rate: float | None, delay: float) -> list[int]:
    """Return open network namespaces, each with a card; a switch in one more joins the cards.

    Parameters
    ----------
    open_
        Closes the namespaces.
    rate, delay
        Bits per second and seconds, as `benchbook.servers.networks.Network` has them.

    Raises
    ------
    OSError
        When this kernel cannot make them.
    """
    switch, *cards = (_make_namespace(open_) for _ in range(1 + count))
    _run_netlink(switch, partial(_make_switch, cards=cards, rate=rate, delay=delay))
    for number, card in enumerate(cards):
        address = choose_card_address(number)
        _run_netlink(card, partial(_set_up_card, address=address, rate=rate, delay=delay))
    return cards


def choose_card_address(number: int) -> str:
    """Return the address of a card, by its number from 0."""
    return f"198.18.0.{number + 1}"


def read_card_bytes() -> tuple[float, float]:
    """Return the bytes, in frames, that the card of this thread's namespace received and sent."""
    # After the card's name come eight columns of what it received, then those of what it sent.
    table = Path("/proc/thread-self/net/dev").read_text(encoding="ascii")
    (numbers,) = re.findall(rf"^\s*{CARD}:(.*)$", table, re.MULTILINE)
    columns = numbers.split()
    return float(columns[0]), float(columns[8])


@contextmanager
def enter_namespace(namespace: int) -> Iterator[None]:
    """Run this thread, and its new children, in an open network namespace."""
    before = _open_own_namespace()
    try:
        _call_libc("setns", namespace, _CLONE_NEWNET)
        try:
            yield
        finally:
            _call_libc("setns", before, _CLONE_NEWNET)
    finally:
        os.close(before)


def set_loopback_up(netlink: "IPRoute") -> None:
    """Set the loopback of a new network namespace up."""
    (loopback,) = netlink.link_lookup(ifname="lo")
    netlink.link("set", index=loopback, state="up")


def _make_namespace(open_: ExitStack) -> int:
    def make() -> int:
        _call_libc("unshare", _CLONE_NEWNET)
        return _open_own_namespace()

    descriptor = _run_in_thread(make)
    open_.callback(os.close, descriptor)
    return descriptor


def _run_netlink(namespace: int, work: Callable[["IPRoute"], T]) -> T:
    """Call a function with netlink in a namespace; `OSError` when the kernel refuses."""

    def run() -> T:
        from pyroute2 import IPRoute, NetlinkError

        with enter_namespace(namespace), IPRoute() as netlink:
            try:
                return work(netlink)
            except NetlinkError as error:
                raise OSError(error.code, os.strerror(error.code)) from error

    return _run_in_thread(run)


def _run_in_thread(work: Callable[[], T]) -> T:
    """Call a function in a new thread, without event loop; its namespace ends with it."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result()


def _open_own_namespace() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def _call_libc(name: str, *arguments: int) -> None:
    # Python has these functions from 3.12 on.
    library = ctypes.CDLL(None, use_errno=True)
    if getattr(library, name)(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def _make_switch(
    netlink: "IPRoute", cards: Sequence[int], rate: float | None, delay: float
) -> None:
    """Make the switch with a port for each card, and move each card into its namespace."""
    # The switch.
    with _name_kernel_module("bridge"):
        netlink.link("add", ifname="switch", kind="bridge")
    (switch,) = netlink.link_lookup(ifname="switch")
    netlink.link("set", index=switch, state="up")
    # A link per card: one end is the switch's port, the other is the card in its namespace.
    for number, card in enumerate(cards):
        port = f"port{number}"
        peer = {"ifname": CARD, "net_ns_fd": card}
        with _name_kernel_module("veth"):
            netlink.link("add", ifname=port, kind="veth", peer=peer)
        (index,) = netlink.link_lookup(ifname=port)
        netlink.link("set", index=index, master=switch)
        _shape_sending(netlink, port, rate, delay)


def _set_up_card(netlink: "IPRoute", address: str, rate: float | None, delay: float) -> None:
    set_loopback_up(netlink)
    (index,) = netlink.link_lookup(ifname=CARD)
    netlink.addr("add", index=index, address=address, prefixlen=24)
    _shape_sending(netlink, CARD, rate, delay)


def _shape_sending(netlink: "IPRoute", name: str, rate: float | None, delay: float) -> None:
    """Let one end of a link send frame by frame, at a rate and with a delay.

    Virtual cards would send many frames as one.
    """
    from pyroute2 import Ethtool

    # The kernel cuts what TCP sends into frames behind the queue, as late as possible. If TCP sent
    # single frames (gso_max_segs), it would take three times as much of a processor, and two cores
    # would not reach 1 Gbit/s.
    with Ethtool() as features:
        features.set_offload_flag(name, "tcp-segmentation-offload", False)
    (index,) = netlink.link_lookup(ifname=name)
    netlink.link("set", index=index, state="up")
    root: dict[str, Any] = {}
    if delay:
        # Half of the delay is from the card to the switch, half from the switch to the card.
        delay_us = round(delay / 2 * 1e6)
        with _name_kernel_module("sch_netem"):
            netlink.tc("add", "netem", index, "1:", delay=delay_us, limit=100_000)
        root = {"parent": "1:1"}
    if rate:
        # A card counts 1514 bytes of the largest frame.
        burst = max(4 * 1514, round(rate / 8 * _BURST_S))
        sizes = {"burst": burst, "limit": _QUEUE_B + burst}
        handle = "2:" if root else "1:"
        with _name_kernel_module("sch_tbf"):
            netlink.tc("add", "tbf", index, handle, rate=f"{rate:.0f}bit", **sizes, **root)


@contextmanager
def _name_kernel_module(module: str) -> Iterator[None]:
    """Raise `OSError` with the missing kernel module where the kernel does not know a request."""
    from pyroute2 import NetlinkError

    try:
        yield
    except NetlinkError as error:
        if error.code not in (errno.ENOENT, errno.EOPNOTSUPP):
            raise
        why = f"this kernel has no {module}, or has not loaded it: modprobe {module}, by root"
        raise OSError(error.code, why) from error
