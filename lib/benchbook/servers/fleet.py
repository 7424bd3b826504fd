"""The servers of one deployment: processes or containers with their ports, logs and folder.

A product's module ``server`` starts its servers by a `Fleet`, at the role's place (`RunAt`).
"""

import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final, Protocol, TypeVar

from benchbook.files.suite_files import TemporaryFolder
from benchbook.servers import containers, processes
from benchbook.servers.deployment import Place, Role, Topology, list_roles
from benchbook.servers.errors import (
    PORT_TAKEN,
    ServerError,
    describe_exit,
    find_remedy,
    quote_last_lines,
    read_log_end,
)
from benchbook.servers.networks import LOOPBACK
from benchbook.servers.programs import AvailableServer, make_server_environment

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import grp

Command = Callable[[int], Sequence[str | Path]]
"""Returns the command that serves at a port."""

Process = subprocess.Popen[bytes] | containers.Container
"""A program that a fleet started."""

USER_NAME: Final = "benchbook"
"""The user of servers that are started here."""

T = TypeVar("T")


class RunAt(Protocol):
    """Calls a function at a role's place, with the fleet and the programs that are there."""

    def __call__(self, role: Role, function: Callable[..., T], *arguments: object) -> T:
        """Return the result of ``function(fleet, installed, *arguments)`` there."""


_NO_VARIABLES: Final[Mapping[str, str]] = MappingProxyType({})
_READY_S = 60.0
_RUN_S = 180.0
_STOP_S = 10.0
_CONDITION_S = 30.0


class ServerProcess:
    """One server of a fleet: it listens at its `address` and prints into `log`."""

    def __init__(
        self, fleet: "Fleet", role: Role, command: Command, environment: Mapping[str, str]
    ) -> None:
        self.fleet = fleet
        self._environment = environment
        self.role = role
        self.log = fleet.folder.path / f"{role}.log"
        self._command = command
        self._starts = 0
        self._start()

    def _start(self) -> None:
        self._starts += 1
        fleet = self.fleet
        self.port = fleet.choose_port()
        command = self._command(self.port)
        self.process = fleet.spawn(command, self.log, self._environment, fleet.death_signal)

    @property
    def address(self) -> str:
        """Host and port, as this machine reaches them."""
        return f"{self.host}:{self.port}"

    @property
    def host(self) -> str:
        """Its address without the port."""
        return self.fleet.find_host(self.process)

    @property
    def pid(self) -> int | None:
        """Its process on this machine; None where a virtual machine has it."""
        image = self.fleet.image
        return self.process.pid if image is None or image.engine.shares_kernel else None

    @property
    def container(self) -> str:
        """Its container as `deployment.Node` has it, where that hides its process."""
        process = self.process
        if not isinstance(process, containers.Container) or process.engine.shares_kernel:
            return ""
        return f"{process.engine.socket} {process.container_id}"

    def await_line(self, text: str) -> None:
        """Wait until the server has printed `text`; start it at another port if its port was taken.

        `ServerError` when it ends, or takes too long.
        """
        for _ in _repeat(_READY_S):
            if text.encode() in self.log.read_bytes():
                return
            if self.process.poll() is not None:
                # Another process may have taken the port since it was chosen.
                port_was_taken = re.search(PORT_TAKEN, read_log_end(self.log))
                if self._starts == 5 or not port_was_taken:
                    raise ServerError(self.find_failure())
                _stop(self.process, signal.SIGKILL)
                self._start()
        raise ServerError(self._describe_timeout(_READY_S))

    def await_ready(self, ready: Callable[[], bool], patience_s: float) -> None:
        """Wait until `ready` returns true; until then it may also raise `OSError`.

        `ServerError` when the server ends before, or takes longer than `patience_s`.
        """
        last_error = ""
        for _ in _repeat(patience_s, pause_s=0.2):
            try:
                if ready():
                    return
            except OSError as error:
                last_error = f" ({error})"
            failure = self.find_failure()
            if failure:
                raise ServerError(failure)
        raise ServerError(self._describe_timeout(patience_s, last_error))

    def _describe_timeout(self, patience_s: float, last_error: str = "") -> str:
        name = f"{self.fleet.product}'s {self.role}"
        lines = quote_last_lines(read_log_end(self.log))
        return f"{name} was not ready in {patience_s:.0f} s{last_error}:\n{lines}"

    def find_failure(self) -> str | None:
        """Return why the server ended, or waits for space on the disk; None while it runs."""
        name = f"{self.role} (process {self.process.pid})"
        return self.fleet.describe_failure(name, self.process, self.log)


class Fleet:
    """The servers of one deployment and their folder, until `stop` is called.

    Parameters
    ----------
    product
        Its name in errors.
    user
        The account that runs the servers; None: the one that runs this process.
    stop_signal, death_signal
        Sent to the servers to stop them, and when their owner dies.
    waiting_text
        What they print when they wait, without end, for space on the disk.
    """

    def __init__(
        self,
        product: str,
        *,
        user: str | None = None,
        stop_signal: signal.Signals = signal.SIGTERM,
        death_signal: signal.Signals = signal.SIGKILL,
        waiting_text: str | None = None,
    ) -> None:
        self.product = product
        self.user = user
        self.stop_signal = stop_signal
        self.death_signal = death_signal
        self.waiting_text = waiting_text
        self.folder = TemporaryFolder("servers")
        self.group: int | None = None
        if user is not None:
            # In a group of their own, so that other processes of that account find neither their
            # files nor their memory. Its id is one that systemd takes for temporary groups; these
            # exist in each container with ``nobody``.
            taken = {group.gr_gid for group in grp.getgrall()}
            self.group = secrets.choice(sorted({*range(61_184, 65_520)} - taken))
            os.chown(self.folder.path, -1, self.group)
            self.folder.path.chmod(0o710)
        self.servers: list[ServerProcess] = []
        self.image: containers.LocalImage | None = None
        """The image of their containers; None: they run on this machine."""
        self.address = LOOPBACK
        """They listen here: this machine's loopback, or their own address in a network."""
        self.place: Place | None = None
        """Their place in a network, which the caller has entered."""
        self.commits_later = False
        """Whether a write is answered before it is on the disk, and files are synced later."""

    def make_folder(self, name: str) -> Path:
        """Return a folder that only the servers' user can read, new or from before."""
        path = self.folder.path / name
        path.mkdir(mode=0o700, exist_ok=True)
        self._give(path)
        return path

    def write_secret(self, name: str, text: str) -> Path:
        """Write a new file that only the servers' user can read; return its path."""
        path = self.folder.path / name
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(text)
        self._give(path)
        return path

    def start_server(
        self, role: Role, command: Command, environment: Mapping[str, str] = _NO_VARIABLES
    ) -> ServerProcess:
        """Start a server, with more variables in its environment; its `await_line` waits for it."""
        self.servers.append(ServerProcess(self, role, command, environment))
        return self.servers[-1]

    def find_server(self, role: Role) -> ServerProcess:
        """Return the server of that role; `LookupError` when there is none here."""
        for server in self.servers:
            if server.role == role:
                return server
        raise LookupError(f"no {role} runs here")

    def choose_port(self) -> int:
        """Return a port at which the next server can listen."""
        return find_free_port(self.address)

    def find_host(self, process: Process) -> str:
        """Return where this machine reaches a server, without the port."""
        return self.address

    @property
    def is_on_loopback(self) -> bool:
        """Whether they listen on this machine's loopback."""
        return self.address == LOOPBACK

    def run(self, command: Sequence[str | Path]) -> None:
        """Run a program to its end; `ServerError` when it fails, or takes too long."""
        name = Path(command[0]).name
        log = self.folder.path / f"{name}.log"
        process = self.spawn(command, log)
        try:
            for _ in _repeat(_RUN_S):
                if process.poll() == 0:
                    return
                failure = self.describe_failure(name, process, log)
                # It may have ended well since `poll`.
                if failure and process.returncode != 0:
                    raise ServerError(failure)
            lines = quote_last_lines(read_log_end(log))
            raise ServerError(f"{self.product}'s {name} took over {_RUN_S:.0f} s:\n{lines}")
        finally:
            # After an interrupt it must not write on.
            _stop(process, signal.SIGKILL)

    def spawn(
        self,
        command: Sequence[str | Path],
        log: Path,
        more: Mapping[str, str] = _NO_VARIABLES,
        # initdb would continue after another signal.
        death_signal: signal.Signals = signal.SIGKILL,
    ) -> Process:
        """Start a program that prints into a new `log`; an image's program in a container."""
        log.touch(mode=0o600)
        with log.open("wb") as file:
            # Reserve space: on a full disk the reason why servers end must still be written.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, 1 << 18)
            # In a container.
            if self.image is not None:
                return self.start_container(self.image, command, log, more)
            # On this machine.
            return processes.spawn(
                command,
                user=self.user,
                group=self.group,
                cwd=self.folder.path,
                env={**make_server_environment(self.folder.path), **more},
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                death_signal=death_signal,
            )

    def start_container(
        self,
        image: containers.LocalImage,
        command: Sequence[str | Path],
        log: Path,
        more: Mapping[str, str],
    ) -> containers.Container:
        """Start a program of an image that prints into `log`, with more variables."""
        user = containers.find_ids(self.user, self.group)
        return containers.start_container(image, command, log, user, self.place, more)

    def describe_failure(self, name: str, process: Process, log: Path) -> str | None:
        """Return why a program ended, or waits for space on the disk; None while it runs."""
        status = process.poll()
        if status is None and (
            self.waiting_text is None or self.waiting_text not in read_log_end(log)
        ):
            return None
        text = read_log_end(log)
        state = "waits" if status is None else describe_exit(status)
        why = f"{state}: {find_remedy(text, status)}"
        lines = quote_last_lines(text)
        return f"{self.product}'s {name} {why}; in {log.parent} it wrote last:\n{lines}"

    def find_failures(self, patience_s: float = 0.0) -> str | None:
        """Return which servers ended and why; None when all run after `patience_s` seconds."""
        for _ in _repeat(patience_s if self.servers else 0.0):
            failures = [server.find_failure() for server in self.servers]
            found = [failure for failure in failures if failure]
            if found:
                return "\n".join(found)
        return None

    def stop(self) -> None:
        """Stop all servers at once and remove their folder; a second call does nothing."""
        # All get the signal before any is waited for.
        for server in self.servers:
            if server.process.poll() is None:
                server.process.send_signal(self.stop_signal)
        for server in self.servers:
            _stop(server.process, self.stop_signal)
        self.folder.remove()

    def _give(self, path: Path) -> None:
        if self.user is not None:
            shutil.chown(path, self.user)


def _stop(process: Process, stop_signal: signal.Signals) -> None:
    if isinstance(process, containers.Container):
        process.stop(stop_signal, _STOP_S)
    else:
        processes.stop(process, stop_signal, _STOP_S)


def start_roles(
    run_at: RunAt,
    topology: Topology,
    serve: Callable[[Fleet, AvailableServer, Role, str], object],
    ready: Callable[[Fleet, AvailableServer, Role, str], str],
    password: str,
) -> dict[Role, str]:
    """Start the servers of a topology at once, wait for each, and return their URLs.

    `serve` starts a role's server. `ready` waits until it can be used, and returns its URL.
    """
    for role in list_roles(topology):
        run_at(role, serve, role, password)
    return {role: run_at(role, ready, role, password) for role in list_roles(topology)}


def await_condition(condition: Callable[[], bool], failure: Callable[[], str]) -> None:
    """Wait until a condition holds; `ServerError` with `failure`'s text when it takes too long."""
    for _ in _repeat(_CONDITION_S):
        if condition():
            return
    raise ServerError(f"{failure()} within {_CONDITION_S:.0f} s")


def _repeat(patience_s: float, pause_s: float = 0.01) -> Iterator[None]:
    """Yield once, and again after each pause until `patience_s` have passed."""
    deadline = time.monotonic() + patience_s
    yield
    while time.monotonic() < deadline:
        time.sleep(pause_s)
        yield


def make_password() -> str:
    """Return a random password that needs no escapes in an address."""
    return secrets.token_urlsafe(24)


def make_certificate(name: str) -> bytes:
    """Return a new key and its self-signed certificate with that name, in PEM."""
    # Imported here: it takes 60 ms, and of all products only RethinkDB needs it.
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    public_key = key.public_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(subject, subject, public_key, x509.random_serial_number())
        # Other machines' clocks may be late.
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=3650))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + certificate.public_bytes(Encoding.PEM)


def find_free_port(address: str) -> int:
    """Return a port that is free now; another process may take it before it is used."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port
