"""Print what kills leave of servers in containers: ``python benchmarks/faults_containers.py [--kills 200] [--seed 1]``.

A process starts a server in a container of a Podman made for this, single or on a bridge of its own; at a random moment
of its start or soon after, a random one of those that have a part in it gets SIGKILL: the process itself, the keeper,
the server, the container by its engine, the engine. What is there a few seconds later is counted: processes,
containers, networks, volumes. What only the next start can take away is counted apart: it alone can ask the engine.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil
from docker.errors import DockerException

from benchbook import processes
from benchbook.servers import containers, keeper, programs

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
import local_engine
from waiting import comes_true

VICTIMS: Final = ("owner", "keeper", "server", "container", "engine")
LONGEST_S: Final = 4.0
GRACE_S: Final = 6.0

OWNER: Final = """
import sys, time
from dataclasses import replace
from benchbook import registry, servers
from benchbook.servers import containers
containers.sweep(containers.engine())
if sys.argv[1] == "bridge":
    fleet = servers.fleet_of("postgresql")
    fleet.image = containers.find(replace(registry.images()["postgresql"], port=5432))
    fleet.serve("primary", lambda _: ["sh", "-c", "cat /dev/zero >/dev/null", fleet.folder.path])
else:
    servers.start("postgresql", "single")
time.sleep(600)
"""


def named(owner: psutil.Process, victim: str) -> list[psutil.Process]:
    """Return the processes of the owner that are such a victim."""
    with suppress(psutil.Error):
        keepers = [one for one in owner.children(recursive=True) if "benchbook.servers.keeper" in one.cmdline()]
        return [owner] if victim == "owner" else keepers
    return []


def ours(folder: Path) -> list[psutil.Process]:
    """Return the processes that are told of a folder, but the engine itself: keepers, monitors, shells, servers."""
    every = psutil.process_iter(["name", "cmdline"])
    told = [process for process in every if any(str(folder) in word for word in process.info["cmdline"] or ())]
    return [process for process in told if process.info["name"] != "podman"]


def remaining(engine: containers.Engine, folder: Path) -> Counter[str]:
    """Return how many containers, networks and volumes of ours the engine knows, and processes there are."""
    # Podman answers with an error when a process that it looks at ends meanwhile.
    answered: list[Counter[str]] = []

    def ask() -> bool:
        with suppress(DockerException):
            answered.append(_remaining(engine, folder))
        return bool(answered)

    assert comes_true(ask)
    return answered[0]


def _remaining(engine: containers.Engine, folder: Path) -> Counter[str]:
    client, label = containers.connected(engine.socket), {"label": containers.LABEL}
    return +Counter(
        containers=len(client.containers(all=True, filters=label)),
        networks=len(client.networks(filters=label)),
        volumes=len(client.volumes()["Volumes"] or ()),
        processes=len(ours(folder)),
    )


def hurt(podman: local_engine.Podman, owner: psutil.Process, victim: str) -> None:
    """Kill a victim, where there is one."""
    if victim == "engine":
        podman.kill()
    elif victim == "container":
        client = containers.connected(podman.socket)
        for one in client.containers(filters={"label": containers.LABEL}):
            with suppress(DockerException):
                client.kill(one["Id"])
    elif victim == "server":
        for one in ours(podman.folder / "temporary"):
            with suppress(psutil.Error):
                if one.name() in ("postgres", "cat"):
                    one.kill()
    else:
        for one in named(owner, victim):
            with suppress(psutil.Error):
                one.kill()


def main(kills: int, seed: int) -> None:
    """Kill, and print what was left."""
    chance, left, later, killed = random.Random(seed), Counter[str](), Counter[str](), Counter[str]()
    with local_engine.podman() as podman:
        local_engine.add_product(podman.socket, "postgresql")
        folder = podman.folder / "temporary"
        folder.mkdir(mode=0o755)
        podman.folder.chmod(0o755)
        chosen = {
            containers.VARIABLE: podman.socket,
            programs.image_variable("postgresql"): "pinned",
            "TMPDIR": str(folder),
        }
        for kill in range(kills):
            victim, way = chance.choice(VICTIMS), chance.choice(("host", "bridge"))
            owner = subprocess.Popen(
                [*processes.PYTHON, "-c", OWNER, way],
                env={**os.environ, **chosen},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            time.sleep(chance.uniform(0.3, LONGEST_S))
            with suppress(psutil.Error):
                hurt(podman, psutil.Process(owner.pid), victim)
            killed[victim] += 1
            # whoever is left of it ends as a user's session does
            if victim != "owner":
                time.sleep(chance.uniform(0, 1))
                owner.kill()
            owner.wait()
            if victim == "engine":
                podman.start()
            engine = containers._engine(podman.socket)
            deadline = time.monotonic() + GRACE_S
            # networks stay until the next start: nobody who could remove them is left
            while (there := remaining(engine, podman.folder)) - Counter(networks=1) and time.monotonic() < deadline:
                time.sleep(0.2)
            later += there
            containers.sweep(engine)
            keeper.sweep()
            left += remaining(engine, podman.folder)
            if not (kill + 1) % 20:
                print(f"{kill + 1} kills: {dict(later)} swept, {dict(left)} left", flush=True)
    print(f"kills: {dict(killed)}")
    print(f"left until the next start, which swept them: {dict(later) or 'nothing'}")
    print(f"left after that: {dict(left) or 'nothing'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    main(asked.kills, asked.seed)
