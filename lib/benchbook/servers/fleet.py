"""Servers that were started together: each with its port and log, all in one temporary folder."""

import grp
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from benchbook import processes
from benchbook.deployment import Place, Role, Topology, roles
from benchbook.folders import Folder
from benchbook.networks import LOOPBACK
from benchbook.servers import containers
from benchbook.servers.errors import TAKEN, ServerError, ending, last_words, remedy, written
from benchbook.servers.programs import Found, environment

Command = Callable[[int], Sequence[str | Path]]
"""From a port to the command that serves there."""

Process = subprocess.Popen[bytes] | containers.Container
"""What a fleet starts."""

USER: Final = "benchbook"
"""Whom servers that are started here let in."""

T = TypeVar("T")


class At(Protocol):
    """Calls a function at a role's place, with the fleet and the programs that are there."""

    def __call__(self, role: Role, function: Callable[..., T], *arguments: object) -> T:
        """Return what ``function(fleet, found, *arguments)`` returns there."""


_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_TRIES = 5
_READY_S = 60.0
_RUN_S = 180.0
_STOP_S = 10.0
_PATIENCE_S = 30.0
_POLL_S = 0.01
_ASK_S = 0.2
_LOG_B = 1 << 18
_GROUPS: Final = range(61_184, 65_520)
"""Where systemd, too, takes groups from that are not there for long; a container that has ``nobody`` has them."""


class Server:
    """One server process, as its fleet's user: it listens on its `address`, and `log` is all that it prints."""

    def __init__(self, fleet: "Fleet", role: Role, command: Command, environment: Mapping[str, str]) -> None:
        self.fleet = fleet
        self._environment = environment
        self.role = role
        self.log = fleet.folder.path / f"{role}.log"
        self._command = command
        self._tries = 0
        self._launch()

    def _launch(self) -> None:
        self._tries += 1
        image = self.fleet.image
        self.port = image.known.port if image and image.bridged else free_port(self.fleet.address)
        fleet = self.fleet
        self.process = fleet.spawn(self._command(self.port), self.log, self._environment, fleet.death_signal)

    @property
    def address(self) -> str:
        """Its host and port."""
        return f"{self.host}:{self.port}"

    @property
    def host(self) -> str:
        """The address of the machine that it is on, as this machine reaches it."""
        if not self.fleet.bridged:
            return self.fleet.address
        return self.process.address if isinstance(self.process, containers.Container) else ""

    @property
    def pid(self) -> int | None:
        """Its process on this machine; None when it is in a virtual machine, where a container engine has it."""
        image = self.fleet.image
        return self.process.pid if image is None or image.engine.shares_kernel else None

    @property
    def container(self) -> str:
        """Its container, as `benchbook.deployment.Node` has it, where that hides its process."""
        process = self.process
        if not isinstance(process, containers.Container) or process.engine.shares_kernel:
            return ""
        return f"{process.engine.socket} {process.identity}"

    def await_line(self, text: str) -> None:
        """Wait until the server has printed `text`; one whose port was taken meanwhile is started on another.

        `ServerError` when it ends, or takes too long.
        """
        for _ in _attempts(_READY_S):
            if text.encode() in self.log.read_bytes():
                return
            if self.process.poll() is not None:
                if self._tries == _TRIES or not re.search(TAKEN, written(self.log)):
                    raise ServerError(self.failure())
                _stop(self.process, signal.SIGKILL)
                self._launch()
        raise ServerError(self._late(_READY_S))

    def await_ready(self, ready: Callable[[], bool], patience_s: float) -> None:
        """Wait until `ready` says so: until then it may raise `OSError`, too.

        `ServerError` when the server ends before, or takes longer than `patience_s`.
        """
        last = ""
        for _ in _attempts(patience_s, _ASK_S):
            try:
                if ready():
                    return
            except OSError as error:
                last = f" ({error})"
            if why := self.failure():
                raise ServerError(why)
        raise ServerError(self._late(patience_s, last))

    def _late(self, patience_s: float, last: str = "") -> str:
        words = last_words(written(self.log))
        return f"{self.fleet.product}'s {self.role} was not ready in {patience_s:.0f} s{last}:\n{words}"

    def failure(self) -> str | None:
        """Return how and why the server ended, or waits for room on the disk; None while it runs."""
        return self.fleet.trouble(f"{self.role} (process {self.process.pid})", self.process, self.log)


class Fleet:
    """The servers of one deployment and their folder; whoever makes one calls `stop`."""

    def __init__(
        self,
        product: str,  # named in errors
        *,
        user: str | None = None,  # who runs the servers; None: whoever runs this
        stop_signal: signal.Signals = signal.SIGTERM,  # what they are sent to stop, and
        death_signal: signal.Signals = signal.SIGKILL,  # when their owner dies
        waits: str | None = None,  # what they print when they wait, without end, for somebody to free the disk
    ) -> None:
        self.product = product
        self.user = user
        self.stop_signal = stop_signal
        self.death_signal = death_signal
        self.waits = waits
        self.folder = Folder("servers")
        self.group: int | None = None
        if user is not None:
            # in a group of their own: whoever else runs as that user finds neither their files nor what is in a process
            self.group = secrets.choice([*{*_GROUPS} - {group.gr_gid for group in grp.getgrall()}])
            os.chown(self.folder.path, -1, self.group)
            self.folder.path.chmod(0o710)
        self.servers: list[Server] = []
        self.image: containers.Present | None = None
        """In whose containers they run; None: on this machine."""
        self._network: str | None = None  # the bridge that servers of some images are on, made for the first
        self.address = LOOPBACK
        """On which they listen: this machine's loopback, or their own in a network."""
        self.place: Place | None = None
        """Where they are, in a network, which whoever calls has entered."""

    def subfolder(self, name: str) -> Path:
        """Return the folder of that name, made where it is not there, which only the servers' user can read."""
        path = self.folder.path / name
        path.mkdir(mode=0o700, exist_ok=True)
        self._give(path)
        return path

    def secret(self, name: str, text: str) -> Path:
        """Return a new file that only the servers' user can read."""
        path = self.folder.path / name
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(text)
        self._give(path)
        return path

    def serve(self, role: Role, command: Command, environment: Mapping[str, str] = _NOTHING) -> Server:
        """Start a server, told more by its `environment`; its `await_line` says when it is ready."""
        self.servers.append(Server(self, role, command, environment))
        return self.servers[-1]

    def server(self, role: Role) -> Server:
        """Return the server of that role; `LookupError` when there is none here."""
        for server in self.servers:
            if server.role == role:
                return server
        raise LookupError(f"no {role} runs here")

    @property
    def bridged(self) -> bool:
        """Whether each is on a bridge, with an address of its own."""
        return self.image is not None and self.image.bridged and self.place is None

    @property
    def alone(self) -> bool:
        """Whether they listen on this machine's loopback."""
        return self.address == LOOPBACK

    def run(self, command: Sequence[str | Path]) -> None:
        """Run a program to its end; `ServerError` when it fails, or takes too long."""
        name = Path(command[0]).name
        log = self.folder.path / f"{name}.log"
        process = self.spawn(command, log)
        try:
            for _ in _attempts(_RUN_S):
                if process.poll() == 0:
                    return
                why = self.trouble(name, process, log)
                # It may have ended well since it was looked at.
                if why and process.returncode != 0:
                    raise ServerError(why)
            raise ServerError(f"{self.product}'s {name} took over {_RUN_S:.0f} s:\n{last_words(written(log))}")
        finally:  # interrupted: it must not write on
            _stop(process, signal.SIGKILL)

    def spawn(
        self,
        command: Sequence[str | Path],
        log: Path,
        more: Mapping[str, str] = _NOTHING,
        death_signal: signal.Signals = signal.SIGKILL,  # initdb would go on after another
    ) -> Process:
        """Start a program that prints into a new `log`; an image's in a container."""
        log.touch(mode=0o600)
        with log.open("wb") as file:
            # A disk that fills must not swallow the reason why servers end.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, _LOG_B)
            if self.image is not None:
                if self.bridged and self._network is None:
                    self._network = containers.bridge(self.image.engine)
                own = containers.ids(self.user, self.group)
                return containers.start(self.image, command, log, own, self._network, self.place, more)
            return processes.spawn(
                command,
                user=self.user,
                group=self.group,
                cwd=self.folder.path,
                env={**environment(self.folder.path), **more},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                death_signal=death_signal,
            )

    def trouble(self, what: str, process: Process, log: Path) -> str | None:
        """Return what is to be said of a program that ended, or waits for room on the disk; None while it runs."""
        status = process.poll()
        if status is None and (self.waits is None or self.waits not in written(log)):
            return None
        text = written(log)
        why = f"{'waits' if status is None else ending(status)}: {remedy(text, status)}"
        return f"{self.product}'s {what} {why}; in {log.parent} it wrote last:\n{last_words(text)}"

    def failure(self, patience_s: float = 0.0) -> str | None:
        """Return which servers ended and why; None when all still run after so many seconds."""
        for _ in _attempts(patience_s if self.servers else 0.0):
            if failures := [why for server in self.servers if (why := server.failure())]:
                return "\n".join(failures)
        return None

    def stop(self) -> None:
        """Stop all servers at once and remove their folder; a second call does nothing."""
        for server in self.servers:
            if server.process.poll() is None:
                server.process.send_signal(self.stop_signal)
        for server in self.servers:
            _stop(server.process, self.stop_signal)
        if self.image and self._network:
            containers.remove_bridge(self.image.engine, self._network)
            self._network = None
        self.folder.remove()

    def _give(self, path: Path) -> None:
        if self.user is not None:
            shutil.chown(path, self.user)


def _stop(process: Process, stop_signal: signal.Signals) -> None:
    if isinstance(process, containers.Container):
        process.stop(stop_signal, _STOP_S)
    else:
        processes.stop(process, stop_signal, _STOP_S)


def served(
    at: At,
    topology: Topology,
    serve: Callable[[Fleet, Found, Role, str], object],
    ready: Callable[[Fleet, Found, Role, str], str],
    password: str,
) -> dict[Role, str]:
    """Return the URLs of a topology's servers: `serve` starts each role's, then `ready` waits until each can be used.

    All start at once: none is waited for before the last has been started.
    """
    for role in roles(topology):
        at(role, serve, role, password)
    return {role: at(role, ready, role, password) for role in roles(topology)}


def await_true(condition: Callable[[], bool], failure: Callable[[], str]) -> None:
    """Wait until a condition holds; `ServerError`, with what `failure` says, when that takes too long."""
    for _ in _attempts(_PATIENCE_S):
        if condition():
            return
    raise ServerError(f"{failure()} within {_PATIENCE_S:.0f} s")


def _attempts(patience_s: float, pause_s: float = _POLL_S) -> Iterator[None]:
    """Yield once, and again after each pause for as long as there is time."""
    deadline = time.monotonic() + patience_s
    yield
    while time.monotonic() < deadline:
        time.sleep(pause_s)
        yield


def new_password() -> str:
    """Return a password that nobody guesses, and that stands in an address as it is."""
    return secrets.token_urlsafe(24)


def free_port(address: str) -> int:
    """Return a port that is free now (and may be taken before it is used)."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port
