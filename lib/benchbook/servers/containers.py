"""Containers: one more way to start a server's programs, through the API of Docker or of Podman.

An image's programs are started as this machine's own are, by the same commands: on the host's network, where they
listen on loopback at free ports, as the fleet's user, with the fleet's folder at the same path. A container's labels
name the process that started it. `sweep` removes those whose process is dead, at the next start.
"""

import getpass
import os
import platform
import pwd
import re
import resource
import secrets
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from benchbook.deployment import Place, numbers
from benchbook.measure import Meter
from benchbook.registry import Image
from benchbook.schemas import Document
from benchbook.servers.errors import ServerError

if TYPE_CHECKING:
    from docker import APIClient

VARIABLE: Final = "BENCHBOOK_CONTAINERS"
"""Environment variable that names an engine's socket (``unix://PATH``), or says `LEFT_OUT`."""

LEFT_OUT: Final = "no"

PODMAN: Final = "Podman"
HOST: Final = "host"
"""The network of this machine."""

LABEL: Final = "benchbook.owner"
"""By which containers and networks are known as ours: who started them."""

_SOCKETS: Final = (
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "{runtime}/docker.sock",
    "{runtime}/podman/podman.sock",
    "{home}/.docker/run/docker.sock",
)
"""Where engines listen: Docker's and Podman's for all, a user's own, Docker Desktop's."""

_TIMEOUT_S: Final = 20
_SIGNALLED: Final = 128
_SAME_START_S: Final = 2.0
"""The system says in whole seconds when the machine began, which changes as its clock is set."""

_SHARED_MEMORY_B: Final = 1 << 30
_STATS: Final = "the container engine's statistics (control group)"
_LOG: Final = "/benchbook.log"
_ROOT: Final = "root:x:0:0::/root:/bin/sh\n"
_MOST: Final = 32_768
"""Of files and of processes."""

_PRINTING: Final = 'exec "$@" 1<>"$0" 2>&1'
"""A shell that becomes a command, which prints into the file by whose name the shell goes."""


@dataclass(frozen=True)
class Engine:
    """What runs containers here."""

    socket: str  # as `docker.APIClient` takes it
    name: str  # ``Docker 28.2.2``
    rootless: bool
    shares_kernel: bool  # False: its containers run in a virtual machine, and their processes are not this machine's


@dataclass(frozen=True)
class Present:
    """An image that is here."""

    known: Image
    digest: str  # by which its registry knows it, else its own
    version: str  # of the product in it, as the tag says
    engine: Engine

    @property
    def bridged(self) -> bool:
        """Whether its servers listen on a bridge of their own, for they listen at one port whatever they are told."""
        return bool(self.known.port)


class NoEngineError(ServerError):
    """No container engine can be used; the message says why, and what to do."""


def engine() -> Engine:
    """Return the engine that is used; `NoEngineError` when there is none, or it cannot be used."""
    asked = os.environ.get(VARIABLE) or os.environ.get("DOCKER_HOST", "")
    if asked == LEFT_OUT:
        raise NoEngineError("containers were left out")
    if asked:
        if not asked.startswith("unix://"):
            raise NoEngineError(f"the container engine at {asked} is on another machine: its servers would be there")
        return _engine(asked)
    home, runtime = Path.home(), os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    refusals = []
    for place in _SOCKETS:
        if os.access(path := place.format(home=home, runtime=runtime), os.F_OK):
            try:
                return _engine(f"unix://{path}")
            except NoEngineError as error:
                refusals.append(str(error))
    raise NoEngineError(
        "; ".join(refusals) or "no container engine here: install Podman or Docker, and start its service"
    )


@cache  # answers only: what was raised is asked again
def _engine(socket: str) -> Engine:
    """Return the engine that listens there."""
    path = Path(socket.removeprefix("unix://"))
    if not os.access(path, os.R_OK | os.W_OK) and path.exists():
        group = path.group()
        raise NoEngineError(
            f"{getpass.getuser()} may not use the container engine at {path}: join its group ({group}), or run Podman"
            " as yourself (systemctl --user start podman.socket)"
        )
    with answering(socket, f"the container engine at {path}") as client:
        about = client.info()
    name = PODMAN if "Libpod-API-Version" in _greeting(socket) else "Docker"
    return Engine(
        socket,
        f"{name} {about['ServerVersion']}",
        any("rootless" in option for option in about.get("SecurityOptions") or ()),
        sys.platform == "linux" and about["KernelVersion"] == platform.release(),
    )


def connected(socket: str, timeout_s: int | None = _TIMEOUT_S, version: str = "") -> "APIClient":
    """Return a session with the engine at a socket, whose answers may take so long; None: as long as they take.

    `version` is the API's, which the engine is asked for if none is given. `OSError` when there is no engine.
    """
    # now: its import takes a quarter of a second, which no command without containers has for it
    from docker import APIClient

    return APIClient(base_url=socket, version=version or api_version(socket), timeout=timeout_s)  # type: ignore[arg-type]


def api_version(socket: str) -> str:
    """Return which version of the API an engine speaks; `OSError` when there is no engine."""
    return _greeting(socket)["API-Version"]


@cache
def _greeting(socket: str) -> Mapping[str, str]:
    """Return the headers of an engine's answer to a ping; what the client itself would ask takes Podman 0.7 s."""
    from docker import APIClient
    from docker.constants import DEFAULT_DOCKER_API_VERSION

    with closing(APIClient(base_url=socket, version=DEFAULT_DOCKER_API_VERSION, timeout=_TIMEOUT_S)) as client:
        answer = client.get(f"{client.base_url}/_ping")
        answer.raise_for_status()
        return answer.headers


@contextmanager
def answering(socket: str, name: str, timeout_s: int | None = _TIMEOUT_S) -> "Iterator[APIClient]":
    """Yield a session with the engine of that name; what it refuses, or fails to answer, is a `NoEngineError`."""
    from docker.errors import DockerException

    try:
        with closing(connected(socket, timeout_s)) as client:
            yield client
    except (DockerException, OSError) as error:  # an OSError is what it breaks off with
        raise NoEngineError(f"{name} does not answer: {explanation(error)}") from None


def explanation(error: Exception) -> str:
    """Return an engine's error on one line."""
    return " ".join(str(getattr(error, "explanation", None) or error).split())


def find(image: Image) -> Present | None:
    """Return an image as it is here; None when it is not, `NoEngineError` when no engine can be used."""
    return _find(engine(), image)


@cache
def _find(engine: Engine, known: Image) -> Present | None:
    from docker.errors import ImageNotFound

    with answering(engine.socket, engine.name) as client:
        try:
            image = client.inspect_image(known.reference)
        except ImageNotFound:
            return None
    digests = [text.partition("@")[2] for text in image.get("RepoDigests") or ()]
    own = str(image["Id"])
    digest = next(iter(digests), own if own.startswith("sha256:") else f"sha256:{own}")
    tag = known.reference.rpartition(":")[2]
    version = next(iter(re.findall(r"\d+(?:\.\d+)*", tag)), tag)
    return Present(known, digest, version, engine)


def pull(engine: Engine, reference: str) -> Iterator[tuple[int, int]]:
    """Fetch an image from its registry; yield how many bytes of how many are here, as far as its layers have begun.

    `ServerError` when the registry does not give it.
    """
    layers: dict[str, tuple[int, int]] = {}
    with answering(engine.socket, f"{engine.name}, asked for {reference},", None) as client:
        for step in client.pull(reference, stream=True, decode=True):
            if "error" in step:
                raise ServerError(f"{reference} was not fetched: {step['error']}")
            progress = step.get("progressDetail") or {}
            if "total" in progress and step.get("status") == "Downloading":
                layers[step["id"]] = (progress["current"], progress["total"])
            elif step.get("id") in layers:
                layers[step["id"]] = (layers[step["id"]][1], layers[step["id"]][1])
            yield sum(fetched for fetched, _ in layers.values()), sum(size for _, size in layers.values())
    _find.cache_clear()


def sweep(engine: Engine) -> list[str]:
    """Remove containers and networks of ours whose owner is dead; return their names."""
    from docker.errors import APIError

    removed: list[str] = []

    def remove_each(found: list[Document], remove: Callable[[str], None]) -> None:
        for item in found:
            if not owner_runs(item["Labels"][LABEL]):
                # Another run's sweep may have taken it.
                with suppress(APIError):
                    remove(item["Id"])
                    removed.append(item["Name"] if "Name" in item else item["Names"][0].lstrip("/"))

    with answering(engine.socket, engine.name) as client:
        ours = {"label": LABEL}
        remove_each(client.containers(all=True, filters=ours), partial(client.remove_container, force=True, v=True))
        # Podman fails to list networks while another run removes one: the next start sweeps again.
        with suppress(APIError):
            remove_each(client.networks(filters=ours), client.remove_network)
    return removed


def owner() -> str:
    """Return the label of what this process starts: its id, and when it began, for ids are reused."""
    return f"{os.getpid()} {psutil.Process().create_time():.2f}"


def owner_runs(label: str) -> bool:
    """Return whether the process still runs that a label names, as `owner` makes it."""
    pid, started = label.split()
    try:
        return abs(psutil.Process(int(pid)).create_time() - float(started)) < _SAME_START_S
    except psutil.NoSuchProcess:
        return False


def bridge(engine: Engine) -> str:
    """Make a network that leads nowhere but to this machine, and return its name; `remove_bridge` takes it away.

    `ServerError` when the engine's such networks do not even lead here: what is sent to one would leave the machine.
    """
    name = f"benchbook-{secrets.token_hex(6)}"
    with answering(engine.socket, engine.name) as client:
        client.create_network(name, driver="bridge", internal=True, labels={LABEL: owner()})
        gateways = [subnet.get("Gateway") or "" for subnet in client.inspect_network(name)["IPAM"]["Config"]]
    if not any(numbers(gateway) for gateway in gateways):
        remove_bridge(engine, name)
        raise ServerError(f"{engine.name}'s closed networks are out of this machine's reach: install netavark")
    return name


def remove_bridge(engine: Engine, name: str) -> None:
    """Remove a network whose containers have ended; the next start's `sweep` takes what an engine will not now."""
    with suppress(NoEngineError), answering(engine.socket, engine.name) as client:
        client.remove_network(name)


def outside(engine: Engine) -> str | None:
    """Return why an engine's containers cannot join a network namespace of ours; None when they can."""
    if not engine.shares_kernel:
        return f"{engine.name} is in a virtual machine"
    if PODMAN not in engine.name:
        return f"{engine.name} knows its own networks alone: {PODMAN}'s containers join others, too"
    return f"{engine.name} is not root's" if engine.rootless else None


def start(
    image: Present,
    command: Sequence[str | Path],
    log: Path,
    user: tuple[int, int],
    network: str | None,
    place: Place | None,
    environment: Mapping[str, str],
) -> "Container":
    """Start a command in a new container; `NoEngineError` when the engine refuses.

    Parameters
    ----------
    log
        The file into which it prints. Its folder is what the container shares with this machine, at the same path; its
        name is the container's host name on a bridge.
    user
        The ids of the user and group as which it runs, unless its image listens where it will: then it runs as that
        would have it, and shares nothing but its log.
    network
        The bridge that it is on, if any.
    place
        Where it is, in a network.
    environment
        What it is told by beside the command.
    """
    # Whoever the server runs as; the folder is closed to others.
    log.chmod(0o666)
    folder = log.parent
    variables = {"LC_ALL": "C", "TZ": "UTC", **environment}
    container: Document = {
        "image": image.known.reference,
        "entrypoint": ["/bin/sh", "-c", _PRINTING, _LOG],
        "command": [str(part) for part in command],
        "environment": variables,
        "labels": {LABEL: owner()},
    }
    binds = [f"{log}:{_LOG}"]
    host: Document = {
        "network_mode": network or HOST,
        "binds": binds,
        "security_opt": ["label=disable"],
        "shm_size": _SHARED_MEMORY_B,
        "log_config": {"type": "none"},
        "ulimits": _limits(),
    }
    if place:
        host |= {"network_mode": f"ns:{place.namespace}", "cpuset_cpus": ",".join(map(str, place.processors)) or None}
    if image.bridged:
        container["hostname"] = log.stem
    else:
        # Programs ask who they run as, and images know nobody of this machine's.
        uid, gid = user
        users = log.with_suffix(".passwd")
        users.write_text(_ROOT + (f"benchbook:x:{uid}:{gid}::/:/bin/sh\n" if uid else ""))
        binds += [f"{folder}:{folder}", f"{users}:/etc/passwd:ro"]
        container |= {"user": f"{uid}:{gid}", "working_dir": str(folder)}
        variables["HOME"] = str(folder)
        if image.engine.rootless and PODMAN in image.engine.name:
            # Of a user's own engine: who else the folder's owner would be in the container.
            host["userns_mode"] = "keep-id"
    with answering(image.engine.socket, image.engine.name) as client:
        identity = client.create_container(host_config=client.create_host_config(**host), **container)["Id"]
        try:
            client.start(identity)
            about = client.inspect_container(identity)
        except BaseException:
            client.remove_container(identity, force=True, v=True)
            raise
    addresses = [joined["IPAddress"] for joined in about["NetworkSettings"]["Networks"].values()]
    return Container(image.engine, identity, about["State"]["Pid"], next(iter(addresses), ""), log)


class Container:
    """A container of ours, with what a fleet uses of `subprocess.Popen`: its `pid` is as the engine's kernel has it."""

    def __init__(self, engine: Engine, identity: str, pid: int, address: str, log: Path) -> None:
        self.engine, self.identity, self.pid = engine, identity, pid
        self.address = address
        """On its bridge."""
        self._log = log
        self._ended = threading.Event()
        self.returncode: int | None = None
        # A daemon: who leaves without `stop` need not wait for the server.
        threading.Thread(target=self._await_end, daemon=True).start()

    def _await_end(self) -> None:
        try:
            with answering(self.engine.socket, self.engine.name, None) as client:
                status = int(client.wait(self.identity)["StatusCode"])
        except NoEngineError as error:
            status = 1
            with suppress(FileNotFoundError), self._log.open("r+b") as log:
                # Space was reserved: what was printed ends before.
                log.seek(len(log.read().rstrip(b"\0")))
                log.write(str(error).encode())
        self.returncode = _SIGNALLED - status if status > _SIGNALLED else status
        self._ended.set()

    def poll(self) -> int | None:
        """Return its exit status, negative for the signal it ended by; None while it runs."""
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send its first process a signal; one that has just ended needs none."""
        from docker.errors import APIError

        with suppress(NoEngineError), answering(self.engine.socket, self.engine.name) as client, suppress(APIError):
            client.kill(self.identity, int(signum))

    def stop(self, stop_signal: signal.Signals, patience_s: float) -> None:
        """End it by the signal it stops on, after so many seconds by SIGKILL, and remove it and its volumes.

        What an engine cannot remove now, a `sweep` does once this process has ended.
        """
        if self.poll() is None:
            self.send_signal(stop_signal)
            self._ended.wait(patience_s)
        with suppress(NoEngineError), answering(self.engine.socket, self.engine.name) as client:
            client.remove_container(self.identity, force=True, v=True)


def _limits() -> list[Document]:
    """Return this process's limits as an engine takes them: no more than Podman's service may itself give."""
    limits: list[Document] = []
    for name in ("nofile", "nproc"):
        # Not every system limits processes.
        if (which := getattr(resource, f"RLIMIT_{name.upper()}", None)) is not None:
            soft, hard = (_MOST if limit == resource.RLIM_INFINITY else limit for limit in resource.getrlimit(which))
            limits.append({"Name": name, "Soft": min(soft, _MOST), "Hard": min(hard, _MOST)})
    return limits


def meters(container: str, role: str) -> list[Meter]:
    """Return meters of a container whose processes are out of reach, as its engine tells them of its control group.

    Its ``cpu_total``, ``cpu_user``, ``cpu_system`` (ns), and, where the engine tells it, ``memory_rss`` (B): what its
    processes have of their own and no files, which is less than their resident sets. `container` is as
    `benchbook.deployment.Node` has it.
    """
    socket, _, identity = container.partition(" ")
    client = connected(socket)

    def read(*path: str) -> float:
        figure = client.stats(identity, stream=False, one_shot=True)
        for name in path:
            figure = figure[name]
        return float(figure)

    cpu = {"cpu_total": "total_usage", "cpu_user": "usage_in_usermode", "cpu_system": "usage_in_kernelmode"}
    found = [
        Meter(metric, role, "ns", _STATS, 1.0, partial(read, "cpu_stats", "cpu_usage", name))
        for metric, name in cpu.items()
    ]
    memory = client.stats(identity, stream=False, one_shot=True)["memory_stats"].get("stats", ())
    # the name of the second version of control groups, and of the first
    for name in {"anon", "rss"} & {*memory}:
        own = partial(read, "memory_stats", "stats", name)
        found.append(Meter("memory_rss", role, "B", _STATS, 1.0, own, kind="after"))
    return found


def ids(user: str | None, group: int | None) -> tuple[int, int]:
    """Return the ids of a user, of whoever runs this if it is None, and of a group, of the user's own if it is None."""
    entry = pwd.getpwnam(user) if user is not None else None
    uid, gid = (entry.pw_uid, entry.pw_gid) if entry else (os.geteuid(), os.getegid())
    return uid, gid if group is None else group
