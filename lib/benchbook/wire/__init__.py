"""Objects over TCP: a client's trials with a multi-threaded server in a process of its own."""

from benchbook.wire.client import TRANSPORTS, Client, Report, Server, Transport, serving
from benchbook.wire.protocol import WireError, fingerprints

__all__ = ["TRANSPORTS", "Client", "Report", "Server", "Transport", "WireError", "fingerprints", "serving"]
