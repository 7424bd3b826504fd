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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from benchbook import processes
from benchbook.deployment import Role
from benchbook.folders import Folder
from benchbook.servers import containers
from benchbook.servers.errors import TAKEN, ServerError, ending, last_words, remedy, written
from benchbook.servers.programs import environment

Command = Callable[[int], Sequence[str | Path]]
"""From a port to the command that serves there."""

LOOPBACK: Final = "127.0.0.1"

USER: Final = "benchbook"
"""Whom servers that are started here let in."""

T = TypeVar("T")


class At(Protocol):
    """The machines of a deployment: calls a function on a role's, with the fleet and the programs that are there."""

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
        self.process = self.fleet.spawn(self._command(self.port), self.log, self._environment)

    @property
    def address(self) -> str:
        """Its host and port."""
        return f"{self.host}:{self.port}"

    @property
    def host(self) -> str:
        """The address of the machine that it is on, as this machine reaches it."""
        image = self.fleet.image
        return self._started(image).address if image and image.bridged else self.fleet.address

    @property
    def pid(self) -> int | None:
        """Its process on this machine; None when it is in a virtual machine, where a container engine has it."""
        image = self.fleet.image
        return self._started(image).pid if image else self.process.pid

    @property
    def container(self) -> str:
        """Its container, as `benchbook.deployment.Node` has it, where that hides its process."""
        image = self.fleet.image
        hidden = image and not image.engine.shares_kernel
        return f"{image.engine.socket} {self._started(image).container}" if image and hidden else ""

    def _started(self, image: containers.Present) -> containers.Started:
        return containers.started(image, self.fleet.folder.path, self.log.stem)

    def await_line(self, text: str) -> None:
        """Wait until the server has printed `text`; one whose port was taken meanwhile is started on another.

        `ServerError` when it ends, or takes too long.
        """
        deadline = time.monotonic() + _READY_S
        while text.encode() not in self.log.read_bytes():
            if self.process.poll() is not None:
                if self._tries == _TRIES or not re.search(TAKEN, written(self.log)):
                    raise ServerError(self.failure())
                self._launch()
            if time.monotonic() > deadline:
                raise ServerError(self._late(_READY_S))
            time.sleep(_POLL_S)

    def await_ready(self, ready: Callable[[], bool], patience_s: float) -> None:
        """Wait until `ready` says so: until then it may raise `OSError`, too.

        `ServerError` when the server ends before, or takes longer than `patience_s`.
        """
        deadline, last = time.monotonic() + patience_s, ""
        while True:
            try:
                if ready():
                    return
            except OSError as error:
                last = f" ({error})"
            if why := self.failure():
                raise ServerError(why)
            if time.monotonic() > deadline:
                raise ServerError(self._late(patience_s, last))
            time.sleep(_ASK_S)

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
        """In whose containers they run, each held by a process of ours; None: on this machine."""
        self._network: str | None = None
        self.address = LOOPBACK
        """On which they listen; any other is one of this machine's at which other machines reach them."""

    def subfolder(self, name: str) -> Path:
        """Return a new folder that only the servers' user can read."""
        path = self.folder.path / name
        path.mkdir(mode=0o700)
        self._give(path)
        return path

    def secret(self, name: str, text: str) -> Path:
        """Return a new file that only the servers' user can read."""
        path = self.folder.path / name
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
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
    def alone(self) -> bool:
        """Whether only this machine reaches them."""
        return self.address == LOOPBACK

    def run(self, command: Sequence[str | Path]) -> None:
        """Run a program to its end; `ServerError` when it fails, or takes too long."""
        name = Path(command[0]).name
        log = self.folder.path / f"{name}.log"
        process = self.spawn(command, log)
        try:
            # initdb would wait for a server of its own that is stopped.
            with processes.group_ended(process.pid):
                deadline = time.monotonic() + _RUN_S
                while process.poll() != 0:
                    why = self.trouble(name, process, log)
                    # It may have ended well since it was looked at.
                    if why and process.returncode != 0:
                        raise ServerError(why)
                    if time.monotonic() > deadline:
                        words = last_words(written(log))
                        raise ServerError(f"{self.product}'s {name} took over {_RUN_S:.0f} s:\n{words}")
                    time.sleep(_POLL_S)
        finally:  # interrupted: it must not write on
            processes.stop(process, signal.SIGKILL)

    def spawn(
        self, command: Sequence[str | Path], log: Path, more: Mapping[str, str] = _NOTHING
    ) -> subprocess.Popen[bytes]:
        """Start a program that prints into a new `log`; of an image's, what holds its container."""
        user, group, death_signal = self.user, self.group, self.death_signal
        if self.image is not None:
            # who holds a container is who may ask for one, and is not asked to end well: its end is the server's
            own = containers.ids(user, group)
            command = containers.kept(self.image, command, self.folder.path, log.stem, own, self._bridge(), more)
            user, group, death_signal = None, None, signal.SIGKILL
        log.touch(mode=0o600)
        with log.open("wb") as file:
            # A disk that fills must not swallow the reason why servers end.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, _LOG_B)
            return processes.spawn(
                command,
                user=user,
                group=group,
                cwd=self.folder.path,
                env={**environment(self.folder.path), **more},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                death_signal=death_signal,
            )

    def trouble(self, what: str, process: "subprocess.Popen[bytes]", log: Path) -> str | None:
        """Return what is to be said of a program that ended, or waits for room on the disk; None while it runs."""
        status = process.poll()
        if status is None and (self.waits is None or self.waits not in written(log)):
            return None
        text = written(log)
        why = f"{'waits' if status is None else ending(status)}: {remedy(text, status)}"
        return f"{self.product}'s {what} {why}; in {log.parent} it wrote last:\n{last_words(text)}"

    def failure(self, patience_s: float = 0.0) -> str | None:
        """Return which servers ended and why; None when all still run after so many seconds."""
        deadline = time.monotonic() + patience_s
        while self.servers and all(server.failure() is None for server in self.servers) and time.monotonic() < deadline:
            time.sleep(_POLL_S)
        return "\n".join(text for server in self.servers if (text := server.failure())) or None

    def stop(self) -> None:
        """Stop all servers at once and remove their folder; a second call does nothing."""
        for server in self.servers:
            if server.process.poll() is None:
                server.process.send_signal(self.stop_signal)
        for server in self.servers:
            processes.stop(server.process, self.stop_signal, _STOP_S)
        if self.image and self._network:
            containers.remove_bridge(self.image.engine, self._network)
            self._network = None
        self.folder.remove()

    def _bridge(self) -> str | None:
        """Return the network that servers of such an image are on, made for the first; None for all others."""
        if self.image and self.image.bridged and self._network is None:
            self._network = containers.bridge(self.image.engine)
        return self._network

    def _give(self, path: Path) -> None:
        if self.user is not None:
            shutil.chown(path, self.user)


def await_true(condition: Callable[[], bool], failure: Callable[[], str], patience_s: float = _PATIENCE_S) -> None:
    """Wait until a condition holds; `ServerError`, with what `failure` says, when that takes too long."""
    deadline = time.monotonic() + patience_s
    while not condition():
        if time.monotonic() > deadline:
            raise ServerError(f"{failure()} within {patience_s:.0f} s")
        time.sleep(_POLL_S)


def new_password() -> str:
    """Return a password that nobody guesses, and that stands in an address as it is."""
    return secrets.token_urlsafe(24)


def free_port(address: str = LOOPBACK) -> int:
    """Return a port that is free now (and may be taken before it is used)."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port
