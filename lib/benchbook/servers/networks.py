"""Emulated networks: a machine per role on this one, joined by a network as the papers had it.

`open_network` gives each role a network namespace with one card. A switch, in another namespace,
joins the cards. Each card, and the switch's port to it, sends at the network's rate. A role may
have processors of its own. `find_network_fault` returns why a network cannot be made here.

Names, addresses and rules exist only inside the network. Its namespaces are open files, so the
kernel removes them, and the servers in them, when their owner ends (`namespaces`). The addresses
are reserved for measuring networks (RFC 2544).
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from math import nan
from pathlib import Path
from typing import Final

from benchbook.measure import Meter
from benchbook.servers import namespaces, processes
from benchbook.servers.deployment import Place, Role
from benchbook.text.suggestions import suggest_name

VERSION = 1

NO_NETWORK: Final = "none"
"""The name of no network: all roles share this machine's loopback."""

LOOPBACK: Final = "127.0.0.1"

NAMED_NETWORKS: Final[Mapping[str, Mapping[str, str]]] = {
    "lan-1g": {"rate": "1gbit"},
    "lan-100m": {"rate": "100mbit"},
    "wan": {"rate": "20mbit", "delay": "20ms"},
}
"""Parts of the named networks: local ones of today and of the papers, and a wide area network."""

_UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "rate": {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9},
    "delay": {"us": 1e-6, "ms": 1e-3, "s": 1.0},
    "cores": {"core": 1, "cores": 1},
}
"""The units of each part, from small to large, in the units of `Network`."""

_BOUNDS: Final = {"rate": (1e5, 1e11), "delay": (0.0, 10.0), "cores": (1, 64)}
_ALLOWED: Final = {
    "rate": "100kbit to 100gbit",
    "delay": "at most 10s, in us, ms or s",
    "cores": "a whole number, from 1 to 64",
}


class NetworkError(OSError):
    """A network cannot be made here; the message has the reason."""


@dataclass(frozen=True)
class Network:
    """Rate, delay and processors of an emulated network."""

    rate: float | None = None
    """Bits per second of each card, in each direction; None: not limited."""
    delay: float = 0.0
    """Seconds from one card to another; a round trip takes twice as long."""
    cores: float | None = None
    """Processors of each role; None: all roles share this machine's."""

    @classmethod
    def parse(cls, given: str | Mapping[str, object]) -> "Network":
        """Return the network of a name, or of parts as ``{"rate": "100mbit", "delay": "0.3ms"}``.

        The name is one of `NAMED_NETWORKS`, or the text of a network, as in results.
        Raises `ValueError`, with the accepted forms.
        """
        texts = _split_name(given) if isinstance(given, str) else given
        parts: dict[str, float] = {}
        for name, value in texts.items():
            if name not in _UNITS:
                raise ValueError(f"has no {name!r}: {suggest_name(str(name), _UNITS)}")
            # In a grid file, cores are a number without unit.
            text = f"{value}cores" if name == "cores" and type(value) is int else str(value)
            parts[name] = _read_part(name, text)
        if not parts:
            raise ValueError(f"needs at least one of {', '.join(_UNITS)}")
        return cls(**parts)

    def __str__(self) -> str:
        """Return the network's one name, which `parse` reads as the same network."""
        parts = []
        for kind, units in _UNITS.items():
            value = getattr(self, kind)
            if not value:
                continue
            # The largest unit that keeps the number at 1 or more, else the smallest.
            fitting = [unit for unit, size in units.items() if value >= size]
            unit = fitting[-1] if fitting else next(iter(units))
            printed = "core" if unit == "cores" and value == 1 else unit
            parts.append(f"{value / units[unit]:.12g}{printed}")
        for name, named in NAMED_NETWORKS.items():
            if set(named.values()) <= set(parts):
                parts = [name, *(part for part in parts if part not in named.values())]
        return "/".join(parts) or "0s"


def _split_name(text: str) -> Mapping[str, str]:
    """Return the parts of a network from its name; `ValueError` with the possible forms."""
    kinds: dict[str, str] = {}
    for kind, units in _UNITS.items():
        kinds |= dict.fromkeys(units, kind)
    parts: dict[str, str] = {}
    for part in text.split("/"):
        unit = part.lstrip("0123456789.")
        # A part is a named network, or a number with the unit of its kind.
        if part in NAMED_NETWORKS:
            found = dict(NAMED_NETWORKS[part])
        elif unit in kinds:
            found = {kinds[unit]: part}
        else:
            found = {}
        # Refuse an unknown part, and a kind that is named twice.
        if not found or found.keys() & parts.keys():
            names = ", ".join(NAMED_NETWORKS)
            forms = f"{NO_NETWORK}, {names}, or like {{rate: 100mbit, delay: 0.3ms, cores: 1}}"
            advice = ""
            if re.fullmatch(r"[a-z][\w-]+", part):
                nearest = suggest_name(part, NAMED_NETWORKS)
                advice = f" ({nearest})" if nearest.startswith("did") else ""
            raise ValueError(f"is {forms}, not {text!r}{advice}")
        parts |= found
    return parts


def _read_part(kind: str, text: str) -> float:
    """Return one part of a network, in `Network`'s unit; `ValueError` with the allowed range."""
    units, (least, most) = _UNITS[kind], _BOUNDS[kind]
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", text)
    advice = ""
    if matched:
        number, unit = matched.groups()
        value = float(number) * units.get(unit, nan)
        # Every comparison with nan is false.
        if least <= value <= most and not (kind == "cores" and value % 1):
            return value
        if unit not in units:
            advice = f" ({suggest_name(unit, units)})"
    raise ValueError(f"has as its {kind} {_ALLOWED[kind]}, not {text!r}{advice}")


def normalize_network(given: object) -> object:
    """Return the one name of a network, or ``none``; other types are for pydantic to refuse.

    Raises `ValueError` as `Network.parse` does.
    """
    if given == NO_NETWORK or not isinstance(given, str | Mapping):
        return given
    return str(Network.parse(given))


@dataclass(frozen=True)
class EmulatedNetwork:
    """A network that is up: an address and a place for each role; the loopback has no places."""

    addresses: dict[Role, str]
    places: dict[Role, Place]

    def enter(self, role: Role) -> AbstractContextManager[None]:
        """Run this thread, and its new children, at the role's place."""
        return enter_place(self.places.get(role))


@contextmanager
def open_network(text: str, roles: Sequence[Role]) -> Iterator[EmulatedNetwork]:
    """Yield a network for these roles, the loopback for ``none``; `NetworkError` when it fails."""
    if text == NO_NETWORK:
        yield EmulatedNetwork(dict.fromkeys(roles, LOOPBACK), {})
        return
    # Whether this machine has the processors, and this process may make networks.
    network = Network.parse(text)
    shortage = find_shortage(text, len(roles))
    if shortage:
        raise NetworkError(shortage)
    if not namespaces.can_make_namespaces():
        if os.geteuid() == 0:
            why = "this root does not have the capabilities net_admin and sys_admin"
        else:
            why = "without root only benchbook run makes networks"
        raise NetworkError(f"network {text}: {why}")
    # Make the cards, and place each role at one.
    with ExitStack() as open_:
        try:
            cards = namespaces.join_cards(open_, len(roles), network.rate, network.delay)
        except OSError as error:
            raise NetworkError(f"network {text}: {error.strerror or error}") from error
        addresses: dict[Role, str] = {}
        places: dict[Role, Place] = {}
        for number, role in enumerate(roles):
            # A path under which other processes can open the namespace.
            file = f"/proc/{os.getpid()}/fd/{cards[number]}"
            addresses[role] = namespaces.choose_card_address(number)
            places[role] = Place(file, _choose_processors(number, network.cores))
        yield EmulatedNetwork(addresses, places)


def _choose_processors(number: int, cores: float | None) -> tuple[int, ...]:
    """Return the processors of the role with this number, from the highest number down."""
    usable = sorted(os.sched_getaffinity(0), reverse=True)
    count = int(cores or 0)
    return tuple(usable[number * count : (number + 1) * count])


def find_shortage(text: str, roles: int) -> str | None:
    """Return that the roles of a network need more processors than there are, else None."""
    if text == NO_NETWORK or sys.platform != "linux":
        return None
    needed = roles * int(Network.parse(text).cores or 0)
    usable = len(os.sched_getaffinity(0))
    if needed <= usable:
        return None
    return f"network {text}: {roles} roles need {needed} processors, here are {usable}"


@cache
def find_network_fault(text: str) -> str | None:
    """Return why a network cannot be made here, with a remedy; None when it can."""
    if text == NO_NETWORK:
        return None
    if sys.platform != "linux":
        return f"network {text}: network namespaces are Linux's"
    # A client, and one server at least.
    shortage = find_shortage(text, roles=2)
    if shortage:
        return shortage
    # Try it here, where this process may.
    if os.geteuid() == 0 or namespaces.can_make_namespaces():
        return try_network(text)
    why = namespaces.find_user_namespace_fault()
    if why:
        return f"network {text}: {why}"
    # A process with threads cannot enter a user namespace: a new process tries.
    imports = "import sys; from benchbook.servers import networks"
    code = f"{imports}; sys.exit(networks.try_network(sys.argv[1]))"
    command = [*namespaces.UNSHARE_COMMAND, *processes.PYTHON, "-c", code, text]
    tried = subprocess.run(command, capture_output=True, text=True, timeout=30)
    return tried.stderr.strip() or None


def try_network(text: str) -> str | None:
    """Return why this process cannot make a network; None when it can."""
    try:
        with open_network(text, ("client",)):
            return None
    except NetworkError as error:
        return str(error)


def enter_user_namespace(command: Sequence[str]) -> None:
    """Replace this process by a command that may make networks; do nothing where this one may.

    The command only has a loopback of its own.
    """
    if namespaces.can_make_namespaces():
        return
    imports = "import os, sys; from benchbook.servers import networks"
    code = f"{imports}; networks.open_loopback(); os.execv(sys.argv[1], sys.argv[1:])"
    unshare = [*namespaces.UNSHARE_COMMAND, *processes.PYTHON, "-c", code]
    os.execvp(unshare[0], [*unshare, *command])


def open_loopback() -> None:
    """Set up the loopback of this process's new network namespace."""
    from pyroute2 import IPRoute  # Slow to import, see `namespaces`.

    with IPRoute() as netlink:
        namespaces.set_loopback_up(netlink)


@contextmanager
def enter_place(place: Place | None) -> Iterator[None]:
    """Run this thread, and its new children, at a place; with None it stays where it is."""
    if place is None:
        yield
        return
    with ExitStack() as undo:
        undo.enter_context(_enter_place_namespace(place))
        if place.processors:
            undo.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
            os.sched_setaffinity(0, place.processors)
        yield


def make_prefix(place: Place) -> list[str]:
    """Return arguments (of util-linux) before a command, which start it at a place."""
    prefix = ["nsenter", f"--net={place.namespace}"]
    if place.processors:
        prefix += ["taskset", "-c", ",".join(map(str, place.processors))]
    return prefix


def make_card_meters(places: Mapping[Role, Place]) -> list[Meter]:
    """Return meters of the bytes, in whole frames, that each role's card has received and sent."""
    source = f"{namespaces.CARD} in the role's network namespace"
    meters = []
    for role, place in places.items():
        for column, metric in enumerate(("card_bytes_received", "card_bytes_sent")):
            read = partial(_read_card, place, column)
            meters.append(Meter(metric, role, "B", source, 1.0, read))
    return meters


def _read_card(place: Place, column: int) -> float:
    with _enter_place_namespace(place):
        return namespaces.read_card_bytes()[column]


@contextmanager
def _enter_place_namespace(place: Place) -> Iterator[None]:
    with (
        Path(place.namespace).open("rb", 0) as namespace,
        namespaces.enter_namespace(namespace.fileno()),
    ):
        yield
