"""Containers of Docker or Podman, as another way to start a server's programs.

The programs of an image run by the same commands as this machine's programs. They use the host's
network at free ports of the loopback, the fleet's user, and the fleet's folder at the same path. A
label of each container names the process that started it. When that process is gone, the next start
removes the container (`remove_orphans`).
"""

import getpass
import os
import platform
import re
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from benchbook.measure import Meter
from benchbook.registry.products import Image
from benchbook.schema import Document
from benchbook.servers.deployment import Place
from benchbook.servers.errors import ServerError

# Only the lessons run on Windows, and they need none of it.
if sys.platform != "win32":
    import pwd
    import resource

# docker takes a quarter of a second to import, and most commands need no containers: it is imported
# where it is used.
if TYPE_CHECKING:
    from docker import APIClient

CONTAINERS_VARIABLE: Final = "BENCHBOOK_CONTAINERS"
"""Environment variable with a container engine's socket (``unix://PATH``), or `NO_CONTAINERS`."""

NO_CONTAINERS: Final = "no"

PODMAN: Final = "Podman"

OWNER_LABEL: Final = "benchbook.owner"
"""The label of our containers; its value names the process that started them."""

_SOCKETS: Final = (
    "/var/run/docker.sock",
    "/run/podman/podman.sock",
    "{runtime}/docker.sock",
    "{runtime}/podman/podman.sock",
    "{home}/.docker/run/docker.sock",
)
"""Sockets of Docker and Podman: for all users, the user's own, Docker Desktop's."""

_TIMEOUT_S: Final = 20

_REMOVAL_PAUSES_S: Final = (0, 0.5, 2)
"""Pauses before each request to remove a container."""

_SIGNAL_STATUS: Final = 128
"""Exit statuses above this are signals."""

_STATISTICS: Final = "the container engine's statistics (control group)"
_CONTAINER_LOG: Final = "/benchbook.log"

_MAX_LIMIT: Final = 32_768
"""The most files, and processes, that a container asks for."""


@dataclass(frozen=True)
class ContainerEngine:
    """Docker or Podman on this machine."""

    socket: str  # As `docker.APIClient` takes it.
    name: str  # ``Docker 28.2.2``
    rootless: bool
    # False: its containers run in a virtual machine, so their processes are not this machine's.
    shares_kernel: bool


@dataclass(frozen=True)
class LocalImage:
    """An image that is on this machine."""

    image: Image
    digest: str  # The registry's digest of it, else its own.
    version: str  # The product's version, from the tag.
    engine: ContainerEngine


class NoEngineError(ServerError):
    """No container engine can be used; the message has the reason and the remedy."""


def has_engine() -> bool:
    """Return whether a container engine answers here."""
    with suppress(NoEngineError):
        find_engine()
        return True
    return False


def find_engine() -> ContainerEngine:
    """Return the container engine to use; `NoEngineError` when there is none."""
    socket = os.environ.get(CONTAINERS_VARIABLE) or os.environ.get("DOCKER_HOST", "")
    # Take the socket that the user names.
    if socket == NO_CONTAINERS:
        raise NoEngineError("containers were left out")
    if socket:
        if not socket.startswith("unix://"):
            where = f"the container engine at {socket} is on another machine"
            raise NoEngineError(f"{where}: its servers would be there")
        return _ask_engine(socket)
    # Otherwise take the first of the usual sockets that answers.
    home, runtime = Path.home(), os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")
    refusals = []
    for place in _SOCKETS:
        path = place.format(home=home, runtime=runtime)
        if os.access(path, os.F_OK):
            try:
                return _ask_engine(f"unix://{path}")
            except NoEngineError as error:
                refusals.append(str(error))
    none = "no container engine here: install Podman or Docker, and start its service"
    raise NoEngineError("; ".join(refusals) or none)


# Errors are not cached: the next call asks again.
@cache
def _ask_engine(socket: str) -> ContainerEngine:
    path = Path(socket.removeprefix("unix://"))
    if not os.access(path, os.R_OK | os.W_OK) and path.exists():
        user, group = getpass.getuser(), path.group()
        raise NoEngineError(
            f"{user} may not use the container engine at {path}: join its group ({group}),"
            " or run Podman as yourself (systemctl --user start podman.socket)"
        )
    with open_client(socket, f"the container engine at {path}") as client:
        about = client.info()
    name = PODMAN if "Libpod-API-Version" in _ping(socket) else "Docker"
    options = about.get("SecurityOptions") or ()
    same_kernel = about["KernelVersion"] == platform.release()
    return ContainerEngine(
        socket,
        f"{name} {about['ServerVersion']}",
        rootless=any("rootless" in option for option in options),
        shares_kernel=sys.platform == "linux" and same_kernel,
    )


def connect(socket: str, timeout_s: int | None = _TIMEOUT_S) -> "APIClient":
    """Return a client of the container engine at a socket; `OSError` when there is none.

    Parameters
    ----------
    timeout_s
        Seconds that an answer may take; None: no limit.
    """
    from docker import APIClient

    version = _ping(socket)["API-Version"]
    # Its types do not know that None means without limit.
    return APIClient(base_url=socket, version=version, timeout=timeout_s)  # type: ignore[arg-type]


@cache
def _ping(socket: str) -> Mapping[str, str]:
    """Return the headers of the answer to a ping; the client's own request takes Podman 0.7 s."""
    from docker import APIClient
    from docker.constants import DEFAULT_DOCKER_API_VERSION

    client = APIClient(base_url=socket, version=DEFAULT_DOCKER_API_VERSION, timeout=_TIMEOUT_S)
    with closing(client):
        answer = client.get(f"{client.base_url}/_ping")
        answer.raise_for_status()
        return answer.headers


@contextmanager
def open_client(
    socket: str, name: str, timeout_s: int | None = _TIMEOUT_S
) -> "Iterator[APIClient]":
    """Yield a client of the container engine of that name; its errors become `NoEngineError`."""
    from docker.errors import DockerException

    try:
        with closing(connect(socket, timeout_s)) as client:
            yield client
    except (DockerException, OSError) as error:
        # It raises OSError when it breaks off an answer.
        raise NoEngineError(f"{name} does not answer: {describe_error(error)}") from None


def describe_error(error: Exception) -> str:
    """Return a container engine's error on one line."""
    return " ".join(str(getattr(error, "explanation", None) or error).split())


def find_image(image: Image) -> LocalImage | None:
    """Return an image of this machine, or None; `NoEngineError` without a container engine."""
    return _find_image(find_engine(), image)


@cache
def _find_image(engine: ContainerEngine, image: Image) -> LocalImage | None:
    from docker.errors import ImageNotFound

    with open_client(engine.socket, engine.name) as client:
        try:
            about = client.inspect_image(image.reference)
        except ImageNotFound:
            return None
    # Identify it by its registry's digest, else by its own id, which Docker and Podman write with
    # and without the algorithm.
    digest = f"sha256:{str(about['Id']).removeprefix('sha256:')}"
    of_registries = about.get("RepoDigests")
    if of_registries:
        digest = of_registries[0].partition("@")[2]
    # Read the product's version from the tag.
    tag = image.reference.rpartition(":")[2]
    numbers = re.findall(r"\d+(?:\.\d+)*", tag)
    return LocalImage(image, digest, numbers[0] if numbers else tag, engine)


def pull_image(engine: ContainerEngine, reference: str) -> Iterator[tuple[int, int]]:
    """Fetch an image from its registry; yield fetched and known bytes of all layers so far.

    `ServerError` when the registry refuses.
    """
    layers: dict[str, tuple[int, int]] = {}
    with open_client(engine.socket, f"{engine.name}, asked for {reference},", None) as client:
        for step in client.pull(reference, stream=True, decode=True):
            if "error" in step:
                raise ServerError(f"{reference} was not fetched: {step['error']}")
            # A layer counts as whole once another step follows its download.
            progress = step.get("progressDetail") or {}
            if "total" in progress and step.get("status") == "Downloading":
                layers[step["id"]] = (progress["current"], progress["total"])
            elif step.get("id") in layers:
                layers[step["id"]] = (layers[step["id"]][1], layers[step["id"]][1])
            fetched = sum(current for current, _ in layers.values())
            yield fetched, sum(total for _, total in layers.values())
    _find_image.cache_clear()


def remove_orphans(engine: ContainerEngine) -> list[str]:
    """Remove our containers whose process is gone; return their names."""
    removed: list[str] = []
    with open_client(engine.socket, engine.name) as client:
        for found in client.containers(all=True, filters={"label": OWNER_LABEL}):
            if not is_owner_running(found["Labels"][OWNER_LABEL]) and _remove(client, found["Id"]):
                removed.append(found["Names"][0].lstrip("/"))
    return removed


def _remove(client: "APIClient", container_id: str) -> bool:
    """Remove a container; return whether that was done here.

    Another process may have removed it meanwhile. Podman refuses at times, under load, while the
    container's processes end: it is asked again.
    """
    from docker.errors import APIError, NotFound

    for pause_s in _REMOVAL_PAUSES_S:
        time.sleep(pause_s)
        try:
            client.remove_container(container_id, force=True, v=True)
        except NotFound:
            return False
        except APIError:
            continue
        return True
    return False


def describe_owner() -> str:
    """Return this process's label: its id and its start, because ids are used again."""
    return f"{os.getpid()} {psutil.Process().create_time():.2f}"


def is_owner_running(label: str) -> bool:
    """Return whether the process of a label by `describe_owner` still runs."""
    pid, started = label.split()
    try:
        difference_s = abs(psutil.Process(int(pid)).create_time() - float(started))
    except psutil.NoSuchProcess:
        return False
    # Starts this close are the same: the system has whole seconds, and its clock may be set.
    return difference_s < 2.0


def find_namespace_fault(engine: ContainerEngine) -> str | None:
    """Return why containers cannot join our network namespace; None when they can."""
    if not engine.shares_kernel:
        return f"{engine.name} is in a virtual machine"
    if PODMAN not in engine.name:
        return f"{engine.name} only has its own networks; {PODMAN}'s containers also join others"
    return f"{engine.name} is not root's" if engine.rootless else None


def start_container(
    image: LocalImage,
    command: Sequence[str | Path],
    log: Path,
    user: tuple[int, int],
    place: Place | None,
    environment: Mapping[str, str],
) -> "Container":
    """Start a command in a new container; `NoEngineError` when that fails.

    Parameters
    ----------
    log
        The file into which it prints. The container shares the file's folder, at the same path.
    user
        The ids of its user and group.
    place
        Its place in a network.
    environment
        Further variables.
    """
    container, host = describe_container(image, command, log, place, environment)
    _share_folder(container, host, image.engine, log, user)
    return create_container(image.engine, container, host, log)


def describe_container(
    image: LocalImage,
    command: Sequence[str | Path],
    log: Path,
    place: Place | None,
    environment: Mapping[str, str],
) -> tuple[Document, Document]:
    """Return the options of a container that prints into `log`: its own, and those of its host."""
    # The server may run as any user; the folder is closed to others.
    log.chmod(0o666)
    # Describe the program: a shell becomes the command, which prints into the log.
    container: Document = {
        "image": image.image.reference,
        "entrypoint": ["/bin/sh", "-c", 'exec "$@" 1<>"$0" 2>&1', _CONTAINER_LOG],
        "command": [str(part) for part in command],
        "environment": {"LC_ALL": "C", "TZ": "UTC", **environment},
        "labels": {OWNER_LABEL: describe_owner()},
    }
    # Describe what it gets of this machine.
    host: Document = {
        "network_mode": "host",
        "binds": [f"{log}:{_CONTAINER_LOG}"],
        "security_opt": ["label=disable"],
        "shm_size": 1 << 30,
        "log_config": {"type": "none"},
        "ulimits": _list_limits(),
    }
    if place:
        host["network_mode"] = f"ns:{place.namespace}"
        host["cpuset_cpus"] = ",".join(map(str, place.processors)) or None
    return container, host


def create_container(
    engine: ContainerEngine, container: Document, host: Document, log: Path
) -> "Container":
    """Create and start a container with the options of `describe_container`.

    It is removed if it does not start.
    """
    with open_client(engine.socket, engine.name) as client:
        host_config = client.create_host_config(**host)
        container_id = client.create_container(host_config=host_config, **container)["Id"]
        try:
            client.start(container_id)
            pid = client.inspect_container(container_id)["State"]["Pid"]
        except BaseException:
            _remove(client, container_id)
            raise
    return Container(engine, container_id, pid, log)


def _share_folder(
    container: Document, host: Document, engine: ContainerEngine, log: Path, user: tuple[int, int]
) -> None:
    """Add the log's folder, and a user of this machine, to the options of a new container."""
    folder = log.parent
    uid, gid = user
    # Write the accounts: programs look up their user, and images do not know this machine's.
    users = log.with_suffix(".passwd")
    entries = "root:x:0:0::/root:/bin/sh\n"
    if uid:
        entries += f"benchbook:x:{uid}:{gid}::/:/bin/sh\n"
    users.write_text(entries)
    # Share both, and run as that user in the folder.
    host["binds"] += [f"{folder}:{folder}", f"{users}:/etc/passwd:ro"]
    container["user"] = f"{uid}:{gid}"
    container["working_dir"] = str(folder)
    container["environment"]["HOME"] = str(folder)
    if engine.rootless and PODMAN in engine.name:
        # Otherwise the folder would have another owner inside the container.
        host["userns_mode"] = "keep-id"


def _await_status(client: "APIClient", socket: str, container_id: str) -> int:
    """Return the exit status of a container's first process once it has ended."""
    podman_version = _ping(socket).get("Libpod-API-Version")
    if podman_version is None:
        return int(client.wait(container_id)["StatusCode"])
    # Podman 4 answers Docker's request by asking itself without a pause, which keeps a processor
    # busy as long as the container runs. At its own request it asks four times a second.
    path = f"/v{podman_version}/libpod/containers/{container_id}/wait"
    answer = client.post(f"{client.base_url}{path}")
    answer.raise_for_status()
    return int(answer.json())


class Container:
    """A running container, with the methods of `subprocess.Popen` that a fleet uses.

    Its `pid` is that of the kernel under the container engine.
    """

    def __init__(self, engine: ContainerEngine, container_id: str, pid: int, log: Path) -> None:
        self.engine = engine
        self.container_id = container_id
        self.pid = pid
        self._log = log
        self._ended = threading.Event()
        self.returncode: int | None = None
        # A daemon: without `stop` this process can end before the server.
        threading.Thread(target=self._await_end, daemon=True).start()

    def _await_end(self) -> None:
        try:
            with open_client(self.engine.socket, self.engine.name, None) as client:
                status = _await_status(client, self.engine.socket, self.container_id)
        except NoEngineError as error:
            status = 1
            with suppress(FileNotFoundError), self._log.open("r+b") as log:
                # Space is reserved ahead, as zeros: the output ends before.
                log.seek(len(log.read().rstrip(b"\0")))
                log.write(str(error).encode())
        self.returncode = _SIGNAL_STATUS - status if status > _SIGNAL_STATUS else status
        self._ended.set()

    def poll(self) -> int | None:
        """Return its exit status, negative for a signal; None while it runs."""
        return self.returncode

    def send_signal(self, signum: int) -> None:
        """Send its first process a signal, if it still runs."""
        from docker.errors import APIError

        with (
            suppress(NoEngineError),
            open_client(self.engine.socket, self.engine.name) as client,
            suppress(APIError),
        ):
            client.kill(self.container_id, int(signum))

    def stop(self, stop_signal: signal.Signals, patience_s: float) -> None:
        """Stop and remove it: by its signal, after `patience_s` seconds by SIGKILL.

        Where the container engine refuses, `remove_orphans` removes it once this process has ended.
        """
        if self.poll() is None:
            self.send_signal(stop_signal)
            self._ended.wait(patience_s)
        with suppress(NoEngineError), open_client(self.engine.socket, self.engine.name) as client:
            _remove(client, self.container_id)


def _list_limits() -> list[Document]:
    """Return a container's limits: this process's, at most those that Podman's service may give."""
    limits: list[Document] = []
    for name in ("nofile", "nproc"):
        # Not every system limits processes.
        which = getattr(resource, f"RLIMIT_{name.upper()}", None)
        if which is not None:
            soft, hard = (
                _MAX_LIMIT if limit == resource.RLIM_INFINITY else min(limit, _MAX_LIMIT)
                for limit in resource.getrlimit(which)
            )
            limits.append({"Name": name, "Soft": soft, "Hard": hard})
    return limits


def make_container_meters(container: str, role: str) -> list[Meter]:
    """Return meters of a container whose processes are out of reach, by its container engine.

    These are ``cpu_total``, ``cpu_user`` and ``cpu_system`` (ns), and ``memory_rss`` (B) where
    there is one. That is its processes' own memory without files, less than their resident sets.

    Parameters
    ----------
    container
        As in `benchbook.servers.deployment.Node`.
    """
    socket, _, container_id = container.partition(" ")
    client = connect(socket)

    def read(*path: str) -> float:
        figure = client.stats(container_id, stream=False, one_shot=True)
        for name in path:
            figure = figure[name]
        return float(figure)

    cpu = {
        "cpu_total": "total_usage",
        "cpu_user": "usage_in_usermode",
        "cpu_system": "usage_in_kernelmode",
    }
    meters = []
    # CPU.
    for metric, name in cpu.items():
        read_cpu = partial(read, "cpu_stats", "cpu_usage", name)
        meters.append(Meter(metric, role, "ns", _STATISTICS, 1.0, read_cpu))
    # Memory, by its names in the second version of control groups and in the first.
    statistics = client.stats(container_id, stream=False, one_shot=True)["memory_stats"]
    for name in {"anon", "rss"} & {*statistics.get("stats", ())}:
        read_memory = partial(read, "memory_stats", "stats", name)
        meters.append(Meter("memory_rss", role, "B", _STATISTICS, 1.0, read_memory, kind="after"))
    return meters


def find_ids(user: str | None, group: int | None) -> tuple[int, int]:
    """Return the ids of a user (None: this process's) and of a group (None: the user's own)."""
    uid, gid = os.geteuid(), os.getegid()
    if user is not None:
        entry = pwd.getpwnam(user)
        uid, gid = entry.pw_uid, entry.pw_gid
    return uid, gid if group is None else group
