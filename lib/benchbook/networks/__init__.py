"""Networks: a machine a role on this one, joined by a network, as the papers had them.

In comes what a network is like, as `Network` reads it; out comes a `Standing` network, at whose places servers and
clients are started. A role has a network namespace with one card; a switch, in a namespace of its own, joins the
cards; each card, and the switch's port to it, sends at the network's rate. It may have processors of its own. Begin
with `standing`; `lacking` says why there can be no such network here. `switch` has the cards, `namespaces` what the
kernel has them in.

Nothing of a network has a name, an address or a rule that is seen outside of it. Namespaces are held by open files
alone: the kernel removes each, and all that is in it, when whoever opened it has ended, however it did, and its
servers with it. The addresses are of the range that is set apart for measuring networks (RFC 2544): nobody's, should
one get out.
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

from benchbook import processes, strict
from benchbook.deployment import Place, Role
from benchbook.measure import Meter
from benchbook.networks import namespaces, switch

VERSION = 1

NONE: Final = "none"
"""No network: all roles share this machine, and its loopback."""

LOOPBACK: Final = "127.0.0.1"

NAMED: Final[Mapping[str, Mapping[str, str]]] = {
    "lan-1g": {"rate": "1gbit"},
    "lan-100m": {"rate": "100mbit"},
    "wan": {"rate": "20mbit", "delay": "20ms"},
}
"""Networks that go by a name: two sorts of local network, today's and the papers', and a line to another town."""

_UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "rate": {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9},
    "delay": {"us": 1e-6, "ms": 1e-3, "s": 1.0},
    "cores": {"core": 1, "cores": 1},
}
"""The units of a network's parts, from small to large, and how many of what `Network` has each is."""

_BOUNDS: Final = {"rate": (1e5, 1e11), "delay": (0.0, 10.0), "cores": (1, 64)}
_WITHIN: Final = {
    "rate": "100kbit to 100gbit",
    "delay": "at most 10s, in us, ms or s",
    "cores": "a whole number, from 1 to 64",
}


class NetworkError(OSError):
    """There can be no such network here; the message says why."""


@dataclass(frozen=True)
class Network:
    """What a network is like."""

    rate: float | None = None
    """Bits a second of each card, both ways; None: as fast as this machine copies."""
    delay: float = 0.0
    """Seconds from one card to another: a round trip takes twice as long."""
    cores: float | None = None
    """Processors of each role; None: all of this machine's, for all."""

    @classmethod
    def of(cls, given: str | Mapping[str, object]) -> "Network":
        """Return the network of a name in `NAMED`, or of these parts: ``{"rate": "100mbit", "delay": "0.3ms"}``.

        A text may also be what `str` makes of a network: results state it so. Raises `ValueError`, with what can be
        written.
        """
        named = _named_parts(given) if isinstance(given, str) else given
        parts: dict[str, float] = {}
        for name, value in named.items():
            if name not in _UNITS:
                raise ValueError(f"has no {name!r}: {strict.nearest(str(name), _UNITS)}")
            parts[name] = _part(name, f"{value}cores" if name == "cores" and type(value) is int else str(value))
        if not parts:
            raise ValueError(f"has some of {', '.join(_UNITS)}, not nothing")
        return cls(**parts)

    def __str__(self) -> str:
        """Return its one name: however it was written, `of` reads the same network of it."""
        parts = []
        for kind, units in _UNITS.items():
            if value := getattr(self, kind):
                *_, unit = [unit for unit, size in units.items() if value >= size] or [*units][:1]
                parts.append(f"{value / units[unit]:.12g}{'core' if unit == 'cores' and value == 1 else unit}")
        for name, named in NAMED.items():
            if {*named.values()} <= {*parts}:
                parts = [name, *(part for part in parts if part not in named.values())]
        return "/".join(parts) or "0s"


def _named_parts(text: str) -> dict[str, str]:
    """Return the parts of a network from its name; raises `ValueError`, with what can be written."""
    kinds = {unit: kind for kind, units in _UNITS.items() for unit in units}
    parts: dict[str, str] = {}
    for part in text.split("/"):
        kind = kinds.get(part.lstrip("0123456789."))
        found = NAMED.get(part, {kind: part} if kind else {})
        if not found or found.keys() & parts.keys():
            forms = f"{NONE}, {', '.join(NAMED)}, or like {{rate: 100mbit, delay: 0.3ms, cores: 1}}"
            advice = strict.nearest(part, NAMED) if re.fullmatch(r"[a-z][\w-]+", part) else ""
            raise ValueError(f"is {forms}, not {text!r}" + (f" ({advice})" if advice.startswith("did") else ""))
        parts |= found
    return parts


def _part(kind: str, text: str) -> float:
    """Return one part of a network, as `Network` has it; raises `ValueError`, with what can be written."""
    units, (least, most) = _UNITS[kind], _BOUNDS[kind]
    known = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+)", text)
    value = float(known[1]) * units.get(known[2], nan) if known else nan
    # Nothing compares with what is no number.
    if not least <= value <= most or (kind == "cores" and value % 1):
        advice = f" ({strict.nearest(known[2], units)})" if known and known[2] not in units else ""
        raise ValueError(f"has as its {kind} {_WITHIN[kind]}, not {text!r}{advice}")
    return value


def canonical(given: object) -> object:
    """Return the one name of a network, however it was written, or ``none``; raises `ValueError` as `Network.of`."""
    return given if given == NONE or not isinstance(given, str | Mapping) else str(Network.of(given))


@dataclass(frozen=True)
class Standing:
    """A network that stands: an address and a place for each role; without one, the loopback and no place."""

    addresses: dict[Role, str]
    places: dict[Role, Place]

    def entered(self, role: Role) -> AbstractContextManager[None]:
        """Have this thread, and what it starts meanwhile, at the role's place."""
        return entered(self.places.get(role))


@contextmanager
def standing(text: str, roles: Sequence[Role]) -> Iterator[Standing]:
    """Yield a network for these roles, or the loopback for ``none``; `NetworkError` when it cannot be made here."""
    if text == NONE:
        yield Standing(dict.fromkeys(roles, LOOPBACK), {})
        return
    network = Network.of(text)
    if not namespaces.entitled():
        lacks = "this root lacks the capabilities net_admin and sys_admin"
        why = lacks if os.geteuid() == 0 else "of an account that is not root, benchbook run alone makes networks"
        raise NetworkError(f"network {text}: {why}")
    with ExitStack() as open_:
        try:
            cards = switch.joined(open_, len(roles), network.rate, network.delay)
        except OSError as error:
            raise NetworkError(f"network {text}: {error.strerror or error}") from error
        processors = _dealt(len(roles), int(network.cores)) if network.cores else [()] * len(roles)
        files = [f"/proc/{os.getpid()}/fd/{namespace}" for namespace in cards]
        places = {role: Place(files[n], processors[n]) for n, role in enumerate(roles)}
        yield Standing({role: switch.address(n) for n, role in enumerate(roles)}, places)


@cache
def lacking(text: str) -> str | None:
    """Return why there can be no such network here, with what would help; None when there can."""
    if text == NONE:
        return None
    if sys.platform != "linux":
        return f"network {text}: network namespaces are Linux's"
    network = Network.of(text)
    if network.cores and network.cores > (have := len(os.sched_getaffinity(0))):
        return f"network {text}: this machine has {have} processors"
    if os.geteuid() == 0 or namespaces.entitled():
        return _refused(text)
    if why := namespaces.refused_users():
        return f"network {text}: {why}"
    code = "import sys; from benchbook import networks; sys.exit(networks._refused(sys.argv[1]))"
    command = [*namespaces.AT_HOME, *processes.PYTHON, "-c", code, text]
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stderr.strip() or None


def _refused(text: str) -> str | None:
    """Return why this process cannot make a network; None when it can."""
    try:
        with standing(text, ("client",)):
            return None
    except NetworkError as error:
        return str(error)


def at_home(command: Sequence[str]) -> None:
    """Become a command that may make networks, with only a loopback of its own; do nothing where this process may."""
    if not namespaces.entitled():
        imports = "import os, sys; from benchbook import networks"
        code = f"{imports}; networks.have_loopback(); os.execv(sys.argv[1], sys.argv[1:])"
        os.execvp(namespaces.AT_HOME[0], [*namespaces.AT_HOME, *processes.PYTHON, "-c", code, *command])


def have_loopback() -> None:
    """Have the loopback of this process's network, which is new."""
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        switch.loopback_up(netlink)


@contextmanager
def entered(place: Place | None) -> Iterator[None]:
    """Have this thread, and what it starts meanwhile, at a place that stands; None: where it is."""
    if place is None:
        yield
        return
    with ExitStack() as left:
        left.enter_context(_on_its_network(place))
        if place.processors:
            left.callback(os.sched_setaffinity, 0, os.sched_getaffinity(0))
            os.sched_setaffinity(0, place.processors)
        yield


def command(place: Place) -> list[str]:
    """Return what goes before a program's command so that it starts at a place (both are of util-linux)."""
    on = ["taskset", "-c", ",".join(map(str, place.processors))] if place.processors else []
    return ["nsenter", f"--net={place.namespace}", *on]


def card_meters(places: Mapping[Role, Place]) -> list[Meter]:
    """Return what each role's card has sent and received, in bytes of whole frames."""
    source = f"{switch.CARD} in the role's network namespace"
    return [
        Meter(metric, role, "B", source, 1.0, partial(_counted, place, column))
        for role, place in places.items()
        for column, metric in enumerate(("card_bytes_received", "card_bytes_sent"))
    ]


def _counted(place: Place, column: int) -> float:
    with _on_its_network(place):
        return switch.counted()[column]


@contextmanager
def _on_its_network(place: Place) -> Iterator[None]:
    with Path(place.namespace).open("rb", 0) as namespace, namespaces.entered(namespace.fileno()):
        yield


def _dealt(roles: int, cores: int) -> list[tuple[int, ...]]:
    """Return so many processors for each role, by their numbers, the last ones first: each its own while they last."""
    usable = sorted(os.sched_getaffinity(0), reverse=True)
    return [tuple(usable[(first * cores + n) % len(usable)] for n in range(cores)) for first in range(roles)]
