"""Readings against work whose size is known."""

import json
import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from benchbook import measure
from benchbook.measure import Meter, MeterError, NotIdleError, machine
from benchbook.measure.machine import describe_environment, name_host, read_hostname
from benchbook.measure.meters import read_tree_cpu

MS = 1_000_000

WORKER = """
import subprocess, sys, threading, time
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
BUSY = "import time\\nwhile time.process_time() < {}: pass"
ballast = None
for line in sys.stdin:
    word, amount = line.split()
    if word == "burn":
        burn(float(amount))
    elif word == "burn_in_thread":
        thread = threading.Thread(target=burn, args=[float(amount)])
        thread.start()
        thread.join()
    elif word == "burn_in_child":
        subprocess.run([sys.executable, "-c", BUSY.format(amount)], check=True)
    elif word == "hold":
        ballast = b"x" * int(amount)
    print("done", flush=True)
    if word == "burn_on":
        while True: pass
"""


class Worker:
    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.pid = process.pid
        self._in, self._out = process.stdin, process.stdout

    def do(self, word: str, amount: float) -> None:
        assert self._in and self._out
        print(word, amount, file=self._in, flush=True)
        assert self._out.readline() == "done\n"


@contextmanager
def working() -> Iterator[Worker]:
    with subprocess.Popen(
        [sys.executable, "-c", WORKER], stdin=-1, stdout=-1, text=True
    ) as process:
        try:
            worker = Worker(process)
            worker.do("hold", 0)  # the interpreter has started once it answers
            yield worker
        finally:
            process.kill()


def cpu(readings: list[measure.Reading], role: str) -> float:
    return sum(
        one.value
        for one in readings
        if one.role == role and one.metric in ("cpu_user", "cpu_system")
    )


def counter(log: list[str], name: str, role: str = "machine", kind: str = "delta") -> Meter:
    values = iter(range(0, 1000, 10))

    def read() -> float:
        log.append(name)
        return next(values)

    return Meter("cpu_user", role, "ns", name, 1.0, read, kind)  # type: ignore[arg-type]


def test_meters_are_read_outside_the_action_and_the_clients_closest_to_it():
    log: list[str] = []
    meters = [
        counter(log, "own", "client"),
        counter(log, "memory", kind="after"),
        counter(log, "machine"),
    ]
    measure.time_action(lambda: log.append("action"), meters)
    assert log == ["machine", "own", "action", "own", "machine", "memory"]


def test_the_actions_result_is_returned_and_wall_time_comes_first():
    result, readings = measure.time_action(
        lambda: 42, [counter([], "x"), counter([], "y", kind="after")]
    )
    assert result == 42
    assert [(reading.metric, reading.role, reading.source) for reading in readings] == [
        ("wall_time", "client", "perf_counter_ns"),
        ("cpu_user", "machine", "x"),
        ("cpu_user", "machine", "y"),
    ]
    assert [reading.value for reading in readings[1:]] == [10, 0]  # after minus before; after alone


def test_a_meter_that_cannot_be_read_is_named():
    def fail_reading() -> float:
        raise OSError("no such process")

    with pytest.raises(MeterError, match="cpu_user of the replica from /proc: no such process"):
        measure.time_action(
            lambda: None, [Meter("cpu_user", "replica", "ns", "/proc", 1.0, fail_reading)]
        )


def test_an_exception_of_the_action_passes_through():
    with pytest.raises(ZeroDivisionError):
        measure.time_action(lambda: 1 // 0, measure.make_client_meters())


def test_100_ms_of_another_process_are_measured():
    with working() as worker:
        _, readings = measure.time_action(
            lambda: worker.do("burn", 0.1), measure.make_process_meters(worker.pid, "primary")
        )
    assert 80 * MS < cpu(readings, "primary") < 200 * MS


def test_a_process_is_counted_with_the_cpu_of_a_child_that_was_reaped():
    with working() as worker:
        meters = measure.make_process_meters(worker.pid, "primary")
        _, readings = measure.time_action(lambda: worker.do("burn_in_child", 0.2), meters)
    assert 150 * MS < cpu(readings, "primary") < 500 * MS


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells another process' clock")
@pytest.mark.parametrize("work", ["burn", "burn_in_thread"])
def test_3_ms_of_an_ended_thread_are_measured(work: str):
    with working() as worker:
        meters = measure.make_process_meters(worker.pid, "primary")
        _, readings = measure.time_action(
            lambda: [worker.do(work, 0.003) for _ in range(5)], meters
        )
        _, at_rest = measure.time_action(lambda: None, meters)
    (total,) = (one for one in readings if one.metric == "cpu_total")
    assert total.resolution <= 1000 and 15 * MS <= total.value < 30 * MS
    assert total.value == pytest.approx(cpu(readings, "primary"), abs=0.5 * MS), (
        "they are read one after another"
    )
    assert 0 <= next(one.value for one in at_rest if one.metric == "cpu_total") < 0.5 * MS


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells another process' clock")
def test_user_and_system_add_up_to_the_process_clock():
    import time

    with working() as worker:
        worker.do("burn", 0.05)
        before = time.clock_gettime_ns((~worker.pid << 3) | 2)
        seen = sum(read_tree_cpu(worker.pid))
        after = time.clock_gettime_ns((~worker.pid << 3) | 2)
    assert before - 1000 <= seen <= after + 1000


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells another process' clock")
def test_an_ended_child_is_left_out_and_an_ended_top_process_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
):
    real, ending = psutil.Process.cpu_times, dict[int, "subprocess.Popen[bytes]"]()

    def read_times_and_end(process: psutil.Process) -> object:
        times = real(process)
        if process.pid in ending:
            child = ending.pop(process.pid)
            child.kill()
            child.wait()
        return times

    def begin() -> int:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        ending[child.pid] = child
        return child.pid

    monkeypatch.setattr(psutil.Process, "cpu_times", read_times_and_end)
    begin()
    assert sum(read_tree_cpu(os.getpid())) > 0
    assert not ending
    with pytest.raises(psutil.NoSuchProcess):
        read_tree_cpu(begin())
    with pytest.raises(NotIdleError, match=r"a server cannot be watched: .*no longer exists"):
        measure.wait_until_idle([begin()])


def test_memory_belongs_to_the_given_process():
    with working() as worker:
        meters = measure.make_process_meters(worker.pid, "primary")
        _, before = measure.time_action(lambda: None, meters)
        _, after = measure.time_action(lambda: worker.do("hold", 50_000_000), meters)
    grown = {
        one.metric: other.value - one.value
        for one, other in zip(before, after, strict=True)
        if one.metric.startswith("memory")
    }
    assert set(grown) == (
        {"memory_rss", "memory_pss"} if sys.platform == "linux" else {"memory_rss"}
    )
    assert all(45_000_000 < value < 60_000_000 for value in grown.values()), grown


def test_a_process_is_counted_with_the_memory_of_its_living_children():
    own = psutil.Process()
    with working() as worker:
        meter = next(
            each
            for each in measure.make_process_meters(own.pid, "client")
            if each.metric == "memory_rss"
        )
        assert (
            meter.read()
            >= (own.memory_info().rss + psutil.Process(worker.pid).memory_info().rss) * 0.9
        )


def test_the_clients_cpu_and_memory_are_measured():
    # What is written is made before, and into pages of the kernel's: the allocator may have as much
    # left, or keep it.
    written, kept = bytes(50_000_000), mmap.mmap(-1, 50_000_000)
    _, readings = measure.time_action(lambda: kept.write(written), measure.make_client_meters())
    seen = {reading.metric: reading for reading in readings}
    assert set(seen) == {"wall_time", "memory_change", "cpu_user", "cpu_system"}
    assert 45_000_000 < seen["memory_change"].value < 60_000_000
    assert 0 < cpu(readings, "client") <= (os.cpu_count() or 1) * seen["wall_time"].value + 10 * MS
    assert seen["cpu_user"].source == "getrusage"


def test_the_machine_is_at_least_as_busy_as_one_of_its_processes():
    with working() as worker:
        _, readings = measure.time_action(
            lambda: worker.do("burn", 0.2), measure.make_machine_meters()
        )
    seen = {reading.metric: reading.value for reading in readings if reading.role == "machine"}
    assert set(seen) == {"cpu_user", "cpu_system", "cpu_capacity", "memory_used", "memory_total"}
    # Read one after the other.
    assert 150 * MS < seen["cpu_user"] + seen["cpu_system"] < 2 * seen["cpu_capacity"]
    assert 0 < seen["memory_used"] <= seen["memory_total"] == psutil.virtual_memory().total


def test_capacity_is_the_window_on_every_processor():
    _, (wall, capacity) = measure.time_action(
        lambda: sum(range(10**6)), [measure.make_capacity_meter("primary")]
    )
    assert capacity.role == "primary"
    assert capacity.value >= wall.value * (os.cpu_count() or 1)


def test_waiting_ends_for_idle_servers_and_for_none():
    measure.wait_until_idle([])
    with working() as worker:
        worker.do("burn", 0.01)
        measure.wait_until_idle([worker.pid])


def test_waiting_names_the_server_that_stays_busy():
    with working() as worker:
        worker.do("burn_on", 0)
        with pytest.raises(
            NotIdleError,
            match=rf"not below 2% of a processor within 0.2 s: process {worker.pid} used \d+",
        ):
            measure.wait_until_idle([worker.pid], patience_s=0.2)


def test_waiting_for_an_ended_server_is_an_error():
    with working() as worker:
        pass
    with pytest.raises(NotIdleError, match=f"a server cannot be watched: .*{worker.pid}"):
        measure.wait_until_idle([worker.pid])


def test_a_machine_of_the_same_name_on_another_processor_is_another_host(monkeypatch):
    here = name_host()  # kept from now on
    monkeypatch.setattr(machine, "read_processor", lambda: "Intel(R) Core(TM) i7-1260P")
    assert name_host.__wrapped__() == f"{read_hostname()} (Intel Core i7-1260P)" != here


def test_the_environment_describes_the_machine(tmp_path):
    described = json.loads(json.dumps(describe_environment(tmp_path)))
    assert described["host"] == read_hostname()
    assert name_host().startswith(f"{read_hostname()} (") and "(R)" not in name_host()
    assert described["cores"] == os.cpu_count()
    assert described["memory"] == psutil.virtual_memory().total
    assert described["fsyncs_per_s"] > 0
    assert described["file_system_in_memory"] == (described["file_system"] in ("tmpfs", "ramfs"))
    assert described["libraries"]["lxml"]
    assert all(
        described[name] for name in ("cpu", "kernel", "python", "file_system", "cores_usable")
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not os.path.ismount("/dev/shm"), reason="no tmpfs at /dev/shm")
def test_a_folder_in_memory_is_flagged():
    from pathlib import Path

    assert describe_environment(Path("/dev/shm"))["file_system_in_memory"]
