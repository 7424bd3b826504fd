"""Faults of study `replication`: what befalls the replica does, nothing is lost by it, and nothing of it stays."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest
from pydantic import ValidationError

from benchbook import cli, results, rooms, servers
from benchbook.databases import Engine
from benchbook.deployment import VARIABLE, Deployment, Place
from benchbook.rooms import namespaces, network
from benchbook.studies import crud, replication
from benchbook.studies.faults import Fault, FaultError
from standing import Announce, needed, outputs, tamper
from stopping import processes
from test_rooms import OPTIONAL, cells_missing, connected, holders, needs_root, sent
from waiting import comes_true, gone

N = 60
OPTIONAL_PRODUCTS = ("couchdb", "rethinkdb")

OWNER = """
import sys, time
from benchbook.studies import faults, replication

def half_way(insert, records, halves=[]):
    halves.append(records)
    if len(halves) == 2:
        print("half", flush=True)
        time.sleep(600)
    each(insert, records)

each, faults.each = faults.each, half_way
_, engine, fault, room = sys.argv
replication.run(replication.Parameters(
    engine=engine, fault=fault, room=room, process="apart", model="document", n=50
))
"""

TRAP = """
import os, pathlib
from benchbook.studies import faults

def half_way(insert, records, halves=[]):
    halves.append(records)
    if len(halves) == 2:
        os.kill(os.getpid(), 9)
    each(insert, records)

if (trap := pathlib.Path(os.environ["BENCHBOOK_TRAP"])).exists():
    trap.unlink()
    each, faults.each = faults.each, half_way
"""


@pytest.mark.parametrize(
    ("text", "fault"),
    [("cut/2s", Fault("cut", 2.0)), ("stop/500ms", Fault("stop", 0.5)), ("cut/0.25s", Fault("cut", 0.25))],
)
def test_a_fault_is_told_by_its_word_and_how_long_it_lasts(text: str, fault: Fault):
    assert Fault.of(text) == fault
    assert replication.Parameters(fault=text, room="lan-100m").fault == text


@pytest.mark.parametrize(
    "text", ["cut", "cut/2", "cut/0s", "cut/4000s", "loss/1%", "10mbit", "stop/-1s", "cut/1s/2s", ""]
)
def test_what_is_no_fault_is_refused_with_what_can_be_written(text: str):
    with pytest.raises(ValidationError, match="is none, or like cut/2s or stop/500ms"):
        replication.Parameters(fault=text, room="lan-100m")


REPLICATED: dict[str, Any] = {"topology": "replicated", "n": 20, "repetitions": 1}


@pytest.mark.parametrize(
    "wrong", [{"topology": "single"}, {"calls": "bulk"}, {"lane": "node"}, {"engine": "noop", "topology": "single"}]
)
def test_what_has_no_replica_or_no_place_between_two_comments_takes_no_fault(wrong: dict[str, Any]):
    assert crud.Parameters(**REPLICATED, fault="stop/1s").room == "none"
    with pytest.raises(ValidationError, match="fault: stop/1s befalls the replica between two comments"):
        crud.Parameters(**{**REPLICATED, "fault": "stop/1s", **wrong})
    with pytest.raises(ValidationError, match="fault: cut/1s pulls a cable, and without a room there is none"):
        crud.Parameters(**REPLICATED, fault="cut/1s")


def test_no_cable_is_pulled_without_a_room():
    assert replication.Parameters(fault="stop/1s").room == "none"
    with pytest.raises(ValidationError, match="fault: cut/1s pulls a cable, and without a room there is none"):
        replication.Parameters(fault="cut/1s")


def test_probes_take_no_fault():
    with pytest.raises(ValidationError, match="while records are inserted in a row"):
        replication.Parameters(fault="stop/1s", n=1, process="apart", model="document", probe_rate=20.0)


def carrier(place: Place) -> bool:
    """Return whether a place's card sees the switch."""

    def read(netlink: Any) -> bool:
        (card,) = netlink.get_links(ifname=network.CARD)
        return bool(card.get_attr("IFLA_CARRIER"))

    descriptor = os.open(place.namespace, os.O_RDONLY)
    try:
        return namespaces.within(descriptor, read)
    finally:
        os.close(descriptor)


def frames(place: Place) -> tuple[float, float]:
    """Return the bytes that a place's card has received and sent."""
    with rooms.entered(place):
        return network.counted()


@needs_root
def test_nothing_crosses_a_cable_that_is_pulled_and_all_that_waited_does_when_it_is_plugged_in():
    with rooms.standing("lan-100m", ("client", "server")) as room, connected(room) as (near, far):
        place = room.places["server"]
        with rooms.cable(place) as cable:
            assert carrier(place)
            cable.pull()
            cable.pull()
            still = frames(place)
            near.sendall(b"waits")
            far.settimeout(1.0)
            with pytest.raises(TimeoutError):
                far.recv(5)
            assert not carrier(place) and carrier(room.places["client"])
            assert frames(place) == still
            cable.plug_in()
            assert carrier(place)
            far.settimeout(None)
            assert far.recv(5) == b"waits"
            assert sent(near, far, 100_000) == 100_000


@needs_root
def test_a_cable_is_plugged_in_again_whatever_happens():
    with rooms.standing("lan-100m", ("client", "server")) as room:
        place = room.places["server"]
        with pytest.raises(KeyboardInterrupt), rooms.cable(place) as cable:
            cable.pull()
            raise KeyboardInterrupt
        assert carrier(place)


def states(pid: int | None) -> set[str]:
    """Return the states that a server's processes are in."""
    found = set()
    for process in processes(pid):
        with contextlib.suppress(psutil.NoSuchProcess):
            found.add(process.status())
    return found


def needed_in_a_room(parameters: replication.Parameters | crud.Parameters, study: str = "replication") -> None:
    """Skip a test where what it needs cannot stand in its room: of products without a package it is not expected."""
    product = servers.product_of(parameters.engine)
    if why := cells_missing(study, parameters):
        pytest.skip(f"{product} is not installed with the suite: {why}" if product in OPTIONAL_PRODUCTS else why)


@contextlib.contextmanager
def watched(
    monkeypatch: pytest.MonkeyPatch, look: Callable[[], Any], then: Callable[[], object] = lambda: None
) -> Iterator[list[Any]]:
    """Yield what `look` returned after each insertion; once all are made, `then` is called."""
    seen: list[Any] = []

    def watching(engine: Engine) -> None:
        insert = engine.insert

        def inserting(record: dict[str, Any]) -> None:
            insert(record)
            seen.append(look())
            if len(seen) == N:
                then()

        engine.insert = inserting  # type: ignore[method-assign]

    tamper(monkeypatch, watching)
    yield seen


@contextlib.contextmanager
def announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, product: str, room: str) -> Iterator[Deployment]:
    """Have a pair of our own in a room, which a study finds."""
    needed(product, "replicated")
    with servers.start(product, "replicated", room) as running:
        (tmp_path / "deployment").write_text(running.deployment.to_json())
        monkeypatch.setenv(VARIABLE, str(tmp_path / "deployment"))
        assert Deployment.from_json(running.deployment.to_json()) == running.deployment
        yield running.deployment


@needs_root
@pytest.mark.parametrize(
    "engine", ["mongodb", "postgresql+jsonb", "mysql+json", "mariadb+json", "couchdb", "rethinkdb"]
)
def test_a_pair_recovers_from_a_cut_and_nothing_is_lost(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    parameters = replication.Parameters(
        engine=engine, room="lan-100m", fault="cut/1s", process="apart", model="document", n=N
    )
    needed_in_a_room(parameters)
    with announced(tmp_path, monkeypatch, servers.product_of(engine), "lan-100m") as deployment:
        place = deployment.places["replica"]

        def asked_when_it_can_answer(engine: Engine) -> None:
            wait_for = engine.wait_for

            def waiting(position: Any, deadline_s: float) -> bool:
                assert carrier(place), "a question that is lost comes late, and so does its answer"
                return wait_for(position, deadline_s)

            engine.wait_for = waiting  # type: ignore[method-assign]

        tamper(monkeypatch, asked_when_it_can_answer)
        with watched(monkeypatch, lambda: (carrier(place), frames(place))) as seen:
            # That both nodes hold every record in the end is checked by the study.
            frame = replication.run(parameters)
        assert carrier(place)
    assert outputs(frame, 0) - OPTIONAL == replication.expected(parameters)
    assert not frame["censored"].any()
    assert all(there for there, _ in seen[: N // 2]), "until half of the records are inserted it is in place"
    assert not seen[N // 2][0], "from then on it is pulled"
    assert len({bytes_ for there, bytes_ in seen[N // 2 :] if not there}) == 1, "nothing crosses meanwhile"


@pytest.mark.parametrize("engine", ["mongodb", "postgresql+jsonb", "mysql+json", "mariadb+json"])
def test_a_pair_recovers_from_a_stopped_replica_and_nothing_is_lost(
    engine: Any, announce: Announce, monkeypatch: pytest.MonkeyPatch
):
    parameters = replication.Parameters(engine=engine, fault="stop/1s", process="apart", model="document", n=N)
    replica = announce(*replication.deployment(parameters), own=True).node("replica")
    with watched(monkeypatch, lambda: states(replica.pid)) as seen:
        frame = replication.run(parameters)
    assert outputs(frame, 0) - OPTIONAL == replication.expected(parameters)
    assert not frame["censored"].any()
    stopped = {psutil.STATUS_STOPPED}
    assert not any(stopped & there for there in seen[: N // 2]) and not stopped & states(replica.pid)
    assert stopped in seen[N // 2 :], "all of its processes are stopped"


@needs_root
@pytest.mark.parametrize("fault", ["cut/1s", "stop/1s"])
@pytest.mark.parametrize("engine", ["mongodb", "postgresql+relational", "mysql+relational", "mariadb+json"])
def test_crud_goes_on_once_both_nodes_do(engine: Any, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    room = "lan-100m" if fault.startswith("cut") else "none"
    parameters = crud.Parameters(**{**REPLICATED, "engine": engine, "fault": fault, "room": room, "n": N})
    needed_in_a_room(parameters, "crud")
    with announced(tmp_path, monkeypatch, servers.product_of(engine), room) as deployment:
        replica = deployment.node("replica")

        def befallen() -> bool:
            stopped = psutil.STATUS_STOPPED in states(replica.pid)
            return stopped or not all(map(carrier, deployment.places.values()))

        # That both nodes hold every comment, before the update and after it, is checked by the study.
        with watched(monkeypatch, befallen) as seen:
            frame = crud.run(parameters)
        assert not befallen()
    assert outputs(frame, 0) == crud.expected(parameters)
    assert not frame["censored"].any()
    assert not any(seen[: N // 2]) and seen[N // 2], "it begins once half of the comments are inserted"


@needs_root
def test_crud_goes_on_after_a_cut_that_outlasts_the_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    parameters = crud.Parameters(**REPLICATED, fault="cut/600s", room="lan-100m", timeout_s=2.0)
    needed_in_a_room(parameters, "crud")
    with announced(tmp_path, monkeypatch, "mongodb", "lan-100m"):
        frame = crud.run(parameters)
    assert outputs(frame, 0) == crud.expected(parameters)
    ran_out = frame["censored"] & frame["value"].ge(2e9)
    assert {*zip(frame.loc[ran_out, "operation"], frame.loc[ran_out, "metric"], strict=True)} == {
        ("insert", "catch_up_time"),
        ("insert", "elapsed_time"),
    }
    assert frame["censored"].sum() == 2


@needs_root
@pytest.mark.parametrize("engine", ["mongodb", "postgresql+jsonb", "mysql+json"])
def test_a_cut_that_outlasts_the_wait_is_censored_and_the_cell_goes_on(
    engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    parameters = replication.Parameters(
        engine=engine,
        room="lan-100m",
        fault="cut/600s",
        process="apart",
        model="document",
        n=N,
        repetitions=2,
        timeout_s=2.0,
    )
    needed_in_a_room(parameters)
    with announced(tmp_path, monkeypatch, servers.product_of(engine), "lan-100m") as deployment:
        frame = replication.run(parameters)
        assert carrier(deployment.places["replica"])
    for repetition in range(2):
        assert outputs(frame, repetition) == replication.expected(parameters)
        rows = frame[frame["repetition"] == repetition].set_index(["role", "metric"])
        assert not rows.loc[("client", "wall_time"), "censored"]
        assert rows.drop(("client", "wall_time"))["censored"].all()
        assert rows.loc[("replica", "catch_up_time"), "value"] >= 2e9
        assert rows.loc[("replica", "card_bytes_received"), "source"].startswith("not measured: ")


@pytest.mark.parametrize("fault", [pytest.param("cut/600s", marks=needs_root), "stop/600s"])
def test_an_interrupt_ends_the_fault(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupt() -> None:
        raise KeyboardInterrupt

    room = "lan-100m" if fault.startswith("cut") else "none"
    parameters = replication.Parameters(room=room, fault=fault, process="apart", model="document", n=N)
    with announced(tmp_path, monkeypatch, "mongodb", room) as deployment:
        replica = deployment.node("replica")

        def befallen() -> bool:
            return psutil.STATUS_STOPPED in states(replica.pid) or not all(map(carrier, deployment.places.values()))

        with watched(monkeypatch, befallen, interrupt) as seen, pytest.raises(KeyboardInterrupt):
            replication.run(parameters)
        assert seen == [False] * (N // 2) + [True] * (N // 2)
        assert not befallen()


def test_servers_that_are_not_started_for_a_cell_are_not_stopped(monkeypatch: pytest.MonkeyPatch):
    with servers.start("mongodb", "replicated") as running:
        monkeypatch.setenv("BENCHBOOK_MONGODB_URL", running.deployment.node("primary").url)
        monkeypatch.setenv("BENCHBOOK_MONGODB_REPLICA_URL", running.deployment.node("replica").url)
        with pytest.raises(FaultError, match="given by its address"):
            replication.run(replication.Parameters(fault="stop/1s", process="apart", model="document", n=N))


@pytest.mark.parametrize(
    ("engine", "fault"), [pytest.param("mongodb", "cut/600s", marks=needs_root), ("postgresql+jsonb", "stop/600s")]
)
def test_nothing_outlives_who_is_killed_in_the_middle_of_a_fault(engine: str, fault: str):
    room = "lan-100m" if fault.startswith("cut") else "none"
    command = [sys.executable, "-c", OWNER, engine, fault, room]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "half\n"
        family = psutil.Process(owner.pid).children(recursive=True)
        assert len(family) >= 2
        inodes = {Path(f"/proc/{pid}/ns/net").stat().st_ino for pid in ["self", *(each.pid for each in family)]}
        inodes -= {Path("/proc/self/ns/net").stat().st_ino}
        assert len(inodes) == (2 if room != "none" else 0)
        os.kill(owner.pid, signal.SIGKILL)
        owner.wait()
    assert comes_true(lambda: all(gone(process.pid) for process in family) and not holders(inodes))


@needs_root
@pytest.mark.parametrize("fault", ["cut/1s", "stop/1s"])
def test_the_cell_after_one_whose_kernel_was_killed_in_the_middle_of_a_fault_is_measured(
    fault: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    path = home / "notebooks" / "05_replication.ipynb"
    notebook = nbformat.read(path, 4)
    run = next(number for number, cell in enumerate(notebook.cells) if "deliver(" in cell.source)
    notebook.cells.insert(run, nbformat.v4.new_code_cell(TRAP))
    nbformat.write(notebook, path)
    trap = tmp_path / "trap"
    trap.touch()
    monkeypatch.setenv("BENCHBOOK_TRAP", str(trap))
    asked = ["replication", "--profile", "smoke", "--noisy", "--where", "engine=mongodb", "--set", f"fault={fault}"]
    assert cli.main(["run", *asked, "--set", "room=lan-100m"]) == cli.FAILED
    assert "the kernel died" in capsys.readouterr().out
    assert sorted(results.states("replication").values()) == ["done", "failed"]
