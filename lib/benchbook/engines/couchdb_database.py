"""A CouchDB database on one node: its documents, one and many."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from benchbook.engines.couchdb_http import AnswerError, Node

Document = dict[str, Any]

_BATCH: Final = 1000
_ALL: Final = 1 << 28
"""Mango returns 25 unless told how many; this is the most that CouchDB takes."""


class Database:
    """Requests on a database; all raise as `Node.ask`."""

    def __init__(self, node: Node, name: str) -> None:
        self._ask = node.ask
        self._path = f"/{name}"

    def get(self, key: str) -> Document:
        """Return a document, its revision in it."""
        document: Document = self._ask("GET", self._document(key))
        return document

    def put(self, key: str, document: Mapping[str, Any]) -> Document:
        """Write a document, a new one or one with the revision that it follows; return the new revision."""
        answer: Document = self._ask("PUT", self._document(key), document)
        return answer

    def delete(self, key: str, revision: str) -> Document:
        """Delete a document; return the deletion's revision."""
        answer: Document = self._ask("DELETE", f"{self._document(key)}?rev={revision}")
        return answer

    def write(self, documents: Sequence[Mapping[str, Any]]) -> list[Document]:
        """Write documents as `put`, a thousand in a request; those before and beside a refused one stay."""
        written: list[Document] = []
        for start in range(0, len(documents), _BATCH):
            path = f"{self._path}/_bulk_docs"
            answers = self._ask("POST", path, {"docs": documents[start : start + _BATCH]})
            if refused := [answer for answer in answers if "error" in answer]:
                conflict = any(answer["error"] == "conflict" for answer in refused)
                raise AnswerError(409 if conflict else 400, path, refused[0])
            written += answers
        return written

    def revisions(self, *, designs: bool = False) -> dict[str, str]:
        """Return every document's revision by its id: the records', or those of what is there besides (indexes)."""
        rows = self._ask("GET", f"{self._path}/_all_docs")["rows"]
        return {row["id"]: row["value"]["rev"] for row in rows if _is_design(row) == designs}

    def documents(self) -> list[Document]:
        """Return every record's document."""
        rows = self._ask("GET", f"{self._path}/_all_docs?include_docs=true")["rows"]
        return [row["doc"] for row in rows if not _is_design(row)]

    def index(self, field: str) -> dict[str, str]:
        """Let Mango index a field, and return the revisions of all indexes' documents by their ids."""
        self._ask("POST", f"{self._path}/_index", {"index": {"fields": [_escaped(field)]}})
        return self.revisions(designs=True)

    def find(self, field: str, value: Any) -> list[Document]:
        """Return the documents that Mango finds."""
        query = {"selector": {_escaped(field): {"$eq": value}}, "limit": _ALL}
        found: list[Document] = self._ask("POST", f"{self._path}/_find", query)["docs"]
        return found

    def _document(self, key: str) -> str:
        return f"{self._path}/{quote(key, safe='')}"


def _is_design(row: Mapping[str, Any]) -> bool:
    return str(row["id"]).startswith("_design/")


def _escaped(field: str) -> str:
    """Return a field's name as Mango takes it: there a dot leads into an object."""
    return field.replace("\\", "\\\\").replace(".", "\\.")
