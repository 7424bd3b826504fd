"""Start a product's servers here, or use those at given addresses; either way the result is a deployment."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self

from benchbook.deployment import NONE, VARIABLE, Deployment, Node, Role, Topology, announced
from benchbook.servers.address import Answer, given, listener, variable
from benchbook.servers.errors import ServerError, advised, remedy
from benchbook.servers.fleet import Fleet
from benchbook.servers.products import ask, here, module, product_of, topologies
from benchbook.servers.programs import Found, Missing

_LAST_WORDS_S = 2.0


class Running:
    """Servers that run; a context manager that stops those that were started for it.

    Attributes
    ----------
    deployment
        What a cell needs to know of them.
    alive
        Returns which servers are gone and why; None while all run.
    stop
        Stops the servers and removes their folder (given ones are left alone); a second call does nothing.
    """

    def __init__(self, deployment: Deployment, alive: Callable[[], str | None], stop: Callable[[], None]) -> None:
        self.deployment = deployment
        self.alive = alive
        self.stop = stop

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def start(product: str, topology: Topology) -> Running:
    """Start servers on 127.0.0.1, in temporary folders, with generated passwords; they end with this process.

    Parameters
    ----------
    product
        One of `PRODUCTS`.
    topology
        ``single``; ``replicated``: a primary and a replica that follows it asynchronously; or, where the product has
        it, ``bidirectional``: both take writes and each follows the other.

    Raises
    ------
    ServerError
        When the product is missing, or a server does not start: with what it wrote last and what to do.
    RuntimeError
        Outside the main thread.
    """
    _check(product, topology)
    found = here(product, topology)
    if isinstance(found, Missing):
        raise ServerError(found.why)
    try:
        fleet = module(product).fleet()
    except OSError as error:
        raise ServerError(advised(str(error))) from error
    with ExitStack() as undo:
        undo.callback(fleet.stop)
        urls, answers = _launched(product, topology, fleet, found)
        undo.pop_all()
    pids = {server.role: server.process.pid for server in fleet.servers}
    settings = {"source": found.source, "folder": str(fleet.folder.path)}
    return Running(_deployment(product, topology, urls, answers, pids, settings), fleet.failure, fleet.stop)


def up(product: str, topology: Topology) -> Running:
    """Return the servers at given addresses, else start some: what `start` raises, and errors about addresses."""
    _check(product, topology)
    urls = given(product, topology)
    if urls is None:
        return start(product, topology)
    answers = {role: ask(product, role, url) for role, url in urls.items()}
    pids = {role: pid for role, url in urls.items() if (pid := listener(product, url)) is not None}
    deployment = _deployment(product, topology, urls, answers, pids, {"source": "address"})
    return Running(deployment, lambda: _silent(deployment), lambda: None)


@contextmanager
def session(engine: str, topology: Topology) -> Iterator[Deployment]:
    """Yield servers for an engine: the runner's, else those at given addresses, else our own, stopped at the end.

    Raises
    ------
    ServerError
        When the runner's or the given servers do not fit or do not answer, or ours do not start.
    """
    product = product_of(engine)
    if product == "none":
        yield NONE
    elif (told := announced()) is not None:
        if (told.product, told.topology) != (product, topology):
            what = f"announces {told.topology} {told.product}, not {topology} {product}"
            raise ServerError(f"{VARIABLE} ({os.environ[VARIABLE]}) {what}: unset it to start servers here")
        yield told
    else:
        with up(product, topology) as running:
            yield running.deployment


def describe(deployment: Deployment) -> list[str]:
    """Return a line a node, which a shell takes as it is: the variable that attaches to it, and what it is."""
    return [
        f"export {variable(deployment.product, node.role)}='{node.url}'"
        f"  # {node.version}, {node.role}, {f'process {node.pid}' if node.pid else 'process unknown'}"
        for node in deployment.nodes
    ]


def _launched(
    product: str, topology: Topology, fleet: Fleet, found: Found
) -> tuple[dict[Role, str], dict[Role, Answer]]:
    """Start the servers; when it is the driver or the system that fails, say what the servers say of it."""
    try:
        urls = module(product).launch(fleet, found, topology)
        return urls, {role: module(product).ask(url) for role, url in urls.items()}
    except RuntimeError:
        raise
    except Exception as error:
        why = fleet.failure(_LAST_WORDS_S) or f"{error}: {remedy(str(error), None)}"
        raise ServerError(f"{product} did not start: {why}") from error


def _check(product: str, topology: Topology) -> None:
    module(product)
    if topology not in (ways := topologies(product)):
        raise ServerError(f"{product} runs {' or '.join(ways)} here, not {topology!r}")


def _deployment(
    product: str,
    topology: Topology,
    urls: dict[Role, str],
    answers: dict[Role, Answer],
    pids: dict[Role, int],
    settings: dict[str, Any],
) -> Deployment:
    nodes = tuple(
        Node(role, url, pids.get(role), answers[role].version, answers[role].stand_in) for role, url in urls.items()
    )
    return Deployment(product, topology, nodes, settings | {role: answer.settings for role, answer in answers.items()})


def _silent(deployment: Deployment) -> str | None:
    """Return which given servers do not answer, and why."""
    complaints = []
    for node in deployment.nodes:
        try:
            ask(deployment.product, node.role, node.url)
        except ServerError as error:
            complaints.append(str(error))
    return "\n".join(complaints) or None
