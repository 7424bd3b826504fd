"""My Example's servers: one at ``my-example://host:port``, used by its address."""

from benchbook.servers.address import ServerInfo
from benchbook_my_example.client import Client


def ask(url: str) -> ServerInfo:
    """Return version, role and settings of the server at `url`.

    Raises `ConnectionError` when it does not answer.
    """
    client = Client(url)
    try:
        return ServerInfo(client.call("version"), role=None, settings={})
    finally:
        client.close()
