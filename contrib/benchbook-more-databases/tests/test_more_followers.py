"""Who replicates from a server at an address, as the products' manuals say it."""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from benchbook_more_databases.arangodb import server as arangodb
from benchbook_more_databases.couchbase import server as couchbase


@contextmanager
def serve_answers(answers: Mapping[str, Any]) -> Iterator[int]:
    """Yield the port of an HTTP server that answers a path with JSON or a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            (said,) = [answer for path, answer in answers.items() if self.path.endswith(path)] or [
                404
            ]
            self.send_response(said if isinstance(said, int) else 200)
            self.end_headers()
            self.wfile.write(json.dumps(said).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


ARANGODB = {
    "/version": {"server": "arango", "version": "3.11.14"},
    "/applier-state": {"state": {"running": False}},
}


@pytest.mark.parametrize(
    ("clients", "followers"),
    [
        ([], ()),
        (
            [
                {
                    "syncerId": "158",
                    "serverId": "161206521540",
                    "clientInfo": "",
                    "lastServedTick": "3",
                }
            ],
            ("161206521540",),
        ),
    ],
)
def test_arangodb_names_its_followers_as_its_manual_says(
    clients: Any, followers: tuple[str, ...]
) -> None:
    logger = {"state": {"running": True}, "server": {"serverId": "1"}, "clients": clients}
    with serve_answers({**ARANGODB, "/logger-state": logger}) as port:
        answer = arangodb.ask(f"arangodb://root:x@127.0.0.1:{port}/mine")
    assert answer.followers == tuple(f"server {name}" for name in followers)


def test_arangodb_without_replication_has_no_followers() -> None:
    with serve_answers(ARANGODB) as port:
        assert arangodb.ask(f"arangodb://root:x@127.0.0.1:{port}/mine").followers == ()


HERE, OTHER = {"hostname": "n1:8091", "thisNode": True}, {"hostname": "n2:8091"}
XDCR = {"type": "xdcr", "status": "running", "id": "f00/mine/theirs", "source": "mine"}
REMOTE = [{"name": "remote", "uuid": "f00", "hostname": "10.4.2.6:8091", "deleted": False}]


@pytest.mark.parametrize(
    ("nodes", "replicas", "remote", "tasks", "followers", "unseen"),
    [
        ([HERE], 1, [], 403, (), ""),
        ([HERE], 0, 400, 403, (), ""),  # the Community Edition
        ([HERE, OTHER], 1, [], [], ("n2:8091",), ""),
        ([HERE, OTHER], 0, [], [], (), ""),
        (
            [HERE],
            0,
            REMOTE,
            [{"type": "rebalance", "status": "notRunning"}, XDCR],
            ("10.4.2.6:8091",),
            "",
        ),
        ([HERE], 0, REMOTE, [{**XDCR, "status": "paused"}, {**XDCR, "source": "another"}], (), ""),
        ([HERE], 0, 403, [], (), "give it the role Read-Only Admin"),
    ],
)
def test_couchbase_names_a_buckets_target_as_its_manual_says(
    nodes: Any, replicas: int, remote: Any, tasks: Any, followers: tuple[str, ...], unseen: str
) -> None:
    answers = {
        "/pools": {"implementationVersion": "8.0.2-1234-enterprise"},
        "/buckets/mine": {"bucketType": "membase", "replicaNumber": replicas, "nodes": nodes},
        **{"/remoteClusters": remote, "/tasks": tasks},
    }
    with serve_answers(answers) as port:
        answer = couchbase.ask(f"couchbase://me:x@127.0.0.1:11210/mine?management={port}")
    assert (answer.followers, answer.unseen) == (followers, unseen)
