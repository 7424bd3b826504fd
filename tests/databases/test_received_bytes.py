"""The bytes that sockets of this machine received, as RethinkDB's adapter counts them."""

import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from benchbook.databases import catalogue
from benchbook.databases.rethinkdb.adapter import ReceivedBytes, RethinkDB
from benchbook.datasets import phones
from shared_servers import Announce

HERE = {
    "primary": "rethinkdb://127.0.0.1:28015/?cluster=29015",
    "replica": "rethinkdb://127.0.0.1:28016/?cluster=29016",
}


def own_ports() -> set[int]:
    return {one.laddr.port for one in psutil.Process(os.getpid()).net_connections() if one.laddr}


def test_a_replicas_socket_received_the_bytes_that_postgresql_sent(announce: Announce):
    deployment = announce("postgresql", "replicated", own=True)
    data = phones.generate_smartphones(2000, 1)
    primary = urlsplit(deployment.node().url).port
    with catalogue.open_adapter("postgresql+jsonb", deployment) as adapter:
        adapter.create(data.schema)
        ours = own_ports()
        read = ReceivedBytes(
            lambda port, peer: peer == primary and port not in ours, "replica's connection"
        )
        (counter,) = adapter.list_counters("replica")
        # Around what is said, so that what arrives between the two readings is in what was
        # received.
        received, said = read(), counter.read()
        adapter.insert_many(data.records)
        assert adapter.wait_for(adapter.position(), 60)
        said, received = counter.read() - said, read() - received
    assert said > 500_000
    assert said <= received < 1.1 * said


def test_a_closed_connection_is_an_error():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as client,
    ):
        port = client.getsockname()[1]
        read = ReceivedBytes(lambda own, peer: own == port, "connection of this test")
        accepted, _ = server.accept()
        before = read()
        accepted.sendall(bytes(100_000))
        left = 100_000
        while left:
            left -= len(client.recv(left))
        assert read() - before == 100_000
        client.close()
        accepted.close()
        with pytest.raises(
            ConnectionError, match="there is no connection of this test on this machine"
        ):
            read()


def test_rethinkdb_counts_bytes_where_the_addresses_have_the_clusters_ports(
    monkeypatch: pytest.MonkeyPatch,
):
    assert "bytes_received" not in RethinkDB.find_limitations(HERE)
    for other in ("rethinkdb://127.0.0.1:28016", "rethinkdb://10.0.0.9:28016/?cluster=29016"):
        assert (
            "?cluster=PORT"
            in RethinkDB.find_limitations({**HERE, "replica": other})["bytes_received"]
        )
    monkeypatch.setenv("PATH", str(Path(__file__).parent))
    assert "install iproute2" in RethinkDB.find_limitations(HERE)["bytes_received"]
