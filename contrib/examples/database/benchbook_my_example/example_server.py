"""An example server in memory, in place of your database.

``python -m benchbook_my_example.example_server [PORT]`` starts it.

With it the adapter runs from the first minute on. Its times say nothing about a product.
"""

import json
import socketserver
import sys
from typing import Any

STORES: dict[str, dict[str, dict[str, Any]]] = {}
"""Each store's records, by their key."""


class RefusedError(Exception):
    """A request that is refused: a kind and a reason."""


def answer(verb: str, store: str = "", **given: Any) -> Any:
    """Do what a client requests and return the answer."""
    match verb:
        case "version":
            return "0.1"
        case "stores":
            return sorted(STORES)
        case "make":
            STORES[store] = {}
        case "drop":
            STORES.pop(store, None)
        case "insert":
            for record in given["records"]:
                if record[given["key"]] in STORES[store]:
                    raise RefusedError("duplicate", f"there is a record {record[given['key']]!r}")
                STORES[store][record[given["key"]]] = record
        case "read":
            return list(STORES[store].values())
        case "find":
            field, value = given["field"], given["value"]
            return [record for record in STORES[store].values() if record.get(field) == value]
        case "update":
            if given["of"] not in STORES[store]:
                raise RefusedError("missing", f"there is no record {given['of']!r}")
            STORES[store][given["of"]].update(given["changes"])
        case "update_all":
            for record in STORES[store].values():
                record.update(given["changes"])
            return len(STORES[store])
        case "delete":
            if STORES[store].pop(given["of"], None) is None:
                raise RefusedError("missing", f"there is no record {given['of']!r}")
        case "delete_all":
            count = len(STORES[store])
            STORES[store].clear()
            return count
        case _:
            raise RefusedError("unknown", f"no verb {verb!r}")
    return None


class Handler(socketserver.StreamRequestHandler):
    """One client's connection."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer each line that arrives."""
        for line in self.rfile:
            try:
                reply = {"answer": answer(**json.loads(line))}
            except RefusedError as refusal:
                reply = dict(zip(("refused", "why"), refusal.args, strict=True))
            self.wfile.write(json.dumps(reply).encode() + b"\n")


class Server(socketserver.ThreadingTCPServer):
    """Serves each connection in a thread."""

    daemon_threads = True
    allow_reuse_address = True


if __name__ == "__main__":
    with Server(("127.0.0.1", int(sys.argv[1]) if sys.argv[1:] else 0), Handler) as server:
        print(f"my-example://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()
