"""A process that holds one container: it prints what the container does, and ends as its server ends.

It is asked in a file (`containers.Order`), and hands on what it is sent to stop by. Its connection is the container's
standard input: with it the server ends, too. The container's name says who its owner is, as its label does: a name can
be read where an engine that was killed has forgotten the container.
"""

import json
import os
import re
import secrets
import signal
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

import psutil
from docker.errors import DockerException, NotFound
from docker.utils.socket import frames_iter
from requests.exceptions import RequestException

from benchbook import atomic
from benchbook.servers.containers import HOST, LABEL, Order, Started, connected, explanation, owner_runs

_STOPS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
_SIGNALLED: Final = 128
_NAME: Final = re.compile(r"benchbook_(\d+)_(\d+\.\d+)_[0-9a-f]{8}")
"""A container's name, as `named` makes it: nobody else's is mistaken for one."""


def main(order: Order) -> int:
    """Run what is asked in a container until it ends; return its status, negative for the signal it ended by."""
    sweep()
    client = connected(order.socket, None, order.version)
    sent: list[int] = []
    for stop in _STOPS:
        # from the beginning: what is sent before the server runs keeps it from running
        signal.signal(stop, lambda number, _: sent.append(number))
    host = client.create_host_config(**order.host)
    asked = {**order.container, "name": named(order.container["labels"][LABEL])}
    container = client.create_container(host_config=host, stdin_open=True, detach=False, **asked)["Id"]
    stream = client.attach_socket(container, params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
    if sent:
        client.remove_container(container, force=True, v=True)
        return -sent[0]
    client.start(container)
    for stop in _STOPS:
        signal.signal(stop, lambda number, _: _hand_on(order, container, number))
    for number in sent:
        _hand_on(order, container, number)
    with suppress(NotFound):  # it has ended
        about = client.inspect_container(container)
        addresses = [network["IPAddress"] for network in about["NetworkSettings"]["Networks"].values()]
        started = Started(container, about["State"]["Pid"], next(iter(addresses), ""))
        atomic.write(Path(order.started), json.dumps(asdict(started)))
    for _, text in frames_iter(stream, tty=False):
        os.write(sys.stdout.fileno(), text)
    if order.host["network_mode"] != HOST:
        # a bridge is removed when nothing is on it
        with suppress(NotFound):
            client.wait(container, condition="removed")
    # a container that was killed had no time to say so
    status = int(Path(order.status).read_text() or _SIGNALLED + signal.SIGKILL)
    return _SIGNALLED - status if status > _SIGNALLED else status


def named(owner: str) -> str:
    """Return a new name for a container of that owner, as `containers.owner` has it."""
    return f"benchbook_{owner.replace(' ', '_')}_{secrets.token_hex(4)}"


def sweep() -> None:
    """End what a Podman that was killed while it started a container of ours no longer knows, if the owner is dead.

    Its monitor, ``conmon``, waits then for a start that never comes, and has the container's first process wait, too.
    """
    monitors = [process for process in psutil.process_iter(["name"]) if process.info["name"] == "conmon"]
    for monitor in monitors:
        with suppress(psutil.Error):
            names = filter(None, map(_NAME.fullmatch, monitor.cmdline()))
            if any(not owner_runs(" ".join(name.groups())) for name in names):
                for process in (*monitor.children(recursive=True), monitor):
                    process.kill()


def _hand_on(order: Order, container: str, number: int) -> None:
    """Send a container a signal, over a connection that nothing else waits on; one that has just ended needs none."""
    try:
        connected(order.socket, version=order.version).kill(container, number)
    except (DockerException, RequestException):
        return


if __name__ == "__main__":
    try:
        ended = main(Order.read(Path(sys.argv[1])))
    except (DockerException, RequestException) as error:
        print(f"the container engine refused: {explanation(error)}", flush=True)
        ended = 1
    if ended < 0:
        if -ended != signal.SIGKILL:
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)
    sys.exit(ended)
