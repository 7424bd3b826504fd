"""A user's data on a server, written by the product's driver; and all of a server's contents."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any, Final

import psycopg
import pymongo
import pymysql
from rethinkdb import r

from benchbook.databases.couchdb.node import HTTPNode
from benchbook.databases.rethinkdb.server import open_connection
from benchbook.servers.address import read_login
from benchbook.servers.deployment import Node

MINE = {"mine": "keep me"}


class Owner:
    """A user with databases of their own on a server."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def write(self, name: str) -> None:
        """Make a database of that name, with `MINE` in it."""
        raise NotImplementedError

    def read(self, name: str) -> list[Any]:
        """Return its contents."""
        raise NotImplementedError

    def erase(self, name: str) -> None:
        """Drop it."""
        raise NotImplementedError

    def list_all(self) -> list[Any]:
        """Return everything that the server holds, by name, and how it is set."""
        raise NotImplementedError


class OfMongoDB(Owner):
    @contextmanager
    def _client(self) -> Iterator[pymongo.MongoClient[Any]]:
        with pymongo.MongoClient[Any](self.node.url) as client:
            yield client

    def write(self, name: str) -> None:
        with self._client() as client:
            client[name]["mine"].insert_one({"_id": 1, **MINE})

    def read(self, name: str) -> list[Any]:
        with self._client() as client:
            return [{"mine": one.get("mine")} for one in client[name]["mine"].find()]

    def erase(self, name: str) -> None:
        with self._client() as client:
            client.drop_database(name)

    def list_all(self) -> list[Any]:
        with self._client() as client:
            names = [
                name
                for name in client.list_database_names()
                if name not in ("admin", "config", "local")
            ]
            users = [user["user"] for user in client["admin"].command("usersInfo")["users"]]
            return [
                users,
                *sorted((name, sorted(client[name].list_collection_names())) for name in names),
            ]


class OfPostgreSQL(Owner):
    def _ask(self, *statements: str) -> list[Any]:
        with psycopg.connect(self.node.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def write(self, name: str) -> None:
        made = f"CREATE TABLE {name}.mine AS SELECT '{MINE['mine']}' AS mine"
        self._ask(f"CREATE SCHEMA {name}", made)

    def read(self, name: str) -> list[Any]:
        return [{"mine": text} for (text,) in self._ask(f"SELECT mine FROM {name}.mine")]

    def erase(self, name: str) -> None:
        self._ask(f"DROP SCHEMA {name} CASCADE")

    def list_all(self) -> list[Any]:
        foreign = "nspname !~ '^pg_' AND nspname <> 'information_schema'"
        return [
            self._ask("SELECT rolname, rolconfig FROM pg_roles ORDER BY 1"),
            self._ask("SELECT datname FROM pg_database ORDER BY 1"),
            self._ask(f"SELECT nspname FROM pg_namespace WHERE {foreign} ORDER BY 1"),
            self._ask(
                "SELECT nspname, relname FROM pg_class JOIN pg_namespace ON pg_namespace.oid ="
                f" relnamespace WHERE {foreign} ORDER BY 1, 2"
            ),
        ]


class OfMySQL(Owner):
    def _ask(self, *statements: str) -> list[Any]:
        with (
            closing(pymysql.connect(**read_login(self.node.url, 3306), autocommit=True)) as mysql,
            mysql.cursor() as cursor,
        ):
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def write(self, name: str) -> None:
        written = f"INSERT INTO {name}.mine VALUES ('{MINE['mine']}')"
        self._ask(
            f"CREATE DATABASE {name}", f"CREATE TABLE {name}.mine (mine varchar(20))", written
        )

    def read(self, name: str) -> list[Any]:
        return [{"mine": text} for (text,) in self._ask(f"SELECT mine FROM {name}.mine")]

    def erase(self, name: str) -> None:
        self._ask(f"DROP DATABASE {name}")

    def list_all(self) -> list[Any]:
        return [
            self._ask("SHOW DATABASES"),
            self._ask("SELECT user, host FROM mysql.user ORDER BY 1, 2"),
            self._ask("SELECT @@GLOBAL.innodb_flush_log_at_trx_commit, @@GLOBAL.sync_binlog"),
            self._ask(
                "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema"
                " NOT IN ('mysql', 'sys', 'performance_schema', 'information_schema') ORDER BY 1, 2"
            ),
        ]


class OfCouchDB(Owner):
    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self._ask = HTTPNode(node.url).ask

    def write(self, name: str) -> None:
        self._ask("PUT", f"/{name}")
        self._ask("PUT", f"/{name}/1", MINE)

    def read(self, name: str) -> list[Any]:
        rows = self._ask("GET", f"/{name}/_all_docs?include_docs=true")["rows"]
        return [{"mine": row["doc"].get("mine")} for row in rows]

    def erase(self, name: str) -> None:
        self._ask("DELETE", f"/{name}")

    def list_all(self) -> list[Any]:
        pulls = self._ask("GET", "/_replicator/_all_docs", ignored=(404,))
        settings = self._ask("GET", "/_node/_local/_config/replicator", ignored=(404,))
        return [
            sorted(self._ask("GET", "/_all_dbs")),
            [row["id"] for row in pulls["rows"]],
            settings,
        ]


class OfRethinkDB(Owner):
    def _run(self, query: Any) -> Any:
        with open_connection(self.node.url) as link:
            found = query.run(link)
            return found if isinstance(found, dict) else list(found)

    def write(self, name: str) -> None:
        self._run(r.db_create(name))
        self._run(r.db(name).table_create("mine"))
        self._run(r.db(name).table("mine").insert({"id": 1, **MINE}))

    def read(self, name: str) -> list[Any]:
        return [{"mine": one.get("mine")} for one in self._run(r.db(name).table("mine"))]

    def erase(self, name: str) -> None:
        self._run(r.db_drop(name))

    def list_all(self) -> list[Any]:
        names = [name for name in self._run(r.db_list()) if name != "rethinkdb"]
        tags = [
            server.get("tags") for server in self._run(r.db("rethinkdb").table("server_config"))
        ]
        return [tags, *sorted((name, sorted(self._run(r.db(name).table_list()))) for name in names)]


OWNERS: Final[dict[str, type[Owner]]] = {
    **{"mongodb": OfMongoDB, "postgresql": OfPostgreSQL, "mysql": OfMySQL, "mariadb": OfMySQL},
    **{"couchdb": OfCouchDB, "rethinkdb": OfRethinkDB},
}
"""Each brand's."""


def open_owner(product: str, node: Node) -> Owner:
    return OWNERS[product](node)
