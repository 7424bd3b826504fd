"""Documents on pymongo, mongoengine, urllib3 (CouchDB), RethinkDB's driver and Couchbase's SDK."""

# ruff: noqa: D102, what a method does is said in the base class

import base64
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

import mongoengine
import orjson
import pymongo
import urllib3
from rethinkdb import r

from bare.base import Bare, Record, Records
from benchbook.servers.deployment import PATIENCE_S


class PyMongo(Bare):
    """Nothing is retried, as in the adapter."""

    CONCERN: Final[dict[str, dict[str, Any]]] = {
        "default": {},
        "relaxed": {"journal": False},
        "strict": {"journal": True},
    }

    def connect(self) -> None:
        settings: dict[str, Any] = {
            "w": 1,
            "retryWrites": False,
            "retryReads": False,
            "tz_aware": True,
        }
        self.client = self.closing.enter_context(
            pymongo.MongoClient(self.url, **settings, **self.CONCERN[self.durability])
        )
        self.collection = self.client["benchbook"]["comments"]

    def insert(self, records: Records) -> None:
        collection = self.collection
        for record in records:
            collection.insert_one(record)

    def insert_many(self, records: Records) -> None:
        self.collection.insert_many(records)

    def find(self, values: Sequence[str]) -> list[list[Record]]:
        collection = self.collection
        return [list(collection.find({"article_id": value})) for value in values]


class MongoEngine(PyMongo):
    """The mapped class written by hand; bulk inserts validate nothing by themselves."""

    comment: Any

    def connect(self) -> None:
        super().connect()
        mongoengine.connect(
            "benchbook",
            alias="bare",
            mongo_client_class=lambda **_: self.client,
            uuidRepresentation="standard",
        )
        self.closing.callback(mongoengine.disconnect, "bare")
        text, moment = mongoengine.StringField, mongoengine.DateTimeField
        fields: dict[str, Any] = {
            name: text(required=True)
            for name in ("article_id", "author", "email", "title", "content")
        }
        fields["_id"], fields["created_at"] = (
            text(primary_key=True, required=True),
            moment(required=True),
        )
        fields["meta"] = {"db_alias": "bare", "collection": "comments", "auto_create_index": False}
        self.comment = type("Comment", (mongoengine.Document,), fields)

    def insert(self, records: Records) -> None:
        comment = self.comment
        for record in records:
            comment(**record).save(force_insert=True)

    def insert_many(self, records: Records) -> None:
        objects = [self.comment(**record) for record in records]
        for each in objects:
            each.validate()
        self.comment.objects.insert(objects, load_bulk=False)

    def find(self, values: Sequence[str]) -> list[list[Any]]:
        return [list(self.comment.objects.filter(article_id=value)) for value in values]

    def plain(self, record: Any) -> Record:
        return {name: record[name] for name in self.comment._fields}


class Urllib3(Bare):
    """CouchDB's interface, with the adapter's batches and time limit of connecting."""

    def connect(self) -> None:
        parts = urlsplit(self.url)
        user = f"{unquote(parts.username or '')}:{unquote(parts.password or '')}"
        self.headers = {
            "Accept": "application/json",
            "Content-Type": "application/json",
            "Authorization": f"Basic {base64.b64encode(user.encode()).decode()}",
        }
        server = parts.netloc.rpartition("@")[2]
        patience = urllib3.Timeout(connect=PATIENCE_S, read=None)
        pool = urllib3.connection_from_url(f"{parts.scheme}://{server}", timeout=patience)
        self.pool = self.closing.enter_context(closing(pool))

    def ask(self, method: str, path: str, content: object) -> Any:
        answer = self.pool.urlopen(method, path, orjson.dumps(content), self.headers, retries=False)
        if answer.status >= 400:
            raise RuntimeError(answer.data)
        return orjson.loads(answer.data)

    def insert(self, records: Records) -> None:
        for record in records:
            self.ask("PUT", f"/benchbook-comments/{quote(record['_id'], safe='')}", record)

    def insert_many(self, records: Records) -> None:
        for start in range(0, len(records), 1000):
            answers = self.ask(
                "POST", "/benchbook-comments/_bulk_docs", {"docs": records[start : start + 1000]}
            )
            refused = [answer for answer in answers if "error" in answer]
            if refused:
                raise RuntimeError(refused[0])

    def find(self, values: Sequence[str]) -> list[list[Record]]:
        found = []
        for value in values:
            query = {"selector": {"article_id": {"$eq": value}}, "limit": 1 << 28}
            documents = self.ask("POST", "/benchbook-comments/_find", query)["docs"]
            for document in documents:
                del document["_rev"]
                document["created_at"] = datetime.fromisoformat(document["created_at"])
            found.append(documents)
        return found


class RethinkDB(Bare):
    """With the adapter's batches; moments are read raw, because the driver's lose milliseconds."""

    def connect(self) -> None:
        parts = urlsplit(self.url)
        user, password = unquote(parts.username or "admin"), unquote(parts.password or "")
        self.link = r.connect(parts.hostname, parts.port, user=user, password=password)
        self.closing.callback(self.link.close, noreply_wait=False)
        self.comments = r.db("benchbook").table("comments")

    def write(self, records: Any) -> None:
        counted = self.comments.insert(records).run(self.link)
        if counted["errors"]:
            raise RuntimeError(counted["first_error"])

    def insert(self, records: Records) -> None:
        for record in records:
            self.write(record)

    def insert_many(self, records: Records) -> None:
        for start in range(0, len(records), 200):
            self.write(records[start : start + 200])

    def find(self, values: Sequence[str]) -> list[list[Record]]:
        found = []
        for value in values:
            query = self.comments.get_all(value, index="article_id")
            documents = list(query.run(self.link, time_format="raw"))
            for document in documents:
                seconds = round(document["created_at"]["epoch_time"], 3)
                document["created_at"] = datetime.fromtimestamp(seconds, UTC)
            found.append(documents)
        return found


class Couchbase(Bare):
    """Key by key."""

    seeks = "_id"

    def connect(self) -> None:
        # It is in our plug-in of more databases.
        from benchbook_more_databases.couchbase.adapter import Bucket

        # The SDK's, with its many settings.
        bucket = self.closing.enter_context(closing(Bucket(self.url, {})))
        self.documents = bucket.documents

    def insert(self, records: Records) -> None:
        insert = self.documents.insert
        for record in records:
            insert("comments:" + record["_id"], record)

    def insert_many(self, records: Records) -> None:
        keyed = {"comments:" + record["_id"]: record for record in records}
        self.documents.insert_multi(keyed, return_exceptions=False)

    def find(self, values: Sequence[str]) -> list[list[Record]]:
        found = []
        for value in values:
            document = self.documents.get("comments:" + value).content_as[dict]
            document["created_at"] = datetime.fromisoformat(document["created_at"])
            found.append([document])
        return found
