"""Rooms: a machine a role on this one, joined by a network, as the papers had them.

In comes what a room is like, as `Room` reads it; out comes a `Standing` room, at whose places servers and clients are
started. A role has a network namespace with one card; a switch, in a namespace of its own, joins the cards; each card,
and the switch's port to it, sends at the room's rate. It may have processors of its own. Begin with `standing`;
`lacking` says why there can be no such room here. `network` has the cards, `namespaces` what the kernel has them in.

Nothing of a room has a name, an address or a rule that is seen outside of it. Namespaces are held by open files alone:
the kernel removes each, and all that is in it, when whoever opened it has ended, however it did, and its servers with
it. The addresses are of the range that is set apart for measuring networks (RFC 2544): nobody's, should one get out.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache, partial
from math import nan
from pathlib import Path
from typing import Final

from benchbook import processes, strict
from benchbook.deployment import Place, Role
from benchbook.measure import Meter
from benchbook.rooms import memory, namespaces, network

NONE: Final = "none"
"""No room: all roles share this machine, and its loopback."""

LOOPBACK: Final = "127.0.0.1"

NAMED: Final[Mapping[str, str]] = {"lan-1g": "1gbit", "lan-100m": "100mbit", "wan": "20mbit/20ms"}
"""Rooms that go by a name: two sorts of local network, today's and the papers', and a line to another town."""

_UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "rate": {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9},
    "delay": {"us": 1e-6, "ms": 1e-3, "s": 1.0},
    "loss": {"%": 0.01},
    "cores": {"core": 1, "cores": 1},
    "memory": {"m": 2.0**20, "g": 2.0**30},
}
"""The units of what can be said of a room, from small to large, and how many of what `Room` has each is."""

_BOUNDS: Final = {
    "rate": (1e5, 1e11),
    "delay": (0.0, 10.0),
    "loss": (0.0, 0.5),
    "cores": (1, 64),
    "memory": (2.0**26, 2.0**40),
}
_WITHIN: Final = {
    "rate": "100kbit to 100gbit",
    "delay": "at most 10s, in us, ms or s",
    "loss": "at most 50%",
    "cores": "a whole number, from 1 to 64",
    "memory": "64m to 1024g",
}


class RoomError(OSError):
    """There can be no such room here; the message says why."""


@dataclass(frozen=True)
class Room:
    """What a room is like."""

    rate: float | None = None
    """Bits a second of each card, both ways; None: as fast as this machine copies."""
    delay: float = 0.0
    """Seconds from one card to another: a round trip takes twice as long."""
    loss: float = 0.0
    """The share of all frames that the switch drops, by chance."""
    cores: float | None = None
    """Processors of each role; None: all of this machine's, for all."""
    memory: float | None = None
    """Bytes that each role's processes may have together, and what they read of files; None: all, for all."""

    @classmethod
    def of(cls, given: str | Mapping[str, object]) -> "Room":
        """Return the room of a name in `NAMED`, or of what it is like: ``20mbit/20ms/0.1%``, ``lan-100m/1core``.

        Each part is told by its unit: a rate in kbit, mbit or gbit (a second), a delay in us, ms or s, a loss in %,
        cores, and memory in m or g (of bytes, by 1,024). Or its parts are named: ``{"rate": "100mbit", "cores": 1}``.
        Raises `ValueError`, with what can be written.
        """
        parts: dict[str, float] = {}
        if not isinstance(given, str):
            for name, value in given.items():
                if name not in _UNITS:
                    raise ValueError(f"has no {name!r}: {strict.nearest(str(name), _UNITS)}")
                parts[name] = _part(name, f"{value}cores" if name == "cores" and type(value) is int else str(value))
            if not parts:
                raise ValueError(f"has some of {', '.join(_UNITS)}, not nothing")
            return cls(**parts)
        kinds = {unit: kind for kind, units in _UNITS.items() for unit in units}
        for part in "/".join(NAMED.get(part, part) for part in given.split("/")).split("/"):
            kind = kinds.get(part.lstrip("0123456789."))
            if kind is None or kind in parts:
                why = f"{kind} twice in" if kind else "not"
                advice = strict.nearest(part, NAMED) if re.fullmatch(r"[a-z][\w-]+", part) else ""
                forms = f"{NONE}, {', '.join(NAMED)}, or like 20mbit/20ms/0.1% or lan-100m/1core"
                raise ValueError(f"is {forms}, {why} {given!r}" + f" ({advice})" * advice.startswith("did"))
            parts[kind] = _part(kind, part)
        return cls(**parts)

    def __str__(self) -> str:
        """Return its one name: however it was written, `of` reads the same room of it."""
        parts = []
        for kind, units in _UNITS.items():
            if value := getattr(self, kind):
                *_, unit = [unit for unit, size in units.items() if value >= size] or [*units][:1]
                parts.append(f"{value / units[unit]:.12g}{'core' if unit == 'cores' and value == 1 else unit}")
        for name, text in NAMED.items():
            if {*text.split("/")} <= {*parts}:
                parts = [name, *(part for part in parts if part not in text.split("/"))]
        return "/".join(parts) or "0s"


def _part(kind: str, text: str) -> float:
    """Return one part of a room, as `Room` has it; raises `ValueError`, with what can be written."""
    units, (least, most) = _UNITS[kind], _BOUNDS[kind]
    known = re.fullmatch(r"(\d+(?:\.\d+)?)([a-z]+|%)", text)
    value = float(known[1]) * units.get(known[2], nan) if known else nan
    # Nothing compares with what is no number.
    if not least <= value <= most or (kind == "cores" and value % 1):
        advice = f" ({strict.nearest(known[2], units)})" if known and known[2] not in units else ""
        raise ValueError(f"has as its {kind} {_WITHIN[kind]}, not {text!r}{advice}")
    return value


def canonical(given: object) -> object:
    """Return a room's one name, of whatever form `Room.of` reads, or ``none``; raises `ValueError` as that does."""
    return given if given == NONE or not isinstance(given, str | Mapping) else str(Room.of(given))


@dataclass(frozen=True)
class Standing:
    """A room that stands: an address and a place for each role; where there is no room, the loopback and no place."""

    addresses: dict[Role, str]
    places: dict[Role, Place]

    def entered(self, role: Role) -> AbstractContextManager[None]:
        """Have this thread, and what it starts meanwhile, at the role's place."""
        return entered(self.places.get(role))


@contextmanager
def standing(text: str, roles: Sequence[Role]) -> Iterator[Standing]:
    """Yield a room, as `Room.of` reads it, or none, for these roles; `RoomError` when it cannot be had here."""
    if text == NONE:
        yield Standing(dict.fromkeys(roles, LOOPBACK), {})
        return
    room = Room.of(text)
    if not namespaces.entitled():
        lacks = "this root lacks the capabilities net_admin and sys_admin"
        why = lacks if os.geteuid() == 0 else "of an account that is not root, benchbook run alone makes rooms"
        raise RoomError(f"room {text}: {why}")
    with ExitStack() as open_:
        try:
            cards = network.joined(open_, len(roles), room.rate, room.delay, room.loss)
            size = int(room.memory or 0)
            members = memory.limited(open_, len(roles), size) if size else [""] * len(roles)
        except OSError as error:
            raise RoomError(f"room {text}: {error.strerror or error}") from error
        processors = _dealt(len(roles), int(room.cores)) if room.cores else [()] * len(roles)
        files = [f"/proc/{os.getpid()}/fd/{namespace}" for namespace in cards]
        places = {role: Place(files[n], processors[n], size, members[n]) for n, role in enumerate(roles)}
        yield Standing({role: network.address(n) for n, role in enumerate(roles)}, places)


@cache
def lacking(text: str) -> str | None:
    """Return why there can be no such room here, with what would help; None when there can."""
    if text == NONE:
        return None
    if sys.platform != "linux":
        return f"room {text}: network namespaces are Linux's"
    room = Room.of(text)
    if room.loss and shutil.which("nft") is None:
        return f"room {text}: no nft on PATH, which drops frames: get nftables from apt-get"
    if room.cores and room.cores > (have := len(os.sched_getaffinity(0))):
        return f"room {text}: this machine has {have} processors"
    if os.geteuid() == 0 or namespaces.entitled():
        return _refused(text)
    if why := namespaces.refused_users():
        return f"room {text}: {why}"
    code = "import sys; from benchbook import rooms; sys.exit(rooms._refused(sys.argv[1]))"
    command = [*namespaces.AT_HOME, *processes.PYTHON, "-c", code, text]
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stderr.strip() or None


def _refused(text: str) -> str | None:
    """Return why this process cannot make a room; None when it can."""
    try:
        with standing(text, ("client",)) as room, held(room.places.get("client")):
            return None
    except RoomError as error:
        return str(error)
    except OSError as error:
        return f"room {text}: {error}"


def at_home(command: Sequence[str]) -> None:
    """Become a command that may make rooms, in a network of its own with nothing but a loopback; nothing if we may."""
    if not namespaces.entitled():
        code = "import os, sys; from benchbook import rooms; rooms.have_loopback(); os.execv(sys.argv[1], sys.argv[1:])"
        os.execvp(namespaces.AT_HOME[0], [*namespaces.AT_HOME, *processes.PYTHON, "-c", code, *command])


def have_loopback() -> None:
    """Have the loopback of this process's network, which is new."""
    from pyroute2 import IPRoute

    with IPRoute() as netlink:
        network.loopback_up(netlink)


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


@contextmanager
def inside(place: Place | None) -> Iterator[None]:
    """Have this thread at a place and this process held to its memory: what works there, and is not only a starter."""
    with entered(place), held(place):
        yield


def held(place: Place | None) -> AbstractContextManager[None]:
    """Have this process, and what it starts meanwhile, have a place's memory; where there is no bound, as it is.

    Who only starts others is there no longer than that: of all that are, the kernel ends the largest.
    """
    return memory.entered(place.members) if place and place.members else nullcontext()


def command(place: Place) -> list[str]:
    """Return what goes before a program's command so that it starts at a place (both are of util-linux)."""
    on = ["taskset", "-c", ",".join(map(str, place.processors))] if place.processors else []
    within = memory.command(place.members) if place.members else []
    return [*within, "nsenter", f"--net={place.namespace}", *on]


def card_meters(places: Mapping[Role, Place]) -> list[Meter]:
    """Return what each role's card has sent and received, in bytes of whole frames."""
    source = f"{network.CARD} in the role's network namespace"
    return [
        Meter(metric, role, "B", source, 1.0, partial(_counted, place, column))
        for role, place in places.items()
        for column, metric in enumerate(("card_bytes_received", "card_bytes_sent"))
    ]


def _counted(place: Place, column: int) -> float:
    with _on_its_network(place):
        return network.counted()[column]


@contextmanager
def _on_its_network(place: Place) -> Iterator[None]:
    with Path(place.namespace).open("rb", 0) as namespace, namespaces.entered(namespace.fileno()):
        yield


def _dealt(roles: int, cores: int) -> list[tuple[int, ...]]:
    """Return so many processors for each role, by their numbers, the last ones first: each its own while they last."""
    usable = sorted(os.sched_getaffinity(0), reverse=True)
    return [tuple(usable[(first * cores + n) % len(usable)] for n in range(cores)) for first in range(roles)]
