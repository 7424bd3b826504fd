"""A server is restarted under a database: nothing hangs, the database has its records or tells, and a new one works."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from benchbook import databases, processes, servers
from benchbook.deployment import Deployment
from cases import COMMENTS, REAL, by_key, changed, filled
from waiting import comes_true

DATABASES = list({servers.product_of(name): name for name in reversed(REAL)}.values())
"""One for each product that is here."""

STOPS_ON = {"postgresql": signal.SIGINT}


@contextmanager
def restarted(deployment: Deployment, log: Path) -> Iterator[None]:
    """Stop a single server as its owner would, and start it again as it was: same command, user, port and data."""
    pid = deployment.node().pid
    assert pid is not None
    server = psutil.Process(pid)
    command, folder, environment = server.cmdline(), Path(server.cwd()), server.environ()
    user = server.username() if server.uids().effective != psutil.Process().uids().effective else None
    group = server.gids().effective if user else None
    server.send_signal(STOPS_ON.get(deployment.product, signal.SIGTERM))
    assert comes_true(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)
    with log.open("wb") as out:
        again = processes.spawn(command, user=user, group=group, cwd=folder, env=environment, stdout=out, stderr=out)
    try:
        yield
    finally:
        processes.stop(again, STOPS_ON.get(deployment.product, signal.SIGTERM))


@pytest.mark.parametrize("name", DATABASES)
def test_after_a_restart_a_database_has_its_records_or_tells_and_a_new_one_works(name: str, tmp_path: Path) -> None:
    with (
        servers.start(servers.product_of(name), "single") as running,
        databases.open(name, running.deployment) as before,
    ):
        records = by_key(filled(before, COMMENTS))
        with restarted(running.deployment, tmp_path / "log"):

            def opens() -> bool:
                try:
                    databases.open(name, running.deployment).close()
                except databases.UnreachableError:
                    return False
                return True

            assert comes_true(opens), (tmp_path / "log").read_text()
            held_or_told(before, records)
            with databases.open(name, running.deployment) as after:
                after.create(COMMENTS.schema, parents=COMMENTS.parents)
                after.insert_many(COMMENTS.records)
                after.update_all(changed(COMMENTS))
                assert by_key(after.read_all()) == {one: {**old, **changed(COMMENTS)} for one, old in records.items()}


def held_or_told(adapter: databases.Adapter, records: dict[str, dict[str, object]]) -> None:
    """Hold that a database whose server was restarted has all records, at once or after it told of the restart."""
    try:
        assert by_key(adapter.read_all()) == records
    except databases.UnreachableError as told:
        assert adapter.where in str(told)
