"""The parts of a network: a switch in a namespace of its own and a card for each role, with their rate and delay."""

import errno
import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from benchbook.networks import namespaces

if TYPE_CHECKING:
    from pyroute2 import IPRoute

CARD: Final = "eth0"
"""The card of each role."""

_NETWORK: Final = "198.18.0"
_FRAME: Final = 1514
"""Bytes of the largest frame that a card counts."""

_QUEUE: Final = 256 * 1024
"""Bytes that wait at a card, or at a port of the switch, before one more is dropped."""

_AT_ONCE_S: Final = 0.001
"""What a card has not sent for so long it may send at once.

On busy processors the kernel is late by more than half of that, and 1 Gbit/s would be short of a twentieth.
"""


def joined(open_: ExitStack, count: int, rate: float | None, delay: float) -> list[int]:
    """Return so many open network namespaces whose cards a switch joins, as `benchbook.networks.Network` has it.

    Raises `OSError` when this kernel cannot.
    """
    switch, *cards = (namespaces.new(open_) for _ in range(1 + count))
    namespaces.within(switch, partial(_switch, cards=cards, rate=rate, delay=delay))
    for number, card in enumerate(cards):
        namespaces.within(card, partial(_card, address=address(number), rate=rate, delay=delay))
    return cards


def loopback_up(netlink: "IPRoute") -> None:
    """Have the loopback of a new network namespace, which is down."""
    (loopback,) = netlink.link_lookup(ifname="lo")
    netlink.link("set", index=loopback, state="up")


def port(number: int) -> str:
    """Return the switch's end of a card's cable, by the card's number from 0."""
    return f"port{number}"


def address(number: int) -> str:
    """Return the address of a card, by its number from 0."""
    return f"{_NETWORK}.{number + 1}"


def counted() -> tuple[float, float]:
    """Return the bytes that the card of this thread's namespace has received and sent, of whole frames."""
    table = Path("/proc/thread-self/net/dev").read_text(encoding="ascii")
    (numbers,) = re.findall(rf"^\s*{CARD}:(.*)$", table, re.MULTILINE)
    columns = numbers.split()
    return float(columns[0]), float(columns[8])


def _switch(netlink: "IPRoute", cards: Sequence[int], rate: float | None, delay: float) -> None:
    """Make the switch, with a port a card, and put each card's end of the cable into its namespace."""
    with _made_by("bridge"):
        netlink.link("add", ifname="switch", kind="bridge")
    (switch,) = netlink.link_lookup(ifname="switch")
    netlink.link("set", index=switch, state="up")
    for number, card in enumerate(cards):
        with _made_by("veth"):
            netlink.link("add", ifname=port(number), kind="veth", peer={"ifname": CARD, "net_ns_fd": card})
        (index,) = netlink.link_lookup(ifname=port(number))
        netlink.link("set", index=index, master=switch)
        _send_as(netlink, port(number), rate, delay)


def _card(netlink: "IPRoute", address: str, rate: float | None, delay: float) -> None:
    loopback_up(netlink)
    (index,) = netlink.link_lookup(ifname=CARD)
    netlink.addr("add", index=index, address=address, prefixlen=24)
    _send_as(netlink, CARD, rate, delay)


def _send_as(netlink: "IPRoute", name: str, rate: float | None, delay: float) -> None:
    """Have an end of a cable send frame by frame, not many as one as virtual cards do, at a rate and with a delay."""
    from pyroute2 import Ethtool

    # What TCP sends is cut into frames behind the queue, as late as can be. That TCP itself sends them one by one
    # (gso_max_segs) takes three times as much of a processor: two cores then reach no 1gbit.
    with Ethtool() as features:
        features.set_offload_flag(name, "tcp-segmentation-offload", False)
    (index,) = netlink.link_lookup(ifname=name)
    netlink.link("set", index=index, state="up")
    root: dict[str, Any] = {}
    if delay:
        # Half of the way is from the card to the switch, half from the switch to the card.
        with _made_by("sch_netem"):
            netlink.tc("add", "netem", index, "1:", delay=round(delay / 2 * 1e6), limit=100_000)
        root = {"parent": "1:1"}
    if rate:
        burst = max(4 * _FRAME, round(rate / 8 * _AT_ONCE_S))
        sizes = {"burst": burst, "limit": _QUEUE + burst}
        with _made_by("sch_tbf"):
            netlink.tc("add", "tbf", index, "2:" if root else "1:", rate=f"{rate:.0f}bit", **sizes, **root)


@contextmanager
def _made_by(module: str) -> Iterator[None]:
    """Have a kernel that knows nothing of what is asked of it say which of its modules would."""
    from pyroute2 import NetlinkError

    try:
        yield
    except NetlinkError as error:
        if error.code not in (errno.ENOENT, errno.EOPNOTSUPP):
            raise
        why = f"this kernel has no {module}, or has not loaded it: modprobe {module}, by root"
        raise OSError(error.code, why) from error
