"""A user's own data beside the suite's, on every product, through its driver alone; and all that a server holds."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg
import pymongo
import pymysql
from rethinkdb import r

from benchbook.databases.couchdb.node import HTTPNode
from benchbook.databases.rethinkdb.server import connected
from benchbook.deployment import Node
from benchbook.servers.address import login

MINE = {"mine": "keep me"}


class Owner:
    """A user with a store of a name in the suite's namespace of a server."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def write(self, name: str) -> None:
        """Make the store, and the namespace where it is not there, with `MINE` in it."""
        raise NotImplementedError

    def read(self, name: str) -> list[Any]:
        """Return what is in the store."""
        raise NotImplementedError

    def erase(self, name: str) -> None:
        """Drop the store, and the namespace if it is empty then."""
        raise NotImplementedError

    def all(self) -> list[Any]:
        """Return everything that the server holds, by name."""
        raise NotImplementedError


class OfMongoDB(Owner):
    @contextmanager
    def _client(self) -> Iterator[pymongo.MongoClient[Any]]:
        with pymongo.MongoClient[Any](self.node.url) as client:
            yield client

    def write(self, name: str) -> None:
        with self._client() as client:
            client["benchbook"][name].insert_one({"_id": 1, **MINE})

    def read(self, name: str) -> list[Any]:
        with self._client() as client:
            return [{"mine": one.get("mine")} for one in client["benchbook"][name].find()]

    def erase(self, name: str) -> None:
        with self._client() as client:
            client["benchbook"].drop_collection(name)

    def all(self) -> list[Any]:
        with self._client() as client:
            names = [name for name in client.list_database_names() if name not in ("admin", "config", "local")]
            users = [user["user"] for user in client["admin"].command("usersInfo")["users"]]
            return [users, *sorted((name, sorted(client[name].list_collection_names())) for name in names)]


class OfPostgreSQL(Owner):
    def _ask(self, *statements: str) -> list[Any]:
        with psycopg.connect(self.node.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def write(self, name: str) -> None:
        self._ask(
            "CREATE SCHEMA IF NOT EXISTS benchbook",
            f'CREATE TABLE benchbook."{name}" (mine text)',
            f"INSERT INTO benchbook.\"{name}\" VALUES ('{MINE['mine']}')",
        )

    def read(self, name: str) -> list[Any]:
        return [{"mine": text} for (text,) in self._ask(f'SELECT mine FROM benchbook."{name}"')]

    def erase(self, name: str) -> None:
        self._ask(f'DROP TABLE benchbook."{name}"')
        if not self._ask("SELECT 1 FROM pg_class WHERE relnamespace = 'benchbook'::regnamespace"):
            self._ask("DROP SCHEMA benchbook")

    def all(self) -> list[Any]:
        foreign = "nspname !~ '^pg_' AND nspname <> 'information_schema'"
        return [
            self._ask("SELECT rolname, rolconfig FROM pg_roles ORDER BY 1"),
            self._ask("SELECT datname FROM pg_database ORDER BY 1"),
            self._ask(f"SELECT nspname FROM pg_namespace WHERE {foreign} ORDER BY 1"),
            self._ask(
                "SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace"
                f" WHERE {foreign} ORDER BY 1, 2"
            ),
        ]

    def depend(self, *, collation: str = "") -> None:
        """Make a table that refers to our comments."""
        self._ask("CREATE TABLE benchbook.mine (comment text REFERENCES benchbook.comments (_id))")

    def depends(self) -> bool:
        """Return whether it still does."""
        return self._ask("SELECT count(*) FROM pg_constraint WHERE conrelid = 'benchbook.mine'::regclass") == [(1,)]

    def part(self) -> None:
        """Drop that table."""
        self._ask("DROP TABLE benchbook.mine")


class OfMySQL(Owner):
    def _ask(self, *statements: str) -> list[Any]:
        with closing(pymysql.connect(**login(self.node.url, 3306), autocommit=True)) as mysql, mysql.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def write(self, name: str) -> None:
        self._ask(
            "CREATE DATABASE IF NOT EXISTS benchbook",
            f"CREATE TABLE benchbook.`{name}` (mine varchar(20))",
            f"INSERT INTO benchbook.`{name}` VALUES ('{MINE['mine']}')",
        )

    def read(self, name: str) -> list[Any]:
        return [{"mine": text} for (text,) in self._ask(f"SELECT mine FROM benchbook.`{name}`")]

    def erase(self, name: str) -> None:
        self._ask(f"DROP TABLE benchbook.`{name}`")
        if not self._ask("SHOW TABLES IN benchbook"):
            self._ask("DROP DATABASE benchbook")

    def all(self) -> list[Any]:
        return [
            self._ask("SHOW DATABASES"),
            self._ask("SELECT user, host FROM mysql.user ORDER BY 1, 2"),
            self._ask("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog"),
            self._ask(
                "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema NOT IN"
                " ('mysql', 'sys', 'performance_schema', 'information_schema') ORDER BY 1, 2"
            ),
        ]

    def depend(self, *, collation: str = "") -> None:
        """Make a table that refers to our comments."""
        self._ask(
            f"CREATE TABLE benchbook.mine (comment varchar(191) CHARACTER SET utf8mb4 COLLATE {collation},"
            " FOREIGN KEY (comment) REFERENCES benchbook.comments (_id)) ENGINE = InnoDB",
        )

    def depends(self) -> bool:
        """Return whether it still does."""
        return "REFERENCES `comments`" in str(self._ask("SHOW CREATE TABLE benchbook.mine"))

    def part(self) -> None:
        """Drop that table."""
        self._ask("DROP TABLE benchbook.mine")


class OfCouchDB(Owner):
    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._ask = HTTPNode(node.url).ask

    def write(self, name: str) -> None:
        self._ask("PUT", f"/benchbook-{name}")
        self._ask("PUT", f"/benchbook-{name}/1", MINE)

    def read(self, name: str) -> list[Any]:
        rows = self._ask("GET", f"/benchbook-{name}/_all_docs?include_docs=true")["rows"]
        return [{"mine": row["doc"].get("mine")} for row in rows]

    def erase(self, name: str) -> None:
        self._ask("DELETE", f"/benchbook-{name}")

    def all(self) -> list[Any]:
        pulls = self._ask("GET", "/_replicator/_all_docs", none=(404,))
        settings = self._ask("GET", "/_node/_local/_config/replicator", none=(404,))
        return [sorted(self._ask("GET", "/_all_dbs")), [row["id"] for row in pulls["rows"]], settings]


class OfRethinkDB(Owner):
    def _run(self, query: Any) -> Any:
        with connected(self.node.url) as link:
            found = query.run(link)
            return found if isinstance(found, dict) else list(found)

    def write(self, name: str) -> None:
        if "benchbook" not in self._run(r.db_list()):
            self._run(r.db_create("benchbook"))
        self._run(r.db("benchbook").table_create(name))
        self._run(r.db("benchbook").table(name).insert({"id": 1, **MINE}))

    def read(self, name: str) -> list[Any]:
        return [{"mine": one.get("mine")} for one in self._run(r.db("benchbook").table(name))]

    def erase(self, name: str) -> None:
        self._run(r.db("benchbook").table_drop(name))
        if not self._run(r.db("benchbook").table_list()):
            self._run(r.db_drop("benchbook"))

    def all(self) -> list[Any]:
        names = [name for name in self._run(r.db_list()) if name != "rethinkdb"]
        return sorted((name, sorted(self._run(r.db(name).table_list()))) for name in names)


class OfCouchbase(Owner):
    @contextmanager
    def _bucket(self) -> Iterator[Any]:
        # Its driver is installed by an extra.
        from benchbook.databases.couchbase import adapter

        with closing(adapter.Bucket(self.node.url, {})) as bucket:
            yield bucket

    def write(self, name: str) -> None:
        with self._bucket() as bucket:
            bucket.documents.upsert(f"{name}:1", MINE)

    def read(self, name: str) -> list[Any]:
        from couchbase.exceptions import DocumentNotFoundException

        with self._bucket() as bucket:
            try:
                return [bucket.documents.get(f"{name}:1").content_as[dict]]
            except DocumentNotFoundException:
                return []

    def erase(self, name: str) -> None:
        with self._bucket() as bucket:
            bucket.documents.remove(f"{name}:1")

    def all(self) -> list[Any]:
        with self._bucket() as bucket:
            bucket.prepare()
            keys = sorted(bucket.keys(""))
            bucket.unindex()
            return keys


OWNERS: Final[dict[str, type[Owner]]] = {
    **{"mongodb": OfMongoDB, "postgresql": OfPostgreSQL, "mysql": OfMySQL, "mariadb": OfMySQL},
    **{"couchdb": OfCouchDB, "rethinkdb": OfRethinkDB, "couchbase": OfCouchbase},
}
"""Each brand's."""


def owner(product: str, node: Node) -> Owner:
    return OWNERS[product](node)
