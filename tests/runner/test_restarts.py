"""A server restarts while an adapter is open: it keeps records or raises, and reconnects."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from benchbook.databases import catalogue
from benchbook.databases.adapter import Adapter, UnreachableError
from benchbook.servers import launcher, processes
from benchbook.servers.deployment import Deployment
from cases import COMMENTS, REAL, change_last_text, fill, index_by_key
from waiting import comes_true

DATABASES = list({launcher.name_product(name): name for name in reversed(REAL)}.values())
"""One for each product that is here."""

STOPS_ON = {"postgresql": signal.SIGINT}


@contextmanager
def restart(deployment: Deployment, log: Path) -> Iterator[None]:
    """Stop a single server, and start it again with the same command, user, port and data."""
    pid = deployment.node().pid
    assert pid is not None
    server = psutil.Process(pid)
    command, folder, environment = server.cmdline(), Path(server.cwd()), server.environ()
    user = (
        server.username() if server.uids().effective != psutil.Process().uids().effective else None
    )
    group = server.gids().effective if user else None
    server.send_signal(STOPS_ON.get(deployment.product, signal.SIGTERM))
    assert comes_true(lambda: not server.is_running() or server.status() == psutil.STATUS_ZOMBIE)
    with log.open("wb") as out:
        again = processes.spawn(
            command, user=user, group=group, cwd=folder, env=environment, stdout=out, stderr=out
        )
    try:
        yield
    finally:
        processes.stop(again, STOPS_ON.get(deployment.product, signal.SIGTERM))


@pytest.mark.parametrize("name", DATABASES)
def test_after_a_restart_a_database_has_its_records_or_raises_and_reconnects(
    name: str, tmp_path: Path
) -> None:
    with (
        launcher.start_servers(launcher.name_product(name), "single") as running,
        catalogue.open_adapter(name, running.deployment) as before,
    ):
        records = index_by_key(fill(before, COMMENTS))
        with restart(running.deployment, tmp_path / "log"):

            def opens() -> bool:
                try:
                    catalogue.open_adapter(name, running.deployment).close()
                except UnreachableError:
                    return False
                return True

            assert comes_true(opens), (tmp_path / "log").read_text()
            assert_kept_or_unreachable(before, records)
            with catalogue.open_adapter(name, running.deployment) as after:
                after.create(COMMENTS.schema, parents=COMMENTS.parents)
                after.insert_many(COMMENTS.records)
                after.update_all(change_last_text(COMMENTS))
                assert index_by_key(after.read_all()) == {
                    one: {**old, **change_last_text(COMMENTS)} for one, old in records.items()
                }


def assert_kept_or_unreachable(adapter: Adapter, records: dict[str, dict[str, object]]) -> None:
    """Assert that a database has all records after a restart, or raises that it is unreachable."""
    try:
        assert index_by_key(adapter.read_all()) == records
    except UnreachableError as error:
        assert adapter.location in str(error)
