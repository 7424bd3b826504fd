"""The wire, on real sockets to a server in a process of its own."""

import json
import os
import socket
import struct
from collections.abc import Iterator

import psutil
import pytest

from benchbook import codecs
from benchbook.datasets import persons
from benchbook.sockets.client import TRANSPORTS, Client, SocketServer, Transport, start_receiver
from benchbook.sockets.protocol import (
    END,
    ERROR,
    HEADER,
    JOIN,
    MAX_PAYLOAD_BYTES,
    OBJECT,
    READY,
    START,
    WireError,
    pack_frame,
    pack_message,
    read_frame,
    sum_hashes,
    unpack_message,
)

PEOPLE = persons.generate_people(300, 1)


@pytest.fixture(scope="module")
def server() -> Iterator[SocketServer]:
    with start_receiver(["orjson", "lxml"], PEOPLE.schema) as running:
        yield running


def client(server: SocketServer, transport: Transport = "framed", codec: str = "orjson") -> Client:
    return Client(server, codec, transport)


def encode_people(codec: str = "orjson", n: int = len(PEOPLE.records)) -> list[bytes]:
    return [codecs.load_codec(codec).encode_record(record) for record in PEOPLE.records[:n]]


def lives(server: SocketServer) -> None:
    """Hold that the server serves the next trial."""
    report = client(server).run_trial([encode_people()], check=True)
    assert (report.objects, report.digest) == (len(PEOPLE.records), sum_hashes(PEOPLE.records))


@pytest.mark.parametrize("connections", [1, 3])
@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("codec", ["orjson", "lxml"])
def test_every_transport_brings_every_object(server, codec, transport, connections):
    objects = encode_people(codec)
    streams = [objects[first::connections] for first in range(connections)]
    report = client(server, transport, codec).run_trial(streams, check=True)
    assert report.objects == len(objects)
    assert report.bytes == sum(map(len, objects))
    assert report.digest == sum_hashes(PEOPLE.records)


def test_the_server_reports_its_clock_cpu_and_memory(server):
    report = client(server, codec="lxml").run_trial([encode_people("lxml") * 20])
    seen = {reading.metric: reading for reading in report.readings}
    assert {reading.role for reading in report.readings} == {"server"}
    assert set(seen) == {
        "wall_time",
        "idle_time",
        "cpu_user",
        "cpu_system",
        "cpu_capacity",
        "memory_rss",
    }
    assert seen["cpu_capacity"].value == seen["wall_time"].value * len(os.sched_getaffinity(0))
    cpu = seen["cpu_user"].value + seen["cpu_system"].value
    assert 0 < cpu <= (os.cpu_count() or 1) * seen["wall_time"].value + 20_000_000
    assert seen["memory_rss"].value == pytest.approx(
        psutil.Process(server.pid).memory_info().rss, rel=0.2
    )
    assert report.digest == 0


def test_the_servers_clock_runs_while_the_client_encodes(server):
    import time

    def slow() -> Iterator[bytes]:
        yield encode_people()[0]
        time.sleep(0.1)

    seen = {
        reading.metric: reading.value for reading in client(server).run_trial([slow()]).readings
    }
    assert seen["wall_time"] >= seen["idle_time"] > 50_000_000, (
        "most of which the server spent waiting for bytes"
    )


def test_several_connections_have_no_idle_time(server):
    assert "idle_time" not in {
        reading.metric
        for reading in client(server).run_trial([encode_people(), encode_people()]).readings
    }


def test_decoders_are_made_before_any_trial(capfd):
    with (
        pytest.raises(WireError, match="did not start"),
        start_receiver(["orjson", "none"], PEOPLE.schema),
    ):
        pass
    assert "none" in capfd.readouterr().err


def test_a_trial_can_be_empty(server):
    assert client(server).run_trial([[]]).objects == 0


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_bytes_that_do_not_parse_are_reported_with_their_object(server, transport):
    objects = [*encode_people(n=3), b"{no json", *encode_people()]
    with pytest.raises(WireError, match=r"not JSON") as caught:
        client(server, transport=transport).run_trial([objects])
    assert caught.value.number == (0 if transport == "connection" else 3)
    lives(server)


def test_bytes_that_do_not_parse_on_a_joined_connection_are_reported(server):
    with pytest.raises(WireError, match=r"object 2: .*not XML"):
        client(server, codec="lxml").run_trial(
            [encode_people("lxml"), [*encode_people("lxml", 2), b"<record>"]]
        )
    assert client(server, codec="lxml").run_trial([encode_people("lxml")]).objects == len(
        PEOPLE.records
    )


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_a_frame_over_the_limit_is_reported(server, transport):
    long = codecs.load_codec("orjson").encode_record({"_id": "x" * MAX_PAYLOAD_BYTES})
    with pytest.raises(
        WireError, match=rf"a frame of {len(long)} bytes is over the limit of {MAX_PAYLOAD_BYTES}"
    ):
        client(server, transport=transport).run_trial(
            [[*encode_people(n=2), long, *encode_people() * 20]]
        )
    lives(server)


def test_a_frame_of_exactly_the_limit_is_accepted(server):
    encode, nameless = codecs.load_codec("orjson").encode_record, {**PEOPLE.records[0], "name": ""}
    room = MAX_PAYLOAD_BYTES - len(encode(nameless))
    assert (
        client(server).run_trial([[encode({**nameless, "name": "x" * room})]]).bytes
        == MAX_PAYLOAD_BYTES
    )


def connect_with_secret(server: SocketServer) -> socket.socket:
    """Return a connection that has said the secret."""
    connection = socket.create_connection(("127.0.0.1", server.port), 60)
    connection.sendall(server.secret)
    return connection


def start(server: SocketServer) -> tuple[socket.socket, int]:
    """Start a trial by hand; return its control connection and number."""
    connection = connect_with_secret(server)
    connection.sendall(pack_message(START, codec="orjson", acknowledge=False, check=False))
    kind, payload = reply(connection)
    assert kind == READY
    return connection, unpack_message(payload)["trial"]


def reply(connection: socket.socket) -> tuple[int, bytes]:
    with connection.makefile("rb", 0) as stream:
        got = read_frame(stream)
    assert got
    return got


def test_the_server_survives_a_control_connection_cut_inside_an_object(server):
    connection, _ = start(server)
    connection.sendall(HEADER.pack(OBJECT, 100) + b"half")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()  # a reset
    lives(server)


def test_a_joined_connection_cut_inside_an_object_is_reported_at_the_end(server):
    control, number = start(server)
    with control:
        with connect_with_secret(server) as joined:
            joined.sendall(
                pack_message(JOIN, trial=number) + pack_frame(OBJECT, encode_people()[0])
            )
            joined.sendall(HEADER.pack(OBJECT, 100) + b"half")
            joined.shutdown(socket.SHUT_WR)
            assert reply(joined)[0] == ERROR
        control.sendall(pack_message(END, objects=2))
        kind, payload = reply(control)
    told = unpack_message(payload)
    assert (kind, told["number"]) == (ERROR, 1)
    assert "was cut" in told["what"]
    assert "after 4 of a frame's 100 bytes" in told["what"]
    lives(server)


def test_an_end_signal_waits_for_objects_on_other_connections(server):
    control, number = start(server)
    with control, connect_with_secret(server) as joined:
        control.sendall(pack_message(END, objects=1))
        control.settimeout(0.3)
        with pytest.raises(TimeoutError):
            control.recv(1)
        control.settimeout(60)
        joined.sendall(pack_message(JOIN, trial=number) + pack_frame(OBJECT, encode_people()[0]))
        joined.close()
        assert unpack_message(reply(control)[1])["objects"] == 1


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (pack_frame(START, b"{"), "not a message"),
        (pack_frame(START, b"[]"), "a JSON object is expected"),
        (pack_message(START, codec="orjson", check=False), "not a start command"),
        (
            pack_message(START, codec="pickle", acknowledge=False, check=False),
            "not a start command: KeyError('pickle')",
        ),
        (pack_message(START, codec=[], acknowledge=False, check=False), "not a start command"),
        (pack_message(JOIN, trial=0), "no trial 0"),
        (pack_message(JOIN, trial=[]), "no trial"),
        (pack_frame(OBJECT, b"{}"), "a trial is started or joined first"),
        (b"GET / HTTP/1.1\r\n\r\n", "over the limit"),
    ],
)
def test_wrong_frames_are_refused_with_a_reason_and_the_server_survives(server, said, why):
    with connect_with_secret(server) as connection:
        connection.sendall(said)
        kind, payload = reply(connection)
    assert kind == ERROR
    assert why in unpack_message(payload)["what"]
    lives(server)


def test_trials_at_the_same_time_do_not_mix(server):
    first, _ = start(server)
    with first:
        first.sendall(pack_frame(OBJECT, encode_people()[0]))
        lives(server)
        first.sendall(pack_message(END, objects=1))
        assert unpack_message(reply(first)[1])["objects"] == 1


def test_a_server_that_ends_is_an_error():
    with start_receiver(["orjson"], PEOPLE.schema) as mortal:

        def deadly() -> Iterator[bytes]:
            yield encode_people()[0]
            psutil.Process(mortal.pid).kill()
            while True:
                yield encode_people()[0]

        with pytest.raises(WireError, match=r"the connection broke|closed"):
            client(mortal).run_trial([deadly()])


def test_the_server_listens_only_on_the_loopback_and_ends_with_its_context():
    with start_receiver(["orjson"], PEOPLE.schema) as running:
        listening = [
            each
            for each in psutil.Process(running.pid).net_connections()
            if each.status == "LISTEN"
        ]
        assert [each.laddr.ip for each in listening] == ["127.0.0.1"]
    assert not psutil.pid_exists(running.pid)


def test_a_message_is_json():
    assert json.loads(pack_message(END, objects=3)[HEADER.size :]) == {"objects": 3}
