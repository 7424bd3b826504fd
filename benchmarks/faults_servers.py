"""What is done to servers: each product asked how much it holds, and its replica's link stopped, past the adapters."""

from contextlib import ExitStack, closing, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson
import psutil
import psycopg
import pymongo
import pymysql
import urllib3
from couchbase.auth import PasswordAuthenticator
from couchbase.cluster import Cluster
from couchbase.options import ClusterOptions
from rethinkdb import r

from benchbook.datasets import blog
from benchbook.deployment import Deployment, Node
from benchbook.servers.address import login


class Watcher:
    """Asks a `crud` cell's primary how many of its n comments it holds; on one connection, for it must rest."""

    def __init__(self, deployment: Deployment, n: int) -> None:
        self._node, self._n = deployment.node(), n
        self._ask = getattr(self, f"_in_{deployment.product.partition('@')[0].replace('mariadb', 'mysql')}")
        self._open = ExitStack()

    def held(self) -> int:
        """Return the number; 0 before there is a place for them."""
        with suppress(Exception):  # no table yet, or dropped in this moment
            return int(self._ask())
        return 0

    def close(self) -> None:
        """Close the connection."""
        with suppress(Exception):  # its server may be gone
            self._open.close()

    def _in_mongodb(self) -> int:
        return self._mongodb.benchbook.comments.estimated_document_count()

    @cached_property
    def _mongodb(self) -> Any:
        return self._open.enter_context(pymongo.MongoClient[dict[str, Any]](self._node.url, timeoutMS=2000))

    def _in_postgresql(self) -> int:
        ((count,),) = self._postgresql.execute("SELECT count(*) FROM benchbook.comments").fetchall()
        return int(count)

    @cached_property
    def _postgresql(self) -> Any:
        return self._open.enter_context(closing(psycopg.connect(self._node.url, autocommit=True)))

    def _in_mysql(self) -> int:
        ((count,),) = _rows(self._mysql, "SELECT count(*) FROM benchbook.comments")
        return int(count)

    @cached_property
    def _mysql(self) -> Any:
        return self._open.enter_context(closing(_mysql(self._node)))

    def _in_couchdb(self) -> int:
        return int(_couchdb(self._node, "GET", "benchbook-comments")["doc_count"])

    def _in_rethinkdb(self) -> int:
        return int(r.db("benchbook").table("comments").count().run(self._rethinkdb))

    @cached_property
    def _rethinkdb(self) -> Any:
        address = login(self._node.url, 28015)
        link = r.connect(address["host"], address["port"], password=address["password"].decode(), timeout=2)
        self._open.callback(link.close, noreply_wait=False)
        return link

    def _in_couchbase(self) -> int:
        """Return 100 when the hundredth is there: CouchbaseMock counts nothing."""
        self._couchbase.get(f"comments:{blog.comments(self._n, 20150501, per_article='all').records[99]['_id']}")
        return 100

    @cached_property
    def _couchbase(self) -> Any:
        address = login(self._node.url, 11210)
        authenticator = PasswordAuthenticator(address["user"], address["password"])
        cluster = Cluster(f"couchbase://{address['host']}:{address['port']}", ClusterOptions(authenticator))
        self._open.callback(cluster.close)
        return cluster.bucket("benchbook").default_collection()


def _mysql(node: Node) -> Any:
    return pymysql.connect(**login(node.url, 3306), autocommit=True, ssl_disabled=True, read_timeout=2)


def _rows(connection: Any, statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall()


def _couchdb(node: Node, method: str, path: str) -> Any:
    url = urllib3.util.parse_url(node.url)
    headers = urllib3.make_headers(basic_auth=url.auth) | {"Accept": "application/json"}
    answer = urllib3.request(method, f"http://{url.host}:{url.port}/{path}", headers=headers, retries=False, timeout=2)
    return orjson.loads(answer.data)


def stop_link(deployment: Deployment) -> str:
    """Stop what brings the primary's writes to the replica, which goes on answering; return how."""
    product, replica = deployment.product.partition("@")[0], deployment.node("replica")
    if product == "mongodb":
        with pymongo.MongoClient[dict[str, Any]](deployment.node().url, timeoutMS=10_000) as client:
            config = client.admin.command("replSetGetConfig")["config"]
            config["version"] += 1
            config["members"][1]["secondaryDelaySecs"] = 3600
            client.admin.command("replSetReconfig", config)
        return "`secondaryDelaySecs` set to an hour"
    if product == "postgresql":
        for process in psutil.Process(replica.pid).children():
            if any("walreceiver" in word or "wal receiver" in word for word in process.cmdline()):
                process.suspend()
        return "SIGSTOP to the walreceiver"
    if product in ("mysql", "mariadb"):
        return _refuse(deployment.node())
    for name in ("benchbook-comments", "benchbook-smartphones"):  # the stand-in lists none
        if revision := _couchdb(replica, "GET", f"_replicator/{name}").get("_rev"):
            _couchdb(replica, "DELETE", f"_replicator/{name}?rev={revision}")
    return "the `_replicator` document deleted"


def _refuse(primary: Node) -> str:
    """Give the primary its replica's id, which no replica follows, and end the thread that serves it."""
    with closing(_mysql(primary)) as connection:
        _rows(connection, "SET GLOBAL server_id = 2")
        for thread, _, _, _, command, *_ in _rows(connection, "SHOW PROCESSLIST"):
            if command.startswith("Binlog Dump"):
                _rows(connection, f"KILL {thread}")
    return "the dump thread ended, the primary given the replica's `server_id`"


def tree(pid: int | None) -> list[psutil.Process]:
    """Return a process and all that it started."""
    top = psutil.Process(pid)
    return [top, *top.children(recursive=True)]


def stopped(deployment: Deployment) -> list[psutil.Process]:
    """Return the servers' processes that are stopped: once their parents are gone, nothing else ends them."""
    found = []
    for node in deployment.nodes:
        with suppress(psutil.NoSuchProcess):
            found += [process for process in tree(node.pid) if process.status() == psutil.STATUS_STOPPED]
    return found


def fill(folder: Path) -> Path:
    """Take all the space that is left, to the last block, and return the file that has it."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        for size in (1 << 20, 4096):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass
    return filler
